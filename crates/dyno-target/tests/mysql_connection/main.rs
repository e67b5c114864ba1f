//! The blocking connection against real servers that speak MySQL's protocol.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod interruptions;
mod load;
mod logins;
mod probe;
mod refusals;
mod sessions;
mod strangers;
mod support;
mod telemetry;
