//! The stored runs as a table, for `dyno runs`.

use dyno_results::event::Outcome;
use dyno_results::store::{Doubts, PassesSummary, RunSummary, SeriesSummary};

use crate::terminal::Terminal;
use crate::text::{DOT, Paint, cut, pad_end, visible, width};
use dyno_results::format;

/// Between columns.
const GAP: usize = 2;
/// The last column is worth showing from this width on.
const FIGURES_WIDTH_MIN: usize = 24;

/// Which runs a list shows: those that fit all that is named. Texts are looked for anywhere and in any case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// In a target's name, product or version.
    pub target: Option<String>,
    /// In a series' name or workload.
    pub workload: Option<String>,
    /// In the run's name, its command, or why it is incomplete; or in what the other two look at.
    pub text: Option<String>,
    pub ended: Option<RunEnd>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    Complete,
    Incomplete,
    /// Still running, or killed before it could say so.
    Not,
}

impl Filter {
    /// Whether the list shows this run.
    pub fn fits(&self, run: &RunSummary) -> bool {
        let content = &run.content;
        let of_targets = |wanted: &str| {
            content.targets.iter().any(|target| {
                let texts = [Some(&target.name), target.product.as_ref(), target.version.as_ref()];
                texts.into_iter().flatten().any(|text| contains(text, wanted))
            })
        };
        let of_series = |wanted: &str| {
            content.series.iter().any(|s| contains(&s.series, wanted) || contains(&s.workload, wanted))
        };
        let anywhere = |wanted: &str| {
            let reason = run.reason.as_deref().unwrap_or_default();
            [&run.name, reason].iter().any(|text| contains(text, wanted))
                || contains(&content.command.join(" "), wanted)
                || of_targets(wanted)
                || of_series(wanted)
        };
        self.target.as_deref().is_none_or(of_targets)
            && self.workload.as_deref().is_none_or(of_series)
            && self.text.as_deref().is_none_or(anywhere)
            && self.ended.is_none_or(|ended| ended == self::ended(run.outcome))
    }
}

fn contains(text: &str, wanted: &str) -> bool {
    text.to_lowercase().contains(&wanted.to_lowercase())
}

fn ended(outcome: Option<Outcome>) -> RunEnd {
    match outcome {
        Some(Outcome::Complete) => RunEnd::Complete,
        Some(Outcome::Incomplete) => RunEnd::Incomplete,
        None => RunEnd::Not,
    }
}

/// What stands in place of a table where runs are stored and none of them fits.
pub fn none_fits(stored: usize) -> String {
    format!("no stored run fits; `dyno runs` lists all {}\n", format::count(stored as u64))
}

