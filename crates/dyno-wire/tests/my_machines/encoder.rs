//! Commands, byte by byte.

use dyno_wire::my::execution::Execution;
use dyno_wire::my::frontend::{self, ExecuteWriter};
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert_eq, proptest};

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

#[test]
fn commands_are_a_number_and_a_body() {
    assert_eq!(written(frontend::quit), b"\x01\0\0\0\x01");
    assert_eq!(written(|out| frontend::query(out, "select 1")), b"\x09\0\0\0\x03select 1");
    assert_eq!(written(|out| frontend::stmt_prepare(out, "x")), b"\x02\0\0\0\x16x");
    assert_eq!(written(|out| frontend::stmt_close(out, 0x102)), b"\x05\0\0\0\x19\x02\x01\0\0");
}

#[test]
fn an_execution_has_nulls_then_types_then_values() {
    let execution = written(|out| {
        let mut writer = ExecuteWriter::new(out, 7, 9);
        writer.integer(-1);
        writer.unsigned(2);
        writer.double(0.5);
        writer.null();
        writer.text(b"abc");
        (0..3).for_each(|_| writer.null());
        // The ninth is not given, which is NULL too.
        writer.finish();
    });
    let expected = [
        &b"\x3b\0\0\0\x17\x07\0\0\0\0\x01\0\0\0"[..],
        &[0b1110_1000, 1, 1],
        &[8, 0, 8, 0x80, 5, 0, 6, 0, 253, 0, 6, 0, 6, 0, 6, 0, 6, 0],
        &(-1_i64).to_le_bytes(),
        &2_u64.to_le_bytes(),
        &0.5_f64.to_le_bytes(),
        b"\x03abc",
    ]
    .concat();
    assert_eq!(execution, expected);
    let bare = written(|out| ExecuteWriter::new(out, 7, 0).finish());
    assert_eq!(bare, b"\x0a\0\0\0\x17\x07\0\0\0\0\x01\0\0\0");
}

#[test]
fn parameters_beyond_the_count_are_left_out() {
    let write = |extra: bool| {
        written(|out| {
            let mut writer = ExecuteWriter::new(out, 1, 1);
            writer.text(b"a");
            if extra {
                writer.integer(1);
                writer.null();
            }
            writer.finish();
        })
    };
    assert_eq!(write(true), write(false));
}

proptest! {
    #[test]
    fn an_execution_made_beforehand_is_what_the_writer_writes(
        statement in any::<u32>(), values in vec(any::<i64>(), 0..70)
    ) {
        let parameters = u16::try_from(values.len()).unwrap();
        let mut single = b"before".to_vec();
        let mut writer = ExecuteWriter::new(&mut single, statement, parameters);
        values.iter().for_each(|value| writer.integer(*value));
        writer.finish();
        let mut together = b"before".to_vec();
        Execution::new(parameters).write(&mut together, statement, &values);
        prop_assert_eq!(together, single);
    }
}
