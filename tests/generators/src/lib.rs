//! What a campaign and generators in other processes tell each other: lines of JSON, and nothing else. Each line is about a stream, by
//! its place in the phase, or about all of them.

// Who cannot go on has failed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod campaign;
mod lua;
pub mod process;

use dbdyno::generator::{Connected, GeneratorError, Observation, Prepare};
use dyno_results::spec::{Segment, StageOrder};
use serde::{Deserialize, Serialize};

/// About which stream; `None` for all.
pub type About = Option<u32>;

/// What a generator is told.
#[derive(Debug, Serialize, Deserialize)]
pub enum Command {
    Prepare(Prepare),
    /// A script of sysbench's, which no run specification has, on a PostgreSQL.
    PrepareLua {
        text: String,
        url: String,
        clients: u32,
        segment: Segment,
    },
    Connect {
        clients: u32,
    },
    Start(StageOrder),
    /// The stage has lasted as long as it was to.
    Over,
    /// It ends where it stands, or no more clients are to be connected.
    Cancel,
    Disconnect,
    Stop,
}

/// What it tells.
#[derive(Debug, Serialize, Deserialize)]
pub enum Told {
    /// What it was told to do last and is no stage.
    Done,
    Refused(GeneratorError),
    Connected(Connected),
    Observed(Observation),
    /// Of a load, by the place of its stream.
    Behind(u32, Observation),
}
