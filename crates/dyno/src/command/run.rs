//! `dyno run`: the scenario is resolved, the campaign run, the report printed and the page written.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use dyno_report::json::{self, Layout};
use dyno_report::live::{Live, Mode};
use dyno_report::page::{self, PageError};
use dyno_report::summary;
use dyno_report::terminal::Terminal;
use dyno_results::answer::Recorded;
use dyno_results::document::{Report, StageResult};
use dyno_results::event::{Code, Event, Finding, Severity, StageKind, Started};
use dyno_results::judge::OUTLASTED;
use dyno_results::spec::RunSpec;
use dyno_results::store::Store;
use dyno_target::settings::without_password;

use super::live::LivePage;
use super::{print, print_json, tell, write_err};
use crate::campaign::{self, Context, EventStream};
use crate::cli::{RunArguments, WhatArguments};
use crate::failure::Failure;
use crate::flags::targets_in_file;
use crate::generator::PrepareGenerator;
use crate::plan::Plan;
use crate::{DONE, INCOMPLETE, INVALID, NOT_STARTED, NOT_WRITTEN, interrupt, place, secrets};

/// `prepare` has the load generated.
pub(crate) fn run(arguments: RunArguments, prepare: &PrepareGenerator) -> Result<u8, Failure> {
    let RunArguments { what, rerun, runs, json, html, record, quiet, strict, live, store } = arguments;
    let again = rerun.is_some();
    let base = match rerun {
        None => None,
        Some(run) => {
            let opened = place::open_stored(&store)?;
            let stored = opened.report(&run)?.run;
            if let Some(front_end) = &stored.spec.front_end {
                let written = html.is_some() || record.is_some() || live.is_some();
                let alone = what.is_empty() && !(json || quiet || strict || written);
                if !alone || runs > 1 {
                    return Err(Failure::advised(
                        format!(
                            "a run of `dyno {}` can only be repeated with its own command line",
                            front_end.program
                        ),
                        "leave out the other options; `dyno report RUN` shows the command line",
                    ));
                }
                return run_front_end(&stored.command, opened.path());
            }
            Some(stored.spec)
        }
    };
    let named_seed = what.flags.run.seed;
    let spec = specification(what, base, quiet)?;
    let mut plan = Plan::resolve(spec.clone(), seed_from_clock())?;
    if record.is_some()
        && plan.phases.iter().flat_map(|phase| &phase.streams).all(|stream| stream.pass.is_none())
    {
        return Err(Failure::wrong("--record is for queries that are run in passes"));
    }
    for path in html.iter().chain(&record) {
        place::check_writable(path)?;
    }
    let stop = interrupt::stop_flag();
    let store = place::open_store(&store)?;
    let live = live.map(|listen| LivePage::open(store.path(), &listen)).transpose()?;
    let outputs = ReportOutputs { json, html: html.as_deref(), record: record.as_deref(), quiet, strict };
    let mut names = Vec::new();
    let mut all = || {
        let mut code = DONE;
        for left in (0..runs).rev() {
            let ended = once((&plan, prepare), &store, live.as_ref(), &outputs, &stop, &mut names)?;
            code = code.max(ended);
            // What ended one run early would end the next.
            if (ended != DONE && ended != INVALID) || stop.load(Ordering::Relaxed) {
                break;
            }
            if left > 0 {
                // The seed of a stored run makes the first of several again, and not all of them.
                let seed = if again { named_seed } else { spec.seed };
                plan = Plan::resolve(RunSpec { seed, ..spec.clone() }, seed_from_clock())?;
            }
        }
        Ok(code)
    };
    let ended = all();
    if let Some(live) = live {
        live.close();
    }
    // What is stored is told also where a further run could not begin.
    if (names.len() > 1 || ended.is_err() && !names.is_empty()) && !quiet {
        let targets: Vec<&str> = plan.systems.iter().map(|target| target.name.as_str()).collect();
        write_err(&told_of_runs(&names, &targets));
    }
    ended
}

/// What is to be run: what the options say, over a scenario, a workload or `base`.
pub(super) fn specification(
    what: WhatArguments,
    base: Option<RunSpec>,
    quiet: bool,
) -> Result<RunSpec, Failure> {
    let WhatArguments { scenario, mut flags, target_file } = what;
    if !quiet && flags.target.iter().any(|text| without_password(text) != *text) {
        write_err(&format!("warning: {EXPOSED}\n"));
    }
    if let Some(path) = target_file {
        flags.target.extend(targets_in_file(&path)?);
    }
    flags.specification(scenario.as_deref(), base)
}

