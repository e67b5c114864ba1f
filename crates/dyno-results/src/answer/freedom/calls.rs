//! The places of a text that leave something open.

use super::Open;
use super::tokens::Token;

/// Functions that return something else at each call, or at another time.
const VOLATILE: [&str; 43] = [
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
    "utc_date",
    "utc_time",
    "utc_timestamp",
    "today",
    "yesterday",
    "now64",
    "get_current_timestamp",
    "get_current_time",
    "clock_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "timeofday",
    "random",
    "rand",
    "rand32",
    "rand64",
    "randconstant",
    "randomblob",
    "uuid",
    "uuid_short",
    "uuidv4",
    "uuidv7",
    "gen_random_uuid",
    "generateuuidv4",
    "generateuuidv7",
    "uuid_generate_v1",
    "uuid_generate_v4",
    "newid",
    "nextval",
    "txid_current",
    "pg_current_xact_id",
    "sysdatetime",
    "random_normal",
];
/// The same of those that return the time only without an argument.
const VOLATILE_WITHOUT_ARGUMENT: [&str; 5] = ["unix_timestamp", "date", "time", "datetime", "julianday"];
/// What makes a text such as `'now'` a time.
const TIMES: [&str; 10] = [
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "datetime",
    "julianday",
    "strftime",
    "unixepoch",
    "timediff",
    "cast",
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
/// Other aggregates, and how the names of others begin.
const AGGREGATES: [&str; 14] = [
    "count", "countif", "sum", "sumif", "avg", "avgif", "min", "minif", "max", "maxif", "total", "every",
    "corr", "mode",
];
const AGGREGATES_BEGIN: [&str; 14] = [
    "stddev",
    "stdev",
    "variance",
    "var_",
    "covar",
    "median",
    "quantile",
    "percentile_",
    "bool_",
    "regr_",
    "uniq",
    "approx_",
    "bit_and",
    "bit_or",
];
/// Window functions that return the same for rows that tie.
const RANKS: [&str; 4] = ["rank", "dense_rank", "percent_rank", "cume_dist"];

/// What a place leaves open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A value.
    Value(Open),
    /// A value, or which rows come and how many, where it is a condition.
    Volatile,
    /// Which rows come, and how many.
    Sample,
    /// Which rows come.
    Limit,
}

/// A token of a text that may leave something open.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) tokens: &'a [Token<'a>],
    pub(super) at: usize,
}

impl<'a> Place<'a> {
    /// What it leaves open, and why.
    pub(super) fn open(self) -> Option<(Kind, String)> {
        let token = self.token(0)?;
        let because = |kind, why: &str| Some((kind, format!("`{}` {why}", token.text)));
        if self.is_volatile() {
            return because(Kind::Volatile, "returns something else each time");
        }
        if self.is_sample() {
            return because(Kind::Sample, "takes other rows each time");
        }
        if token.depth > 0 && self.is_limit() {
            return Some((Kind::Limit, "a LIMIT within it may take other rows".to_owned()));
        }
        if let Some(function) = self.undetermined_window() {
            let why = format!("rows may tie in the order of the window of `{}`", function.text);
            return Some((Kind::Value(Open::Everything), why));
        }
        if !self.follows("(") {
            return None;
        }
        if token.is_one_of(&ANY) && !self.is_quantifier() {
            return because(Kind::Value(Open::Everything), "takes the value of any row");
        }
        if token.is_one_of(&IN_ANY_ORDER) && !self.is_ordered() {
            return because(Kind::Value(Open::Order(self.separators())), "has no order");
        }
        None
    }

    /// Whether it is the name of an aggregate or of a window function.
    pub(super) fn is_of_several_rows(self) -> bool {
        let Some(token) = self.token(0) else { return false };
        let is_aggregate = token.is_one_of(&AGGREGATES)
            || token.is_one_of(&IN_ANY_ORDER)
            || (token.is_one_of(&ANY) && !self.is_quantifier())
            || token.is_word_that_begins(&AGGREGATES_BEGIN);
        token.is_word("over") || (is_aggregate && self.follows("("))
    }

    /// The place behind what stands in its brackets.
    pub(super) fn behind(self) -> usize {
        self.at + 2 + self.inner().len() + 1
    }

    fn token(self, further: usize) -> Option<&'a Token<'a>> {
        self.tokens.get(self.at + further)
    }

    fn before(self, places: usize) -> Option<&'a Token<'a>> {
        self.tokens.get(self.at.checked_sub(places)?)
    }

    fn follows(self, text: &str) -> bool {
        self.token(1).is_some_and(|next| next.text == text)
    }

    fn is_volatile(self) -> bool {
        let Some(token) = self.token(0) else { return false };
        let needs_no_call = token.is_word_that_begins(&["current_", "localtime", "utc_", "sysdate"]);
        let is_part = self.before(1).is_some_and(|before| before.text == ".");
        let is_named = self.follows("(") || (needs_no_call && !is_part);
        (token.is_one_of(&VOLATILE) && is_named)
            || (token.is_one_of(&VOLATILE_WITHOUT_ARGUMENT) && self.follows("(") && self.inner().is_empty())
            || (token.is_one_of(&["'now'", "'today'", "'yesterday'", "'tomorrow'"]) && self.is_time())
    }

