//! A host that is not this one, as Prometheus's node_exporter shows it: where its page is, and reading it.
//!
//! What it says is brought to the keys that `/proc` is read under, so that nobody above needs to know which it was. No
//! password of its URL is ever shown.

mod error;
mod exposition;
mod keys;
mod reader;
mod url;

use std::fmt;
use std::io;

use dyno_results::event;

pub use error::NodeExporterError;
pub(crate) use reader::NodeExporterReader;

use crate::interruption::Apart;

/// A node_exporter by its URL.
#[derive(Clone, PartialEq, Eq)]
pub struct NodeExporter {
    /// What is asked for, without user, password and fragment.
    request: String,
    /// The same as it is shown, with its fragment.
    shown: String,
    /// The value of the `Authorization` header.
    authorization: Option<String>,
    /// The disks that matter, by the kernel's names; all real ones where empty.
    devices: Vec<String>,
}

impl fmt::Debug for NodeExporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NodeExporter").field(&self.shown).finish()
    }
}

impl NodeExporter {
    /// Understands `http(s)://[user:password@]host:9100/metrics`.
    ///
    /// # Errors
    /// Says what is wrong with it, and never repeats a password.
    pub fn parse(url: &str) -> Result<Self, NodeExporterError> {
        url::parse(url)
    }

    /// The URL without user and password.
    pub fn url(&self) -> &str {
        &self.shown
    }

    /// Reads it once, so that what is wrong is said before a run begins. What it says of its machine; the roles are left
    /// for the caller.
    ///
    /// # Errors
    /// It cannot be reached, is no node_exporter, or has not the disks that the URL names; and where the user wants to stop.
    pub fn check(&self) -> Result<event::Host, NodeExporterError> {
        let exporter = self.clone();
        let reason = |error: io::Error| error.to_string();
        let check = Apart::begin("node_exporter", move || NodeExporterReader::new(exporter)?.host())
            .map_err(|error| NodeExporterError::NoThread { reason: reason(error) })?;
        check.end().map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => NodeExporterError::Interrupted,
            _ => NodeExporterError::Unreachable { url: self.shown.clone(), reason: reason(error) },
        })?
    }
}
