//! What a script counts by itself, and asks of what was counted: `sb_counter_inc` and its like.

use crate::sysbench::counters::{ClientCounters, Counted};

/// Most that a script may count at once: far from where a sum would overflow.
const BY_MAX: u64 = 1 << 32;

/// By sysbench's number of the counter; bytes, which later versions count, are not counted here.
pub(super) fn count_own(counters: &ClientCounters, counter: i64, by: u64) {
    if let Some(counted) = Counted::numbered(counter) {
        counters.add(counted, by.min(BY_MAX));
    }
}

/// By the number of the script's thread.
pub(super) fn counted(counters: &ClientCounters, thread: i64, counter: i64) -> u64 {
    let client = usize::try_from(thread).ok();
    client.zip(Counted::numbered(counter)).map_or(0, |(client, counter)| counters.counted_of(client, counter))
}
