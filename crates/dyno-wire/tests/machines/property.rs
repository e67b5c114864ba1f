//! Where the network cuts the stream makes no difference, and no bytes at all make a machine panic.

use std::sync::Arc;

use bytes::BytesMut;
use dyno_wire::pg::backend::{Message, next_frame};
use dyno_wire::pg::handshake::Handshake;
use dyno_wire::pg::reply::{ReplyScanner, ReplySink, Totals};
use postgres_protocol::message::backend as theirs;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::sample::Index;

use crate::login::{login, scram_login_bytes};
use crate::reply::Diary;
use crate::script::Script;

/// One message of a reply.
fn message() -> impl Strategy<Value = Script> {
    prop_oneof![
        4 => vec(option::of(vec(any::<u8>(), 0..40)), 0..5).prop_map(|values| {
            let values: Vec<_> = values.iter().map(Option::as_deref).collect();
            Script::new().row(&values)
        }),
        2 => prop_oneof![
            "(INSERT 0|UPDATE|DELETE|MERGE|SELECT|COPY|FETCH) [0-9]{1,25}",
            "[A-Z ]{0,20}",
        ].prop_map(|tag| Script::new().complete(&tag)),
        1 => "[a-z]{0,9}".prop_map(|text| Script::new().error("40001", &text)),
        1 => "[a-z]{0,9}".prop_map(|text| Script::new().fields(b'N', &[(b'M', &text)])),
        1 => ("[a-z]{1,9}", "[^\0]{0,9}").prop_map(|(name, value)| Script::new().parameter(&name, &value)),
        1 => (any::<i32>(), "[a-z]{1,9}", "[^\0]{0,9}")
            .prop_map(|(id, channel, payload)| Script::new().notification(id, &channel, &payload)),
        1 => vec("[^\0]{0,9}", 0..4).prop_map(|names| {
            Script::new().description(&names.iter().map(String::as_str).collect::<Vec<_>>())
        }),
        1 => vec(any::<u8>(), 0..90).prop_map(|data| Script::new().message(b'd', &data)),
        1 => (prop_oneof![Just(b'G'), Just(b'H')], 0..4_u16).prop_map(|(tag, n)| Script::new().copy(tag, n)),
        1 => proptest::sample::select(&b"123nsIc"[..]).prop_map(|tag| Script::new().empty(tag)),
    ]
}

/// A reply that ends with one `ReadyForQuery`.
fn reply() -> impl Strategy<Value = Vec<u8>> {
    (vec(message(), 0..12), proptest::sample::select(&b"ITE"[..])).prop_map(|(messages, status)| {
        let body: Vec<u8> = messages.into_iter().flat_map(|message| message.0).collect();
        Script(body).ready(status).0
    })
}

/// Feeds `bytes` cut at `cuts`, keeping what stays unconsumed as a receive buffer would.
fn scan<S: ReplySink>(bytes: &[u8], cuts: &[Index], sink: &mut S) -> (Totals, Option<String>, bool) {
    let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).chain([bytes.len()]).collect();
    cuts.sort_unstable();
    let mut scanner = ReplyScanner::new();
    scanner.start(1);
    let (mut buffer, mut fed, mut done) = (Vec::new(), 0, false);
    for cut in cuts {
        buffer.extend_from_slice(&bytes[fed..cut]);
        fed = cut;
        loop {
            let scanned = scanner.scan(&buffer, sink).unwrap();
            buffer.drain(..scanned.consumed);
            done = scanned.done;
            if done || scanned.consumed == 0 {
                break;
            }
        }
    }
    assert_eq!((buffer.len(), done), (0, true));
    (scanner.totals(), scanner.take_error().map(|error| error.to_string()), done)
}

