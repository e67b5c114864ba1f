//! A folder of the user's own queries as a workload: each file is a query, on whatever tables it names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dyno_engine::workload::Workload;
use dyno_results::answer;
use dyno_results::sql_text::{Syntax, client_command, directives};
use dyno_target::connection::Connection;
use dyno_target::statements::UserStatement;
use thiserror::Error;

use super::parameters::{self, Replaced, Why};
use super::{Query, QueryLoad, QueryStatement};
use crate::benchmark::{Baseline, BenchmarkError, NamedQuery, Sending, Series, SeriesLoad};
use crate::durable::only_reads;
use crate::statements::{bare_statements, kind};

const NAME: &str = "queries";
/// The report tells each of them.
const QUERIES_MAX: usize = 2_000;

/// Queries that were read from the files of a folder, in the order of the files' names.
#[derive(Debug, Clone)]
pub struct QueryFolder {
    names: Vec<String>,
    /// As products of a syntax read them, in the same order.
    readings: Vec<(Syntax, Arc<[Query]>)>,
    /// The values that no query has a parameter for, by name.
    unused: Vec<String>,
}

/// Why texts are no query set.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum QueryFolderError {
    #[error("{0}.sql has no statement: a query has one or several, and comments may stand before them")]
    Empty(String),
    #[error(
        "{0}.sql: a value ends the statement that has its parameter, and begins another: write that into the file"
    )]
    Ended(String),
    #[error("it has {0} queries, and {QUERIES_MAX} are possible")]
    TooMany(usize),
    #[error(
        "{file}.sql has a parameter :{name} in line {line}, which has no value: give it one with -D {name}=VALUE, for this file alone \
         with -D {file}:{name}=VALUE or in {file}.params (a colon that begins no parameter follows a letter, a digit or a bracket, or \
         stands in quotes)"
    )]
    NoValue { file: String, line: usize, name: String },
    #[error(
        "{file}.sql has :'{name}' in line {line}, whose value has a backslash, which not all servers read alike in quotes: write the \
         value into the file as the server reads it"
    )]
    Backslash { file: String, line: usize, name: String },
    #[error(
        "{file}.sql has the comment `{said}`, which means nothing here: how answers are compared is said by `{}` or `{}`",
        answer::SAID[0], answer::SAID[1]
    )]
    Said { file: String, said: String },
    #[error(
        "{file}.sql has `{command}` in line {line}, which the product's own client carries out and no server understands: {}",
        instead_of(.command)
    )]
    Command { file: String, line: usize, command: String },
}

/// What to do in place of a client's command.
fn instead_of(command: &str) -> &'static str {
    let word = command.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    match word.as_str() {
        "delimiter" => {
            "leave it out, and end each statement with a semicolon: the body of a routine is read up to its END"
        }
        "\\set" | ".param" | ".parameter" => "give a parameter its value with -D NAME=VALUE",
        "source" | "\\." | "\\i" | "\\ir" | ".read" => "write the statements of that file here",
        "\\copy" | ".import" | "system" | "\\!" | ".shell" | ".system" => {
            "do it before the run, for example with --before"
        }
        _ => "leave it out, or write in SQL what it does",
    }
}

impl QueryFolder {
    /// Of texts by the names of their files, with these values for their parameters: those of `FILE:NAME` are for one file, and go
    /// before those of `NAME`. The texts are read as by products of each syntax.
    ///
    /// # Errors
    /// A text has no statement, or a parameter and the values do not go together.
    pub fn new(
        texts: &BTreeMap<String, String>,
        values: &BTreeMap<String, String>,
        syntaxes: &[Syntax],
    ) -> Result<Self, QueryFolderError> {
        if texts.len() > QUERIES_MAX {
            return Err(QueryFolderError::TooMany(texts.len()));
        }
        let mut used = BTreeSet::new();
        let mut readings: Vec<(Syntax, Arc<[Query]>)> = Vec::new();
        for syntax in syntaxes {
            if readings.iter().any(|(known, _)| known == syntax) {
                continue;
            }
            let queries = (0..).zip(texts).map(|(place, (name, text))| {
                let file = QueryFile { name, text, syntax: *syntax };
                file.query(place, &OwnValues::of(values, name), &mut used)
            });
            readings.push((*syntax, queries.collect::<Result<_, _>>()?));
        }
        let unused = values.keys().filter(|name| !used.contains(*name)).cloned().collect();
        Ok(Self { names: texts.keys().cloned().collect(), readings, unused })
    }

    /// The values that no query has a parameter for, by name.
    #[must_use]
    pub fn unused(&self) -> &[String] {
        &self.unused
    }

