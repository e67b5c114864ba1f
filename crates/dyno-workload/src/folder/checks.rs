//! The checks of a folder: queries that are asked before a load and behind it. What they return is compared here; nothing is sent
//! but by [`FolderCheck::read`].

use std::collections::BTreeMap;

use dyno_results::answer::Kind;
use dyno_results::format::{counted, grouped};
use dyno_results::sql_text::Syntax;
use dyno_target::connection::{Connection, QueryError, TextRow};

use super::file::CheckFile;
use super::mistake::Notes;
use super::options::Options;
use super::transactions::{Mix, Transaction};
use crate::dataset::{TableError, Verdict};
use crate::query_set::replace;
use crate::statements::{kind, statements, unclosed};
use dyno_engine::request::QueryKind;

/// Numbers are compared in units of so many places behind the point: what a product keeps as a binary fraction differs beyond.
const PLACES: usize = 6;
/// Rows of a difference that are shown.
const SHOWN: usize = 3;

#[derive(Debug)]
pub(super) struct FolderCheck {
    /// `every-event-has-its-customer`
    name: String,
    about: String,
    /// Places of the transactions behind which it is asked; empty where that are all.
    of: Vec<usize>,
    query: Query,
}

#[derive(Debug)]
enum Query {
    None(String),
    Equal { queries: [String; 2], growth: bool },
    Unchanged(String),
}

/// What the queries of a check returned: of one that must return nothing, how many rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Count(u64),
    Rows(Vec<Rows>),
}

/// The rows of an answer, in one order; `None` is NULL.
type Rows = Vec<Row>;
type Row = Vec<Option<String>>;

impl FolderCheck {
    pub(super) fn compile(
        file: &CheckFile,
        before: &[Self],
        (options, transactions): (&Options, &[Transaction]),
        notes: &mut Notes<'_>,
    ) -> Option<Self> {
        let query = match (&file.none, &file.equal, &file.unchanged) {
            (Some(query), None, None) => Query::None(one(query)),
            (None, Some([one_side, other]), None) => {
                Query::Equal { queries: [one(one_side), one(other)], growth: file.growth }
            }
            (None, None, Some(query)) => Query::Unchanged(one(query)),
            _ => {
                notes.at(file.about.span(), "a check has one of `none`, `equal` and `unchanged`");
                return None;
            }
        };
        if file.growth && file.equal.is_none() {
            notes.at(file.about.span(), "`growth` is for `equal`");
        }
        let values = options.in_queries().map(|name| (name.to_owned(), "1".to_owned())).collect();
        for sql in query.texts() {
            if let Err(unknown) = replace(sql, &values, Syntax::ANY) {
                notes.unknown(file.about.span(), "option", &unknown.name, options.in_queries());
            }
            if let Some((at, what)) = unclosed(sql) {
                let begun = sql.get(at..).unwrap_or_default();
                notes.at(file.about.span(), format!("{what} does not end in the query of a check: {begun}"));
                continue;
            }
            if !is_query(sql) {
                notes.at(
                    file.about.span(),
                    format!("the query of a check is one SELECT, and this is none: {sql}"),
                );
            }
        }
        let about = file.about.get_ref().clone();
        let words = about.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let name = words.map(str::to_lowercase).collect::<Vec<_>>().join("-");
        if name.is_empty() || before.iter().any(|other| other.name == name) {
            notes.at(file.about.span(), "the `about` of a check has words, and no other check has the same");
        }
        let mut of = Vec::new();
        for transaction in &file.transactions {
            match transactions.iter().position(|known| known.name == transaction.get_ref()) {
                Some(place) => of.push(place),
                None => {
                    let known = transactions.iter().map(|transaction| transaction.name);
                    notes.unknown(transaction.span(), "transaction", transaction.get_ref(), known);
                }
            }
        }
        Some(Self { name, about, of, query })
    }

    /// Whether it is asked behind a load of this mix.
    pub(super) fn is_for(&self, mix: &Mix) -> bool {
        self.of.is_empty() || mix.parts.iter().all(|(part, _)| self.of.contains(part))
    }

    /// Asks with these values of the options.
    pub(super) fn read(
        &self,
        connection: &mut Connection,
        defines: &BTreeMap<String, String>,
    ) -> Result<Answer, TableError> {
        let failed = |source| TableError::Check { check: self.about.clone(), source };
        let texts = self.asked(defines);
        if let (Query::None(_), [count]) = (&self.query, texts.as_slice()) {
            return Ok(Answer::Count(connection.query_value(count).map_err(failed)?.unwrap_or(0)));
        }
        let by_value = matches!(self.query, Query::Equal { .. });
        let rows = texts.iter().map(|sql| rows(connection, sql, by_value));
        Ok(Answer::Rows(rows.collect::<Result<_, _>>().map_err(failed)?))
    }

