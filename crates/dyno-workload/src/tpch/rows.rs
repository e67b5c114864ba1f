//! The rows as they are loaded: those of the generator, in parts that several connections load at the same time.

use std::fmt::Display;
use std::io::Write as _;
use std::sync::LazyLock;

use tpchgen::dates::{MIN_GENERATE_DATE, TPCHDate};
use tpchgen::generators::{
    Customer, CustomerGenerator, CustomerGeneratorIterator, LineItem, LineItemGenerator,
    LineItemGeneratorIterator, Nation, NationGenerator, NationGeneratorIterator, Order, OrderGenerator,
    OrderGeneratorIterator, Part, PartGenerator, PartGeneratorIterator, PartSupp, PartSuppGenerator,
    PartSuppGeneratorIterator, Region, RegionGenerator, RegionGeneratorIterator, Supplier, SupplierGenerator,
    SupplierGeneratorIterator,
};

use super::schema::{Scale, Table};
use crate::dataset::{Part as Range, RowWriter, Rows};

/// Days of the generator: seven years.
const DAYS: i32 = 2_557;

/// Each date as text.
static DATES: LazyLock<Vec<String>> =
    LazyLock::new(|| (0..DAYS).map(|day| TPCHDate::new(MIN_GENERATE_DATE + day).to_string()).collect());

