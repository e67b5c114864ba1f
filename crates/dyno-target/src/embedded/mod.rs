//! PostgreSQL servers that dyno starts itself, when the user names no target.
//!
//! Found among the installed ones or fetched into a cache, set up by a profile, run as an unprivileged user in a
//! private directory, stopped and removed however dyno ends. Must never touch a server, a process or a directory
//! that dyno did not make.

mod cache;
mod configuration;
mod directory;
mod error;
#[cfg(feature = "fetch")]
mod fetch;
mod find;
mod leftovers;
mod postmaster;
mod profile;
mod ready;
mod server;
mod spec;
mod user;

pub use error::EmbeddedError;
pub use profile::{ConfiguredSetting, Machine, Profile, ProfileError, settings};
pub use server::{EmbeddedOptions, EmbeddedServer, available, installed, sweep_leftovers};
pub use spec::{OLDEST_MAJOR, ServerSpec, SpecError, Version, VersionSpec};
