//! What the engine asks of a workload: statements, and one [`Client`] per virtual client that says, step by
//! step, what to send next. Statements are opaque to the engine; it never reads SQL.

use std::time::Duration;

use crate::request::{Request, Statement};

/// A load that the engine can drive. Shared by all threads.
pub trait Workload: Send + Sync {
    /// Names of the transaction types, indexed by [`TransactionType`]. Never empty.
    fn types(&self) -> &[String];

    /// All statements, known before the start so that each connection can prepare them before the clock runs.
    fn statements(&self) -> &[Statement];

    /// The statement that ends a failed transaction (`ROLLBACK`), sent when an error leaves one open.
    fn recovery(&self) -> Option<StatementId>;

    /// Makes virtual client `id` (0, 1, 2, …). The same `seed` and `id` give the same sequence of choices.
    fn client(&self, id: u32, seed: u64) -> Box<dyn Client>;
}

/// Index into [`Workload::statements`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementId(pub u16);

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
    /// after a sleep. It is never an error: those the engine handles by itself.
    fn next(&mut self, answer: Option<&Answer>, request: &mut Request<'_>) -> Step;
}

/// What a client does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Send what was put into the request and wait for the answer.
    Send,
    /// The same, and the transaction's effects may be durable from here on: if the connection is lost before the
    /// answer, the outcome is unknown.
    SendCommit,
    /// Wait before the next step.
    Sleep(Duration),
    /// The transaction has ended well.
    Done,
}

/// The server's answer to one request, without its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answer {
    /// Statements answered.
    pub statements: u32,
    /// Rows returned.
    pub rows: u64,
    /// Rows inserted, updated or deleted, from the command tags.
    pub affected: u64,
}
