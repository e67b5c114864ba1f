//! Client protocols as state machines: bytes in, bytes out.
//!
//! Nothing here opens a socket, reads a clock or starts a thread; the engine's event loop and the target's
//! blocking connection drive the same machines.

pub mod der;
pub mod endpoint;
pub mod libpq_text;
pub mod link;
pub mod my;
pub mod pg;
pub mod row;
pub mod server_error;
