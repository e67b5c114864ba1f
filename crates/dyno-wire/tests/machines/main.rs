//! The state machines on their own: bytes in, bytes out, no server and no network.

mod decoder;
mod encoder;
mod login;
mod property;
mod reply;
mod script;
