//! Quantities as people read them: `85.3k`, `84,912 TPS ±0.6%`, `90 µs`, `1.1 ms`, `760 MiB`.
//!
//! Every function takes any number, NaN and infinity included, and never panics: what is not a number is shown
//! as [`UNKNOWN`]. Nothing here knows about terminals; the page's figures have the same form.

use crate::estimate::{Estimate, is_known_within_two};

/// How an unknown value is shown.
pub const UNKNOWN: &str = "–";

/// How an interval is shown that is wider than the figure.
pub const NOT_KNOWN: &str = "not known to within a factor of two";

/// A whole number with separators, `5,000,000`.
pub fn count(value: u64) -> String {
    grouped(value)
}

/// A count with its noun, which gets an `s` unless there is one of it: `1 client`, `3,000 clients`.
pub fn counted(value: u64, noun: &str) -> String {
    let plural = if value == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(value))
}

/// `8 clients`, `1 client`
pub fn clients(clients: u32) -> String {
    counted(u64::from(clients), "client")
}

/// `22 queries`, `1 query`
pub fn queries(queries: usize) -> String {
    format!("{} {}", count(queries as u64), if queries == 1 { "query" } else { "queries" })
}

/// Three significant digits in at most six characters or so, for a table's cell: `4.21`, `850`, `85.3k`, `1.20M`.
pub fn short(value: f64) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    const STEPS: [(f64, &str); 5] = [(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")];
    let magnitude = value.abs();
    for (scale, suffix) in STEPS {
        // Half a unit of the third digit below the next step, so that 999.6 becomes 1.00k and not 1000.
        if magnitude < 999.5 * scale {
            return format!("{}{suffix}", significant(value / scale));
        }
    }
    format!("{value:.2e}")
}

/// A figure that may be unknown, as [`short`].
pub fn short_or_unknown(value: Option<f64>) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), short)
}

/// A count for a table's cell: exact below a thousand, then as [`short`].
pub fn short_count(value: u64) -> String {
    if value < 1000 { value.to_string() } else { short(value as f64) }
}

/// A rate or a mean to the whole number, with decimals only where it is small: `84,912`, `42.5`, `4.21`.
pub fn long(value: f64) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    if value.abs() >= 1e15 {
        return format!("{value:.2e}");
    }
    if value.abs() < 99.95 { significant(value) } else { grouped(&format!("{value:.0}")) }
}

/// Throughput with its uncertainty: `84,912 TPS ±0.6%`; `84,912 TPS ± unknown` where nothing can be said of it.
pub fn throughput(estimate: &Estimate) -> String {
    format!("{} TPS {}", long(estimate.mean), relative_error(estimate))
}

/// Half-width of an estimate's interval in percent of its mean: `±0.6%`.
pub fn relative_error(estimate: &Estimate) -> String {
    estimate
        .half_width
        .map_or_else(|| "± unknown".to_owned(), |half_width| relative(estimate.mean, half_width))
}

/// A half-width in percent of its figure: `±0.6%`, or that it says next to nothing.
pub fn relative(mean: f64, half_width: f64) -> String {
    let percent = (half_width / mean * 100.0).abs();
    match percent {
        _ if !percent.is_finite() => "± unknown".to_owned(),
        _ if !is_known_within_two(mean.abs(), half_width.abs()) => NOT_KNOWN.to_owned(),
        _ if percent < 0.05 => "±<0.1%".to_owned(),
        _ if percent < 9.95 => format!("±{percent:.1}%"),
        _ => format!("±{percent:.0}%"),
    }
}

/// A latency given in microseconds: `90 µs`, `1.1 ms`, `12 ms`, `2.5 s`.
pub fn latency_us(us: f64) -> String {
    if !us.is_finite() {
        return UNKNOWN.to_owned();
    }
    let magnitude = us.abs();
    if magnitude < 999.5 {
        format!("{} µs", two_digits(us))
    } else if magnitude < 999.5e3 {
        format!("{} ms", two_digits(us / 1e3))
    } else if magnitude < 99.5e6 {
        format!("{} s", two_digits(us / 1e6))
    } else {
        duration_s(us / 1e6)
    }
}

