//! io_uring in place of epoll: all of this suite over it, and what becomes of it where it is forbidden.

use std::process::{Command, Stdio};
use std::thread;

use dyno_engine::config::EngineConfig;
use dyno_engine::engine::{Engine, POLLER_VARIABLE};
use dyno_results::spec::{End, PollerChoice};

use crate::bank::{Database, closed, config, database, engine, run};

fn over(poller: PollerChoice) -> EngineConfig {
    EngineConfig { poller: Some(poller), ..config(2) }
}

fn started(database: &Database, poller: PollerChoice) -> Engine {
    engine(database, &["SELECT $1::int + $2::int"], over(poller))
}

/// Runs a few transactions on each of many connections.
fn runs(mut engine: Engine) {
    let seen = run(&mut engine, &closed(40, End::TransactionsPerClient(20)));
    assert_eq!((seen.done(), seen.errors.len()), (800, 0), "{:?}", seen.errors);
}

#[test]
fn a_run_has_the_poller_that_it_asks_for() {
    let Some(database) = database("") else { return };
    let epoll = started(&database, PollerChoice::Epoll);
    assert_eq!((epoll.poller(), epoll.no_uring()), (Some(PollerChoice::Epoll), None));
    runs(epoll);
    let ring = started(&database, PollerChoice::Uring);
    let expected = ring.no_uring().map_or(PollerChoice::Uring, |_| PollerChoice::Epoll);
    assert_eq!(ring.poller(), Some(expected), "{:?}", ring.no_uring());
    runs(ring);
}

#[test]
fn where_a_filter_forbids_io_uring_it_is_epoll_and_the_engine_says_why() {
    let Some(database) = database("") else { return };
    // The filter is the thread's and those that it starts.
    let ran = thread::scope(|scope| {
        let filtered = scope.spawn(|| {
            filter::forbid_io_uring();
            let engine = started(&database, PollerChoice::Uring);
            let told = engine.no_uring().map(str::to_owned);
            let poller = engine.poller();
            runs(engine);
            (poller, told)
        });
        filtered.join().unwrap()
    });
    let told = ran.1.unwrap();
    assert_eq!(ran.0, Some(PollerChoice::Epoll));
    assert!(told.contains("seccomp") || told.contains("io_uring_disabled"), "{told}");
}

#[test]
#[ignore = "slow: the whole suite again, over io_uring"]
fn this_suite_over_io_uring() {
    let Some(database) = database("") else { return };
    if let Some(why) = started(&database, PollerChoice::Uring).no_uring() {
        println!("skipped: io_uring cannot be used here: {why}");
        return;
    }
    let suite = Command::new(std::env::current_exe().unwrap())
        .env(POLLER_VARIABLE, PollerChoice::Uring.name())
        // On servers of its own: those of this run have the databases of the tests already.
        .env_remove("DYNO_TEST_RUN")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&suite.stdout);
    assert!(suite.status.success(), "{printed}\n{}", String::from_utf8_lossy(&suite.stderr));
}

mod filter {
    /// `AUDIT_ARCH_X86_64`
    const X86_64: u32 = 0xc000_003e;
    /// Where the data of a system call have its number, and the architecture.
    const NUMBER_AT: u32 = 0;
    const ARCHITECTURE_AT: u32 = 4;

    fn step(code: u32, k: u32, if_so: u8, else_so: u8) -> libc::sock_filter {
        libc::sock_filter { code: code as u16, jt: if_so, jf: else_so, k }
    }

    /// Has this thread's calls of `io_uring_setup` refused, as the default filters of containers do.
    pub(super) fn forbid_io_uring() {
        let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
        let jump = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        let give = libc::BPF_RET | libc::BPF_K;
        let setup = libc::SYS_io_uring_setup as u32;
        let mut steps = [
            step(load, ARCHITECTURE_AT, 0, 0),
            step(jump, X86_64, 0, 3),
            step(load, NUMBER_AT, 0, 0),
            step(jump, setup, 0, 1),
            step(give, libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs(), 0, 0),
            step(give, libc::SECCOMP_RET_ALLOW, 0, 0),
        ];
        let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
        // SAFETY: the program lives until the calls have read it.
        let done = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
        };
        assert!(done, "{}", std::io::Error::last_os_error());
    }
}
