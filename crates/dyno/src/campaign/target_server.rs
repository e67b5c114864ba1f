//! The server of a target, and dyno's own connection to it: an embedded server that lives as long as this, or one that
//! the user named.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dyno_engine::driver::{Driver, Route};
use dyno_results::event::Host;
use dyno_target::connection::{ConnectError, Connection, QueryError};
use dyno_target::embedded::{EmbeddedOptions, EmbeddedServer, Machine};
use dyno_target::inspect::{Free, Identity};
use dyno_target::probe::{HostOptions, HostReading, NodeExporter};
use dyno_target::{Environment, TargetSettings, host, inspect};

use super::Context;
use super::admin::telling;
use super::describe::Description;
use super::neighbours::Sharers;
use super::open_files::OpenFiles;
use crate::failure::Failure;
use crate::plan::{StreamPlan, SystemPlan, TargetSource};

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
/// How long a server is waited for that takes no sessions: it may be started again, or recover from a crash. How long for a
/// single answer, and how often it is tried.
const BACK_WAIT: Duration = Duration::from_secs(120);
const BACK_ANSWER: Duration = Duration::from_secs(5);
const BACK_LOOK: Duration = Duration::from_millis(200);

/// What a session is asked that may be lost.
const STILL_THERE: &str = "select 1";
/// What a server is asked first.
const ASKING: &str = "asking which server it is";

/// Where the host of a server is read, if the user says so, and what it says of itself.
pub(crate) type Remote = Option<(NodeExporter, Host)>;

/// The server of a target.
pub(crate) struct TargetServer {
    pub(crate) route: Route,
    /// Without any password.
    pub(crate) url: String,
    /// One for all systems on it.
    pub(crate) embedded: Option<Arc<EmbeddedServer>>,
    /// For dyno's own work: preparing, looking, verifying.
    pub(crate) connection: Connection,
    pub(crate) same_host: Option<bool>,
    /// As the server was when it was first connected to.
    identity: Identity,
    /// What the load runs on; `None` until it is described.
    pub(crate) described: Option<Description>,
    /// Targets that are on this server too.
    sharers: Sharers,
    /// Of a database in dyno's own process.
    files: OpenFiles,
    /// Of the server's main process, where it runs on this machine and can be seen.
    server_pid: Option<u32>,
    pub(crate) data_directory: Option<PathBuf>,
    /// Processors and memory of the driver's host that it may use.
    pub(crate) cpus: u32,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) remote: Remote,
    /// Connections that the load could open when that was looked at first, before dyno opened any.
    room: Option<u32>,
    /// True once the probe has a connection, or will have one at any moment.
    watched: bool,
}

impl TargetServer {
    /// Connects to the named server, or to the embedded one, which is started unless it is `running` for another system.
    pub(crate) fn set_up(
        context: &Context<'_>,
        plan: &SystemPlan,
        remote: Remote,
        running: Option<Arc<EmbeddedServer>>,
    ) -> Result<Self, Failure> {
        // What this process may use of the machine, which may be less than there is.
        let Machine { cpus, memory_bytes, .. } = Machine::of(&host::facts(None), 0);
        let (route, url, embedded) = match &plan.source {
            TargetSource::Embedded { .. } => {
                let server = match running {
                    Some(server) => server,
                    None => Arc::new(start_embedded(context, plan, cpus)?),
                };
                let url = TargetSettings::parse(&server.conninfo(), &Environment::empty())?.url();
                (Route::Wire(server.endpoint()), url, Some(server))
            }
            TargetSource::Named(target) => {
                for warning in target.warnings() {
                    context.stream.notice(&plan.name, None, warning.clone());
                }
                let (route, url) = (target.route()?, target.url());
                // Said before, for a library that crashes takes dyno with it.
                match route.library() {
                    Some(library) => context.stream.activity(&format!("loading {library} for {url}")),
                    None => context.stream.activity(&format!("connecting to {url}")),
                }
                (route, url, None)
            }
        };
        let mut connection = connect(&route, &url)?;
        let identity =
            inspect::identity(&mut connection).map_err(|source| Failure::query(ASKING, &url, source))?;
        let files = files_of(&connection);
        let mut server = Self {
            files,
            route,
            url,
            embedded,
            connection,
            same_host: None,
            identity,
            described: None,
            sharers: Sharers::alone(),
            server_pid: None,
            data_directory: None,
            cpus,
            memory_bytes,
            remote,
            room: None,
            watched: false,
        };
        server.find_process()?;
        Ok(server)
    }

