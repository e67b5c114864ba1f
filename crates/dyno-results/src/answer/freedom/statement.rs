//! The outermost SELECT of a text.

use super::Cut;
use super::calls::Place;
use super::tokens::Token;

/// The outermost SELECT of a text, by the places of its tokens.
pub(super) struct Statement<'a> {
    /// The items that it returns, each from where to where.
    pub(super) items: Vec<&'a [Token<'a>]>,
    /// Where each begins.
    begins: Vec<usize>,
    pub(super) has_star: bool,
    pub(super) is_union: bool,
    is_distinct: bool,
    /// The keys of a DISTINCT ON.
    distinct_on: Option<&'a [Token<'a>]>,
    pub(super) limit: Option<usize>,
    pub(super) group: Option<usize>,
    pub(super) order: Option<usize>,
}

impl<'a> Statement<'a> {
    /// `None` of what returns no rows.
    pub(super) fn read(tokens: &'a [Token<'a>]) -> Option<Self> {
        let is = |at: &usize, word: &str| tokens[*at].depth == 0 && tokens[*at].is_word(word);
        let find = |word: &str, from: usize| (from..tokens.len()).find(|at| is(at, word));
        let is_union = ["union", "intersect", "except"].iter().any(|word| find(word, 0).is_some());
        let select = find("select", 0);
        if select.is_none() && !tokens.first()?.is_one_of(&["from", "table", "values", "with", "("]) {
            return None;
        }
        let is_next =
            |word: &str| select.is_some_and(|at| tokens.get(at + 1).is_some_and(|next| next.is_word(word)));
        let distinct_on =
            select.filter(|at| is_next("distinct") && tokens.get(at + 2).is_some_and(|on| on.is_word("on")));
        let distinct_on = distinct_on.map(|at| Place { tokens, at: at + 2 });
        let is_distinct = is_next("distinct") && distinct_on.is_none() && !is_union;
        let behind = select.map_or(0, |at| at + 1 + usize::from(is_next("distinct") || is_next("all")));
        let from = distinct_on.map_or(behind, Place::behind).min(tokens.len());
        let ends = [
            "from",
            "where",
            "group",
            "having",
            "order",
            "limit",
            "fetch",
            "offset",
            "union",
            "intersect",
            "except",
        ];
        let end = ends.iter().filter_map(|word| find(word, from)).min().unwrap_or(tokens.len());
        let (items, begins) = if select.is_some() { items(tokens, from, end) } else { Default::default() };
        let ends_in_star = |item: &&[Token<'_>]| item.last().is_some_and(|last| last.text == "*");
        let has_star = is_union || select.is_none() || items.iter().any(ends_in_star);
        let is_limit = |at: &usize| tokens[*at].depth == 0 && Place { tokens, at: *at }.is_limit();
        let limit = (from..tokens.len()).find(is_limit);
        // The order of the whole stands before its limit.
        let order = (from..tokens.len()).rev().find(|at| is(at, "order"));
        let group = find("group", from);
        let distinct_on = distinct_on.map(Place::inner);
        Some(Self { items, begins, has_star, is_union, is_distinct, distinct_on, limit, group, order })
    }

    /// The columns that have other values where other rows come, beside those rows themselves; `None` where any may.
    pub(super) fn columns_of_several_rows(&self, tokens: &[Token<'_>], is_outer: bool) -> Option<Vec<usize>> {
        let is_aggregate =
            |at: usize| tokens[at].is_word("group") || Place { tokens, at }.is_of_several_rows();
        let is_elsewhere =
            |at: usize| self.column_of(at).is_none() && (tokens[at].depth > 0 || self.has_star);
        let any = (0..tokens.len()).any(|at| is_aggregate(at) && is_elsewhere(at));
        if (any && !is_outer)
            || (self.has_star && (0..tokens.len()).any(|at| is_aggregate(at) && tokens[at].depth == 0))
        {
            return None;
        }
        let keys = self.group.map(|group| self.columns_of_keys(tokens, group));
        let is_open = |column: &usize| {
            let begin = self.begins[*column];
            (begin..begin + self.items[*column].len()).any(is_aggregate)
                || keys.as_ref().is_some_and(|keys| !keys.contains(&Some(*column)))
        };
        Some((0..self.items.len()).filter(is_open).collect())
    }

    /// The columns that a DISTINCT ON takes from any row.
    pub(super) fn columns_of_any_row(&self) -> Option<Vec<usize>> {
        let keys = split(self.distinct_on?).map(|key| self.column_of_key(key)).collect::<Vec<_>>();
        Some((0..self.items.len()).filter(|column| !keys.contains(&Some(*column))).collect())
    }

    /// Whether a place is in the order of the whole.
    pub(super) fn is_in_order(&self, at: usize) -> bool {
        self.order.is_some_and(|order| at > order)
    }

    /// Whether a column decides how many rows there are.
    pub(super) fn counts_by(&self, tokens: &[Token<'_>], column: usize) -> bool {
        let is_key = |group| self.columns_of_keys(tokens, group).contains(&Some(column));
        self.is_distinct || self.is_union || self.group.is_some_and(is_key)
    }

    /// Whether a column is no more than this call, with an alias.
    pub(super) fn is_whole(&self, column: usize, call: Place<'_>) -> bool {
        let end = self.begins[column] + self.items[column].len();
        let behind = call.behind();
        let goes_on = || call.tokens[behind].is_name();
        self.begins[column] == call.at && (behind >= end || goes_on())
    }

    /// The column in which the value of a token is; `None` where it is no part of one.
    pub(super) fn column_of(&self, at: usize) -> Option<usize> {
        let column = self.begins.iter().rposition(|begin| *begin <= at)?;
        (at < self.begins[column] + self.items[column].len()).then_some(column)
    }

    pub(super) fn cut(&self, tokens: &[Token<'_>]) -> Option<Cut> {
        let limit = self.limit?;
        let number = |at: usize| tokens.get(at)?.text.parse().ok();
        let has_offset = tokens.iter().any(|token| token.depth == 0 && token.is_word("offset"));
        // `LIMIT 10, 5` begins with the offset.
        let has_comma = tokens.get(limit + 2).is_some_and(|token| token.text == ",");
        let rows =
            if has_comma { number(limit + 3) } else { number(limit + 1).or_else(|| number(limit + 2)) };
        let cut = |why, keys| Some(Cut { why, rows, has_offset: has_offset || has_comma, keys });
        let Some(order) = self.order else { return cut("its LIMIT has no ORDER BY", None) };
        // Which come first of groups that are not shown is left to the order of NULLs and of texts, which products have their own of.
        if self.has_distinct_rows(tokens) && self.orders_groups(tokens, order) {
            return None;
        }
        match self.columns_of_keys(tokens, order).into_iter().collect() {
            None => cut("rows may tie in the order of its LIMIT, whose keys are not all in the answer", None),
            keys => cut("rows may tie in the order of its LIMIT", keys),
        }
    }

    pub(super) fn has_distinct_rows(&self, tokens: &[Token<'_>]) -> bool {
        let is_shown = |group| self.columns_of_keys(tokens, group).iter().all(Option::is_some);
        self.is_distinct || self.group.is_some_and(is_shown)
    }

    /// The columns of the keys of an ORDER BY or a GROUP BY; `None` of a key that is in no column.
    fn columns_of_keys(&self, tokens: &[Token<'_>], clause: usize) -> Vec<Option<usize>> {
        self.keys(tokens, clause).map(|key| self.column_of_key(key)).collect()
    }

    /// The keys of an ORDER BY or a GROUP BY, without their directions.
    pub(super) fn keys<'t, 'k>(
        &self,
        tokens: &'t [Token<'k>],
        clause: usize,
    ) -> impl Iterator<Item = &'t [Token<'k>]> {
        let ends = ["having", "window", "order", "limit", "offset", "fetch", "for", "settings", "format"];
        let is_end = |token: &Token<'_>| token.depth == 0 && ends.iter().any(|word| token.is_word(word));
        let keys = tokens.get(clause + 2..).unwrap_or_default();
        let keys = &keys[..keys.iter().position(is_end).unwrap_or(keys.len())];
        split(keys).map(without_direction)
    }

    fn column_of_key(&self, key: &[Token<'_>]) -> Option<usize> {
        let key = without_direction(key);
        if let [number] = key
            && let Ok(number) = number.text.parse::<usize>()
        {
            return number.checked_sub(1).filter(|column| *column < self.items.len());
        }
        if self.has_star {
            return None;
        }
        self.items.iter().position(|item| {
            let (expression, alias) = parts(item);
            let is_alias = alias.is_some_and(|alias| matches!(key, [name] if name.is_like(alias)));
            // `t.a` is shown as `a`.
            let is_column = matches!((expression, key), ([.., point, column], [name]) if point.text == "." && column.is_like(name));
            is_alias || is_column || (expression.len() == key.len() && expression.iter().zip(key).all(|(one, other)| one.is_like(other)))
        })
    }
}

/// The expression of an item, and its alias.
pub(super) fn parts<'t, 'a>(item: &'t [Token<'a>]) -> (&'t [Token<'a>], Option<&'t Token<'a>>) {
    match item {
        [expression @ .., by, alias] if by.is_word("as") => (expression, Some(alias)),
        [expression @ .., alias]
            if !expression.is_empty() && alias.is_name() && !expression.ends_with_operator() =>
        {
            (expression, Some(alias))
        }
        whole => (whole, None),
    }
}

fn without_direction<'t, 'a>(key: &'t [Token<'a>]) -> &'t [Token<'a>] {
    let directions = ["asc", "desc", "nulls", "first", "last"];
    let end = key.iter().position(|token| token.depth == 0 && token.is_one_of(&directions));
    &key[..end.unwrap_or(key.len())]
}

type Items<'a> = (Vec<&'a [Token<'a>]>, Vec<usize>);

/// The items of a list, and where each begins.
fn items<'a>(tokens: &'a [Token<'a>], from: usize, end: usize) -> Items<'a> {
    let (mut items, mut begins, mut begin) = (Vec::new(), Vec::new(), from);
    for at in from..=end {
        if at == end || (tokens[at].depth == 0 && tokens[at].text == ",") {
            items.push(&tokens[begin..at]);
            begins.push(begin);
            begin = at + 1;
        }
    }
    (items, begins)
}

/// Cuts a list at its commas.
fn split<'t, 'a>(list: &'t [Token<'a>]) -> impl Iterator<Item = &'t [Token<'a>]> {
    let depth = list.iter().map(|token| token.depth).min().unwrap_or_default();
    list.split(move |token| token.depth == depth && token.text == ",")
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
