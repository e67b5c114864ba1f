//! Watches host and database while a load runs: one sample of each about once a second, on an absolute schedule,
//! until dropped. It never dies of a failed reading: it says so once, connects again and goes on.
//!
//! Host and database are read by a thread each, since a server under full load may answer late and the host's
//! samples must not wait for it.

mod database;
mod host;
mod outage;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use dyno_engine::driver::Route;
use dyno_results::event::{Event, Notice, Sample};

use self::database::DatabaseWatch;
use crate::connection::Closer;
pub use crate::host::{NodeExporter, NodeExporterError};

const INTERVAL: Duration = Duration::from_secs(1);

/// What is to be watched.
#[derive(Debug, Clone)]
pub struct ProbeOptions {
    /// Name of the target in the run.
    pub target: String,
    /// The database to read; `None` for none.
    pub database: Option<Route>,
    /// Where the host's readings come from.
    pub host: HostReading,
    /// Time between two samples.
    pub interval: Duration,
    /// The workload's tables, as SQL writes them, whose sizes are read now and then.
    pub tables: Vec<String>,
}

/// Where the readings of the server's host come from.
#[derive(Debug, Clone, Default)]
pub enum HostReading {
    /// Nowhere: what its host does is unknown.
    #[default]
    None,
    /// From this machine, which is also dyno's own.
    This(HostOptions),
    /// From the server's machine. dyno's own is then not read: a probe of the target `driver` with
    /// [`HostReading::This`] does that.
    NodeExporter(NodeExporter),
}

impl HostReading {
    /// How a report names it.
    pub fn source(&self) -> Option<String> {
        match self {
            Self::None => None,
            Self::This(_) => Some("this host".to_owned()),
            Self::NodeExporter(exporter) => Some(exporter.url().to_owned()),
        }
    }
}

/// How this machine is watched.
#[derive(Debug, Clone, Default)]
pub struct HostOptions {
    /// The server's main process, where it runs here.
    pub server_pid: Option<u32>,
    /// A path on the disk that matters: the data directory.
    pub disk: Option<PathBuf>,
}

impl ProbeOptions {
    /// Nothing yet, once a second.
    pub fn new(target: &str) -> Self {
        Self {
            target: target.to_owned(),
            database: None,
            host: HostReading::None,
            interval: INTERVAL,
            tables: Vec::new(),
        }
    }
}

/// A running probe; dropping it ends it, and nothing is handed out afterwards.
pub struct Probe {
    control: Arc<Control>,
    outlet: Outlet,
    threads: Vec<JoinHandle<()>>,
}

/// How the threads are told to stop.
#[derive(Debug, Default)]
struct Control {
    stopped: AtomicBool,
    /// Wakes the reading thread from waiting for an answer.
    closer: Mutex<Option<Closer>>,
}

/// Empty once the probe has ended.
type Outlet = Arc<Mutex<Option<Box<dyn FnMut(Event) + Send>>>>;

impl Probe {
    /// Starts to watch. `outlet` is called from the probe's threads, never from two at once, with samples and,
    /// with notices where something cannot be read, and when it can be again.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(options: ProbeOptions, outlet: impl FnMut(Event) + Send + 'static) -> io::Result<Self> {
        let outlet: Outlet = Arc::new(Mutex::new(Some(Box::new(outlet))));
        let mut probe = Self { control: Arc::default(), outlet: Arc::clone(&outlet), threads: Vec::new() };
        let clock =
            Schedule { started: Instant::now(), interval: options.interval.max(Duration::from_millis(1)) };
        let speaker = probe.speaker("host", &options.target, &outlet);
        match options.host {
            HostReading::None => {}
            HostReading::This(host) => {
                let thread = spawn("probe-host", move || host::watch_this(&host, clock, &speaker))?;
                probe.threads.push(thread);
            }
            HostReading::NodeExporter(exporter) => {
                // It may wait for an answer, for which the probe's end does not wait: nothing is said after it.
                spawn("probe-host", move || host::watch_exporter(exporter, clock, &speaker))?;
            }
        }
        if let Some(endpoint) = options.database {
            let speaker = probe.speaker("database", &options.target, &outlet);
            let tables = options.tables;
            let watch = move || DatabaseWatch::new(&endpoint, tables, speaker).run(clock);
            probe.threads.push(spawn("probe-database", watch)?);
        }
        Ok(probe)
    }

    fn speaker(&self, source: &'static str, target: &str, outlet: &Outlet) -> Speaker {
        let control = Arc::clone(&self.control);
        Speaker { source, target: target.to_owned(), outlet: Arc::clone(outlet), control }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Probe").field("control", &self.control).finish_non_exhaustive()
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
        *lock(&self.outlet) = None;
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
        if let Some(outlet) = &mut *lock(&self.outlet)
            && !self.stopped()
        {
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
