//! What ClickHouse says when it refuses: `Code: 60. DB::Exception: Table d.t does not exist. (UNKNOWN_TABLE) (version …)`, and
//! what is behind it.

use dyno_wire::server_error::{DriverError, DriverErrorKind};

use crate::cause::Cause;

/// What an error is called whose number is not in the list.
const OTHER: &str = "DB::Exception";
/// An answer that is none of ClickHouse's.
pub(super) const NOT_CLICKHOUSE: &str = "NOT_CLICKHOUSE";
/// Errors of the connection.
pub(super) const NO_CONNECTION: &str = "NO_CONNECTION";
pub(super) const CONNECTION_LOST: &str = "CONNECTION_LOST";

/// The names of the numbers that a user of a benchmark may meet, in ClickHouse's words.
const NAMES: [(u16, &str); 70] = [
    (6, "CANNOT_PARSE_TEXT"),
    (16, "NO_SUCH_COLUMN_IN_TABLE"),
    (20, "NUMBER_OF_COLUMNS_DOESNT_MATCH"),
    (26, "CANNOT_PARSE_QUOTED_STRING"),
    (27, "CANNOT_PARSE_INPUT_ASSERTION_FAILED"),
    (33, "CANNOT_READ_ALL_DATA"),
    (36, "BAD_ARGUMENTS"),
    (38, "CANNOT_PARSE_DATE"),
    (41, "CANNOT_PARSE_DATETIME"),
    (42, "NUMBER_OF_ARGUMENTS_DOESNT_MATCH"),
    (43, "ILLEGAL_TYPE_OF_ARGUMENT"),
    (44, "ILLEGAL_COLUMN"),
    (46, "UNKNOWN_FUNCTION"),
    (47, "UNKNOWN_IDENTIFIER"),
    (48, "NOT_IMPLEMENTED"),
    (49, "LOGICAL_ERROR"),
    (50, "UNKNOWN_TYPE"),
    (53, "TYPE_MISMATCH"),
    (57, "TABLE_ALREADY_EXISTS"),
    (60, "UNKNOWN_TABLE"),
    (62, "SYNTAX_ERROR"),
    (69, "ARGUMENT_OUT_OF_BOUND"),
    (70, "CANNOT_CONVERT_TYPE"),
    (72, "CANNOT_PARSE_NUMBER"),
    (81, "UNKNOWN_DATABASE"),
    (107, "FILE_DOESNT_EXIST"),
    (115, "UNKNOWN_SETTING"),
    (117, "INCORRECT_DATA"),
    (153, "ILLEGAL_DIVISION"),
    (158, "TOO_MANY_ROWS"),
    (159, "TIMEOUT_EXCEEDED"),
    (160, "TOO_SLOW"),
    (164, "READONLY"),
    (173, "CANNOT_ALLOCATE_MEMORY"),
    (184, "ILLEGAL_AGGREGATION"),
    (192, "UNKNOWN_USER"),
    (193, "WRONG_PASSWORD"),
    (194, "REQUIRED_PASSWORD"),
    (195, "IP_ADDRESS_NOT_ALLOWED"),
    (201, "QUOTA_EXCEEDED"),
    (202, "TOO_MANY_SIMULTANEOUS_QUERIES"),
    (207, "AMBIGUOUS_IDENTIFIER"),
    (209, "SOCKET_TIMEOUT"),
    (210, "NETWORK_ERROR"),
    (215, "NOT_AN_AGGREGATE"),
    (216, "QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING"),
    (218, "TABLE_IS_DROPPED"),
    (236, "ABORTED"),
    (241, "MEMORY_LIMIT_EXCEEDED"),
    (242, "TABLE_IS_READ_ONLY"),
    (243, "NOT_ENOUGH_SPACE"),
    (252, "TOO_MANY_PARTS"),
    (291, "DATABASE_ACCESS_DENIED"),
    (306, "TOO_DEEP_RECURSION"),
    (307, "TOO_MANY_BYTES"),
    (319, "UNKNOWN_STATUS_OF_INSERT"),
    (344, "SUPPORT_IS_DISABLED"),
    (349, "CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN"),
    (386, "NO_COMMON_TYPE"),
    (394, "QUERY_WAS_CANCELLED"),
    (395, "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO"),
    (396, "TOO_MANY_ROWS_OR_BYTES"),
    (407, "DECIMAL_OVERFLOW"),
    (452, "SETTING_CONSTRAINT_VIOLATION"),
    (469, "VIOLATED_CONSTRAINT"),
    (473, "DEADLOCK_AVOIDED"),
    (497, "ACCESS_DENIED"),
    (516, "AUTHENTICATION_FAILED"),
    (735, "QUERY_WAS_CANCELLED_BY_CLIENT"),
    (1001, "STD_EXCEPTION"),
];

