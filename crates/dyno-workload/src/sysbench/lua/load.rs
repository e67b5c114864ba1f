//! A script as a load: a Lua state for each load thread, a client for each of the script's threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use dyno_engine::error::SessionError;
use dyno_engine::request::Statement;
use dyno_engine::workload::{Client, ClientIdentity, Workload};

use super::blocking::{Opener, converse};
use super::client::LuaClient;
use super::error::LuaError;
use super::script::LuaScript;
use super::state::{LuaState, Seat, Task};
use crate::random::Random;
use crate::sysbench::counters::Counters;
use crate::sysbench::failure::IgnoredErrors;

/// The load of a script's `run`; cheap to clone.
///
/// The first transaction of each client is its `thread_init`, and is counted nowhere: let a stage of one transaction for
/// each client run before the clock. All others are events.
#[derive(Debug, Clone)]
pub struct LuaLoad {
    shared: Arc<LuaShared>,
    types: [String; 1],
}

/// A client and the state that it runs in.
pub(super) type Placed = (Arc<LuaState>, Seat);

/// What all clients share.
#[derive(Debug)]
pub(super) struct LuaShared {
    script: Arc<LuaScript>,
    pub(super) mysql: bool,
    pub(super) run: LuaRun,
    /// One for each load thread, which makes it.
    threads: Box<[OnceLock<Arc<LuaState>>]>,
    /// By the script's thread number.
    seats: Box<[OnceLock<Placed>]>,
    failure: OnceLock<LuaError>,
}

/// Hears why a connection that a thread asked for was not opened, before the script does.
pub type OnConnectError = dyn Fn(&SessionError) + Send + Sync;

/// What a run gives to the clients of its script.
pub struct LuaRun {
    /// Load threads.
    pub threads: u32,
    pub clients: u32,
    pub counters: Arc<Counters>,
    /// Errors that restart an event; a lost connection that is among them does so too.
    pub ignored: IgnoredErrors,
    /// Set once the script has failed, so that the run ends.
    pub stop: Arc<AtomicBool>,
    pub on_connect_error: Box<OnConnectError>,
}

impl std::fmt::Debug for LuaRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LuaRun").field("clients", &self.clients).finish_non_exhaustive()
    }
}

impl LuaShared {
    /// Notes the first error of all clients, and asks the run to end.
    pub(super) fn fail(&self, error: LuaError) {
        // The others follow from the first, or would have come anyway.
        let _ = self.failure.set(error);
        self.run.stop.store(true, Ordering::Relaxed);
    }

    fn state(&self, thread: u32) -> Result<Arc<LuaState>, LuaError> {
        let Some(cell) = self.threads.get(thread as usize) else {
            return self.script.new_state().map(Arc::new);
        };
        if let Some(state) = cell.get() {
            return Ok(Arc::clone(state));
        }
        let state = Arc::new(self.script.new_state()?);
        Ok(Arc::clone(cell.get_or_init(|| state)))
    }

    fn seat(&self, identity: ClientIdentity, seed: u64) -> Result<Placed, LuaError> {
        let state = self.state(identity.thread)?;
        let seat = state.spawn(identity.id, Random::of_client(seed, identity.id), false)?;
        if let Some(cell) = self.seats.get(identity.id as usize) {
            let _ = cell.set((Arc::clone(&state), seat));
        }
        Ok((state, seat))
    }
}

impl LuaLoad {
    pub fn new(script: Arc<LuaScript>, run: LuaRun) -> Self {
        Self {
            types: [script.name()],
            shared: Arc::new(LuaShared {
                mysql: script.is_mysql(),
                script,
                threads: (0..run.threads).map(|_| OnceLock::new()).collect(),
                seats: (0..run.clients).map(|_| OnceLock::new()).collect(),
                run,
                failure: OnceLock::new(),
            }),
        }
    }

    /// The first error of a client that ended the run.
    pub fn failure(&self) -> Option<&LuaError> {
        self.shared.failure.get()
    }

    /// Runs `thread_done` of every client, once the engine is done with them. Their connections are closed by then: one
    /// that asks the server for something gets a connection of `open`'s, and is counted with the script's own queries.
    ///
    /// # Errors
    /// The first error of a client; the others run all the same.
    pub fn finish(&self, open: &Opener<'_>) -> Result<(), LuaError> {
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

    fn timed_from_begin(&self) -> bool {
        true
    }

    fn client(&self, identity: ClientIdentity, seed: u64) -> Box<dyn Client> {
        let shared = &self.shared;
        let counters = shared.run.counters.client(identity);
        let seat = shared.seat(identity, seed).map_err(|error| shared.fail(error)).ok();
        Box::new(LuaClient::new(Arc::clone(shared), seat, counters))
    }
}
