//! A script as a load: a Lua state for each load thread, a client for each of the script's threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use dyno_engine::error::SessionError;
use dyno_engine::request::Statement;
use dyno_engine::workload::{Client, Place, StatementId, Workload};

use super::blocking::{Opener, converse};
use super::client::LuaClient;
use super::error::ScriptError;
use super::script::Script;
use super::state::{Seat, State, Task};
use crate::random::Random;
use crate::sysbench::counters::Counters;
use crate::sysbench::failure::IgnoredErrors;

/// The load of a script's `run`; cheap to clone.
///
/// The first transaction of each client is its `thread_init`, and is counted nowhere: let a stage of one transaction for
/// each client run before the clock. All others are events.
#[derive(Debug, Clone)]
pub struct LuaLoad {
    shared: Arc<Shared>,
    types: [String; 1],
}

/// A client and the state that it runs in.
pub(super) type Placed = (Arc<State>, Seat);

/// What all clients share.
pub(super) struct Shared {
    script: Arc<Script>,
    pub(super) mysql: bool,
    pub(super) ignored: IgnoredErrors,
    counters: Option<Arc<Counters>>,
    /// One for each load thread, which makes it.
    threads: Box<[OnceLock<Arc<State>>]>,
    /// By the script's thread number.
    seats: Box<[OnceLock<Placed>]>,
    failure: OnceLock<ScriptError>,
    stop: Option<Arc<AtomicBool>>,
    refusal: Option<Arc<Refusal>>,
}

/// Hears why a connection that a thread asked for was not opened.
pub type Refusal = dyn Fn(&SessionError) + Send + Sync;

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("failure", &self.failure).finish_non_exhaustive()
    }
}

impl Shared {
    /// Notes the first error of all clients, and asks the run to end.
    pub(super) fn fail(&self, error: ScriptError) {
        // The others follow from the first, or would have come anyway.
        let _ = self.failure.set(error);
        if let Some(stop) = &self.stop {
            stop.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn tell_refusal(&self, error: &SessionError) {
        if let Some(refusal) = &self.refusal {
            refusal(error);
        }
    }

    fn state(&self, thread: u32) -> Result<Arc<State>, ScriptError> {
        let Some(cell) = self.threads.get(thread as usize) else {
            return self.script.new_state().map(Arc::new);
        };
        if let Some(state) = cell.get() {
            return Ok(Arc::clone(state));
        }
        let state = Arc::new(self.script.new_state()?);
        Ok(Arc::clone(cell.get_or_init(|| state)))
    }

    fn seat(&self, place: Place, seed: u64) -> Result<Placed, ScriptError> {
        let state = self.state(place.thread)?;
        let seat = state.spawn(place.id, Random::of_client(seed, place.id), false)?;
        if let Some(cell) = self.seats.get(place.id as usize) {
            let _ = cell.set((Arc::clone(&state), seat));
        }
        Ok((state, seat))
    }
}

impl LuaLoad {
    /// For a run of `clients` clients on `threads` load threads. Errors that restart an event are those that sysbench
    /// ignores.
    #[must_use]
    pub fn new(script: Arc<Script>, threads: u32, clients: u32) -> Self {
        let mysql = script.is_mysql();
        let name = script.name();
        Self {
            types: [name],
            shared: Arc::new(Shared {
                script,
                mysql,
                ignored: IgnoredErrors::usual(mysql),
                counters: None,
                threads: (0..threads).map(|_| OnceLock::new()).collect(),
                seats: (0..clients).map(|_| OnceLock::new()).collect(),
                failure: OnceLock::new(),
                stop: None,
                refusal: None,
            }),
        }
    }

    /// Counts as sysbench does.
    #[must_use]
    pub fn with_counters(self, counters: Arc<Counters>) -> Self {
        self.with(|shared| shared.counters = Some(counters))
    }

    /// Errors that restart an event; a lost connection that is among them does so too.
    #[must_use]
    pub fn with_ignored_errors(self, ignored: IgnoredErrors) -> Self {
        self.with(|shared| shared.ignored = ignored)
    }

    /// Set once the script has failed, so that the run ends.
    #[must_use]
    pub fn with_stop(self, stop: Arc<AtomicBool>) -> Self {
        self.with(|shared| shared.stop = Some(stop))
    }

    /// Hears of connections that were not opened, before the script does.
    #[must_use]
    pub fn with_refusal(self, refusal: Arc<Refusal>) -> Self {
        self.with(|shared| shared.refusal = Some(refusal))
    }

    /// Before the first client is made nobody else holds it.
    fn with(mut self, change: impl FnOnce(&mut Shared)) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            change(shared);
        }
        self
    }

    /// The first error of a client that ended the run.
    #[must_use]
    pub fn failure(&self) -> Option<&ScriptError> {
        self.shared.failure.get()
    }

    /// Runs `thread_done` of every client, once the engine is done with them. Their connections are closed by then: one
    /// that asks the server for something gets a connection of `open`'s, and is counted with the script's own queries.
    ///
    /// # Errors
    /// The first error of a client; the others run all the same.
    pub fn finish(&self, open: &Opener<'_>) -> Result<(), ScriptError> {
        let mut outcome = Ok(());
        for (state, seat) in self.shared.seats.iter().filter_map(OnceLock::get) {
            if state.has(*seat, "thread_done") {
                let done = converse(
                    state,
                    *seat,
                    Task::Hook("thread_done"),
                    Some(open),
                    self.shared.script.counters(),
                );
                outcome = outcome.and(done.map(drop));
            }
        }
        outcome
    }
}

impl Workload for LuaLoad {
    fn types(&self) -> &[String] {
        &self.types
    }

    fn statements(&self) -> &[Statement] {
        &[]
    }

    fn recovery(&self) -> Option<StatementId> {
        None
    }

    fn timed_from_begin(&self) -> bool {
        true
    }

    fn client(&self, place: Place, seed: u64) -> Box<dyn Client> {
        let shared = &self.shared;
        let counters = shared.counters.as_ref().map(|counters| counters.client(place));
        let seat = match shared.seat(place, seed) {
            Ok(seat) => Some(seat),
            Err(error) => {
                shared.fail(error);
                None
            }
        };
        Box::new(LuaClient::new(Arc::clone(shared), seat, counters))
    }
}
