//! dyno against sysbench: the same command lines, against the same servers, through dyno and, where recordings are made or
//! compared, through the real program. Exit status, what is printed, the statements that reach the server and what they
//! leave in it are compared.

// The lint's exception for tests does not know the functions that tests share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod endings;
mod mask;
mod places;
mod prepared;
mod program;
mod reference;
mod refusals;
mod relay;
mod reports;
mod scripts;
mod server;
mod statements;
mod tables;
