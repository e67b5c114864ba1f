//! The reply scanner: what it counts, hands over, refuses, and where it stops.

use dyno_wire::pg::backend::{
    CommandTag, CopyResponse, DataRow, NoticeFields, RowDescription, TransactionStatus,
};
use dyno_wire::pg::error::{PostgresError, ProtocolError, Tag};
use dyno_wire::pg::reply::{ReplyScanner, ReplySink, Scanned, Totals};

use crate::script::Script;

/// Keeps all it is given, as text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Diary(pub(crate) Vec<String>);

impl ReplySink for Diary {
    const WANTS_ROWS: bool = true;

    fn row_description(&mut self, columns: RowDescription<'_>) {
        let names: Vec<_> = columns.columns().map(|column| column.name.to_string()).collect();
        self.0.push(format!("columns {}", names.join(" ")));
    }
    fn row(&mut self, row: DataRow<'_>) {
        assert_eq!(row.len(), row.columns().count());
        self.0.push(format!("row {row:?}"));
    }
    fn command_complete(&mut self, tag: CommandTag<'_>) {
        self.0.push(format!("complete {}", tag.text()));
    }
    fn error(&mut self, error: &PostgresError) {
        self.0.push(error.to_string());
    }
    fn notice(&mut self, notice: NoticeFields<'_>) {
        self.0.push(format!("notice {}", notice.message()));
    }
    fn parameter_status(&mut self, name: &str, value: &str) {
        self.0.push(format!("parameter {name}={value}"));
    }
    fn notification(&mut self, process_id: i32, channel: &str, payload: &str) {
        self.0.push(format!("notification {process_id} {channel} {payload}"));
    }
    fn copy_in(&mut self, response: CopyResponse<'_>) {
        self.0.push(format!("copy in, {} columns", response.columns()));
    }
    fn copy_out(&mut self, response: CopyResponse<'_>) {
        self.0.push(format!("copy out, {} columns", response.columns()));
    }
    fn copy_data(&mut self, data: &[u8]) {
        self.0.push(format!("data {data:?}"));
    }
}

fn totals_of(script: &Script, syncs: u32) -> Totals {
    let mut scanner = ReplyScanner::new();
    scanner.start(syncs);
    let scanned = scanner.scan(&script.0, &mut ()).unwrap();
    assert_eq!(scanned, Scanned { consumed: script.0.len(), done: true });
    assert!(scanner.is_done());
    scanner.totals()
}

fn diary_of(script: &Script) -> Vec<String> {
    let mut scanner = ReplyScanner::new();
    let mut diary = Diary::default();
    scanner.start(1);
    assert!(scanner.scan(&script.0, &mut diary).unwrap().done);
    diary.0
}

#[test]
fn the_usual_small_reply_is_counted() {
    let script = Script::new().empty(b'2').row(&[Some(b"42")]).complete("SELECT 1").ready(b'I');
    let status = TransactionStatus::Idle;
    assert_eq!(totals_of(&script, 1), Totals { statements: 1, results: 0, rows: 1, affected: 0, status });
    // A result is told by its description alone, be there a row in it or not.
    let described = Script::new().description(&["a"]).complete("SELECT 0").ready(b'I');
    assert_eq!(totals_of(&described, 1), Totals { statements: 1, results: 1, rows: 0, affected: 0, status });
}

#[test]
fn rows_written_come_from_the_command_tags() {
    for (tag, affected) in [
        ("INSERT 0 5", 5),
        ("UPDATE 12", 12),
        ("DELETE 0", 0),
        ("MERGE 7", 7),
        ("COPY 100000", 100_000),
        ("SELECT 9", 9),
        ("FETCH 3", 0),
        ("CREATE TABLE", 0),
        ("", 0),
        ("UPDATE 18446744073709551615", u64::MAX),
        ("UPDATE 99999999999999999999999", u64::MAX),
    ] {
        let totals = totals_of(&Script::new().complete(tag).ready(b'T'), 1);
        assert_eq!(totals.affected, affected, "{tag}");
        assert_eq!((totals.statements, totals.rows), (1, 0), "{tag}");
        assert_eq!(totals.status, TransactionStatus::InTransaction);
    }
}

