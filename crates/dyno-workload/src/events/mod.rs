//! `events`: the back end of an analytics service in two tables, the same to the byte on both protocols: *ingest* inserts
//! an event of a random customer, *join* fetches a random event with its customer's name and address.
//!
//! The tables carry a mark by which dyno knows its own, for users' databases have tables of these names. Opens no socket.

mod benchmark;
mod census;
mod family;
mod load;
mod prepare;
mod recipe;
mod rows;
mod size;
mod state;
mod test;
mod verdict;
mod verify;

use dyno_target::catalog::Names;

pub use crate::dataset::PrepareError;
use crate::dataset::Terms;
pub use benchmark::EventsBenchmark;
pub use family::{EventsFamily, EventsOptions};
pub use load::{Events, Ids};
pub use size::Size;
pub use state::{Found, Wanted, state};
pub use test::Test;
pub use verify::LastCensus;

/// The workloads' family in events and on the command line.
pub const NAME: &str = "events";

/// Of the messages.
pub(crate) static TERMS: Terms = Terms {
    family: NAME,
    grants: "SELECT and INSERT on customer and event",
    instead: "name another database, made for this",
    locked: Some("customer or event"),
    exists: None,
    room: "make room or take fewer rows (a million is about 80 MB)",
    rights: "connect as a user who may make, fill, alter and drop tables in this database, and refer to them",
};

/// One of the two tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Customer,
    Event,
}

impl Table {
    /// In the order in which they are made.
    pub const ALL: [Self; 2] = [Self::Customer, Self::Event];

    pub fn name(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Event => "event",
        }
    }
}

/// Both, as the catalog is asked about them.
pub(crate) const NAMES: Names<'static> = Names::These(&["customer", "event"]);

/// What a customer may do: the values of `event.action`.
pub const ACTIONS: [&str; 10] = [
    "login",
    "logout",
    "search",
    "view product",
    "add to cart",
    "remove from cart",
    "check out",
    "pay",
    "write review",
    "subscribe",
];
