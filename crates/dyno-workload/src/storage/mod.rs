//! `storage`: the accounts of TPC-B kept in several ways, each a system of its own: how long each takes to make, how large it
//! is, and what reading and writing it costs. Opens no socket.

mod benchmark;
mod family;
mod load;
mod settings;
mod variant;

pub use family::StorageFamily;
pub use variant::VariantError;
pub(crate) use variant::split;

use crate::dataset::Terms;

/// The workloads' family in events and on the command line.
pub const NAME: &str = "storage";

/// Of the messages.
pub(crate) static TERMS: Terms = Terms {
    family: NAME,
    grants: "SELECT, INSERT and UPDATE on its tables (storage_VARIANT_accounts and others)",
    instead: "name another database, or give the variant another name",
    locked: Some("the tables of storage"),
    exists: None,
    room: "make room or take a smaller --scale (a unit is about 16 MB of each variant)",
    rights: "connect as a user who may make, fill, alter and drop tables in this database",
};