#[test]
fn a_select_that_returned_its_rows_has_written_none() {
    let one = Script::new().row(&[None]).row(&[None]).complete("SELECT 2");
    let totals = totals_of(&one.complete("UPDATE 3").complete("SELECT 4").ready(b'I'), 1);
    assert_eq!((totals.statements, totals.rows, totals.affected), (3, 2, 7));
}

#[test]
fn rows_copied_out_are_rows_returned() {
    let script =
        Script::new().copy(b'H', 1).message(b'd', b"1\n2\n").empty(b'c').complete("COPY 2").ready(b'I');
    let totals = totals_of(&script, 1);
    assert_eq!((totals.rows, totals.affected), (2, 0));
}

#[test]
fn a_pipeline_ends_with_its_last_sync() {
    let one = Script::new().empty(b'1').empty(b'2').complete("UPDATE 1").ready(b'I');
    let both = Script([one.0.clone(), one.0.clone()].concat());
    assert_eq!(totals_of(&both, 2).affected, 2);

    let mut scanner = ReplyScanner::new();
    scanner.start(1);
    assert!(scanner.scan(&one.0, &mut ()).unwrap().done);
    scanner.extend(1);
    assert!(!scanner.is_done());
    assert!(scanner.scan(&one.0, &mut ()).unwrap().done);
    assert_eq!(scanner.totals().affected, 2);
}

#[test]
fn bytes_after_the_reply_are_left_alone() {
    let script = Script::new().complete("UPDATE 1").ready(b'I');
    let length = script.0.len();
    let more = script.fields(b'N', &[(b'M', "later")]);
    let mut scanner = ReplyScanner::new();
    scanner.start(1);
    assert_eq!(scanner.scan(&more.0, &mut ()).unwrap(), Scanned { consumed: length, done: true });
    assert_eq!(scanner.scan(&more.0[length..], &mut ()).unwrap(), Scanned { consumed: 0, done: true });
}

#[test]
fn the_first_error_is_kept_and_all_are_told() {
    let script = Script::new()
        .error("23505", "duplicate key")
        .ready(b'E')
        .error("25P02", "transaction is aborted")
        .ready(b'E');
    let mut scanner = ReplyScanner::new();
    let mut diary = Diary::default();
    scanner.start(2);
    assert!(scanner.scan(&script.0, &mut diary).unwrap().done);
    assert_eq!(
        diary.0,
        ["ERROR: duplicate key (SQLSTATE 23505)", "ERROR: transaction is aborted (SQLSTATE 25P02)"]
    );
    assert_eq!(scanner.totals().status, TransactionStatus::Failed);
    assert_eq!(scanner.error().unwrap().code, "23505");
    assert_eq!(scanner.take_error().unwrap().message, "duplicate key");
    assert!(scanner.take_error().is_none());

    scanner.start(1);
    assert_eq!(scanner.totals(), Totals { status: TransactionStatus::Failed, ..Totals::default() });
}

#[test]
fn a_fatal_error_is_there_although_no_end_follows() {
    let script = Script::new().fields(b'E', &[(b'S', "FATAL"), (b'C', "57P01"), (b'M', "terminating")]);
    let mut scanner = ReplyScanner::new();
    scanner.start(1);
    assert!(!scanner.scan(&script.0, &mut ()).unwrap().done);
    let error = scanner.take_error().unwrap();
    assert!(error.ends_session());
    assert_eq!(error.to_string(), "FATAL: terminating (SQLSTATE 57P01)");
}

#[test]
fn all_that_a_reply_brings_is_handed_over() {
    let script = Script::new()
        .fields(b'N', &[(b'S', "NOTICE"), (b'M', "careful")])
        .parameter("TimeZone", "UTC")
        .notification(77, "channel", "payload")
        .description(&["a", "b"])
        .row(&[Some(b"1"), None])
        .complete("SELECT 1")
        .copy(b'H', 2)
        .message(b'd', b"xy")
        .empty(b'c')
        .complete("COPY 1")
        .ready(b'I');
    assert_eq!(
        diary_of(&script),
        [
            "notice careful",
            "parameter TimeZone=UTC",
            "notification 77 channel payload",
            "columns a b",
            "row [Some(\"1\"), None]",
            "complete SELECT 1",
            "copy out, 2 columns",
            "data [120, 121]",
            "complete COPY 1",
        ]
    );
}

