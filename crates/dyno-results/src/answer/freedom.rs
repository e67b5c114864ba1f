//! What the text of a query leaves open: which rows a LIMIT takes of those that tie, what a volatile function returns, in which order an
//! aggregate takes its values. Two answers that differ in nothing else are both right. Pure.

mod calls;
mod elements;
mod ordered;
mod statement;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};

use calls::{Kind, Place};
pub use ordered::Ordered;
use statement::Statement;
use tokens::{Token, tokens};

use super::{Columns, Rows, Tolerance};
use crate::sql_text::{Syntax, directives, statements};

/// What a comment of a text may say of how answers to it are compared: only by the number of their rows, or also where what a value is
/// made of has another order.
pub const SAID: [&str; 2] = ["dyno: compare count only", "dyno: compare unordered"];

/// What a text leaves open of an answer to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Freedom {
    /// Why, for a reader; empty where nothing is open.
    why: Vec<String>,
    /// No value is determined.
    count_only: bool,
    /// The number of rows is not.
    any_count: bool,
    /// Which rows come is not, but their values are.
    some_rows: bool,
    cut: Option<Cut>,
    /// No row comes twice.
    distinct: bool,
    /// By the columns.
    columns: Vec<Open>,
    /// The same of all columns that are not known by their place.
    all: Open,
}

/// A LIMIT.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cut {
    why: &'static str,
    /// Fewer rows are all there are; `None` where the number is not in the text.
    rows: Option<u64>,
    has_offset: bool,
    /// The columns that have the keys of its order: rows whose keys are those of the last row, or of the first behind an OFFSET, may be
    /// others. `None` where any rows may come.
    keys: Option<Vec<usize>>,
}

/// What is open of the values of a column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Open {
    #[default]
    Nothing,
    /// The order of what a value is made of, with what may separate it.
    Order(Vec<String>),
    Everything,
}

/// The statement of a text whose answer is kept, by its tokens: the last that reads, or where none does, the last.
fn answering(sql: &str) -> Vec<Token<'_>> {
    let mut all: Vec<Vec<Token<'_>>> = statements(sql, Syntax::ANY).into_iter().map(tokens).collect();
    let reads = |tokens: &Vec<Token<'_>>| {
        let first = tokens.iter().find(|token| token.text != "(");
        first.is_some_and(|first| first.is_one_of(&["select", "with", "values", "table", "from"]))
    };
    match all.iter().rposition(reads) {
        Some(place) => all.swap_remove(place),
        None => all.pop().unwrap_or_default(),
    }
}

impl Freedom {
    /// What a query leaves open.
    pub fn of(sql: &str) -> Self {
        let mut found = Self::default();
        let said: Vec<&str> = directives(sql, Syntax::ANY).collect();
        let [count_only, unordered] = SAID.map(|it| said.contains(&it));
        if count_only {
            found.count_only = true;
            found.because("the query says `compare count only`");
            return found;
        }
        if unordered {
            found.all = Open::Order(Vec::new());
            found.because("the query says `compare unordered`");
        }
        let tokens = answering(sql);
        let Some(statement) = Statement::read(&tokens) else { return found };
        for at in 0..tokens.len() {
            found.add(&statement, Place { tokens: &tokens, at });
        }
        if let Some(columns) = statement.columns_of_any_row() {
            columns.into_iter().for_each(|column| found.open(column, Open::Everything));
            found.because("a DISTINCT ON takes any row");
        }
        found.distinct = statement.has_distinct_rows(&tokens);
        found.cut = statement.cut(&tokens).map(|cut| found.with_determined_keys(cut));
        found
    }

    fn because(&mut self, why: &str) {
        if !self.why.iter().any(|it| it == why) {
            self.why.push(why.to_owned());
        }
    }

