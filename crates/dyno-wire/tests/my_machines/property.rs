//! Where the network cuts the stream makes no difference, and no bytes at all make a machine panic.

use std::sync::Arc;

use dyno_wire::my::capabilities::Capabilities;
use dyno_wire::my::handshake::{Handshake, Options};
use dyno_wire::my::reply::{Expect, ReplyScanner, ReplySink, Totals};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::sample::{Index, select};

use crate::login::{MYSQL_GREETING, login};
use crate::reply::Diary;
use crate::script::{AUTOCOMMIT, MORE, Script};

/// One result; which is the last decides `more`.
#[derive(Debug, Clone)]
enum Part {
    Ok(u8, u8, u16, String),
    Rows(Vec<Vec<Option<Vec<u8>>>>),
}

fn part() -> impl Strategy<Value = Part> {
    let value = option::of(vec(any::<u8>(), 0..300));
    prop_oneof![
        (0..200_u8, 0..200_u8, any::<u16>(), "[a-z :0-9]{0,30}")
            .prop_map(|(a, i, w, t)| Part::Ok(a, i, w, t)),
        (1..4_usize)
            .prop_flat_map(move |columns| vec(vec(value.clone(), columns), 0..8))
            .prop_map(Part::Rows),
    ]
}

fn reply() -> impl Strategy<Value = Script> {
    let end = prop_oneof![Just(None), select(&[1064, 1213, 1317][..]).prop_map(Some)];
    (any::<bool>(), vec(part(), 1..5), end).prop_map(|(eof, parts, error)| {
        let last = parts.len() - 1;
        let mut script = Script::new(eof);
        for (at, part) in parts.iter().enumerate() {
            let status = if at < last || error.is_some() { MORE } else { AUTOCOMMIT };
            script = match part {
                Part::Ok(affected, id, warnings, info) => script.ok(*affected, *id, status, *warnings, info),
                Part::Rows(rows) => {
                    let columns = rows.first().map_or(1, Vec::len);
                    let head = script.columns(&vec![253; columns]);
                    let row = |script: Script, row: &Vec<Option<Vec<u8>>>| {
                        script.text_row(&row.iter().map(Option::as_deref).collect::<Vec<_>>())
                    };
                    rows.iter().fold(head, row).rows_end(status, 1)
                }
            };
        }
        match error {
            Some(number) => script.error(number, "40001", "failed"),
            None => script,
        }
    })
}

/// Feeds `bytes` cut at `cuts`, keeping what stays unconsumed as a receive buffer would.
fn scan<S: ReplySink>(script: &Script, cuts: &[Index], sink: &mut S) -> (Totals, Option<String>, bool) {
    let bytes = &script.bytes;
    let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).chain([bytes.len()]).collect();
    cuts.sort_unstable();
    let mut scanner = ReplyScanner::new(script.agreed());
    scanner.start(Expect::Text);
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
    assert!(buffer.is_empty());
    (scanner.totals(), scanner.error().map(ToString::to_string), done)
}

fn scan_any<S: ReplySink>(bytes: &[u8], agreed: Capabilities, expect: Expect, sink: &mut S) {
    let mut scanner = ReplyScanner::new(agreed);
    scanner.start(expect);
    let mut at = 0;
    while let Ok(scanned) = scanner.scan(&bytes[at..], sink) {
        at += scanned.consumed;
        if scanner.local_infile().is_none() && (scanned.consumed == 0 || scanned.done) {
            break;
        }
    }
}

fn scan_every_way(bytes: &[u8]) {
    for expect in [Expect::Text, Expect::Binary, Expect::Prepared] {
        for agreed in [Capabilities::default(), Capabilities::DEPRECATE_EOF] {
            scan_any(bytes, agreed, expect, &mut Diary::default());
            scan_any(bytes, agreed, expect, &mut ());
        }
    }
}

fn damaged(mut bytes: Vec<u8>, damage: &[(Index, u8)]) -> Vec<u8> {
    for (at, byte) in damage {
        let at = at.index(bytes.len());
        bytes[at] = *byte;
    }
    bytes
}

proptest! {
    #[test]
    fn a_reply_may_be_cut_anywhere(script in reply(), cuts in vec(any::<Index>(), 0..12)) {
        let (mut whole, mut pieces) = (Diary::default(), Diary::default());
        let expected = scan(&script, &[], &mut whole);
        assert!(expected.2);
        assert_eq!(scan(&script, &cuts, &mut pieces), expected);
        assert_eq!(pieces, whole);
        assert_eq!(scan(&script, &cuts, &mut ()), expected);
    }

    #[test]
    fn no_bytes_make_the_scanner_panic(bytes in vec(any::<u8>(), 0..300)) {
        scan_every_way(&bytes);
    }

    /// In good packets with good numbers, so that what is in them is looked at.
    #[test]
    fn no_packets_make_the_scanner_panic(payloads in vec(vec(any::<u8>(), 0..40), 0..12)) {
        let script = payloads.iter().fold(Script::new(true), |script, payload| script.packet(payload));
        scan_every_way(&script.bytes);
    }

    #[test]
    fn no_damage_to_a_reply_makes_the_scanner_panic(
        script in reply(), damage in vec((any::<Index>(), any::<u8>()), 1..6),
    ) {
        scan_every_way(&damaged(script.bytes, &damage));
    }

    #[test]
    fn a_login_may_be_cut_anywhere(cuts in vec(any::<Index>(), 0..6)) {
        let ok = Script::default().numbered(3).packet(b"\x01\x03").ok(0, 0, AUTOCOMMIT, 0, "").packet(b"rest").bytes;
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(ok.len() + 1)).chain([ok.len()]).collect();
        cuts.sort_unstable();
        let mut handshake = Handshake::new(Arc::new(login("secret")), Options::default());
        let mut out = Vec::new();
        for byte in MYSQL_GREETING {
            handshake.handle_input(&[*byte]).unwrap();
            handshake.poll_output(&mut out);
        }
        // The login request has number 1 and the server goes on with 2.
        let mut ok = ok;
        (ok[3], ok[9]) = (2, 3);
        let mut fed = 0;
        for cut in cuts {
            handshake.handle_input(&ok[fed..cut]).unwrap();
            fed = cut;
        }
        assert!(handshake.is_done());
        let session = handshake.into_session();
        assert_eq!((&session.server_version[..], session.connection_id), ("9.7.4-2", 9));
        assert_eq!(&session.leftover[4..], b"rest");
    }

    #[test]
    fn no_bytes_make_a_login_panic(silent in any::<bool>(), greeted in any::<bool>(), bytes in vec(any::<u8>(), 0..300)) {
        let mut handshake = Handshake::new(Arc::new(login("secret")), Options::default());
        if silent {
            handshake.handle_silence();
        }
        if greeted {
            let _ = handshake.handle_input(MYSQL_GREETING);
        }
        let _ = handshake.handle_input(&bytes);
        handshake.poll_output(&mut Vec::new());
    }

    #[test]
    fn no_packets_make_a_login_panic(
        damage in vec((any::<Index>(), any::<u8>()), 0..3), payloads in vec(vec(any::<u8>(), 0..60), 0..4),
    ) {
        let mut handshake = Handshake::new(Arc::new(login("secret")), Options::default());
        let _ = handshake.handle_input(&damaged(MYSQL_GREETING.to_vec(), &damage));
        for (payload, number) in payloads.iter().zip((2..).step_by(2)) {
            let _ = handshake.handle_input(&Script::default().numbered(number).packet(payload).bytes);
            handshake.poll_output(&mut Vec::new());
        }
    }
}
