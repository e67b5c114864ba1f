//! What a library of ADBC says that went wrong. It has a status for it, which says little; DuckDB begins its message with the
//! kind of the error, and what it says while rows are read comes without a status.

use adbc_core::error::{Error, Status};
use arrow_schema::ArrowError;
use dyno_wire::server_error::{DriverError, DriverErrorKind};

use crate::cause::Cause;

const CATALOG: &str = "Catalog Error";
const BINDER: &str = "Binder Error";
const INPUT: &str = "Invalid Input Error";
const IO: &str = "IO Error";
const TRANSACTION: &str = "TransactionContext Error";
const INTERRUPT: &str = "INTERRUPT Error";
const FATAL: &str = "FATAL Error";
const MEMORY: &str = "Out of Memory Error";

/// How DuckDB's messages begin, before a colon.
const KINDS: [&str; 21] = [
    CATALOG,
    BINDER,
    INPUT,
    IO,
    TRANSACTION,
    INTERRUPT,
    FATAL,
    "Parser Error",
    "Syntax Error",
    "Constraint Error",
    "Conversion Error",
    "Out of Range Error",
    "Divide by Zero Error",
    "Mismatch Type Error",
    "Dependency Error",
    MEMORY,
    "Permission Error",
    "Not implemented Error",
    "Invalid Configuration Error",
    "Sequence Error",
    "INTERNAL Error",
];

pub(super) fn of_library(error: &Error) -> DriverError {
    of_message(&error.message, Some(error.status))
}

/// Of what came while rows were read.
pub(super) fn of_stream(error: &ArrowError) -> DriverError {
    match error {
        ArrowError::CDataInterface(message) => of_message(message, None),
        other => of_message(&other.to_string(), None),
    }
}

fn of_message(message: &str, status: Option<Status>) -> DriverError {
    let known =
        KINDS.into_iter().find_map(|kind| Some((kind, message.strip_prefix(kind)?.strip_prefix(": ")?)));
    let (code, text) = known.unwrap_or((name(status), message));
    // Where in the statement it is: the statement is shown with the error, but not line by line.
    let text = text.split_once("\n\nLINE ").map_or(text, |(text, _)| text);
    let text = text.trim().lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let kind = match (code, status) {
        (INTERRUPT, _) | (_, Some(Status::Cancelled)) => DriverErrorKind::Cancelled,
        // Somebody else has changed the same rows, or the table.
        (TRANSACTION, _) if text.contains("onflict") => DriverErrorKind::Conflict,
        // The database must be opened anew.
        (FATAL, _) => DriverErrorKind::SessionLost,
        _ => DriverErrorKind::Other,
    };
    let cause = cause(code, &text);
    DriverError { code, message: text, kind, cause }
}

/// The status as it is called.
fn name(status: Option<Status>) -> &'static str {
    match status {
        Some(Status::NotImplemented) => "NotImplemented",
        Some(Status::NotFound) => "NotFound",
        Some(Status::AlreadyExists) => "AlreadyExists",
        Some(Status::InvalidArguments) => "InvalidArguments",
        Some(Status::InvalidState) => "InvalidState",
        Some(Status::InvalidData) => "InvalidData",
        Some(Status::Integrity) => "Integrity",
        Some(Status::Internal) => "Internal",
        Some(Status::IO) => "IO",
        Some(Status::Cancelled) => "Cancelled",
        Some(Status::Timeout) => "Timeout",
        Some(Status::Unauthenticated) => "Unauthenticated",
        Some(Status::Unauthorized) => "Unauthorized",
        Some(Status::Ok | Status::Unknown) | None => "Unknown",
    }
}

/// What is behind an error of DuckDB's.
fn cause(code: &str, message: &str) -> Option<Cause> {
    Some(match code {
        MEMORY => Cause::OutOfMemory,
        CATALOG if message.contains("already exists") => Cause::TableExists,
        CATALOG if message.starts_with("Table with name") => Cause::NoSuchTable,
        BINDER if message.contains("column") => Cause::OtherColumns,
        INPUT if message.contains("read-only mode") => Cause::ReadOnly,
        IO if message.contains("No space left") => Cause::DiskFull,
        IO if message.contains("Could not set lock") => Cause::Locked,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_of_which_kind_it_is() {
        let error = of_message(
            "Catalog Error: Table with name t does not exist!\nDid you mean \"u\"?\n\nLINE 1: select * from t\n     ^",
            Some(Status::Internal),
        );
        assert_eq!(
            error.to_string(),
            "Table with name t does not exist! Did you mean \"u\"? (Catalog Error)"
        );
        assert_eq!(error.cause, Some(Cause::NoSuchTable));
        let kind = |message| of_message(message, None).kind;
        assert_eq!(kind("INTERRUPT Error: Interrupted!"), DriverErrorKind::Cancelled);
        assert_eq!(kind("TransactionContext Error: Conflict on update!"), DriverErrorKind::Conflict);
        assert_eq!(kind("TransactionContext Error: no transaction is active"), DriverErrorKind::Other);
        assert_eq!(kind("FATAL Error: the database was invalidated"), DriverErrorKind::SessionLost);
        let other = of_message("something: else", Some(Status::NotFound));
        assert_eq!(other.to_string(), "something: else (NotFound)");
    }
}
