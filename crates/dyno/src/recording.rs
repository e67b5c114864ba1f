//! What dyno adds to a run of another program's command line: the run is described, watched, stored and judged like any
//! other. None of it may stand in the way of the run: what does not succeed is told in a line, and the run goes on without
//! it.

use std::io::{IsTerminal as _, Write as _};

use dyno_engine::engine::{Observation, StageOutcome};
use dyno_report::format;
use dyno_report::live::{Live, Mode};
use dyno_report::summary;
use dyno_report::terminal::Terminal;
use dyno_results::document::{Percentiles, Report};
use dyno_results::event::{Event, Severity, Stage, StageKind};
use dyno_results::spec::RunSpec;
use dyno_target::connection::Connection;
use dyno_target::inspect;
use dyno_target::probe::{self, HostOptions, HostReading, Probe};
use dyno_wire::endpoint::Endpoint;

use crate::campaign::describe::{self, Described, Description};
use crate::campaign::{self, EventStream, stages};
use crate::cli::StoreArguments;
use crate::command::run::{Pages, started};
use crate::failure::Failure;
use crate::place;

/// What dyno says beside what the other program says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Extras {
    /// Nothing, and nothing is stored.
    Off,
    /// As `Brief` where standard error is a terminal. Elsewhere nothing: whoever reads a pipe or a file expects the other
    /// program's words alone.
    #[default]
    Usual,
    /// A few lines on standard error.
    Brief,
    /// The whole report on standard output, behind the other program's.
    Full,
}

impl Extras {
    pub(crate) fn named(text: &str) -> Option<Self> {
        match text {
            "off" => Some(Self::Off),
            "brief" => Some(Self::Brief),
            "full" => Some(Self::Full),
            _ => None,
        }
    }

    /// Tells lines of dyno's own on standard error, if they are wanted there.
    pub(crate) fn tell(self, lines: &str) {
        let wanted = match self {
            Self::Off => false,
            Self::Usual => std::io::stderr().is_terminal(),
            Self::Brief | Self::Full => true,
        };
        if wanted {
            // If the terminal is gone there is nobody to tell.
            let _ = std::io::stderr().lock().write_all(lines.as_bytes());
        }
    }
}

/// The data under a load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tables<'a> {
    /// `tpcb`, `sysbench`
    pub(crate) family: &'a str,
    pub(crate) scale: Option<f64>,
    pub(crate) names: &'a [&'a str],
}

/// A run that is being stored.
pub(crate) struct Recording {
    stream: EventStream,
    /// The target's short name in the report.
    target: &'static str,
    store: std::path::PathBuf,
    /// What is under test and where it is asked, once that is known.
    described: Option<(Description, Endpoint)>,
    /// What of the host is to be watched, once that is known.
    host: Option<HostOptions>,
    probe: Option<Probe>,
}

impl Recording {
    pub(crate) fn begin(
        target: &'static str,
        command: Vec<String>,
        spec: RunSpec,
        seed: u64,
    ) -> Result<Self, Failure> {
        let store =
            place::open_store(&StoreArguments { store: std::env::var_os("DYNO_STORE").map(Into::into) })?;
        let now = jiff::Zoned::now();
        let writer = store.begin_run(&now.strftime("%Y-%m-%d").to_string())?;
        let name = writer.name().to_owned();
        let stream = EventStream::new(writer, Live::new(Mode::Quiet, None));
        stream.emit(started(&name, &now, command, (spec.clone(), spec), seed));
        Ok(Self { stream, target, store: store.path().to_owned(), described: None, host: None, probe: None })
    }

    /// Tells what is under test, and how large `tables` are.
    pub(crate) fn describe(
        &mut self,
        connection: &mut Connection,
        url: &str,
        tables: Option<Tables<'_>>,
    ) -> Result<(), Failure> {
        let failed = |doing| move |source| Failure::query(doing, url, source);
        let process =
            inspect::server_process(connection).map_err(failed("looking for the server's process"))?;
        let (server_pid, disk) = process.map_or((None, None), |it| (Some(it.pid), it.data_directory));
        let disk_kind = describe::disk_kind(disk.as_deref());
        let subject = Described { name: self.target, url, embedded: None, remote: None, disk_kind };
        let mut roles = vec!["driver".to_owned()];
        let described = Description::read(connection, &subject, |event| self.stream.emit(event))?;
        if described.target.same_host == Some(true) {
            roles.push(self.target.to_owned());
        }
        self.described = Some((described, connection.endpoint().clone()));
        describe::this_host(&self.stream, disk.as_deref(), roles);
        if let Some(Tables { family, scale, names }) = tables {
            let data = inspect::data(connection, self.target, family, scale, names);
            self.stream.emit(Event::Data(data.map_err(failed("reading the sizes of the tables"))?));
        }
        self.host = Some(HostOptions { server_pid, disk });
        Ok(())
    }

