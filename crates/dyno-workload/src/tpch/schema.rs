//! The eight tables: columns, keys, indexes and sizes (TPC-H specification, clause 1.4). Text and arithmetic only.

use dyno_target::product::Dialect;
use tpchgen::generators::{OrderGenerator, PartSuppGeneratorIterator};

use super::family::Indexes;
use crate::dataset::{self, ForeignKey, Index, Key, Kind, column};

/// How much data: 1 is about 1 GB of text, 8.7 million rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale(pub f64);

/// Suppliers at scale 1, and suppliers that each part has.
const SUPPLIERS: u64 = 10_000;
const SUPPLIERS_PER_PART: usize = 4;
/// Rows that travel together, about.
const PART_ROWS: u64 = 50_000;
/// Bytes of the tables for one unit of scale, as PostgreSQL stores them (1,391 MB at scale 1, PostgreSQL 15), and of keys
/// and indexes (269 MB, and 327 MB more).
const TABLE_BYTES: f64 = 1.40e9;
const KEY_BYTES: f64 = 0.28e9;
const INDEX_BYTES: f64 = 0.34e9;
/// Bytes of the tables kept by column and compressed, without keys and indexes, of DuckDB 1.5 at scale 1.
pub(super) const DUCKDB_BYTES: f64 = 0.296e9;
/// The same as far as others may need: of ClickHouse and Spark it was not measured, so there is room for more.
const COLUMN_BYTES: f64 = 0.50e9;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    Region,
    Nation,
    Supplier,
    Customer,
    Part,
    Partsupp,
    Orders,
    Lineitem,
}

impl Scale {
    pub(super) fn factor(self) -> f64 {
        self.0
    }

    /// As many rows as the generator makes of so many at scale 1.
    fn of(self, base: u64) -> u64 {
        (base as f64 * self.0) as u64
    }

    /// Whether the formula for the suppliers of a part (clause 4.2.3) gives a part the same supplier twice, which the key
    /// of partsupp forbids. That is so at some small scales where the number of suppliers is a multiple of 3.
    pub(super) fn repeats_suppliers(self) -> bool {
        // The distance between the suppliers of a part changes only once in as many parts as there are suppliers.
        let mut parts =
            (1..=Table::Partsupp.numbers(self)).step_by(Table::Supplier.numbers(self).max(1) as usize);
        parts.any(|part| self.repeats_suppliers_of(part))
    }

    fn repeats_suppliers_of(self, part: u64) -> bool {
        let supplier = |number: usize| {
            PartSuppGeneratorIterator::select_part_supplier(part as i64, number as i64, self.0)
        };
        let suppliers: [i64; SUPPLIERS_PER_PART] = std::array::from_fn(supplier);
        suppliers.iter().enumerate().any(|(at, supplier)| suppliers[..at].contains(supplier))
    }

    /// The next smaller and the next larger scale of one supplier less or more, and so on, that repeats none.
    pub(super) fn nearest_without_repeats(self) -> [f64; 2] {
        let count = Table::Supplier.numbers(self);
        let scale = |suppliers: u64| suppliers as f64 / SUPPLIERS as f64;
        let suits = |scale: &f64| !Self(*scale).repeats_suppliers();
        let smaller = (1..count).rev().map(scale).find(suits);
        let larger = (count + 1..).map(scale).find(suits);
        [smaller.unwrap_or(self.0), larger.unwrap_or(self.0)]
    }

    /// Bytes that the data takes on a server, about.
    pub(super) fn bytes(self, indexes: Indexes, columnar: bool) -> u64 {
        let of_one = match indexes {
            _ if columnar => COLUMN_BYTES,
            Indexes::None => TABLE_BYTES,
            Indexes::Keys => TABLE_BYTES + KEY_BYTES,
            Indexes::KeysFk => TABLE_BYTES + KEY_BYTES + INDEX_BYTES,
        };
        (of_one * self.0) as u64
    }
}

