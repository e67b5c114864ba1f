//! Which tables statements name that dyno has not written itself, as the catalog knows them: a word of the text that is a table's
//! name is taken for the table. So a table may be named that the statements only read, and none that they write is missed but
//! through what `indirect` holds.

use std::collections::BTreeSet;

use dyno_results::event;

use super::known;
use crate::catalog::{self, Names};
use crate::connection::{Connection, QueryError};
use crate::product;

/// Words of statements that make tables, reach other databases, or run what is in no text.
const MAKES_TABLES: &[&str] =
    &["create", "temp", "temporary", "unlogged", "attach", "execute", "do", "detach"];
/// More words than any script has: the rest of a text is not looked at, which is told.
const WORDS_MAX: usize = 10_000;

/// What statements name.
#[derive(Debug, Default, PartialEq, Eq)]
struct Named {
    tables: Vec<String>,
    /// By what they may change other tables, or change them in another way than the settings say: views, functions, triggers of
    /// the tables, other schemas, settings.
    indirect: Vec<String>,
}

/// Finds the tables that `texts` name. A catalog that cannot be read names nothing.
fn named(connection: &mut Connection, texts: &[String]) -> Result<Named, QueryError> {
    let words: BTreeSet<String> = texts.iter().flat_map(|text| words(text)).collect();
    let (words, rest): (Vec<&str>, Vec<&str>) = {
        let mut all: Vec<&str> = words.iter().map(String::as_str).collect();
        let rest = all.split_off(all.len().min(WORDS_MAX));
        (all, rest)
    };
    if words.is_empty() {
        return Ok(Named::default());
    }
    let settings = product::recognise(connection)?.durability;
    let is_word = |known: &&str| words.iter().any(|word| word.eq_ignore_ascii_case(known));
    let mut indirect: Vec<String> =
        MAKES_TABLES.iter().chain(settings).copied().filter(is_word).map(str::to_uppercase).collect();
    if !rest.is_empty() {
        indirect.push(format!("{} more words", rest.len()));
    }
    let found = known(catalog::tables(connection, Names::These(&words)).map(Some))?.unwrap_or_default();
    let (tables, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|table| table.is_table);
    indirect.extend(others.iter().map(|other| other.name.clone()));
    indirect.extend(catalog::indirect(connection, Names::These(&words))?);
    // One that is no plain table may have no log either.
    let tables = tables.into_iter().chain(others).map(|table| table.name);
    Ok(Named { tables: tables.collect(), indirect })
}

/// The data that `texts` name on a target, as those of a workload.
///
/// # Errors
/// The session was lost.
pub fn named_data(
    connection: &mut Connection,
    target: &str,
    workload: &str,
    texts: &[String],
) -> Result<event::Data, QueryError> {
    let Named { tables, indirect } = named(connection, texts)?;
    let names: Vec<&str> = tables.iter().map(String::as_str).collect();
    let data = super::data(connection, target, workload, None, &names)?;
    Ok(event::Data { indirect: Some(indirect), ..data })
}

/// The words of a text that may be names, as they are written and as servers fold them. Literals and comments count too: they
/// name no table that is not there.
fn words(text: &str) -> impl Iterator<Item = String> {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let words = text.split(move |c| !is_of_name(c)).filter(|word| !word.is_empty());
    words.flat_map(|word| [word.to_owned(), word.to_lowercase()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_names_as_they_are_written_and_as_servers_fold_them() {
        let found: BTreeSet<String> = words("INSERT INTO \"Qu\"(p) VALUES ('x', :n)").collect();
        for word in ["Qu", "qu", "p", "insert", "INSERT", "x", "n"] {
            assert!(found.contains(word), "{word}");
        }
        assert!(found.iter().all(|word| !word.contains(['\'', '"', '(', ' '])));
    }
}
