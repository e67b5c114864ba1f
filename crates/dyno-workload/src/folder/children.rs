//! Rows that belong to the rows of another table, each of which has as many as an expression says. A row of the parent is computed again,
//! and not read.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

use dyno_results::format::grouped;
use toml::Spanned;

use super::Folder;
use super::mistake::{Mistake, Notes};
use super::options::{Options, Values, text_of};
use super::tables::{Column, ROW, Table, compile, context};
use crate::script::{EvaluateError, Names, Program, RowContext, Slot, Value, column_seed};

/// Which of the children of a row it is, from 1 on.
pub(super) const CHILD: &str = "child";
/// What the variables of the parent's columns begin with.
const PARENT: &str = "parent";
/// A row of the parent has at most so many.
const CHILDREN_MAX: u64 = 1_000;
/// It is looked at so many rows of the parent where the mean is asked for.
const SAMPLE_ROWS: u64 = 1_000;
/// No thread counts fewer rows of the parent than this.
const ROWS_PER_THREAD_MIN: u64 = 20_000;

/// The number of rows of each table with the options that they were counted with last.
pub(super) type Counted = Mutex<Option<(Values, Vec<u64>)>>;

#[derive(Debug)]
pub(super) struct Children {
    /// The place of the table that they belong to, and its name.
    pub parent: usize,
    pub parent_name: String,
    pub child: Slot,
    row: Slot,
    count: Program,
    /// Where that stands in the file.
    at: usize,
    seed: u64,
    /// In the order in which they are computed.
    inherited: Vec<Inherited>,
}

/// A column of the parent.
#[derive(Debug)]
struct Inherited {
    name: String,
    program: Program,
    at: usize,
    seed: u64,
    /// Its variable in expressions of the parent, and in those of the children.
    own: Slot,
    of_parent: Slot,
    /// The number of children follows from it.
    counts: bool,
}

/// Why a value cannot be computed, and where its expression stands.
pub(super) type Wrong = (usize, String);

/// The variables of the columns of a parent, in expressions of its children.
pub(super) fn variables(parent: &Table, names: &mut Names) -> Vec<Slot> {
    parent.columns.iter().map(|column| names.slot(&format!("{PARENT}.{}", column.name))).collect()
}

impl Children {
    /// `reads` are the variables that the columns of the children read.
    pub(super) fn compile(
        file: (&str, &Spanned<toml::Value>),
        (place, parent): (usize, &Table),
        reads: &[Slot],
        (options, seed): (&Options, u64),
        names: &mut Names,
        notes: &mut Notes<'_>,
    ) -> Option<Self> {
        let (table, children) = file;
        let (row, child) = (names.slot(ROW), names.slot(CHILD));
        let own: Vec<Slot> = parent.columns.iter().map(|column| names.slot(&column.name)).collect();
        let knows = |slot| slot == row || options.place(slot).is_some() || own.contains(&slot);
        let count = compile(&text_of(children), children.span(), names, notes, knows)?;
        if options.place(child).is_some() {
            let what = format!("`:{CHILD}` is the number of a child: give the option of this name another");
            notes.at(children.span(), what);
        }
        let of_parent = variables(parent, names);
        let needs = |wanted: &dyn Fn(usize) -> bool| needed(&parent.columns, &own, wanted);
        let for_count: Vec<Slot> = count.reads().collect();
        let counts = needs(&|column| for_count.contains(&own[column]));
        let all = needs(&|column| counts[column] || reads.contains(&of_parent[column]));
        let inherited = parent.columns.iter().enumerate().filter(|(column, _)| all[*column]);
        let inherited = inherited.map(|(place, column)| Inherited {
            name: format!("{}.{}", parent.name, column.name),
            program: column.program.clone(),
            at: column.at,
            seed: column.seed,
            own: own[place],
            of_parent: of_parent[place],
            counts: counts[place],
        });
        Some(Self {
            parent: place,
            parent_name: parent.name.clone(),
            child,
            row,
            count,
            at: children.span().start,
            // No column has this name.
            seed: column_seed(seed, table, ""),
            inherited: inherited.collect(),
        })
    }

    /// Whether this is a variable of the parent's columns, or the number of the child.
    pub(super) fn sets(&self, slot: Slot) -> bool {
        slot == self.child
            || self.inherited.iter().any(|column| [column.own, column.of_parent].contains(&slot))
    }

    /// How many each row of the parent has.
    pub(super) fn count(&self) -> &Program {
        &self.count
    }

    /// `child 2 of row 5`
    pub(super) fn called(number: u64) -> String {
        let (row, child) = ((number - 1) / CHILDREN_MAX + 1, (number - 1) % CHILDREN_MAX + 1);
        format!("child {child} of row {}", grouped(row))
    }

    /// How many children a row of the parent has. What their values follow from is set.
    pub(super) fn begin(&self, context: &mut RowContext, row: u64) -> Result<u64, Wrong> {
        self.inherit(context, row, |_| true)
    }

