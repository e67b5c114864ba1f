//! What the server says when it refuses: an SQLSTATE and a text of Java, with the names of classes before the message and the calls
//! that led there behind it.

use dyno_wire::server_error::{DriverError, DriverErrorKind};

use super::thrift::Item;
use crate::cause::Cause;

/// Errors of the connection.
pub(super) const NO_CONNECTION: &str = "NO_CONNECTION";
pub(super) const CONNECTION_LOST: &str = "CONNECTION_LOST";
pub(super) const LOGIN_REFUSED: &str = "LOGIN_REFUSED";
/// An answer that is none of HiveServer2's.
pub(super) const NOT_HIVE: &str = "NOT_HIVESERVER2";
/// What an error is called whose SQLSTATE is missing or not in the list.
const OTHER: &str = "HIVESERVER2_ERROR";
/// The server stopped a statement.
const CANCELLED: &str = "HY008";

/// SQLSTATEs that a user of a benchmark may meet.
const STATES: [&str; 37] = [
    "08001", "08S01", "0A000", "21000", "21S01", "22000", "22001", "22003", "22004", "22007", "22008",
    "22012", "22018", "22023", "22P02", "23505", "23K01", "28000", "38000", "39000", "40000", "42000",
    "42501", "42601", "42602", "42703", "42704", "42710", "42883", "42K09", "42P01", "42P07", "42S02",
    "53200", "54000", "58030", "XX000",
];

/// How much of what the server said is kept.
const MESSAGE_MAX: usize = 600;
/// What stands before the message.
const BEFORE: [&str; 4] = [
    "Failed to open new session: ",
    "Error running query: ",
    "Error while compiling statement: ",
    "FAILED: ",
];

/// The statement was stopped because somebody asked for that.
pub(super) fn cancelled() -> DriverError {
    let error = DriverError::new(CANCELLED, "the server stopped the statement");
    DriverError { kind: DriverErrorKind::Cancelled, ..error }
}

/// What a reply returned, unless its status says that the server did not do it.
pub(super) fn checked(reply: Item) -> Result<Item, DriverError> {
    // Success, success with a note, still executing.
    match reply.number(&[1, 1]) {
        Some(0..=2) => Ok(reply),
        Some(_) => Err(said(reply.string(&[1, 3]).as_deref(), &reply.string(&[1, 5]).unwrap_or_default())),
        None => Err(DriverError::new(NOT_HIVE, "a reply has no status: check host and port")),
    }
}

/// An error by its SQLSTATE and its text.
pub(super) fn said(state: Option<&str>, text: &str) -> DriverError {
    let text = text.split("\n\tat ").next().unwrap_or_default();
    let (message, behind) = text.split_once("SQLSTATE: ").unwrap_or((text, ""));
    let state = state.filter(|state| !state.is_empty()).or_else(|| behind.get(..5));
    let message = shortened(without_classes(message.trim()));
    let known = state.and_then(|state| STATES.into_iter().find(|it| *it == state));
    let message = match (known, state) {
        (None, Some(state)) => format!("SQLSTATE {state}: {message}"),
        _ => message,
    };
    let code = known.unwrap_or(OTHER);
    DriverError { cause: cause(code, &message), ..DriverError::new(code, message) }
}

/// `Error running query: [CLASS] org.example.AnException: [CLASS] message` without all before the message's own class.
fn without_classes(mut text: &str) -> &str {
    loop {
        let before = BEFORE.iter().find_map(|before| text.strip_prefix(before));
        // `[CLASS] org.example.AnException: `, of which the name of the class comes again.
        let class = text.strip_prefix('[').and_then(|it| it.split_once("] ")).map_or(text, |(_, rest)| rest);
        let java = class.split_once(": ").filter(|(name, _)| is_java_class(name)).map(|(_, rest)| rest);
        match before.or(java) {
            Some(rest) => text = rest.trim_start(),
            None => return text,
        }
    }
}

fn is_java_class(name: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "_$".contains(c));
    name.contains('.') && name.split('.').all(is_word)
}

/// The first paragraph in one line, and no longer than anybody reads.
pub(super) fn shortened(said: &str) -> String {
    let said = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it does not say why");
    match said.char_indices().nth(MESSAGE_MAX) {
        Some((at, _)) => format!("{}…", said.get(..at).unwrap_or_default()),
        None => said.trim().trim_end_matches('.').to_owned(),
    }
}

fn cause(code: &str, message: &str) -> Option<Cause> {
    Some(match code {
        "42P01" | "42S02" => Cause::NoSuchTable,
        "42P07" => Cause::TableExists,
        "42703" | "21S01" => Cause::OtherColumns,
        "42501" => Cause::Denied,
        // Java's name of it.
        _ if message.contains("OutOfMemoryError") => Cause::OutOfMemory,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_found_in_what_java_says() {
        for (state, text, code, message) in [
            (
                Some("42P01"),
                "org.apache.hive.service.cli.HiveSQLException: Error running query: [TABLE_OR_VIEW_NOT_FOUND] \
                 org.apache.spark.sql.AnalysisException: [TABLE_OR_VIEW_NOT_FOUND] The table `x` cannot be found. Look.\n\
                 More of it. SQLSTATE: 42P01; line 1 pos 14;\n'Project\n\n\tat org.apache.spark.A.b(A.scala:43)\n\tat c",
                "42P01",
                "[TABLE_OR_VIEW_NOT_FOUND] The table `x` cannot be found. Look",
            ),
            (
                None,
                "Error running query: [PARSE_SYNTAX_ERROR] org.apache.spark.sql.catalyst.parser.ParseException: \n\
                 [PARSE_SYNTAX_ERROR] Syntax error at or near 'selec'. SQLSTATE: 42601 (line 1, pos 0)\n",
                "42601",
                "[PARSE_SYNTAX_ERROR] Syntax error at or near 'selec'",
            ),
            (
                Some("ZZZZZ"),
                "Error while compiling statement: FAILED: SemanticException [Error 1]: no",
                OTHER,
                "SQLSTATE ZZZZZ: SemanticException [Error 1]: no",
            ),
            (
                None,
                "Error running query: java.lang.IllegalArgumentException: x should be boolean, but was: y",
                OTHER,
                "x should be boolean, but was: y",
            ),
            (None, "", OTHER, "it does not say why"),
        ] {
            let error = said(state, text);
            assert_eq!((error.code, error.message.as_str()), (code, message));
        }
        assert!(said(None, &"é ".repeat(900)).message.chars().count() <= MESSAGE_MAX + 1);
        assert!(STATES.is_sorted());
    }
}
