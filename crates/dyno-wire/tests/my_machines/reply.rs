//! Replies, packet by packet.

use dyno_wire::my::backend::{Column, OkPacket, Prepared, ResultRow, Text};
use dyno_wire::my::capabilities::Capabilities;
use dyno_wire::my::error::{MySqlError, ProtocolError};
use dyno_wire::my::packet::PAYLOAD_BYTES_MAX;
use dyno_wire::my::reply::{Expect, ReplyScanner, ReplySink, Totals};

use crate::script::{AUTOCOMMIT, MORE, Script};

/// Writes down all that comes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Diary(pub(crate) Vec<String>);

impl ReplySink for Diary {
    const WANTS_ROWS: bool = true;

    fn result_set(&mut self, columns: usize) {
        self.0.push(format!("result of {columns}"));
    }
    fn column(&mut self, column: Column<'_>) {
        self.0.push(format!("column {}", column.name));
    }
    fn row(&mut self, row: ResultRow<'_>) {
        assert_eq!(row.columns().count(), row.len());
        self.0.push(format!("row {row:?}"));
    }
    fn ok(&mut self, ok: OkPacket<'_>) {
        self.0.push(format!("ok {}", ok.info));
    }
    fn error(&mut self, error: &MySqlError) {
        self.0.push(error.to_string());
    }
    fn prepared(&mut self, prepared: Prepared) {
        self.0.push(format!("prepared {}", prepared.statement));
    }
    fn local_infile(&mut self, file: Text<'_>) {
        self.0.push(format!("file {file}"));
    }
}

fn scan_as(script: &Script, expects: &[Expect]) -> (Vec<String>, Totals) {
    let mut diary = Diary::default();
    let (mut scanner, mut counter) = (scanner_for(script, expects), scanner_for(script, expects));
    let scanned = scanner.scan(&script.bytes, &mut diary).unwrap();
    assert_eq!((scanned.done, scanned.consumed), (true, script.bytes.len()), "{diary:?}");
    // Who wants no rows counts the same.
    assert!(counter.scan(&script.bytes, &mut ()).unwrap().done);
    assert_eq!(counter.totals(), scanner.totals());
    (diary.0, scanner.totals())
}

fn scanner_for(script: &Script, expects: &[Expect]) -> ReplyScanner {
    let mut scanner = ReplyScanner::new(script.agreed());
    scanner.start(expects[0]);
    expects[1..].iter().for_each(|expect| scanner.extend(*expect));
    scanner
}

/// MariaDB 10.11's answer to `select 1`, as it came.
const MARIADB_SELECT_1: &[u8] = b"\x01\0\0\x01\x01\
    \x17\0\0\x02\x03def\0\0\0\x011\0\x0c?\0\x01\0\0\0\x03\x81\0\0\0\0\
    \x05\0\0\x03\xfe\0\0\x02\0\x02\0\0\x04\x011\x05\0\0\x05\xfe\0\0\x02\0";

#[test]
fn a_real_answer_is_read() {
    let mut scanner = ReplyScanner::new(Capabilities::default());
    let mut diary = Diary::default();
    scanner.start(Expect::Text);
    assert!(scanner.scan(MARIADB_SELECT_1, &mut diary).unwrap().done);
    assert_eq!(diary.0, ["result of 1", "column 1", "row [\"1\"]", "ok "]);
    let totals = scanner.totals();
    assert_eq!((totals.statements, totals.rows, totals.status.autocommit()), (1, 1, true));
}

#[test]
fn results_follow_each_other() {
    for eof in [true, false] {
        let script = Script::new(eof)
            .columns(&[253, 253])
            .text_row(&[Some(b"a"), None])
            .rows_end(MORE, 2)
            .ok(3, 7, MORE, 1, "Records: 3")
            .error(1062, "23000", "Duplicate entry");
        let (seen, totals) = scan_as(&script, &[Expect::Text]);
        assert_eq!(
            seen,
            [
                "result of 2",
                "column c",
                "column c",
                "row [\"a\", NULL]",
                "ok ",
                "ok Records: 3",
                "Duplicate entry (error 1062, SQLSTATE 23000)"
            ]
        );
        assert_eq!((totals.statements, totals.rows, totals.affected), (2, 1, 3));
        assert_eq!((totals.warnings, totals.last_insert_id), (3, 7));
    }
}

