//! Which rows go into which table together, and over which statements.

use dyno_target::connection::Connection;

use crate::bulk::worker_pool::{JobContext, JobError, News};
use crate::bulk::{Batch, Bulk, ROWS_PER_TRANSACTION};
use crate::random::Random;
use crate::sysbench::schema::{Schema, table_name};

use super::rows::SysbenchRows;

/// Some rows of one table, `first` to `last`; none where `last` is less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TablePart {
    pub table: u32,
    pub first: u64,
    pub last: u64,
    /// Its random stream.
    pub stream: u32,
}

/// How rows travel, for all tables.
#[derive(Debug)]
pub(super) struct TableLoader<'a> {
    pub schema: Schema<'a>,
    pub seed: u64,
    bulk: Bulk<'a>,
}

impl<'a> TableLoader<'a> {
    pub(super) fn new(schema: Schema<'a>, seed: u64) -> Self {
        Self { schema, seed, bulk: Bulk::new(schema.dialect) }
    }

    /// Why all rows go by INSERT, where that is known beforehand.
    pub(super) fn slower(&self) -> Option<String> {
        self.bulk.slower().filter(|_| self.schema.options.table_size > 0)
    }

    /// The parts that are sent, neighbours of different tables.
    pub(super) fn parts(&self) -> Vec<TablePart> {
        let options = self.schema.options;
        let rows = if self.bulk.whole_tables() { options.table_size } else { ROWS_PER_TRANSACTION };
        let firsts = (0..options.table_size).step_by(usize::try_from(rows.max(1)).unwrap_or(usize::MAX));
        let parts = firsts.flat_map(|before| {
            let last = (before + rows).min(options.table_size);
            (1..=options.tables).map(move |table| (table, before + 1, last))
        });
        parts
            .zip(0..)
            .map(|((table, first, last), stream)| TablePart { table, first, last, stream })
            .collect()
    }

    /// Sends a part.
    pub(super) fn run(
        &self,
        connection: &mut Connection,
        part: &TablePart,
        context: &JobContext<'_>,
    ) -> Result<(), JobError> {
        if part.first == 1 {
            context.tell(News::Table(part.table));
        }
        let batch = Batch {
            table: table_name(part.table),
            rows: (part.last + 1).saturating_sub(part.first),
            copy: self.schema.copy(part.table),
            load_local: self.schema.load_local(part.table),
            insert: self.schema.insert(part.table),
        };
        self.bulk.send(connection, &batch, || self.rows(part), context)
    }

    fn rows(&self, part: &TablePart) -> SysbenchRows {
        let options = self.schema.options;
        let random = Random::of_client(self.seed, part.stream);
        SysbenchRows::new(part.first, part.last, options.table_size, &options.distribution, random)
    }
}