    /// In the order of [`queries`](Self::queries).
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// As products of a syntax read them.
    pub(crate) fn queries(&self, syntax: Syntax) -> Arc<[Query]> {
        let own = self.readings.iter().find(|(of, _)| *of == syntax).or(self.readings.first());
        own.map(|(_, queries)| Arc::clone(queries)).unwrap_or_default()
    }

    /// Queries of a pass.
    #[must_use]
    pub fn pass(&self) -> u64 {
        self.names.len() as u64
    }

    /// Whether one may change data, as far as its words tell.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.readings.iter().flat_map(|(_, queries)| queries.iter()).any(|query| !query.only_reads())
    }

    /// The load of them on a product of a syntax. Each client begins one query further than the one before it.
    #[must_use]
    pub fn load(&self, syntax: Syntax) -> Box<dyn SeriesLoad> {
        let queries = self.queries(syntax);
        let several = queries.iter().any(|query| query.statements.len() > 1);
        let load = QueryLoad::new(self.names.iter().cloned(), move |client, _| pass_of(client, &queries));
        let load = if several { load.with_rollback() } else { load };
        Box::new(FolderLoad { load, writes: self.writes(), pass: self.pass() })
    }
}

/// The values for the parameters of one file.
struct OwnValues<'v> {
    values: BTreeMap<String, String>,
    /// Under which names they were given.
    given: BTreeMap<&'v str, &'v String>,
}

impl<'v> OwnValues<'v> {
    fn of(values: &'v BTreeMap<String, String>, file: &str) -> Self {
        let mut own = Self { values: BTreeMap::new(), given: BTreeMap::new() };
        let is_own = |of: &str| of == file || of.strip_suffix(".sql") == Some(file);
        let split = |given: &'v String| given.rsplit_once(':').unwrap_or(("", given));
        let all = || values.iter().map(|(given, value)| (split(given), given, value));
        let for_all = all().filter(|((of, _), ..)| of.is_empty());
        for ((_, name), given, value) in for_all.chain(all().filter(|((of, _), ..)| is_own(of))) {
            own.values.insert(name.to_owned(), value.clone());
            own.given.insert(name, given);
        }
        own
    }
}

/// A file of a folder, as products of a syntax read it.
struct QueryFile<'f> {
    name: &'f String,
    text: &'f str,
    syntax: Syntax,
}

impl QueryFile<'_> {
    fn query(
        &self,
        place: u16,
        own: &OwnValues<'_>,
        used: &mut BTreeSet<String>,
    ) -> Result<Query, QueryFolderError> {
        if let Some((at, command)) = client_command(self.text, self.syntax) {
            let (file, line, command) = (self.name.clone(), self.line(at), command.to_owned());
            return Err(QueryFolderError::Command { file, line, command });
        }
        let mut statements = Vec::new();
        let mut parameters = BTreeSet::new();
        for sql in bare_statements(self.text, self.syntax) {
            let Replaced { sql, values } = self.replaced(sql, &own.values)?;
            let names = values.iter().filter_map(|value| value.split_once('=')).map(|(name, _)| name);
            used.extend(names.filter_map(|name| own.given.get(name)).map(|given| (*given).clone()));
            parameters.extend(values);
            statements.push(QueryStatement { kind: kind(&sql), sql });
        }
        let Some(first) = statements.first_mut() else {
            return Err(QueryFolderError::Empty(self.name.clone()));
        };
        self.put_directives(&mut first.sql)?;
        let parameters = parameters.into_iter().collect();
        Ok(Query { place, setting: None, statements, parameters })
    }

    fn line(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }

    /// A statement of it with values, which must leave it one.
    fn replaced(&self, sql: &str, values: &BTreeMap<String, String>) -> Result<Replaced, QueryFolderError> {
        let replaced = parameters::replace(sql, values, self.syntax).map_err(|not| {
            let before = sql.as_ptr() as usize - self.text.as_ptr() as usize + not.at;
            let line = self.line(before);
            let (file, name) = (self.name.clone(), not.name);
            match not.why {
                Why::NoValue => QueryFolderError::NoValue { file, line, name },
                Why::Backslash => QueryFolderError::Backslash { file, line, name },
            }
        })?;
        match bare_statements(&replaced.sql, self.syntax).len() {
            2.. => Err(QueryFolderError::Ended(self.name.clone())),
            _ => Ok(replaced),
        }
    }

    /// How answers are compared is stored with the text, for all that is compared with them later.
    fn put_directives(&self, sql: &mut String) -> Result<(), QueryFolderError> {
        for said in directives(self.text, self.syntax) {
            if !answer::SAID.contains(&said) {
                return Err(QueryFolderError::Said { file: self.name.clone(), said: said.to_owned() });
            }
            if !directives(sql, Syntax::ANY).any(|it| it == said) {
                sql.insert_str(0, &format!("-- {said}\n"));
            }
        }
        Ok(())
    }
}