#[test]
fn a_binary_row_is_read_by_its_types() {
    for eof in [true, false] {
        // Every kind of value: tiny, short, long, longlong, float, double, date, datetime, time, decimal, null.
        let types = [1, 2, 3, 8, 4, 5, 10, 12, 11, 246, 253];
        let row = [
            &[0, 0, 0x10][..],
            &[0xff],
            &[0xfe, 0xff],
            &[1, 0, 0, 0],
            &i64::MIN.to_le_bytes(),
            &1.5_f32.to_le_bytes(),
            &(-0.1_f64).to_le_bytes(),
            &[4, 0xea, 7, 11, 20],
            &[11, 0xea, 7, 11, 20, 1, 2, 3, 4, 0, 0, 0],
            &[8, 1, 2, 0, 0, 0, 3, 4, 5],
            &[4, b'1', b'.', b'5', b'0'],
        ]
        .concat();
        let script = Script::new(eof).columns(&types).packet(&row).rows_end(AUTOCOMMIT, 0);
        let (seen, _) = scan_as(&script, &[Expect::Binary]);
        assert_eq!(
            seen[12],
            "row [-1, -2, 1, -9223372036854775808, 1.5, -0.1, 2026-11-20, 2026-11-20 01:02:03.000004, \
             -51:04:05, \"1.50\", NULL]"
        );
    }
}

#[test]
fn a_row_that_does_not_fit_its_columns_is_refused() {
    let rows: [(Expect, &[u8]); 7] = [
        (Expect::Text, b"\x01a"),
        (Expect::Text, b"\x01a\x01b\x01c"),
        (Expect::Text, b"\x01a\x05b"),
        (Expect::Binary, b"\x01\0"),
        (Expect::Binary, b"\0\0\x01a\x09b"),
        (Expect::Binary, b"\0"),
        (Expect::Text, b""),
    ];
    for (expect, row) in rows {
        let script = Script::new(false).columns(&[253, 253]).packet(row);
        let mut scanner = ReplyScanner::new(script.agreed());
        scanner.start(expect);
        let error = scanner.scan(&script.bytes, &mut Diary::default()).unwrap_err();
        let told = matches!(error, ProtocolError::Malformed { .. } | ProtocolError::Unexpected { .. });
        assert!(told, "{row:?}: {error}");
    }
}

#[test]
fn a_prepare_is_answered_in_four_shapes() {
    for eof in [true, false] {
        for (parameters, columns) in [(0_u8, 0_u8), (2, 0), (0, 2), (2, 1)] {
            let mut script = Script::new(eof).packet(&[0, 5, 0, 0, 0, columns, 0, parameters, 0, 0, 0, 0]);
            for _ in 0..parameters {
                script = script.column("?", 253, 0);
            }
            script = if parameters > 0 { script.columns_end() } else { script };
            for _ in 0..columns {
                script = script.column("x", 3, 0);
            }
            script = if columns > 0 { script.columns_end() } else { script };
            let mut expected = vec!["prepared 5".to_owned()];
            expected.extend((0..columns).map(|_| "column x".to_owned()));
            // Another command follows, so that the end is seen to be the end.
            script = script.next_command().ok(1, 0, AUTOCOMMIT, 0, "");
            expected.push("ok ".to_owned());
            let (seen, totals) = scan_as(&script, &[Expect::Prepared, Expect::Text]);
            assert_eq!((seen, totals.statements), (expected, 2));
        }
    }
}

#[test]
fn an_error_ends_its_command_only() {
    for eof in [true, false] {
        let script = Script::new(eof)
            .columns(&[253])
            .text_row(&[Some(b"x")])
            .error(1317, "70100", "Query execution was interrupted")
            .next_command()
            .error(1064, "42000", "syntax")
            .next_command()
            .ok(1, 0, AUTOCOMMIT, 0, "");
        let (seen, totals) = scan_as(&script, &[Expect::Text, Expect::Prepared, Expect::Text]);
        assert_eq!(seen[3..].len(), 3);
        assert_eq!((totals.rows, totals.statements, totals.affected), (1, 1, 1));
        let mut scanner = scanner_for(&script, &[Expect::Text, Expect::Prepared, Expect::Text]);
        let _ = scanner.scan(&script.bytes, &mut ()).unwrap();
        assert_eq!(scanner.error().unwrap().number, 1317);
        assert_eq!(scanner.take_error().unwrap().state, "70100");
        assert!(scanner.error().is_none());
    }
}