/// A latency that may be unknown.
pub fn latency_us_or_unknown(us: Option<f64>) -> String {
    us.map_or_else(|| UNKNOWN.to_owned(), latency_us)
}

/// A duration given in seconds: `0.3 s`, `4.1 s`, `45 s`, `2 min 41 s`, `3 h 5 min`.
pub fn duration_s(seconds: f64) -> String {
    if !seconds.is_finite() {
        return UNKNOWN.to_owned();
    }
    if seconds.abs() >= 1e12 {
        return format!("{seconds:.2e} s");
    }
    if seconds < 0.0 {
        return format!("-{}", duration_s(-seconds));
    }
    if seconds > 0.0 && seconds < 0.05 {
        return format!("{:.0} ms", (seconds * 1e3).ceil());
    }
    if seconds < 9.95 {
        let text = format!("{seconds:.1}");
        return format!("{} s", text.strip_suffix(".0").unwrap_or(&text));
    }
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, min, 0) => format!("{min} min"),
        (0, min, s) => format!("{min} min {s} s"),
        (h, 0, _) => format!("{h} h"),
        (h, min, _) => format!("{h} h {min} min"),
    }
}

/// A size in powers of 1024, as servers and kernels count: `760 MiB`, `23.5 GiB`.
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if value < 1024 {
        return format!("{value} B");
    }
    let mut scaled = value as f64 / 1024.0;
    let mut unit = 0;
    while scaled >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    // A whole number of units is what a machine is sold with; a tail of zeros would only pretend precision.
    let text = if scaled < 99.95 { format!("{scaled:.1}") } else { format!("{scaled:.0}") };
    format!("{} {}", text.strip_suffix(".0").unwrap_or(&text), UNITS[unit])
}

/// A mean or a rate of bytes, which need not be whole: `0.4 B`, `78 B`, `8.2 KiB`.
pub fn bytes_mean(value: f64) -> String {
    if !value.is_finite() || value < 0.0 {
        UNKNOWN.to_owned()
    } else if value < 1023.5 {
        format!("{} B", two_digits(value))
    } else {
        // What is beyond all memory is no size that was measured.
        bytes(value.round() as u64)
    }
}

/// Shares of a machine below this are not told.
pub const SHARE_TOLD: f64 = 0.005;

/// A share from 0 to 1 in percent: `34%`, `4.5%`, `0.37%`, `<0.01%`.
pub fn share(value: f64) -> String {
    let percent = value * 100.0;
    if !percent.is_finite() {
        UNKNOWN.to_owned()
    } else if percent.abs() >= 1e6 {
        format!("{percent:.2e}%")
    } else if percent > 0.0 && percent < 0.005 {
        "<0.01%".to_owned()
    } else {
        let decimals = if percent.abs() >= 9.95 { 0 } else { 1 + usize::from(percent.abs() < 0.995) };
        let text = format!("{percent:.decimals$}");
        let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        format!("{text}%")
    }
}

/// A number of processors, whole where it is whole: `2`, `0.5`, `1.4`.
pub fn cores(value: f64) -> String {
    if !value.is_finite() {
        UNKNOWN.to_owned()
    } else if value.abs() >= 1e6 {
        format!("{value:.2e}")
    } else {
        let text = format!("{value:.1}");
        text.strip_suffix(".0").unwrap_or(&text).to_owned()
    }
}

/// How many times as fast, in two digits: `0.25`, `4.5`, `26`.
pub fn times(value: f64) -> String {
    let decimals = match value {
        _ if !value.is_finite() => return UNKNOWN.to_owned(),
        _ if value.abs() >= 1e6 => return format!("{value:.2e}"),
        _ if value < 0.995 => (1.0 - value.log10().floor()).clamp(2.0, 9.0) as usize,
        _ if value < 9.95 => 1,
        _ => 0,
    };
    grouped(format!("{value:.decimals$}").as_str())
}

