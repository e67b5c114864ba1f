//! Which tables statements name that dyno has not written itself, as the catalog knows them: a word of the text that is a table's
//! name is taken for the table. So a table may be named that a statement only reads, and none that it writes is missed but
//! through what `indirect` holds. Statements that only read, and call nothing but what the product has itself, change nothing.

mod said;

use std::collections::BTreeSet;

use dyno_results::event;
use dyno_results::sql_text::{Syntax, names_by_variables};

use self::said::settings_said;
use crate::catalog::{self, Names};
use crate::connection::{Connection, QueryError};
use crate::{inspect, sql_text};

/// Words with which statements begin that make tables, reach other databases, or run what is in no text.
const MAKES_TABLES: &[&str] = &["create", "attach", "detach", "execute", "do", "call"];
/// Words that take the log from a table.
const UNLOGGED: &[&str] = &["temp", "temporary", "unlogged"];
/// Words that may stand before a statement that is run all the same.
const BEFORE_STATEMENT: &[&str] = &["explain", "analyze", "verbose"];
/// A setting by which a table is named without its schema.
const SEARCH_PATH: &str = "search_path";
/// More words than any script has: the rest of a text is not looked at, which is told.
const WORDS_MAX: usize = 10_000;

/// A statement, or several in one message, that a user wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserStatement {
    pub sql: String,
    /// By its words it changes no data; what a function does that it calls is not known.
    pub only_reads: bool,
}

/// What statements name.
#[derive(Debug, Default, PartialEq, Eq)]
struct Named {
    /// As the sizes of tables are asked for.
    tables: Vec<String>,
    /// By what they may change other tables: views, functions, triggers of the tables, names that a variable holds.
    indirect: Vec<String>,
}

/// What users' statements may change on a target, as the data of a workload. `None` where they change nothing.
///
/// # Errors
/// The session was lost.
pub fn changed_data(
    connection: &mut Connection,
    target: &str,
    workload: &str,
    statements: &[UserStatement],
) -> Result<Option<event::Data>, QueryError> {
    let mut changing = changing(connection, statements)?;
    if changing.is_empty() {
        return Ok(None);
    }
    let texts = statements.iter().map(|statement| statement.sql.as_str());
    changing.extend(texts.filter(|sql| sets_schema(sql)));
    let Named { tables, indirect } = named(connection, &changing)?;
    let names: Vec<&str> = tables.iter().map(String::as_str).collect();
    let data = inspect::data(connection, target, workload, None, &names)?;
    let settings_set = settings_said(connection, statements)?;
    Ok(Some(event::Data { indirect: Some(indirect), settings_set, ..data }))
}

/// The texts of those that may change data.
fn changing<'s>(
    connection: &mut Connection,
    statements: &'s [UserStatement],
) -> Result<Vec<&'s str>, QueryError> {
    let reading: Vec<&str> =
        statements.iter().filter(|statement| statement.only_reads).map(|it| it.sql.as_str()).collect();
    let (words, rest) = all_words(&reading);
    let names: Vec<&str> = words.iter().map(String::as_str).collect();
    let routines =
        if names.is_empty() { Vec::new() } else { catalog::routines(connection, Names::These(&names))? };
    // MySQL's have the letters of their definition.
    let is_routine = |word: &str| routines.iter().any(|routine| routine.eq_ignore_ascii_case(word));
    let is_called = |sql: &str| rest > 0 || words_of(sql).any(|word| is_routine(&word));
    let is_unseen = routines.iter().any(|routine| routine == catalog::UNSEEN);
    let changes =
        |statement: &&UserStatement| !statement.only_reads || is_unseen || is_called(&statement.sql);
    Ok(statements.iter().filter(changes).map(|statement| statement.sql.as_str()).collect())
}

/// Finds the tables that `texts` name. A catalog that cannot be read names nothing.
fn named(connection: &mut Connection, texts: &[&str]) -> Result<Named, QueryError> {
    let (words, rest) = all_words(texts);
    if words.is_empty() {
        return Ok(Named::default());
    }
    let mut indirect = by_words(texts);
    if rest > 0 {
        indirect.push(format!("{rest} more words"));
    }
    let names: Vec<&str> = words.iter().map(String::as_str).collect();
    let names = Names::These(&names);
    let has_path = texts.iter().any(|text| sets_schema(text));
    let is_meant = |found: &catalog::Found| {
        found.elsewhere.as_ref().is_none_or(|(schema, table)| {
            has_path || texts.iter().any(|text| is_qualified(text, schema, table))
        })
    };
    let found = catalog::found(connection, names)?.into_iter().filter(is_meant);
    let (tables, others): (Vec<_>, Vec<_>) = found.partition(|found| found.is_table);
    indirect.extend(others.iter().map(|other| other.name.clone()));
    indirect.extend(catalog::routines(connection, names)?);
    indirect.extend(catalog::triggers(connection, names)?);
    // One that is no plain table may have no log either.
    let tables = tables.into_iter().chain(others).map(|table| table.name);
    Ok(Named { tables: tables.collect(), indirect })
}

