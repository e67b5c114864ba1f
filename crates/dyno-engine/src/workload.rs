//! What the engine asks of a workload: one [`Client`] per virtual client that says, step by step, what to send
//! next, and hears what came of it. What is sent is opaque to the engine; it never reads SQL.

use std::time::Duration;

use dyno_results::answer::Kind;
use dyno_results::observation;
use dyno_results::spec::Arrivals;

use dyno_wire::server_error::ServerError;

pub use dyno_wire::pg::backend::{NoticeFields, TransactionStatus};
pub use dyno_wire::row::{Field, Fields, Row};

pub use crate::calls::StatementId;
use crate::error::SessionError;
use crate::request::{Request, Statement};
use crate::schedule::Gaps;

/// Something seen while a stage runs.
pub type Observation = observation::Observation<SessionError>;

/// A load that the engine can drive. Shared by all threads.
pub trait Workload: Send + Sync {
    /// Names of the transaction types, indexed by [`TransactionType`]. Never empty.
    fn types(&self) -> &[String];

    /// How many counts of its own the transactions of a type have.
    fn counts(&self, of: TransactionType) -> usize {
        let _ = of;
        0
    }

    /// Statements known before the start, so that each connection can prepare them before the clock runs.
    fn statements(&self) -> &[Statement];

    /// The statement that ends a failed transaction (`ROLLBACK`), sent when an error leaves one open; `None` where each
    /// statement is a transaction by itself.
    fn recovery(&self) -> Option<StatementId> {
        None
    }

    /// Whether a transaction's time runs from [`Client::begin`], with whatever the client does before its first
    /// request, as pgbench counts; else from its first request.
    fn timed_from_begin(&self) -> bool {
        false
    }

    /// Draws the arrivals of an open load for load thread `thread`, where that is to follow the workload's own random
    /// numbers.
    fn gaps(&self, thread: u32, arrivals: &Arrivals) -> Option<Gaps> {
        let _ = (thread, arrivals);
        None
    }

    /// Tells what its clients have observed by themselves since this was last asked, about once a second in a stage and once behind it.
    fn observe(&self, tell: &mut dyn FnMut(Observation)) {
        let _ = tell;
    }

    /// The transactions that its clients wait for now, the longest first, where each is a query of a query set.
    fn queries_under_way(&self) -> Vec<QueryUnderWay> {
        Vec::new()
    }

    /// Makes a virtual client. The same `seed` and `identity.id` give the same sequence of choices.
    fn client(&self, identity: ClientIdentity, seed: u64) -> Box<dyn Client>;
}

/// Which client, and where it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientIdentity {
    /// The client's number: 0, 1, 2, ….
    pub id: u32,
    /// The number of its load thread.
    pub thread: u32,
}

/// A query that a client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryUnderWay {
    pub query: TransactionType,
    /// Since it was begun.
    pub duration: Duration,
    /// The client's load thread.
    pub thread: u32,
}

/// Index into [`Workload::types`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionType(pub u16);

/// One virtual client. Called from one thread only; must not block, and must not allocate after its first
/// transactions.
pub trait Client: Send {
    /// Begins a new transaction: chooses its type and draws what it needs.
    fn begin(&mut self) -> TransactionType;

    /// Begins the same transaction once more, with the same draws, after a serialization failure or deadlock.
    fn begin_again(&mut self);

