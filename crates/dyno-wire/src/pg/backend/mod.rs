//! Messages from the server, read where they lie in the receive buffer. Nothing here copies or allocates.

mod body;
mod command_tag;
mod fields;
mod frame;
mod message;
mod row;

pub use command_tag::{Command, CommandTag};
pub use fields::NoticeFields;
pub use frame::{Frame, next_frame};
pub(super) use frame::{Header, length_error};
pub use message::{Authentication, CopyResponse, Message, Text, TransactionStatus};
pub use row::{Column, DataRow, RowDescription};
