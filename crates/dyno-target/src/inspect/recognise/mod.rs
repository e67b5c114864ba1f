//! Which product a server is, by what it says of itself.

mod mysql;
mod postgres;
mod version;

use super::{Answer, kind};
use crate::connection::Connection;
use crate::product::Recognised;

/// Recognises the product by what the server says of itself.
///
/// # Errors
/// The session was lost. A question that this server does not understand leaves its answer unknown.
pub fn recognise(connection: &mut Connection) -> Answer<Recognised> {
    match kind::of(connection) {
        Some(kind) => (kind.recognise)(connection),
        None if connection.is_mysql() => mysql::recognise(connection),
        None => postgres::recognise(connection),
    }
}
