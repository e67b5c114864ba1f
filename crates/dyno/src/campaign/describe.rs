//! What is under test and where, told once: targets with their settings, hosts, the size of the data; and the probes
//! that read them from then on.

use dyno_engine::driver::Route;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use dyno_results::event::{
    Data, Embedded, Event, Host, LogSyncs, Notice, ServerChange, ServerChanged, Setting, Settings, Target,
};
use dyno_target::connection::Connection;
use dyno_target::host::Disk;
use dyno_target::inspect::Identity;
use dyno_target::probe::{self, HostOptions, HostReading, NodeExporter, NodeExporterError, Probe};
use dyno_target::{host, inspect, statements};
use dyno_workload::benchmark::{Dataset, SeriesLoad};
use dyno_workload::dataset;

use super::admin::cancellable;
use super::system::System;
use super::target_server::{Remote, TargetServer};
use super::{Context, EventStream};
use crate::failure::Failure;
use crate::plan::{PhasePlan, SystemPlan};

/// The driver's own host, where readings are told apart.
const DRIVER: &str = "driver";
/// How long a server is waited for that is asked again behind a load, to let dyno in and for all of its answers.
const AGAIN: Duration = Duration::from_secs(5);

/// Tells of every target what it is, and of the hosts that take part.
pub(super) fn all(context: &Context<'_>, systems: &mut [System<'_>]) -> Result<(), Failure> {
    let mut roles = vec![DRIVER.to_owned()];
    for system in &mut *systems {
        let name = system.name();
        let server = &mut system.server;
        let described = read(system.plan, server, |event| context.stream.emit(event))?;
        server.same_host = described.target.same_host;
        server.described = Some(described);
        if let Some((_, host)) = &server.remote {
            context.stream.emit(Event::Host(Host { roles: vec![name.to_owned()], ..host.clone() }));
        } else if server.same_host == Some(true) {
            roles.push(name.to_owned());
        } else {
            let why = match server.same_host {
                Some(_) => "it is not this one",
                None => "it is unknown whether it is this one",
            };
            let text = format!(
                "CPU, memory and disks of the host of {name} are unknown: {why}. Run a node_exporter there \
                 and name it with --host-metrics {name}=http://HOST:9100/metrics"
            );
            context.stream.notice(name, None, text);
        }
    }
    let disk = systems.iter().find_map(|system| system.server.data_directory.as_deref());
    this_host(context.stream, disk, roles);
    tell_idle_connections(context);
    Ok(())
}

/// More connections than clients do nothing.
fn tell_idle_connections(context: &Context<'_>) {
    let streams = context.plan.phases.iter().flat_map(|phase| &phase.streams);
    let loads = streams.flat_map(|stream| stream.courses().map(move |course| (stream, course)));
    let mut named = loads.filter_map(|(stream, course)| stream.connections.zip(course.clients_named()));
    if let Some((connections, clients)) = named.find(|(connections, clients)| connections > clients) {
        let plural = if clients == 1 { "" } else { "s" };
        let text = format!(
            "--connections {connections}: {clients} client{plural} can never use more than {clients} of them at a time"
        );
        context.stream.emit(Event::Notice(Notice { target: None, stage: None, text }));
    }
}

/// Reads a named node_exporter once, so that what is wrong with it is said before anything is begun.
pub(super) fn remote(target: &SystemPlan) -> Result<Remote, Failure> {
    let Some(exporter) = &target.host_metrics else { return Ok(None) };
    let failed = |source| match source {
        NodeExporterError::Interrupted => Failure::Interrupted,
        source => Failure::wrong(format!("--host-metrics of {}: {source}", target.name)),
    };
    exporter.check().map(|host| Some((exporter.clone(), host))).map_err(failed)
}

/// A database that is to be described.
pub(crate) struct Described<'a> {
    /// The system's name.
    pub(crate) name: &'a str,
    /// The target's.
    pub(crate) server: &'a str,
    /// Without any password.
    pub(crate) url: &'a str,
    pub(crate) embedded: Option<Embedded>,
    /// Where its host is read, if that is not this one.
    pub(crate) remote: Option<&'a NodeExporter>,
    /// Under its data.
    pub(crate) disk_kind: Option<String>,
}

/// What a target is.
#[derive(Debug)]
pub(crate) struct Description {
    identity: Identity,
    /// The server's main process, where it can be seen: MySQL's servers tell their start in whole seconds.
    process: Option<u32>,
    pub(crate) target: Target,
    settings: Settings,
    /// How often the log was synced, where that is counted and tells something of durability.
    log_syncs: Option<f64>,
}

