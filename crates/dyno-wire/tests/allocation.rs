//! Following a reply and writing a request into a buffer that has grown to its size allocate nothing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use dyno_wire::pg::backend::DataRow;
use dyno_wire::pg::frontend::{self, BindWriter};
use dyno_wire::pg::reply::{ReplyScanner, ReplySink};

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
struct Rows(usize);

impl ReplySink for Rows {
    const WANTS_ROWS: bool = true;

    fn row(&mut self, row: DataRow<'_>) {
        self.0 += row.columns().flatten().map(<[u8]>::len).sum::<usize>();
    }
}

/// ParseComplete, BindComplete, NoticeResponse, a row of `12` and NULL, CommandComplete, ReadyForQuery.
const REPLY: &[u8] = b"1\0\0\0\x042\0\0\0\x04N\0\0\0\x08Mx\0\0\
    D\0\0\0\x10\0\x02\0\0\0\x0212\xff\xff\xff\xffC\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";

#[test]
fn following_a_reply_allocates_nothing() {
    let mut scanner = ReplyScanner::new();
    let mut rows = Rows(0);
    let count = allocations(|| {
        for _ in 0..100 {
            scanner.start(1);
            assert!(scanner.scan(black_box(REPLY), &mut ()).unwrap().done);
            scanner.start(1);
            assert!(scanner.scan(black_box(REPLY), &mut rows).unwrap().done);
        }
    });
    assert_eq!((count, rows.0, scanner.totals().rows), (0, 200, 1));
}

#[test]
fn writing_a_request_into_a_used_buffer_allocates_nothing() {
    let mut out = Vec::with_capacity(1024);
    let count = allocations(|| {
        for number in 0..100 {
            out.clear();
            let mut bind = BindWriter::new(&mut out, "", "statement");
            bind.integer(number);
            bind.text(b"text");
            bind.null();
            bind.finish();
            frontend::execute(&mut out, "", 0);
            frontend::sync(&mut out);
            frontend::query(&mut out, "SELECT 1");
        }
    });
    assert_eq!(count, 0);
    // The counter itself works.
    assert_eq!(allocations(|| drop(black_box(vec![0_u8; 10]))), 1);
}
