//! The database under test and how to reach it: an embedded server that lives as long as this, or one that the
//! user named.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dyno_results::event::{Embedded, Event};
use dyno_target::connection::{Connection, QueryError};
use dyno_target::embedded::{EmbeddedServer, Machine, Options};
use dyno_target::probe::{self, HostOptions, Probe};
use dyno_target::{Environment, TargetSettings, host, inspect};
use dyno_wire::endpoint::Endpoint;
use dyno_workload::benchmark::Dataset;

use super::admin::cancellable;
use super::{Context, Stream};
use crate::failure::Failure;
use crate::plan::Place;

/// The short name in the report of a target that speaks PostgreSQL's protocol.
pub(crate) const NAME: &str = "pg";
/// The short name of one that speaks MySQL's.
const NAME_MYSQL: &str = "my";
/// Connections that dyno itself uses beside the clients: one to prepare and verify, one for the probe, one to cancel.
pub(crate) const OWN_CONNECTIONS: u32 = 3;
/// Connections that an embedded server allows at least for each processor: beyond this a ladder has passed its peak.
const EMBEDDED_CONNECTIONS_PER_CPU: u32 = 64;
const EMBEDDED_CONNECTIONS_MIN: u32 = 256;
/// How long it is waited for ended sessions to be gone; how often it is looked; and after which time without a
/// change no more are expected to go.
const ROOM_WAIT: Duration = Duration::from_secs(3);
const ROOM_LOOK: Duration = Duration::from_millis(50);
const ROOM_STEADY: Duration = Duration::from_millis(500);

/// A database on the rollers.
pub(crate) struct Rollers {
    pub(crate) endpoint: Endpoint,
    /// Without any password.
    pub(crate) url: String,
    pub(crate) embedded: Option<EmbeddedServer>,
    /// For dyno's own work: preparing, looking, verifying.
    pub(crate) connection: Connection,
    pub(crate) same_host: Option<bool>,
    /// Of the server's main process, where it runs on this machine and can be seen.
    server_pid: Option<u32>,
    data_directory: Option<PathBuf>,
    pub(crate) cpus: u32,
    pub(crate) memory_bytes: Option<u64>,
    /// Connections that the load could open when that was looked at first, before dyno opened any.
    room: Option<u32>,
    /// True once the probe has a connection, or will have one at any moment.
    watched: bool,
}

impl Rollers {
    /// Starts the embedded server, or connects to the named one.
    pub(crate) fn set_up(context: &Context<'_>) -> Result<Self, Failure> {
        // What this process may use of the machine, which may be less than there is.
        let Machine { cpus, memory_bytes, .. } = Machine::of(&host::facts(None), 0);
        let (endpoint, url, embedded) = match &context.plan.place {
            Place::Embedded { .. } => {
                let server = start_embedded(context, cpus)?;
                let url = TargetSettings::parse(&server.conninfo(), &Environment::empty())?.url();
                (server.endpoint(), url, Some(server))
            }
            Place::Named(target) => {
                for warning in target.warnings() {
                    context.stream.notice(context.target(), None, warning.clone());
                }
                context.stream.activity(&format!("connecting to {}", target.url()));
                (target.endpoint()?, target.url(), None)
            }
        };
        let mut connection = connect(&endpoint, &url)?;
        let (server_pid, data_directory) = match &embedded {
            Some(server) => (Some(server.pid()), Some(server.data_directory().to_owned())),
            None => inspect::server_process(&mut connection)
                .map_err(|source| Failure::Query {
                    doing: "looking for the server's process",
                    url: url.clone(),
                    source,
                })?
                .map_or((None, None), |process| (Some(process.pid), process.data_directory)),
        };
        Ok(Self {
            endpoint,
            url,
            embedded,
            connection,
            same_host: None,
            server_pid,
            data_directory,
            cpus,
            memory_bytes,
            room: None,
            watched: false,
        })
    }