    /// Begins to watch host and database, with a connection of its own.
    pub(crate) fn watch(&mut self, endpoint: &Endpoint) {
        let options = probe::ProbeOptions {
            database: Some(endpoint.clone()),
            host: HostReading::This(self.host.take().unwrap_or_default()),
            ..probe::ProbeOptions::new(self.target)
        };
        self.probe = describe::watched(&self.stream, options);
    }

    pub(crate) fn load_begins(&self, stage: Stage) {
        self.stream.emit(Event::StageStarted(stage));
    }

    pub(crate) fn observe(&self, stage: u32, observation: Observation) {
        match observation {
            Observation::Interval(interval) => self.stream.emit(Event::Interval(interval)),
            Observation::Error(error) => self.stream.notice(self.target, Some(stage), error.to_string()),
        }
    }

    pub(crate) fn load_ended(&self, stage: u32, outcome: &StageOutcome) {
        self.stream.emit(Event::StageFinished(stages::finished(stage, outcome)));
    }

    /// Watches no longer.
    pub(crate) fn unwatch(&mut self) {
        self.probe = None;
    }

    /// Judges and closes the run, and writes its page; `reason` is why it ended too early.
    pub(crate) fn finish(mut self, reason: Option<String>) -> Result<Finished, Failure> {
        self.unwatch();
        if let Some((described, endpoint)) = &self.described
            && self.has_measured()
        {
            described.compare_again(&self.stream, endpoint);
        }
        campaign::finish(&self.stream, reason);
        self.stream.close_live();
        let report = self.stream.report();
        let pages = Pages::write(&report, &self.store, None);
        if let Some(failure) = self.stream.take_store_failure() {
            return Err(failure.into());
        }
        match pages.failure {
            Some(failure) => Err(failure),
            None => Ok(Finished { report, page: pages.written }),
        }
    }

    /// Whether there is anything to keep.
    pub(crate) fn has_measured(&self) -> bool {
        self.stream.has_measured()
    }

    /// Takes the run out of the store again: nothing was measured.
    pub(crate) fn discard(self) {
        drop(self.probe);
        // What could not be taken out stays as a run without any result.
        let _ = self.stream.discard();
    }
}

/// A run that is stored and judged.
pub(crate) struct Finished {
    report: Report,
    page: Option<std::path::PathBuf>,
}

impl Finished {
    /// A few lines beside the other program's report.
    pub(crate) fn brief(&self) -> String {
        let mut text = String::new();
        let measured = self.report.stages.iter().find(|result| result.stage.kind != StageKind::WarmUp);
        let times = measured.and_then(|stage| stage.response.or(stage.service));
        if let Some(times) = &times {
            text.push_str(&format!("dyno: latency {}\n", percentiles(times)));
        }
        // Of a run in which nothing ended well the other program has said why, and there is no figure to doubt.
        let findings = if times.is_some() { &*self.report.findings } else { &[] };
        let (notes, doubts): (Vec<_>, Vec<_>) =
            findings.iter().partition(|finding| finding.severity == Severity::Note);
        for finding in doubts {
            let severity = if finding.severity == Severity::Invalid { "invalid" } else { "doubt" };
            text.push_str(&format!("dyno: {severity} {}: {}\n", finding.code, finding.evidence));
        }
        if !notes.is_empty() {
            let codes: Vec<_> = notes.iter().map(|finding| finding.code.as_str()).collect();
            text.push_str(&format!("dyno: note {}\n", codes.join(", ")));
        }
        let name = &self.report.run.name;
        text.push_str(&format!("dyno: stored as {name}; `dyno report {name}` shows it"));
        if let Some(page) = &self.page {
            text.push_str(&format!(", with charts: {}", page.display()));
        }
        text.push('\n');
        text
    }

    /// The whole report.
    pub(crate) fn full(&self) -> String {
        summary::render(&self.report, self.page.as_deref(), Terminal::stdout())
    }
}

fn percentiles(times: &Percentiles) -> String {
    // One that fewer transactions lie above than one is the maximum by another name.
    let figures = [
        ("p50", times.p50_us, 2),
        ("p90", times.p90_us, 10),
        ("p95", times.p95_us, 20),
        ("p99", times.p99_us, 100),
        ("p99.9", times.p999_us, 1000),
        ("max", times.max_us, 1),
    ];
    let meant = figures.iter().filter(|(_, _, count_min)| times.count >= *count_min);
    meant.map(|(name, us, _)| format!("{name} {}", format::latency_us(*us))).collect::<Vec<_>>().join(", ")
}
