//! The stored runs as a table, for `dyno runs`.

use dyno_results::event::Outcome;
use dyno_results::store::RunSummary;

use crate::format;
use crate::terminal::Terminal;
use crate::text::{DOT, Paint, cut, pad_end, visible, width};

/// Between columns.
const GAP: usize = 2;
/// The last column is worth showing from this width on.
const FIGURES_WIDTH_MIN: usize = 24;

/// Draws a table with one line for each run, in the order given, a newline at the end. Columns that do not fit
/// are left out, the least telling first; the figures are cut.
#[must_use]
pub fn render(runs: &[RunSummary], terminal: Terminal) -> String {
    if runs.is_empty() {
        return "no runs are stored yet; `dyno run` makes one\n".to_owned();
    }
    let paint = Paint { color: terminal.color };
    let mut columns = [
        Column::new("run", runs, |run| visible(&run.name).into_owned()),
        Column::new("started", runs, started),
        Column::new("took", runs, |run| format::duration_s(run.seconds)),
        Column::new("ended", runs, |run| outcome(run.outcome).to_owned()),
        Column::new("target", runs, targets),
    ];
    // The name begins with the date, so that the start says least; then come the duration and the target.
    for least_telling in [1, 2, 4, 3] {
        if total(&columns) + FIGURES_WIDTH_MIN > terminal.width {
            columns[least_telling].shown = false;
        }
    }
    let room = terminal.width.saturating_sub(total(&columns)).max(1);
    let mut out = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = (usize, &str)>, figures: &str, head: bool| {
        let mut text: String = cells.map(|(width, cell)| pad_end(cell, width + GAP)).collect();
        text.push_str(&cut(figures, room));
        let text = cut(text.trim_end(), terminal.width).into_owned();
        out.push_str(&if head { paint.faint(&text) } else { text });
        out.push('\n');
    };
    let shown = || columns.iter().filter(|column| column.shown);
    line(&mut shown().map(|column| (column.width, column.name)), "figures", true);
    for (index, run) in runs.iter().enumerate() {
        line(&mut shown().map(|column| (column.width, column.cells[index].as_str())), &figures(run), false);
    }
    out
}

/// A column with its cells, one for each run.
struct Column {
    name: &'static str,
    cells: Vec<String>,
    width: usize,
    shown: bool,
}

impl Column {
    fn new(name: &'static str, runs: &[RunSummary], cell: impl Fn(&RunSummary) -> String) -> Self {
        let cells: Vec<String> = runs.iter().map(cell).collect();
        let width = cells.iter().map(|cell| width(cell)).max().unwrap_or(0).max(name.len());
        Self { name, cells, width, shown: true }
    }
}

fn total(columns: &[Column]) -> usize {
    columns.iter().filter(|column| column.shown).map(|column| column.width + GAP).sum()
}

/// `2026-11-20 08:50` of `2026-11-20T08:50:12+01:00`: the clock of where it ran.
fn started(run: &RunSummary) -> String {
    let Some(text) = &run.started_at else { return format::UNKNOWN.to_owned() };
    let minutes: String = text.chars().take(16).collect();
    visible(&minutes).replacen('T', " ", 1)
}

fn outcome(outcome: Option<Outcome>) -> &'static str {
    match outcome {
        Some(Outcome::Complete) => "complete",
        Some(Outcome::Incomplete) => "incomplete",
        // Still running, or killed before it could say so: the store cannot tell.
        None => "not ended",
    }
}

fn targets(run: &RunSummary) -> String {
    let names: Vec<String> = run
        .content
        .targets
        .iter()
        .map(|target| {
            let product = target.product.as_deref().map_or("unrecognised".into(), visible);
            let version =
                target.version.as_deref().map_or(String::new(), |text| format!(" {}", visible(text)));
            let profile = target
                .embedded_profile
                .as_deref()
                .map_or(String::new(), |text| format!(" ({})", visible(text)));
            format!("{product}{version}{profile}")
        })
        .collect();
    if names.is_empty() { format::UNKNOWN.to_owned() } else { names.join(", ") }
}

/// `read 84.9k TPS at 8 · write 4.21k TPS at 16`
fn figures(run: &RunSummary) -> String {
    let several = run.content.targets.len() > 1;
    let figures: Vec<String> = run
        .content
        .series
        .iter()
        .map(|series| {
            let target = if several { format!("{} ", visible(&series.target)) } else { String::new() };
            format!(
                "{target}{} {} TPS at {}",
                visible(&series.series),
                format::short(series.tps),
                series.clients
            )
        })
        .collect();
    if figures.is_empty() { "nothing was measured".to_owned() } else { figures.join(DOT) }
}

#[cfg(test)]
mod tests {
    use dyno_results::event::StageKind;
    use dyno_results::store::{Content, SeriesSummary, TargetSummary};

    use super::*;

    fn runs() -> Vec<RunSummary> {
        let series = |name: &str, clients, tps| SeriesSummary {
            target: "pg".to_owned(),
            series: name.to_owned(),
            workload: "tpcb/select-only".to_owned(),
            kind: StageKind::Hold,
            clients,
            tps,
        };
        let complete = RunSummary {
            name: "2026-11-20-2".to_owned(),
            started_at: Some("2026-11-20T08:50:12+01:00".to_owned()),
            outcome: Some(Outcome::Complete),
            reason: None,
            seconds: 161.0,
            content: Content {
                command: vec!["dyno".to_owned(), "run".to_owned()],
                targets: vec![TargetSummary {
                    name: "pg".to_owned(),
                    product: Some("PostgreSQL".to_owned()),
                    version: Some("18.1".to_owned()),
                    embedded_profile: Some("production".to_owned()),
                }],
                series: vec![series("read", 8, 84_912.0), series("write", 16, 4_211.0)],
            },
        };
        let killed = RunSummary {
            name: "2026-11-20-1\u{1b}[2J".to_owned(),
            started_at: None,
            outcome: None,
            reason: None,
            seconds: 0.0,
            content: Content::default(),
        };
        vec![complete, killed]
    }

    #[test]
    fn one_line_for_each_run() {
        insta::assert_snapshot!(render(&runs(), Terminal::plain(140)), @r"
        run                started           took        ended      target                        figures
        2026-11-20-2       2026-11-20 08:50  2 min 41 s  complete   PostgreSQL 18.1 (production)  read 84.9k TPS at 8 · write 4.21k TPS at 16
        2026-11-20-1\e[2J  –                 0 s         not ended  –                             nothing was measured
        ");
    }

    #[test]
    fn columns_give_way_when_it_is_narrow() {
        insta::assert_snapshot!(render(&runs(), Terminal::plain(60)), @r"
        run                ended      figures
        2026-11-20-2       complete   read 84.9k TPS at 8 · write 4…
        2026-11-20-1\e[2J  not ended  nothing was measured
        ");
        for width in 24..150 {
            let table = render(&runs(), Terminal::plain(width));
            assert!(table.lines().all(|line| self::width(line) <= width), "{table}");
        }
    }

    #[test]
    fn an_empty_store_says_how_to_fill_it() {
        assert!(render(&[], Terminal::plain(80)).contains("dyno run"));
    }
}
