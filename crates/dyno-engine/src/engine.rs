//! The engine as its caller sees it: threads are started, clients connected, stages run.

use dyno_results::spec::{Arrivals, End, PollerChoice, Protocol, StageOrder};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use dyno_results::event::{RunningQuery, StageFinished};
use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::cancel;
use crate::clock::{nanoseconds, now_ns};
use crate::collector::Collector;
use crate::config::{EngineConfig, Share, of_segment};
use crate::driver::Route;
use crate::error::{EngineError, SessionError};
use crate::message::{Report, StageStart, ThreadCommand};
use crate::poller::{self, Uring};
use crate::recorder::Recorder;
use crate::schedule::{Schedule, SharedArrivals, lock};
use crate::statement::{Recipient, Statements};
use crate::thread::{LoadThread, Shared};
use crate::watched::Watched;
pub use crate::workload::Observation;
use crate::workload::{QueryUnderWay, TransactionType, Workload};

/// How often the engine looks whether it is to stop.
const STOP_LOOK: Duration = Duration::from_millis(50);
/// How often it looks whether a thread has ended that may be in its driver.
const END_LOOK: Duration = Duration::from_millis(1);
/// How often the workload is asked what its clients have observed, and from when on a query is told of that goes on.
const ASK_EVERY: Duration = Duration::from_secs(1);
const QUERY_LONG: Duration = Duration::from_secs(3);
/// Says which poller is asked for where the configuration does not.
const POLLER_VARIABLE: &str = "DYNO_POLLER";
/// From the order to start until the start, so that every thread has it in time.
pub const START_DELAY: Duration = Duration::from_millis(2);
/// Connections of a thread on average from which `auto` uses io_uring. A thread with few has few requests that could leave together
/// (`bench/pgbench-side-by-side`).
const RING_CONNECTIONS_MIN: u32 = 8;
/// Files that the process needs beside its clients' sockets.
const OTHER_FILES: u64 = 128;

/// Load threads and their connections to one target.
pub struct Engine {
    threads: Vec<Handle>,
    reports: Receiver<(u32, Report)>,
    shared: Arc<Shared>,
    connected: u32,
    asked_for: PollerChoice,
    /// See [`Engine::poller`] and [`Engine::no_uring`].
    poller: PollerChoice,
    no_uring: Option<String>,
}

struct Handle {
    commands: Sender<ThreadCommand>,
    wake: OwnedFd,
    joined: JoinHandle<()>,
    watched: Arc<Watched>,
}

/// By which a caller ends a stage before its plan does.
#[derive(Debug, Clone, Copy)]
pub struct Signals<'a> {
    /// Once it is set, the stage ends where it stands, and its plan is not fulfilled.
    pub stop: &'a AtomicBool,
    /// Once it is set, the load of a stage is over that lasts as long as others ([`End::WithOthers`](dyno_results::spec::End)).
    pub over: Option<&'a AtomicBool>,
}

impl<'a> From<&'a AtomicBool> for Signals<'a> {
    fn from(stop: &'a AtomicBool) -> Self {
        Self { stop, over: None }
    }
}

impl<'a> From<&'a Arc<AtomicBool>> for Signals<'a> {
    fn from(stop: &'a Arc<AtomicBool>) -> Self {
        Self { stop, over: None }
    }
}

/// When the workload was last asked, and whether queries went on then.
struct Asked {
    at_ns: u64,
    has_queries: bool,
}

impl Handle {
    fn start(number: u32, shared: &Arc<Shared>) -> Result<Self, EngineError> {
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .map_err(|errno| EngineError::Start(errno.into()))?;
        let (commands, received) = channel();
        let woken = wake.try_clone().map_err(EngineError::Start)?;
        let types = (0..).map(TransactionType).take(shared.workload.types().len());
        let counts: Vec<usize> = types.map(|of_type| shared.workload.counts(of_type)).collect();
        let recorder = Recorder::new(number, &counts, shared.reports.clone());
        let shared = Arc::clone(shared);
        let watched = Arc::<Watched>::default();
        let watching = Arc::clone(&watched);
        let joined = std::thread::Builder::new()
            .name(format!("dyno-load-{number}"))
            .spawn(move || LoadThread::run(number, &shared, recorder, watching, (woken, received)))
            .map_err(EngineError::Start)?;
        Ok(Self { commands, wake, joined, watched })
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("route", &self.shared.route).finish_non_exhaustive()
    }
}

