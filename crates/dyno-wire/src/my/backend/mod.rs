//! Packets from the server, read where they lie in the receive buffer. Nothing here copies or allocates but for
//! an error.

mod body;
mod column;
mod greeting;
mod outcome;
mod prepared;
mod row;

pub(super) use body::Body;
pub use column::{Column, ColumnType, ValueType};
pub use greeting::Greeting;
pub use outcome::{OkPacket, parse_error};
pub use prepared::Prepared;
pub use row::ResultRow;

pub use crate::pg::backend::Text;
