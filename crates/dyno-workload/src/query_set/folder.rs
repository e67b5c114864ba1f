//! A folder of the user's own queries as a workload: each file is a query, on whatever tables it names.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use dyno_engine::request::QueryKind;
use dyno_engine::workload::Workload;
use dyno_results::answer;
use dyno_results::event::QueryAnswer;
use dyno_results::sql_text::{Syntax, directives};
use dyno_target::connection::Connection;
use thiserror::Error;

use super::parameters::{self, NotReplaced, Why};
use super::text;
use super::{Query, QueryLoad};
use crate::benchmark::{
    Baseline, BenchmarkError, FailedQuery, NamedQuery, QueryUnderWay, Series, SeriesLoad,
};
use crate::registry::{self, UnknownWorkload};

const NAME: &str = "queries";
/// The report tells each of them.
const QUERIES_MAX: usize = 2_000;

/// Queries that were read from the files of a folder, in the order of the files' names.
#[derive(Debug, Clone)]
pub struct QueryFolder {
    names: Vec<String>,
    /// In the same order.
    queries: Arc<[Query]>,
    /// The values that no query has a parameter for, by name.
    unused: Vec<String>,
}

/// Why texts are no query set.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum QueryFolderError {
    #[error("{0}.sql has no statement: a query is one, and comments may stand before it")]
    Empty(String),
    #[error("{0}.sql has several statements, and a query is one: give each a file of its own")]
    Several(String),
    #[error("it has {0} queries, and {QUERIES_MAX} are possible")]
    TooMany(usize),
    #[error(
        "{file}.sql has a parameter :{name} in line {line}, which has no value: give it one with -D {name}=VALUE (a colon that \
         begins no parameter follows a letter, a digit or a bracket, or stands in quotes)"
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
}

impl QueryFolder {
    /// Whether a workload's name is that of a folder: it is a path, or there is a folder of this name and no workload.
    #[must_use]
    pub fn is_named(workload: &str) -> bool {
        let begins = ["/", "./", "../"].iter().any(|start| workload.starts_with(start));
        let is_workload = || !matches!(registry::find(workload), Err(UnknownWorkload::NoSuch { .. }));
        begins
            || workload.ends_with('/')
            || matches!(workload, "." | "..")
            || (Path::new(workload).is_dir() && !is_workload())
    }

    /// Of texts by the names of their files, with these values for their parameters.
    ///
    /// # Errors
    /// A text is not one statement, or a parameter and the values do not go together.
    pub fn new(
        texts: &BTreeMap<String, String>,
        values: &BTreeMap<String, String>,
    ) -> Result<Self, QueryFolderError> {
        if texts.len() > QUERIES_MAX {
            return Err(QueryFolderError::TooMany(texts.len()));
        }
        let query = |(place, (name, text)): (u16, (&String, &String))| {
            let sql = match text::bare_statements(text, Syntax::ANY).as_slice() {
                [] => return Err(QueryFolderError::Empty(name.clone())),
                [only] => *only,
                _ => return Err(QueryFolderError::Several(name.clone())),
            };
            let replaced =
                parameters::replace(sql, values).map_err(|NotReplaced { name: of, at, why }| {
                    let before = sql.as_ptr() as usize - text.as_ptr() as usize + at;
                    let line = text[..before].matches('\n').count() + 1;
                    match why {
                        Why::NoValue => QueryFolderError::NoValue { file: name.clone(), line, name: of },
                        Why::Backslash => QueryFolderError::Backslash { file: name.clone(), line, name: of },
                    }
                })?;
            // A value may have ended the statement.
            if text::bare_statements(&replaced.sql, Syntax::ANY).len() > 1 {
                return Err(QueryFolderError::Several(name.clone()));
            }
            let kind = text::kind(&replaced.sql);
            let (mut sql, parameters) = (replaced.sql, replaced.values);
            for said in directives(text, Syntax::ANY) {
                if !answer::SAID.contains(&said) {
                    return Err(QueryFolderError::Said { file: name.clone(), said: said.to_owned() });
                }
                // It is stored with the text, for all that is compared with the answer later.
                if !directives(&sql, Syntax::ANY).any(|it| it == said) {
                    sql.insert_str(0, &format!("-- {said}\n"));
                }
            }
            Ok(Query { place, setting: None, sql, parameters, kind, any_rows: false })
        };
        let queries = (0..).zip(texts).map(query).collect::<Result<Arc<[Query]>, _>>()?;
        let is_used = |name: &str| {
            let mut used = queries.iter().flat_map(|query| &query.parameters);
            used.any(|value| value.split_once('=').is_some_and(|(of, _)| of == name))
        };
        let unused = values.keys().filter(|name| !is_used(name)).cloned().collect();
        Ok(Self { names: texts.keys().cloned().collect(), queries, unused })
    }

    /// The values that no query has a parameter for, by name.
    #[must_use]
    pub fn unused(&self) -> &[String] {
        &self.unused
    }

    /// Queries of a pass.
    #[must_use]
    pub fn pass(&self) -> u64 {
        self.names.len() as u64
    }

