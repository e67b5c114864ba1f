//! Watches host and database while a load runs: one sample of each about once a second, on an absolute schedule,
//! until dropped. It never dies of a failed reading: it says so once, connects again and goes on.
//!
//! Host and database are read by a thread each, since a server under full load may answer late and the host's
//! samples must not wait for it.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use dyno_results::event::{Event, Notice, Sample};
use dyno_wire::endpoint::{Endpoint, Login};

use crate::connection::{Closer, ConnectError, Connection, QueryError};
use crate::host::Sampler;
use crate::inspect::Statistics;

/// A server that needs longer is asked anew, so that a lost answer does not end the series.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const INTERVAL: Duration = Duration::from_secs(1);
const APPLICATION_NAME: &str = "dyno probe";

/// What is to be watched.
#[derive(Debug, Clone)]
pub struct Options {
    /// Name of the target in the run.
    pub target: String,
    /// The database to read; `None` for none.
    pub database: Option<Endpoint>,
    /// This machine; `None` not to read it.
    pub host: Option<HostOptions>,
    /// Time between two samples.
    pub interval: Duration,
}

/// How this machine is watched.
#[derive(Debug, Clone, Default)]
pub struct HostOptions {
    /// The server's main process, where it runs here.
    pub server_pid: Option<u32>,
    /// A path on the disk that matters: the data directory.
    pub disk: Option<PathBuf>,
}

impl Options {
    /// Nothing yet, once a second.
    #[must_use]
    pub fn new(target: &str) -> Self {
        Self { target: target.to_owned(), database: None, host: None, interval: INTERVAL }
    }
}

/// A running probe; dropping it ends it, and nothing is handed out afterwards.
#[derive(Debug)]
pub struct Probe {
    control: Arc<Control>,
    threads: Vec<JoinHandle<()>>,
}

/// How the threads are told to stop.
#[derive(Debug, Default)]
struct Control {
    stopped: AtomicBool,
    /// Wakes the reading thread from waiting for an answer.
    closer: Mutex<Option<Closer>>,
}

type Outlet = Arc<Mutex<Box<dyn FnMut(Event) + Send>>>;

impl Probe {
    /// Starts to watch. `outlet` is called from the probe's threads, never from two at once, with samples and,
    /// once, with a notice if the database cannot be read.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(options: Options, outlet: impl FnMut(Event) + Send + 'static) -> io::Result<Self> {
        let outlet: Outlet = Arc::new(Mutex::new(Box::new(outlet)));
        let mut probe = Self { control: Arc::default(), threads: Vec::new() };
        let clock =
            Schedule { started: Instant::now(), interval: options.interval.max(Duration::from_millis(1)) };
        if let Some(host) = options.host {
            let speaker = probe.speaker("host", &options.target, &outlet);
            probe.spawn("probe-host", move || watch_host(&host, clock, &speaker))?;
        }
        if let Some(endpoint) = options.database {
            let speaker = probe.speaker("database", &options.target, &outlet);
            probe.spawn("probe-database", move || DatabaseWatch::new(&endpoint, speaker).run(clock))?;
        }
        Ok(probe)
    }

    fn speaker(&self, source: &'static str, target: &str, outlet: &Outlet) -> Speaker {
        let control = Arc::clone(&self.control);
        Speaker { source, target: target.to_owned(), outlet: Arc::clone(outlet), control }
    }

    fn spawn(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads.push(thread::Builder::new().name(name.to_owned()).spawn(work)?);
        Ok(())
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.control.stopped.store(true, Ordering::SeqCst);
        if let Some(closer) = lock(&self.control.closer).take() {
            closer.close();
        }
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // A panic in there was reported by the thread itself.
            let _ = thread.join();
        }
    }
}

/// A poisoned lock only says that a thread died; what it guards is whole.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Absolute times, so that slow readings do not add up to a drift.
#[derive(Debug, Clone, Copy)]
struct Schedule {
    started: Instant,
    interval: Duration,
}

impl Schedule {
    /// The first time on the schedule that is after `now`; times that were missed are passed over.
    fn after(self, now: Instant) -> Instant {
        let passed = now.saturating_duration_since(self.started).as_nanos() / self.interval.as_nanos();
        let ticks = u32::try_from(passed + 1).unwrap_or(u32::MAX);
        self.started + self.interval.saturating_mul(ticks)
    }
}

