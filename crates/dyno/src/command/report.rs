//! `dyno report`: a stored run is shown again, judged by the rules of this version.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::thread;
use std::time::Duration;

use dyno_report::terminal::Terminal;
use dyno_report::{csv, page, plans, summary};
use dyno_results::document::Report;
use dyno_results::judge::judge;
use dyno_results::store::Store;

use super::{print, print_json};
use crate::cli::ReportArguments;
use crate::failure::Failure;
use crate::{DONE, place};

/// Events that are read at a time.
const EVENTS_PAGE: u32 = 500;
/// Between two looks for new ones.
const LOOK: Duration = Duration::from_millis(200);

pub(crate) fn run(arguments: &ReportArguments) -> Result<u8, Failure> {
    let store = place::open_stored(&arguments.store)?;
    if arguments.events {
        return events(&store, arguments);
    }
    let report = judged(&store, &arguments.run)?;
    if let Some(query) = &arguments.plan {
        let Some(text) = plans::of_run(&report, query, Terminal::stdout()) else {
            return Err(no_plan(&report, query));
        };
        print(&text)?;
        return Ok(DONE);
    }
    if let Some(path) = &arguments.html {
        place::write_named(path, &page::render(&report)?)?;
    }
    if let Some(file) = &arguments.csv {
        return series(&report, file.as_deref());
    }
    if arguments.json {
        print_json(&report)?;
    } else {
        let beside = place::run_directory(store.path(), &report.run.name).join("report.html");
        let page = arguments.html.clone().or_else(|| beside.is_file().then_some(beside));
        print(&summary::render(&report, page.as_deref(), Terminal::stdout()))?;
    }
    Ok(DONE)
}

fn no_plan(report: &Report, query: &str) -> Failure {
    let run = &report.run.name;
    let mut queries: Vec<&str> = Vec::new();
    for shown in &report.plans {
        let query = shown.plan.query.as_str();
        if !queries.contains(&query) {
            queries.push(query);
        }
    }
    match queries.as_slice() {
        [] => Failure::advised(
            format!("the run {run} has no plans"),
            "they are taken of query sets (`dyno run tpch`, a folder of queries) unless --plans none says otherwise",
        ),
        _ => Failure::wrong(format!(
            "the run {run} has no plan of {query}: it has those of {}",
            queries.join(", ")
        )),
    }
}

/// The series as CSV, to a file or to standard output.
fn series(report: &Report, file: Option<&Path>) -> Result<u8, Failure> {
    let write = |out: &mut dyn io::Write| {
        let mut out = BufWriter::new(out);
        csv::write(&report.run.started_at, &report.timelines, &report.stages, &mut out)
            .and_then(|()| out.flush())
    };
    match file.filter(|path| path.as_os_str() != "-") {
        Some(path) => {
            let failed = |source| Failure::Write { path: path.to_owned(), source };
            write(&mut File::create(path).map_err(failed)?).map_err(failed)?;
        }
        None => {
            still_reading(write(&mut io::stdout().lock()))?;
        }
    }
    Ok(DONE)
}

/// The stream of events as it is stored; with `--follow` until the run has ended or its process is gone.
fn events(store: &Store, arguments: &ReportArguments) -> Result<u8, Failure> {
    // `last` is to mean the same run to the end.
    let name = store.find(&arguments.run)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut after = None;
    loop {
        // Before the events are read: what was written before the end is read after it was seen.
        let live = arguments.follow && store.state(&name)?.live;
        loop {
            let mut written = Ok(());
            let last = store.read_raw(&name, after, EVENTS_PAGE, |raw| {
                if written.is_ok() {
                    written = out.write_all(raw.line().as_bytes());
                }
            })?;
            if !still_reading(written.and_then(|()| out.flush()))? {
                return Ok(DONE);
            }
            match last {
                Some(last) => after = Some(last),
                None => break,
            }
        }
        if !live {
            return Ok(DONE);
        }
        thread::sleep(LOOK);
    }
}

/// False where the reader has hung up (`| head`), which is no error.
fn still_reading(written: io::Result<()>) -> Result<bool, Failure> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::Output(error)),
    }
}

/// A stored run with its findings as of now: one that was killed had no time to judge itself, and rules improve.
pub(crate) fn judged(store: &Store, wanted: &str) -> Result<Report, Failure> {
    let report = store.report(&store.find(wanted)?)?;
    let findings = judge(&report);
    Ok(report.judged(findings))
}
