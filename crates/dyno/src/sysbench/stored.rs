//! What dyno's store is told of a run: the command line without its passwords, what it asks for, its stages. A drop-in
//! may not depend on it: what does not succeed is told in a line, and the run goes on.

use dyno_engine::engine::{Observation, StageOutcome};
use dyno_results::event::{Arrival, Distribution, Stage, StageKind};
use dyno_results::spec::{Clients, LoadSpec, Protocol, Rate, RunSpec, StreamSpec, Time};
use dyno_target::connection::Connection;
use dyno_wire::endpoint::Endpoint;
use dyno_workload::sysbench;

use super::Context;
use super::run::{SysbenchRun, load_threads};
use crate::plan::short_name;
use crate::recording::{Extras, Recording, Tables};
use crate::secrets;

/// The ids of the stages.
pub(super) const WARM_UP: u32 = 0;
pub(super) const MEASURED: u32 = 1;
/// Where a script's threads begin, which is not stored.
pub(super) const BEFORE: u32 = 2;

/// A run that is being stored, unless it cannot be or nobody wants it.
pub(super) struct Recorded(Option<Recording>);

impl Recorded {
    pub(super) fn begin(run: &SysbenchRun<'_>) -> Self {
        let context = run.context;
        let extras = context.settings.extras;
        if extras == Extras::Off {
            return Self(None);
        }
        let target = short_name(run.database.mysql);
        let recording = Recording::begin(target, command_line(&context.typed), specification(run), run.seed);
        let told = |failure| extras.tell(&format!("dyno: the run is not stored: {failure}\n"));
        Self(recording.map_err(told).ok())
    }

    /// A run that is not stored.
    pub(super) fn nothing() -> Self {
        Self(None)
    }

    /// Tells what is under test.
    pub(super) fn describe(&mut self, connection: &mut Connection, url: &str, run: &SysbenchRun<'_>) {
        let Some(recording) = &mut self.0 else { return };
        let names: Vec<_> = (1..=run.load.tables).map(sysbench::table_name).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let tables = Tables { family: sysbench::NAME, scale: None, names: &names };
        let tables = (!names.is_empty()).then_some(tables);
        if let Err(failure) = recording.describe(connection, url, tables) {
            run.context.settings.extras.tell(&format!("dyno: the run is not described in full: {failure}\n"));
        }
    }

    /// Begins to watch host and database.
    pub(super) fn watch(&mut self, endpoints: &[Endpoint]) {
        if let (Some(recording), Some(endpoint)) = (&mut self.0, endpoints.first()) {
            recording.watch(endpoint);
        }
    }

    pub(super) fn stage_begins(&self, run: &SysbenchRun<'_>, kind: StageKind, id: u32) {
        if let Some(recording) = &self.0 {
            recording.load_begins(stage(run, kind, id));
        }
    }

    pub(super) fn observe(&self, stage: u32, observation: Observation) {
        if let Some(recording) = &self.0 {
            recording.observe(stage, observation);
        }
    }

    pub(super) fn stage_ended(&self, id: u32, outcome: &StageOutcome) {
        if let Some(recording) = &self.0 {
            recording.load_ended(id, outcome);
        }
    }

    /// A run in which nothing was measured leaves nothing.
    pub(super) fn discard(self) {
        if let Some(recording) = self.0 {
            recording.discard();
        }
    }

    /// Closes the run and tells what is found; `reason` is why it ended too early.
    pub(super) fn finish(self, context: &Context, reason: Option<String>) {
        let Some(recording) = self.0 else { return };
        if reason.is_some() && !recording.has_measured() {
            recording.discard();
            return;
        }
        let extras = context.settings.extras;
        match recording.finish(reason) {
            Ok(finished) if extras == Extras::Full => {
                context.console.print(&format!("\n{}", finished.full()));
            }
            Ok(finished) => extras.tell(&finished.brief()),
            Err(failure) => extras.tell(&format!("dyno: the run is not stored in full: {failure}\n")),
        }
    }
}