/// Hands events out, unless the probe has ended.
struct Speaker {
    source: &'static str,
    target: String,
    outlet: Outlet,
    control: Arc<Control>,
}

impl Speaker {
    fn stopped(&self) -> bool {
        self.control.stopped.load(Ordering::SeqCst)
    }

    fn sample(&self, values: BTreeMap<String, f64>) {
        let (source, target) = (self.source.to_owned(), self.target.clone());
        self.say(Event::Sample(Sample { source, target, values }));
    }

    fn notice(&self, text: String) {
        self.say(Event::Notice(Notice { target: Some(self.target.clone()), stage: None, text }));
    }

    fn say(&self, event: Event) {
        let mut outlet = lock(&self.outlet);
        if !self.stopped() {
            outlet(event);
        }
    }

    /// Waits for the next time on the schedule; false once the probe has ended.
    fn wait(&self, schedule: Schedule) -> bool {
        let next = schedule.after(Instant::now());
        loop {
            let left = next.saturating_duration_since(Instant::now());
            if self.stopped() {
                return false;
            }
            if left.is_zero() {
                return true;
            }
            thread::park_timeout(left);
        }
    }
}

fn watch_host(options: &HostOptions, schedule: Schedule, speaker: &Speaker) {
    let mut sampler = Sampler::new(options.server_pid, options.disk.as_deref());
    loop {
        speaker.sample(sampler.sample());
        if !speaker.wait(schedule) {
            return;
        }
    }
}

/// Why a reading failed.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error("the session's timeout could not be set: {0}")]
    Timeout(#[from] io::Error),
}

struct DatabaseWatch {
    endpoint: Endpoint,
    speaker: Speaker,
    session: Option<(Connection, Statistics)>,
    complained: bool,
}

impl DatabaseWatch {
    fn new(endpoint: &Endpoint, speaker: Speaker) -> Self {
        Self { endpoint: renamed(endpoint), speaker, session: None, complained: false }
    }

    fn run(&mut self, schedule: Schedule) {
        loop {
            match self.read() {
                Ok(values) => self.speaker.sample(values),
                Err(error) => self.fail(&error),
            }
            if !self.speaker.wait(schedule) {
                return;
            }
        }
    }

    fn read(&mut self) -> Result<BTreeMap<String, f64>, ReadError> {
        let (connection, statistics) = match &mut self.session {
            Some(session) => session,
            None => {
                let mut connection = Connection::open_within(&self.endpoint, Some(CONNECT_TIMEOUT))?;
                connection.set_answer_timeout(Some(ANSWER_TIMEOUT))?;
                *lock(&self.speaker.control.closer) = Some(connection.closer()?);
                if self.speaker.stopped() {
                    // Too late for the closer to be seen.
                    return Err(QueryError::Broken.into());
                }
                let statistics = Statistics::prepare(&mut connection)?;
                self.session.insert((connection, statistics))
            }
        };
        Ok(statistics.read(connection)?)
    }

    fn fail(&mut self, error: &ReadError) {
        self.session = None;
        if !self.complained && !self.speaker.stopped() {
            self.complained = true;
            self.speaker.notice(format!("statistics of the database are missing for a while: {error}"));
        }
    }
}

/// The same endpoint under a name that shows in `pg_stat_activity`, or in `session_connect_attrs`, what the session is
/// for.
fn renamed(endpoint: &Endpoint) -> Endpoint {
    let parameter = if endpoint.wire.is_mysql() { "program_name" } else { "application_name" };
    let mut login = Login::clone(&endpoint.login);
    login.parameters.retain(|(name, _)| name != parameter);
    login.parameters.push((parameter.to_owned(), APPLICATION_NAME.to_owned()));
    Endpoint { login: Arc::new(login), ..endpoint.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedule_is_absolute_and_passes_over_what_was_missed() {
        let started = Instant::now();
        let schedule = Schedule { started, interval: Duration::from_secs(1) };
        let at = |ms| started + Duration::from_millis(ms);
        assert_eq!(schedule.after(at(0)), at(1000));
        assert_eq!(schedule.after(at(999)), at(1000));
        assert_eq!(schedule.after(at(1000)), at(2000));
        assert_eq!(schedule.after(at(5300)), at(6000));
    }
}