proptest! {
    #[test]
    fn a_reply_may_be_cut_anywhere(bytes in reply(), cuts in vec(any::<Index>(), 0..6)) {
        let (mut whole, mut cut) = (Diary::default(), Diary::default());
        let expected = scan(&bytes, &[], &mut whole);
        assert_eq!(scan(&bytes, &cuts, &mut cut), expected);
        assert_eq!(whole, cut);
        // Who wants no rows gets the same counts.
        assert_eq!(scan(&bytes, &cuts, &mut ()), expected);
    }

    #[test]
    fn a_short_reply_may_come_byte_by_byte(bytes in reply()) {
        let mut scanner = ReplyScanner::new();
        scanner.start(1);
        let mut buffer = Vec::new();
        for byte in &bytes {
            buffer.push(*byte);
            let scanned = scanner.scan(&buffer, &mut ()).unwrap();
            buffer.drain(..scanned.consumed);
        }
        // A copy may have paused the scan with nothing left to feed.
        while !scanner.is_done() {
            let scanned = scanner.scan(&buffer, &mut ()).unwrap();
            assert!(scanned.consumed > 0);
            buffer.drain(..scanned.consumed);
        }
        assert_eq!(scanner.totals(), scan(&bytes, &[], &mut ()).0);
    }

    #[test]
    fn rows_are_read_as_postgres_protocol_reads_them(
        values in vec(option::of(vec(any::<u8>(), 0..40)), 0..9),
    ) {
        let values: Vec<_> = values.iter().map(Option::as_deref).collect();
        let script = Script::new().row(&values);
        let (frame, _) = next_frame(&script.0).unwrap().unwrap();
        let Message::DataRow(row) = Message::parse(frame).unwrap() else { panic!("not a row") };
        assert_eq!(row.columns().collect::<Vec<_>>(), values);

        let theirs::Message::DataRow(row) = their_message(&script.0) else { panic!("not a row") };
        let mut ranges = row.ranges();
        let mut read = Vec::new();
        while let Some(range) = fallible_iterator::FallibleIterator::next(&mut ranges).unwrap() {
            read.push(range.map(|range| &row.buffer()[range]));
        }
        assert_eq!(read, values);
    }

    #[test]
    fn errors_are_read_as_postgres_protocol_reads_them(fields in vec((1..=255_u8, "[^\0]{0,20}"), 0..9)) {
        let fields: Vec<_> = fields.iter().map(|(code, text)| (*code, text.as_str())).collect();
        let script = Script::new().fields(b'E', &fields);
        let (frame, _) = next_frame(&script.0).unwrap().unwrap();
        let Message::Error(error) = Message::parse(frame).unwrap() else { panic!("not an error") };

        let theirs::Message::ErrorResponse(body) = their_message(&script.0) else { panic!("not an error") };
        let mut read = body.fields();
        for (code, value) in error.iter() {
            let field = fallible_iterator::FallibleIterator::next(&mut read).unwrap().unwrap();
            assert_eq!((field.type_(), field.value_bytes()), (code, value));
        }
        assert!(fallible_iterator::FallibleIterator::next(&mut read).unwrap().is_none());
        assert_eq!(error.iter().count(), fields.len());
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(bytes in vec(any::<u8>(), 0..300)) {
        decode_all(&bytes);
    }

    #[test]
    fn no_damage_to_a_reply_makes_a_machine_panic(
        mut bytes in reply(),
        damage in vec((any::<Index>(), any::<u8>()), 1..6),
    ) {
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        decode_all(&bytes);
        scan_all(&bytes, &mut Diary::default());
        scan_all(&bytes, &mut ());
    }

    #[test]
    fn no_bytes_make_the_scanner_panic(bytes in vec(any::<u8>(), 0..300)) {
        scan_all(&bytes, &mut Diary::default());
        scan_all(&bytes, &mut ());
    }

    #[test]
    fn a_login_may_be_cut_anywhere(cuts in vec(any::<Index>(), 0..6)) {
        let bytes = Script::new().authentication(3, &[]).welcome().empty(b'n').0;
        let mut handshake = Handshake::new(Arc::new(login("secret")));
        let mut sent = Vec::new();
        handshake.poll_output(&mut sent);
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).chain([bytes.len()]).collect();
        cuts.sort_unstable();
        let mut fed = 0;
        for cut in cuts {
            handshake.handle_input(&bytes[fed..cut]).unwrap();
            fed = cut;
        }
        assert!(handshake.is_done());
        let session = handshake.into_session();
        assert_eq!((session.process_id, &session.secret_key[..]), (4711, &[1, 2, 3, 4][..]));
        assert_eq!(session.parameters["server_version"], "18.1");
        assert_eq!(session.leftover, Script::new().empty(b'n').0);
    }

    #[test]
    fn no_bytes_make_a_login_panic(start in any::<bool>(), bytes in vec(any::<u8>(), 0..300)) {
        let mut handshake = Handshake::new(Arc::new(login("secret")));
        if start {
            handshake.poll_output(&mut Vec::new());
        }
        let _ = handshake.handle_input(&bytes);
        handshake.poll_output(&mut Vec::new());
    }

    #[test]
    fn no_damage_to_a_login_makes_it_panic(damage in vec((any::<Index>(), any::<u8>()), 1..6)) {
        let mut bytes = scram_login_bytes();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let mut handshake = Handshake::new(Arc::new(login("secret")));
        handshake.poll_output(&mut Vec::new());
        let _ = handshake.handle_input(&bytes);
        handshake.poll_output(&mut Vec::new());
    }
}

fn their_message(bytes: &[u8]) -> theirs::Message {
    theirs::Message::parse(&mut BytesMut::from(bytes)).unwrap().unwrap()
}

fn decode_all(mut bytes: &[u8]) {
    while let Ok(Some((frame, taken))) = next_frame(bytes) {
        assert!(taken > 4 && taken <= bytes.len());
        // Showing a message walks everything in it.
        let _ = Message::parse(frame).map(|message| format!("{message:?}"));
        bytes = &bytes[taken..];
    }
}

fn scan_all<S: ReplySink>(bytes: &[u8], sink: &mut S) {
    let mut scanner = ReplyScanner::new();
    scanner.start(3);
    let mut at = 0;
    while let Ok(scanned) = scanner.scan(&bytes[at..], sink) {
        at += scanned.consumed;
        if scanned.consumed == 0 || scanned.done {
            break;
        }
    }
}
