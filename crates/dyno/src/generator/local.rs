//! The generator in this process: an engine for each stream.

use std::error::Error;
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dyno_engine::config::{Canceller, EngineConfig};
use dyno_engine::driver::Route;
use dyno_engine::engine::{Engine, Observation as Seen, Signals};
use dyno_engine::error::SessionError;
use dyno_results::event::StageFinished;
use dyno_results::spec::{PollerChoice, Segment, StageOrder};
use dyno_results::sql_text::Syntax;
use dyno_target::Capabilities;
use dyno_target::cause::Cause;
use dyno_target::connection::{CancelHandle, Connection};
use dyno_target::product::Dialect;
use dyno_wire::endpoint::{Endpoint, SessionName};
use dyno_workload::benchmark::{Benchmark, Dataset, Sending, SeriesLoad};

use super::{Connected, Effect, Generator, GeneratorError, LoadError, Observation, Prepare};
use crate::failure::{Failure, TableOwner, of_statement};
use crate::plan::{LoadSource, PhasePlan, Plan, StreamPlan, TargetSource};

/// A driver has a load thread for each client, and what the threads count is made before it is known how many clients there will be.
const DRIVER_THREADS: u32 = 4096;

/// What is known of a target whose scripts are sent.
pub(crate) type Site = (Capabilities, Dialect);

/// What the streams of a phase run, in their order. Those of one workload share what it counts, and the ids that it draws.
pub(crate) fn loads(
    phase: &PhasePlan,
    data: Option<&Dataset>,
    syntax: Syntax,
) -> Result<Vec<Arc<dyn SeriesLoad>>, Failure> {
    let mut loads: Vec<Arc<dyn SeriesLoad>> = Vec::new();
    for (at, stream) in phase.streams.iter().enumerate() {
        let is_same = |other: &StreamPlan| match (&other.source, &stream.source) {
            (LoadSource::Family(one), LoadSource::Family(other)) => one == other,
            _ => false,
        };
        loads.push(match (phase.streams[..at].iter().position(is_same), &stream.source) {
            (Some(same), _) => Arc::clone(&loads[same]),
            // It is there, since data was provided.
            (None, LoadSource::Family(place)) => {
                let load = data.and_then(|data| data.loads().into_iter().nth(*place));
                Arc::from(load.ok_or(Failure::SystemBroken)?)
            }
            (None, LoadSource::Script(script)) => Arc::from(script.load(stream.protocol)),
            (None, LoadSource::Queries(folder)) => Arc::from(folder.load(syntax)),
        });
    }
    Ok(loads)
}

/// Looks whether what a stream sends can be sent to a target.
pub(crate) fn check(stream: &StreamPlan, benchmark: &dyn Benchmark, site: &Site) -> Result<(), Failure> {
    let sending = sending(stream, site, 1, 0);
    match &stream.source {
        LoadSource::Family(place) => benchmark.check(*place, &sending)?,
        LoadSource::Script(script) => drop(script.load(stream.protocol).workload(&sending)?),
        LoadSource::Queries(_) => {}
    }
    Ok(())
}

/// How the scripts of a stream are sent. They draw their random numbers by a seed of their own, and not by the engine's.
pub(crate) fn sending(stream: &StreamPlan, (can, dialect): &Site, threads: u32, seed: u64) -> Sending {
    // A statement of a folder's script is the connection's, which clients may share; one of a file is sent as pgbench does it.
    let is_folder = matches!(stream.source, LoadSource::Family(_));
    let is_bound = !can.extended_protocol || is_folder;
    let dialect = is_bound.then_some(*dialect);
    Sending {
        protocol: stream.protocol,
        dialect,
        threads,
        tries_max: stream.tries_max,
        seed,
        segment: Segment::default(),
    }
}

/// Generates the load of a phase in this process.
pub struct LocalGenerator {
    route: Route,
    site: Site,
    segment: Segment,
    threads: u32,
    realtime: bool,
    poller: Option<PollerChoice>,
    streams: Vec<Stream>,
}

struct Stream {
    plan: StreamPlan,
    seed: u64,
    load: Arc<dyn SeriesLoad>,
    clients: Mutex<Clients>,
}

/// The clients of a stream.
#[derive(Default)]
struct Clients {
    engine: Option<Engine>,
    /// Engines that were started so far; each draws random numbers of its own.
    engines: u64,
}