/// Runs again what only another program's command line can say; it is put into the same store.
fn run_front_end(command: &[String], store: &Path) -> Result<u8, Failure> {
    if let Some(word) = command.iter().find(|word| secrets::is_hidden(word)) {
        return Err(Failure::advised(
            format!("an argument of the stored command line contained a secret, which is not stored: {word}"),
            "type the command line again",
        ));
    }
    let failed = |error| Failure::wrong(format!("cannot start dyno again: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let words = command.iter().skip(1);
    Err(failed(Command::new(program).args(words).env("DYNO_STORE", store).exec()))
}

/// What is to become of a run's report.
struct ReportOutputs<'a> {
    json: bool,
    html: Option<&'a Path>,
    record: Option<&'a Path>,
    quiet: bool,
    strict: bool,
}

/// One run of the plan: the exit status. Its name is added to `names` where it is stored.
fn once(
    (plan, prepare): (&Plan, &PrepareGenerator),
    store: &Store,
    live: Option<&LivePage>,
    outputs: &ReportOutputs<'_>,
    stop: &AtomicBool,
    names: &mut Vec<String>,
) -> Result<u8, Failure> {
    let mode = if outputs.quiet { Mode::Quiet } else { Mode::suited_to(Terminal::stderr()) };
    let specs = (plan.spec.clone(), plan.resolved.clone());
    let told =
        |name: &str| live.iter().for_each(|live| write_err(&format!("live      {}\n", live.url(name))));
    let (name, stream) = begin(store, mode, told, command_line(), specs, plan.seed)?;
    let ended = campaign::run(&Context { plan, stream: &stream, stop, prepare });
    stream.close_live();
    let measured = stream.has_measured();
    let report = stream.report();
    if let (Err(failure), false) = (&ended, measured || !report.prepare.is_empty()) {
        tell(failure);
        stream.discard()?;
        return Ok(NOT_STARTED);
    }
    names.push(name);
    let pages = Pages::write(&report, store.path(), outputs.html);
    if outputs.json {
        print_json(&report)?;
    } else if !outputs.quiet {
        print(&summary::render(&report, pages.written.as_deref(), Terminal::stdout()))?;
    }
    let is_over = matches!(ended, Ok(()) | Err(Failure::QueriesNotRun { .. }));
    let mut code = exit_code(&report, is_over, measured, outputs.strict);
    if code == INVALID && outputs.quiet && !outputs.json {
        let evidence: Vec<&str> = invalid(&report).map(|finding| finding.evidence.as_str()).collect();
        let what = report.invalid_in_part().unwrap_or_else(|| "the result".to_owned());
        tell(&Failure::advised(
            format!("{what} must not be used (--strict): {}", evidence.join("; ")),
            "`dyno findings` shows what to do",
        ));
    }
    let store_failure = stream.take_store_failure().map(Failure::from);
    if ended.is_ok() && !has_done(&report) {
        let run = &report.run.name;
        tell(&Failure::advised(
            format!("nothing was measured: no transaction of {run} succeeded"),
            why_nothing(&report)
                .unwrap_or_else(|| format!("`dyno report {run}` shows what the server answered")),
        ));
        code = code.max(NOT_STARTED);
    }
    let first = plan.systems.first().map_or("", |target| target.name.as_str());
    let recordable = has_ended_well(&ended, first);
    for failure in [ended.err(), store_failure].into_iter().flatten() {
        tell(&failure);
        code = code.max(if measured { INCOMPLETE } else { NOT_STARTED });
    }
    let recorded = outputs.record.map(|path| match recordable {
        true => record_answers(&report, first, path, outputs.quiet),
        false => Err(Failure::wrong(format!(
            "{} was not written: the run did not end well on {first}",
            path.display()
        ))),
    });
    for failure in [pages.failure, recorded.and_then(Result::err)].into_iter().flatten() {
        // The run itself is whole and stored.
        tell(&failure);
        code = code.max(NOT_WRITTEN);
    }
    Ok(code)
}

/// Whether a run came to its end on a target: nothing went wrong but that others were lost.
fn has_ended_well(ended: &Result<(), Failure>, target: &str) -> bool {
    match ended {
        // What the others returned can be recorded.
        Ok(()) | Err(Failure::QueriesNotRun { .. }) => true,
        Err(Failure::TargetsLost { lost }) => lost.iter().all(|lost| lost.name != target),
        Err(_) => false,
    }
}

/// Writes what queries returned on a target.
fn record_answers(report: &Report, target: &str, path: &Path, quiet: bool) -> Result<(), Failure> {
    let recorded = Recorded::of(&report.answers, target);
    if recorded.answers.is_empty() {
        let what = format!("{} was not written: there is no answer of {target} to record", path.display());
        return Err(Failure::wrong(what));
    }
    let mut text = Vec::new();
    json::write(&recorded, Layout::Pretty, &mut text)?;
    place::write_named(path, &String::from_utf8_lossy(&text))?;
    if !quiet {
        write_err(&(told_of_answers(report, target, &recorded, path) + "\n"));
    }
    Ok(())
}

/// `recorded  20 of 22 answers to answers.json: not Q5, Q20`
fn told_of_answers(report: &Report, target: &str, recorded: &Recorded, path: &Path) -> String {
    let own = report.series.iter().filter(|series| series.target == target);
    let queries = own.flat_map(|series| {
        let queries = series.passes.iter().flat_map(|passes| &passes.queries);
        queries.map(|query| (series.name.as_str(), query.query.as_str()))
    });
    let queries: Vec<(&str, &str)> = queries.collect();
    let is_without = |(series, query): &&(&str, &str)| {
        !recorded.answers.iter().any(|it| it.series == *series && it.answer.query == *query)
    };
    let without: Vec<&str> = queries.iter().filter(is_without).map(|(_, query)| *query).collect();
    let (count, all, path) = (recorded.answers.len(), queries.len(), path.display());
    let not = if without.is_empty() { String::new() } else { format!(": not {}", without.join(", ")) };
    format!("recorded  {count} of {all} answers to {path}{not}")
}

/// Whether any transaction ended well, but for those of warm-ups.
fn has_done(report: &Report) -> bool {
    let mut measured = report.stages.iter().filter(|result| result.stage.kind != StageKind::WarmUp);
    measured.any(|result| result.totals.done_with_drain > 0)
}

/// What to do where clients paused, or dyno itself had all cancelled.
fn why_nothing(report: &Report) -> Option<String> {
    let is_of_dyno = |result: &&StageResult| {
        let ended = result.totals.cancelled + result.totals.bad_with_drain();
        let is_measured = result.stage.kind != StageKind::WarmUp;
        is_measured && result.complete && ended > 0 && result.errors.keys().all(|code| code == OUTLASTED)
    };
    let Some(first) = report.stages.iter().find(is_of_dyno) else {
        let paused = report.stages.iter().any(|result| result.stage.pause_s.is_some());
        let finding =
            report.findings.iter().find(|finding| finding.code == Code::TooShort).filter(|_| paused)?;
        return Some(format!("{}: {}", finding.evidence, finding.advice));
    };
    Some(match report.time_limit_within(first) {
        Some(limit) => {
            format!("statements were cancelled at the time limit: give them longer than --time-limit {limit}")
        }
        None => {
            "statements were still under way at the end of the load, and were cancelled: load for longer \
                 (--duration)"
                .to_owned()
        }
    })
}

/// The runs that one command made, and how they are compared: their targets with each other, or all with others.
fn told_of_runs(names: &[String], targets: &[&str]) -> String {
    let side = |target: &str| {
        let of_target =
            |name: &String| if target.is_empty() { name.clone() } else { format!("{name}:{target}") };
        names.iter().map(of_target).collect::<Vec<_>>().join(",")
    };
    let compared = match targets {
        [_] | [] => format!("{} RUN,RUN,RUN", side("")),
        several => several.iter().map(|target| side(target)).collect::<Vec<_>>().join(" "),
    };
    let stored = format!("runs      {}\n", names.join(" "));
    if names.len() < 2 { stored } else { format!("{stored}compare   dyno compare {compared}\n") }
}

/// Said of a password that was typed.
const EXPOSED: &str = "the password in --target can be read by every user of this machine as long as dyno runs, and stays in \
                       the shell's history: PGPASSWORD, MYSQL_PWD or CLICKHOUSE_PASSWORD, a password file, a service, an option file, or \
                       --target-file FILE keeps it out of the command line";

/// Begins a run in the store: its name, which is told before anything is shown, and its stream with the first event.
pub(crate) fn begin(
    store: &Store,
    mode: Mode,
    tell: impl FnOnce(&str),
    command: Vec<String>,
    (spec, resolved): (RunSpec, RunSpec),
    seed: u64,
) -> Result<(String, EventStream), Failure> {
    let now = jiff::Zoned::now();
    let writer = store.begin_run(&now.strftime("%Y-%m-%d").to_string())?;
    let run = writer.name().to_owned();
    tell(&run);
    let stream = EventStream::new(writer, Live::new(mode, None));
    stream.emit(Event::Started(Started {
        run: run.clone(),
        dyno_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: now.timestamp().display_with_offset(now.offset()).to_string(),
        command,
        spec,
        resolved,
        seed,
    }));
    Ok((run, stream))
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
pub(super) fn seed_from_clock() -> u64 {
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
