//! What generates the load of a phase on a system. The campaign connects clients by it and gives it stage orders, and knows of the load
//! what it tells. Knows no stream of events.

use std::error::Error;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dyno_engine::config::{Canceller, EngineConfig};
use dyno_engine::driver::Route;
use dyno_engine::engine::{Engine, Observation as Seen, Signals};
use dyno_engine::error::SessionError;
use dyno_results::event::StageFinished;
use dyno_results::observation;
use dyno_results::spec::{PollerChoice, StageOrder};
use dyno_results::sql_text::Syntax;
use dyno_target::cause::Cause;
use dyno_target::connection::CancelHandle;
use dyno_wire::endpoint::{Endpoint, SessionName};
use dyno_workload::benchmark::{Dataset, SeriesLoad};
use dyno_workload::scripts::SqlScript;

use crate::failure::{Failure, GeneratorError, TableOwner, of_statement};
use crate::plan::{LoadSource, PhasePlan, Plan, StreamPlan};

/// Clients of a script, whose random numbers are drawn before it is known how many there will be.
const SCRIPT_CLIENTS: u32 = 16_384;

/// Something that a generator tells of a stage.
pub(crate) type Observation = observation::Observation<LoadError>;

/// What went wrong under load, as far as others have to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoadError {
    pub(crate) said: String,
    /// What helps against it.
    pub(crate) advice: Option<String>,
    pub(crate) effect: Effect,
}

/// What an error comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// A statement was refused.
    Statement,
    /// The server ended a session, and not because of what came over it.
    SessionEnded,
    /// A connection broke.
    ConnectionLost,
    Other,
}

/// The clients of a stream that are connected.
#[derive(Debug, Clone)]
pub(crate) struct Connected {
    pub(crate) threads: u32,
    /// As [`Engine::poller`].
    pub(crate) poller: Option<PollerChoice>,
    /// As [`Engine::no_uring`].
    pub(crate) no_uring: Option<String>,
}

/// What the streams of a phase run, in their order. Those of one workload share what it counts, and the ids that it draws.
pub(crate) fn loads(
    plan: &Plan,
    phase: &PhasePlan,
    (data, syntax): (Option<&Dataset>, Syntax),
    threads: u32,
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
            (None, LoadSource::Script(script)) => {
                Arc::from(of_script(script, stream, threads, plan.seed_of(at as u64))?)
            }
            (None, LoadSource::Queries(folder)) => Arc::from(folder.load(syntax)),
        });
    }
    Ok(loads)
}

/// A script draws its random numbers by a seed of its own, and not by the engine's.
fn of_script(
    script: &SqlScript,
    stream: &StreamPlan,
    threads: u32,
    seed: u64,
) -> Result<Box<dyn SeriesLoad>, Failure> {
    Ok(script.load(stream.protocol, (threads, SCRIPT_CLIENTS), (stream.tries_max, seed))?)
}

/// Generates the load of a phase in this process.
pub(crate) struct Generator<'a> {
    plan: &'a Plan,
    route: Route,
    threads: u32,
    streams: Vec<StreamGenerator<'a>>,
}

struct StreamGenerator<'a> {
    plan: &'a StreamPlan,
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

