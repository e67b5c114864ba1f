//! What came out of a run: its events and model, statistics, findings and the store.
//!
//! Pure but for the store: no clock, no network. Everything shown to a reader is a fold over [`event::Event`]s.

pub mod answer;
pub mod comparison;
pub mod decimate;
mod defaults;
pub mod document;
mod estimate;
pub mod event;
mod finding;
pub mod fnv1a;
pub mod fold;
pub mod format;
mod headline;
pub mod judge;
pub mod latency;
pub mod measure;
pub mod observation;
mod others;
pub mod passes;
pub mod plan;
mod quote;
pub mod spec;
mod speed_up;
pub mod sql_text;
pub mod statistics;
pub mod store;
mod summary;
mod timeline;
mod variants;
pub mod words;

#[cfg(test)]
#[path = "tests/fixture.rs"]
mod fixture;
#[cfg(test)]
#[path = "tests/schema.rs"]
mod schema;
#[cfg(test)]
#[path = "tests/texts.rs"]
mod texts;
