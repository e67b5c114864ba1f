//! How the figures of a comparison are written, and what its verdicts are called.

use dyno_results::comparison::{Cell, Comparison, FigureRow, Ratio, Verdict};

use dyno_results::format;

/// Less than this, of bytes or operations of a transaction, is shown as less than this.
const LEAST: f64 = 0.01;

pub(super) fn labels(comparison: &Comparison) -> Vec<&str> {
    let of_series =
        comparison.series.iter().flat_map(|series| &series.sections).flat_map(|section| &section.rows);
    of_series
        .chain(comparison.data.iter().flat_map(|data| &data.rows))
        .map(|row| row.short_label.as_str())
        .collect()
}

/// A figure as it stands in its column: `84.9k ±1.0%`, `90 µs`, `8 clients`.
pub(super) fn value(row: &FigureRow, cell: &Cell) -> String {
    let Some(value) = cell.value else { return format::UNKNOWN.to_owned() };
    match row.unit {
        "1/s" | "1/min" | "1/h" => match cell.interval {
            Some([lowest, highest]) => {
                let error = format::relative(value, (highest - lowest) / 2.0);
                format!("{} {error}", format::short(value))
            }
            None => format::short(value),
        },
        "us" => format::latency_us(value),
        "share" => format::share(value),
        "bytes" => bytes(value),
        "s" => format::duration_s(value),
        "clients" => format::counted(value.max(0.0).round() as u64, "client"),
        _ if value > 0.0 && value < LEAST => format!("<{LEAST}"),
        _ => format::short(value),
    }
}

/// Whether a row is worth a line: not where all of it rounds to nothing, as what a read writes.
pub(super) fn is_shown(row: &FigureRow) -> bool {
    let is_cost = matches!(row.unit, "operations" | "bytes");
    !is_cost || row.cells.iter().filter_map(|cell| cell.value).any(|value| value >= LEAST)
}

/// A few bytes are told with their decimals: a row of 41.5 bytes is no row of 42.
fn bytes(value: f64) -> String {
    if value > 0.0 && value < LEAST {
        format!("<{LEAST} B")
    } else if value < 1024.0 {
        format!("{} B", format::short(value))
    } else {
        format::bytes(value.round() as u64)
    }
}

/// `1.93x`, `0.518x`; with three decimals near one, where two would hide what is meant.
pub(super) fn ratio(value: f64) -> String {
    format!("{}x", multiple(value))
}

/// `0.512–0.524`; unknown where there is none.
pub(super) fn interval(ratio: &Ratio) -> String {
    match ratio.interval {
        Some([lowest, highest]) => format!("{}–{}", multiple(lowest), multiple(highest)),
        None => format::UNKNOWN.to_owned(),
    }
}

fn multiple(value: f64) -> String {
    match value {
        _ if !value.is_finite() => format::UNKNOWN.to_owned(),
        _ if value < 0.001 => "<0.001".to_owned(),
        _ if value < 1.1 => format!("{value:.3}"),
        _ if value < 9.995 => format!("{value:.2}"),
        _ if value < 99.95 => format!("{value:.1}"),
        _ => format::short(value),
    }
}

/// What the ratio says, in a word: `faster`, `more`, `no difference shown`; nothing where there is no interval.
pub(super) fn verdict(row: &FigureRow, verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => row.verdicts[0],
        Verdict::Worse => row.verdicts[1],
        Verdict::Higher => "higher",
        Verdict::Lower => "lower",
        Verdict::NoDifferenceShown => "no difference shown",
        Verdict::NotTested => "not tested",
        // The interval's column says so.
        Verdict::NoInterval => "",
        Verdict::OtherLoad => "at another load",
    }
}