    /// Looks which process the server is now; true where it is another than before.
    fn find_process(&mut self) -> Result<bool, Failure> {
        let (pid, data_directory) = match &self.embedded {
            Some(server) => (Some(server.pid()), Some(server.data_directory().to_owned())),
            None => inspect::server_process(&mut self.connection)
                .map_err(|source| self.query_failed("looking for the server's process", source))?
                .map_or((None, None), |process| (process.pid, process.data_directory)),
        };
        self.data_directory = data_directory;
        Ok(std::mem::replace(&mut self.server_pid, pid) != pid)
    }

    /// Where the readings of the server's host come from. Known once it is known whether that is this one.
    pub(crate) fn host_reading(&self) -> HostReading {
        match (&self.remote, self.same_host) {
            (Some((exporter, _)), _) => HostReading::NodeExporter(exporter.clone()),
            (None, Some(true)) => HostReading::This(HostOptions {
                server_pid: self.server_pid,
                disk: self.data_directory.clone(),
            }),
            (None, _) => HostReading::None,
        }
    }

    /// Memory of the server's host, where that is known.
    pub(crate) fn server_memory_bytes(&self) -> Option<u64> {
        match &self.remote {
            Some((_, host)) => host.memory_bytes,
            None => self.memory_bytes.filter(|_| self.same_host == Some(true)),
        }
    }

    pub(crate) fn set_watched(&mut self, watched: bool) {
        self.watched = watched;
    }

    /// Whether it is a library in dyno's own process.
    pub(super) fn is_in_process(&self) -> bool {
        self.described.as_ref().is_some_and(|described| described.target.in_process)
    }

    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(super) fn sharers(&self) -> &Sharers {
        &self.sharers
    }

    /// Says who else is on the server. What it has room for is then looked at anew.
    pub(super) fn set_sharers(&mut self, sharers: Sharers) {
        if sharers != self.sharers {
            self.room = None;
            self.sharers = sharers;
        }
    }

