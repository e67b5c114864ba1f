//! The PostgreSQL frontend/backend protocol, version 3: what is sent ([`frontend`]), what is received
//! ([`backend`]), how a session begins ([`handshake`]) and how a reply is followed to its end ([`reply`]).

pub mod backend;
pub mod error;
pub mod execution;
pub mod frontend;
pub mod handshake;
pub mod reply;
