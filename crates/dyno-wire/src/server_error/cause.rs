//! What is behind a server's error, in either protocol: the one table of the errors that dyno has something to say about.
//! A driver has its own, and tells it with the error.
//! What helps is said where it is known what was being done.

use super::ServerError;

/// Behind errors of several codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The disk is full, or the table, or what a log or a temporary file may take.
    DiskFull,
    /// A statement wanted more memory than it may take, or than there is.
    OutOfMemory,
    /// The server takes no changes.
    ReadOnly,
    /// The database's file was renamed, replaced or removed while it is open; SQLite's.
    FileMoved,
    /// The user has no right to it.
    Denied,
    NoSuchTable,
    TableExists,
    /// Somebody else has kept it locked.
    Locked,
    /// No more connections, of the server or of this user.
    TooManyConnections,
    /// No more prepared statements; MySQL's.
    TooManyStatements,
    /// The statement is larger than the server takes; MySQL's.
    StatementTooLarge,
    /// Files of the client's are not taken; MySQL's.
    LocalFile,
    /// The password has to be changed first; MySQL's.
    PasswordExpired,
    /// A statement is prepared in this session by somebody else, or is not that was: sessions change hands behind a pooler.
    SessionShared,
    /// The tables are there, and not with the columns or types that the statement names.
    OtherColumns,
    /// The statement cannot be prepared on this server.
    NotPreparable,
    /// It names an access method or an engine that is not there.
    NoSuchStorage,
}

/// What to do about [`Cause::FileMoved`].
pub const FILE_MOVED: &str = "the file was renamed, replaced or removed while it was open: leave it alone during a run, see that the \
                              data are there, and run again";

impl Cause {
    /// `None` for an error of which nothing further is known.
    pub fn of(error: &ServerError) -> Option<Self> {
        match error {
            ServerError::Postgres(error) => Self::of_state(error.code.as_str()),
            ServerError::MySql(error) => Self::of_number(error.number, &error.message),
            ServerError::Driver(error) => error.cause,
        }
    }

    fn of_state(sqlstate: &str) -> Option<Self> {
        Some(match sqlstate {
            "53100" => Self::DiskFull,
            "53200" => Self::OutOfMemory,
            "25006" => Self::ReadOnly,
            "42501" => Self::Denied,
            "42P01" => Self::NoSuchTable,
            "42P07" => Self::TableExists,
            "55P03" => Self::Locked,
            "53300" => Self::TooManyConnections,
            "42P05" | "26000" => Self::SessionShared,
            "42703" | "42804" | "42883" => Self::OtherColumns,
            "0A000" => Self::NotPreparable,
            // Of all objects but tables, columns and functions.
            "42704" => Self::NoSuchStorage,
            _ => return None,
        })
    }

    /// Some numbers stand for several things, which the message tells apart.
    fn of_number(number: u16, message: &str) -> Option<Self> {
        Some(match number {
            1021 | 1114 | 3675 => Self::DiskFull,
            // The last is OceanBase's.
            1037 | 1038 | 1041 | 3170 | 4013 => Self::OutOfMemory,
            1792 | 1836 => Self::ReadOnly,
            // Whatever an option forbids.
            1290 if message.contains("read-only") || message.contains("read_only") => Self::ReadOnly,
            // On the database, the table, the column; for want of a privilege.
            1044 | 1142 | 1143 | 1227 => Self::Denied,
            1146 => Self::NoSuchTable,
            1050 => Self::TableExists,
            1205 => Self::Locked,
            1040 | 1203 | 1226 => Self::TooManyConnections,
            1461 => Self::TooManyStatements,
            1153 | 1301 => Self::StatementTooLarge,
            // One number for all commands that are not allowed.
            1148 if message.contains("used command") => Self::LocalFile,
            3948 | 4166 => Self::LocalFile,
            1820 => Self::PasswordExpired,
            1243 => Self::SessionShared,
            1054 | 1136 => Self::OtherColumns,
            1295 => Self::NotPreparable,
            1286 => Self::NoSuchStorage,
            _ => return None,
        })
    }
}

/// Whether a server that says so to a bulk load would take the same rows by INSERT: it knows no such load, or does not
/// allow it by its version, a setting, the client's options, or the user's rights.
pub fn refuses_bulk_load(error: &ServerError) -> bool {
    match error.number() {
        Some(number) => matches!(number, 1148 | 3948 | 2068 | 4166 | 1227 | 1235 | 1064 | 1047),
        // Not supported, syntax.
        None => matches!(error.state().as_str(), "0A000" | "42601"),
    }
}

#[cfg(test)]
mod tests {
    use super::Cause;

    #[test]
    fn one_number_may_stand_for_several_things() {
        let read_only =
            "The MySQL server is running with the --read-only option so it cannot execute this statement";
        assert_eq!(Cause::of_number(1290, read_only), Some(Cause::ReadOnly));
        let secured = "The MySQL server is running with the --secure-file-priv option so it cannot execute this statement";
        assert_eq!(Cause::of_number(1290, secured), None);
        assert_eq!(Cause::of_number(1148, "The used command is not allowed"), Some(Cause::LocalFile));
        assert_eq!((Cause::of_state("53100"), Cause::of_state("00000")), (Some(Cause::DiskFull), None));
        assert_eq!(Cause::of_state("53200"), Cause::of_number(1038, ""));
    }

    #[test]
    fn a_pooler_in_transaction_mode_is_told_by_what_becomes_of_prepared_statements() {
        for state in ["42P05", "26000"] {
            assert_eq!(Cause::of_state(state), Some(Cause::SessionShared));
        }
        assert_eq!(Cause::of_number(1243, ""), Some(Cause::SessionShared));
    }
}
