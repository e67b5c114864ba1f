//! The MySQL client/server protocol, version 10, as MySQL, MariaDB and their relatives speak it: what is sent
//! ([`frontend`]), what is received ([`backend`]), how a session begins ([`handshake`]) and how a reply is followed
//! to its end ([`reply`]). Of the same shape as [`crate::pg`].
//!
//! Not spoken: what is older than MySQL 4.1, compression, cursors, replication.

pub mod backend;
pub mod capabilities;
pub mod error;
pub mod execution;
pub mod frontend;
pub mod handshake;
pub mod packet;
pub mod reply;
pub mod value;