    /// Tells what is under test and where: product, settings, hosts.
    pub(crate) fn describe(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        let subject = Described {
            url: &self.url,
            embedded: self.embedded.as_ref().map(EmbeddedServer::facts),
            data_directory: self.data_directory.as_deref(),
        };
        self.same_host = describe(context.stream, &mut self.connection, subject)?;
        Ok(())
    }

    /// Tells how large the data is against the caches.
    pub(crate) fn describe_data(
        &mut self,
        context: &Context<'_>,
        dataset: &dyn Dataset,
    ) -> Result<(), Failure> {
        let workload = context.plan.benchmark.name();
        let tables = dataset.tables();
        let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
        let url = self.url.clone();
        // It waits for tables that others have locked.
        let mut data = cancellable(context, &mut self.connection, |connection| {
            inspect::data(connection, context.target(), workload, dataset.scale(), &tables)
                .map_err(|source| Failure::Query { doing: "reading the sizes of the tables", url, source })
        })?;
        data.memory_bytes = self.memory_bytes.filter(|_| self.same_host == Some(true));
        if let Some(known) = dataset.table_rows() {
            // An estimate that is near is of these rows; one that is not knows of rows beyond them.
            let near = |rows: u64| rows.abs_diff(known) <= known / 10;
            data.tables.iter_mut().filter(|table| table.rows.is_none_or(near)).for_each(|table| {
                table.rows = Some(known);
            });
            if let Some(larger) = data.tables.iter().find(|table| table.rows > Some(known)) {
                let text = format!(
                    "{} has more than the {known} rows that the load keeps to: name the tables that are meant \
                     (--tables), or make them anew (--prepare)",
                    larger.name
                );
                context.stream.notice(context.target(), None, text);
            }
        }
        context.stream.emit(Event::Data(data));
        Ok(())
    }

    /// Begins to read host and database once a second, until what it returns is dropped.
    pub(crate) fn watch(&mut self, context: &Context<'_>) -> Option<Probe> {
        let host = HostOptions { server_pid: self.server_pid, disk: self.data_directory.clone() };
        let probe = watch(context.stream, &self.endpoint, host);
        self.watched |= probe.is_some();
        probe
    }

    /// Connections that the load may open, of which it can use `wanted`. Sessions that were just ended count until
    /// the server is done with them: where there are too few, it is waited as long as they become more.
    pub(crate) fn free_connections(&mut self, wanted: u32) -> Result<Option<u32>, Failure> {
        let wanted = self.room.map_or(wanted, |room| wanted.min(room));
        let started = Instant::now();
        let (mut last, mut changed) = (None, started);
        loop {
            let Some(free) = self.count_free()? else { return Ok(None) };
            if last != Some(free) {
                (last, changed) = (Some(free), Instant::now());
            }
            if free >= wanted || changed.elapsed() >= ROOM_STEADY || started.elapsed() >= ROOM_WAIT {
                return Ok(Some(free.min(*self.room.get_or_insert(free))));
            }
            std::thread::sleep(ROOM_LOOK);
        }
    }

    fn count_free(&mut self) -> Result<Option<u32>, Failure> {
        let free = inspect::connections_allowed(self.reconnect_if_broken()?);
        let free = free.map_err(|source| self.query_failed("counting the free connections", source))?;
        // The connection that asks is already among those in use, and then the probe's.
        let open = 1 + u32::from(self.watched);
        Ok(free.map(|free| free.saturating_sub(OWN_CONNECTIONS - open)))
    }

    /// Opens the connection anew if the server has broken it in the meantime.
    pub(crate) fn reconnect_if_broken(&mut self) -> Result<&mut Connection, Failure> {
        // That a server was started anew in the meantime shows only when the connection is used.
        if self.connection.is_broken() || self.connection.execute("select 1").is_err() {
            self.connection = connect(&self.endpoint, &self.url)?;
        }
        Ok(&mut self.connection)
    }