impl Description {
    /// Asks the server what it is, and tells each thing as soon as it is known.
    pub(crate) fn read(
        connection: &mut Connection,
        subject: &Described<'_>,
        tell: impl Fn(Event),
    ) -> Result<Self, Failure> {
        let Described { name, server, url, embedded, remote, disk_kind } = subject;
        let failed = |doing| move |source| Failure::query(doing, url, source);
        let identity = inspect::identity(connection).map_err(failed("asking which server it is"))?;
        let process =
            inspect::server_process(connection).map_err(failed("looking for the server's process"))?;
        let process = process.and_then(|process| process.pid);
        let mut target = inspect::facts(connection, name, url).map_err(failed("looking at the server"))?;
        target.server = (*server).to_owned();
        target.embedded.clone_from(embedded);
        target.disk_kind.clone_from(disk_kind);
        let reading = match (*remote, target.same_host) {
            (Some(exporter), _) => HostReading::NodeExporter(exporter.clone()),
            (None, Some(true)) => HostReading::This(HostOptions::default()),
            (None, _) => HostReading::None,
        };
        target.host_source = reading.source();
        tell(Event::Target(target.clone()));
        let settings = inspect::settings(connection, name).map_err(failed("reading the settings"))?;
        tell(Event::Settings(settings.clone()));
        let promised = settings.facts.durable_by.is_some() && !settings.facts.log_written_through;
        let log_syncs = if promised { inspect::log_syncs(connection) } else { Ok(None) };
        let log_syncs = log_syncs.map_err(failed("reading how often the log was synced"))?;
        Ok(Self { identity, process, target, settings, log_syncs })
    }

    /// Whether the server reads its data files past the system's cache.
    pub(super) fn bypasses_system_cache(&self) -> bool {
        self.settings.facts.bypasses_system_cache
    }

    /// Behind a load, or what there was of it: reads what the server is now, and tells what of it has changed. Where its counter of
    /// syncs has not moved a commit of dyno's own shows whether it does, if that `may_commit`.
    pub(crate) fn compare_again(&self, stream: &EventStream, route: &Route, may_commit: bool) {
        let Target { name, server, url, .. } = &self.target;
        let read = Connection::open_after_load(route, AGAIN)
            .map_err(|source| Failure::Connect { url: url.clone(), source: Box::new(source) })
            .and_then(|mut connection| {
                let subject = Described { name, server, url, embedded: None, remote: None, disk_kind: None };
                let now = Self::read(&mut connection, &subject, |_| {})?;
                let failed = |source| Failure::query("reading how often the log was synced", url, source);
                let unmoved = now.log_syncs.filter(|_| may_commit && now.log_syncs == self.log_syncs);
                let syncs = match unmoved {
                    Some(before) => inspect::log_syncs_later(&mut connection, before).map_err(failed)?,
                    None => now.log_syncs,
                };
                Ok((now, syncs))
            });
        match read {
            Ok((now, syncs)) => {
                if let Some((before, after)) = self.log_syncs.zip(syncs) {
                    stream.emit(Event::LogSyncs(LogSyncs { target: name.clone(), before, after }));
                }
                let is_another = now.process.zip(self.process).is_some_and(|(now, before)| now != before);
                let restarted = is_another || !now.identity.is_same_server(&self.identity);
                let changes = self.changes(&now);
                if restarted || !changes.is_empty() {
                    let target = name.clone();
                    let by_hook = false;
                    stream.emit(Event::ServerChanged(ServerChanged { target, restarted, by_hook, changes }));
                }
            }
            Err(failure) => {
                let text =
                    format!("whether the server is still as it was before the load is unknown: {failure}");
                stream.notice(name, None, text);
            }
        }
    }

    /// What is another now.
    fn changes(&self, now: &Self) -> Vec<ServerChange> {
        let mut changes = Vec::new();
        if now.target.version != self.target.version {
            let [before, after] = [&self.target.version, &now.target.version].map(Clone::clone);
            changes.push(ServerChange { what: "version".to_owned(), before, after, decides: true });
        }
        let (before, after) = (by_name(&self.settings), by_name(&now.settings));
        let names: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
        for name in names {
            let [was, is] = [before.get(name), after.get(name)];
            let value = |setting: Option<&&Setting>| setting.map(|setting| setting.value.clone());
            if value(was) != value(is) {
                let decides = was.or(is).is_some_and(|setting| setting.durability);
                let what = name.to_owned();
                changes.push(ServerChange { what, before: value(was), after: value(is), decides });
            }
        }
        changes
    }
}

