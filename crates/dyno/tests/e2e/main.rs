//! The program as its users call it: started with their flags, signalled and killed, and read from outside: exit
//! status, output, JSON, files. Nothing in here links dyno, and the servers are real.

// The lint's exception for tests does not know the functions that tests share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod changes;
mod compare;
mod durability;
mod embedded;
mod folder_targets;
mod folders;
mod home;
mod hooks;
mod moved_files;
mod mysql;
mod named;
mod plans;
mod processes;
mod query_sets;
mod ramps;
mod refusals;
mod report;
mod rows;
mod saturation;
mod scripts;
mod secrets;
mod serve;
mod server;
mod silent;
mod sqlite;
mod stopped;
mod storage;
mod store;
mod stored;
mod streams;
mod sysbench;
mod targets;
mod together;
mod tpch;
mod unreliable;
mod victim;
mod ycsb;
