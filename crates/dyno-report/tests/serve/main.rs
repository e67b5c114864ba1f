//! The server over real connections: what it answers, whom it refuses, and what becomes of readers that are slow, many or
//! gone. The runs are made-up ones, written to a real store.

// The lint's exception for tests does not know the functions that tests share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod http;
mod live;
mod many;
mod prometheus;
mod refusals;
mod silent;
mod stand;
#[path = "../stream/mod.rs"]
mod stream;