/// Rows of one part of a table.
#[expect(clippy::large_enum_variant, reason = "there is one for each connection that loads")]
pub(super) enum TpchRows {
    Region(RegionGeneratorIterator<'static>),
    Nation(NationGeneratorIterator<'static>),
    Supplier(SupplierGeneratorIterator<'static>),
    Customer(CustomerGeneratorIterator<'static>),
    Part(PartGeneratorIterator<'static>),
    Partsupp(PartSuppGeneratorIterator<'static>),
    Orders(OrderGeneratorIterator<'static>),
    /// With the one that was read too far: it is of the next order.
    Lineitem(LineItemGeneratorIterator<'static>, Option<LineItem<'static>>),
}

impl TpchRows {
    /// A range of a table's numbers, all of which are as long as the first, but for the last.
    pub(super) fn of(table: Table, scale: Scale, range: &Range) -> Self {
        let length = range.last + 1 - range.first;
        let whole = range.first == 1 && range.last == table.numbers(scale);
        let length = if whole { table.numbers(scale) } else { length };
        let count = (table.numbers(scale) / length).max(1) as i32;
        let (at, sf) = (((range.first - 1) / length + 1) as i32, scale.factor());
        match table {
            Table::Region => Self::Region(RegionGenerator::new(sf, at, count).iter()),
            Table::Nation => Self::Nation(NationGenerator::new(sf, at, count).iter()),
            Table::Supplier => Self::Supplier(SupplierGenerator::new(sf, at, count).iter()),
            Table::Customer => Self::Customer(CustomerGenerator::new(sf, at, count).iter()),
            Table::Part => Self::Part(PartGenerator::new(sf, at, count).iter()),
            Table::Partsupp => Self::Partsupp(PartSuppGenerator::new(sf, at, count).iter()),
            Table::Orders => Self::Orders(OrderGenerator::new(sf, at, count).iter()),
            Table::Lineitem => {
                let mut lines = LineItemGenerator::new(sf, at, count).iter();
                let first = lines.next();
                Self::Lineitem(lines, first)
            }
        }
    }
}

impl Rows for TpchRows {
    /// Seven lines of an order, or four suppliers of a part, with their comments.
    fn row_bytes_max(&self) -> usize {
        2_048
    }

    fn write(&mut self, _: u64, row: &mut impl RowWriter) {
        match self {
            Self::Region(rows) => rows.next().map_or((), |it| region(&it, row)),
            Self::Nation(rows) => rows.next().map_or((), |it| nation(&it, row)),
            Self::Supplier(rows) => rows.next().map_or((), |it| supplier(&it, row)),
            Self::Customer(rows) => rows.next().map_or((), |it| customer(&it, row)),
            Self::Part(rows) => rows.next().map_or((), |it| part(&it, row)),
            Self::Partsupp(rows) => {
                for (at, it) in rows.by_ref().take(SUPPLIERS_PER_PART).enumerate() {
                    if at > 0 {
                        row.end();
                    }
                    partsupp(&it, row);
                }
            }
            Self::Orders(rows) => rows.next().map_or((), |it| order(&it, row)),
            Self::Lineitem(rows, next) => {
                let Some(mut line) = next.take() else { return };
                loop {
                    let order = line.l_orderkey;
                    lineitem(&line, row);
                    match rows.next() {
                        Some(further) if further.l_orderkey == order => line = further,
                        other => {
                            *next = other;
                            break;
                        }
                    }
                    row.end();
                }
            }
        }
        row.end();
    }
}

const SUPPLIERS_PER_PART: usize = 4;

fn text(row: &mut impl RowWriter, text: &str) {
    row.text(|buffer| buffer.extend_from_slice(text.as_bytes()));
}

fn shown(row: &mut impl RowWriter, value: impl Display) {
    // Writing to memory cannot fail.
    row.text(|buffer| drop(write!(buffer, "{value}")));
}

fn date(row: &mut impl RowWriter, date: TPCHDate) {
    let text = usize::try_from(date.into_inner()).ok().and_then(|day| DATES.get(day));
    row.date(date.to_unix_epoch(), text.map_or("", String::as_str));
}

fn region(it: &Region<'_>, row: &mut impl RowWriter) {
    row.integer(it.r_regionkey);
    text(row, it.r_name);
    text(row, it.r_comment);
}

fn nation(it: &Nation<'_>, row: &mut impl RowWriter) {
    row.integer(it.n_nationkey);
    text(row, it.n_name);
    row.integer(it.n_regionkey);
    text(row, it.n_comment);
}

fn supplier(it: &Supplier, row: &mut impl RowWriter) {
    row.integer(it.s_suppkey);
    shown(row, it.s_name);
    shown(row, &it.s_address);
    row.integer(it.s_nationkey);
    shown(row, &it.s_phone);
    row.decimal(it.s_acctbal.into_inner(), 2);
    text(row, &it.s_comment);
}

fn customer(it: &Customer<'_>, row: &mut impl RowWriter) {
    row.integer(it.c_custkey);
    shown(row, it.c_name);
    shown(row, &it.c_address);
    row.integer(it.c_nationkey);
    shown(row, &it.c_phone);
    row.decimal(it.c_acctbal.into_inner(), 2);
    text(row, it.c_mktsegment);
    text(row, it.c_comment);
}

fn part(it: &Part<'_>, row: &mut impl RowWriter) {
    row.integer(it.p_partkey);
    shown(row, &it.p_name);
    shown(row, it.p_mfgr);
    shown(row, it.p_brand);
    text(row, it.p_type);
    row.integer(it.p_size);
    text(row, it.p_container);
    row.decimal(it.p_retailprice.into_inner(), 2);
    text(row, it.p_comment);
}

fn partsupp(it: &PartSupp<'_>, row: &mut impl RowWriter) {
    row.integer(it.ps_partkey);
    row.integer(it.ps_suppkey);
    row.integer(it.ps_availqty);
    row.decimal(it.ps_supplycost.into_inner(), 2);
    text(row, it.ps_comment);
}

fn order(it: &Order<'_>, row: &mut impl RowWriter) {
    row.integer(it.o_orderkey);
    row.integer(it.o_custkey);
    shown(row, it.o_orderstatus);
    row.decimal(it.o_totalprice.into_inner(), 2);
    date(row, it.o_orderdate);
    text(row, it.o_orderpriority);
    shown(row, it.o_clerk);
    row.integer(it.o_shippriority);
    text(row, it.o_comment);
}

fn lineitem(it: &LineItem<'_>, row: &mut impl RowWriter) {
    row.integer(it.l_orderkey);
    row.integer(it.l_partkey);
    row.integer(it.l_suppkey);
    row.integer(it.l_linenumber);
    row.decimal(it.l_quantity * 100, 2);
    row.decimal(it.l_extendedprice.into_inner(), 2);
    row.decimal(it.l_discount.into_inner(), 2);
    row.decimal(it.l_tax.into_inner(), 2);
    text(row, it.l_returnflag);
    text(row, it.l_linestatus);
    date(row, it.l_shipdate);
    date(row, it.l_commitdate);
    date(row, it.l_receiptdate);
    text(row, it.l_shipinstruct);
    text(row, it.l_shipmode);
    text(row, it.l_comment);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::RowRange;
    use crate::dataset::rows::Form;

    /// All rows of a table at scale 0.01 as text, and those that the generator itself prints.
    fn both(table: Table, printed: impl Iterator<Item = String>) -> [String; 2] {
        let scale = Scale(0.01);
        let range = Range { table: 0, first: 1, last: table.numbers(scale), stream: 0 };
        let mut rows = RowRange { rows: TpchRows::of(table, scale, &range), next: 1, last: range.last };
        let mut text = Vec::with_capacity(16 << 20);
        rows.fill(Form::Lines, &mut text);
        // Each value has a bar behind it.
        let line = |printed: String| format!("{}\n", printed.trim_end_matches('|').replace('|', "\t"));
        [String::from_utf8(text).unwrap(), printed.map(line).collect()]
    }

    #[test]
    fn rows_are_those_that_the_generator_prints() {
        macro_rules! check {
            ($($table:ident $generator:ident),*) => {$(
                let printed = $generator::new(0.01, 1, 1).iter().map(|row| row.to_string());
                let [ours, theirs] = both(Table::$table, printed);
                // Quantities are decimals, as the specification has them.
                let theirs = if Table::$table == Table::Lineitem { with_decimals(&theirs) } else { theirs };
                assert!(ours == theirs, "{}", stringify!($table));
            )*};
        }
        check!(
            Region RegionGenerator, Nation NationGenerator, Supplier SupplierGenerator, Customer CustomerGenerator,
            Part PartGenerator, Partsupp PartSuppGenerator, Orders OrderGenerator, Lineitem LineItemGenerator
        );
    }

    fn with_decimals(lines: &str) -> String {
        let line = |line: &str| {
            let mut values: Vec<String> = line.split('\t').map(str::to_owned).collect();
            values[4] += ".00";
            values.join("\t") + "\n"
        };
        lines.lines().map(line).collect()
    }
}