    /// The number that the draws of a child follow from.
    pub(super) fn number(row: u64, child: u64) -> u64 {
        (row - 1) * CHILDREN_MAX + child
    }

    fn inherit(
        &self,
        context: &mut RowContext,
        row: u64,
        is_wanted: impl Fn(&Inherited) -> bool,
    ) -> Result<u64, Wrong> {
        context.set(self.row, Value::Integer(row.cast_signed()));
        for column in self.inherited.iter().filter(|column| is_wanted(column)) {
            let failed = |error: EvaluateError| {
                (column.at, format!("a value of {} of row {}: {error}", column.name, grouped(row)))
            };
            let value = context.evaluate(&column.program, column.seed, row).map_err(failed)?;
            context.set(column.own, value);
            context.set(column.of_parent, value);
        }
        let wrong = |why: String| {
            (self.at, format!("the children of row {} of {}: {why}", grouped(row), self.parent_name))
        };
        let count =
            context.evaluate(&self.count, self.seed, row).map_err(|error| wrong(error.to_string()))?;
        let number = match count {
            Value::Integer(count) => u64::try_from(count).ok(),
            Value::Double(count) if count >= 0.0 && count.fract() == 0.0 => Some(count as u64),
            _ => None,
        };
        number.filter(|count| *count <= CHILDREN_MAX).ok_or_else(|| {
            let count = context.shown(count);
            let most = grouped(CHILDREN_MAX);
            wrong(format!("{count} is no whole number from 0 to {most}, which int(…) makes of others"))
        })
    }

    /// How many children rows `first` to `last` of the parent have together.
    fn sum(&self, mut context: RowContext, (first, last): (u64, u64)) -> Result<u64, Wrong> {
        (first..=last).map(|row| self.inherit(&mut context, row, |column| column.counts)).sum()
    }

    /// How many there are of so many rows of the parent, counted by as many threads as pay.
    fn all(&self, context: &RowContext, rows: u64) -> Result<u64, Wrong> {
        let processors = thread::available_parallelism().map_or(1, |count| count.get() as u64);
        let threads = (rows / ROWS_PER_THREAD_MIN).clamp(1, processors);
        let end = |part: u64| (u128::from(rows) * u128::from(part) / u128::from(threads)) as u64;
        thread::scope(|scope| {
            let count = |part| {
                let (context, range) = (context.clone(), (end(part) + 1, end(part + 1)));
                scope.spawn(move || self.sum(context, range))
            };
            let counting: Vec<_> = (0..threads).map(count).collect();
            counting.into_iter().map(|it| it.join().unwrap_or_else(|panic| resume_unwind(panic))).sum()
        })
    }
}

/// The columns that are `wanted`, and those that these read, directly or through others.
fn needed(columns: &[Column], own: &[Slot], wanted: &dyn Fn(usize) -> bool) -> Vec<bool> {
    let mut needed: Vec<bool> = (0..columns.len()).map(wanted).collect();
    // A column reads those before it alone.
    for (at, column) in columns.iter().enumerate().rev() {
        if needed[at] {
            column
                .program
                .reads()
                .filter_map(|read| own.iter().position(|it| *it == read))
                .for_each(|it| needed[it] = true);
        }
    }
    needed
}

impl Folder {
    /// How many rows each table has; `numbers` are those of [`numbers_of`](super::benchmark::numbers_of).
    pub(super) fn counts(&self, values: &Values, numbers: &[u64]) -> Result<Vec<u64>, Mistake> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, counts)) = counted.as_ref().filter(|(of, _)| of == values) {
            return Ok(counts.clone());
        }
        let context = context(&self.names, self.seed, &self.options, values);
        let count = |(table, rows): (&Table, &u64)| match table.children() {
            Some(children) => children.all(&context, *rows).map_err(|(at, why)| self.at(at, why)),
            None => Ok(*rows),
        };
        let counts: Vec<u64> = self.tables.iter().zip(numbers).map(count).collect::<Result<_, _>>()?;
        *counted = Some((values.clone(), counts.clone()));
        Ok(counts)
    }

    /// How many rows of a table there are for each number, about; at least 1. `numbers` are those of the rows of its parent.
    pub(super) fn rows_each(&self, table: &Table, values: &Values, numbers: u64) -> u64 {
        let Some(children) = table.children() else { return 1 };
        let mut context = context(&self.names, self.seed, &self.options, values);
        let sample = SAMPLE_ROWS.min(numbers);
        let row = |part| (u128::from(numbers) * u128::from(part) / u128::from(sample)) as u64;
        // What cannot be counted is told where the rows are made.
        let count = |part| children.inherit(&mut context, row(part), |column| column.counts).unwrap_or(0);
        let sum: u64 = (1..=sample).map(count).sum();
        ((sum + sample / 2) / sample.max(1)).max(1)
    }
}
