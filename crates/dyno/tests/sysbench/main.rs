//! dyno against sysbench: the same command lines through the real program and through dyno, against the same servers.
//! Exit status, what is printed, the statements that reach the server and what they leave in it are compared.

// The lint's exception for tests does not know the functions that tests share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod endings;
mod mask;
mod places;
mod prepared;
mod program;
mod refusals;
mod reports;
mod scripts;
mod server;
mod statements;
