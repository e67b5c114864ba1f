//! By which columns of its table a query orders the rows that its LIMIT takes: where these include a key of the table, no two rows
//! tie. What is not sure to be so is `None`.

use super::answering;
use super::statement::{Statement, parts};
use super::tokens::Token;

/// The order of the rows of one table that a LIMIT cuts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ordered {
    /// As the text has it, without its quotes.
    pub table: String,
    /// The columns among the keys.
    pub columns: Vec<String>,
}

/// What follows the tables of a FROM clause and is none.
const BEHIND_TABLE: [&str; 3] = ["where", "window", "order"];
/// Calls, and words before a bracket, that return one value for each row. Any other function may return several, and each would be a
/// row.
const ONE_VALUE: [&str; 61] = [
    "abs",
    "all",
    "and",
    "any",
    "avg",
    "between",
    "case",
    "cast",
    "ceil",
    "ceiling",
    "char",
    "char_length",
    "coalesce",
    "concat",
    "concat_ws",
    "count",
    "date",
    "date_trunc",
    "day",
    "decimal",
    "dense_rank",
    "else",
    "exists",
    "extract",
    "filter",
    "first_value",
    "floor",
    "greatest",
    "ifnull",
    "in",
    "lag",
    "last_value",
    "lead",
    "least",
    "left",
    "length",
    "lower",
    "ltrim",
    "max",
    "min",
    "mod",
    "month",
    "not",
    "nullif",
    "numeric",
    "or",
    "over",
    "rank",
    "replace",
    "right",
    "round",
    "row_number",
    "rtrim",
    "substr",
    "substring",
    "sum",
    "then",
    "trim",
    "upper",
    "when",
    "year",
];

impl Ordered {
    pub fn of(sql: &str) -> Option<Self> {
        let tokens = answering(sql);
        tokens.first().filter(|first| first.is_word("select"))?;
        Statement::read(&tokens)?.ordered(&tokens)
    }

    /// Whether a key of these columns is among those of the order.
    pub fn includes(&self, key: &[String]) -> bool {
        let is_one = |column: &String| self.columns.iter().any(|other| other.eq_ignore_ascii_case(column));
        !key.is_empty() && key.iter().all(is_one)
    }
}

impl<'a> Statement<'a> {
    fn ordered(&self, tokens: &[Token<'a>]) -> Option<Ordered> {
        let (_, order) = (self.limit?, self.order?);
        if self.is_union || self.group.is_some() || self.may_repeat_rows() {
            return None;
        }
        let from = tokens.iter().position(|token| token.depth == 0 && token.is_word("from"))?;
        let (table, alias) = table_of(&tokens[from + 1..])?;
        let column = |key: &[Token<'a>]| match key {
            [column] => Some(*column),
            [of, point, column]
                if point.text == "." && (of.is_like(&table) || alias.is_some_and(|it| of.is_like(&it))) =>
            {
                Some(*column)
            }
            _ => None,
        };
        let keys = self.keys(tokens, order).filter_map(|key| column(self.named(key)?));
        let columns: Vec<String> =
            keys.filter(|column| column.is_name()).map(|column| column.bare().to_owned()).collect();
        let is_plain = table.bare().chars().all(|c| c.is_alphanumeric() || c == '_');
        (is_plain && !columns.is_empty()).then(|| Ordered { table: table.bare().to_owned(), columns })
    }

    /// Whether the keys of an order include all of a GROUP BY: no two groups tie.
    pub(super) fn orders_groups(&self, tokens: &[Token<'a>], order: usize) -> bool {
        let Some(group) = self.group.filter(|_| !self.is_union && !self.may_repeat_rows()) else {
            return false;
        };
        let own = |clause| {
            self.keys(tokens, clause).map(|key| self.named(key).filter(|named| self.is_sure(key, named)))
        };
        let ordered: Vec<&[Token<'_>]> = own(order).flatten().collect();
        let is_ordered = |key: Option<&[Token<'_>]>| {
            key.is_some_and(|key| ordered.iter().any(|other| are_alike(key, other)))
        };
        own(group).all(is_ordered)
    }

    /// What a key names: an item by its number or its alias, or itself. `None` of a number that is not known.
    fn named<'k>(&'k self, key: &'k [Token<'a>]) -> Option<&'k [Token<'a>]> {
        let [only] = key else { return Some(key) };
        if only.is_value() {
            let place = only.text.parse::<usize>().ok()?.checked_sub(1)?;
            return self.items.get(place).filter(|_| !self.has_star).map(|item| parts(item).0);
        }
        let of_alias = |item: &&&'a [Token<'a>]| parts(item).1.is_some_and(|alias| alias.is_like(only));
        Some(self.items.iter().find(of_alias).map_or(key, |item| parts(item).0))
    }

    /// An alias that is the name of a column, too, is the one in an ORDER BY and the other in a GROUP BY.
    fn is_sure(&self, key: &[Token<'_>], named: &[Token<'_>]) -> bool {
        let is_number = matches!(key, [only] if only.is_value());
        is_number
            || are_alike(key, named)
            || matches!((key, named), ([one], [.., other]) if one.is_like(other))
    }

    /// A row may be several of the answer.
    fn may_repeat_rows(&self) -> bool {
        let is_call =
            |pair: &[Token<'_>]| pair[1].text == "(" && pair[0].is_name() && !pair[0].is_one_of(&ONE_VALUE);
        self.items.iter().any(|item| item.windows(2).any(is_call))
    }
}

