//! A load whose sessions begin with settings of the user's: they are sent with the first transaction of each.

use std::sync::Arc;

use dyno_engine::error::SessionError;
use dyno_engine::request::{Request, Statement};
use dyno_engine::schedule::Gaps;
use dyno_engine::workload::{
    Answer, Client, ClientIdentity, EndedTransaction, Observation, QueryUnderWay, Reaction, Reply,
    StatementFailure, StatementId, Step, TransactionType, Workload,
};
use dyno_results::spec::Arrivals;

/// A load with settings.
pub(super) struct WithSettings {
    load: Arc<dyn Workload>,
    settings: Arc<[String]>,
}

impl WithSettings {
    /// The load itself where there are none.
    pub(super) fn of(load: Arc<dyn Workload>, settings: &[String]) -> Arc<dyn Workload> {
        if settings.is_empty() { load } else { Arc::new(Self { load, settings: settings.into() }) }
    }
}

impl Workload for WithSettings {
    fn types(&self) -> &[String] {
        self.load.types()
    }

    fn counts(&self, of: TransactionType) -> usize {
        self.load.counts(of)
    }

    fn statements(&self) -> &[Statement] {
        self.load.statements()
    }

    fn recovery(&self) -> Option<StatementId> {
        self.load.recovery()
    }

    fn timed_from_begin(&self) -> bool {
        self.load.timed_from_begin()
    }

    fn gaps(&self, thread: u32, arrivals: &Arrivals) -> Option<Gaps> {
        self.load.gaps(thread, arrivals)
    }

    fn observe(&self, tell: &mut dyn FnMut(Observation)) {
        self.load.observe(tell);
    }

    fn queries_under_way(&self) -> Vec<QueryUnderWay> {
        self.load.queries_under_way()
    }

    fn client(&self, identity: ClientIdentity, seed: u64) -> Box<dyn Client> {
        let client = self.load.client(identity, seed);
        Box::new(ClientWithSettings { client, settings: Arc::clone(&self.settings), sent: 0 })
    }
}

/// A client of it.
struct ClientWithSettings {
    client: Box<dyn Client>,
    settings: Arc<[String]>,
    /// How many its session has.
    sent: usize,
}

impl Client for ClientWithSettings {
    fn begin(&mut self) -> TransactionType {
        self.client.begin()
    }

    fn begin_again(&mut self) {
        self.client.begin_again();
    }

    fn next(&mut self, answer: Option<&Answer>, request: &mut Request<'_>) -> Step {
        if let Some(setting) = self.settings.get(self.sent) {
            self.sent += 1;
            request.query(setting.as_bytes());
            return Step::Send;
        }
        // The answer to a setting is none of its own.
        let is_own = self.sent > self.settings.len();
        self.sent = self.settings.len() + 1;
        self.client.next(answer.filter(|_| is_own), request)
    }

    fn connected(&mut self, took_ns: u64) {
        self.sent = 0;
        self.client.connected(took_ns);
    }

    fn reply(&mut self, part: Reply<'_>) {
        self.client.reply(part);
    }

    fn failed(&mut self, failure: &StatementFailure<'_>) -> Reaction {
        self.client.failed(failure)
    }

    fn place(&self) -> Option<Box<str>> {
        self.client.place()
    }

    fn gave_up(&mut self) -> Option<String> {
        self.client.gave_up()
    }

    fn lost(&mut self, error: &SessionError) {
        self.client.lost(error);
    }

    fn not_connected(&mut self, error: &SessionError) -> bool {
        self.client.not_connected(error)
    }

    fn ended(&mut self, ended: &EndedTransaction) {
        self.client.ended(ended);
    }

    fn add_counts(&mut self, counts: &mut [u64]) {
        self.client.add_counts(counts);
    }

    fn skipped(&mut self, due_ns: u64, now_ns: u64) {
        self.client.skipped(due_ns, now_ns);
    }
}