impl fmt::Debug for LocalGenerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalGenerator").field("route", &self.route).finish_non_exhaustive()
    }
}

impl LocalGenerator {
    /// Of the streams of a phase, which run `loads`, each on so many threads.
    pub(crate) fn new(
        plan: &Plan,
        phase: &PhasePlan,
        route: &Route,
        (loads, site): (&[Arc<dyn SeriesLoad>], &Site),
        threads: u32,
    ) -> Self {
        let stream = |((place, own), load): ((u64, &StreamPlan), &Arc<dyn SeriesLoad>)| Stream {
            plan: own.clone(),
            seed: plan.seed_of(place),
            load: Arc::clone(load),
            clients: Mutex::default(),
        };
        Self {
            route: route.clone(),
            site: *site,
            segment: Segment::default(),
            threads,
            realtime: plan.spec.realtime,
            poller: plan.spec.poller,
            streams: (0..).zip(&phase.streams).zip(loads).map(stream).collect(),
        }
    }

    /// That of a message. Nothing of the load is known here but the message: the data are looked for on the target, and its password
    /// as for any run.
    ///
    /// # Errors
    /// The message is for another dyno, the target or the data are not there, or the load cannot be divided.
    pub fn of(prepare: &Prepare) -> Result<Self, GeneratorError> {
        fn other(error: impl fmt::Display) -> GeneratorError {
            GeneratorError::other(&error)
        }
        let plan = Plan::resolve(prepare.spec.clone(), 0).map_err(other)?;
        let system = plan.systems.iter().find(|system| system.name == prepare.system);
        let found = system.zip(plan.phases.get(prepare.phase as usize));
        let (system, phase) = found.ok_or_else(|| other("there is no such phase or system"))?;
        let TargetSource::Named(target) = &system.source else {
            return Err(other("an embedded server is of the process that has started it"));
        };
        let route = target.route().map_err(other)?;
        let mut connection = Connection::open(&route).map_err(other)?;
        let data = system.benchmark.find(&mut connection).map_err(other)?;
        let threads = plan.spec.threads.unwrap_or(1);
        let site = (system.capabilities(), connection.dialect());
        let loads = loads(phase, data.as_ref(), site.0.syntax);
        let loads = loads.map_err(other)?;
        let divided = prepare.segment.generators() > 1;
        if let Some(why) = loads.iter().find_map(|load| load.undivided()).filter(|_| divided) {
            return Err(other(why));
        }
        Ok(Self { segment: prepare.segment, ..Self::new(&plan, phase, &route, (&loads, &site), threads) })
    }

    fn start_engine(&self, stream: &Stream, engines: &mut u64) -> Result<Engine, GeneratorError> {
        // The second engine of a stream goes on with other random numbers, and not again with those of the first; nor has
        // another stream the same.
        // Passes are over the same queries.
        let further = if stream.plan.pass.is_some() { 0 } else { *engines };
        let seed = stream.seed.wrapping_add(further);
        let threads = match &self.route {
            Route::Wire(_) => self.threads,
            Route::Driver(_) => DRIVER_THREADS,
        };
        let sending = Sending { segment: self.segment, ..sending(&stream.plan, &self.site, threads, seed) };
        let workload = stream.load.workload(&sending).map_err(|error| GeneratorError::other(&error))?;
        *engines += 1;
        let config = EngineConfig {
            segment: self.segment,
            protocol: stream.plan.protocol,
            tries_max: stream.plan.tries_max,
            realtime: self.realtime,
            poller: self.poller,
            connections: stream.plan.connections,
            statement_limit: stream.plan.time_limit,
            canceller: canceller(&self.route),
            seed,
            ..EngineConfig::new(self.threads)
        };
        Engine::start(self.route.clone(), &workload, config)
            .map_err(|error| GeneratorError::of(&error, stream.plan.tables))
    }
}

impl Generator for LocalGenerator {
    fn connect(&self, stream: u32, clients: u32, stop: &AtomicBool) -> Result<Connected, GeneratorError> {
        if matches!(self.route, Route::Driver(_)) && clients > DRIVER_THREADS {
            let why = format!(
                "{clients} clients: a driver has a thread for each client, and at most {DRIVER_THREADS}"
            );
            return Err(GeneratorError::other(&why));
        }
        let stream = &self.streams[stream as usize];
        let mut own = stream.clients();
        let mut engine = match own.engine.take() {
            Some(engine) => engine,
            None => self.start_engine(stream, &mut own.engines)?,
        };
        engine
            .connect(clients, stop, &mut |_| {})
            .map_err(|error| GeneratorError::of(&error, stream.plan.tables))?;
        let connected = Connected {
            generators: self.segment.generators(),
            threads: engine.threads(),
            poller: engine.poller(),
            no_uring: engine.no_uring().map(str::to_owned),
        };
        own.engine = Some(engine);
        Ok(connected)
    }