    /// What is asked with these values of the options.
    fn asked(&self, defines: &BTreeMap<String, String>) -> Vec<String> {
        // Each has a value: that was looked at when the folder was read.
        let text = |sql: &String| {
            replace(sql, defines, Syntax::ANY).map_or_else(|_| sql.clone(), |replaced| replaced.sql)
        };
        let counts = matches!(self.query, Query::None(_));
        let asked = |sql: String| match counts {
            true => format!("SELECT COUNT(*) FROM ({sql}\n) AS found"),
            false => sql,
        };
        self.query.texts().map(text).map(asked).collect()
    }

    /// Looks whether its queries can be asked, without reading the data where the product can say that.
    pub(super) fn look(
        &self,
        connection: &mut Connection,
        defines: &BTreeMap<String, String>,
    ) -> Result<(), TableError> {
        let explain = connection.dialect().explain.plain;
        for sql in self.asked(defines) {
            if connection.query(&format!("{explain} {sql}")).is_err() {
                // Not every product explains.
                let failed = |source| TableError::Check { check: self.about.clone(), source };
                connection.query(&sql).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// What is wrong with the data before a load.
    pub(super) fn contradicted(&self, before: &Answer) -> Option<String> {
        let what = match (&self.query, before) {
            (Query::None(_), Answer::Count(rows @ 1..)) => {
                let rows = counted(*rows, "row");
                format!("is contradicted by {rows} before the load, so it fails whatever the load does")
            }
            (Query::Equal { growth: false, .. }, Answer::Rows(sides)) => {
                let [expected, found] = sides.as_slice() else { return None };
                let differing = Differing::of(expected, found)?;
                let (expected, found) = (shown_rows(&differing.expected), shown_rows(&differing.found));
                format!(
                    "does not hold before the load, where {} of one query and {} of the other differ (expected {expected}, found {found}), so it fails unless the load makes them alike",
                    counted(differing.expected.len() as u64, "row"),
                    grouped(differing.found.len()),
                )
            }
            _ => return None,
        };
        Some(format!("the check `{}` {what}; --prepare makes the data anew", self.about))
    }

    /// Whether it is asked behind some transactions alone.
    pub(super) fn is_for_some(&self) -> bool {
        !self.of.is_empty()
    }

    /// It says nothing where a part of what was to be done was done.
    pub(super) fn undecided(&self, done: u64, times: u64) -> Verdict {
        let told = format!("{} of {} transactions were acknowledged", grouped(done), grouped(times));
        Verdict::undecided(self.name.clone(), told)
    }

    /// What follows from the answers before a load and behind it.
    pub(super) fn judge(&self, before: &Answer, after: &Answer) -> Verdict {
        let name = self.name.clone();
        let about = &self.about;
        match (&self.query, before, after) {
            (Query::None(_), Answer::Count(before), Answer::Count(found)) => {
                let detail = match (before, found) {
                    (_, 0) => about.clone(),
                    (0, found) => format!("{about}: {} rows contradict it", grouped(*found)),
                    (before, found) => {
                        format!(
                            "{about}: {} rows contradict it, and {} did before the load",
                            grouped(*found),
                            grouped(*before)
                        )
                    }
                };
                Verdict::none(name, *found, detail)
            }
            (Query::Unchanged(_), Answer::Rows(before), Answer::Rows(after)) => {
                // The same query on the same server: its texts are the same.
                compared(name, about, before.first().cloned(), after.first().cloned())
            }
            (Query::Equal { growth: false, .. }, _, Answer::Rows(after)) => {
                compared(name, about, after.first().cloned(), after.get(1).cloned())
            }
            (Query::Equal { growth: true, .. }, Answer::Rows(before), Answer::Rows(after)) => {
                let grown = |side: usize| growth(before.get(side)?, after.get(side)?);
                compared(name, about, grown(0), grown(1))
            }
            _ => Verdict::undecided(name, format!("{about}: it was asked otherwise before the load")),
        }
    }
}

impl Query {
    fn texts(&self) -> impl Iterator<Item = &String> {
        match self {
            Self::None(query) | Self::Unchanged(query) => std::slice::from_ref(query),
            Self::Equal { queries, .. } => queries.as_slice(),
        }
        .iter()
    }
}

/// Whether it is one SELECT.
pub(super) fn is_query(sql: &str) -> bool {
    statements(sql).len() == 1 && kind(sql) == QueryKind::Read
}

/// A query without comments and without what stands behind it.
fn one(sql: &str) -> String {
    match statements(sql).as_slice() {
        [one] => one.trim_end_matches(';').trim_end().to_owned(),
        _ => sql.to_owned(),
    }
}

/// The rows of a query. Those of another query are compared with numbers by their values, since their types may be others.
fn rows(connection: &mut Connection, sql: &str, by_value: bool) -> Result<Rows, QueryError> {
    let answer = connection.query(sql)?;
    let row = |row: &TextRow| {
        let values = row.iter().enumerate().map(|(place, (_, value))| {
            let of_kind = |text: &str| if by_value { plain(text, row.kind(place)) } else { text.to_owned() };
            value.map(of_kind)
        });
        values.collect()
    };
    let mut rows: Rows = answer.iter().map(row).collect();
    rows.sort_unstable();
    Ok(rows)
}

/// A number as it is compared; a text stays as it is. Where the kind of a column is not known, what begins with a nought is a text, such
/// as a postal code.
fn plain(text: &str, kind: Kind) -> String {
    let digits = text.trim_start_matches('-');
    let begins = digits.starts_with('0') && digits.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    let is_number = kind.is_number() || (kind == Kind::Unknown && !begins);
    units(text).filter(|_| is_number).map_or_else(|| text.to_owned(), shown)
}

/// A number in units of the last place that is compared.
fn units(text: &str) -> Option<i128> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 30 || !is_number(whole) || !is_number(part) {
        // With an exponent.
        let looks = text.contains(['e', 'E']) && text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let number: f64 = text.parse().ok().filter(|_| looks)?;
        return Some((number * 1e6).round() as i128);
    }
    let kept: String = part.chars().chain(std::iter::repeat('0')).take(PLACES).collect();
    let up = i128::from(part.as_bytes().get(PLACES).is_some_and(|next| *next >= b'5'));
    Some(sign * (format!("{whole}{kept}").parse::<i128>().ok()? + up))
}

fn shown(units: i128) -> String {
    let one = 10_i128.pow(PLACES as u32);
    let (whole, part) = (units.abs() / one, units.abs() % one);
    let sign = if units < 0 { "-" } else { "" };
    let text = format!("{sign}{whole}.{part:0PLACES$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// By key, how much more the last column is than it was; what has not changed is left out. `None` where it is no number.
fn growth(before: &Rows, after: &Rows) -> Option<Rows> {
    let mut sums: BTreeMap<Row, i128> = BTreeMap::new();
    for (rows, sign) in [(before, -1), (after, 1)] {
        for row in rows {
            let (last, key) = row.split_last()?;
            let value = last.as_deref().map_or(Some(0), units)?;
            *sums.entry(key.to_vec()).or_default() += sign * value;
        }
    }
    let grown = sums.into_iter().filter(|(_, sum)| *sum != 0);
    Some(grown.map(|(key, sum)| key.into_iter().chain([Some(shown(sum))]).collect()).collect())
}

fn compared(name: String, about: &str, expected: Option<Rows>, found: Option<Rows>) -> Verdict {
    let (Some(expected), Some(found)) = (expected, found) else {
        return Verdict::undecided(
            name,
            format!("{about}: the last column of a query with growth is a number, and this is none"),
        );
    };
    let Some(differing) = Differing::of(&expected, &found) else {
        let rows = format!("{} rows", grouped(found.len()));
        return Verdict::new(name, true, rows.clone(), rows, about.to_owned());
    };
    let rows = differing.expected.len().max(differing.found.len());
    let detail = format!("{about}: {} rows differ", grouped(rows));
    Verdict::new(name, false, shown_rows(&differing.expected), shown_rows(&differing.found), detail)
}

/// Rows that only one of two answers has.
struct Differing {
    expected: Vec<String>,
    found: Vec<String>,
}

impl Differing {
    /// `None` where both have the same.
    fn of(expected: &Rows, found: &Rows) -> Option<Self> {
        if expected == found {
            return None;
        }
        // A row may occur several times.
        let mut counts: BTreeMap<&Row, i64> = BTreeMap::new();
        for (rows, sign) in [(expected, 1), (found, -1)] {
            rows.iter().for_each(|row| *counts.entry(row).or_default() += sign);
        }
        let text = |row: &Row| {
            let values: Vec<&str> = row.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect();
            values.join(" ")
        };
        let missing = |sign: i64| -> Vec<String> {
            let rows = counts.iter().filter(|(_, count)| **count * sign > 0);
            rows.flat_map(|(row, count)| std::iter::repeat_n(text(row), count.unsigned_abs() as usize))
                .collect()
        };
        Some(Self { expected: missing(1), found: missing(-1) })
    }
}

fn shown_rows(rows: &[String]) -> String {
    match rows {
        [] => "nothing".to_owned(),
        rows => rows.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: Query) -> FolderCheck {
        FolderCheck { name: "it".to_owned(), about: "It holds".to_owned(), of: Vec::new(), query }
    }

    fn answer(sides: &[&[&str]]) -> Answer {
        let row =
            |row: &&str| row.split(' ').map(|value| (value != "NULL").then(|| value.to_owned())).collect();
        Answer::Rows(sides.iter().map(|rows| rows.iter().map(row).collect()).collect())
    }

    #[test]
    fn numbers_are_compared_by_their_values() {
        for kind in [Kind::Unknown, Kind::Decimal, Kind::Float] {
            assert_eq!(plain("12.30", kind), plain("12.3", kind));
            assert_eq!(plain("-0.10000000000000001", kind), "-0.1");
            assert_eq!([plain("1e3", kind), plain("0.50", kind)], ["1000", "0.5"]);
            assert_eq!(["1.2.3", "abc", ""].map(|text| plain(text, kind)), ["1.2.3", "abc", ""]);
        }
        assert_eq!(plain("007", Kind::Unknown), "007");
        for text in ["1e3", "1000", "12.30", "-0", "007"] {
            assert_eq!(plain(text, Kind::Text), text);
        }
    }

    #[test]
    fn what_must_be_equal_is_compared_by_key_and_as_growth() {
        let both = |growth| Query::Equal { queries: [String::new(), String::new()], growth };
        let before = answer(&[&["1 100", "2 200"], &["1 7"]]);
        let after = answer(&[&["1 105", "2 200"], &["1 12"]]);
        assert_eq!(check(both(true)).judge(&before, &after).passed, Some(true));
        assert_eq!(check(both(false)).judge(&before, &after).passed, Some(false));
        let lost = answer(&[&["1 105", "2 200"], &["1 11"]]);
        let verdict = check(both(true)).judge(&before, &lost);
        assert_eq!((verdict.expected.as_deref(), verdict.found.as_deref()), (Some("1 5"), Some("1 4")));
        let texts = answer(&[&["1 x"], &["1 y"]]);
        assert_eq!(check(both(true)).judge(&before, &texts).passed, None);
    }

    #[test]
    fn what_does_not_hold_before_a_load_is_told() {
        let equal = |growth| check(Query::Equal { queries: [String::new(), String::new()], growth });
        let before = answer(&[&["1 100", "2 200"], &["1 100", "2 201"]]);
        let told = equal(false).contradicted(&before).unwrap();
        assert!(told.contains("1 row of one query and 1 of the other differ (expected 2 200, found 2 201), so it fails unless"), "{told}");
        assert_eq!(equal(true).contradicted(&before), None);
        assert_eq!(equal(false).contradicted(&answer(&[&["1 2"], &["1 2"]])), None);
    }

    #[test]
    fn what_must_not_change_and_what_must_not_be_there_is_seen() {
        let unchanged = check(Query::Unchanged(String::new()));
        let before = answer(&[&["a 1"]]);
        assert_eq!(unchanged.judge(&before, &before).passed, Some(true));
        for other in [&["a 2"][..], &["a 1.0"], &["a NULL"], &["a 1", "a 1"], &[]] {
            assert_eq!(unchanged.judge(&before, &answer(&[other])).passed, Some(false), "{other:?}");
        }
        let twice = unchanged.judge(&before, &answer(&[&["a 1", "a 1"]]));
        assert_eq!((twice.expected.as_deref(), twice.found.as_deref()), (Some("nothing"), Some("a 1")));
        let none = check(Query::None(String::new()));
        let verdict = |before, after| none.judge(&Answer::Count(before), &Answer::Count(after)).passed;
        assert_eq!([verdict(0, 0), verdict(3, 0), verdict(0, 1)], [Some(true), Some(true), Some(false)]);
    }
}