/// The one table of a FROM clause, and what else it is called.
fn table_of<'a>(from: &[Token<'a>]) -> Option<(Token<'a>, Option<Token<'a>>)> {
    let is_behind = |token: &Token<'_>| token.is_one_of(&BEHIND_TABLE);
    match from {
        [table, next, ..] if table.is_name() && is_behind(next) => Some((*table, None)),
        [table, by, alias, next, ..] if table.is_name() && by.is_word("as") && is_behind(next) => {
            Some((*table, Some(*alias)))
        }
        [table, alias, next, ..] if table.is_name() && alias.is_name() && is_behind(next) => {
            Some((*table, Some(*alias)))
        }
        _ => None,
    }
}

fn are_alike(one: &[Token<'_>], other: &[Token<'_>]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_like(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_the_order_of_one_table_are_known() {
        for (sql, table, columns) in [
            ("SELECT * FROM item ORDER BY id LIMIT 5", "item", &["id"][..]),
            (
                "select v from \"Item\" as i where v > (select max(v) from t) order by i.a desc nulls last, i.\"B\" fetch first 2 rows only",
                "Item",
                &["a", "B"],
            ),
            ("SELECT id AS n, v FROM item i ORDER BY v * 2, n LIMIT 5 OFFSET 2", "item", &["id"]),
            ("SELECT id, round(v, 2) FROM item ORDER BY 2, 1 LIMIT 5", "item", &["id"]),
            (
                "SELECT DISTINCT id, count(*) OVER (ORDER BY v) FROM item ORDER BY id LIMIT 5;",
                "item",
                &["id"],
            ),
        ] {
            let columns = columns.iter().map(|column| (*column).to_owned()).collect();
            assert_eq!(Ordered::of(sql), Some(Ordered { table: table.to_owned(), columns }), "{sql}");
        }
        let ordered = Ordered::of("SELECT a FROM t ORDER BY a, b LIMIT 1").unwrap();
        let includes = |key: &[&str]| {
            ordered.includes(&key.iter().map(|column| (*column).to_owned()).collect::<Vec<_>>())
        };
        assert!(includes(&["B"]) && includes(&["b", "a"]) && !includes(&["a", "c"]) && !includes(&[]));
    }

    #[test]
    fn rows_of_which_more_may_come_have_no_known_order() {
        for sql in [
            "SELECT id FROM item ORDER BY id",
            "SELECT id FROM item LIMIT 5",
            "SELECT lower(v) AS id FROM item ORDER BY id LIMIT 5",
            "SELECT i.id FROM item i JOIN other o ON true ORDER BY i.id LIMIT 5",
            "SELECT i.id FROM item i, other ORDER BY i.id LIMIT 5",
            "SELECT id, unnest(v) FROM item ORDER BY id LIMIT 5",
            "SELECT id FROM (SELECT 1 AS id) item ORDER BY id LIMIT 5",
            "SELECT id FROM item (id) ORDER BY id LIMIT 5",
            "SELECT id FROM s.item ORDER BY id LIMIT 5",
            "SELECT id FROM item FOR SYSTEM_TIME ALL ORDER BY id LIMIT 5",
            "SELECT id FROM item TABLESAMPLE SYSTEM (5) ORDER BY id LIMIT 5",
            "SELECT id FROM item GROUP BY id ORDER BY id LIMIT 5",
            "SELECT id FROM item UNION ALL SELECT id FROM item ORDER BY id LIMIT 5",
            "WITH item AS (SELECT 1 AS id) SELECT id FROM item ORDER BY id LIMIT 5",
            "SELECT id FROM item ORDER BY id COLLATE \"C\" LIMIT 5",
            "SELECT id FROM item ORDER BY other.id LIMIT 5",
            "DELETE FROM item ORDER BY id LIMIT 5",
        ] {
            assert_eq!(Ordered::of(sql), None, "{sql}");
        }
    }
}
