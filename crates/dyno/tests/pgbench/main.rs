//! dyno against pgbench: the same command lines through dyno, and as recorded of the real program. Exit status, what is
//! printed, files and the contents of the database are compared; see `case` and `real`.

// The lint's exception for tests does not know the functions that tests share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod builtins;
mod case;
mod connections;
mod endings;
mod extras;
mod failures;
mod input;
mod kept;
mod logs;
mod meta;
mod pipelines;
mod program;
mod real;
mod report;
mod retries;
mod seeds;
mod server;
mod shape;
mod wire;