fn read(
    SystemPlan { name, target, .. }: &SystemPlan,
    server: &mut TargetServer,
    tell: impl Fn(Event),
) -> Result<Description, Failure> {
    let TargetServer { connection, url, embedded, remote, data_directory, .. } = server;
    let embedded = embedded.as_ref().map(|server| server.facts());
    let disk_kind = match remote {
        Some((_, host)) => host.disk_kind.clone(),
        None => disk_kind(data_directory.as_deref()),
    };
    let remote = remote.as_ref().map(|(exporter, _)| exporter);
    Description::read(connection, &Described { name, server: target, url, embedded, remote, disk_kind }, tell)
}

/// Tells what has become of a target under its load before the user has something done to it. Where that cannot be read,
/// the server is away, and the user may be about to start it.
pub(super) fn before_hook(context: &Context<'_>, system: &mut System<'_>) {
    if system.stages.last().is_none() {
        return;
    }
    again(context, std::slice::from_ref(system));
    if system.server.reconnect_if_broken().is_ok()
        && let Ok(now) = read(system.plan, &mut system.server, |_| {})
    {
        system.server.described = Some(now);
    }
}

/// Reads what a target is again where the user has had something done to it. Before its first stage the report then says
/// what was loaded; from then on, what was changed.
pub(super) fn renew(context: &Context<'_>, system: &mut System<'_>) -> Result<(), Failure> {
    let now = read(system.plan, &mut system.server, |_| {})?;
    let Some(before) = system.server.described.replace(now) else { return Ok(()) };
    let Some(now) = &system.server.described else { return Ok(()) };
    let changes = before.changes(now);
    if system.stages.last().is_none() {
        if !changes.is_empty() || now.target != before.target {
            context.stream.emit(Event::Target(now.target.clone()));
            context.stream.emit(Event::Settings(now.settings.clone()));
        }
    } else if !changes.is_empty() {
        let target = system.name().to_owned();
        let changed = ServerChanged { target, restarted: false, by_hook: true, changes };
        context.stream.emit(Event::ServerChanged(changed));
    }
    Ok(())
}

/// Compares with what it was before the load each target on which a stage has begun.
pub(super) fn again(context: &Context<'_>, systems: &[System<'_>]) {
    for system in systems.iter().filter(|system| system.stages.last().is_some()) {
        if let Some(described) = &system.server.described {
            // Who wants nothing on the server but the load, or only reads, gets no commit.
            let plan = context.plan;
            let may_commit = !plan.spec.no_telemetry && plan.writes(&system.plan.benchmark.series());
            described.compare_again(context.stream, &system.server.route, may_commit);
        }
    }
}

fn by_name(settings: &Settings) -> BTreeMap<&str, &Setting> {
    settings.rows.iter().map(|setting| (setting.name.as_str(), setting)).collect()
}

/// What lies under a target's data on this host.
pub(crate) fn disk_kind(data_directory: Option<&Path>) -> Option<String> {
    data_directory.and_then(Disk::under)?.kind
}

/// Tells what this host is, and who is on it.
pub(crate) fn this_host(stream: &EventStream, data_directory: Option<&Path>, roles: Vec<String>) {
    stream.emit(Event::Host(Host { roles, ..host::facts(data_directory) }));
}

/// Tells how large the data is against the caches, before any load.
pub(super) fn data(
    context: &Context<'_>,
    plan: &SystemPlan,
    server: &mut TargetServer,
    dataset: &Dataset,
    counted: Option<Vec<u64>>,
) -> Result<(), Failure> {
    if dataset.tables.is_empty() {
        // Scripts have none of dyno's.
        return Ok(());
    }
    let mut data = sizes(context, plan, server, dataset)?;
    data.missing_indexes = missing_indexes(context, server, dataset)?;
    set_counted(&mut data, counted.unwrap_or_default());
    if let Some(known) = dataset.table_rows
        && let Some(larger) = data.tables.iter().find(|table| table.rows > Some(known + known / 10))
    {
        let text = format!(
            "{} has more than the {known} rows that the load uses: name the tables (--tables), or create them again \
             (--prepare)",
            larger.name
        );
        context.stream.notice(&plan.name, None, text);
    }
    context.stream.emit(Event::Data(data));
    Ok(())
}

/// Whether a load only reads. Tells of the tables that a user's statements may change.
pub(super) fn only_reads(
    context: &Context<'_>,
    system: &mut System<'_>,
    workload: &str,
    load: &dyn SeriesLoad,
) -> Result<bool, Failure> {
    let statements = load.user_statements();
    if statements.is_empty() {
        return Ok(!load.series().writes);
    }
    let (name, url, server) = (system.name(), system.server.url.clone(), &mut system.server);
    let connection = server.reconnect_if_broken()?;
    let changed = cancellable(context, connection, |connection| {
        statements::changed_data(connection, name, workload, &statements)
            .map_err(|source| Failure::query("looking at the tables of the statements", &url, source))
    })?;
    let Some(data) = changed else { return Ok(true) };
    context.stream.emit(Event::Data(Data { memory_bytes: server.server_memory_bytes(), ..data }));
    Ok(false)
}

