//! The engine as its caller sees it: threads are started, clients connected, stages run.

use dyno_results::spec::{Arrivals, End, Protocol, StageOrder};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use dyno_results::event::Interval;
use dyno_wire::endpoint::{Address, Endpoint};
use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::cancel;
use crate::clock::now_ns;
use crate::collector::Collector;
pub use crate::collector::StageOutcome;
use crate::config::EngineConfig;
use crate::error::{EngineError, SessionError};
use crate::message::{ReportKind, ThreadCommand, ThreadReport};
use crate::record::Record;
use crate::recorder::Recorder;
use crate::statement::Statements;
use crate::thread::{LoadThread, ThreadSetup};
use crate::workload::Workload;

/// How often the engine looks whether it is to stop.
const STOP_LOOK: Duration = Duration::from_millis(50);
/// From the order to start until the start, so that every thread has it in time.
const START_DELAY_NS: u64 = 2_000_000;
/// Files that the process needs beside its clients' sockets.
const OTHER_FILES: u64 = 128;

/// Load threads and their connections to one target.
#[derive(Debug)]
pub struct Engine {
    threads: Vec<Handle>,
    reports: Receiver<ThreadReport>,
    address: Address,
    /// See [`EngineConfig::connections`].
    connections: Option<u32>,
    connected: u32,
    /// See [`Engine::limit_transactions`].
    transactions_max: Option<u64>,
    /// See [`Engine::end_with`].
    over: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Handle {
    commands: Sender<ThreadCommand>,
    wake: OwnedFd,
    give_back: Sender<Box<Record>>,
    joined: Option<JoinHandle<()>>,
}

/// Something seen while a stage runs.
#[derive(Debug)]
pub enum Observation {
    /// An interval is over; they come in order, the drain last.
    Interval(Interval),
    /// The first error of its kind in a thread, with what the server said.
    Error(SessionError),
}

impl Engine {
    /// Starts the threads; nothing is connected yet.
    pub fn start(
        endpoint: &Endpoint,
        workload: &Arc<dyn Workload>,
        config: EngineConfig,
    ) -> Result<Self, EngineError> {
        let mysql = endpoint.wire.is_mysql();
        if mysql && config.protocol == Protocol::Extended {
            return Err(EngineError::ExtendedOnMySql);
        }
        // A thread without any connection could serve none of its clients.
        let threads_max = config.connections.unwrap_or(u32::MAX).max(1);
        let config = Arc::new(EngineConfig { threads: config.threads.min(threads_max), ..config });
        let statements = Arc::new(Statements::new(config.protocol, mysql, workload.statements()));
        let (reporter, reports) = channel();
        let canceller =
            config.canceller.clone().map(cancel::start).transpose().map_err(EngineError::Start)?;
        let mut threads = Vec::new();
        for number in 0..config.threads {
            let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
                .map_err(|errno| EngineError::Start(errno.into()))?;
            let (commander, commands) = channel();
            let recorder = Recorder::new(workload.types().len());
            let give_back = recorder.give_back();
            let setup = ThreadSetup {
                number,
                config: Arc::clone(&config),
                endpoint: endpoint.clone(),
                workload: Arc::clone(workload),
                statements: Arc::clone(&statements),
                wake: wake.try_clone().map_err(EngineError::Start)?,
                commands,
                reports: reporter.clone(),
                recorder,
                canceller: canceller.clone(),
            };
            let joined = std::thread::Builder::new()
                .name(format!("dyno-load-{number}"))
                .spawn(move || LoadThread::run(setup))
                .map_err(EngineError::Start)?;
            threads.push(Handle { commands: commander, wake, give_back, joined: Some(joined) });
        }
        let address = endpoint.address.clone();
        let connections = config.connections;
        Ok(Self {
            threads,
            reports,
            address,
            connections,
            connected: 0,
            transactions_max: None,
            over: Arc::default(),
        })
    }

    /// Load threads; over few connections there may be fewer than were asked for.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.threads.len() as u32
    }

    /// Connections that were opened so far, one for each client or those of the pool; some may be lost since.
    #[must_use]
    pub fn connected(&self) -> u32 {
        self.connected
    }

    /// In each stage from now on all clients together begin no more than `count` transactions, if its plan does not end it
    /// before.
    pub fn limit_transactions(&mut self, count: Option<u64>) {
        self.transactions_max = count;
    }

    /// The load of a stage that lasts as long as others ([`End::WithOthers`](dyno_results::spec::End)) is over once `over` is
    /// set.
    pub fn end_with(&mut self, over: Arc<AtomicBool>) {
        self.over = over;
    }

