//! Figures as they stand in a sentence: of a finding, of a saturation's evidence.

/// `126,304`
pub(crate) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `84,912`
pub(crate) fn rate(per_s: f64) -> String {
    if per_s < 10.0 { format!("{per_s:.1}") } else { count(per_s.round() as u64) }
}

/// `34 %`, `0.37 %`
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        _ if percent == 0.0 || percent >= 9.95 => format!("{percent:.0} %"),
        _ if percent >= 1.0 => format!("{percent:.1} %"),
        _ if percent >= 0.01 => format!("{percent:.2} %"),
        _ => "less than 0.01 %".to_owned(),
    }
}

/// `90 µs`, `1.1 ms`, `2.0 s`
pub(crate) fn time_us(us: f64) -> String {
    match us {
        _ if us < 1000.0 => format!("{us:.0} µs"),
        _ if us < 1e6 => format!("{:.1} ms", us / 1e3),
        _ => format!("{:.1} s", us / 1e6),
    }
}

/// `760 MiB`; powers of 1024, as everywhere else in a report.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut scaled = bytes as f64 / 1024.0;
    let mut units = UNITS.iter();
    let mut unit = units.next();
    while scaled >= 999.5
        && let Some(next) = units.next()
    {
        scaled /= 1024.0;
        unit = Some(next);
    }
    let text = if scaled < 10.0 { format!("{scaled:.1}") } else { format!("{scaled:.0}") };
    format!("{} {}", text.strip_suffix(".0").unwrap_or(&text), unit.unwrap_or(&"KiB"))
}

/// `8 clients`, `1 client`
pub(crate) fn clients(clients: u32) -> String {
    if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") }
}

/// `1,200 transactions`, `1 transaction`; for a noun that only needs an s.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(number))
}

/// `30 s`, `0.3 s`, `40 ms`
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        _ if seconds > 0.0 && seconds < 0.05 => format!("{:.0} ms", (seconds * 1e3).ceil()),
        _ if seconds < 9.95 => {
            let text = format!("{seconds:.1}");
            format!("{} s", text.strip_suffix(".0").unwrap_or(&text))
        }
        _ => format!("{seconds:.0} s"),
    }
}

/// A command as it can be pasted into a shell.
pub(crate) fn command_line(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let quoted = |word: &String| match word.as_str() {
        bare if !bare.is_empty() && bare.chars().all(plain) => bare.to_owned(),
        other => format!("'{}'", other.replace('\'', r"'\''")),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// `fsync, synchronous_commit and full_page_writes`
pub(crate) fn list<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_carry_their_unit() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [0.0, 0.34, 0.045, 0.0037, 0.000_01].map(percent),
            ["0 %", "34 %", "4.5 %", "0.37 %", "less than 0.01 %"]
        );
        assert_eq!([90.0, 1100.0, 2e6].map(time_us), ["90 µs", "1.1 ms", "2.0 s"]);
        assert_eq!([512, 760 << 20, 5 << 29].map(bytes), ["0.5 KiB", "760 MiB", "2.5 GiB"]);
        assert_eq!([1, 1200].map(|number| counted(number, "row")), ["1 row", "1,200 rows"]);
        assert_eq!([0.0, 0.003, 0.3, 1.003, 30.0].map(seconds), ["0 s", "3 ms", "0.3 s", "1 s", "30 s"]);
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(list(&["a"]), "a");
        let words =
            ["dyno", "run", "--target", "host=/tmp dbname=it's", "", "1..200", "a$b"].map(str::to_owned);
        assert_eq!(command_line(&words), r"dyno run --target 'host=/tmp dbname=it'\''s' '' 1..200 'a$b'");
    }
}