impl<'a> Generator<'a> {
    /// Of the streams of a phase, which run `loads`, each on so many threads.
    pub(crate) fn prepare(
        plan: &'a Plan,
        phase: &'a PhasePlan,
        route: &Route,
        loads: &[Arc<dyn SeriesLoad>],
        threads: u32,
    ) -> Self {
        let stream = |((place, plan_of), load): ((u64, &'a StreamPlan), &Arc<dyn SeriesLoad>)| {
            let (load, seed) = (Arc::clone(load), plan.seed_of(place));
            StreamGenerator { plan: plan_of, seed, load, clients: Mutex::default() }
        };
        let streams = (0..).zip(&phase.streams).zip(loads).map(stream).collect();
        Self { plan, route: route.clone(), threads, streams }
    }

    /// Sees to it that so many clients of the stream at a place are connected.
    pub(crate) fn connect(
        &self,
        stream: u32,
        clients: u32,
        stop: &AtomicBool,
    ) -> Result<Connected, GeneratorError> {
        let stream = &self.streams[stream as usize];
        let mut own = stream.clients();
        let mut engine = match own.engine.take() {
            Some(engine) => engine,
            None => self.start_engine(stream, &mut own.engines)?,
        };
        engine
            .connect(clients, stop, &mut |_| {})
            .map_err(|error| GeneratorError::of(&error, stream.plan.source.tables()))?;
        let connected = Connected {
            threads: engine.threads(),
            poller: engine.poller(),
            no_uring: engine.no_uring().map(str::to_owned),
        };
        own.engine = Some(engine);
        Ok(connected)
    }

    /// Has the stream at a place, whose clients are connected, do its part of an order. Its end is observed last.
    pub(crate) fn start(
        &self,
        stream: u32,
        order: &StageOrder,
        signals: Signals<'_>,
        observe: &mut dyn FnMut(Observation),
    ) {
        let stream = &self.streams[stream as usize];
        let tables = stream.plan.source.tables();
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
        if !finished.complete {
            own.engine = None;
        }
        drop(own);
        observe(Observation::End { finished, broken });
    }

    /// Ends all clients.
    pub(crate) fn disconnect(&self) {
        self.streams.iter().for_each(|stream| stream.clients().engine = None);
    }

    /// Ends all clients, and tells of each load what they were told, by the place of the first stream that runs it.
    pub(crate) fn stop(&self, observe: &mut dyn FnMut(u32, Observation)) {
        self.disconnect();
        for (at, StreamGenerator { load, .. }) in self.streams.iter().enumerate() {
            if !self.streams[..at].iter().any(|before| Arc::ptr_eq(&before.load, load)) {
                observe(at as u32, Observation::Acknowledged(load.acknowledged()));
            }
        }
    }

    fn start_engine(
        &self,
        stream: &StreamGenerator<'_>,
        engines: &mut u64,
    ) -> Result<Engine, GeneratorError> {
        // The second engine of a stream goes on with other random numbers, and not again with those of the first; nor has
        // another stream the same.
        // Passes are over the same queries.
        let further = if stream.plan.pass.is_some() { 0 } else { *engines };
        let seed = stream.seed.wrapping_add(further);
        let workload = match &stream.plan.source {
            LoadSource::Script(script) if *engines > 0 => {
                let load = of_script(script, stream.plan, self.threads, seed);
                load.map_err(|failure| GeneratorError::other(&failure))?.workload()
            }
            _ => stream.load.workload(),
        };
        *engines += 1;
        let config = EngineConfig {
            protocol: stream.plan.protocol,
            tries_max: stream.plan.tries_max,
            realtime: self.plan.spec.realtime,
            poller: self.plan.spec.poller,
            connections: stream.plan.connections,
            statement_limit: stream.plan.time_limit,
            canceller: canceller(&self.route),
            seed,
            ..EngineConfig::new(self.threads)
        };
        Engine::start(self.route.clone(), &workload, config)
            .map_err(|error| GeneratorError::of(&error, stream.plan.source.tables()))
    }
}

impl StreamGenerator<'_> {
    fn clients(&self) -> MutexGuard<'_, Clients> {
        // They are whole whoever panicked.
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LoadError {
    fn of(error: &SessionError, tables: TableOwner) -> Self {
        let cause = error.server_error().and_then(Cause::of);
        let effect = match error {
            SessionError::Server(server) if !server.ends_session() => Effect::Statement,
            // A server that closes a session because of what came over it is still there.
            SessionError::Server(_) if cause != Some(Cause::StatementTooLarge) => Effect::SessionEnded,
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