impl Engine {
    /// Starts the threads, where a thread serves many clients; nothing is connected yet.
    pub fn start(
        route: impl Into<Route>,
        workload: &Arc<dyn Workload>,
        config: EngineConfig,
    ) -> Result<Self, EngineError> {
        let route = route.into();
        let recipient = route.recipient();
        if config.protocol == Protocol::Extended && !recipient.has_extended() {
            return Err(EngineError::NotExtended);
        }
        let generators = config.segment.generators();
        if let Some(connections) = config.connections.filter(|connections| *connections < generators) {
            return Err(EngineError::PoolTooSmall { connections, generators });
        }
        let threads = match (recipient, config.connections) {
            // One for each client, as they come.
            (Recipient::Driver { .. }, None) => u32::MAX,
            (Recipient::Driver { .. }, Some(connections)) => of_segment(config.segment, connections).max(1),
            // A thread without any connection could serve none of its clients.
            (_, connections) => {
                config.threads.min(of_segment(config.segment, connections.unwrap_or(u32::MAX)).max(1))
            }
        };
        let config = Arc::new(EngineConfig { threads, ..config });
        let (reports_to, reports) = channel();
        let cancel = |canceller| cancel::start(canceller, &reports_to);
        let shared = Arc::new(Shared {
            canceller: config.canceller.as_ref().map(cancel).transpose().map_err(EngineError::Start)?,
            statements: Arc::new(Statements::new(config.protocol, recipient, workload.statements())),
            route,
            workload: Arc::clone(workload),
            reports: reports_to.clone(),
            config: Arc::clone(&config),
        });
        let mut engine = Self {
            asked_for: asked_for(config.poller)?,
            threads: Vec::new(),
            reports,
            shared,
            connected: 0,
            poller: PollerChoice::Epoll,
            no_uring: None,
        };
        if !matches!(recipient, Recipient::Driver { .. }) {
            engine.start_threads(threads)?;
        }
        Ok(engine)
    }

    /// Sees to it that there are so many threads.
    fn start_threads(&mut self, threads: u32) -> Result<(), EngineError> {
        let first = self.threads.len() as u32;
        for number in first..threads {
            self.threads.push(Handle::start(number, &self.shared)?);
        }
        Ok(())
    }

    /// Rings for all threads if they are to use io_uring from now on, when there will be so many connections, and the kernel gives
    /// them all: all threads have one kind of poller.
    fn rings(&mut self, connections: u32) -> Vec<Uring> {
        let threads = self.threads.len() as u32;
        let wanted = match self.asked_for {
            PollerChoice::Auto => connections >= RING_CONNECTIONS_MIN.saturating_mul(threads),
            asked_for => asked_for == PollerChoice::Uring,
        };
        if !wanted || self.poller == PollerChoice::Uring || self.is_blocking() {
            return Vec::new();
        }
        let rings: Result<Vec<_>, _> = (0..threads).map(|_| Uring::new()).collect();
        match &rings {
            Ok(_) => self.poller = PollerChoice::Uring,
            Err(error) if self.asked_for == PollerChoice::Uring => {
                self.no_uring = Some(poller::refusal(*error));
            }
            Err(_) => {}
        }
        rings.unwrap_or_default()
    }

    /// How the load threads have waited for their sockets since the last [`connect`](Self::connect); `None` where there are none,
    /// because drivers have them.
    pub fn poller(&self) -> Option<PollerChoice> {
        (!self.is_blocking()).then_some(self.poller)
    }

    /// Why the load threads use epoll although io_uring was asked for.
    pub fn no_uring(&self) -> Option<&str> {
        self.no_uring.as_deref()
    }