    /// Whether a text is read as a time.
    fn is_time(self) -> bool {
        let is_cast = self.follows(":") && self.token(2).is_some_and(|next| next.text == ":");
        let is_typed = |before: &Token<'_>| before.is_one_of(&TIMES);
        is_cast
            || self.before(1).is_some_and(is_typed)
            || self.enclosing().is_some_and(|call| is_typed(&call))
    }

    /// The word before the bracket that is open around it.
    fn enclosing(self) -> Option<Token<'a>> {
        let depth = self.token(0)?.depth.checked_sub(1)?;
        let open =
            self.tokens[..self.at].iter().rposition(|token| token.depth == depth && token.text == "(")?;
        self.tokens.get(open.checked_sub(1)?).copied()
    }

    fn is_sample(self) -> bool {
        let Some(token) = self.token(0) else { return false };
        let is_number = self.token(1).is_some_and(|next| next.text.starts_with(|c: char| c.is_ascii_digit()));
        let is_using = self.before(1).is_some_and(|before| before.is_word("using"));
        token.is_word("tablesample") || (token.is_word("sample") && (is_number || is_using))
    }

    /// Whether it begins a LIMIT that leaves out rows.
    pub(super) fn is_limit(self) -> bool {
        let [Some(token), Some(next)] = [self.token(0), self.token(1)] else { return false };
        let is_number =
            next.text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '(' | '$' | '?' | ':' | '@'));
        (token.is_word("limit") && is_number)
            || (token.is_word("fetch") && next.is_one_of(&["first", "next"]))
    }

    /// `= ANY (…)`
    fn is_quantifier(self) -> bool {
        self.before(1).is_some_and(|before| {
            matches!(before.text, "=" | "<" | ">" | "!" | "~" | "@") || before.is_one_of(&["like", "ilike"])
        })
    }

    /// What stands in its brackets.
    pub(super) fn inner(self) -> &'a [Token<'a>] {
        let depth = self.tokens[self.at].depth;
        let inner = self.tokens.get(self.at + 2..).unwrap_or_default();
        let end = inner.iter().position(|token| token.depth <= depth).unwrap_or(inner.len());
        &inner[..end]
    }

    fn is_ordered(self) -> bool {
        let behind = self.tokens.get(self.behind());
        self.inner().iter().any(|token| token.is_word("order"))
            || behind.is_some_and(|token| token.is_word("within"))
    }

    /// What may stand between the values: the texts of the call, and what products take without one.
    fn separators(self) -> Vec<String> {
        let texts = self.inner().iter().filter(|token| token.text.starts_with('\''));
        let mut found: Vec<String> = texts.map(|text| text.text.trim_matches('\'').to_owned()).collect();
        let is_listagg = self.token(0).is_some_and(|token| token.is_word("listagg"));
        if found.is_empty() && is_listagg {
            found.push(String::new());
        } else {
            found.push(",".to_owned());
        }
        found
    }

    /// The function of an OVER whose value depends on the order of rows that may tie.
    fn undetermined_window(self) -> Option<Token<'a>> {
        self.token(0).filter(|token| token.is_word("over"))?;
        let function = self.function_of_window()?;
        let name = function.token(0)?;
        let is_determined = function.is_of_several_rows() && !self.counts_rows();
        (!is_determined && !name.is_one_of(&RANKS)).then_some(*name)
    }

    /// The function before an OVER, and before its FILTER.
    fn function_of_window(self) -> Option<Self> {
        let mut end = self.at.checked_sub(1)?;
        while self.tokens[end].is_one_of(&["ignore", "respect", "nulls"]) {
            end = end.checked_sub(1)?;
        }
        loop {
            let close = self.tokens.get(end).filter(|token| token.text == ")")?;
            let open = self.tokens[..end].iter().rposition(|it| it.text == "(" && it.depth == close.depth)?;
            let at = open.checked_sub(1)?;
            if !self.tokens[at].is_word("filter") {
                return Some(Self { at, ..self });
            }
            end = at.checked_sub(1)?;
        }
    }

    /// Whether the frame of an OVER counts rows, and does not have all of them.
    fn counts_rows(self) -> bool {
        let frame = if self.follows("(") {
            self.inner()
        } else {
            let window = self.tokens.iter().rposition(|token| token.is_word("window"));
            window.and_then(|at| self.tokens.get(at..)).unwrap_or_default()
        };
        let counts = frame.iter().any(|token| token.is_word("rows"));
        counts && frame.iter().filter(|token| token.is_word("unbounded")).count() < 2
    }

    /// Whether it is in a condition that decides which rows come; then whether that is one of the outermost SELECT.
    pub(super) fn is_condition(self) -> Option<bool> {
        const CLAUSES: [&str; 10] =
            ["select", "from", "where", "prewhere", "on", "having", "qualify", "group", "order", "limit"];
        let (mut depth, mut is_known, mut inner) = (self.token(0)?.depth, false, false);
        for token in self.tokens[..self.at].iter().rev() {
            if token.depth < depth {
                (depth, is_known) = (token.depth, false);
            }
            if token.depth == depth && !is_known && token.is_one_of(&CLAUSES) {
                is_known = true;
                if token.is_one_of(&["where", "prewhere", "on", "having", "qualify"]) {
                    if depth == 0 {
                        return Some(true);
                    }
                    inner = true;
                }
            }
        }
        inner.then_some(false)
    }
}
