//! The passes of a folder: queries of its files, with the options as parameters, which one client runs one after the other.

use std::collections::{BTreeMap, BTreeSet};

use dyno_results::sql_text::Syntax;

use super::file::PassFile;
use super::mistake::{Mistake, Notes, instead_of};
use super::options::{Options, text_of};
use super::tables::compile;
use super::transactions::{Mix, check_name};
use crate::query_set::{Query, QueryFolder, QueryFolderError, QueryLoad};
use crate::script::{Names, Program, RowContext, Value};

/// Most parallel workers that a query can be told to use.
const WORKERS_MAX: i64 = 1024;

#[derive(Debug)]
pub(super) struct Pass {
    /// By their names, which are those of their files without `.sql`.
    queries: BTreeMap<String, String>,
    workers: Option<Program>,
}

/// A pass as it is run.
#[derive(Clone)]
pub(super) struct PassLoad {
    pub load: QueryLoad,
    /// How many queries it has.
    pub queries: u64,
}

impl Pass {
    pub(super) fn compile(
        file: &PassFile,
        before: &[Mix],
        texts: &BTreeMap<String, String>,
        options: &Options,
        names: &mut Names,
        notes: &mut Notes<'_>,
    ) -> Mix {
        check_name(&file.name, before.iter().map(|other| other.name), notes);
        let mut queries = BTreeMap::new();
        for query in &file.queries {
            let name = query.get_ref();
            let Some(text) = texts.get(name) else {
                notes.at(query.span(), format!("there is no file `{name}` in the folder"));
                continue;
            };
            let name = name.strip_suffix(".sql").unwrap_or(name);
            if queries.insert(name.to_owned(), text.clone()).is_some() {
                notes.at(query.span(), format!("the query `{name}` is there twice"));
            }
        }
        if file.queries.is_empty() {
            notes.at(file.name.span(), "a pass has at least one query");
        }
        let values = options.in_queries().map(|name| (name.to_owned(), "1".to_owned())).collect();
        match QueryFolder::new(&queries, &values, &[Syntax::ANY]) {
            Ok(folder) if folder.writes() => {
                notes.at(file.name.span(), "a query of a pass reads: make a transaction of one that writes");
            }
            Ok(_) => {}
            Err(QueryFolderError::NoValue { file, line, name }) => {
                let what = format!("there is no option `{name}`{}", instead_of(&name, options.in_queries()));
                notes.found.push(Mistake { file: format!("{file}.sql"), place: Some((line, 1)), what });
            }
            Err(error) => notes.at(file.name.span(), error.to_string()),
        }
        let workers = file.workers.as_ref().and_then(|workers| {
            let is_option = |slot| options.place(slot).is_some();
            compile(&text_of(workers), workers.span(), names, notes, is_option)
        });
        let named: Vec<&str> = queries.keys().map(String::as_str).collect();
        let about = file.about.clone().unwrap_or_else(|| format!("read: {}", named.join(", ")));
        let name: &'static str = file.name.get_ref().clone().leak();
        let mut mix = Mix::new(name, name);
        (mix.about, mix.pass) = (about, Some(Self { queries, workers }));
        mix
    }

    /// The texts of its queries, with these values of the options.
    pub(super) fn sql(&self, defines: &BTreeMap<String, String>) -> Vec<String> {
        let folder = QueryFolder::new(&self.queries, defines, &[Syntax::ANY]);
        folder
            .iter()
            .flat_map(|folder| folder.queries(Syntax::ANY).iter().map(Query::sql).collect::<Vec<_>>())
            .collect()
    }

    /// What a client sends, with these values of the options. `told` is how a session is told how many parallel workers a query may
    /// use, where it can be.
    pub(super) fn load(
        &self,
        defines: &BTreeMap<String, String>,
        context: &mut RowContext,
        syntax: Syntax,
        told: Option<&'static str>,
    ) -> Result<PassLoad, String> {
        let folder =
            QueryFolder::new(&self.queries, defines, &[syntax]).map_err(|error| error.to_string())?;
        let mut steps = vec![None];
        if let Some((workers, told)) = self.workers.as_ref().zip(told) {
            let wrong = |why: String| format!("the workers of a pass: {why}");
            match context.evaluate(workers, 0, 0).map_err(|error| wrong(error.to_string()))? {
                Value::Integer(most @ 0..=WORKERS_MAX) => {
                    steps = numbers(most).into_iter().map(|workers| Some((told, workers))).collect();
                }
                _ => return Err(wrong(format!("they are a whole number from 0 to {WORKERS_MAX}"))),
            }
        }
        let mut names = Vec::new();
        let mut pass = Vec::new();
        for (query, name) in folder.queries(syntax).iter().zip(folder.names()) {
            for step in &steps {
                let setting = step.map(|(told, workers)| told.replace("{workers}", &workers.to_string()));
                pass.push(Query { place: names.len() as u16, setting, ..query.clone() });
                names.push(called(name, step.map(|(_, workers)| workers)));
            }
        }
        let queries = pass.len() as u64;
        Ok(PassLoad { load: QueryLoad::new(names, move |_, _| pass.clone()), queries })
    }
}

/// 0, 1, 2, 4, … and the most.
fn numbers(most: i64) -> BTreeSet<i64> {
    let doubled = std::iter::successors(Some(1_i64), |number| number.checked_mul(2));
    doubled.take_while(|number| *number < most).chain([0, most]).collect()
}

/// `top-100`, `top-100 (2 workers)`
fn called(query: &str, workers: Option<i64>) -> String {
    match workers {
        None | Some(0) => query.to_owned(),
        Some(1) => format!("{query} (1 worker)"),
        Some(workers) => format!("{query} ({workers} workers)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_doubled_up_to_the_most() {
        let of = |most| numbers(most).into_iter().collect::<Vec<_>>();
        assert_eq!([of(0), of(1), of(2)], [vec![0], vec![0, 1], vec![0, 1, 2]]);
        assert_eq!(of(6), [0, 1, 2, 4, 6]);
        assert_eq!(
            [called("q", None), called("q", Some(0)), called("q", Some(1))],
            ["q", "q", "q (1 worker)"]
        );
    }
}