/// Draws a table with one line for each run, in the order given, a newline at the end. Columns that do not fit
/// are left out, the least telling first; the figures are cut.
pub fn render(runs: &[RunSummary], terminal: Terminal) -> String {
    if runs.is_empty() {
        return "no runs are stored yet; `dyno run` makes one\n".to_owned();
    }
    let paint = Paint { color: terminal.color };
    let mut columns = [
        Column::new("run", runs, |run| visible(&run.name).into_owned()),
        Column::new("started", runs, started),
        Column::new("took", runs, took),
        Column::new("ended", runs, |run| state(run).to_owned()),
        Column::new("target", runs, targets),
        Column::new("findings", runs, |run| judged(run.content.findings.as_ref())),
    ];
    // How far a figure can be believed stands beside it however narrow the terminal is; where nothing is to be said, no
    // column is needed for it.
    let marked = runs.iter().any(|run| !judged(run.content.findings.as_ref()).is_empty());
    columns[5].shown = marked;
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
    if marked {
        let words = "invalid: such series are not to be used · doubtful: see `dyno findings RUN`";
        out.push_str(&paint.faint(&cut(words, terminal.width)));
        out.push('\n');
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

fn took(run: &RunSummary) -> String {
    if run.damaged { format::UNKNOWN.to_owned() } else { format::duration_s(run.seconds) }
}

fn state(run: &RunSummary) -> &'static str {
    match ended(run.outcome) {
        RunEnd::Complete => "complete",
        RunEnd::Incomplete => "incomplete",
        RunEnd::Not if run.damaged => "damaged",
        RunEnd::Not if run.live => "running",
        RunEnd::Not => "killed",
    }
}

/// In a word, the gravest. Nothing stands for a run of which no findings are known: it goes on, or was killed.
fn judged(doubts: Option<&Doubts>) -> String {
    match doubts {
        Some(doubts) if !doubts.invalid.is_empty() => match doubts.invalid_in_part() {
            Some(part) => format!("{part} invalid"),
            None => "invalid".to_owned(),
        },
        Some(doubts) if !doubts.doubt.is_empty() => "doubtful".to_owned(),
        Some(_) | None => String::new(),
    }
}

/// `PostgreSQL 18.1 (production)`; of several also their names: `pg PostgreSQL 18.1, my MySQL 9.4.0`.
fn targets(run: &RunSummary) -> String {
    let several = run.content.targets.len() > 1;
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
            let name = if several { format!("{} ", visible(&target.name)) } else { String::new() };
            format!("{name}{product}{version}{profile}")
        })
        .collect();
    if names.is_empty() { format::UNKNOWN.to_owned() } else { names.join(", ") }
}

/// `read 84.9k TPS at 8 · write 4.21k TPS at 500/s`; of a query set `queries 1.1 s a pass`; of several targets `join pg 61.6k at 16, my 33.8k at 16 TPS`.
fn figures(run: &RunSummary) -> String {
    if run.damaged {
        return "what the list has of it is not as it was written; `dyno report` reads its events".to_owned();
    }
    let content = &run.content;
    let mut figures: Vec<String> = Vec::new();
    for (index, series) in content.series.iter().enumerate() {
        if content.targets.len() < 2 {
            figures.push(format!("{} {}", visible(&series.series), headline(series, " TPS")));
        } else if !content.series[..index].iter().any(|before| before.series == series.series) {
            let place = |s: &&SeriesSummary| content.targets.iter().position(|t| t.name == s.target);
            let mut alike: Vec<_> =
                content.series.iter().filter(|other| other.series == series.series).collect();
            alike.sort_by_key(place);
            let alike: Vec<String> =
                alike.iter().map(|s| format!("{} {}", visible(&s.target), headline(s, ""))).collect();
            let unit = if series.passes.is_some() { "" } else { " TPS" };
            figures.push(format!("{} {}{unit}", visible(&series.series), alike.join(", ")));
        }
    }
    if figures.is_empty() { "nothing was measured".to_owned() } else { figures.join(DOT) }
}

/// `84.9k TPS at 8`; of passes over a query set `1.1 s a pass`, or `21 of 22 queries` where not all ran.
fn headline(series: &SeriesSummary, unit: &str) -> String {
    match &series.passes {
        Some(PassesSummary { total_s: Some(total_s), .. }) => {
            format!("{} a pass", format::latency_us(total_s * 1e6))
        }
        Some(passes) => format!("{} of {} queries", passes.ran, passes.queries),
        None => format!("{}{unit} at {}", format::short(series.tps), load(series)),
    }
}

