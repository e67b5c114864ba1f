//! How a run is shown: in a terminal while it happens and afterwards, as JSON, and as a page.
//!
//! Everything here reads the run's events or its folded report and draws them. Nothing here measures, decides
//! or stores: a figure that is not in the report is not invented, and what is unknown is shown as unknown.

pub mod compare;
pub mod csv;
pub mod error;
pub mod json;
pub mod live;
pub mod openmetrics;
pub mod page;
pub mod plans;
pub mod runs;
#[cfg(feature = "serve")]
pub mod serve;
pub mod summary;
pub mod terminal;

mod ladder;
mod subject;
mod text;

pub use text::{labelled, visible_lines, width as text_width};

#[cfg(test)]
#[path = "tests/headline.rs"]
mod headline_tests;
#[cfg(test)]
#[path = "../tests/stream/mod.rs"]
mod stream;