/// The queries in the order of a client.
fn pass_of(client: u32, queries: &[Query]) -> Vec<Query> {
    let mut pass = queries.to_vec();
    pass.rotate_left(client as usize % queries.len());
    pass
}

struct FolderLoad {
    load: QueryLoad,
    writes: bool,
    pass: u64,
}

impl SeriesLoad for FolderLoad {
    fn series(&self) -> Series {
        Series {
            name: NAME,
            workload: NAME,
            writes: self.writes,
            pass: Some(self.pass),
            fixed: None,
            pauses: Duration::ZERO,
        }
    }

    fn workload(&self, _: &Sending) -> Result<Arc<dyn Workload>, BenchmarkError> {
        Ok(self.load.workload())
    }

    fn queries(&self, seed: u64) -> Vec<NamedQuery> {
        self.load.of_first_client(seed)
    }

    fn user_statements(&self) -> Vec<UserStatement> {
        let queries = self.load.of_first_client(0).into_iter();
        queries.map(|query| UserStatement { only_reads: only_reads(&query.sql), sql: query.sql }).collect()
    }

    /// Nothing is known of its tables.
    fn baseline(&self, _connection: &mut Connection) -> Result<Option<Baseline>, BenchmarkError> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(texts: &[(&str, &str)]) -> Result<QueryFolder, QueryFolderError> {
        with_values(texts, &[])
    }

