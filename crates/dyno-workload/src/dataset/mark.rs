//! The mark that dyno's tables carry in their comments: it tells them from a user's own tables of the same names, and a
//! finished preparation from one that was broken off. Behind it stand the keys and indexes that were made.

use dyno_target::catalog::{self, Names};
use dyno_target::connection::{Connection, QueryError};
use dyno_target::product::ForeignKeys;

const UNFINISHED: &str = "unfinished";
/// Stands before the keys and indexes, a JSON array of texts.
const INDEXES: &str = " indexes ";

/// The marks of a family.
#[derive(Debug, PartialEq, Eq)]
pub struct Marks {
    /// `dyno events/`
    pub(crate) beginning: &'static str,
    /// Version of the tables and of their contents.
    pub(crate) format: u32,
}

/// What a table's comment says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Its preparation has not come to its end.
    Unfinished,
    /// With what it was made.
    Whole(String),
    /// Made by a dyno with other tables.
    OtherFormat,
}

impl Marks {
    /// The comment of tables that are being made.
    pub(crate) fn unfinished(&self) -> String {
        self.whole(UNFINISHED)
    }

    /// That of tables that were made so.
    pub(crate) fn whole(&self, recipe: &str) -> String {
        format!("{}{} {recipe}", self.beginning, self.format)
    }

    /// Reads a comment; `None` where it is none of the family's.
    pub(crate) fn parse(&self, comment: &str) -> Option<Mark> {
        let (format, recipe) = comment.strip_prefix(self.beginning)?.split_once(' ')?;
        let recipe = recipe.split_once(INDEXES).map_or(recipe, |(recipe, _)| recipe);
        Some(match recipe {
            _ if format.parse::<u32>().ok()? != self.format => Mark::OtherFormat,
            UNFINISHED => Mark::Unfinished,
            recipe => Mark::Whole(recipe.to_owned()),
        })
    }
}

/// The comment `mark`, with the keys and indexes that the catalogue has of the table now.
pub(crate) fn with_indexes(mark: &str, table: &str, found: &[(String, String)]) -> String {
    let of_table: Vec<&str> =
        found.iter().filter(|(of, _)| of == table).map(|(_, name)| name.as_str()).collect();
    if mark.is_empty() || of_table.is_empty() {
        return mark.to_owned();
    }
    format!("{mark}{INDEXES}{}", serde_json::json!(of_table))
}

/// The indexes and foreign keys of tables, each with its table: `index lineitem_fk1`, `foreign key l_orderkey to orders`.
/// Empty where the product has none, or does not say.
///
/// # Errors
/// The session was lost.
pub(crate) fn indexes(
    connection: &mut Connection,
    names: Names<'_>,
) -> Result<Vec<(String, String)>, QueryError> {
    let dialect = connection.dialect();
    if !dialect.secondary_indexes && dialect.foreign_keys == ForeignKeys::Never {
        return Ok(Vec::new());
    }
    let indexes = catalog::indexes(connection, names)?.unwrap_or_default();
    let mut found: Vec<(String, String)> =
        indexes.into_iter().map(|index| (index.table, format!("index {}", index.name))).collect();
    let keys = catalog::foreign_keys(connection, names)?.unwrap_or_default();
    found.extend(keys.into_iter().map(|key| {
        let name = format!("foreign key {} to {}", key.column, key.refers_to);
        (key.table, name)
    }));
    found.sort();
    Ok(found)
}

/// Which of the keys and indexes that the marks of tables tell of are not there any more: `index lineitem_fk1 of lineitem`.
/// Tables that were marked before marks told of them miss none.
///
/// # Errors
/// The catalogue cannot be read, or the session was lost.
pub fn missing_indexes(connection: &mut Connection, tables: &[&str]) -> Result<Vec<String>, QueryError> {
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    let names = Names::These(tables);
    let found = indexes(connection, names)?;
    let mut missing = Vec::new();
    for table in catalog::tables(connection, names)? {
        let Some((_, made)) = table.comment.split_once(INDEXES) else { continue };
        let made: Vec<String> = serde_json::from_str(made).unwrap_or_default();
        let gone =
            made.into_iter().filter(|name| !found.iter().any(|(of, it)| *of == table.name && it == name));
        missing.extend(gone.map(|name| format!("{name} of {}", table.name)));
    }
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_read_as_they_were_written() {
        let marks = Marks { beginning: "dyno events/", format: 2 };
        assert_eq!(marks.parse(&marks.unfinished()), Some(Mark::Unfinished));
        assert_eq!(marks.parse(&marks.whole("rows=7")), Some(Mark::Whole("rows=7".to_owned())));
        assert_eq!(marks.parse("dyno events/1 rows=7"), Some(Mark::OtherFormat));
        let found = [("event".to_owned(), "index event_pkey".to_owned())];
        let indexed = with_indexes(&marks.whole("rows=7"), "event", &found);
        assert_eq!(indexed, r#"dyno events/2 rows=7 indexes ["index event_pkey"]"#);
        assert_eq!(marks.parse(&indexed), Some(Mark::Whole("rows=7".to_owned())));
        assert_eq!(with_indexes(&marks.whole("rows=7"), "customer", &found), marks.whole("rows=7"));
        for other in ["", "dyno events", "dyno events/", "dyno events/2", "dyno events/x rows=7", "orders"] {
            assert_eq!(marks.parse(other), None, "{other}");
        }
    }
}