/// Scale factors and rates as the user typed them: `50`, `0.1`, `5,000`.
pub fn plain(value: f64) -> String {
    if !value.is_finite() {
        UNKNOWN.to_owned()
    } else if value.abs() >= 1e15 || (value != 0.0 && value.abs() < 1e-3) {
        format!("{value:.2e}")
    } else {
        let text = format!("{value:.3}");
        grouped(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Three significant digits of a number under a thousand, without an exponent.
fn significant(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if magnitude < 9.995 {
        format!("{value:.2}")
    } else if magnitude < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// One decimal below ten, none above: what a latency is good for.
fn two_digits(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if value.abs() < 9.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// Puts a comma before every third digit of the whole part of a decimal number: `-21,747`, `1,234.5`.
pub fn grouped(number: impl ToString + Copy) -> String {
    let number = number.to_string();
    let (sign, rest) = number.strip_prefix('-').map_or(("", number.as_str()), |rest| ("-", rest));
    let (whole, fraction) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
    let mut out = String::with_capacity(number.len() + whole.len() / 3 + 1);
    out.push_str(sign);
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out.push_str(fraction);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn estimate(mean: f64, half_width: Option<f64>) -> Estimate {
        Estimate { mean, half_width, samples: 30, effective_samples: None }
    }

    #[test]
    fn numbers_in_tables_keep_three_digits() {
        let cases = [
            (0.0, "0"),
            (0.5, "0.50"),
            (4.211, "4.21"),
            (9.996, "10.0"),
            (42.46, "42.5"),
            (850.2, "850"),
            (999.4, "999"),
            (999.6, "1.00k"),
            (13_312.0, "13.3k"),
            (85_349.0, "85.3k"),
            (999_600.0, "1.00M"),
            (1_204_000.0, "1.20M"),
            (-85_349.0, "-85.3k"),
            (3e20, "3.00e20"),
            (f64::NAN, "–"),
            (f64::NEG_INFINITY, "–"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text, "{value}");
        }
    }

    #[test]
    fn whole_numbers_are_grouped() {
        assert_eq!(count(0), "0");
        assert_eq!(short_count(4), "4");
        assert_eq!(short_count(4_211), "4.21k");
        assert_eq!(count(999), "999");
        assert_eq!(count(1000), "1,000");
        assert_eq!(count(126_304), "126,304");
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(long(84_911.7), "84,912");
        assert_eq!(long(-1234.0), "-1,234");
        assert_eq!(long(42.46), "42.5");
        assert_eq!(counted(1, "client"), "1 client");
        assert_eq!(counted(1024, "client"), "1,024 clients");
        assert_eq!(plain(50.0), "50");
        assert_eq!(plain(5000.0), "5,000");
        assert_eq!(plain(0.1), "0.1");
    }

    #[test]
    fn throughput_says_how_sure_it_is() {
        assert_eq!(throughput(&estimate(84_912.3, Some(509.0))), "84,912 TPS ±0.6%");
        assert_eq!(throughput(&estimate(84_912.3, None)), "84,912 TPS ± unknown");
        assert_eq!(throughput(&estimate(100.0, Some(25.0))), "100 TPS ±25%");
        assert_eq!(throughput(&estimate(100.0, Some(50.0))), "100 TPS ±50%");
        assert_eq!(throughput(&estimate(100.0, Some(51.0))), format!("100 TPS {NOT_KNOWN}"));
        assert_eq!(throughput(&estimate(100.0, Some(0.0001))), "100 TPS ±<0.1%");
        assert_eq!(throughput(&estimate(0.0, Some(1.0))), "0 TPS ± unknown");
    }

    #[test]
    fn latencies_change_unit_without_a_gap() {
        let cases = [
            (0.0, "0 µs"),
            (8.44, "8.4 µs"),
            (90.2, "90 µs"),
            (240.0, "240 µs"),
            (999.4, "999 µs"),
            (999.6, "1.0 ms"),
            (1_130.0, "1.1 ms"),
            (12_300.0, "12 ms"),
            (999_600.0, "1.0 s"),
            (2_500_000.0, "2.5 s"),
            (99_600_000.0, "1 min 40 s"),
            (f64::NAN, "–"),
        ];
        for (us, text) in cases {
            assert_eq!(latency_us(us), text, "{us}");
        }
        assert_eq!(latency_us_or_unknown(None), "–");
    }

    #[test]
    fn durations() {
        let cases = [
            (0.0, "0 s"),
            (0.003, "3 ms"),
            (4.12, "4.1 s"),
            (9.97, "10 s"),
            (45.3, "45 s"),
            (59.7, "1 min"),
            (161.0, "2 min 41 s"),
            (11_100.0, "3 h 5 min"),
            (-4.12, "-4.1 s"),
        ];
        for (seconds, text) in cases {
            assert_eq!(duration_s(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn every_third_digit_is_set_apart() {
        let numbers = [0, 999, 1000, -999, -21_747, i64::MIN];
        let shown = ["0", "999", "1,000", "-999", "-21,747", "-9,223,372,036,854,775,808"];
        assert_eq!(numbers.map(grouped), shown);
    }

    #[test]
    fn sizes_and_shares() {
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(760 << 20), "760 MiB");
        assert_eq!(bytes(24 << 30), "24 GiB");
        assert_eq!(bytes((24 << 30) - (500 << 20)), "23.5 GiB");
        assert_eq!(bytes(u64::MAX), "16 EiB");
        assert_eq!(bytes_mean(0.42), "0.4 B");
        assert_eq!(bytes_mean(78.3), "78 B");
        assert_eq!(bytes_mean(1023.6), "1 KiB");
        assert_eq!(bytes_mean(8_400.0), "8.2 KiB");
        assert_eq!(bytes_mean(f64::NAN), "–");
        assert_eq!([0.342, 0.1, 0.045, 0.05, 0.0096].map(share), ["34%", "10%", "4.5%", "5%", "0.96%"]);
        assert_eq!([0.004, 0.000_1, 0.000_01, 0.0].map(share), ["0.4%", "0.01%", "<0.01%", "0%"]);
        assert_eq!(cores(2.0), "2");
        assert_eq!(cores(1.36), "1.4");
        assert_eq!(
            [0.0667, 0.25, 0.996, 4.52, 9.96, 1234.0].map(times),
            ["0.067", "0.25", "1.0", "4.5", "10", "1,234"]
        );
    }

    /// Numbers of every kind, the awkward ones often.
    fn any_number() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<f64>(),
            prop::num::f64::ANY,
            Just(f64::NAN),
            Just(f64::INFINITY),
            Just(f64::NEG_INFINITY),
            Just(f64::MAX),
            Just(f64::MIN),
            Just(f64::MIN_POSITIVE),
            Just(-0.0),
            -1e6..1e6_f64,
        ]
    }

    proptest! {
        #[test]
        fn any_number_has_a_short_form(value in any_number(), half_width in prop::option::of(any_number())) {
            let estimate = estimate(value, half_width);
            let forms = [
                short(value), long(value), latency_us(value), duration_s(value), share(value), cores(value),
                plain(value), bytes_mean(value), times(value), throughput(&estimate), relative_error(&estimate),
            ];
            for form in forms {
                prop_assert!(!form.is_empty() && form.chars().count() <= 60, "{form:?}");
                prop_assert!(!form.contains("NaN") && !form.contains("inf"), "{form:?}");
            }
        }

        #[test]
        fn any_count_has_a_short_form(value in any::<u64>()) {
            prop_assert_eq!(count(value).replace(',', ""), value.to_string());
            prop_assert!(bytes(value).len() <= 9);
        }
    }
}
