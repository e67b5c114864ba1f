//! `dyno run`: the scenario is resolved, the campaign run, the report printed and the page written.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use dyno_report::live::{Live, Mode};
use dyno_report::page::{self, PageError};
use dyno_report::summary;
use dyno_report::terminal::Terminal;
use dyno_results::document::Report;
use dyno_results::event::{Event, Finding, Severity, Started};

use super::live::{LivePage, keep_for_pages};
use super::{print, print_json, tell};
use crate::campaign::{self, Context, Stream};
use crate::cli::RunArguments;
use crate::failure::Failure;
use crate::plan::Plan;
use crate::scenario::Scenario;
use crate::{DONE, INCOMPLETE, INVALID, NOT_STARTED, NOT_WRITTEN, interrupt, place, secrets};

pub(crate) fn run(arguments: RunArguments) -> Result<u8, Failure> {
    let RunArguments { scenario, fields, json, html, quiet, strict, live, store } = arguments;
    let plan = Plan::resolve(&Scenario::typed(scenario.as_deref(), fields)?, seed_from_clock())?;
    if let Some(path) = &html {
        place::check_writable(path)?;
    }
    let stop = interrupt::stop_flag();
    let store = place::open_store(&store)?;
    let live = live.map(|listen| LivePage::open(store.path(), &listen)).transpose()?;
    let now = jiff::Zoned::now();
    let writer = store.begin_run(&now.strftime("%Y-%m-%d").to_string())?;
    let name = writer.name().to_owned();
    if let Some(live) = &live {
        eprintln!("live      {}", live.url(&name));
    }
    let mode = if quiet || json { Mode::Quiet } else { Mode::suited_to(Terminal::stderr()) };
    let stream = Stream::new(writer, Live::new(mode, None));
    stream.emit(started(&name, &now, command_line(), plan.as_json(), plan.seed));
    let ended = campaign::run(&Context { plan: &plan, stream: &stream, stop: &stop });
    stream.close_live();
    if let Some(live) = live {
        live.close();
    }
    let measured = stream.has_measured();
    let report = stream.report();
    if let (Err(failure), false) = (&ended, measured || !report.prepare.is_empty()) {
        tell(failure);
        stream.discard()?;
        return Ok(NOT_STARTED);
    }
    let pages = Pages::write(&report, store.path(), html.as_deref());
    keep_for_pages(&store, &report);
    if json {
        print_json(&report)?;
    } else if !quiet {
        print(&summary::render(&report, pages.written.as_deref(), Terminal::stdout()))?;
    }
    let mut code = exit_code(&report, ended.is_ok(), measured, strict);
    if code == INVALID && quiet && !json {
        tell(&Failure::Strict {
            evidence: invalid(&report).map(|finding| finding.evidence.clone()).collect(),
        });
    }
    let store_failure = stream.take_store_failure().map(Failure::from);
    for failure in [ended.err(), store_failure].into_iter().flatten() {
        tell(&failure);
        code = code.max(if measured { INCOMPLETE } else { NOT_STARTED });
    }
    if let Some(failure) = pages.failure {
        // The run itself is whole and stored.
        tell(&failure);
        code = code.max(NOT_WRITTEN);
    }
    Ok(code)
}

/// The first event of a run.
pub(crate) fn started(
    name: &str,
    now: &jiff::Zoned,
    command: Vec<String>,
    scenario: serde_json::Value,
    seed: u64,
) -> Event {
    Event::Started(Started {
        run: name.to_owned(),
        dyno_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: now.timestamp().display_with_offset(now.offset()).to_string(),
        command,
        scenario,
        seed,
    })
}

/// The page of a run: beside the store, and where the user wants it.
#[derive(Default)]
pub(crate) struct Pages {
    /// Where a reader finds it.
    pub(crate) written: Option<PathBuf>,
    pub(crate) failure: Option<Failure>,
}

impl Pages {
    /// Writes first the page beside the store, which is kept whatever becomes of the other. A dyno built without the
    /// page writes none, and says so only to who asked for one.
    pub(crate) fn write(report: &Report, store: &Path, wanted: Option<&Path>) -> Self {
        let html = match page::render(report) {
            Ok(html) => html,
            Err(PageError::NotBuilt) if wanted.is_none() => return Self::default(),
            Err(error) => return Self { failure: Some(error.into()), ..Self::default() },
        };
        let mut pages = Self::default();
        let beside = place::run_directory(store, &report.run.name).join("report.html");
        let written = place::write_beside(store, &beside, &html).map(|()| beside);
        let wanted = wanted.map(|path| place::write_named(path, &html).map(|()| path.to_owned()));
        for written in [Some(written), wanted].into_iter().flatten() {
            match written {
                Ok(path) => pages.written = Some(path),
                Err(failure) => pages.failure = Some(failure),
            }
        }
        pages
    }
}

fn exit_code(report: &Report, complete: bool, measured: bool, strict: bool) -> u8 {
    match (complete, measured) {
        (true, _) if strict && invalid(report).next().is_some() => INVALID,
        (true, _) => DONE,
        (false, true) => INCOMPLETE,
        (false, false) => NOT_STARTED,
    }
}

fn invalid(report: &Report) -> impl Iterator<Item = &Finding> {
    report.findings.iter().filter(|finding| finding.severity == Severity::Invalid)
}

/// A seed that differs from run to run; it is stored, so that a run can be had again.
fn seed_from_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// What was typed, without passwords.
fn command_line() -> Vec<String> {
    let mut words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let mut shown = vec!["dyno".to_owned()];
    while let Some(word) = words.next() {
        let of_hook = matches!(word.as_str(), "--before" | "--after");
        shown.push(secrets::hidden(&word));
        if of_hook {
            // A stage, and what is done there, which may be a whole shell script.
            shown.extend(words.next());
            shown.extend(words.next().map(|command| secrets::hidden_in_command(&command)));
        }
    }
    shown
}