    /// Whether one may change data, as far as its words tell.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.queries.iter().any(|query| query.kind != QueryKind::Read)
    }

    /// The load of them. Each client begins one query further than the one before it.
    #[must_use]
    pub fn load(&self) -> Box<dyn SeriesLoad> {
        let queries = Arc::clone(&self.queries);
        let load = QueryLoad::new(self.names.iter().cloned(), move |client, _| pass_of(client, &queries));
        Box::new(FolderLoad { load, writes: self.writes(), pass: self.pass() })
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
        Series { name: NAME, workload: NAME, writes: self.writes, pass: Some(self.pass), fixed: None }
    }

    fn workload(&self) -> Arc<dyn Workload> {
        Arc::new(self.load.clone())
    }

    fn queries(&self, seed: u64) -> Vec<NamedQuery> {
        self.load.of_first_client(seed)
    }

    fn answers(&self) -> Vec<QueryAnswer> {
        self.load.take_answers()
    }

    fn running(&self) -> Vec<QueryUnderWay> {
        self.load.running()
    }

    fn failures(&self) -> Vec<FailedQuery> {
        self.load.take_failures()
    }

    fn changing_statements(&self) -> Vec<String> {
        let queries = self.load.of_first_client(0).into_iter().filter(|query| !query.only_reads);
        queries.map(|query| query.sql).collect()
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
        QueryFolder::new(&map(texts), &map(values))
    }

    #[test]
    fn parameters_have_values_and_values_have_parameters() {
        let texts = [("a", "-- of :nobody\nselect 1,\n  :n, :'day'"), ("b", "select 2")];
        let folder = with_values(&texts, &[("n", "5"), ("day", "x")]).unwrap();
        assert_eq!(folder.queries[0].sql, "select 1,\n  5, 'x'");
        assert_eq!(folder.queries[0].parameters, ["day=x", "n=5"]);
        assert!(folder.queries[1].parameters.is_empty());
        let refused = |values: &[(&str, &str)]| with_values(&texts, values).unwrap_err().to_string();
        assert!(refused(&[("n", "5")]).starts_with("a.sql has a parameter :day in line 3"));
        assert!(refused(&[("n", "5; drop table t"), ("day", "x")]).contains("a.sql"));
        assert!(
            refused(&[("n", "5"), ("day", "a\\")])
                .starts_with("a.sql has :'day' in line 3, whose value has a")
        );
        let other = with_values(&texts, &[("n", "5"), ("day", "x"), ("dya", "x")]).unwrap();
        assert_eq!(other.unused(), ["dya"]);
    }

    #[test]
    fn a_comment_says_how_answers_are_compared() {
        let sql = |text: &str| folder(&[("a", text)]).map(|folder| folder.queries[0].sql.clone());
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
    fn each_client_begins_one_query_further() {
        let folder = folder(&[("b", "select 2;"), ("a", "-- first\nselect 1;"), ("c", "select 3")]).unwrap();
        let pass = |client| {
            let pass = pass_of(client, &folder.queries);
            pass.iter().map(|query| format!("{} {}", query.place, query.sql)).collect::<Vec<_>>().join(", ")
        };
        assert_eq!((folder.names.join(" ").as_str(), folder.pass(), folder.writes()), ("a b c", 3, false));
        assert_eq!(pass(0), "0 select 1, 1 select 2, 2 select 3");
        assert_eq!(pass(4), "1 select 2, 2 select 3, 0 select 1");
        assert_eq!(folder.load().workload().types(), ["a", "b", "c"]);
    }

    #[test]
    fn the_queries_of_the_first_client_say_whether_they_only_read() {
        let folder = folder(&[
            ("b", "with x as (delete from t returning 1) select 1"),
            ("a", "table t"),
            ("c", "delete from t"),
        ]);
        let queries = folder.unwrap().load().queries(7);
        let told = queries.iter().map(|query| (query.name.as_str(), query.sql.as_str(), query.only_reads));
        let with = "with x as (delete from t returning 1) select 1";
        assert_eq!(
            told.collect::<Vec<_>>(),
            [("a", "table t", true), ("b", with, false), ("c", "delete from t", false)]
        );
    }

    #[test]
    fn what_is_not_one_statement_is_refused_by_its_file() {
        let refused = |text: &str| folder(&[("a", "select 1"), ("b", text)]).unwrap_err().to_string();
        assert!(refused("-- later").starts_with("b.sql has no statement"));
        assert!(refused("select 1; select 2").starts_with("b.sql has several statements"));
        assert!(folder(&[("a", "delete from t")]).unwrap().writes());
    }

    #[test]
    fn a_path_is_a_folder_and_a_workloads_name_is_none() {
        for path in ["./queries", "queries/", "/srv/queries", "../queries", "."] {
            assert!(QueryFolder::is_named(path), "{path}");
        }
        for other in ["tpch", "queries", "tpcb/select-only", "", "no-such-thing"] {
            assert!(!QueryFolder::is_named(other), "{other}");
        }
        // The tests of a crate run in its folder.
        assert!(QueryFolder::is_named("src"));
    }
}
