//! What an event of each test consists of: groups of statements, their texts and how often each is sent. The texts are
//! those that sysbench sends, so that a server's statement statistics tell no difference.

use super::options::Options;
use super::schema::table_name;
use super::test::Test;

/// A statement with parameters, of which each table has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatementKind {
    Point,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    Insert,
    RandomPoints,
    RandomRanges,
}

impl StatementKind {
    /// The statement's text for table number `table`, from 1.
    fn sql(self, table: u32, options: &Options) -> String {
        let name = table_name(table);
        match self {
            Self::Point => format!("SELECT c FROM {name} WHERE id=$1"),
            Self::SimpleRange => format!("SELECT c FROM {name} WHERE id BETWEEN $1 AND $2"),
            Self::SumRange => format!("SELECT SUM(k) FROM {name} WHERE id BETWEEN $1 AND $2"),
            Self::OrderRange => format!("SELECT c FROM {name} WHERE id BETWEEN $1 AND $2 ORDER BY c"),
            Self::DistinctRange => {
                format!("SELECT DISTINCT c FROM {name} WHERE id BETWEEN $1 AND $2 ORDER BY c")
            }
            Self::IndexUpdate => format!("UPDATE {name} SET k=k+1 WHERE id=$1"),
            Self::NonIndexUpdate => format!("UPDATE {name} SET c=$1 WHERE id=$2"),
            Self::Delete => format!("DELETE FROM {name} WHERE id=$1"),
            Self::Insert => format!("INSERT INTO {name} (id, k, c, pad) VALUES ($1, $2, $3, $4)"),
            Self::RandomPoints => {
                let points: Vec<String> = (1..=options.random_points).map(|n| format!("${n}")).collect();
                format!("SELECT id, k, c, pad FROM {name} WHERE k IN ({})", points.join(", "))
            }
            Self::RandomRanges => {
                let range = |n: u32| format!("k BETWEEN ${} AND ${}", 2 * n + 1, 2 * n + 2);
                let ranges: Vec<String> = (0..options.number_of_ranges).map(range).collect();
                format!("SELECT count(k) FROM {name} WHERE {}", ranges.join(" OR "))
            }
        }
    }

    fn parameters(self, options: &Options) -> usize {
        match self {
            Self::Point | Self::IndexUpdate | Self::Delete => 1,
            Self::SimpleRange
            | Self::SumRange
            | Self::OrderRange
            | Self::DistinctRange
            | Self::NonIndexUpdate => 2,
            Self::Insert => 4,
            Self::RandomPoints => options.random_points as usize,
            Self::RandomRanges => options.number_of_ranges as usize * 2,
        }
    }
}

/// What a group of statements of an event does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatementGroup {
    Begin,
    /// Statements of one kind on one table, as often as `count` says. `first` is the statement for the first table.
    Repeat {
        kind: StatementKind,
        first: u16,
        count: u32,
    },
    /// The same with a DELETE and the INSERT that puts the row back, in turn.
    DeleteInsert {
        delete: u16,
        insert: u16,
        count: u32,
    },
    /// A new row, sent as text.
    NewRow,
    Commit,
}

/// An event of a test, and the statements that a connection prepares for it.
#[derive(Debug)]
pub(super) struct TransactionPlan {
    groups: Vec<StatementGroup>,
    kinds: Vec<StatementKind>,
    tables: u32,
    transactional: bool,
    /// The text of BEGIN, where it is prepared.
    begin: Option<&'static str>,
    parameters_max: usize,
}

impl TransactionPlan {
    /// `begin` is what begins a transaction, where it is prepared.
    pub(super) fn new(test: Test, options: &Options, begin: Option<&'static str>) -> Self {
        let transactional = test.is_transactional() && !options.skip_trx;
        let mut plan = Self {
            groups: Vec::new(),
            kinds: Vec::new(),
            tables: options.tables,
            transactional,
            begin,
            parameters_max: 0,
        };
        if transactional {
            plan.groups.push(StatementGroup::Begin);
        }
        plan.add_groups(test, options);
        if transactional {
            plan.groups.push(StatementGroup::Commit);
        }
        plan.parameters_max = plan.kinds.iter().map(|kind| kind.parameters(options)).max().unwrap_or(0);
        plan
    }