/// The command line, as it could be typed again but for what is hidden.
fn command_line(typed: &[String]) -> Vec<String> {
    let own = ["dyno", "sysbench"].map(str::to_owned);
    own.into_iter().chain(typed.iter().map(|word| without_password(word))).collect()
}

/// A script's own options may have passwords, too.
fn without_password(word: &str) -> String {
    match word.split_once('=') {
        Some((name, _)) if name.strip_prefix("--").is_some_and(is_secret) => {
            format!("{name}=***")
        }
        _ => secrets::hidden(word),
    }
}

/// Whether an option of this name holds a secret, by what users call such.
fn is_secret(name: &str) -> bool {
    name.to_ascii_lowercase().contains("pass") || secrets::is_secret(name)
}

/// What decides the run, as the store keeps it.
fn specification(run: &SysbenchRun<'_>) -> RunSpec {
    let (context, settings) = (run.context, &run.context.settings);
    let declared = context.options.declared().iter();
    let options: serde_json::Map<_, _> = declared
        .filter(|declared| !is_secret(&declared.name))
        .map(|declared| {
            (declared.name.clone(), context.options.text(&declared.name).map(secrets::hidden).into())
        })
        .collect();
    let own = serde_json::json!({
        "test": run.load.series,
        "options": options,
        "events": settings.events,
        "distribution": settings.distribution.name(),
    });
    let load = LoadSpec {
        clients: Some(Clients::Ladder(vec![settings.threads.get()])),
        duration: settings.time.map(Time),
        rate: settings.rate.map(|rate| Rate { start_per_s: rate.into(), end_per_s: rate.into() }),
        ..LoadSpec::default()
    };
    let stream = StreamSpec {
        workload: Some(run.load.name.clone()),
        protocol: Some(protocol(run)),
        load,
        ..StreamSpec::default()
    };
    let mut spec = RunSpec::of_front_end("sysbench", own, stream);
    spec.seed = Some(run.seed);
    spec.phases.iter_mut().for_each(|phase| phase.warm_up = Some(Time(settings.warmup)));
    spec
}

fn protocol(run: &SysbenchRun<'_>) -> Protocol {
    if run.database.prepared { Protocol::Prepared } else { Protocol::Simple }
}

fn stage(run: &SysbenchRun<'_>, kind: StageKind, id: u32) -> Stage {
    let (settings, load) = (&run.context.settings, run.load);
    let arrival = match settings.rate {
        None => Arrival::Closed { think_time_ms: 0.0 },
        Some(rate) => Arrival::Open { rate_per_s: rate.into(), distribution: Distribution::Poisson },
    };
    let planned = if kind == StageKind::WarmUp { Some(settings.warmup) } else { settings.time };
    Stage {
        id,
        target: short_name(run.database.mysql).to_owned(),
        series: load.series.clone(),
        kind,
        workload: load.name.clone(),
        clients: settings.threads.get(),
        clients_end: None,
        connections: None,
        threads: load_threads(settings),
        protocol: protocol(run).name().to_owned(),
        arrival,
        rate_end_per_s: None,
        planned_s: planned.map(|time| time.as_secs_f64()),
        planned_transactions: settings.events.filter(|_| kind != StageKind::WarmUp),
        stream: 0,
        round: 0,
        types: load.workload.types().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_stored() {
        for (typed, stored) in [
            ("--mysql-password=secret", "--mysql-password=***"),
            ("--pgsql_password=", "--pgsql_password=***"),
            ("--my-Passphrase=x", "--my-Passphrase=***"),
            ("--threads=4", "--threads=4"),
            ("oltp_read_write", "oltp_read_write"),
            ("--pgsql-db=postgres://u:pw@h/d", "--pgsql-db=postgres://u:***@h/d"),
        ] {
            assert_eq!(command_line(&[typed.to_owned()])[2], stored);
        }
    }
}
