//! The load: a transaction is one operation of YCSB, with the statements of its JDBC binding, each committed by itself.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use dyno_engine::error::SessionError;
use dyno_engine::request::{QueryKind, Request, Statement, Value};
use dyno_engine::workload::{
    Answer, Client, ClientIdentity, EndedTransaction, StatementId, Step, TransactionType, Workload,
};

use super::inserts::Inserts;
use super::options::{FIELDS_MAX, Recipe};
use super::requests::Records;
use super::table::fill;
use super::updates::{Cell, Update, Updates, Writer};
use super::{KEY, Mix, Operation, TABLE};
use crate::random::Random;

const READ: StatementId = StatementId(0);
const SCAN: StatementId = StatementId(1);
const INSERT: StatementId = StatementId(2);
/// The update of the first field; those of the others follow.
const UPDATE: u16 = 3;

/// One of the core workloads on a table that is there.
#[derive(Debug, Clone)]
pub(super) struct Load {
    pub mix: Mix,
    pub recipe: Recipe,
    pub inserts: Arc<Inserts>,
    pub updates: Arc<Updates>,
    records: Records,
    types: Arc<[String]>,
    statements: Arc<[Statement]>,
}

impl Load {
    pub(super) fn new(mix: Mix, recipe: Recipe, inserts: Arc<Inserts>) -> Self {
        let values: Vec<String> = (0..=recipe.fields).map(|at| format!("${}", at + 1)).collect();
        let fixed = [
            format!("SELECT * FROM {TABLE} WHERE {KEY} = $1"),
            format!("SELECT * FROM {TABLE} WHERE {KEY} >= $1 ORDER BY {KEY} LIMIT $2"),
            format!("INSERT INTO {TABLE} VALUES ({})", values.join(", ")),
        ];
        let update = |field: String| format!("UPDATE {TABLE} SET {field} = $1 WHERE {KEY} = $2");
        let statements = fixed.into_iter().chain(recipe.field_names().map(update));
        Self {
            mix,
            recipe,
            inserts,
            updates: Arc::default(),
            records: Records::new(mix.requests, recipe.records, mix.share(Operation::Insert)),
            types: mix.types(),
            statements: statements.map(|sql| Statement::new(&sql)).collect(),
        }
    }

    fn make_client(&self, id: u32, seed: u64) -> YcsbClient {
        YcsbClient {
            load: self.clone(),
            writer: self.updates.writer(seed),
            update: None,
            random: Random::of_client(seed, id),
            key: Vec::new(),
            values: vec![0; self.recipe.record_bytes()],
            operation: Operation::Read,
            record: 0,
            inserting: false,
            sent: 0,
        }
    }
}

impl Workload for Load {
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

/// One virtual client.
#[derive(Debug)]
struct YcsbClient {
    load: Load,
    random: Random,
    /// Of the record.
    key: Vec<u8>,
    /// Of the fields that are written.
    values: Vec<u8>,
    operation: Operation,
    record: u64,
    /// An insert has not ended.
    inserting: bool,
    writer: Arc<Writer>,
    /// It has not ended.
    update: Option<Update>,
    /// Statements of this transaction so far.
    sent: u8,
}

impl YcsbClient {
    /// Draws the next operation; its place among those that occur.
    fn choose(&mut self) -> u16 {
        let (mut rest, mut chosen) = (self.random.unit(), 0);
        for (place, (operation, share)) in (0..).zip(self.load.mix.operations()) {
            (self.operation, chosen) = (operation, place);
            rest -= share;
            if rest < 0.0 {
                break;
            }
        }
        chosen
    }

    fn update_ended(&mut self, well: bool) {
        if let Some(update) = self.update.take() {
            self.load.updates.end(&self.writer, update, well);
        }
    }

    fn insert_ended(&mut self, well: bool) {
        if std::mem::take(&mut self.inserting) {
            self.load.inserts.ended(self.record, well);
        }
    }

