//! The load: threads, event loops, connections, pacing, stages and recording.
//!
//! A few threads drive many connections. Nothing on the path of a transaction takes a lock or allocates (but for a
//! histogram that grows, see `recorder`), and nothing here reads SQL: what to send is the [`workload`]'s business.

mod batch;
mod calls;
mod cancel;
pub mod clock;
mod collector;
pub mod column_kind;
pub mod config;
mod connection;
mod connector;
mod dialogue;
pub mod driver;
mod eager;
pub mod engine;
pub mod error;
mod io;
mod load;
mod message;
mod poller;
mod pool;
mod prepared_statements;
mod priority;
mod record;
mod recorder;
pub mod request;
pub mod schedule;
mod session;
mod stage;
mod statement;
mod thread;
mod transacting;
mod value;
mod watched;
mod wire_connection;
pub mod workload;