    /// Connections that the load may open, of which it can use `wanted`; its part, where other targets are on the
    /// server too. Sessions that were just ended count until
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
        // The connection that asks is already among those in use, and then the probe's. Of the others on this server as
        // many are.
        let own = OWN_CONNECTIONS - (1 + u32::from(self.watched));
        let part = |free: Option<u32>, sharers: u32| Some(free?.saturating_sub(own * sharers) / sharers);
        let Free { server, account, database } = free;
        let sharers = &self.sharers;
        let parts =
            [part(server, sharers.server), part(account, sharers.account), part(database, sharers.database)];
        Ok(parts.into_iter().flatten().min())
    }

    /// Opens the connection anew if the server has broken it in the meantime.
    pub(crate) fn reconnect_if_broken(&mut self) -> Result<&mut Connection, Failure> {
        if self.is_disconnected() {
            self.connection = connect(&self.route, &self.url)?;
        }
        Ok(&mut self.connection)
    }

    /// That a server was started anew in the meantime shows only when the connection is used.
    fn is_disconnected(&mut self) -> bool {
        self.connection.is_broken() || self.connection.briefly(|it| it.execute(STILL_THERE)).is_err()
    }

    /// The same after a load, which may have lost the server: it is waited for.
    pub(crate) fn reconnect_when_back(&mut self, context: &Context<'_>) -> Result<&mut Connection, Failure> {
        let is_lost = |it: &mut Connection| it.is_broken() || it.execute(STILL_THERE).is_err();
        if self.connection.within(BACK_ANSWER, is_lost) {
            self.connection = self.connect_when_back(context)?;
        }
        Ok(&mut self.connection)
    }

    /// Opens a new connection, as whoever comes after the load does: in dyno's own process the old one sees the files that it has
    /// open, wherever they are by now.
    pub(crate) fn reconnect_behind_load(
        &mut self,
        context: &Context<'_>,
    ) -> Result<&mut Connection, Failure> {
        if !self.is_in_process() {
            return self.reconnect_when_back(context);
        }
        self.connection = self.connect_when_back(context)?;
        Ok(&mut self.connection)
    }

    pub(super) fn files(&mut self) -> &mut OpenFiles {
        &mut self.files
    }

    /// Waits for a server that something was done to, which may have been a restart, and opens the connection anew. True
    /// where it is another process now.
    pub(crate) fn wait_until_back(&mut self, context: &Context<'_>) -> Result<bool, Failure> {
        self.connection = self.connect_when_back(context)?;
        // What was done to it was meant.
        self.identity = self.ask_identity()?;
        self.files = files_of(&self.connection);
        self.find_process()
    }

    /// Opens a session as soon as the server takes one. Whatever stands in the way may pass, since one was taken before: it
    /// is started again, it recovers, or what stands before it has not noticed yet; but not that it knows user, password or
    /// database no more.
    fn connect_when_back(&self, context: &Context<'_>) -> Result<Connection, Failure> {
        let started = Instant::now();
        telling(context, &format!("waiting until {} accepts sessions", self.url), || {
            loop {
                context.check_stopped()?;
                let source = match Connection::open_within(&self.route, Some(BACK_ANSWER)) {
                    Ok(connection) => return Ok(connection),
                    Err(source) => Box::new(source),
                };
                let url = self.url.clone();
                // Nobody starts a server of dyno's own again.
                if source.is_final() || self.embedded.as_ref().is_some_and(|server| server.has_ended()) {
                    return Err(Failure::Connect { url, source });
                }
                if started.elapsed() >= BACK_WAIT {
                    let seconds = BACK_WAIT.as_secs();
                    return Err(Failure::wrong(format!(
                        "{url} accepted no session for {seconds} s: {source}"
                    )));
                }
                std::thread::sleep(BACK_LOOK);
            }
        })
    }

    fn ask_identity(&mut self) -> Result<Identity, Failure> {
        let asked = inspect::identity(&mut self.connection);
        asked.map_err(|source| self.query_failed(ASKING, source))
    }

    pub(crate) fn query_failed(&self, doing: &'static str, source: QueryError) -> Failure {
        Failure::query(doing, &self.url, source)
    }

    /// Stops and removes what was started for the run, unless another system has it yet.
    pub(crate) fn clear(self) -> Result<(), Failure> {
        drop(self.connection);
        match self.embedded.and_then(Arc::into_inner) {
            Some(server) => Ok(server.stop()?),
            None => Ok(()),
        }
    }
}

fn files_of(connection: &Connection) -> OpenFiles {
    OpenFiles::of(connection.driver().map(Driver::files).unwrap_or_default())
}

fn connect(route: &Route, url: &str) -> Result<Connection, Failure> {
    Connection::open(route).map_err(|source| match source {
        ConnectError::Interrupted { .. } => Failure::Interrupted,
        source => Failure::Connect { url: url.to_owned(), source: Box::new(source) },
    })
}

fn start_embedded(context: &Context<'_>, plan: &SystemPlan, cpus: u32) -> Result<EmbeddedServer, Failure> {
    let TargetSource::Embedded { server, profile, directory } = &plan.source else {
        return Err(Failure::Interrupted);
    };
    let automatic = cpus.saturating_mul(EMBEDDED_CONNECTIONS_PER_CPU).max(EMBEDDED_CONNECTIONS_MIN);
    let sharers = || context.plan.systems.iter().filter(|system| system.target == plan.target);
    let of_stream = |stream: &StreamPlan| -> u32 {
        let of = |system: &SystemPlan| stream.connections.or(stream.clients_named(&system.name));
        sharers().map(|system| of(system).unwrap_or(automatic)).sum()
    };
    let wanted = context.plan.phases.iter().map(|phase| phase.streams.iter().map(of_stream).sum());
    let connections: u32 = wanted.max().unwrap_or(automatic);
    let own = OWN_CONNECTIONS * sharers().count() as u32;
    let options = EmbeddedOptions {
        server: server.clone(),
        profile: *profile,
        connections_max: connections + own,
        directory: directory.clone(),
        required_bytes: sharers()
            .filter_map(|system| system.benchmark.sizes_wanted().first().map(|it| it.bytes))
            .sum(),
        ..EmbeddedOptions::default()
    };
    context.stream.activity("starting an embedded PostgreSQL");
    let started = EmbeddedServer::start(&options, &mut |text| context.stream.activity(text));
    // That it was interrupted is all there is to say.
    context.check_stopped()?;
    Ok(started?)
}