    /// In sysbench's order.
    fn add_groups(&mut self, test: Test, options: &Options) {
        match test {
            Test::PointSelect => self.repeat(StatementKind::Point, 1),
            Test::ReadOnly => self.reads(options),
            Test::ReadWrite => {
                self.reads(options);
                self.writes(options);
            }
            Test::WriteOnly => self.writes(options),
            Test::Delete => self.repeat(StatementKind::Delete, 1),
            Test::Insert => self.groups.push(StatementGroup::NewRow),
            Test::UpdateIndex => self.repeat(StatementKind::IndexUpdate, options.index_updates),
            Test::UpdateNonIndex => self.repeat(StatementKind::NonIndexUpdate, options.non_index_updates),
            Test::SelectRandomPoints => {
                self.repeat(StatementKind::RandomPoints, options.random_points.min(1));
            }
            Test::SelectRandomRanges => {
                self.repeat(StatementKind::RandomRanges, options.number_of_ranges.min(1));
            }
        }
    }

    fn reads(&mut self, options: &Options) {
        self.repeat(StatementKind::Point, options.point_selects);
        if options.range_selects {
            self.repeat(StatementKind::SimpleRange, options.simple_ranges);
            self.repeat(StatementKind::SumRange, options.sum_ranges);
            self.repeat(StatementKind::OrderRange, options.order_ranges);
            self.repeat(StatementKind::DistinctRange, options.distinct_ranges);
        }
    }

    fn writes(&mut self, options: &Options) {
        self.repeat(StatementKind::IndexUpdate, options.index_updates);
        self.repeat(StatementKind::NonIndexUpdate, options.non_index_updates);
        if options.delete_inserts > 0 {
            let (delete, insert) =
                (self.prepared(StatementKind::Delete), self.prepared(StatementKind::Insert));
            self.groups.push(StatementGroup::DeleteInsert { delete, insert, count: options.delete_inserts });
        }
    }

    fn repeat(&mut self, kind: StatementKind, count: u32) {
        if count > 0 {
            let first = self.prepared(kind);
            self.groups.push(StatementGroup::Repeat { kind, first, count });
        }
    }

    /// The number of the kind's statement for the first table.
    fn prepared(&mut self, kind: StatementKind) -> u16 {
        self.kinds.push(kind);
        self.after_tables(self.kinds.len() - 1, 0)
    }

    /// The number of the statement `beyond` those of so many kinds. Options that passed their check stay within 16
    /// bits.
    fn after_tables(&self, kinds: usize, beyond: usize) -> u16 {
        u16::try_from(kinds * self.tables as usize + beyond).unwrap_or(u16::MAX)
    }

    pub(super) fn groups(&self) -> &[StatementGroup] {
        &self.groups
    }

    /// Whether an event sends no statement but BEGIN and COMMIT.
    pub(super) fn is_empty(&self) -> bool {
        self.groups.iter().all(|group| matches!(group, StatementGroup::Begin | StatementGroup::Commit))
    }

    /// Statements for each table; at least 1.
    pub(super) fn kinds(&self) -> u32 {
        self.kinds.len().max(1) as u32
    }

    /// Most parameters of any statement.
    pub(super) fn parameters_max(&self) -> usize {
        self.parameters_max
    }

    /// Whether an event is one transaction.
    pub(super) fn is_transactional(&self) -> bool {
        self.transactional
    }

    pub(super) fn commit(&self) -> u16 {
        self.after_tables(self.kinds.len(), 0)
    }

    pub(super) fn rollback(&self) -> u16 {
        self.after_tables(self.kinds.len(), 1)
    }

    /// `None` where BEGIN travels as text.
    pub(super) fn begin(&self) -> Option<u16> {
        self.begin.map(|_| self.after_tables(self.kinds.len(), 2))
    }