    pub(crate) fn query_failed(&self, doing: &'static str, source: QueryError) -> Failure {
        Failure::Query { doing, url: self.url.clone(), source }
    }

    /// Stops and removes what was started for the run.
    pub(crate) fn clear(self) -> Result<(), Failure> {
        drop(self.connection);
        match self.embedded {
            Some(server) => Ok(server.stop()?),
            None => Ok(()),
        }
    }
}

/// The short name in the report of a target that speaks MySQL's protocol, or PostgreSQL's.
pub(crate) fn short_name(mysql: bool) -> &'static str {
    if mysql { NAME_MYSQL } else { NAME }
}

/// A database that is to be described.
pub(crate) struct Described<'a> {
    /// Without any password.
    pub(crate) url: &'a str,
    pub(crate) embedded: Option<Embedded>,
    /// Where the server keeps its data, if that is on this machine.
    pub(crate) data_directory: Option<&'a Path>,
}

/// Tells what is under test and where: product, settings, hosts. Whether server and driver share a host.
pub(crate) fn describe(
    stream: &Stream,
    connection: &mut Connection,
    subject: Described<'_>,
) -> Result<Option<bool>, Failure> {
    let Described { url, embedded, data_directory } = subject;
    let failed = |doing| move |source| Failure::Query { doing, url: url.to_owned(), source };
    let name = short_name(connection.endpoint().wire.is_mysql());
    let mut target = inspect::facts(connection, name, url).map_err(failed("looking at the server"))?;
    target.embedded = embedded;
    let same_host = target.same_host;
    stream.emit(Event::Target(target));
    let mut host = host::facts(data_directory);
    host.roles = vec!["driver".to_owned()];
    if same_host == Some(true) {
        host.roles.push(name.to_owned());
    }
    stream.emit(Event::Host(host));
    let settings = inspect::settings(connection, name).map_err(failed("reading the settings"))?;
    stream.emit(Event::Settings(settings));
    Ok(same_host)
}

/// Begins to read host and database once a second, until what it returns is dropped.
pub(crate) fn watch(stream: &Stream, endpoint: &Endpoint, host: HostOptions) -> Option<Probe> {
    let name = short_name(endpoint.wire.is_mysql());
    let options =
        probe::Options { database: Some(endpoint.clone()), host: Some(host), ..probe::Options::new(name) };
    let events = stream.clone();
    match Probe::start(options, move |event| events.emit(event)) {
        Ok(probe) => Some(probe),
        Err(error) => {
            stream.notice(name, None, format!("neither host nor database is watched: {error}"));
            None
        }
    }
}

fn connect(endpoint: &Endpoint, url: &str) -> Result<Connection, Failure> {
    Connection::open(endpoint)
        .map_err(|source| Failure::Connect { url: url.to_owned(), source: Box::new(source) })
}

fn start_embedded(context: &Context<'_>, cpus: u32) -> Result<EmbeddedServer, Failure> {
    let Place::Embedded { server, profile, directory } = &context.plan.place else {
        return Err(Failure::Interrupted);
    };
    let automatic = cpus.saturating_mul(EMBEDDED_CONNECTIONS_PER_CPU).max(EMBEDDED_CONNECTIONS_MIN);
    let clients = context.plan.clients_named().unwrap_or(automatic);
    let options = Options {
        server: server.clone(),
        profile: *profile,
        connections_max: clients + OWN_CONNECTIONS,
        directory: directory.clone(),
        required_bytes: context.plan.benchmark.bytes_wanted(),
        ..Options::default()
    };
    context.stream.activity("starting an embedded PostgreSQL");
    let started = EmbeddedServer::start(&options, &mut |text| context.stream.activity(text));
    // To fetch and to start it cannot be interrupted; a Ctrl-C in a terminal reaches what was started as well.
    context.check_stopped()?;
    Ok(started?)
}
