//! Queries that are run in passes: a transaction is one query, of one statement or several, and a pass is all of them. Each client goes through them in an
//! order of its own. What they return is told, and what the server says to those that fail. Knows no data and opens no socket.

mod answers;
mod folder;
mod parameters;
mod running;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dyno_engine::error::SessionError;
use dyno_engine::request::{QueryKind, Request, Statement};
use dyno_engine::workload::{
    Answer as Answered, Client, ClientIdentity, EndedTransaction, Observation, QueryUnderWay, Reaction,
    Reply, StatementFailure, StatementId, Step, TransactionStatus, TransactionType, Workload,
};
use dyno_results::event::QueryAnswer;
use dyno_results::observation::FailedQuery;
use dyno_target::cause::Cause;
use dyno_wire::server_error::ServerError;

use crate::benchmark::NamedQuery;

pub use folder::{QueryFolder, QueryFolderError};
pub(crate) use parameters::{quoted_names, replace};

use answers::Answer;
use running::{RunningQueries, RunningQueryPlace};

/// What helps a query that ran out of memory.
const MORE_MEMORY: &str = "raise what the server or a query may take of the memory (its memory limit), \
                           let it use temporary files, or run fewer clients";

/// A query as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Query {
    /// Its place among the names of the set.
    pub place: u16,
    /// What its session is told before it. Together they are one request: what a setting costs beside a query cannot be seen.
    pub setting: Option<String>,
    /// One after the other, at least one: each is a request, and their times are one.
    pub statements: Vec<QueryStatement>,
    /// The values in it that another run may have otherwise.
    pub parameters: Vec<String>,
}

/// A statement of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueryStatement {
    pub sql: String,
    pub kind: QueryKind,
}

impl Query {
    /// Of one statement, without parameters.
    pub(crate) fn one(place: u16, sql: String, kind: QueryKind) -> Self {
        let statements = vec![QueryStatement { sql, kind }];
        Self { place, setting: None, statements, parameters: Vec::new() }
    }

    pub(crate) fn only_reads(&self) -> bool {
        self.statements.iter().all(|statement| statement.kind == QueryKind::Read)
    }

    /// The place of the statement whose answer is kept: the last that reads, or where none does, the last.
    fn answering(&self) -> usize {
        let reads = |statement: &QueryStatement| statement.kind == QueryKind::Read;
        self.statements.iter().rposition(reads).unwrap_or(self.statements.len() - 1)
    }

    /// Its statements as a text.
    pub(crate) fn sql(&self) -> String {
        self.statements.iter().map(|statement| statement.sql.as_str()).collect::<Vec<_>>().join(";\n")
    }

    /// As it is sent, with its setting.
    fn text(&self) -> String {
        self.setting.iter().cloned().chain([self.sql()]).collect::<Vec<_>>().join("; ")
    }

    /// The request with the statement at a place.
    fn request(&self, place: usize) -> Option<(Cow<'_, str>, QueryKind)> {
        let QueryStatement { sql, kind } = self.statements.get(place)?;
        let text = match self.setting.as_ref().filter(|_| place == 0) {
            Some(setting) => format!("{setting}; {sql}").into(),
            None => sql.as_str().into(),
        };
        Some((text, *kind))
    }
}

/// The queries of a pass of one client, in their order, by the client's number and the seed of the run.
type OfClient = dyn Fn(u32, u64) -> Vec<Query> + Send + Sync;

/// Says of an answer whether it is right.
type Validate = fn(&mut QueryAnswer);

/// A load of queries.
#[derive(Clone)]
pub(crate) struct QueryLoad {
    names: Arc<[String]>,
    of_client: Arc<OfClient>,
    /// Ends the transaction of a query that fails in one that it has begun.
    rollback: Option<Statement>,
    validate: Option<Validate>,
    /// What the clients have observed and nobody has been told yet.
    observed: Arc<Observed>,
    running: Arc<RunningQueries>,
}

#[derive(Default)]
struct Observed(Mutex<Vec<Observation>>);

impl Observed {
    fn lock(&self) -> MutexGuard<'_, Vec<Observation>> {
        // It is whole whoever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueryLoad {
    /// Of queries with these names; each client has at least one.
    pub(crate) fn new(
        names: impl IntoIterator<Item = String>,
        of_client: impl Fn(u32, u64) -> Vec<Query> + Send + Sync + 'static,
    ) -> Self {
        let names = names.into_iter().collect();
        Self {
            names,
            of_client: Arc::new(of_client),
            rollback: None,
            validate: None,
            observed: Arc::default(),
            running: Arc::default(),
        }
    }

    pub(crate) fn validated(self, validate: Option<Validate>) -> Self {
        Self { validate, ..self }
    }

    /// For clients of which no other load is told.
    pub(crate) fn workload(&self) -> Arc<dyn Workload> {
        Arc::new(Self { observed: Arc::default(), running: Arc::default(), ..self.clone() })
    }

    /// Some of its queries have several statements, and may begin a transaction.
    pub(crate) fn with_rollback(self) -> Self {
        Self { rollback: Some(Statement::new("ROLLBACK")), ..self }
    }

    /// What the first client sends, in the order of the queries' names.
    pub(crate) fn of_first_client(&self, seed: u64) -> Vec<NamedQuery> {
        let mut queries = (self.of_client)(0, seed);
        queries.sort_by_key(|query| query.place);
        let named = |query: Query| {
            let name = self.names.get(usize::from(query.place))?.clone();
            Some(NamedQuery {
                name,
                sql: query.sql(),
                several: query.statements.len() > 1,
                only_reads: query.only_reads(),
                settings: query.setting.into_iter().collect(),
                table_prefix: None,
            })
        };
        queries.into_iter().filter_map(named).collect()
    }
}