    /// Adds what a place leaves open.
    fn add(&mut self, statement: &Statement<'_>, place: Place<'_>) {
        let Some((kind, why)) = place.open() else { return };
        let column = statement.column_of(place.at);
        match (kind, column.filter(|_| !statement.has_star)) {
            (Kind::Value(Open::Order(_)), Some(column)) if !statement.is_whole(column, place) => {
                self.open(column, Open::Everything);
            }
            (Kind::Value(open), Some(column)) => self.open(column, open),
            (Kind::Volatile, Some(column)) => {
                self.open(column, Open::Everything);
                let decides = statement.counts_by(place.tokens, column);
                self.any_count |= decides;
                self.count_only |= decides;
            }
            (Kind::Limit | Kind::Sample, Some(column)) => self.open(column, Open::Everything),
            (Kind::Value(_), None) => self.count_only = true,
            (Kind::Volatile, None) if column.is_some() => self.count_only = true,
            // Rows are compared in any order; what it means for a LIMIT is told there.
            (Kind::Volatile, None) if statement.is_in_order(place.at) => return,
            (Kind::Volatile, None) => {
                self.any_count = true;
                match place.is_condition() {
                    Some(is_outer) => self.open_rows(statement, place, is_outer),
                    None => self.count_only = true,
                }
            }
            (Kind::Sample, None) => {
                self.any_count = true;
                self.open_rows(statement, place, place.tokens[place.at].depth == 0);
            }
            (Kind::Limit, None) => self.open_rows(statement, place, false),
        }
        self.because(&why);
    }

    /// Other rows may come, which have their own values; what is computed from several has others.
    fn open_rows(&mut self, statement: &Statement<'_>, place: Place<'_>, is_outer: bool) {
        self.some_rows = true;
        let is_paired = place.tokens.iter().any(|token| token.is_one_of(&["lateral", "apply"]));
        match statement.columns_of_several_rows(place.tokens, is_outer) {
            Some(columns) if !is_paired => {
                columns.into_iter().for_each(|column| self.open(column, Open::Everything));
            }
            _ => self.count_only = true,
        }
    }

    /// A LIMIT whose order has a key that is open may take any rows.
    fn with_determined_keys(&self, cut: Cut) -> Cut {
        let is_determined = |key: &usize| self.columns.get(*key).is_none_or(|open| *open == Open::Nothing);
        let keys = cut.keys.filter(|keys| keys.iter().all(is_determined));
        Cut { keys, ..cut }
    }

    fn open(&mut self, column: usize, open: Open) {
        if self.columns.len() <= column {
            self.columns.resize(column + 1, Open::Nothing);
        }
        if self.columns[column] < open {
            self.columns[column] = open;
        }
    }

    /// Why two answers that differ may both be right: the text leaves open what they differ in, and they agree in everything else, as
    /// far as they are kept. `None` where they do not, or where that cannot be told.
    pub fn explains(&self, one: &Rows<'_>, other: &Rows<'_>) -> Option<String> {
        // Where rows of the same data tie on the one side, they do on the other.
        let may_tie = !one.no_ties && !other.no_ties;
        let cut = self.cut.as_ref().filter(|cut| may_tie && cut.rows.is_none_or(|rows| one.count >= rows));
        let mut why: Vec<&str> = self.why.iter().map(String::as_str).chain(cut.map(|cut| cut.why)).collect();
        if why.is_empty() || (!self.any_count && one.count != other.count) {
            return None;
        }
        let has_twice = self.distinct && [one, other].iter().any(|rows| has_twice(rows.first));
        let only_count = self.count_only || cut.is_some_and(|cut| cut.keys.is_none());
        let are_known = one.are_all_known() && other.are_all_known();
        if !only_count && !are_known {
            why.push("rows that were not kept were not compared");
        }
        let agree = !has_twice && (only_count || self.agrees(one, other, cut));
        agree.then(|| why.join("; "))
    }