impl Table {
    /// Those that are referred to come first.
    pub(super) const ALL: [Self; 8] = [
        Self::Region,
        Self::Nation,
        Self::Supplier,
        Self::Customer,
        Self::Part,
        Self::Partsupp,
        Self::Orders,
        Self::Lineitem,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Region => "region",
            Self::Nation => "nation",
            Self::Supplier => "supplier",
            Self::Customer => "customer",
            Self::Part => "part",
            Self::Partsupp => "partsupp",
            Self::Orders => "orders",
            Self::Lineitem => "lineitem",
        }
    }

    /// How many numbers the rows have: a row for each, but for the suppliers of a part and the lines of an order.
    pub(super) fn numbers(self, scale: Scale) -> u64 {
        match self {
            Self::Region => 5,
            Self::Nation => 25,
            Self::Supplier => scale.of(SUPPLIERS),
            Self::Customer => scale.of(150_000),
            Self::Part | Self::Partsupp => scale.of(200_000),
            Self::Orders | Self::Lineitem => scale.of(1_500_000),
        }
    }

    /// How many rows the generator makes.
    pub(super) fn rows(self, scale: Scale) -> u64 {
        let numbers = self.numbers(scale);
        match self {
            Self::Partsupp => numbers * SUPPLIERS_PER_PART as u64,
            Self::Lineitem => {
                let mut lines = OrderGenerator::create_line_count_random();
                let mut of_order = || {
                    let count = lines.next_value();
                    lines.row_finished();
                    u64::try_from(count).unwrap_or(0)
                };
                (0..numbers).map(|_| of_order()).sum()
            }
            _ => numbers,
        }
    }

    /// The generator makes parts of the same length. Where there is no such near to what suits, the table is one part.
    fn part_rows(self, scale: Scale) -> u64 {
        let numbers = self.numbers(scale);
        let wanted = (numbers / PART_ROWS).max(1);
        let count = (wanted / 2..=wanted).rev().find(|count| *count > 0 && numbers.is_multiple_of(*count));
        (numbers / count.unwrap_or(1)).max(1)
    }

    pub(super) fn describe(self, scale: Scale, indexes: Indexes, dialect: &Dialect) -> dataset::Table {
        let of = |(name, kind): &(&'static str, Kind)| column(*name, *kind, " NOT NULL");
        let columns = self.columns().iter().map(of).collect();
        let referring =
            if indexes == Indexes::KeysFk && dialect.key_for_scans { self.references() } else { &[] };
        let with_index = referring.iter().filter(|(.., has_index)| *has_index);
        let index = |(at, (columns, ..)): (usize, &Reference)| {
            let of_table = if dialect.index_of_table { String::new() } else { format!("{}_", self.name()) };
            Index { name: format!("{of_table}fk{}", at + 1), columns: (*columns).into(), unique: false }
        };
        let foreign_key = |&(columns, table, key, _): &Reference| ForeignKey {
            columns: columns.into(),
            table: table.into(),
            key: key.into(),
            rows: None,
        };
        dataset::Table {
            key: (indexes != Indexes::None && dialect.key_for_scans).then_some(Key::Of(self.key().into())),
            indexes: with_index.enumerate().map(index).collect(),
            foreign_keys: referring.iter().map(foreign_key).collect(),
            rows: self.numbers(scale),
            rows_each: if matches!(self, Self::Partsupp | Self::Lineitem) { 4 } else { 1 },
            part_rows: self.part_rows(scale),
            ..dataset::Table::new(self.name(), columns)
        }
    }

    fn key(self) -> &'static str {
        match self {
            Self::Region => "r_regionkey",
            Self::Nation => "n_nationkey",
            Self::Supplier => "s_suppkey",
            Self::Customer => "c_custkey",
            Self::Part => "p_partkey",
            Self::Partsupp => "ps_partkey, ps_suppkey",
            Self::Orders => "o_orderkey",
            Self::Lineitem => "l_orderkey, l_linenumber",
        }
    }

    fn references(self) -> &'static [Reference] {
        match self {
            Self::Region | Self::Part => &[],
            Self::Nation => &[("n_regionkey", "region", "r_regionkey", true)],
            Self::Supplier => &[("s_nationkey", "nation", "n_nationkey", true)],
            Self::Customer => &[("c_nationkey", "nation", "n_nationkey", true)],
            Self::Partsupp => {
                &[("ps_partkey", "part", "p_partkey", false), ("ps_suppkey", "supplier", "s_suppkey", true)]
            }
            Self::Orders => &[("o_custkey", "customer", "c_custkey", true)],
            Self::Lineitem => &[
                ("l_orderkey", "orders", "o_orderkey", false),
                ("l_partkey, l_suppkey", "partsupp", "ps_partkey, ps_suppkey", true),
            ],
        }
    }

    fn columns(self) -> &'static [(&'static str, Kind)] {
        use Kind::{BigInteger, Char, Date, Decimal, Integer, Varchar};
        match self {
            Self::Region => &[("r_regionkey", Integer), ("r_name", Char(25)), ("r_comment", Varchar(152))],
            Self::Nation => &[
                ("n_nationkey", Integer),
                ("n_name", Char(25)),
                ("n_regionkey", Integer),
                ("n_comment", Varchar(152)),
            ],
            Self::Supplier => &[
                ("s_suppkey", Integer),
                ("s_name", Char(25)),
                ("s_address", Varchar(40)),
                ("s_nationkey", Integer),
                ("s_phone", Char(15)),
                ("s_acctbal", Decimal(15, 2)),
                ("s_comment", Varchar(101)),
            ],
            Self::Customer => &[
                ("c_custkey", Integer),
                ("c_name", Varchar(25)),
                ("c_address", Varchar(40)),
                ("c_nationkey", Integer),
                ("c_phone", Char(15)),
                ("c_acctbal", Decimal(15, 2)),
                ("c_mktsegment", Char(10)),
                ("c_comment", Varchar(117)),
            ],
            Self::Part => &[
                ("p_partkey", Integer),
                ("p_name", Varchar(55)),
                ("p_mfgr", Char(25)),
                ("p_brand", Char(10)),
                ("p_type", Varchar(25)),
                ("p_size", Integer),
                ("p_container", Char(10)),
                ("p_retailprice", Decimal(15, 2)),
                ("p_comment", Varchar(23)),
            ],
            Self::Partsupp => &[
                ("ps_partkey", Integer),
                ("ps_suppkey", Integer),
                ("ps_availqty", Integer),
                ("ps_supplycost", Decimal(15, 2)),
                ("ps_comment", Varchar(199)),
            ],
            Self::Orders => &[
                // Only a quarter of the numbers is used, so that 32 bits end at scale 357.
                ("o_orderkey", BigInteger),
                ("o_custkey", Integer),
                ("o_orderstatus", Char(1)),
                ("o_totalprice", Decimal(15, 2)),
                ("o_orderdate", Date),
                ("o_orderpriority", Char(15)),
                ("o_clerk", Char(15)),
                ("o_shippriority", Integer),
                ("o_comment", Varchar(79)),
            ],
            Self::Lineitem => &[
                ("l_orderkey", BigInteger),
                ("l_partkey", Integer),
                ("l_suppkey", Integer),
                ("l_linenumber", Integer),
                ("l_quantity", Decimal(15, 2)),
                ("l_extendedprice", Decimal(15, 2)),
                ("l_discount", Decimal(15, 2)),
                ("l_tax", Decimal(15, 2)),
                ("l_returnflag", Char(1)),
                ("l_linestatus", Char(1)),
                ("l_shipdate", Date),
                ("l_commitdate", Date),
                ("l_receiptdate", Date),
                ("l_shipinstruct", Char(25)),
                ("l_shipmode", Char(10)),
                ("l_comment", Varchar(44)),
            ],
        }
    }
}

