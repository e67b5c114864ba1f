//! What generates the load of a phase on a system. The campaign connects clients by it and gives it stage orders, and knows of the load
//! what it tells. A generator may be in another process: all that goes in and comes out can be written as JSON.

mod local;

use std::fmt::Debug;
use std::sync::atomic::AtomicBool;

pub use dyno_engine::engine::Signals;
use dyno_results::observation;
use dyno_results::spec::{PollerChoice, RunSpec, Segment, StageOrder};
use serde::{Deserialize, Serialize};

pub use self::local::LocalGenerator;
pub(crate) use self::local::{Site, check, loads, sending};
pub use crate::failure::GeneratorError;

/// The load of a phase on a system, under way. Streams are called by their places in the phase; each is connected and started by one
/// thread at a time, several at the same time.
pub trait Generator: Debug + Send + Sync {
    /// Sees to it that clients of a stream are connected for stages that have so many, until `stop` is set.
    ///
    /// # Errors
    /// Not all could be connected. The stream has none then.
    fn connect(&self, stream: u32, clients: u32, stop: &AtomicBool) -> Result<Connected, GeneratorError>;

    /// Has a stream, whose clients are connected, do an order. Its end is observed last.
    fn start(
        &self,
        stream: u32,
        order: &StageOrder,
        signals: Signals<'_>,
        observe: &mut dyn FnMut(Observation),
    );

    /// Ends all clients.
    fn disconnect(&self);

    /// The same for good, and tells of each load what its clients were told, by the place of the first stream that runs it.
    fn stop(&self, observe: &mut dyn FnMut(u32, Observation));
}

/// Prepares the load that a message says; it may be the one in this process, which is ready.
pub type PrepareGenerator =
    dyn Fn(Prepare, LocalGenerator) -> Result<Box<dyn Generator>, GeneratorError> + Sync;

/// What a generator is prepared for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prepare {
    /// With the texts of scripts and queries, and all decided that is decided without the target.
    pub spec: RunSpec,
    /// The part of all orders that is this generator's.
    pub segment: Segment,
    /// The name of the system, and the place of the phase.
    pub system: String,
    pub phase: u32,
}

/// Something that a generator tells of a stage.
pub type Observation = observation::Observation<LoadError>;

/// What went wrong under load, as far as others have to know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadError {
    pub said: String,
    /// What helps against it.
    pub advice: Option<String>,
    pub effect: Effect,
}

/// What an error comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    /// A statement was refused.
    Statement,
    /// The server ended a session, and not because of what came over it.
    SessionEnded,
    /// A connection broke.
    ConnectionLost,
    Other,
}

/// The clients of a stream that are connected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connected {
    /// Of how many generators they are.
    pub generators: u32,
    pub threads: u32,
    /// How the threads wait for their connections; `None` where a driver has these.
    pub poller: Option<PollerChoice>,
    /// Why they use epoll although io_uring was asked for.
    pub no_uring: Option<String>,
}