    fn is_blocking(&self) -> bool {
        matches!(self.shared.route, Route::Driver(_))
    }

    /// Load threads; over few connections there may be fewer than were asked for.
    pub fn threads(&self) -> u32 {
        self.threads.len() as u32
    }

    /// Sees to it that this engine's part of `clients` clients is connected and prepared, or as many connections of the pool as they can use;
    /// those that were lost included. `progress` hears how many there are while new ones come.
    ///
    /// After an error the engine is of no further use.
    pub fn connect(
        &mut self,
        clients: u32,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u32),
    ) -> Result<(), EngineError> {
        let config = &self.shared.config;
        let wanted = of_segment(config.segment, clients.min(config.connections.unwrap_or(u32::MAX)));
        let files = match &self.shared.route {
            Route::Wire(_) => 1,
            // The thread's own two beside those of its session.
            Route::Driver(driver) => driver.files_per_session() + 2,
        };
        allow_open_files(wanted, files)?;
        if self.is_blocking() {
            self.start_threads(wanted)?;
        }
        let mut rings = self.rings(wanted).into_iter();
        self.command(|| ThreadCommand::Connect { clients, ring: rings.next().map(Box::new) });
        let mut waiting = self.threads.len();
        while waiting > 0 {
            let Some((_, report)) = self.next_report()? else {
                if stop.load(Ordering::Relaxed) {
                    return Err(EngineError::Stopped);
                }
                continue;
            };
            match report {
                Report::Connected => waiting -= 1,
                Report::ClientConnected => {
                    self.connected += 1;
                    progress(self.connected);
                }
                Report::ConnectFailed(source) => {
                    // One that was lost and is opened anew was counted before.
                    let connected = self.connected.min(wanted.saturating_sub(1));
                    let route = Box::new(self.shared.route.clone());
                    return Err(EngineError::Connect { route, connected, wanted, source });
                }
                Report::Broken(errno) => return Err(EngineError::Poll(errno)),
                Report::Record(..) | Report::Error(_) | Report::StageFinished(_) => {}
            }
        }
        Ok(())
    }

    /// Runs a stage to its end, or until it is told to end before. Connects what clients it still needs first.
    pub fn run_stage<'s>(
        &mut self,
        plan: &StageOrder,
        signals: impl Into<Signals<'s>>,
        observe: &mut dyn FnMut(Observation),
    ) -> Result<StageFinished, EngineError> {
        if self.shared.config.connections.is_some() && matches!(plan.arrivals, Arrivals::Open { .. }) {
            return Err(EngineError::OpenOverPool);
        }
        let signals = signals.into();
        self.connect(plan.clients_max(), signals.stop, &mut |_| {})?;
        let start_ns = now_ns() + nanoseconds(START_DELAY);
        let segment = self.shared.config.segment;
        let left = plan.transactions_max.map(|count| Arc::new(AtomicU64::new(segment.of(count))));
        let arrivals = if self.is_blocking() { self.shared_arrivals(plan, start_ns) } else { None };
        self.command(|| {
            ThreadCommand::Run(StageStart {
                plan: *plan,
                start_ns,
                left: left.clone(),
                arrivals: arrivals.clone(),
            })
        });
        let threads = (self.threads.len(), !self.is_blocking());
        let mut collector = Collector::new((plan.stage, segment.generator()), start_ns, threads);
        let collected = self.collect_stage(&mut collector, plan, start_ns, signals, observe);
        // Even if a thread broke: what the others measured is kept.
        collector.flush(true).into_iter().for_each(|interval| observe(Observation::Interval(interval)));
        self.shared.workload.observe(observe);
        collected?;
        let mut outcome = collector.outcome();
        if let Some(arrivals) = arrivals {
            let load_end_ns = start_ns + nanoseconds(Duration::from_secs_f64(outcome.seconds));
            outcome.not_begun += lock(&arrivals).skip_until(load_end_ns);
        }
        Ok(outcome)
    }

    /// The arrivals of an open load whose clients have a thread each.
    fn shared_arrivals(&self, plan: &StageOrder, start_ns: u64) -> Option<Arc<Mutex<SharedArrivals>>> {
        let share = Share::of_all_threads(&self.shared.config);
        let schedule = Schedule::new(plan, start_ns, &share, self.shared.gaps(plan, &share))?;
        Some(Arc::new(Mutex::new(SharedArrivals::new(schedule))))
    }

    fn collect_stage(
        &self,
        collector: &mut Collector,
        plan: &StageOrder,
        start_ns: u64,
        signals: Signals<'_>,
        observe: &mut dyn FnMut(Observation),
    ) -> Result<(), EngineError> {
        let (mut stopping, mut ending, mut not_cancelled) = (false, plan.end != End::WithOthers, false);
        let mut asked = Asked { at_ns: start_ns, has_queries: false };
        let is_set = |flag: Option<&AtomicBool>| flag.is_some_and(|flag| flag.load(Ordering::Relaxed));
        let config = &self.shared.config;
        let drain_ns = nanoseconds(config.drain_timeout);
        // When nothing more is waited for.
        let mut deadline_ns =
            plan.duration_ns().map_or(u64::MAX, |ns| (start_ns + ns).saturating_add(drain_ns));
        while !collector.is_finished() {
            if !ending && is_set(signals.over) {
                ending = true;
                self.command(|| ThreadCommand::End { stopped: false, at_ns: now_ns() });
                deadline_ns = deadline_ns.min(now_ns().saturating_add(drain_ns));
            }
            if !stopping && is_set(Some(signals.stop)) {
                stopping = true;
                self.command(|| ThreadCommand::End { stopped: true, at_ns: now_ns() });
                let drain_ns = nanoseconds(config.stopped_drain_timeout);
                deadline_ns = deadline_ns.min(now_ns().saturating_add(drain_ns));
            }
            if self.is_blocking() {
                self.cancel_late(deadline_ns);
            }
            self.ask_workload(&mut asked, observe);
            let Some((thread, report)) = self.next_report()? else { continue };
            match report {
                Report::Record(record, give_back) => {
                    collector.add(thread, &record);
                    // A thread that has ended needs no records.
                    let _ = give_back.send(record);
                }
                Report::Error(SessionError::NotCancelled(_))
                    if std::mem::replace(&mut not_cancelled, true) => {}
                Report::StageFinished(finished) => {
                    let after = Duration::from_nanos(finished.drained_ns.saturating_sub(start_ns));
                    collector.finish(thread, finished);
                    observe(Observation::ThreadFinished { thread, after });
                }
                Report::Error(error) | Report::ConnectFailed(error) => observe(Observation::Error(error)),
                Report::Broken(errno) => return Err(EngineError::Poll(errno)),
                Report::Connected | Report::ClientConnected => {}
            }
            collector.flush(false).into_iter().for_each(|interval| observe(Observation::Interval(interval)));
        }
        Ok(())
    }

    /// Asks now and then what the clients have observed, and which queries go on: a driver that waits for one tells nothing meanwhile.
    fn ask_workload(&self, asked: &mut Asked, observe: &mut dyn FnMut(Observation)) {
        if now_ns() < asked.at_ns + nanoseconds(ASK_EVERY) {
            return;
        }
        asked.at_ns = now_ns();
        self.shared.workload.observe(observe);
        let queries = self.long_queries();
        let has_queries = !queries.is_empty();
        if std::mem::replace(&mut asked.has_queries, has_queries) || has_queries {
            observe(Observation::Running(queries));
        }
    }

    /// The queries that have gone on for some time, the longest first. Only of that one the server is asked how far it is, since that
    /// is what is shown, and each question is work for the server.
    fn long_queries(&self) -> Vec<RunningQuery> {
        let workload = &self.shared.workload;
        let mut queries = workload.queries_under_way();
        queries.retain(|query| query.duration >= QUERY_LONG);
        let then_ns = now_ns().saturating_sub(nanoseconds(QUERY_LONG));
        // An operation that has gone on for as long on the same thread is this query's.
        let read_share =
            |thread: u32| self.threads.get(thread as usize)?.watched.read_share_begun_before(then_ns);
        let told = |(at, QueryUnderWay { query, duration, thread }): (usize, QueryUnderWay)| RunningQuery {
            query: workload.types().get(usize::from(query.0)).cloned().unwrap_or_default(),
            seconds: duration.as_secs_f64(),
            read_share: (at == 0).then(|| read_share(thread)).flatten(),
            earlier: None,
        };
        queries.into_iter().enumerate().map(told).collect()
    }

    /// Stops operations of drivers that outlast their limit, and all of them once the stage waits no longer, also those that open
    /// a session: their threads cannot, as long as the driver blocks.
    fn cancel_late(&self, deadline_ns: u64) {
        let now = now_ns();
        let limit_ns = self.shared.config.statement_limit.map_or(u64::MAX, nanoseconds);
        let then_ns = if now >= deadline_ns { now } else { now.saturating_sub(limit_ns) };
        for Handle { watched, .. } in &self.threads {
            watched.cancel_begun_before(then_ns);
            if now >= deadline_ns {
                watched.give_up_opening();
            }
        }
    }

    /// The next report; `None` where there is none for a while. A thread that panicked would be waited for in vain.
    fn next_report(&self) -> Result<Option<(u32, Report)>, EngineError> {
        let ended = |handle: &Handle| handle.joined.is_finished();
        match self.reports.recv_timeout(STOP_LOOK) {
            Ok(report) => Ok(Some(report)),
            Err(RecvTimeoutError::Timeout) if !self.threads.iter().any(ended) => Ok(None),
            Err(_) => Err(EngineError::ThreadLost),
        }
    }

    fn command(&self, mut command: impl FnMut() -> ThreadCommand) {
        for handle in &self.threads {
            handle.watched.add_command();
            // A thread that is gone shows itself when its report is waited for.
            let _ = handle.commands.send(command());
            let _ = rustix::io::write(&handle.wake, &1u64.to_ne_bytes());
        }
    }
}

