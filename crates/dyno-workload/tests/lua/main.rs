//! Users' Lua scripts: by themselves, against real servers, and beside what the real sysbench made of them.
#![allow(clippy::unwrap_used, clippy::panic)]

mod language;
mod many;
mod properties;
mod queries;
mod reference;
mod restarts;
mod run;
mod server;
