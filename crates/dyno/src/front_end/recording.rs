//! A front end's run in dyno's store: described, watched and judged like any other. None of it may stand in the way of
//! the run: what does not succeed is told in a line, and the run goes on without it.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dyno_engine::driver::Route;
use dyno_engine::engine::{Engine, Observation};
use dyno_engine::error::EngineError;
use dyno_report::live::Mode;
use dyno_report::summary;
use dyno_report::terminal::Terminal;
use dyno_results::document::Report;
use dyno_results::event::{Event, Stage, StageFinished, StageKey, StageKind};
use dyno_results::judge::only_reads;
use dyno_results::spec::{
    Arrivals, Clients, End, LoadSpec, Protocol, Rate, RunSpec, StageOrder, StreamSpec, TargetSpec, Time,
};
use dyno_target::connection::Connection;
use dyno_target::inspect;
use dyno_target::probe::{self, HostOptions, HostReading, Probe};
use dyno_target::statements::{self, UserStatement};
use dyno_wire::endpoint::Endpoint;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::Extras;
use super::finished::brief;
use crate::campaign::describe::{self, Described, Description};
use crate::campaign::stages;
use crate::campaign::{self, EventStream};
use crate::cli::StoreArguments;
use crate::command;
use crate::command::run::{Pages, begin};
use crate::failure::Failure;
use crate::generator::Connected;
use crate::{place, secrets};

/// What a front end runs, as the store is told of it.
pub(crate) struct LoadDescription {
    /// `pgbench`
    pub(crate) program: &'static str,
    /// What was typed behind the program's name, as it could be typed again but for what is hidden.
    pub(crate) typed: Vec<String>,
    /// The target's short name in the report.
    pub(crate) target: &'static str,
    /// Without the password.
    pub(crate) url: String,
    pub(crate) series: String,
    pub(crate) workload: String,
    pub(crate) types: Vec<String>,
    pub(crate) seed: u64,
    pub(crate) threads: u32,
    pub(crate) protocol: Protocol,
    pub(crate) max_tries: Option<u32>,
    pub(crate) warm_up: Option<Duration>,
    /// The stage that is measured.
    pub(crate) order: StageOrder,
    /// As [`Stage::only_reads`], where the statements are not a user's own.
    pub(crate) only_reads: Option<bool>,
    /// What only the program knows.
    pub(crate) options: Value,
}

impl LoadDescription {
    fn specification(&self) -> RunSpec {
        let mut load = LoadSpec {
            clients: Some(Clients::Ladder(vec![self.order.clients])),
            rate: match self.order.arrivals {
                Arrivals::Closed { .. } => None,
                Arrivals::Open { rate_per_s, rate_end_per_s, .. } => {
                    Some(Rate { start_per_s: rate_per_s, end_per_s: rate_end_per_s })
                }
            },
            ..LoadSpec::default()
        };
        match self.order.end {
            End::Duration(duration) => load.duration = Some(Time(duration)),
            End::TransactionsPerClient(u64::MAX) | End::WithOthers => {}
            End::TransactionsPerClient(count) => load.transactions = Some(count),
        }
        let stream = StreamSpec {
            workload: Some(self.workload.clone()),
            protocol: Some(self.protocol),
            max_tries: self.max_tries,
            load,
            ..StreamSpec::default()
        };
        let mut spec = RunSpec::of_front_end(self.program, self.options.clone(), stream);
        (spec.seed, spec.threads) = (Some(self.seed), Some(self.threads));
        let (name, url) = (self.target.to_owned(), Some(self.url.clone()));
        spec.targets.push(TargetSpec { name, url, ..TargetSpec::default() });
        spec.phases.iter_mut().for_each(|phase| phase.warm_up = self.warm_up.map(Time));
        spec
    }

    fn stage(
        &self,
        order: &StageOrder,
        (contended_rows, only_reads): (Option<u32>, Option<bool>),
        engine: &Engine,
    ) -> Stage {
        let stage = Stage {
            key: StageKey {
                system: self.target.to_owned(),
                round: u32::from(order.kind != StageKind::WarmUp),
                ..StageKey::default()
            },
            series: self.series.clone(),
            workload: self.workload.clone(),
            protocol: self.protocol.name().to_owned(),
            contended_rows,
            only_reads,
            types: self.types.clone(),
            ..Stage::default()
        };
        let connected =
            Connected { generators: 1, threads: self.threads, poller: engine.poller(), no_uring: None };
        stages::announced(stage, None, order, &connected)
    }
}