    /// Sees to it that `clients` clients are connected and prepared, or as many connections of the pool as they can use;
    /// those that were lost included. `progress` hears how many there are while new ones come.
    ///
    /// After an error the engine is of no further use.
    pub fn connect(
        &mut self,
        clients: u32,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u32),
    ) -> Result<(), EngineError> {
        let wanted = clients.min(self.connections.unwrap_or(u32::MAX));
        allow_open_files(wanted)?;
        self.command(&ThreadCommand::Connect { clients });
        let mut waiting = self.threads.len();
        while waiting > 0 {
            let Some(report) = self.next_report(stop)? else { return Err(EngineError::Stopped) };
            match report.what {
                ReportKind::Connected => waiting -= 1,
                ReportKind::ClientConnected => {
                    self.connected += 1;
                    progress(self.connected);
                }
                ReportKind::ConnectFailed(source) => {
                    // One that was lost and is opened anew was counted before.
                    let connected = self.connected.min(wanted.saturating_sub(1));
                    let address = self.address.clone();
                    return Err(EngineError::Connect { address, connected, wanted, source });
                }
                ReportKind::Broken(errno) => return Err(EngineError::Poll(errno)),
                ReportKind::Record(_) | ReportKind::Error(_) | ReportKind::StageFinished(_) => {}
            }
        }
        Ok(())
    }

    /// Runs a stage to its end, or until `stop` is set. Connects what clients it still needs first.
    pub fn run_stage(
        &mut self,
        plan: &StageOrder,
        stop: &AtomicBool,
        observe: &mut dyn FnMut(Observation),
    ) -> Result<StageOutcome, EngineError> {
        if self.connections.is_some() && matches!(plan.arrivals, Arrivals::Open { .. }) {
            return Err(EngineError::OpenOverPool);
        }
        self.connect(plan.clients_max(), stop, &mut |_| {})?;
        let start_ns = now_ns() + START_DELAY_NS;
        let left = self.transactions_max.map(|count| Arc::new(AtomicU64::new(count)));
        self.command(&ThreadCommand::Run { plan: *plan, start_ns, left });
        let mut collector = Collector::new(plan.stage, start_ns, self.threads.len());
        let with_others = plan.end == End::WithOthers;
        let collected = self.collect_stage(&mut collector, with_others, stop, observe);
        // Even if a thread broke: what the others measured is kept.
        collector.flush(true).into_iter().for_each(|interval| observe(Observation::Interval(interval)));
        collected.map(|()| collector.outcome())
    }

    fn collect_stage(
        &self,
        collector: &mut Collector,
        with_others: bool,
        stop: &AtomicBool,
        observe: &mut dyn FnMut(Observation),
    ) -> Result<(), EngineError> {
        let (mut stopping, mut ending) = (false, !with_others);
        while !collector.is_finished() {
            if !ending && self.over.load(Ordering::Relaxed) {
                ending = true;
                self.command(&ThreadCommand::End);
            }
            if !stopping && stop.load(Ordering::Relaxed) {
                stopping = true;
                self.command(&ThreadCommand::Stop);
            }
            match self.reports.recv_timeout(STOP_LOOK) {
                Ok(report) => self.collect(report, collector, observe)?,
                Err(RecvTimeoutError::Timeout) => self.check_threads()?,
                Err(RecvTimeoutError::Disconnected) => return Err(EngineError::ThreadLost),
            }
        }
        Ok(())
    }

    fn collect(
        &self,
        report: ThreadReport,
        collector: &mut Collector,
        observe: &mut dyn FnMut(Observation),
    ) -> Result<(), EngineError> {
        match report.what {
            ReportKind::Record(record) => {
                collector.add(report.thread, &record);
                if let Some(handle) = self.threads.get(report.thread as usize) {
                    // A thread that has ended needs no records.
                    let _ = handle.give_back.send(record);
                }
            }
            ReportKind::StageFinished(finished) => collector.finish(report.thread, finished),
            ReportKind::Error(error) | ReportKind::ConnectFailed(error) => observe(Observation::Error(error)),
            ReportKind::Broken(errno) => return Err(EngineError::Poll(errno)),
            ReportKind::Connected | ReportKind::ClientConnected => {}
        }
        collector.flush(false).into_iter().for_each(|interval| observe(Observation::Interval(interval)));
        Ok(())
    }

    /// The next report; `None` when it is time to stop.
    fn next_report(&self, stop: &AtomicBool) -> Result<Option<ThreadReport>, EngineError> {
        loop {
            match self.reports.recv_timeout(STOP_LOOK) {
                Ok(report) => return Ok(Some(report)),
                Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => self.check_threads()?,
                Err(RecvTimeoutError::Disconnected) => return Err(EngineError::ThreadLost),
            }
        }
    }

    /// A thread that panicked would be waited for in vain.
    fn check_threads(&self) -> Result<(), EngineError> {
        let ended = |handle: &Handle| handle.joined.as_ref().is_none_or(JoinHandle::is_finished);
        if self.threads.iter().any(ended) { Err(EngineError::ThreadLost) } else { Ok(()) }
    }

    fn command(&self, command: &ThreadCommand) {
        for handle in &self.threads {
            // A thread that is gone shows itself when its report is waited for.
            let _ = handle.commands.send(command.clone());
            let _ = rustix::io::write(&handle.wake, &1u64.to_ne_bytes());
        }
    }
}

impl Drop for Engine {
    /// Ends the threads, which closes the connections.
    fn drop(&mut self) {
        for Handle { commands, wake, joined, .. } in &mut self.threads {
            // Replacing the sender hangs up.
            drop(std::mem::replace(commands, channel().0));
            let _ = rustix::io::write(wake, &1u64.to_ne_bytes());
            if let Some(joined) = joined.take() {
                let _ = joined.join();
            }
        }
    }
}

/// Raises the limit on open files as far as `clients` need and the system allows.
fn allow_open_files(clients: u32) -> Result<(), EngineError> {
    let needed = u64::from(clients) + OTHER_FILES;
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