    fn start(
        &self,
        stream: u32,
        order: &StageOrder,
        signals: Signals<'_>,
        observe: &mut dyn FnMut(Observation),
    ) {
        let stream = &self.streams[stream as usize];
        let tables = stream.plan.tables;
        let mut own = stream.clients();
        let mut seconds = 0.0;
        let mut see = |seen: Seen| {
            if let Seen::Interval(interval) = &seen
                && !interval.drain
            {
                seconds += interval.duration_ns as f64 / 1e9;
            }
            observe(seen.map_error(|error| LoadError::of(&error, tables)));
        };
        let ran = match &mut own.engine {
            Some(engine) => engine.run_stage(order, signals, &mut see).map_err(|error| error.to_string()),
            None => Err("its clients are not connected".to_owned()),
        };
        let (finished, broken) = match ran {
            Ok(finished) => (finished, None),
            // The engine itself can say nothing any more.
            Err(said) => {
                (StageFinished { stage: order.stage, seconds, ..StageFinished::default() }, Some(said))
            }
        };
        let complete = finished.complete;
        observe(Observation::End { finished, broken });
        // Whoever has such a stage has no further.
        if !complete {
            own.engine = None;
        }
    }

    fn disconnect(&self) {
        self.streams.iter().for_each(|stream| stream.clients().engine = None);
    }

    fn stop(&self, observe: &mut dyn FnMut(u32, Observation)) {
        self.disconnect();
        for (at, Stream { load, .. }) in self.streams.iter().enumerate() {
            if !self.streams[..at].iter().any(|before| Arc::ptr_eq(&before.load, load)) {
                observe(at as u32, Observation::Acknowledged(load.acknowledged()));
            }
        }
    }
}

impl Stream {
    fn clients(&self) -> MutexGuard<'_, Clients> {
        // They are whole whoever panicked.
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LoadError {
    fn of(error: &SessionError, tables: TableOwner) -> Self {
        let cause = error.server_error().and_then(Cause::of);
        let effect = match error {
            SessionError::Server(server) | SessionError::At { said: server, .. }
                if !server.ends_session() =>
            {
                Effect::Statement
            }
            // A server that closes a session because of what came over it is still there.
            SessionError::Server(_) | SessionError::At { .. } if cause != Some(Cause::StatementTooLarge) => {
                Effect::SessionEnded
            }
            SessionError::Io { .. } | SessionError::Link(_) | SessionError::Closed => Effect::ConnectionLost,
            _ => Effect::Other,
        };
        let advice = cause.and_then(|cause| advice(cause, tables)).map(str::to_owned);
        Self { said: error.to_string(), advice, effect }
    }
}

/// What to do about what a server says under load.
fn advice(cause: Cause, tables: TableOwner) -> Option<&'static str> {
    Some(match cause {
        Cause::ReadOnly => {
            "the server is read-only: it was set so, or it is a replica since a failover; name the primary"
        }
        Cause::StatementTooLarge => {
            "a statement is too large for the server: raise max_allowed_packet there, or send fewer values"
        }
        Cause::OutOfMemory => "raise what the server or a query may take of the memory",
        Cause::DiskFull => "make room on the server's disk, or prepare less data",
        cause => return of_statement(cause, tables),
    })
}

/// Cancels what the clients of a load do on a server.
#[derive(Debug)]
struct LoadCanceller(Endpoint);

/// Who cancels what the clients of a load do; `None` where their driver does.
fn canceller(route: &Route) -> Option<Arc<dyn Canceller>> {
    match route {
        Route::Wire(endpoint) => Some(Arc::new(LoadCanceller(endpoint.clone()))),
        Route::Driver(_) => None,
    }
}

impl Canceller for LoadCanceller {
    fn cancel(&self, session: &SessionName) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(CancelHandle::new(self.0.clone(), session.clone()).cancel()?)
    }
}
