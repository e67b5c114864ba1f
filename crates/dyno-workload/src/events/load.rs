//! The load: a transaction is one statement, with values drawn evenly from the ids that were there at the start.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dyno_engine::request::{QueryKind, Request, Statement, Value};
use dyno_engine::workload::{Answer, Client, ClientIdentity, StatementId, Step, TransactionType, Workload};

use crate::random::Random;

use super::ACTIONS;
use super::test::Test;

/// What values are drawn from: 1 to each of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ids {
    pub customers: u64,
    /// The highest id of an event.
    pub last_event: u64,
}

/// A test on data that is there.
#[derive(Debug)]
pub struct Events {
    test: Test,
    ids: Ids,
    types: [String; 1],
    statements: [Statement; 1],
    unanswered: Arc<AtomicU64>,
}

impl Events {
    /// Joins whose answer is not exactly one row are counted in `unanswered`.
    pub fn new(test: Test, ids: Ids, unanswered: Arc<AtomicU64>) -> Self {
        Self {
            test,
            ids,
            types: [test.name().to_owned()],
            statements: [Statement::new(test.sql())],
            unanswered,
        }
    }

    fn make_client(&self, id: u32, seed: u64) -> EventsClient {
        EventsClient {
            test: self.test,
            ids: self.ids,
            unanswered: Arc::clone(&self.unanswered),
            random: Random::of_client(seed, id),
            draw: Draw { id: 0, action: 0 },
        }
    }
}

impl Workload for Events {
    fn types(&self) -> &[String] {
        &self.types
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn client(&self, identity: ClientIdentity, seed: u64) -> Box<dyn Client> {
        Box::new(self.make_client(identity.id, seed))
    }
}

/// The values of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Draw {
    /// Of the customer who does something, or of the event that is fetched.
    id: i64,
    action: usize,
}

/// One virtual client.
#[derive(Debug)]
struct EventsClient {
    test: Test,
    ids: Ids,
    unanswered: Arc<AtomicU64>,
    random: Random,
    draw: Draw,
}

impl EventsClient {
    /// An id from 1 to `last`.
    fn draw_id(&mut self, last: u64) -> i64 {
        self.random.below(last.max(1)) as i64 + 1
    }
}

impl Client for EventsClient {
    fn begin(&mut self) -> TransactionType {
        self.draw = match self.test {
            Test::Join => Draw { id: self.draw_id(self.ids.last_event), action: 0 },
            Test::Ingest => {
                let id = self.draw_id(self.ids.customers);
                Draw { id, action: self.random.below(ACTIONS.len() as u64) as usize }
            }
        };
        TransactionType(0)
    }

    fn begin_again(&mut self) {}

    fn next(&mut self, answer: Option<&Answer>, request: &mut Request<'_>) -> Step {
        match (self.test, answer) {
            (Test::Join, None) => {
                request.execute(StatementId(0), &[self.draw.id]);
                request.counts_as(QueryKind::Read);
                Step::Send
            }
            (Test::Ingest, None) => {
                let action = ACTIONS[self.draw.action].as_bytes();
                request.execute_values(StatementId(0), &[Value::Integer(self.draw.id), Value::Text(action)]);
                request.counts_as(QueryKind::Write);
                Step::SendCommit
            }
            (Test::Join, Some(answer)) => {
                if answer.rows != 1 {
                    self.unanswered.fetch_add(1, Ordering::Relaxed);
                }
                Step::Done
            }
            (Test::Ingest, Some(_)) => Step::Done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: Ids = Ids { customers: 40, last_event: 1_000 };

    fn draws(test: Test, client: u32, count: usize) -> Vec<Draw> {
        let mut client = Events::new(test, IDS, Arc::default()).make_client(client, 11);
        let mut draw = || {
            client.begin();
            client.draw
        };
        (0..count).map(|_| draw()).collect()
    }

    #[test]
    fn draws_reach_all_that_is_there_and_no_more() {
        let joins = draws(Test::Join, 0, 50_000);
        assert_eq!(joins.iter().map(|draw| draw.id).min(), Some(1));
        assert_eq!(joins.iter().map(|draw| draw.id).max(), Some(1_000));
        let ingests = draws(Test::Ingest, 0, 50_000);
        assert_eq!(ingests.iter().map(|draw| draw.id).min(), Some(1));
        assert_eq!(ingests.iter().map(|draw| draw.id).max(), Some(40));
        for (action, name) in ACTIONS.iter().enumerate() {
            let count = ingests.iter().filter(|draw| draw.action == action).count();
            assert!((4_600..5_400).contains(&count), "{name}: {count} of 50,000");
        }
    }

    #[test]
    fn clients_draw_each_their_own_and_keep_it_for_a_further_try() {
        assert_eq!(draws(Test::Ingest, 3, 50), draws(Test::Ingest, 3, 50));
        assert_ne!(draws(Test::Ingest, 3, 50), draws(Test::Ingest, 4, 50));
        let mut client = Events::new(Test::Join, IDS, Arc::default()).make_client(0, 1);
        client.begin();
        let drawn = client.draw;
        client.begin_again();
        assert_eq!(client.draw, drawn);
    }
}
