//! Frames and messages: which lengths are refused, and how each message is read.

use dyno_wire::pg::backend::{Authentication, Message, Text, TransactionStatus, next_frame};
use dyno_wire::pg::error::{PostgresError, ProtocolError, SqlState, Tag};

use crate::script::{Script, strings};

fn header(tag: u8, length: u32) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes
}

fn parse(script: &Script) -> Result<Message<'_>, ProtocolError> {
    let (frame, taken) = next_frame(&script.0)?.expect("a whole message");
    assert_eq!(taken, script.0.len());
    Message::parse(frame)
}

#[test]
fn an_incomplete_message_is_waited_for() {
    let script = Script::new().complete("SELECT 1");
    for end in 0..script.0.len() {
        assert_eq!(next_frame(&script.0[..end]).unwrap(), None);
    }
    assert!(next_frame(&script.0).unwrap().is_some());
}

#[test]
fn impossible_lengths_are_refused_before_their_body_comes() {
    for tag in 0..=u8::MAX {
        for length in [0, 1, 2, 3, 0x4000_0004, 0x8000_0000, u32::MAX] {
            let error = next_frame(&header(tag, length)).unwrap_err();
            let (ProtocolError::UnknownTag { tag: named, length: said }
            | ProtocolError::FrameLength { tag: named, length: said }) = error
            else {
                panic!("{error}")
            };
            assert_eq!((named, said), (Tag(tag), length));
        }
    }
    for (tag, length) in [(b'Z', 4), (b'Z', 6), (b'1', 5), (b'C', 30_001), (b'K', 265), (b'D', 5), (b'G', 6)]
    {
        assert!(matches!(next_frame(&header(tag, length)), Err(ProtocolError::FrameLength { .. })));
    }
    for (tag, length) in [(b'Z', 5), (b'C', 30_000), (b'K', 264), (b'D', 0x4000_0003), (b'd', 4)] {
        assert!(next_frame(&header(tag, length)).is_ok());
    }
}

#[test]
fn errors_of_the_protocol_name_tag_and_length() {
    assert_eq!(
        next_frame(&header(b'Z', 77)).unwrap_err().to_string(),
        "the server sent message 'Z' with length 77, which that message cannot have"
    );
    // What a web server says to a startup packet.
    assert_eq!(
        next_frame(b"HTTP/1.1 400 Bad Request").unwrap_err().to_string(),
        "the server sent message 'H' with length 1414811695, which that message cannot have"
    );
    assert_eq!(
        next_frame(&header(0x15, 4)).unwrap_err().to_string(),
        "the server sent a message of unknown type 0x15 with length 4; is it PostgreSQL?"
    );
}

#[test]
fn messages_are_read_field_by_field() {
    assert_eq!(parse(&Script::new().ready(b'E')), Ok(Message::ReadyForQuery(TransactionStatus::Failed)));
    assert_eq!(
        parse(&Script::new().key(-5, &[9; 256])),
        Ok(Message::BackendKeyData { process_id: -5, secret_key: &[9; 256] })
    );
    assert_eq!(
        parse(&Script::new().authentication(5, &[1, 2, 3, 4])),
        Ok(Message::Authentication(Authentication::Md5Password { salt: [1, 2, 3, 4] }))
    );
    assert_eq!(
        parse(&Script::new().authentication(9, b"whatever")),
        Ok(Message::Authentication(Authentication::Other(9)))
    );
    let mut negotiation = vec![0, 0, 0, 0, 0, 0, 0, 1];
    negotiation.extend_from_slice(&strings(&["_pq_.gadget"]));
    assert_eq!(
        parse(&Script::new().message(b'v', &negotiation)),
        Ok(Message::NegotiateProtocolVersion { minor: 0, unknown_options: 1 })
    );
    assert_eq!(
        parse(&Script::new().notification(3, "c", "")),
        Ok(Message::Notification { process_id: 3, channel: Text(b"c"), payload: Text(b"") })
    );
}

#[test]
fn a_column_has_its_name_and_its_type() {
    let mut body = vec![0, 1];
    body.extend_from_slice(&strings(&["größe"]));
    body.extend_from_slice(&[0, 0, 0x40, 1, 0, 3, 0, 0, 0, 23, 0, 4, 0xff, 0xff, 0xff, 0xff, 0, 1]);
    let script = Script::new().message(b'T', &body);
    let Message::RowDescription(columns) = parse(&script).unwrap() else { panic!("not a description") };
    let column = columns.columns().next().unwrap();
    assert_eq!(columns.len(), 1);
    assert_eq!(column.name.lossy(), "größe");
    assert_eq!(column.type_oid, 23);
}

#[test]
fn a_statement_that_was_described_has_its_parameters() {
    for (body, parameters) in [(&[0, 0][..], 0), (&[0, 2, 0, 0, 0, 23, 0, 0, 0, 25], 2)] {
        let script = Script::new().message(b't', body);
        assert_eq!(parse(&script).unwrap(), Message::ParameterDescription { parameters });
    }
}

#[test]
fn trailing_and_missing_bytes_are_malformed() {
    for script in [
        Script::new().message(b'S', b"only one\0"),
        Script::new().message(b'S', b"one\0two\0three\0"),
        Script::new().message(b'S', b"one\0two"),
        Script::new().message(b'G', &[0, 0, 2, 0, 0]),
        Script::new().message(b'R', &[0, 0, 0, 5, 1, 2]),
        Script::new().message(b'D', &[0, 1, 0xff, 0xff, 0xff, 0xfe]),
        Script::new().message(b'D', &[0, 0, 1]),
        Script::new().message(b'E', b"Mno end"),
        Script::new().message(b'E', b"M\0"),
        Script::new().message(b'T', &[0, 1, b'a', 0, 1]),
        Script::new().message(b't', &[0, 1, 0, 0]),
        Script::new().message(b't', &[0, 0, 0]),
    ] {
        assert!(matches!(parse(&script), Err(ProtocolError::Malformed { .. })), "{script:?}");
    }
}

#[test]
fn an_error_keeps_every_field() {
    let fields = [
        (b'S', "FEHLER"),
        (b'V', "ERROR"),
        (b'C', "23505"),
        (b'M', "m"),
        (b'D', "d"),
        (b'H', "h"),
        (b'P', "17"),
        (b'p', "18"),
        (b'q', "q"),
        (b'W', "w"),
        (b's', "s"),
        (b't', "t"),
        (b'c', "c"),
        (b'd', "dt"),
        (b'n', "n"),
        (b'F', "f.c"),
        (b'L', "99"),
        (b'R', "r"),
        (b'z', "of a later version"),
    ];
    let script = Script::new().fields(b'E', &fields);
    let Message::Error(found) = parse(&script).unwrap() else { panic!("not an error") };
    assert_eq!(found.iter().count(), fields.len());
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        PostgresError::from(found),
        PostgresError {
            severity: "ERROR".to_owned(),
            code: SqlState::from_bytes(b"23505"),
            message: "m".to_owned(),
            detail: text("d"),
            hint: text("h"),
            position: Some(17),
            internal_position: Some(18),
            internal_query: text("q"),
            context: text("w"),
            routine: text("r"),
        }
    );
}

#[test]
fn a_garbled_sqlstate_is_unknown() {
    for code in [&b""[..], b"4000", b"400011", b"40\xff01", b"40 01"] {
        assert_eq!(SqlState::from_bytes(code), SqlState::UNKNOWN);
    }
    assert_eq!(SqlState::from_bytes(b"40001").as_str(), "40001");
    assert_eq!(format!("{:?}", SqlState::from_bytes(b"40P01")), "\"40P01\"");
}