    /// The texts of all statements, by their numbers.
    pub(super) fn texts(&self, options: &Options) -> Vec<String> {
        let of_kind = |kind: &StatementKind| {
            (1..=self.tables).map(|table| kind.sql(table, options)).collect::<Vec<_>>()
        };
        let mut texts: Vec<String> = self.kinds.iter().flat_map(of_kind).collect();
        if self.transactional {
            texts.extend(["COMMIT", "ROLLBACK"].map(str::to_owned));
            texts.extend(self.begin.map(str::to_owned));
        }
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads, writes and others of an event.
    fn counts(test: Test, options: &Options) -> (u32, u32, u32) {
        let mut counts = (0, 0, 0);
        for group in TransactionPlan::new(test, options, None).groups() {
            match *group {
                StatementGroup::Begin | StatementGroup::Commit => counts.2 += 1,
                StatementGroup::DeleteInsert { count, .. } => counts.1 += 2 * count,
                StatementGroup::NewRow => counts.1 += 1,
                StatementGroup::Repeat { kind, count, .. } => {
                    let writes = [
                        StatementKind::IndexUpdate,
                        StatementKind::NonIndexUpdate,
                        StatementKind::Delete,
                        StatementKind::Insert,
                    ];
                    *(if writes.contains(&kind) { &mut counts.1 } else { &mut counts.0 }) += count;
                }
            }
        }
        counts
    }

    /// The table of sysbench's ten tests.
    #[test]
    fn events_are_made_of_as_many_statements_as_in_sysbench() {
        let options = Options::default();
        let expected = [
            (1, 0, 0),
            (14, 0, 2),
            (14, 4, 2),
            (0, 4, 2),
            (0, 1, 0),
            (0, 1, 0),
            (0, 1, 0),
            (0, 1, 0),
            (1, 0, 0),
            (1, 0, 0),
        ];
        for (test, expected) in Test::ALL.into_iter().zip(expected) {
            assert_eq!(counts(test, &options), expected, "{}", test.name());
        }
    }

    #[test]
    fn options_change_the_event() {
        let options =
            Options { skip_trx: true, range_selects: false, point_selects: 3, ..Options::default() };
        assert_eq!(counts(Test::ReadWrite, &options), (3, 4, 0));
        let options = Options { delete_inserts: 2, index_updates: 0, order_ranges: 5, ..Options::default() };
        assert_eq!(counts(Test::ReadWrite, &options), (18, 5, 2));
        assert_eq!(counts(Test::UpdateNonIndex, &Options { non_index_updates: 7, ..options }), (0, 7, 0));
    }

    #[test]
    fn every_number_finds_its_statement() {
        let options = Options { tables: 3, ..Options::default() };
        for begin in [Some("BEGIN"), None] {
            let plan = TransactionPlan::new(Test::ReadWrite, &options, begin);
            let texts = plan.texts(&options);
            assert_eq!(texts.len(), 9 * 3 + if begin.is_none() { 2 } else { 3 });
            assert_eq!(texts[usize::from(plan.commit())], "COMMIT");
            assert_eq!(texts[usize::from(plan.rollback())], "ROLLBACK");
            assert_eq!(plan.begin().map(|id| texts[usize::from(id)].as_str()), begin);
            for group in plan.groups() {
                match *group {
                    StatementGroup::Repeat { kind, first, .. } => {
                        assert_eq!(texts[usize::from(first) + 1], kind.sql(2, &options));
                    }
                    StatementGroup::DeleteInsert { delete, insert, .. } => {
                        assert_eq!(texts[usize::from(delete) + 2], "DELETE FROM sbtest3 WHERE id=$1");
                        assert!(
                            texts[usize::from(insert) + 2].starts_with("INSERT INTO sbtest3 (id, k, c, pad)")
                        );
                    }
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn lists_are_as_long_as_asked_for() {
        let options = Options { random_points: 3, number_of_ranges: 2, ..Options::default() };
        let text = |test| TransactionPlan::new(test, &options, None).texts(&options).remove(0);
        assert_eq!(
            text(Test::SelectRandomPoints),
            "SELECT id, k, c, pad FROM sbtest1 WHERE k IN ($1, $2, $3)"
        );
        assert_eq!(
            text(Test::SelectRandomRanges),
            "SELECT count(k) FROM sbtest1 WHERE k BETWEEN $1 AND $2 OR k BETWEEN $3 AND $4"
        );
        assert_eq!(TransactionPlan::new(Test::SelectRandomRanges, &options, None).parameters_max(), 4);
    }
}
