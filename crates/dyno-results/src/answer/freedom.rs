//! What the text of a query leaves open: which rows a LIMIT takes of those that tie, what a volatile function returns, in which order an
//! aggregate takes its values. Two answers that differ in nothing else are both right. Pure.

mod tokens;

use std::collections::BTreeSet;

use tokens::{Token, tokens};

use super::{Columns, Rows, Tolerance};

/// Functions that return something else at each call, or at another time.
const VOLATILE: [&str; 28] = [
    "now",
    "current_timestamp",
    "current_time",
    "current_date",
    "localtime",
    "localtimestamp",
    "sysdate",
    "getdate",
    "curdate",
    "curtime",
    "utc_timestamp",
    "unix_timestamp",
    "today",
    "yesterday",
    "now64",
    "clock_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "timeofday",
    "random",
    "rand",
    "rand64",
    "uuid",
    "gen_random_uuid",
    "generateuuidv4",
    "uuid_generate_v4",
    "newid",
    "txid_current",
];
/// Aggregates whose value has the values of its rows in the order in which they come.
const IN_ANY_ORDER: [&str; 13] = [
    "string_agg",
    "group_concat",
    "listagg",
    "array_agg",
    "json_agg",
    "jsonb_agg",
    "json_arrayagg",
    "grouparray",
    "groupuniqarray",
    "list",
    "collect_list",
    "collect_set",
    "xmlagg",
];
/// Aggregates that return the value of one of their rows.
const ANY: [&str; 8] = ["any_value", "any", "anylast", "first", "last", "arbitrary", "argmin", "argmax"];
/// What a comment of a text may say of how answers to it are compared: only by the number of their rows, or also where what a value is
/// made of has another order.
pub const SAID: [&str; 2] = ["dyno: compare count only", "dyno: compare unordered"];

/// What a text leaves open of an answer to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Freedom {
    /// Why, for a reader; empty where nothing is open.
    why: Vec<String>,
    /// Only the number of rows is determined.
    count_only: bool,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Open {
    #[default]
    Nothing,
    /// The order of what a value is made of.
    Order,
    Everything,
}

impl Freedom {
    /// What a query leaves open.
    #[must_use]
    pub fn of(sql: &str) -> Self {
        let mut found = Self::default();
        let [count_only, unordered] = SAID.map(|said| sql.contains(said));
        if count_only {
            return found.only_count("the query says `compare count only`");
        }
        if unordered {
            found.all = Open::Order;
            found.why.push("the query says `compare unordered`".to_owned());
        }
        let tokens = tokens(sql);
        let Some(statement) = Statement::read(&tokens) else { return found };
        for (at, token) in tokens.iter().enumerate() {
            let call = Call { tokens: &tokens, at };
            let Some((open, why)) = call.open() else { continue };
            match statement.column_of(at) {
                Some(column) if !statement.has_star => found.open(column, open),
                _ => return found.only_count(&format!("`{}` {why}", token.text)),
            }
            found.why.push(format!("`{}` {why}", token.text));
        }
        if tokens.iter().any(|token| token.depth > 0 && token.is_word("limit")) {
            return found.only_count("a LIMIT within it may take other rows");
        }
        found.distinct = statement.has_distinct_rows(&tokens);
        found.cut = statement.cut(&tokens);
        found
    }

    fn only_count(mut self, why: &str) -> Self {
        self.why.push(why.to_owned());
        self.count_only = true;
        self
    }

    fn open(&mut self, column: usize, open: Open) {
        if self.columns.len() <= column {
            self.columns.resize(column + 1, Open::Nothing);
        }
        self.columns[column] = self.columns[column].max(open);
    }

    /// Why two answers that differ may both be right: the text leaves open what they differ in, and they agree in everything else. `None`
    /// where they do not, or where that cannot be told.
    #[must_use]
    pub fn explains(&self, one: &Rows<'_>, other: &Rows<'_>) -> Option<String> {
        let cut = self.cut.as_ref().filter(|cut| cut.rows.is_none_or(|rows| one.count >= rows));
        let why: Vec<&str> = self.why.iter().map(String::as_str).chain(cut.map(|cut| cut.why)).collect();
        if why.is_empty() || one.count != other.count {
            return None;
        }
        let are_known = one.are_all_known() && other.are_all_known();
        let has_twice = self.distinct && are_known && [one, other].iter().any(|rows| has_twice(rows.first));
        let only_count = self.count_only || cut.is_some_and(|cut| cut.keys.is_none());
        let agree = !has_twice && (only_count || (are_known && self.agrees(one, other, cut)));
        agree.then(|| why.join("; "))
    }

