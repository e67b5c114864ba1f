//! The engine against a real PostgreSQL: what it counts is what the server did.

mod bank;
mod closed;
mod failing;
mod open;
mod stages;