/// A longer script is stored by its hash alone.
const SCRIPT_BYTES_MAX: usize = 1 << 20;

/// A script of the user's: the hash of what was read, and its text with what looks like a secret hidden.
pub(crate) fn stored_script(name: &str, text: &[u8]) -> Value {
    let hash: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    let shown = || secrets::hidden_in_lines(&String::from_utf8_lossy(text));
    json!({ "name": name, "sha256": hash, "text": (text.len() <= SCRIPT_BYTES_MAX).then(shown) })
}

/// The data under a load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tables<'a> {
    pub(crate) scale: Option<f64>,
    pub(crate) names: &'a [&'a str],
    /// As [`Stage::contended_rows`].
    pub(crate) contended_rows: Option<u32>,
}

/// A run that is being stored, unless it cannot be or nobody wants it.
pub(crate) struct Recording {
    load: LoadDescription,
    /// As [`Stage::contended_rows`], once the data are known.
    contended_rows: Option<u32>,
    extras: Extras,
    run: Option<RecordedRun>,
}

struct RecordedRun {
    stream: EventStream,
    store: PathBuf,
    /// What is under test and where it is asked, once that is known.
    described: Option<(Description, Route)>,
    /// As [`Stage::only_reads`].
    only_reads: Option<bool>,
    /// What of the host is to be watched, once that is known.
    host: Option<HostOptions>,
    probe: Option<Probe>,
}

impl Recording {
    pub(crate) fn begin(load: LoadDescription, extras: Extras) -> Self {
        let told = |failure| extras.tell(&format!("dyno: the run is not stored: {failure}\n"));
        let run = (extras != Extras::Off).then(|| RecordedRun::begin(&load).map_err(told).ok()).flatten();
        Self { load, contended_rows: None, extras, run }
    }

    /// Tells what is under test, and how large `tables` are, or those that the `statements` of a user's own scripts may change.
    pub(crate) fn describe(
        &mut self,
        connection: &mut Connection,
        tables: Option<Tables<'_>>,
        statements: &[UserStatement],
    ) {
        self.contended_rows = tables.and_then(|tables| tables.contended_rows);
        if let Some(run) = &mut self.run
            && let Err(failure) = run.describe(&self.load, connection, tables, statements)
        {
            self.extras.tell(&format!("dyno: the run is not described in full: {failure}\n"));
        }
    }

    /// Begins to watch host and database, with a connection of its own.
    pub(crate) fn watch(&mut self, endpoint: &Endpoint) {
        let Some(run) = &mut self.run else { return };
        let options = probe::ProbeOptions {
            database: Some(endpoint.into()),
            host: HostReading::This(run.host.take().unwrap_or_default()),
            ..probe::ProbeOptions::new(self.load.target)
        };
        run.probe = describe::watched(&run.stream, options);
    }

    /// Runs a stage, told of from its start to its end. `also` sees what is observed, too.
    pub(crate) fn run_stage(
        &self,
        engine: &mut Engine,
        mut order: StageOrder,
        stop: &AtomicBool,
        also: &mut dyn FnMut(&Observation),
    ) -> Result<StageFinished, EngineError> {
        let Some(RecordedRun { stream, only_reads, .. }) = &self.run else {
            return engine.run_stage(&order, stop, &mut |seen| also(&seen));
        };
        order.stage = stream.begin_stage(self.load.stage(&order, (self.contended_rows, *only_reads), engine));
        if let Some(why) = engine.no_uring() {
            stream.notice(self.load.target, None, stages::no_uring(why));
        }
        let outcome = engine.run_stage(&order, stop, &mut |seen| {
            also(&seen);
            match seen {
                Observation::Interval(interval) => stream.emit(Event::Interval(interval)),
                Observation::Error(error) => {
                    stream.notice(self.load.target, Some(order.stage), error.to_string());
                }
                _ => {}
            }
        })?;
        stream.emit(Event::StageFinished(outcome.clone()));
        Ok(outcome)
    }