/// How much of what the server said is kept.
const MESSAGE_MAX: usize = 600;

/// Reads an exception as the server writes it; `None` for any other text.
pub(super) fn exception(text: &str) -> Option<DriverError> {
    let text = text.trim();
    let digits = text.strip_prefix("Code: ")?;
    let end = digits.find(|c: char| !c.is_ascii_digit())?;
    let number: u16 = digits.get(..end)?.parse().ok()?;
    // Versions before 20 write `Code: 60, e.displayText() = DB::Exception: …, e.what() = DB::Exception`.
    let (_, said) = digits.split_once("DB::")?;
    let said = said.split_once("Exception: ").map_or(said, |(_, said)| said);
    let said = said.split(", e.what() = ").next().unwrap_or(said);
    let name = NAMES.iter().find(|(known, _)| *known == number).map(|(_, name)| *name);
    let said = match name {
        // The name follows the message in brackets, and then comes the version.
        Some(name) => said.split(&format!(" ({name})")).next().unwrap_or(said).to_owned(),
        None => format!("code {number}: {said}"),
    };
    let kind = match number {
        394 | 735 => DriverErrorKind::Cancelled,
        473 => DriverErrorKind::Conflict,
        // The rows may be there: a write whose session is lost has an unknown outcome.
        319 => DriverErrorKind::SessionLost,
        _ => DriverErrorKind::Other,
    };
    let code = name.unwrap_or(OTHER);
    Some(DriverError { code, message: shortened(&said), kind, cause: cause(code) })
}

/// In one line, and no longer than anybody reads.
pub(super) fn shortened(said: &str) -> String {
    let words: Vec<&str> = said.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(MESSAGE_MAX) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line.trim_end_matches('.').to_owned(),
    }
}

fn cause(code: &str) -> Option<Cause> {
    Some(match code {
        "NOT_ENOUGH_SPACE" => Cause::DiskFull,
        "MEMORY_LIMIT_EXCEEDED" | "CANNOT_ALLOCATE_MEMORY" => Cause::OutOfMemory,
        "READONLY" | "TABLE_IS_READ_ONLY" => Cause::ReadOnly,
        "ACCESS_DENIED" | "DATABASE_ACCESS_DENIED" => Cause::Denied,
        "UNKNOWN_TABLE" => Cause::NoSuchTable,
        "TABLE_ALREADY_EXISTS" => Cause::TableExists,
        "DEADLOCK_AVOIDED" => Cause::Locked,
        "TOO_MANY_SIMULTANEOUS_QUERIES" => Cause::TooManyConnections,
        "UNKNOWN_IDENTIFIER" | "NO_SUCH_COLUMN_IN_TABLE" | "TYPE_MISMATCH" => Cause::OtherColumns,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_is_read_in_old_words_and_in_new_ones() {
        for (text, code, message) in [
            (
                "Code: 60. DB::Exception: Table d.t does not exist. (UNKNOWN_TABLE) (version 24.8.4.13 (official build))\n",
                "UNKNOWN_TABLE",
                "Table d.t does not exist",
            ),
            (
                "Code: 193, e.displayText() = DB::Exception: Wrong password for user default, e.what() = DB::Exception\n",
                "WRONG_PASSWORD",
                "Wrong password for user default",
            ),
            ("Code: 9999. DB::Exception: New. (WHO_KNOWS)", "DB::Exception", "code 9999: New. (WHO_KNOWS)"),
            ("Code: 210. DB::NetException: Gone. (NETWORK_ERROR)", "NETWORK_ERROR", "Gone"),
        ] {
            let error = exception(text).unwrap();
            assert_eq!((error.code, error.message.as_str()), (code, message));
        }
        let long = format!("Code: 62. DB::Exception: {}\n é", "é ".repeat(900));
        assert!(exception(&long).unwrap().message.chars().count() <= MESSAGE_MAX + 1);
        for text in ["", "Code: 60", "Code: x. DB::Exception: y", "code: 60. DB::Exception: y", "1\t2"] {
            assert_eq!(exception(text), None, "{text}");
        }
        assert!(NAMES.is_sorted_by_key(|(number, _)| *number));
    }

    #[test]
    fn what_follows_is_in_the_kind() {
        let kind = |number| exception(&format!("Code: {number}. DB::Exception: x")).unwrap().kind;
        assert_eq!(kind(394), DriverErrorKind::Cancelled);
        assert_eq!(kind(473), DriverErrorKind::Conflict);
        assert_eq!(kind(319), DriverErrorKind::SessionLost);
        assert_eq!(kind(241), DriverErrorKind::Other);
    }
}