#[test]
fn the_quiet_messages_of_the_extended_protocol_pass() {
    let script =
        Script::new().empty(b'1').empty(b'n').empty(b'2').empty(b's').empty(b'3').empty(b'I').ready(b'I');
    assert_eq!(totals_of(&script, 1).statements, 2);
}

#[test]
fn copying_in_pauses_the_scan_until_the_statement_ends() {
    let opening = Script::new().copy(b'G', 3);
    let ending = Script::new().complete("COPY 5").ready(b'I');
    let mut scanner = ReplyScanner::new();
    scanner.start(1);
    assert!(!scanner.wants_copy_data());
    let scanned = scanner.scan(&opening.0, &mut ()).unwrap();
    assert_eq!(scanned, Scanned { consumed: opening.0.len(), done: false });
    assert!(scanner.wants_copy_data());
    assert!(scanner.scan(&ending.0, &mut ()).unwrap().done);
    assert!(!scanner.wants_copy_data());
    assert_eq!((scanner.totals().rows, scanner.totals().affected), (0, 5));
}

#[test]
fn an_error_while_copying_in_ends_the_wish_for_data() {
    let mut scanner = ReplyScanner::new();
    scanner.start(1);
    assert!(!scanner.scan(&Script::new().copy(b'G', 1).0, &mut ()).unwrap().done);
    let failure = Script::new().error("22P02", "invalid input");
    assert!(!scanner.scan(&failure.0, &mut ()).unwrap().done);
    assert!(!scanner.wants_copy_data());
}

#[test]
fn a_row_nobody_wants_is_consumed_in_parts() {
    let script = Script::new().row(&[Some(&[7; 1000])]).complete("SELECT 1").ready(b'I');
    let mut scanner = ReplyScanner::new();
    scanner.start(1);
    assert_eq!(scanner.scan(&script.0[..4], &mut ()).unwrap().consumed, 0);
    assert_eq!(scanner.scan(&script.0[..100], &mut ()).unwrap().consumed, 100);
    assert_eq!(scanner.scan(&script.0[100..500], &mut ()).unwrap().consumed, 400);
    let scanned = scanner.scan(&script.0[500..], &mut ()).unwrap();
    assert_eq!(scanned, Scanned { consumed: script.0.len() - 500, done: true });
    assert_eq!((scanner.totals().rows, scanner.totals().affected), (1, 0));
}

#[test]
fn a_row_that_is_wanted_waits_until_it_is_whole() {
    let script = Script::new().row(&[Some(&[7; 1000])]);
    let mut scanner = ReplyScanner::new();
    let mut diary = Diary::default();
    scanner.start(1);
    let scanned = scanner.scan(&script.0[..script.0.len() - 1], &mut diary).unwrap();
    assert_eq!(scanned, Scanned { consumed: 0, done: false });
    assert!(diary.0.is_empty());
}

#[test]
fn what_has_no_place_in_a_reply_is_refused_by_name_and_length() {
    let refused = |script: Script| {
        let mut scanner = ReplyScanner::new();
        scanner.start(1);
        scanner.scan(&script.0, &mut Diary::default()).unwrap_err()
    };
    let during = "the reply to a request";
    assert_eq!(
        refused(Script::new().authentication(0, &[])),
        ProtocolError::Unexpected { tag: Tag(b'R'), length: 8, during }
    );
    assert_eq!(refused(Script::new().copy(b'W', 0)), ProtocolError::UnknownTag { tag: Tag(b'W'), length: 7 });
    assert_eq!(refused(Script::new().empty(b'?')), ProtocolError::UnknownTag { tag: Tag(b'?'), length: 4 });
    assert_eq!(
        refused(Script::new().message(b'Z', b"II")),
        ProtocolError::FrameLength { tag: Tag(b'Z'), length: 6 }
    );
    assert!(matches!(refused(Script::new().ready(b'X')), ProtocolError::Malformed { tag: Tag(b'Z'), .. }));
    assert!(matches!(
        refused(Script::new().message(b'C', b"UPDATE 1")),
        ProtocolError::Malformed { tag: Tag(b'C'), length: 12, .. }
    ));
    assert!(matches!(
        refused(Script::new().message(b'D', &[0, 1, 0, 0, 0, 9, 1])),
        ProtocolError::Malformed { tag: Tag(b'D'), .. }
    ));
}