    /// Says what comes next. `answer` is the server's answer to what was last sent, `None` at the beginning and
    /// after a sleep. It is never an error: of those [`failed`](Self::failed) hears.
    fn next(&mut self, answer: Option<&Answer>, request: &mut Request<'_>) -> Step;

    /// Its connection is there and nothing is prepared on it but [`Workload::statements`]. `took_ns` is the time
    /// from opening the socket until now.
    fn connected(&mut self, took_ns: u64) {
        let _ = took_ns;
    }

    /// A part of an answer: rows where the request asked for them ([`Request::keep_rows`]), notices always.
    fn reply(&mut self, part: Reply<'_>) {
        let _ = part;
    }

    /// The server refused a statement. Unless the client knows better, a failure that another try may heal is
    /// tried again, and any other ends the transaction.
    fn failed(&mut self, failure: &StatementFailure<'_>) -> Reaction {
        if failure.may_retry { Reaction::Retry } else { Reaction::Fail }
    }

    /// Where the statement is written that the server has just refused: see
    /// [`Statement::at`](crate::request::Statement::at).
    fn place(&self) -> Option<Box<str>> {
        None
    }

    /// Why it cannot go on, asked once behind [`Step::Abort`] and [`Step::DoneAndAbort`]; `None` where it has told that
    /// itself.
    fn gave_up(&mut self) -> Option<String> {
        None
    }

    /// Its connection broke, and what was under way with it.
    fn lost(&mut self, error: &SessionError) {
        let _ = error;
    }

    /// The connection that its transaction waited for was not opened. True where it goes on without: then it is asked what
    /// comes next. Else the transaction has failed.
    fn not_connected(&mut self, error: &SessionError) -> bool {
        self.lost(error);
        false
    }

    /// Its transaction has ended, well or by a failure.
    fn ended(&mut self, ended: &EndedTransaction) {
        let _ = ended;
    }

    /// Adds what it has counted within its transaction, which has ended well and was not rolled back, to the
    /// [`counts`](Workload::counts) of its type; asked behind [`ended`](Self::ended).
    fn add_counts(&mut self, counts: &mut [u64]) {
        let _ = counts;
    }

    /// A transaction that was due at `due_ns` came too late to be begun at all
    /// ([`EngineConfig::skip_later_than`](crate::config::EngineConfig::skip_later_than)).
    fn skipped(&mut self, due_ns: u64, now_ns: u64) {
        let _ = (due_ns, now_ns);
    }
}

/// What a client does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Send what was put into the request and wait for the answer.
    Send,
    /// The same, and the transaction's effects may be durable from here on: if the connection is lost before the
    /// answer, the outcome is unknown.
    SendCommit,
    /// Go on with the client's connection of this number, which is opened, anew if it is open already, with nothing
    /// prepared on it but [`Workload::statements`]; then the client is asked again. What was put into the request is not
    /// sent. A client begins with number 0, and its other connections stay as they are.
    Connect(u16),
    /// Go on with that connection as it is; then the client is asked again.
    Use(u16),
    /// Close that connection, which is then the one in use; then the client is asked again.
    Disconnect(u16),
    /// Wait before the next step.
    Sleep(Duration),
    /// The same before anything of the transaction is done: where the stage ends meanwhile, the transaction is none.
    Pause(Duration),
    /// The transaction has ended well.
    Done,
    /// The transaction has ended well, and has undone what it did, by design.
    RolledBack,
    /// The transaction has ended well, and the client cannot go on, now or later: its connection is closed.
    DoneAndAbort,
    /// The client cannot go on, now or later: its transaction has failed and its connection is closed.
    Abort,
}

/// The server's answer to one request, without its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answer {
    /// Statements answered.
    pub statements: u32,
    /// Results with rows, also those with none in them, as far as the protocol tells; of a client's own statement just prepared one that it
    /// will return.
    pub results: u32,
    /// Rows returned.
    pub rows: u64,
    /// Rows inserted, updated or deleted, from the command tags.
    pub affected: u64,
    /// Whether a transaction block is open behind it.
    pub status: TransactionStatus,
}

/// A part of an answer, in the order in which they come.
#[derive(Debug)]
pub enum Reply<'a> {
    /// Rows with so many columns follow.
    Rows(usize),
    /// The name of one of the columns of those rows, or of those that a statement just prepared will have.
    Column(&'a [u8]),
    /// Of what kind the values of the next column are. Before the first row each column has one, where the kinds are known.
    Kind(Kind),
    Row(Row<'a>),
    /// A statement has ended well; its rows, if it has any, came before.
    Complete,
    Notice(NoticeFields<'a>),
    /// A statement copies to the client, which discards the data.
    CopyOut,
}

/// A statement that the server refused.
#[derive(Debug, Clone, Copy)]
pub struct StatementFailure<'a> {
    pub error: &'a ServerError,
    /// Statements of the same request that were answered before it.
    pub statements: u32,
    pub status: TransactionStatus,
    /// Tries so far, this one included.
    pub tries: u32,
    /// The server asks for another try, and the plan allows one; or a cancellation of the statement before hit this one.
    pub may_retry: bool,
    /// The load goes on: neither its time nor its user has ended it.
    pub load_goes_on: bool,
    /// The server cancelled the statement because the engine asked it to: at the time limit, or to end the load.
    pub cancelled: bool,
    /// When the transaction was due, and the answer read.
    pub due_ns: u64,
    pub now_ns: u64,
}

/// What is done about a failure, once a transaction block that it left open is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// Try the same transaction again.
    Retry,
    /// The transaction has failed; the next one follows.
    Fail,
    /// The transaction goes on as if the statement had been answered.
    GoOn,
    /// The client gives up for good.
    Abort,
}

/// A transaction that has ended; times in nanoseconds of the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedTransaction {
    /// False where it failed for good.
    pub well: bool,
    /// When it was due; in a closed loop when it began.
    pub due_ns: u64,
    /// When its time began: see [`Workload::timed_from_begin`].
    pub begun_ns: u64,
    /// When the first row came of the last request that asked for that ([`Request::time_first_row`]); `None` where none did, or
    /// none has come.
    pub first_row_ns: Option<u64>,
    pub ended_ns: u64,
    /// Tries it took.
    pub tries: u32,
}