impl Workload for QueryLoad {
    fn types(&self) -> &[String] {
        &self.names
    }

    fn statements(&self) -> &[Statement] {
        self.rollback.as_slice()
    }

    fn recovery(&self) -> Option<StatementId> {
        self.rollback.as_ref().map(|_| StatementId(0))
    }

    fn observe(&self, tell: &mut dyn FnMut(Observation)) {
        for mut observation in std::mem::take(&mut *self.observed.lock()) {
            if let (Observation::Answer(answer), Some(validate)) = (&mut observation, self.validate) {
                validate(answer);
            }
            tell(observation);
        }
    }

    fn queries_under_way(&self) -> Vec<QueryUnderWay> {
        self.running.all()
    }

    fn client(&self, identity: ClientIdentity, seed: u64) -> Box<dyn Client> {
        Box::new(QueryClient {
            queries: (self.of_client)(identity.id, seed),
            at: 0,
            under_way: false,
            sent: 0,
            answer: Answer::default(),
            has_answers: identity.id == 0,
            names: Arc::clone(&self.names),
            failed: BTreeSet::new(),
            observed: Arc::clone(&self.observed),
            running: self.running.place(identity.thread),
        })
    }
}

/// One virtual client.
struct QueryClient {
    queries: Vec<Query>,
    /// The place of the query that is next or under way.
    at: usize,
    under_way: bool,
    /// Statements of the query so far.
    sent: usize,
    answer: Answer,
    has_answers: bool,
    names: Arc<[String]>,
    /// The places of queries that it has told of that they failed.
    failed: BTreeSet<u16>,
    observed: Arc<Observed>,
    running: Arc<RunningQueryPlace>,
}

impl QueryClient {
    fn name(&self) -> String {
        let place = self.queries[self.at].place;
        self.names.get(usize::from(place)).cloned().unwrap_or_default()
    }

    /// Tells the first time that a query fails.
    fn tell_failure(&mut self, said: String, over_limit: bool) {
        if self.failed.insert(self.queries[self.at].place) {
            let failure = FailedQuery { query: self.name(), said, over_limit };
            self.observed.lock().push(Observation::Failure(failure));
        }
    }

    /// Goes on to the next query, also behind one that failed: a pass has each of them once.
    fn go_on(&mut self) {
        self.running.end();
        if std::mem::take(&mut self.under_way) {
            self.at = (self.at + 1) % self.queries.len();
        }
    }
}

impl Client for QueryClient {
    fn begin(&mut self) -> TransactionType {
        (self.under_way, self.sent) = (true, 0);
        let place = self.queries[self.at].place;
        self.running.begin(place);
        TransactionType(place)
    }

    fn begin_again(&mut self) {
        self.sent = 0;
    }

    fn next(&mut self, answer: Option<&Answered>, request: &mut Request<'_>) -> Step {
        let query = &self.queries[self.at];
        let Some((text, kind)) = query.request(self.sent) else { return Step::Done };
        request.query(text.as_bytes());
        request.counts_as(kind);
        if self.sent == query.answering() {
            request.time_first_row();
            if self.has_answers {
                request.keep_rows();
            }
        }
        self.sent += 1;
        // In a transaction of the query's own only what ends it makes anything durable.
        let is_within = answer.is_some_and(|answer| answer.status != TransactionStatus::Idle);
        match kind {
            QueryKind::Read => Step::Send,
            QueryKind::Write if is_within => Step::Send,
            QueryKind::Write | QueryKind::Other => Step::SendCommit,
        }
    }

    fn reply(&mut self, part: Reply<'_>) {
        match part {
            // What is kept is of one statement.
            _ if self.sent != self.queries[self.at].answering() + 1 => {}
            Reply::Rows(columns) => self.answer.begin(columns),
            Reply::Kind(kind) => self.answer.kind(kind),
            Reply::Row(row) => self.answer.row(row),
            _ => {}
        }
    }

    fn failed(&mut self, failure: &StatementFailure<'_>) -> Reaction {
        self.answer = Answer::default();
        // What the statements before it have done is done.
        if failure.may_retry && self.sent == 1 {
            return Reaction::Retry;
        }
        match (failure.cancelled, failure.load_goes_on) {
            (false, _) => self.tell_failure(said(failure.error), false),
            (true, true) => {
                let seconds = failure.now_ns.saturating_sub(failure.due_ns) as f64 / 1e9;
                self.tell_failure(format!("cancelled after {seconds:.0} s, at the time limit"), true);
            }
            // The user has ended the load.
            (true, false) => {}
        }
        Reaction::Fail
    }

    fn lost(&mut self, error: &SessionError) {
        self.answer = Answer::default();
        if self.under_way {
            self.tell_failure(error.to_string(), matches!(error, SessionError::NotStopped));
        }
        self.go_on();
    }

    fn ended(&mut self, ended: &EndedTransaction) {
        let answer = std::mem::take(&mut self.answer);
        if ended.well && self.has_answers {
            let told = answer.told(self.name(), &self.queries[self.at]);
            self.observed.lock().push(Observation::Answer(told));
        }
        self.go_on();
    }
}

/// What the server said, and what is behind it.
fn said(error: &ServerError) -> String {
    match Cause::of(error) {
        Some(Cause::OutOfMemory) => format!("out of memory: {error}; {MORE_MEMORY}"),
        _ => error.to_string(),
    }
}