    fn agrees(&self, one: &Rows<'_>, other: &Rows<'_>, cut: Option<&Cut>) -> bool {
        let columns = Columns { kinds: [one.kinds, other.kinds], tolerance: Tolerance::Engines };
        let are_known = one.are_all_known() && other.are_all_known();
        if self.some_rows {
            return self.rows_of_one_side(one.first, other.first, columns).is_some();
        }
        let Some((cut, keys)) = cut.and_then(|cut| Some((cut, cut.keys.as_ref()?))) else {
            if are_known {
                return self.same_rows(one.first, other.first, columns);
            }
            // The counterpart of a row may be one that the other side did not keep.
            let not_kept = [other, one].map(|rows| rows.count - rows.first.len() as u64);
            let left = self.rows_of_one_side(one.first, other.first, columns);
            return left.is_some_and(|left| left[0] <= not_kept[0] && left[1] <= not_kept[1]);
        };
        let kept = one.first.len().min(other.first.len());
        let [one, other] = [one, other].map(|rows| &rows.first[..kept]);
        // The keys come in the order that the text asks for, so those of each row are determined.
        let same_keys = |(one, other): (&Vec<String>, &Vec<String>)| {
            keys.iter().all(|key| match (one.get(*key), other.get(*key)) {
                (Some(one), Some(other)) => self.same_value(columns, *key, one, other),
                _ => false,
            })
        };
        if !one.iter().zip(other).all(same_keys) {
            return false;
        }
        let within = |rows: &[Vec<String>]| -> Vec<Vec<String>> {
            let key = |row: &Vec<String>| keys.iter().map(|key| row.get(*key).cloned()).collect::<Vec<_>>();
            let ends = [rows.first().filter(|_| cut.has_offset).map(key), rows.last().map(key)];
            let is_within = |row: &&Vec<String>| !ends.contains(&Some(key(row)));
            rows.iter().filter(is_within).cloned().collect()
        };
        self.same_rows(&within(one), &within(other), columns)
    }

    /// Whether each row has a counterpart.
    fn same_rows(&self, rows: &[Vec<String>], others: &[Vec<String>], columns: Columns<'_>) -> bool {
        let left = self.without_counterpart(rows, others, columns);
        left.iter().all(Vec::is_empty)
    }

    /// How many rows of each side have no counterpart; `None` if any has one with another value: it has the same value in a column whose
    /// values come once on each side.
    fn rows_of_one_side(
        &self,
        rows: &[Vec<String>],
        others: &[Vec<String>],
        columns: Columns<'_>,
    ) -> Option<[u64; 2]> {
        let [left, left_of_others] = self.without_counterpart(rows, others, columns);
        let width = rows.first().map_or(0, Vec::len);
        let is_changed = |column: usize| {
            let values = |rows: &[&Vec<String>]| -> BTreeMap<String, u64> {
                let mut counts = BTreeMap::new();
                let values = rows.iter().filter_map(|row| row.get(column).cloned());
                values.for_each(|value| *counts.entry(value).or_default() += 1);
                counts
            };
            let is_key = |rows: &[Vec<String>]| {
                values(&rows.iter().collect::<Vec<_>>()).values().all(|count| *count == 1)
            };
            let [left, left_of_others] = [values(&left), values(&left_of_others)];
            self.is_determined(column)
                && left.keys().any(|value| left_of_others.contains_key(value))
                && is_key(rows)
                && is_key(others)
        };
        let counts = [left.len() as u64, left_of_others.len() as u64];
        (!(0..width).any(is_changed)).then_some(counts)
    }

    fn is_determined(&self, column: usize) -> bool {
        self.columns.get(column).is_none_or(|open| *open == Open::Nothing) && self.all == Open::Nothing
    }

    /// The rows of each side that have none on the other.
    fn without_counterpart<'r>(
        &self,
        rows: &'r [Vec<String>],
        others: &'r [Vec<String>],
        columns: Columns<'_>,
    ) -> [Vec<&'r Vec<String>>; 2] {
        let mut left_of_others: Vec<&Vec<String>> = others.iter().collect();
        let has_none = |row: &&Vec<String>| {
            let same = |other: &&Vec<String>| {
                let mut values = row.iter().zip(*other).enumerate();
                row.len() == other.len()
                    && values.all(|(at, (one, other))| self.same_value(columns, at, one, other))
            };
            left_of_others.iter().position(same).map(|at| left_of_others.swap_remove(at)).is_none()
        };
        let left = rows.iter().filter(has_none).collect();
        [left, left_of_others]
    }

    fn same_value(&self, columns: Columns<'_>, at: usize, one: &str, other: &str) -> bool {
        match self.columns.get(at).unwrap_or(&self.all).max(&self.all) {
            Open::Nothing => columns.same_at(at, one, other),
            Open::Order(separators) => {
                columns.same_at(at, one, other) || elements::are_same(one, other, separators)
            }
            Open::Everything => true,
        }
    }
}

fn has_twice(rows: &[Vec<String>]) -> bool {
    let mut seen = BTreeSet::new();
    !rows.iter().all(|row| seen.insert(row))
}

#[cfg(test)]
mod tests;