impl Drop for Engine {
    /// Ends the threads, which closes the connections.
    fn drop(&mut self) {
        let blocks = self.is_blocking();
        let hang_up = |Handle { commands, wake, joined, watched }| {
            drop(commands);
            watched.give_up_opening();
            watched.add_command();
            let _ = rustix::io::write(wake, &1u64.to_ne_bytes());
            (joined, watched)
        };
        let threads: Vec<(JoinHandle<()>, Arc<Watched>)> = self.threads.drain(..).map(hang_up).collect();
        for (joined, watched) in threads {
            // A driver would be waited for otherwise.
            while blocks && !joined.is_finished() {
                watched.cancel_begun_before(u64::MAX);
                std::thread::sleep(END_LOOK);
            }
            let _ = joined.join();
        }
    }
}

/// The poller that is asked for: by the configuration, else by the environment.
fn asked_for(poller: Option<PollerChoice>) -> Result<PollerChoice, EngineError> {
    match (poller, std::env::var(POLLER_VARIABLE)) {
        (Some(poller), _) => Ok(poller),
        (None, Ok(name)) if !name.is_empty() => {
            PollerChoice::named(&name).ok_or(EngineError::UnknownPoller(name))
        }
        (None, _) => Ok(PollerChoice::Auto),
    }
}

/// Raises the limit on open files as far as `clients` need, each so many, and the system allows.
fn allow_open_files(clients: u32, each: u32) -> Result<(), EngineError> {
    let needed = u64::from(clients) * u64::from(each) + OTHER_FILES;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let raised = maximum.map_or(needed, |maximum| needed.min(maximum));
    let wanted = Rlimit { current: Some(raised), maximum };
    if raised < needed || setrlimit(Resource::Nofile, wanted).is_err() {
        return Err(EngineError::OpenFiles { wanted: clients, needed, limit: maximum.unwrap_or(raised) });
    }
    Ok(())
}