    fn agrees(&self, one: &Rows<'_>, other: &Rows<'_>, cut: Option<&Cut>) -> bool {
        let columns = Columns { kinds: [one.kinds, other.kinds], tolerance: Tolerance::Engines };
        let Some((cut, keys)) = cut.and_then(|cut| Some((cut, cut.keys.as_ref()?))) else {
            return self.same_rows(one.first, other.first, columns);
        };
        // The keys come in the order that the text asks for, so those of each row are determined.
        let same_keys = |(one, other): (&Vec<String>, &Vec<String>)| {
            keys.iter().all(|key| match (one.get(*key), other.get(*key)) {
                (Some(one), Some(other)) => self.same_value(columns, *key, one, other),
                _ => false,
            })
        };
        if !one.first.iter().zip(other.first).all(same_keys) {
            return false;
        }
        let within = |rows: &[Vec<String>]| -> Vec<Vec<String>> {
            let key = |row: &Vec<String>| keys.iter().map(|key| row.get(*key).cloned()).collect::<Vec<_>>();
            let ends = [rows.first().filter(|_| cut.has_offset).map(key), rows.last().map(key)];
            let is_within = |row: &&Vec<String>| !ends.contains(&Some(key(row)));
            rows.iter().filter(is_within).cloned().collect()
        };
        self.same_rows(&within(one.first), &within(other.first), columns)
    }

    /// Whether each row has a counterpart.
    fn same_rows(&self, rows: &[Vec<String>], others: &[Vec<String>], columns: Columns<'_>) -> bool {
        let mut left: Vec<&Vec<String>> = others.iter().collect();
        rows.len() == others.len()
            && rows.iter().all(|row| {
                let same = |other: &&Vec<String>| {
                    let mut values = row.iter().zip(*other).enumerate();
                    row.len() == other.len()
                        && values.all(|(at, (one, other))| self.same_value(columns, at, one, other))
                };
                left.iter().position(same).map(|at| left.swap_remove(at)).is_some()
            })
    }

    fn same_value(&self, columns: Columns<'_>, at: usize, one: &str, other: &str) -> bool {
        match self.columns.get(at).copied().unwrap_or_default().max(self.all) {
            Open::Nothing => columns.same_at(at, one, other),
            Open::Order => columns.same_at(at, one, other) || sorted(one) == sorted(other),
            Open::Everything => true,
        }
    }
}

fn has_twice(rows: &[Vec<String>]) -> bool {
    let mut seen = BTreeSet::new();
    !rows.iter().all(|row| seen.insert(row))
}

fn sorted(text: &str) -> Vec<char> {
    let mut letters: Vec<char> = text.chars().collect();
    letters.sort_unstable();
    letters
}

/// A word of a text that may be the name of a function.
struct Call<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
}

impl Call<'_> {
    /// What it leaves open of its value, and why.
    fn open(&self) -> Option<(Open, &'static str)> {
        let token = self.tokens.get(self.at)?;
        let follows = |text: &str| self.tokens.get(self.at + 1).is_some_and(|next| next.text == text);
        let is_one_of = |names: &[&str]| names.iter().any(|name| token.is_word(name));
        let needs_no_call = token.text.len() > 5 && token.is_word_that_begins(&["current_", "localtime"]);
        if is_one_of(&VOLATILE) && (follows("(") || needs_no_call) {
            return Some((Open::Everything, "returns something else each time"));
        }
        if !follows("(") {
            return None;
        }
        if is_one_of(&ANY) && !self.is_window() {
            return Some((Open::Everything, "takes the value of any row"));
        }
        (is_one_of(&IN_ANY_ORDER) && !self.is_ordered()).then_some((Open::Order, "has no order"))
    }

    /// What stands in its brackets.
    fn inner(&self) -> &[Token<'_>] {
        let depth = self.tokens[self.at].depth;
        let inner = self.tokens.get(self.at + 2..).unwrap_or_default();
        let end = inner.iter().position(|token| token.depth <= depth).unwrap_or(inner.len());
        &inner[..end]
    }

    fn is_ordered(&self) -> bool {
        let behind = self.tokens.get(self.at + 2 + self.inner().len() + 1..).unwrap_or_default();
        self.inner().iter().any(|token| token.is_word("order"))
            || behind.first().is_some_and(|token| token.is_word("within"))
    }

    fn is_window(&self) -> bool {
        let behind = self.tokens.get(self.at + 2 + self.inner().len() + 1..).unwrap_or_default();
        behind.first().is_some_and(|token| token.is_word("over"))
    }
}