#[test]
fn a_file_that_is_asked_for_stops_the_scan() {
    let script = Script::new(true).packet(b"\xfb/tmp/rows").numbered(9).ok(5, 0, AUTOCOMMIT, 0, "");
    let mut scanner = ReplyScanner::new(script.agreed());
    let mut diary = Diary::default();
    scanner.start(Expect::Text);
    let scanned = scanner.scan(&script.bytes, &mut diary).unwrap();
    assert_eq!((scanned.consumed, scanned.done, scanner.wants_local_infile()), (14, false, true));
    assert_eq!(diary.0, ["file /tmp/rows"]);
    let mut file = scanner.local_infile().unwrap();
    let mut out = Vec::new();
    file.data(&mut out, b"abc");
    file.data(&mut out, b"");
    file.finish(&mut out);
    assert_eq!(out, b"\x03\0\0\x02abc\0\0\0\x03");
    assert!(!scanner.wants_local_infile() && scanner.local_infile().is_none());
    assert!(scanner.scan(&script.bytes[14..], &mut diary).unwrap().done);
    assert_eq!(scanner.totals().affected, 5);
}

#[test]
fn a_lost_packet_is_noticed() {
    let script = Script::new(true).columns(&[253]).numbered(77).rows_end(AUTOCOMMIT, 0);
    let error = scanner_for(&script, &[Expect::Text]).scan(&script.bytes, &mut ()).unwrap_err();
    assert_eq!(error, ProtocolError::Sequence { expected: 4, got: 77 });
}

#[test]
fn numbers_begin_again_after_255() {
    let rows = (0..600).fold(Script::new(false).columns(&[253]), |script, _| script.text_row(&[Some(b"r")]));
    let (_, totals) = scan_as(&rows.rows_end(AUTOCOMMIT, 0), &[Expect::Text]);
    assert_eq!(totals.rows, 600);
}

/// Its first byte is that of an end, by which it may not be taken for one.
#[test]
fn a_row_beyond_a_packet_is_put_together() {
    for eof in [true, false] {
        for length in [PAYLOAD_BYTES_MAX - 9, PAYLOAD_BYTES_MAX, 2 * PAYLOAD_BYTES_MAX - 9] {
            let mut value = vec![0xfe];
            value.extend_from_slice(&(length as u64).to_le_bytes());
            value.resize(value.len() + length, b'v');
            let mut script = Script::new(eof).columns(&[253]);
            for piece in value.chunks(PAYLOAD_BYTES_MAX) {
                script = script.packet(piece);
            }
            if value.len() % PAYLOAD_BYTES_MAX == 0 {
                script = script.packet(b"");
            }
            let script = script.text_row(&[Some(b"next")]).rows_end(AUTOCOMMIT, 0);
            let (seen, totals) = scan_as(&script, &[Expect::Text]);
            assert_eq!((seen[2].len(), &seen[3][..], totals.rows), (length + 8, "row [\"next\"]", 2));
        }
    }
}

#[test]
fn an_end_without_rows_is_an_ok() {
    for eof in [true, false] {
        let (seen, totals) = scan_as(&Script::new(eof).rows_end(AUTOCOMMIT, 4), &[Expect::Text]);
        assert_eq!((seen, totals.statements, totals.warnings), (vec!["ok ".to_owned()], 1, 4));
        assert!(totals.status.autocommit());
    }
}

#[test]
fn what_cannot_begin_a_reply_is_refused() {
    for (expect, payload) in [
        (Expect::Text, &b""[..]),
        (Expect::Text, b"\x02\x00"),
        (Expect::Text, b"\xfc\x00\x00"),
        (Expect::Text, b"\xfd\x00\x00\x01"),
        (Expect::Text, b"\x00\x00"),
        (Expect::Text, b"\xff\x15"),
        (Expect::Prepared, b"\x01"),
        (Expect::Prepared, b"\x00\x01\x00"),
    ] {
        let script = Script::new(true).packet(payload);
        let mut scanner = ReplyScanner::new(script.agreed());
        scanner.start(expect);
        assert!(scanner.scan(&script.bytes, &mut ()).is_err(), "{payload:?}");
    }
}