    /// Closes the run and tells what is found; `reason` is why it ended too early. A run in which nothing was measured
    /// then leaves nothing.
    pub(crate) fn finish(self, reason: Option<String>) {
        let Some(run) = self.run else { return };
        if reason.is_some() && !run.stream.has_measured() {
            return run.discard();
        }
        match run.finish(reason) {
            Ok((report, page)) if self.extras == Extras::Full => {
                let full = summary::render(&report, page.as_deref(), Terminal::stdout());
                // A reader that hung up has no more to read.
                let _ = command::write_out(&format!("\n{full}"));
            }
            Ok((report, page)) => self.extras.tell(&brief(&report, page.as_deref())),
            Err(failure) => self.extras.tell(&format!("dyno: the run is not stored in full: {failure}\n")),
        }
    }

    /// Takes the run out of the store again: it did not begin.
    pub(crate) fn discard(self) {
        if let Some(run) = self.run {
            run.discard();
        }
    }
}

impl RecordedRun {
    fn begin(load: &LoadDescription) -> Result<Self, Failure> {
        let store =
            place::open_store(&StoreArguments { store: std::env::var_os("DYNO_STORE").map(Into::into) })?;
        let own = ["dyno", load.program].map(str::to_owned);
        let command = own.into_iter().chain(load.typed.iter().cloned()).collect();
        let spec = load.specification();
        let (_, stream) = begin(&store, Mode::Quiet, |_| {}, command, (spec.clone(), spec), load.seed)?;
        Ok(Self {
            stream,
            store: store.path().to_owned(),
            described: None,
            only_reads: load.only_reads,
            host: None,
            probe: None,
        })
    }

    fn describe(
        &mut self,
        load: &LoadDescription,
        connection: &mut Connection,
        tables: Option<Tables<'_>>,
        statements: &[UserStatement],
    ) -> Result<(), Failure> {
        let failed = |doing| move |source| Failure::query(doing, &load.url, source);
        let process =
            inspect::server_process(connection).map_err(failed("looking for the server's process"))?;
        let (server_pid, disk) = process.map_or((None, None), |it| (it.pid, it.data_directory));
        let disk_kind = describe::disk_kind(disk.as_deref());
        let subject = Described {
            name: load.target,
            server: load.target,
            url: &load.url,
            embedded: None,
            remote: None,
            disk_kind,
        };
        let mut roles = vec!["driver".to_owned()];
        let described = Description::read(connection, &subject, |event| self.stream.emit(event))?;
        if described.target.same_host == Some(true) {
            roles.push(load.target.to_owned());
        }
        self.described = Some((described, connection.route()));
        describe::this_host(&self.stream, disk.as_deref(), roles);
        if !statements.is_empty() {
            let data = statements::changed_data(connection, load.target, &load.workload, statements);
            let data = data.map_err(failed("looking at the tables of the scripts"))?;
            self.only_reads = Some(data.is_none());
            data.into_iter().for_each(|data| self.stream.emit(Event::Data(data)));
        } else if let Some(Tables { scale, names, .. }) = tables {
            let family = load.workload.split('/').next().unwrap_or_default();
            let data = inspect::data(connection, load.target, family, scale, names);
            self.stream.emit(Event::Data(data.map_err(failed("reading the sizes of the tables"))?));
        }
        self.host = Some(HostOptions { server_pid, disk });
        Ok(())
    }

    /// Judges and closes the run, and writes its page.
    fn finish(mut self, reason: Option<String>) -> Result<(Report, Option<PathBuf>), Failure> {
        self.probe = None;
        if let Some((described, endpoint)) = &self.described
            && self.stream.has_measured()
        {
            let may_commit = !only_reads(&self.stream.report(), &described.target.name);
            described.compare_again(&self.stream, endpoint, may_commit);
        }
        campaign::finish(&self.stream, reason, false);
        self.stream.close_live();
        let report = self.stream.report();
        let pages = Pages::write(&report, &self.store, None);
        if let Some(failure) = self.stream.take_store_failure() {
            return Err(failure.into());
        }
        match pages.failure {
            Some(failure) => Err(failure),
            None => Ok((report, pages.written)),
        }
    }

    fn discard(self) {
        drop(self.probe);
        // What could not be taken out stays as a run without any result.
        let _ = self.stream.discard();
    }
}
