//! Following a MySQL reply and writing a command into a buffer that has grown to its size allocate nothing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use dyno_wire::my::backend::ResultRow;
use dyno_wire::my::capabilities::Capabilities;
use dyno_wire::my::execution::Execution;
use dyno_wire::my::frontend::{self, ExecuteWriter};
use dyno_wire::my::reply::{Expect, ReplyScanner, ReplySink};

/// Counts what each thread allocates.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations(job: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    job();
    ALLOCATIONS.with(Cell::get) - before
}

/// Looks at every value.
struct Columns(usize);

impl ReplySink for Columns {
    const WANTS_ROWS: bool = true;

    fn row(&mut self, row: ResultRow<'_>) {
        self.0 += row.columns().count();
    }
}

/// MariaDB's answer to `select 1`.
const REPLY: &[u8] = b"\x01\0\0\x01\x01\x17\0\0\x02\x03def\0\0\0\x011\0\x0c?\0\x01\0\0\0\x03\x81\0\0\0\0\
    \x05\0\0\x03\xfe\0\0\x02\0\x02\0\0\x04\x011\x05\0\0\x05\xfe\0\0\x02\0";

#[test]
fn following_a_reply_allocates_nothing() {
    let mut scanner = ReplyScanner::new(Capabilities::default());
    let mut columns = Columns(0);
    let mut once = || {
        scanner.start(Expect::Text);
        assert!(scanner.scan(black_box(REPLY), &mut ()).unwrap().done);
        // Two commands at once, and with rows.
        scanner.start(Expect::Text);
        scanner.extend(Expect::Text);
        assert!(!scanner.scan(black_box(REPLY), &mut columns).unwrap().done);
        assert!(scanner.scan(black_box(REPLY), &mut columns).unwrap().done);
    };
    // What it keeps of columns and commands grows to its size.
    once();
    let count = allocations(|| (0..100).for_each(|_| once()));
    assert_eq!((count, columns.0, scanner.totals().rows), (0, 202, 2));
}

#[test]
fn writing_a_command_into_a_used_buffer_allocates_nothing() {
    let mut out = Vec::with_capacity(1024);
    let execution = Execution::new(3);
    let count = allocations(|| {
        for number in 0..100 {
            out.clear();
            let mut writer = ExecuteWriter::new(&mut out, 1, 3);
            writer.integer(number);
            writer.text(b"text");
            writer.null();
            writer.finish();
            execution.write(&mut out, 1, &[1, 2, number]);
            frontend::query(&mut out, "SELECT 1");
            frontend::stmt_close(&mut out, 1);
        }
    });
    assert_eq!(count, 0);
    // The counter itself works.
    assert_eq!(allocations(|| drop(black_box(vec![0_u8; 10]))), 1);
}