/// What was asked of the server: clients, or of an open load the rate, whose clients are only as many as it took.
fn load(series: &SeriesSummary) -> String {
    match (series.rate_per_s, series.rate_end_per_s) {
        (Some(rate), Some(end)) => format!("{} to {}/s", format::plain(rate), format::plain(end)),
        (Some(rate), None) => format!("{}/s", format::plain(rate)),
        (None, _) => match series.clients_end.filter(|end| *end != series.clients) {
            Some(end) => format!("{} to {end}", series.clients),
            None => series.clients.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use dyno_results::event::StageKind;
    use dyno_results::store::{Content, TargetSummary};

    use super::*;

    fn runs() -> Vec<RunSummary> {
        let series = |name: &str, clients, tps| SeriesSummary {
            target: "pg".to_owned(),
            series: name.to_owned(),
            workload: "tpcb/select-only".to_owned(),
            kind: StageKind::Hold,
            clients,
            clients_end: None,
            rate_per_s: None,
            rate_end_per_s: None,
            tps,
            repeats: Vec::new(),
            passes: None,
        };
        let complete = RunSummary {
            name: "2026-11-20-2".to_owned(),
            started_at: Some("2026-11-20T08:50:12+01:00".to_owned()),
            outcome: Some(Outcome::Complete),
            reason: None,
            live: false,
            damaged: false,
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
                findings: Some(Doubts::default()),
            },
        };
        let killed = RunSummary {
            name: "2026-11-20-1\u{1b}[2J".to_owned(),
            started_at: None,
            outcome: None,
            reason: None,
            live: false,
            damaged: false,
            seconds: 0.0,
            content: Content::default(),
        };
        vec![complete, killed]
    }

    #[test]
    fn one_line_for_each_run() {
        insta::assert_snapshot!(render(&runs(), Terminal::plain(140)), @r"
        run                started           took        ended     target                        figures
        2026-11-20-2       2026-11-20 08:50  2 min 41 s  complete  PostgreSQL 18.1 (production)  read 84.9k TPS at 8 · write 4.21k TPS at 16
        2026-11-20-1\e[2J  –                 0 s         killed    –                             nothing was measured
        ");
    }

    #[test]
    fn a_damaged_run_says_nothing_but_that() {
        let mut damaged = runs().remove(1);
        damaged.damaged = true;
        insta::assert_snapshot!(render(&[damaged], Terminal::plain(140)), @r"
        run                started  took  ended    target  figures
        2026-11-20-1\e[2J  –        –     damaged  –       what the list has of it is not as it was written; `dyno report` reads its events
        ");
    }

    #[test]
    fn columns_give_way_when_it_is_narrow() {
        insta::assert_snapshot!(render(&runs(), Terminal::plain(60)), @r"
        run                ended     figures
        2026-11-20-2       complete  read 84.9k TPS at 8 · write 4.…
        2026-11-20-1\e[2J  killed    nothing was measured
        ");
        for width in 24..150 {
            let table = render(&runs(), Terminal::plain(width));
            assert!(table.lines().all(|line| self::width(line) <= width), "{table}");
        }
    }

    /// A run of two targets.
    fn duel() -> RunSummary {
        let mut run = runs().remove(0);
        run.content.targets.push(TargetSummary {
            name: "my".to_owned(),
            product: Some("MySQL".to_owned()),
            version: Some("9.4.0".to_owned()),
            embedded_profile: None,
        });
        let mut other = run.content.series[0].clone();
        (other.target, other.tps) = ("my".to_owned(), 50_100.0);
        // It began first, and is named second all the same.
        run.content.series.insert(0, other);
        run
    }

    #[test]
    fn a_figure_stands_beside_what_it_must_be_doubted_for() {
        let [judged, mut going] = <[RunSummary; 2]>::try_from(runs()).unwrap();
        let codes = |code: &str| vec![code.to_owned()];
        let with = |doubts: Doubts| {
            let mut run = judged.clone();
            run.content.findings = Some(doubts);
            run
        };
        let none = Doubts { series: 2, ..Doubts::default() };
        let doubtful = with(Doubts { doubt: codes("shared-host"), ..none.clone() });
        let invalid = with(Doubts { invalid: codes("data-check-failed"), series_invalid: 2, ..none.clone() });
        let in_part = with(Doubts { invalid: codes("no-work"), series_invalid: 1, ..none });
        (going.name, going.live) = ("2026-11-20-1".to_owned(), true);
        insta::assert_snapshot!(render(&[invalid, in_part, doubtful, judged, going], Terminal::plain(76)), @r"
        run           ended     findings               figures
        2026-11-20-2  complete  invalid                read 84.9k TPS at 8 · write …
        2026-11-20-2  complete  1 of 2 series invalid  read 84.9k TPS at 8 · write …
        2026-11-20-2  complete  doubtful               read 84.9k TPS at 8 · write …
        2026-11-20-2  complete                         read 84.9k TPS at 8 · write …
        2026-11-20-1  running                          nothing was measured
        invalid: such series are not to be used · doubtful: see `dyno findings RUN`
        ");
    }

    #[test]
    fn a_load_is_named_by_what_was_asked_of_the_server() {
        let series = runs().remove(0).content.series.remove(0);
        let ramp = SeriesSummary { clients_end: Some(200), ..series.clone() };
        let rate = SeriesSummary { rate_per_s: Some(5000.0), clients: 64, ..series.clone() };
        let rates = SeriesSummary { rate_end_per_s: Some(12_500.0), ..rate.clone() };
        assert_eq!(
            [series, ramp, rate, rates].each_ref().map(load),
            ["8", "8 to 200", "5,000/s", "5,000 to 12,500/s"]
        );
    }

    #[test]
    fn passes_over_a_query_set_are_told_in_seconds() {
        let of = |total_s, ran| Some(PassesSummary { total_s, queries: 22, ran });
        let mut run = duel();
        run.content.series.truncate(2);
        run.content.series[0].passes = of(None, 21);
        run.content.series[1].passes = of(Some(1.118), 22);
        assert_eq!(figures(&run), "read pg 1.1 s a pass, my 21 of 22 queries");
        run.content.targets.truncate(1);
        run.content.series.remove(0);
        assert_eq!(figures(&run), "read 1.1 s a pass");
    }

    #[test]
    fn several_targets_stand_together() {
        insta::assert_snapshot!(render(&[duel()], Terminal::plain(170)), @"
    run           started           took        ended     target                                           figures
    2026-11-20-2  2026-11-20 08:50  2 min 41 s  complete  pg PostgreSQL 18.1 (production), my MySQL 9.4.0  read pg 84.9k at 8, my 50.1k at 8 TPS · write pg 4.21k at 16 TPS
    ");
    }

    #[test]
    fn a_filter_keeps_what_fits_all_of_it() {
        let [complete, killed] = <[RunSummary; 2]>::try_from(runs()).unwrap();
        let some = |text: &str| Some(text.to_owned());
        let fits = |filter: &Filter| [&complete, &killed, &duel()].map(|run| filter.fits(run));
        let none = Filter::default();
        assert_eq!(fits(&none), [true, true, true]);
        assert_eq!(fits(&Filter { target: some("my"), ..none.clone() }), [false, false, true]);
        assert_eq!(fits(&Filter { target: some("postgresql"), ..none.clone() }), [true, false, true]);
        assert_eq!(fits(&Filter { workload: some("select-only"), ..none.clone() }), [true, false, true]);
        assert_eq!(fits(&Filter { workload: some("Write"), ..none.clone() }), [true, false, true]);
        assert_eq!(fits(&Filter { text: some("11-20-1"), ..none.clone() }), [false, true, false]);
        assert_eq!(fits(&Filter { text: some("dyno run"), ..none.clone() }), [true, false, true]);
        assert_eq!(fits(&Filter { ended: Some(RunEnd::Not), ..none.clone() }), [false, true, false]);
        let both = Filter { target: some("my"), ended: Some(RunEnd::Incomplete), ..none };
        assert_eq!(fits(&both), [false, false, false]);
    }

    #[test]
    fn an_empty_store_says_how_to_fill_it() {
        assert!(render(&[], Terminal::plain(80)).contains("dyno run"));
    }
}
