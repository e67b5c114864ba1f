//! `settings-changed`: what differs from the product's defaults, so that nobody takes the figures for those of an
//! untouched server.

use crate::document::Report;
use crate::event::{Code, Finding, Setting, Settings, Severity, Subject};
use crate::finding::Facts;

/// Settings that are named: the first, which are the weightiest.
const SHOWN: usize = 6;

pub(super) fn judge(report: &Report) -> Vec<Finding> {
    report.settings.iter().filter_map(judge_target).collect()
}

fn judge_target(settings: &Settings) -> Option<Finding> {
    let changed: Vec<&Setting> = settings.rows.iter().filter(|row| row.changed).collect();
    if changed.is_empty() {
        return None;
    }
    let mut facts = Facts::default();
    let count = facts.count("changed", changed.len() as u64);
    let mut shown: Vec<String> = changed.iter().map(|row| describe(row, &mut facts)).collect();
    if changed.len() > SHOWN {
        shown.truncate(SHOWN);
        shown.push(format!("and {} more", changed.len() - SHOWN));
    }
    let differ = if changed.len() == 1 { "setting differs" } else { "settings differ" };
    Some(Finding::new(
        (Code::SettingsChanged, Severity::Note),
        Subject::of_system(&settings.target),
        format!("{count} {differ} from the defaults: {}", shown.join(", ")),
        "publish the settings with the figures; the report lists them all",
        facts,
    ))
}

/// `shared_buffers 6GB`
fn describe(row: &Setting, facts: &mut Facts) -> String {
    format!("{} {}", facts.name("setting", &row.name), facts.name("value", &with_unit(row)))
}

/// A setting as one would write it in a configuration file: `6GB` where the server says 786432 of 8kB.
pub(crate) fn with_unit(row: &Setting) -> String {
    let Some(unit) = row.unit.as_deref().filter(|unit| !unit.is_empty()) else { return row.value.clone() };
    let split = unit.find(|character: char| !character.is_ascii_digit()).unwrap_or(0);
    let (multiple, base) = (unit[..split].parse().unwrap_or(1), &unit[split..]);
    let ladder: &[(&str, i64)] = match base {
        "B" | "kB" | "MB" | "GB" | "TB" => {
            &[("B", 1024), ("kB", 1024), ("MB", 1024), ("GB", 1024), ("TB", 1)]
        }
        "us" | "ms" | "s" | "min" | "h" => &[("us", 1000), ("ms", 1000), ("s", 60), ("min", 60), ("h", 1)],
        _ => return format!("{} {unit}", row.value),
    };
    let Some(mut value) = row.value.parse::<i64>().ok().and_then(|value| value.checked_mul(multiple)) else {
        return row.value.clone();
    };
    // Zero and negative values mean something else than a size: off, or chosen by the server.
    if value <= 0 {
        return row.value.clone();
    }
    let mut rungs = ladder.iter().skip_while(|(name, _)| *name != base);
    let mut name = base;
    let mut factor = rungs.next().map_or(1, |(_, factor)| *factor);
    for (larger, next_factor) in rungs {
        if value % factor != 0 {
            break;
        }
        (value, name, factor) = (value / factor, larger, *next_factor);
    }
    format!("{value}{name}")
}