/// The words of texts by which they may change other tables than those that they name.
fn by_words(texts: &[&str]) -> Vec<String> {
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
    }
    let order = MAKES_TABLES.iter().chain(UNLOGGED);
    let mut all: Vec<String> =
        order.filter(|word| found.contains(**word)).map(|word| word.to_uppercase()).collect();
    let variables = texts.iter().flat_map(|text| names_by_variables(text, Syntax::ANY));
    all.extend(variables.map(|(_, name)| format!(":{name}")).collect::<BTreeSet<_>>());
    all
}

/// The words of texts, and how many are left out.
fn all_words(texts: &[&str]) -> (BTreeSet<String>, usize) {
    let mut words: BTreeSet<String> = texts.iter().flat_map(|text| words_of(text)).collect();
    let rest = words.len().saturating_sub(WORDS_MAX);
    if let Some(first_left_out) = words.iter().nth(WORDS_MAX).cloned() {
        let _rest = words.split_off(&first_left_out);
    }
    (words, rest)
}

/// The words of a text that may be names, as they are written and as servers fold them. Literals and comments count too: they
/// name no table that is not there.
fn words_of(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c| !is_of_name(c)).filter(|word| !word.is_empty());
    // A name in quotes may be more than a word.
    let quoted = ['"', '`'].into_iter().flat_map(|quote| text.split(quote).skip(1).step_by(2));
    let quoted = quoted.filter(|name| !name.is_empty() && !name.contains(['\'', '\\', '\n']));
    words.chain(quoted).flat_map(|word| [word.to_owned(), word.to_lowercase()])
}

/// Whether a text decides by `search_path`, `SET SCHEMA` or `USE` of which schema a table is that has none.
fn sets_schema(text: &str) -> bool {
    let words: Vec<String> = text.split(|c| !is_of_name(c)).map(str::to_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    words.contains(&SEARCH_PATH)
        || words.first() == Some(&"use")
        || words.windows(2).any(|two| two == ["set", "schema"])
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Whether a text names a table with its schema, in quotes or not.
fn is_qualified(text: &str, schema: &str, table: &str) -> bool {
    let is_beside = |c: char| c.is_whitespace() || matches!(c, '"' | '`');
    text.match_indices('.').any(|(at, _)| {
        let before = text[..at].trim_end_matches(is_beside).rsplit(|c| !is_of_name(c)).next();
        let behind = text[at + 1..].trim_start_matches(is_beside).split(|c| !is_of_name(c)).next();
        let is = |found: Option<&str>, name: &str| found.is_some_and(|it| it.eq_ignore_ascii_case(name));
        is(before, schema) && is(behind, table)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_counts_where_it_is_one_of_the_language() {
        let found = |text: &str| by_words(&[text]).join(" ");
        for text in [
            "INSERT INTO t VALUES (1) ON CONFLICT (id)\nDO UPDATE SET v = 'create'",
            "-- do an update of a row that the setup did create\nUPDATE t SET v = 'do; create'",
            "/* create; */ SELECT create_it, call, \"temp\", `do` FROM t; -- ; do",
            "UPDATE t SET temp = 1 WHERE v = $$;do$$ -- synchronous_commit",
            "# do it\nUPDATE t SET a = 1",
            r"UPDATE t SET v = 'it\'; do' WHERE id = 1",
            "set synchronous_commit = off; update t set a = extract(year from :d) where b is distinct from :b",
        ] {
            assert_eq!(found(text), "", "{text}");
        }
        for (text, expected) in [
            ("/* so */ DO $$ BEGIN END $$", "DO"),
            ("SELECT 1;\ncall p()", "CALL"),
            ("create temp table a (b int)", "CREATE TEMP"),
            ("SELECT 1 INTO UNLOGGED x; alter table t set unlogged", "UNLOGGED"),
            ("EXPLAIN ANALYZE EXECUTE q", "EXECUTE"),
            ("/*!50000 CREATE TABLE a (b int) */", "CREATE"),
            (
                "UPDATE :tab SET v = 1; DELETE FROM :\"other\"; INSERT INTO s.:third VALUES (:v)",
                ":other :tab :third",
            ),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn words_are_names_as_they_are_written_and_as_servers_fold_them() {
        let found: BTreeSet<String> = words_of("INSERT INTO \"Qu\"(p) VALUES ('x', :n)").collect();
        for word in ["Qu", "qu", "p", "insert", "INSERT", "x", "n"] {
            assert!(found.contains(word), "{word}");
        }
        assert!(found.iter().all(|word| !word.contains(['\'', '"', '(', ' '])));
        let found: BTreeSet<String> =
            words_of("update \"order-lines\" set v = 1; delete from `my t`").collect();
        assert!(found.contains("order-lines") && found.contains("my t"), "{found:?}");
    }

    #[test]
    fn a_statement_may_set_the_schema() {
        for text in [
            "SET search_path = app",
            "set schema 'app'",
            "USE other",
            "select set_config('search_path', 'a', false)",
        ] {
            assert!(sets_schema(text), "{text}");
        }
        assert!(!sets_schema("select schema, use from t"));
    }

    #[test]
    fn a_table_is_named_with_its_schema_in_quotes_or_not() {
        for text in ["update s.ul set v = 1", "UPDATE \"S\" . \"ul\"", "insert into `s`.`ul`(v)", "s.ul"] {
            assert!(is_qualified(text, "s", "ul"), "{text}");
        }
        for text in ["update s.ul2 set v = 1", "insert into ul(s) values (1)"] {
            assert!(!is_qualified(text, "s", "ul"), "{text}");
        }
    }
}