/// What is known of the rows behind a load.
pub(super) enum RowCounts {
    /// Of each table.
    Counted(Vec<u64>),
    /// As the server estimates them, of tables that are as large as they were.
    Estimated,
    /// The server's estimate is of before the load.
    Unknown,
}

/// Tells the sizes again, behind a load that may have changed them.
pub(super) fn data_after_load(
    context: &Context<'_>,
    plan: &SystemPlan,
    server: &mut TargetServer,
    dataset: &Dataset,
    phase: &PhasePlan,
    rows: RowCounts,
) -> Result<(), Failure> {
    if dataset.tables.is_empty() {
        return Ok(());
    }
    server.reconnect_if_broken()?;
    let mut data = sizes(context, plan, server, dataset)?;
    (data.after, data.phase) = (Some(phase.names()), Some(phase.place));
    match rows {
        RowCounts::Counted(rows) => set_counted(&mut data, rows),
        RowCounts::Estimated => {}
        RowCounts::Unknown => data.tables.iter_mut().for_each(|table| table.rows = None),
    }
    context.stream.emit(Event::Data(data));
    Ok(())
}

fn set_counted(data: &mut Data, counted: Vec<u64>) {
    for (table, rows) in data.tables.iter_mut().zip(counted) {
        (table.rows, table.rows_counted) = (Some(rows), true);
    }
}

/// An estimate that is near what was counted is of these rows; one that is not knows of rows beyond them.
fn correct_estimates(data: &mut Data, known: u64) {
    let near = |rows: u64| rows.abs_diff(known) <= known / 10;
    let tables = data.tables.iter_mut().filter(|table| table.rows.is_none_or(near));
    tables.for_each(|table| table.rows = Some(known));
}

/// The keys and indexes that were made with the data and were dropped since.
fn missing_indexes(
    context: &Context<'_>,
    server: &mut TargetServer,
    dataset: &Dataset,
) -> Result<Vec<String>, Failure> {
    let tables: Vec<&str> = dataset.tables.iter().map(String::as_str).collect();
    let url = server.url.clone();
    cancellable(context, &mut server.connection, |connection| {
        dataset::missing_indexes(connection, &tables)
            .map_err(|source| Failure::query("reading the indexes of the tables", &url, source))
    })
}

fn sizes(
    context: &Context<'_>,
    plan: &SystemPlan,
    server: &mut TargetServer,
    dataset: &Dataset,
) -> Result<Data, Failure> {
    let workload = plan.benchmark.name();
    let tables: Vec<&str> = dataset.tables.iter().map(String::as_str).collect();
    let url = server.url.clone();
    // It waits for tables that others have locked.
    let mut data = cancellable(context, &mut server.connection, |connection| {
        inspect::data(connection, &plan.name, workload, dataset.scale, &tables)
            .map_err(|source| Failure::query("reading the sizes of the tables", &url, source))
    })?;
    data.memory_bytes = server.server_memory_bytes();
    if let Some(known) = dataset.table_rows {
        correct_estimates(&mut data, known);
    }
    Ok(data)
}

/// Begins to read host and database of a target once a second, until what it returns is dropped.
pub(super) fn watch(
    stream: &EventStream,
    name: &str,
    server: &TargetServer,
    tables: Vec<String>,
) -> Option<Probe> {
    let options = probe::ProbeOptions {
        database: Some(server.route.clone()),
        host: server.host_reading(),
        tables,
        ..probe::ProbeOptions::new(name)
    };
    watched(stream, options)
}

/// Begins to read the driver's own host, unless it is that of every target: then it is read with them.
pub(super) fn watch_driver(context: &Context<'_>, systems: &[System<'_>]) -> Option<Probe> {
    let shares = |system: &System<'_>| matches!(system.server.host_reading(), HostReading::This(_));
    if context.plan.spec.no_telemetry || systems.iter().all(shares) {
        return None;
    }
    let host = HostReading::This(HostOptions::default());
    watched(context.stream, probe::ProbeOptions { host, ..probe::ProbeOptions::new(DRIVER) })
}

/// Starts a probe; a run goes on without one.
pub(crate) fn watched(stream: &EventStream, options: probe::ProbeOptions) -> Option<Probe> {
    let name = options.target.clone();
    let events = stream.clone();
    match Probe::start(options, move |event| events.emit(event)) {
        Ok(probe) => Some(probe),
        Err(error) => {
            stream.notice(&name, None, format!("host and database are not read during the load: {error}"));
            None
        }
    }
}
