//! io_uring in place of epoll: when it is used, and what becomes of it where it is forbidden.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use dyno_engine::config::EngineConfig;
use dyno_engine::engine::Engine;
use dyno_engine::request::{Request, Statement};
use dyno_engine::workload::{
    Answer, Client, ClientIdentity, EndedTransaction, StatementId, Step, TransactionType, Workload,
};
use dyno_results::spec::{End, PollerChoice, Protocol};

use crate::bank::{Database, closed, config, database, engine, run};

fn over(poller: PollerChoice) -> EngineConfig {
    EngineConfig { poller: Some(poller), ..config(2) }
}

fn started(database: &Database, poller: PollerChoice) -> Engine {
    engine(database, &["SELECT $1::int + $2::int"], over(poller))
}

/// Runs a few transactions on each of so many connections.
fn runs(engine: &mut Engine, clients: u32) {
    let seen = run(engine, &closed(clients, End::TransactionsPerClient(20)));
    assert_eq!((seen.done(), seen.errors.len()), (u64::from(clients) * 20, 0), "{:?}", seen.errors);
}

/// What an engine uses that asks for a ring.
fn uring_or_epoll(database: &Database) -> PollerChoice {
    let mut engine = started(database, PollerChoice::Uring);
    runs(&mut engine, 1);
    let expected = engine.no_uring().map_or(PollerChoice::Uring, |_| PollerChoice::Epoll);
    assert_eq!(engine.poller(), Some(expected), "{:?}", engine.no_uring());
    expected
}

#[test]
fn a_run_has_the_poller_that_it_asks_for() {
    let Some(database) = database("") else { return };
    let mut epoll = started(&database, PollerChoice::Epoll);
    runs(&mut epoll, 40);
    assert_eq!((epoll.poller(), epoll.no_uring()), (Some(PollerChoice::Epoll), None));
    if uring_or_epoll(&database) == PollerChoice::Epoll {
        println!("skipped: io_uring cannot be used here");
    }
}

#[test]
fn with_more_connections_the_same_ones_are_moved_to_a_ring() {
    let Some(database) = database("") else { return };
    let expected = uring_or_epoll(&database);
    let backends = || {
        database.psql("SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY 1")
    };
    let mut engine = started(&database, PollerChoice::Auto);
    runs(&mut engine, 2);
    assert_eq!(engine.poller(), Some(PollerChoice::Epoll));
    let before = backends();
    runs(&mut engine, 40);
    assert_eq!((engine.poller(), engine.no_uring()), (Some(expected), None));
    let after = backends();
    assert!(before.lines().all(|pid| after.lines().any(|now| now == pid)), "{before}\n{after}");
    // It stays over the ring with fewer.
    runs(&mut engine, 2);
    assert_eq!(engine.poller(), Some(expected));
}

#[test]
fn where_a_filter_forbids_io_uring_it_is_epoll_and_the_engine_says_why() {
    let Some(database) = database("") else { return };
    let Some(machine) = filter::machine() else {
        println!("skipped: no filter is known for this kind of processor");
        return;
    };
    for call in [libc::SYS_io_uring_setup, libc::SYS_io_uring_register, libc::SYS_io_uring_enter] {
        // The filter is the thread's and those that it starts.
        let (poller, told) = thread::scope(|scope| {
            let filtered = scope.spawn(|| {
                filter::forbid(machine, call);
                let mut auto = started(&database, PollerChoice::Auto);
                runs(&mut auto, 40);
                assert_eq!((auto.poller(), auto.no_uring()), (Some(PollerChoice::Epoll), None));
                let mut engine = started(&database, PollerChoice::Uring);
                runs(&mut engine, 40);
                (engine.poller(), engine.no_uring().map(str::to_owned))
            });
            filtered.join().unwrap()
        });
        let told = told.unwrap();
        assert_eq!(poller, Some(PollerChoice::Epoll));
        let reasons = ["seccomp", "io_uring_disabled", "Linux 6.15"];
        assert!(reasons.iter().any(|reason| told.contains(reason)), "{told}");
    }
}

/// Requests that fit into a batch from some clients, and from others such as do not. Counts the transactions whose time begins
/// before they do.
struct LargeAndSmall {
    statements: [Statement; 2],
    types: [String; 1],
    too_early: Arc<AtomicU64>,
}

struct OneSize {
    statement: StatementId,
    sent: bool,
    too_early: Arc<AtomicU64>,
}

impl Workload for LargeAndSmall {
    fn types(&self) -> &[String] {
        &self.types
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn client(&self, identity: ClientIdentity, _seed: u64) -> Box<dyn Client> {
        let statement = StatementId(u16::from(identity.id.is_multiple_of(3)));
        Box::new(OneSize { statement, sent: false, too_early: Arc::clone(&self.too_early) })
    }
}

impl Client for OneSize {
    fn begin(&mut self) -> TransactionType {
        self.sent = false;
        TransactionType(0)
    }

    fn begin_again(&mut self) {
        self.sent = false;
    }

    fn next(&mut self, _answer: Option<&Answer>, request: &mut Request<'_>) -> Step {
        if std::mem::replace(&mut self.sent, true) {
            return Step::Done;
        }
        request.execute(self.statement, &[]);
        Step::Send
    }

    fn ended(&mut self, ended: &EndedTransaction) {
        if ended.begun_ns < ended.due_ns {
            self.too_early.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn no_request_has_left_before_it_was_made_be_it_large_or_small() {
    let Some(database) = database("") else { return };
    for poller in [PollerChoice::Epoll, PollerChoice::Uring] {
        let too_early = Arc::new(AtomicU64::new(0));
        let large = format!("SELECT length('{}')", "x".repeat(40_000));
        let statements = [Statement::text("SELECT 1"), Statement::text(&large)];
        let types = ["only".to_owned()];
        let workload: Arc<dyn Workload> =
            Arc::new(LargeAndSmall { statements, types, too_early: Arc::clone(&too_early) });
        let config = EngineConfig { protocol: Protocol::Simple, ..over(poller) };
        let mut engine = Engine::start(&database.endpoint(), &workload, config).unwrap();
        let seen = run(&mut engine, &closed(60, End::TransactionsPerClient(50)));
        assert_eq!((seen.done(), seen.errors.len()), (3000, 0), "{:?}", seen.errors);
        assert_eq!(too_early.load(Ordering::Relaxed), 0, "{poller:?}");
    }
}

mod filter {
    /// By which the filter knows calls of this kind of processor: `AUDIT_ARCH_X86_64`, `AUDIT_ARCH_AARCH64`.
    pub(super) fn machine() -> Option<u32> {
        if cfg!(target_arch = "x86_64") {
            Some(0xc000_003e)
        } else if cfg!(target_arch = "aarch64") {
            Some(0xc000_00b7)
        } else {
            None
        }
    }

    /// Where the data of a system call have its number, and the architecture.
    const NUMBER_AT: u32 = 0;
    const ARCHITECTURE_AT: u32 = 4;

    fn step(code: u32, k: u32, if_so: u8, else_so: u8) -> libc::sock_filter {
        libc::sock_filter { code: code as u16, jt: if_so, jf: else_so, k }
    }

    /// Has such calls of this thread refused, as the default filters of containers do with those of io_uring.
    pub(super) fn forbid(machine: u32, call: libc::c_long) {
        let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
        let jump = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        let give = libc::BPF_RET | libc::BPF_K;
        let mut steps = [
            step(load, ARCHITECTURE_AT, 0, 0),
            step(jump, machine, 0, 3),
            step(load, NUMBER_AT, 0, 0),
            step(jump, call as u32, 0, 1),
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
