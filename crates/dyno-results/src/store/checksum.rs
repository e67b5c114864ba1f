//! Checksums of rows (CRC-32): figures are computed from what is stored, and a number that has changed since is still a number.
//! Each covers what the row says, whose run it is, and where it and the row before it stand, so that a row is not taken for
//! another and a missing one is noticed.

use flate2::Crc;

/// The checksum of a row of a run: its numbers, and its texts with their lengths.
pub(super) fn checksum(run: &str, numbers: &[i64], texts: &[&[u8]]) -> i64 {
    let mut sum = Crc::new();
    for text in [run.as_bytes()].iter().chain(texts) {
        sum.update(&text.len().to_le_bytes());
        sum.update(text);
    }
    numbers.iter().for_each(|number| sum.update(&number.to_le_bytes()));
    i64::from(sum.sum())
}

/// Of an event, `before` being the `seq` of the one before it, -1 for the first.
pub(super) fn of_event(run: &str, before: i64, seq: i64, at_ms: i64, [kind, body]: [&[u8]; 2]) -> i64 {
    checksum(run, &[before, seq, at_ms], &[kind, body])
}

/// Of a row of the table of runs: its columns `started_at`, `outcome`, `reason` and `summary`.
pub(super) fn of_run(run: &str, columns: [Option<&[u8]>; 4]) -> i64 {
    checksum(run, &[], &columns.map(Option::unwrap_or_default))
}

/// Of what the rare events of a run are, up to one more of them: 0 for none.
pub(super) fn of_rare(run: &str, before: i64, event: i64) -> i64 {
    checksum(run, &[before, event], &[])
}

/// Of a block, `before` being the `seq` of the one before it, -1 for the first, and `rare` what [`of_rare`] has come to.
pub(super) fn of_block(run: &str, [before, seq, format]: [i64; 3], rare: i64, content: &[u8]) -> i64 {
    checksum(run, &[before, seq, format, rare], &[content])
}
