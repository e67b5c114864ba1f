//! The load: a transaction is one query, and a pass is all of them. Each client goes through them in its own order.

use std::sync::Arc;

use dyno_engine::request::{QueryKind, Request, Statement};
use dyno_engine::workload::{
    Answer as Answered, Client, ClientIdentity, EndedTransaction, Reply, Step, TransactionType, Workload,
};
use dyno_results::event::QueryAnswer;
use dyno_target::product::Dialect;

use super::answers::{Answer, Answers};
use super::family::Parameters;
use super::orders::Order;
use super::queries::{self, Query};
use super::schema::Scale;
use super::{QUERIES, parameters};
use crate::random::Random;

/// The queries on data that is there.
#[derive(Debug, Clone)]
pub(super) struct Load {
    pub order: Order,
    pub parameters: Parameters,
    pub scale: Scale,
    pub dialect: Dialect,
    /// Of the first client.
    pub answers: Arc<Answers>,
    types: Arc<[String]>,
}

impl Load {
    pub(super) fn new(order: Order, parameters: Parameters, scale: Scale, dialect: Dialect) -> Self {
        let types = (1..=QUERIES as u8).map(queries::name).collect();
        Self { order, parameters, scale, dialect, answers: Arc::default(), types }
    }

    /// What the queries returned first, for the last time.
    pub(super) fn take_answers(&self) -> Vec<QueryAnswer> {
        let is_validation = self.parameters == Parameters::Validation;
        self.answers.take(is_validation && self.scale.factor().to_bits() == 1.0_f64.to_bits())
    }

    /// The queries of a client, in their order.
    fn queries(&self, client: u32, seed: u64) -> Vec<Query> {
        let mut random = Random::of_client(seed, client);
        let scale = self.scale.factor();
        let is_drawn = client > 0 || self.parameters == Parameters::Random;
        let values = |number, random: &mut Random| match is_drawn {
            true => parameters::drawn(number, scale, random),
            false => parameters::of_validation(number, scale),
        };
        // Drawn in the order of their numbers, so that each order has the same.
        let mut texts: Vec<Query> = (1..=QUERIES as u8)
            .map(|number| Query::new(number, &values(number, &mut random), &self.dialect))
            .collect();
        let order = self.order.of_client(client);
        texts.sort_by_key(|query| order.iter().position(|number| *number == query.number));
        texts
    }
}

impl Workload for Load {
    fn types(&self) -> &[String] {
        &self.types
    }

    fn statements(&self) -> &[Statement] {
        &[]
    }

    fn client(&self, identity: ClientIdentity, seed: u64) -> Box<dyn Client> {
        let answers = (identity.id == 0).then(|| Arc::clone(&self.answers));
        let queries = self.queries(identity.id, seed);
        Box::new(TpchClient { queries, at: 0, sent: false, answer: Answer::default(), answers })
    }
}

/// One virtual client.
#[derive(Debug)]
struct TpchClient {
    queries: Vec<Query>,
    /// The place of the query that is next or under way.
    at: usize,
    sent: bool,
    answer: Answer,
    /// `None` where nobody asks for its answers.
    answers: Option<Arc<Answers>>,
}

impl Client for TpchClient {
    fn begin(&mut self) -> TransactionType {
        self.sent = false;
        TransactionType(u16::from(self.queries[self.at].number) - 1)
    }

    fn begin_again(&mut self) {
        self.sent = false;
    }

    fn next(&mut self, _: Option<&Answered>, request: &mut Request<'_>) -> Step {
        if std::mem::replace(&mut self.sent, true) {
            return Step::Done;
        }
        request.query(self.queries[self.at].sql.as_bytes());
        request.counts_as(QueryKind::Read);
        if self.answers.is_some() {
            request.keep_rows();
        }
        Step::Send
    }

    fn reply(&mut self, part: Reply<'_>) {
        match part {
            Reply::Rows(columns) => self.answer.begin(columns),
            Reply::Row(row) => self.answer.row(row),
            _ => {}
        }
    }

    fn ended(&mut self, ended: &EndedTransaction) {
        if ended.well
            && let Some(answers) = &self.answers
        {
            answers.keep(&self.queries[self.at], &mut self.answer);
        }
        self.at = (self.at + 1) % self.queries.len();
    }
}