/// The outermost SELECT of a text, by the places of its tokens.
struct Statement<'a> {
    /// The items that it returns, each from where to where.
    items: Vec<&'a [Token<'a>]>,
    /// Where each begins.
    begins: Vec<usize>,
    has_star: bool,
    is_distinct: bool,
    limit: Option<usize>,
    group: Option<usize>,
    order: Option<usize>,
}

impl<'a> Statement<'a> {
    /// `None` of what is no SELECT.
    fn read(tokens: &'a [Token<'a>]) -> Option<Self> {
        let is = |at: &usize, word: &str| tokens[*at].depth == 0 && tokens[*at].is_word(word);
        let find = |word: &str, from: usize| (from..tokens.len()).find(|at| is(at, word));
        let is_union = ["union", "intersect", "except"].iter().any(|word| find(word, 0).is_some());
        let select = find("select", 0)?;
        let is_next = |word: &str| tokens.get(select + 1).is_some_and(|next| next.is_word(word));
        let is_distinct = is_next("distinct");
        let from = select + 1 + usize::from(is_distinct || is_next("all"));
        let ends = ["from", "where", "group", "order", "limit", "union", "intersect", "except"];
        let end = ends.iter().filter_map(|word| find(word, from)).min().unwrap_or(tokens.len());
        let (mut items, mut begins, mut begin) = (Vec::new(), Vec::new(), from);
        for at in from..=end {
            if at == end || (tokens[at].depth == 0 && tokens[at].text == ",") {
                items.push(&tokens[begin..at]);
                begins.push(begin);
                begin = at + 1;
            }
        }
        let has_star = is_union || items.iter().any(|item| item.last().is_some_and(|last| last.text == "*"));
        let limit = ["limit", "fetch"].iter().filter_map(|word| find(word, from)).min();
        // The order of the whole stands before its limit.
        let order = (from..tokens.len()).rev().find(|at| is(at, "order"));
        let group = find("group", from);
        Some(Self { items, begins, has_star, is_distinct, limit, group, order })
    }

    /// The column in which the value of a token is; `None` where it is no part of one.
    fn column_of(&self, at: usize) -> Option<usize> {
        let column = self.begins.iter().rposition(|begin| *begin <= at)?;
        (at < self.begins[column] + self.items[column].len()).then_some(column)
    }

    fn cut(&self, tokens: &[Token<'_>]) -> Option<Cut> {
        let limit = self.limit?;
        let number = |at: usize| tokens.get(at)?.text.parse().ok();
        let has_offset = tokens.iter().any(|token| token.depth == 0 && token.is_word("offset"));
        // `LIMIT 10, 5` begins with the offset.
        let has_comma = tokens.get(limit + 2).is_some_and(|token| token.text == ",");
        let rows =
            if has_comma { number(limit + 3) } else { number(limit + 1).or_else(|| number(limit + 2)) };
        let cut = |why, keys| Some(Cut { why, rows, has_offset: has_offset || has_comma, keys });
        let Some(order) = self.order else { return cut("its LIMIT has no ORDER BY", None) };
        match self.columns_of_keys(tokens, order).into_iter().collect() {
            None => cut("rows may tie in the order of its LIMIT, whose keys are not all in the answer", None),
            keys => cut("rows may tie in the order of its LIMIT", keys),
        }
    }

    fn has_distinct_rows(&self, tokens: &[Token<'_>]) -> bool {
        let is_shown = |group| self.columns_of_keys(tokens, group).iter().all(Option::is_some);
        self.is_distinct || self.group.is_some_and(is_shown)
    }

    /// The columns of the keys of an ORDER BY or a GROUP BY; `None` of a key that is in no column.
    fn columns_of_keys(&self, tokens: &[Token<'_>], clause: usize) -> Vec<Option<usize>> {
        let ends = ["having", "window", "order", "limit", "offset", "fetch", "for", "settings", "format"];
        let is_end = |token: &Token<'_>| token.depth == 0 && ends.iter().any(|word| token.is_word(word));
        let keys = tokens.get(clause + 2..).unwrap_or_default();
        let keys = &keys[..keys.iter().position(is_end).unwrap_or(keys.len())];
        keys.split(|token| token.depth == 0 && token.text == ",").map(|key| self.column_of_key(key)).collect()
    }

    fn column_of_key(&self, key: &[Token<'_>]) -> Option<usize> {
        let directions = ["asc", "desc", "nulls", "first", "last"];
        let end = key
            .iter()
            .position(|token| token.depth == 0 && directions.iter().any(|word| token.is_word(word)));
        let key = &key[..end.unwrap_or(key.len())];
        if let [number] = key
            && let Ok(number) = number.text.parse::<usize>()
        {
            return number.checked_sub(1).filter(|column| *column < self.items.len());
        }
        if self.has_star {
            return None;
        }
        self.items.iter().position(|item| {
            let (expression, alias) = match item {
                [expression @ .., by, alias] if by.is_word("as") => (expression, Some(alias)),
                [expression @ .., alias] if !expression.is_empty() && alias.is_name() && !expression.ends_with_operator() => {
                    (expression, Some(alias))
                }
                whole => (*whole, None),
            };
            let is_alias = alias.is_some_and(|alias| matches!(key, [name] if name.is_like(alias)));
            // `t.a` is shown as `a`.
            let is_column = matches!((expression, key), ([.., point, column], [name]) if point.text == "." && column.is_like(name));
            is_alias || is_column || (expression.len() == key.len() && expression.iter().zip(key).all(|(one, other)| one.is_like(other)))
        })
    }
}

trait EndsWithOperator {
    fn ends_with_operator(&self) -> bool;
}

impl EndsWithOperator for [Token<'_>] {
    /// What follows belongs to it.
    fn ends_with_operator(&self) -> bool {
        self.last().is_some_and(|last| !last.is_name() && !matches!(last.text, ")" | "]") && !last.is_value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Vec<String>> {
        let row = |row: &str| row.split('|').map(|value| value.trim().to_owned()).collect();
        text.split(';').map(row).collect()
    }

    fn explained(sql: &str, one: &str, other: &str) -> Option<String> {
        let [one, other] = [rows(one), rows(other)];
        let [one, other] = [&one, &other].map(|rows| Rows {
            first: rows,
            kinds: &[],
            count: rows.len() as u64,
            digest: None,
        });
        let found = Freedom::of(sql).explains(&one, &other);
        assert_eq!(found, Freedom::of(sql).explains(&other, &one), "{sql}");
        found
    }

    #[test]
    fn what_the_text_leaves_open_may_be_another() {
        for (sql, one, other, why) in [
            (
                "SELECT a, count(*) FROM t GROUP BY a LIMIT 2",
                "1|5;2|5",
                "3|5;1|5",
                "its LIMIT has no ORDER BY",
            ),
            (
                "SELECT a, count(*) AS c FROM t GROUP BY a ORDER BY c DESC LIMIT 3",
                "1|9;2|5;3|5",
                "1|9;2|5;4|5",
                "rows may tie in the order of its LIMIT",
            ),
            (
                "SELECT a, count(*) FROM t GROUP BY a ORDER BY 2 LIMIT 2",
                "1|9;3|5",
                "1|9;4|5",
                "rows may tie in the order of its LIMIT",
            ),
            (
                "SELECT a, count(*) FROM t GROUP BY a ORDER BY COUNT(*) DESC LIMIT 2",
                "1|9;3|5",
                "1|9;4|5",
                "rows may tie in the order of its LIMIT",
            ),
            (
                "SELECT a FROM t ORDER BY b FETCH FIRST 2 ROWS ONLY",
                "1;2",
                "1;3",
                "rows may tie in the order of its LIMIT, whose keys are not all in the answer",
            ),
            (
                "SELECT a, b FROM t ORDER BY b LIMIT 2 OFFSET 1",
                "1|5;2|7",
                "3|5;2|7",
                "rows may tie in the order of its LIMIT",
            ),
            ("SELECT a, now() FROM t", "1|10:00", "1|10:01", "`now` returns something else each time"),
            (
                "SELECT a, CURRENT_TIMESTAMP FROM t",
                "1|10:00",
                "1|10:01",
                "`CURRENT_TIMESTAMP` returns something else each time",
            ),
            (
                "SELECT count(*) FROM t WHERE b > random()",
                "5",
                "6",
                "`random` returns something else each time",
            ),
            ("SELECT a, string_agg(b, ',') FROM t GROUP BY a", "1|x,y", "1|y,x", "`string_agg` has no order"),
            (
                "SELECT a, any_value(b) FROM t GROUP BY a",
                "1|x",
                "1|y",
                "`any_value` takes the value of any row",
            ),
            (
                "SELECT count(*) FROM (SELECT a FROM t LIMIT 5) s",
                "4",
                "5",
                "a LIMIT within it may take other rows",
            ),
            ("-- dyno: compare count only\nSELECT a FROM t", "1", "2", "the query says `compare count only`"),
            (
                "-- dyno: compare unordered\nSELECT f(a) FROM t",
                "1,2",
                "2,1",
                "the query says `compare unordered`",
            ),
        ] {
            assert_eq!(explained(sql, one, other).as_deref(), Some(why), "{sql}");
        }
    }

    #[test]
    fn what_the_text_determines_must_be_the_same() {
        for (sql, one, other) in [
            ("SELECT a FROM t", "1", "2"),
            // Fewer rows.
            ("SELECT a FROM t LIMIT 3", "1;2;3", "1;2"),
            ("-- dyno: compare count only\nSELECT a FROM t", "1", "1;2"),
            // There are no more rows than these.
            ("SELECT a FROM t LIMIT 10", "1;2", "1;3"),
            ("SELECT a, b FROM t ORDER BY b LIMIT 10", "1|5;2|5", "1|5;3|5"),
            // Other keys, and other rows before those that tie.
            ("SELECT a, count(*) AS c FROM t GROUP BY a ORDER BY c LIMIT 2", "1|9;2|5", "1|9;2|4"),
            ("SELECT a, b FROM t ORDER BY b LIMIT 2", "1|5;2|7", "3|5;2|7"),
            ("SELECT n FROM t ORDER BY n LIMIT 3", "1;2;3", "1;2;4"),
            ("SELECT t.n FROM t ORDER BY n DESC LIMIT 2", "3;2", "3;1"),
            // Rows that come twice.
            ("SELECT a, count(*) AS c FROM t GROUP BY a ORDER BY c LIMIT 2", "1|5;2|5", "3|5;3|5"),
            ("SELECT DISTINCT a FROM t LIMIT 2", "1;2", "1;1"),
            // Another column than the one that is open, and other values in any order.
            ("SELECT a, now() FROM t", "1|10:00", "2|10:01"),
            ("SELECT a, string_agg(b, ',') FROM t GROUP BY a", "1|x,y", "1|x,z"),
            ("SELECT a, string_agg(b, ',' ORDER BY b) FROM t GROUP BY a", "1|x,y", "1|y,x"),
            ("SELECT a, listagg(b) WITHIN GROUP (ORDER BY b) FROM t GROUP BY a", "1|xy", "1|yx"),
            ("SELECT first_value(b) OVER (ORDER BY a), first FROM t", "1|2", "1|3"),
            // Names and texts are no calls.
            ("SELECT random, 'now()' FROM t -- LIMIT 1", "1|x", "2|x"),
            ("SELECT \"limit\" FROM t", "1", "2"),
        ] {
            assert_eq!(explained(sql, one, other), None, "{sql}");
        }
    }

    #[test]
    fn an_engine_that_drops_or_repeats_rows_is_not_explained() {
        let sql = "SELECT uid, count(*) AS c FROM hit GROUP BY uid ORDER BY c DESC LIMIT 20";
        let right: Vec<String> = (0..20).map(|at| format!("{at}|{}", 100 - at / 4)).collect();
        let tie = [&right[..16], &["90|96", "91|96", "92|96", "93|96"].map(str::to_owned)].concat();
        assert!(explained(sql, &right.join(";"), &tie.join(";")).is_some());
        // The last row repeated in its own place would be the same answer.
        for place in 0..19 {
            let mut dropped = right.clone();
            dropped.remove(place);
            assert_eq!(explained(sql, &right.join(";"), &dropped.join(";")), None, "{place}");
            // The next row takes its place.
            dropped.push("99|95".to_owned());
            assert_eq!(explained(sql, &right.join(";"), &dropped.join(";")), None, "{place}");
            let mut repeated = right.clone();
            repeated.insert(place, right[place].clone());
            repeated.pop();
            assert_eq!(explained(sql, &right.join(";"), &repeated.join(";")), None, "{place}");
        }
    }
}