    /// Sends a statement with its other values.
    fn send(&mut self, operation: Operation, request: &mut Request<'_>) -> Step {
        let Recipe { fields, field_length, .. } = self.load.recipe;
        // Where it is tried again, the try of before may have been done.
        self.update_ended(false);
        let key = Value::Text(&self.key);
        match operation {
            Operation::Read | Operation::ReadModifyWrite => request.execute_values(READ, &[key]),
            Operation::Scan => {
                let [least, most] = self.load.mix.scan_length.map(i64::from);
                let records = self.random.between(least, most);
                request.execute_values(SCAN, &[key, Value::Integer(records)]);
            }
            Operation::Update => {
                let field = self.random.below(fields.into()) as u16;
                let value = &mut self.values[..field_length.into()];
                fill(value, &mut self.random);
                let cell = Cell { record: self.record, field };
                self.update = self.load.updates.begin(&self.writer, cell, value);
                request.execute_values(StatementId(UPDATE + field), &[Value::Text(value), key]);
            }
            Operation::Insert => {
                fill(&mut self.values, &mut self.random);
                let mut row = [key; 1 + FIELDS_MAX];
                for (value, text) in row[1..].iter_mut().zip(self.values.chunks(field_length.into())) {
                    *value = Value::Text(text);
                }
                request.execute_values(INSERT, &row[..=fields.into()]);
            }
        }
        let writes = matches!(operation, Operation::Update | Operation::Insert);
        request.counts_as(if writes { QueryKind::Write } else { QueryKind::Read });
        if writes { Step::SendCommit } else { Step::Send }
    }
}

impl Client for YcsbClient {
    fn begin(&mut self) -> TransactionType {
        let place = self.choose();
        self.inserting = self.operation == Operation::Insert;
        self.record = match self.inserting {
            true => self.load.inserts.next.fetch_add(1, Ordering::Relaxed),
            false => {
                self.load.records.draw(self.load.inserts.there.load(Ordering::Relaxed), &mut self.random)
            }
        };
        self.key.clear();
        self.load.recipe.key(self.record, &mut self.key);
        self.sent = 0;
        TransactionType(place)
    }

    fn begin_again(&mut self) {
        self.sent = 0;
    }

    fn next(&mut self, answer: Option<&Answer>, request: &mut Request<'_>) -> Step {
        self.sent += 1;
        match (self.operation, self.sent) {
            (operation, 1) => self.send(operation, request),
            (Operation::Update | Operation::Insert, _) => Step::Done,
            // YCSB writes nothing where it has read nothing.
            (_, 2) if answer.is_none_or(|answer| answer.rows == 0) => {
                self.load.inserts.missed.fetch_add(1, Ordering::Relaxed);
                Step::Done
            }
            (Operation::ReadModifyWrite, 2) => self.send(Operation::Update, request),
            _ => Step::Done,
        }
    }

    fn ended(&mut self, ended: &EndedTransaction) {
        self.insert_ended(ended.well);
        self.update_ended(ended.well);
    }

    /// Of what was under way it hears nothing more.
    fn lost(&mut self, _: &SessionError) {
        self.insert_ended(false);
        self.update_ended(false);
    }
}

#[cfg(test)]
mod tests {
    use super::super::MIXES;
    use super::super::options::YcsbOptions;
    use super::*;

    fn client(mix: Mix) -> YcsbClient {
        let inserts = Arc::new(Inserts::behind(1_000));
        Load::new(mix, Recipe::of(1_000), inserts).make_client(0, 11)
    }

    #[test]
    fn operations_have_their_shares() {
        let shares = |mix| {
            let mut client = client(mix);
            let first = (0..10_000).filter(|_| client.begin() == TransactionType(0)).count();
            (client.load.types[0].clone(), first.div_ceil(200) * 2)
        };
        let expected = [("read", 50), ("read", 96), ("read", 100), ("read", 96), ("scan", 96), ("read", 50)];
        let expected: Vec<_> = expected.into_iter().map(|(name, share)| (name.to_owned(), share)).collect();
        assert_eq!(MIXES[..6].iter().map(|mix| shares(*mix)).collect::<Vec<_>>(), expected);
        assert_eq!(MIXES[5].types()[..], ["read", "read-modify-write"]);
    }

    #[test]
    fn a_mix_of_ones_own_has_its_shares() {
        let options = YcsbOptions {
            insert_proportion: Some(0.25),
            read_modify_write_proportion: Some(0.75),
            ..YcsbOptions::default()
        };
        let mut client = client(options.apply(MIXES[6]).unwrap());
        assert_eq!(client.load.types[..], ["insert", "read-modify-write"]);
        let inserts = (0..10_000).filter(|_| client.begin() == TransactionType(0)).count();
        assert!((2_300..2_700).contains(&inserts), "{inserts}");
    }

    #[test]
    fn inserts_follow_the_records_that_are_there() {
        let mut client = client(MIXES[3]);
        let mut inserts = Vec::new();
        for _ in 0..2_000 {
            client.begin();
            inserts.extend(client.inserting.then_some(client.record));
        }
        assert!(inserts.iter().copied().eq(1_000..1_000 + inserts.len() as u64));
    }

    /// Otherwise no record behind it would ever be asked for, and what may have been done was too much.
    #[test]
    fn an_insert_whose_connection_is_lost_has_ended() {
        let mut client = client(MIXES[3]);
        while !client.inserting {
            client.begin();
        }
        client.lost(&SessionError::Closed);
        let inserts = &client.load.inserts;
        assert_eq!((inserts.counts().unsure, inserts.there.load(Ordering::Relaxed)), (1, 1_001));
    }
}