    fn with_values(texts: &[(&str, &str)], values: &[(&str, &str)]) -> Result<QueryFolder, QueryFolderError> {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
        };
        QueryFolder::new(&map(texts), &map(values), &[Syntax::ANY])
    }

    #[test]
    fn parameters_have_values_and_values_have_parameters() {
        let texts = [("a", "-- of :nobody\nselect 1,\n  :n, :'day'"), ("b", "select 2")];
        let folder = with_values(&texts, &[("n", "5"), ("day", "x")]).unwrap();
        assert_eq!(folder.readings[0].1[0].sql(), "select 1,\n  5, 'x'");
        assert_eq!(folder.readings[0].1[0].parameters, ["day=x", "n=5"]);
        assert!(folder.readings[0].1[1].parameters.is_empty());
        let refused = |values: &[(&str, &str)]| with_values(&texts, values).unwrap_err().to_string();
        assert!(refused(&[("n", "5")]).starts_with("a.sql has a parameter :day in line 3"));
        assert!(
            refused(&[("n", "5; drop table t"), ("day", "x")])
                .starts_with("a.sql: a value ends the statement")
        );
        assert!(
            refused(&[("n", "5"), ("day", "a\\")])
                .starts_with("a.sql has :'day' in line 3, whose value has a")
        );
        let other = with_values(&texts, &[("n", "5"), ("day", "x"), ("dya", "x")]).unwrap();
        assert_eq!(other.unused(), ["dya"]);
    }

    #[test]
    fn a_comment_says_how_answers_are_compared() {
        let sql = |text: &str| folder(&[("a", text)]).map(|folder| folder.readings[0].1[0].sql());
        let expected = "-- dyno: compare count only\nselect 1";
        assert_eq!(sql("-- who\n-- dyno: compare count only\nselect 1;").unwrap(), expected);
        assert_eq!(
            sql("/* dyno: compare unordered */ select 1").unwrap(),
            "-- dyno: compare unordered\nselect 1"
        );
        // It stands in the statement already.
        assert_eq!(
            sql("select 1 -- dyno: compare unordered").unwrap(),
            "select 1 -- dyno: compare unordered"
        );
        assert_eq!(sql("select 'dyno: compare nothing'").unwrap(), "select 'dyno: compare nothing'");
        let refused = sql("-- dyno: compare nothing\nselect 1").unwrap_err().to_string();
        assert!(refused.starts_with("a.sql has the comment `dyno: compare nothing`"), "{refused}");
    }

    #[test]
    fn a_command_of_a_client_is_refused_where_that_client_would_carry_it_out() {
        let refused = |text: &str, syntax| {
            let texts = [("a".to_owned(), text.to_owned())].into();
            QueryFolder::new(&texts, &BTreeMap::new(), &[Syntax::ANY, syntax])
                .map(|_| ())
                .map_err(|it| it.to_string())
        };
        for (text, syntax, said, help) in [
            (
                "-- p\nDELIMITER //\nselect 1 //",
                Syntax::MYSQL,
                "a.sql has `DELIMITER //` in line 2",
                "its END",
            ),
            ("select 1;\n\\set n 5", Syntax::POSTGRESQL, "a.sql has `\\set n 5` in line 2", "-D NAME=VALUE"),
            (".mode csv\nselect 1", Syntax::SQLITE, "a.sql has `.mode csv` in line 1", "leave it out"),
            ("\\copy t from 'x'", Syntax::POSTGRESQL, "a.sql has `\\copy t from 'x'` in line 1", "--before"),
        ] {
            let why = refused(text, syntax).unwrap_err();
            assert!(why.starts_with(said) && why.contains(help), "{why}");
            assert_eq!(refused(text, Syntax::ANY), Ok(()));
        }
    }

    #[test]
    fn a_value_may_be_for_one_file() {
        let texts = [("a", "select :n, :d"), ("b", "select :n, :d"), ("c", "select 1")];
        let given = [("n", "1"), ("a:d", "2"), ("b.sql:d", "3"), ("b:n", "4")];
        let folder = with_values(&texts, &given).unwrap();
        let sql = |at: usize| folder.readings[0].1[at].sql();
        assert_eq!([sql(0), sql(1)], ["select 1, 2", "select 4, 3"]);
        assert_eq!(folder.readings[0].1[1].parameters, ["d=3", "n=4"]);
        assert!(folder.unused().is_empty());
        let unused = with_values(&texts, &[&given[..], &[("c:n", "5"), ("e:n", "6"), ("d", "7")]].concat());
        assert_eq!(unused.unwrap().unused(), ["c:n", "d", "e:n"]);
        let none = with_values(&texts, &[("n", "1"), ("a:d", "2")]).unwrap_err().to_string();
        assert!(none.contains("-D b:d=VALUE or in b.params"), "{none}");
    }

    #[test]
    fn each_product_reads_the_file_as_its_own_client_does() {
        let text = "# it is\n/* a /* b */ select 2; -- */ select 1;";
        let texts = [("a".to_owned(), text.to_owned())].into();
        let syntaxes = [Syntax::MYSQL, Syntax::POSTGRESQL, Syntax::MYSQL];
        let folder = QueryFolder::new(&texts, &BTreeMap::new(), &syntaxes).unwrap();
        let sql = |syntax| folder.load(syntax).queries(7)[0].sql.clone();
        assert_eq!(folder.readings.len(), 2);
        assert_eq!(sql(Syntax::MYSQL), "select 2");
        // There it is no comment, and the server says so.
        assert_eq!(sql(Syntax::POSTGRESQL), "# it is\n/* a /* b */ select 2; -- */ select 1");
    }

    #[test]
    fn a_file_of_several_statements_is_one_query() {
        let text = "create view v as select 1; -- :nobody\nselect :n from v;\ndrop view v;";
        let folder = with_values(&[("a", text)], &[("n", "5")]).unwrap();
        let query = &folder.readings[0].1[0];
        assert_eq!(query.sql(), "create view v as select 1;\nselect 5 from v;\ndrop view v");
        assert_eq!((query.answering(), query.statements.len(), query.only_reads()), (1, 3, false));
        let told = folder.load(Syntax::ANY).queries(7);
        assert!(folder.writes() && told[0].several && !told[0].only_reads);
    }

    #[test]
    fn each_client_begins_one_query_further() {
        let folder = folder(&[("b", "select 2;"), ("a", "-- first\nselect 1;"), ("c", "select 3")]).unwrap();
        let pass = |client| {
            let pass = pass_of(client, &folder.readings[0].1);
            pass.iter().map(|query| format!("{} {}", query.place, query.sql())).collect::<Vec<_>>().join(", ")
        };
        assert_eq!((folder.names.join(" ").as_str(), folder.pass(), folder.writes()), ("a b c", 3, false));
        assert_eq!(pass(0), "0 select 1, 1 select 2, 2 select 3");
        assert_eq!(pass(4), "1 select 2, 2 select 3, 0 select 1");
        assert_eq!(folder.load(Syntax::ANY).workload(&Sending::default()).unwrap().types(), ["a", "b", "c"]);
    }

    #[test]
    fn the_queries_of_the_first_client_say_whether_they_only_read() {
        let folder = folder(&[
            ("b", "with x as (delete from t returning 1) select 1"),
            ("a", "table t"),
            ("c", "delete from t"),
        ]);
        let queries = folder.unwrap().load(Syntax::ANY).queries(7);
        let told = queries.iter().map(|query| (query.name.as_str(), query.sql.as_str(), query.only_reads));
        let with = "with x as (delete from t returning 1) select 1";
        assert_eq!(
            told.collect::<Vec<_>>(),
            [("a", "table t", true), ("b", with, false), ("c", "delete from t", false)]
        );
    }

    #[test]
    fn what_has_no_statement_is_refused_by_its_file() {
        let refused = |text: &str| folder(&[("a", "select 1"), ("b", text)]).unwrap_err().to_string();
        assert!(refused("-- later").starts_with("b.sql has no statement"));
        assert!(folder(&[("a", "delete from t")]).unwrap().writes());
    }
}