/// Columns, the table and the key that they refer to, and whether they need an index of their own: the primary key is none
/// for those with which it begins.
type Reference = (&'static str, &'static str, &'static str, bool);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Part, RowRange};
    use crate::tpch::rows::TpchRows;

    #[test]
    fn parts_are_as_long_as_the_generators() {
        for scale in [0.01, 0.1, 0.333, 1.0, 2.5, 10.0, 30.0, 100.0].map(Scale) {
            for table in Table::ALL {
                let (numbers, length) = (table.numbers(scale), table.part_rows(scale));
                assert_eq!(numbers % length, 0, "{table:?} at {scale:?}");
                assert!(length <= 2 * PART_ROWS || scale == Scale(0.333), "{table:?} at {scale:?}: {length}");
            }
        }
    }

    #[test]
    fn scales_at_which_a_part_has_a_supplier_twice_are_known() {
        // By tenths of a supplier, so that there are also scales with more than 20 parts for each.
        for tenths in 1_000..=3_000 {
            let scale = Scale(f64::from(tenths) / 100_000.0);
            let mut parts = 1..=Table::Partsupp.numbers(scale);
            assert_eq!(
                scale.repeats_suppliers(),
                parts.any(|part| scale.repeats_suppliers_of(part)),
                "{scale:?}"
            );
        }
        for scale in [0.012, 0.015, 0.0102, 0.0153].map(Scale) {
            assert!(scale.repeats_suppliers(), "{scale:?}");
            let [smaller, larger] = scale.nearest_without_repeats();
            assert!(
                smaller < scale.0 && scale.0 < larger && larger - smaller < 0.00025,
                "{smaller} {larger}"
            );
            assert!(![smaller, larger].map(Scale).iter().any(|near| near.repeats_suppliers()), "{scale:?}");
        }
        for scale in [0.01, 0.02, 0.03, 0.1, 0.3, 1.0, 3.0, 10_000.0].map(Scale) {
            assert!(!scale.repeats_suppliers(), "{scale:?}");
        }
    }

    #[test]
    fn parts_together_are_the_whole() {
        let scale = Scale(0.01);
        for table in Table::ALL {
            let numbers = table.numbers(scale);
            let text = |length: u64| {
                let mut text = Vec::new();
                for first in (1..=numbers).step_by(length as usize) {
                    let part = Part { table: 0, first, last: first + length - 1, stream: 0 };
                    let rows = TpchRows::of(table, scale, &part);
                    let mut range = RowRange { rows, next: part.first, last: part.last };
                    let mut piece = Vec::with_capacity(1 << 20);
                    while range.fill(crate::dataset::rows::Form::Lines, &mut piece) > 0 {
                        text.append(&mut piece);
                        piece.reserve(1 << 20);
                    }
                }
                text
            };
            let whole = text(numbers);
            // The smallest tables are always one part.
            let has_parts = ![Table::Region, Table::Nation].contains(&table);
            assert!(!has_parts || whole == text(numbers / 5), "{table:?}");
            let lines = whole.split(|byte| *byte == b'\n').count() as u64 - 1;
            let lines_of_each = if [Table::Partsupp, Table::Lineitem].contains(&table) { 4 } else { 1 };
            assert!(lines.abs_diff(lines_of_each * numbers) * 50 <= lines, "{table:?}: {lines}");
            let columns = table.columns().len();
            let is_whole = |line: &[u8]| line.split(|byte| *byte == b'\t').count() == columns;
            assert!(whole.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).all(is_whole));
        }
    }
}
