//! Which tables statements name that dyno has not written itself, as the catalog knows them: a word of the text that is a table's
//! name is taken for the table. So a table may be named that the statements only read, and none that they write is missed but
//! through what `indirect` holds.

use std::collections::BTreeSet;

use dyno_results::event;

use super::known;
use crate::catalog::{self, Names};
use crate::connection::{Connection, QueryError};
use crate::{product, sql_text};

/// Words with which statements begin that make tables, reach other databases, or run what is in no text.
const MAKES_TABLES: &[&str] = &["create", "attach", "detach", "execute", "do", "call"];
/// Words that take the log from a table.
const UNLOGGED: &[&str] = &["temp", "temporary", "unlogged"];
/// Words that may stand before a statement that is run all the same.
const BEFORE_STATEMENT: &[&str] = &["explain", "analyze", "verbose"];
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
    let mut indirect = by_words(texts, settings);
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

/// The words of texts by which they may change other tables than those they name, or these in another way than the settings say.
/// A setting counts in quotes too: a function may set it.
fn by_words(texts: &[String], settings: &[&str]) -> Vec<String> {
    let mut found = BTreeSet::new();
    for statement in texts.iter().flat_map(|text| sql_text::readings(text)).flatten() {
        let mut code = statement.code.iter().map(|word| word.to_ascii_lowercase()).peekable();
        while code.next_if(|word| BEFORE_STATEMENT.contains(&word.as_str())).is_some() {}
        let code: Vec<String> = code.collect();
        found.extend(code.first().filter(|word| MAKES_TABLES.contains(&word.as_str())).cloned());
        // A column may be called temp.
        let pairs = code.windows(2).filter(|pair| match pair[0].as_str() {
            "create" | "into" => UNLOGGED.contains(&pair[1].as_str()),
            first => first == "set" && pair[1] == "unlogged",
        });
        found.extend(pairs.map(|pair| pair[1].clone()));
        let is_said = |setting: &&&str| {
            let mut all = statement.code.iter().chain(&statement.quoted);
            all.any(|word| word.eq_ignore_ascii_case(setting))
        };
        found.extend(settings.iter().filter(is_said).map(|setting| (*setting).to_owned()));
    }
    let order = MAKES_TABLES.iter().chain(UNLOGGED).chain(settings);
    order.filter(|word| found.contains(**word)).map(|word| word.to_uppercase()).collect()
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
    fn a_word_counts_where_it_is_one_of_the_language() {
        let found = |text: &str| by_words(&[text.to_owned()], &["synchronous_commit"]).join(" ");
        for text in [
            "INSERT INTO t VALUES (1) ON CONFLICT (id)\nDO UPDATE SET v = 'create'",
            "-- do an update of a row that the setup did create\nUPDATE t SET v = 'do; create'",
            "/* create; */ SELECT create_it, call, \"temp\", `do` FROM t; -- ; do",
            "UPDATE t SET temp = 1 WHERE v = $$;do$$ -- synchronous_commit",
            "# do it\nUPDATE t SET a = 1",
            r"UPDATE t SET v = 'it\'; do' WHERE id = 1",
        ] {
            assert_eq!(found(text), "", "{text}");
        }
        for (text, expected) in [
            ("/* so */ DO $$ BEGIN END $$", "DO"),
            ("SELECT 1;\ncall p()", "CALL"),
            ("create temp table a (b int)", "CREATE TEMP"),
            ("SELECT 1 INTO UNLOGGED x; alter table t set unlogged", "UNLOGGED"),
            ("EXPLAIN ANALYZE EXECUTE q", "EXECUTE"),
            ("SELECT set_config('synchronous_commit', 'off', true)", "SYNCHRONOUS_COMMIT"),
            ("/*!50000 SET synchronous_commit = off */", "SYNCHRONOUS_COMMIT"),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn words_are_names_as_they_are_written_and_as_servers_fold_them() {
        let found: BTreeSet<String> = words("INSERT INTO \"Qu\"(p) VALUES ('x', :n)").collect();
        for word in ["Qu", "qu", "p", "insert", "INSERT", "x", "n"] {
            assert!(found.contains(word), "{word}");
        }
        assert!(found.iter().all(|word| !word.contains(['\'', '"', '(', ' '])));
    }
}
