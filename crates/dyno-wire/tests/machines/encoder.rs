//! What we write, byte for byte against postgres-protocol's encoder; and what a hostile text can do.

use bytes::BytesMut;
use dyno_wire::pg::frontend::{self, BindWriter};
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend as theirs;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{any, proptest};

fn ours(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = b"before".to_vec();
    write(&mut out);
    out.split_off(b"before".len())
}

fn reference(write: impl FnOnce(&mut BytesMut)) -> Vec<u8> {
    let mut out = BytesMut::new();
    write(&mut out);
    out.to_vec()
}

fn reference_bind(portal: &str, statement: &str, values: &[Option<Vec<u8>>]) -> Vec<u8> {
    let value = |value: &Option<Vec<u8>>, out: &mut BytesMut| {
        Ok(value.as_ref().map_or(IsNull::Yes, |value| {
            out.extend_from_slice(value);
            IsNull::No
        }))
    };
    reference(|out| {
        assert!(theirs::bind(portal, statement, [], values, value, [], out).is_ok());
    })
}

proptest! {
    #[test]
    fn texts_and_values_are_written_as_postgres_protocol_writes_them(
        name in "[^\0]{0,40}",
        sql in "[^\0]{0,200}",
        types in vec(any::<u32>(), 0..5),
        values in vec(option::of(vec(any::<u8>(), 0..50)), 0..8),
        data in vec(any::<u8>(), 0..100),
        rows_max in 0..=i32::MAX,
    ) {
        let same = [
            (ours(|out| frontend::query(out, &sql)), reference(|out| theirs::query(&sql, out).unwrap())),
            (
                ours(|out| frontend::parse(out, &name, &sql, &types)),
                reference(|out| theirs::parse(&name, &sql, types.iter().copied(), out).unwrap()),
            ),
            (
                ours(|out| frontend::bind(out, &name, &sql, values.iter().map(Option::as_deref))),
                reference_bind(&name, &sql, &values),
            ),
            (
                ours(|out| frontend::execute(out, &name, rows_max.unsigned_abs())),
                reference(|out| theirs::execute(&name, rows_max, out).unwrap()),
            ),
            (
                ours(|out| frontend::describe_portal(out, &name)),
                reference(|out| theirs::describe(b'P', &name, out).unwrap()),
            ),
            (
                ours(|out| frontend::close_statement(out, &name)),
                reference(|out| theirs::close(b'S', &name, out).unwrap()),
            ),
            (
                ours(|out| frontend::copy_data(out, &data)),
                reference(|out| theirs::CopyData::new(&data[..]).unwrap().write(out)),
            ),
            (
                ours(|out| frontend::copy_fail(out, &sql)),
                reference(|out| theirs::copy_fail(&sql, out).unwrap()),
            ),
            (
                ours(|out| frontend::password(out, &sql)),
                reference(|out| theirs::password_message(sql.as_bytes(), out).unwrap()),
            ),
            (
                ours(|out| frontend::sasl_initial_response(out, &name, &data)),
                reference(|out| theirs::sasl_initial_response(&name, &data, out).unwrap()),
            ),
            (
                ours(|out| frontend::sasl_response(out, &data)),
                reference(|out| theirs::sasl_response(&data, out).unwrap()),
            ),
            (
                ours(|out| frontend::startup(out, [("user", name.as_str()), ("database", sql.as_str())])),
                reference(|out| {
                    theirs::startup_message([("user", name.as_str()), ("database", sql.as_str())], out).unwrap();
                }),
            ),
        ];
        for (ours, theirs) in same {
            assert_eq!(ours, theirs);
        }
    }
}

#[test]
fn messages_without_content_are_written_as_postgres_protocol_writes_them() {
    assert_eq!(ours(frontend::sync), reference(theirs::sync));
    assert_eq!(ours(frontend::flush), reference(theirs::flush));
    assert_eq!(ours(frontend::copy_done), reference(theirs::copy_done));
    assert_eq!(ours(frontend::terminate), reference(theirs::terminate));
    assert_eq!(ours(frontend::ssl_request), reference(theirs::ssl_request));
    assert_eq!(
        ours(|out| frontend::cancel_request(out, 77, &0x0102_0304_i32.to_be_bytes())),
        reference(|out| theirs::cancel_request(77, 0x0102_0304, out))
    );
}

#[test]
fn a_cancel_request_carries_a_key_of_any_length() {
    let message = ours(|out| frontend::cancel_request(out, 77, &[5; 256]));
    assert_eq!(message.len(), 4 + 4 + 4 + 256);
    assert_eq!(message[..4], 268_u32.to_be_bytes());
    assert_eq!(message[12..], [5; 256]);
}

#[test]
fn numbers_are_bound_as_their_text() {
    let written = ours(|out| {
        let mut bind = BindWriter::new(out, "", "s");
        bind.integer(i64::MIN);
        bind.null();
        bind.text(b"x");
        bind.finish();
    });
    let values = [Some(b"-9223372036854775808".to_vec()), None, Some(b"x".to_vec())];
    assert_eq!(written, reference_bind("", "s", &values));
}

#[test]
fn a_string_ends_at_its_first_nul() {
    let written = ours(|out| frontend::startup(out, [("user", "me\0replication\0true")]));
    assert_eq!(written, ours(|out| frontend::startup(out, [("user", "me")])));
    assert_eq!(ours(|out| frontend::query(out, "a\0b")), ours(|out| frontend::query(out, "a")));
}
