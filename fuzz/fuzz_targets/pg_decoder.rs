//! Any bytes as a stream of server messages: each is read in full or refused, and none panics.

#![no_main]

use std::hint::black_box;

use dyno_wire::pg::backend::{Message, next_frame};
use dyno_wire::pg::error::PostgresError;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    while let Ok(Some((frame, taken))) = next_frame(rest) {
        assert!(taken == frame.body.len() + 5 && taken <= rest.len());
        match Message::parse(frame) {
            Ok(Message::DataRow(row)) => assert_eq!(row.columns().count(), row.len()),
            Ok(Message::RowDescription(columns)) => assert_eq!(columns.columns().count(), columns.len()),
            Ok(Message::Error(fields) | Message::Notice(fields)) => {
                black_box(PostgresError::from(fields).to_string());
            }
            Ok(Message::CommandComplete(tag)) => {
                black_box((tag.command(), tag.rows()));
            }
            Ok(message) => {
                black_box(format!("{message:?}"));
            }
            Err(error) => {
                black_box(error.to_string());
            }
        }
        rest = &rest[taken..];
    }
});
