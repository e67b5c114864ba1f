//! What stands on a server of a family's tables, and whether that can be used. Reads only, and little: it looks rows up
//! and scans no table.

use dyno_target::catalog::{self, Column, Names};
use dyno_target::connection::{Connection, QueryError};
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::{Mark, Marks, PrepareError, Terms, numbers};

/// Rows that are looked up in each table to see that none are missing.
pub(crate) const PROBES: u64 = 100;

/// What was found; `F` says of which size, as far as the ends and a sample can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State<F> {
    Missing,
    /// dyno's own tables, whose preparation was broken off: nobody can miss them.
    Unfinished,
    Ready(F),
    /// The family's tables, which cannot be used.
    Damaged {
        why: String,
    },
    /// A table has the name of one of the family's and is something else, which `whose` says.
    NotOurs {
        table: String,
        whose: String,
    },
}

/// What was found of a family's tables, beside what is asked for.
pub trait Found: Sized {
    /// What is asked for.
    type Wanted: Copy;

    const TERMS: &'static Terms;
    const MARKS: Marks;

    /// # Errors
    /// What is there is whole and not what is asked for.
    fn suits(&self, wanted: Self::Wanted) -> Result<(), NotReady>;

    /// Nothing is there, and nothing is to be made.
    fn missing(wanted: Self::Wanted) -> NotReady {
        let _ = wanted;
        NotReady::Missing { terms: Self::TERMS, or_else: String::new() }
    }
}

impl<F> State<F> {
    pub(crate) fn damaged(why: impl Into<String>) -> Self {
        Self::Damaged { why: why.into() }
    }

    /// Data that is whole, whatever was asked for; `None` where there is none, or what a preparation left that was broken off, which
    /// is made anew like what is not there.
    pub(crate) fn whole(self, terms: &'static Terms) -> Result<Option<F>, NotReady> {
        match self {
            Self::Missing | Self::Unfinished => Ok(None),
            Self::Ready(found) => Ok(Some(found)),
            Self::Damaged { why } => Err(NotReady::Damaged { terms, why }),
            Self::NotOurs { table, whose } => Err(NotReady::NotOurs { terms, table, whose }),
        }
    }

    /// An error where a table is somebody else's, which must stay.
    pub(crate) fn ours(self, terms: &'static Terms) -> Result<Self, PrepareError> {
        match self {
            Self::NotOurs { table, whose } => Err(PrepareError::NotOurs { terms, table, whose }),
            state => Ok(state),
        }
    }
}

impl<F: Found> State<F> {
    /// Data that can be used; `None` where there is none.
    ///
    /// # Errors
    /// There is other data.
    pub fn found(self, wanted: F::Wanted) -> Result<Option<F>, NotReady> {
        let found = self.whole(F::TERMS)?;
        found.map(|found| found.suits(wanted).map(|()| found)).transpose()
    }
}

/// `id integer, k integer`
pub(crate) fn columns_text(columns: &[Column]) -> String {
    let columns = columns.iter().map(|column| format!("{} {}", column.name, column.kind));
    columns.collect::<Vec<_>>().join(", ")
}

/// What was `found` under a family's names; as an error, the state of tables that are not whole or not the family's:
/// `foreign` says what such a one is.
pub(crate) fn standing<F>(
    marks: &Marks,
    found: Vec<catalog::Table>,
    foreign: impl Fn(&catalog::Table) -> Option<String>,
) -> Result<Vec<catalog::Table>, State<F>> {
    for table in &found {
        if let Some(whose) = foreign(table) {
            return Err(State::NotOurs { table: table.name.clone(), whose });
        }
    }
    let marks: Vec<_> = found.iter().filter_map(|table| marks.parse(&table.comment)).collect();
    if found.is_empty() {
        Err(State::Missing)
    } else if marks.contains(&Mark::OtherFormat) {
        Err(State::damaged("they were made by another version of dyno"))
    } else if marks.contains(&Mark::Unfinished) {
        Err(State::Unfinished)
    } else {
        Ok(found)
    }
}

/// The state of tables that carry the recipe by which they were made, as `judge` says of the recipe of each. One that cannot be read is
/// `None` there; tables that are not there are not among them.
pub(crate) fn state_of_recipes<F: DeserializeOwned>(
    marks: &Marks,
    connection: &mut Connection,
    names: &[&str],
    judge: impl FnOnce(&mut Connection, &[(String, Option<F>)]) -> Result<State<F>, QueryError>,
) -> Result<State<F>, QueryError> {
    let mark = |found: &catalog::Table| marks.parse(&found.comment).filter(|_| found.is_table);
    let foreign = |found: &catalog::Table| {
        let whose = || match found.comment.starts_with("dyno ") {
            true => "another workload of dyno has made it".to_owned(),
            false => format!("dyno has not made it (its columns are {})", columns_text(&found.columns)),
        };
        mark(found).is_none().then(whose)
    };
    let recipe = |found: &catalog::Table| {
        let recipe = match mark(found) {
            Some(Mark::Whole(recipe)) => serde_json::from_str(&recipe).ok(),
            _ => None,
        };
        (found.name.clone(), recipe)
    };
    match standing(marks, catalog::tables(connection, Names::These(names))?, foreign) {
        Ok(found) => judge(connection, &found.iter().map(recipe).collect::<Vec<_>>()),
        Err(state) => Ok(state),
    }
}

/// The one recipe of all tables of these `names`; why there is none. Where they have several, the first that `is_own` is the right one.
pub(crate) fn together<'r, F: PartialEq>(
    names: &[&str],
    recipes: &'r [(String, Option<F>)],
    is_own: impl Fn(&F) -> bool,
) -> Result<&'r F, String> {
    let list = |tables: &[&str]| match tables {
        [one] => format!("{one} is"),
        several => format!("{} are", several.join(", ")),
    };
    let is_there = |name: &&str| recipes.iter().any(|(table, _)| table.eq_ignore_ascii_case(name));
    let missing: Vec<&str> = names.iter().copied().filter(|name| !is_there(name)).collect();
    if !missing.is_empty() {
        return Err(format!("{} missing", list(&missing)));
    }
    let known = || recipes.iter().filter_map(|(_, recipe)| recipe.as_ref());
    let Some(one) = known().find(|recipe| is_own(recipe)).or(known().next()) else {
        return Err("nobody can say how they were made".to_owned());
    };
    let others = recipes.iter().filter(|(_, recipe)| recipe.as_ref() != Some(one));
    let others: Vec<&str> = others.map(|(table, _)| table.as_str()).collect();
    if others.is_empty() {
        Ok(one)
    } else {
        Err(format!("{} made by another workload, or in another way than the others", list(&others)))
    }
}

/// What is wrong with a table whose rows must be there, those with these `ids` in the column `key`.
pub(crate) fn rows_missing(
    connection: &mut Connection,
    table: &str,
    key: &str,
    ids: impl Iterator<Item = u64>,
) -> Result<Option<String>, QueryError> {
    let ids: Vec<String> = ids.map(|id| id.to_string()).collect();
    if ids.is_empty() {
        return Ok(None);
    }
    let sql = format!("SELECT COUNT(*) FROM {table} WHERE {key} IN ({})", ids.join(", "));
    let [there] = numbers::<usize, 1>(connection, &sql)?;
    let (probes, missing) = (ids.len(), ids.len().saturating_sub(there));
    Ok((missing > 0)
        .then(|| format!("of {probes} rows of {table} that were looked up, {missing} are missing")))
}

/// Why what is there cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotReady {
    #[error("the tables of {} are missing; run again with --prepare{or_else}", terms.family)]
    Missing { terms: &'static Terms, or_else: String },
    /// `found` and `wanted` are sizes, the first with its unit; `flag` asks for what is there.
    #[error(
        "the data of {} has {found}, not {wanted}; run with {flag}, or with --prepare to replace it", terms.family
    )]
    Other { terms: &'static Terms, found: String, wanted: String, flag: String },
    /// It has no index or no rows.
    #[error("{why}")]
    Lacking { why: String },
    #[error("the data of {} is damaged: {why}; run again with --prepare to replace it", terms.family)]
    Damaged { terms: &'static Terms, why: String },
    #[error("{table} is there and {whose}; it is left as it is: {}", terms.instead)]
    NotOurs { terms: &'static Terms, table: String, whose: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_were_not_made_together_are_named() {
        let why = |recipes: &[(&str, Option<u32>)]| {
            let recipes: Vec<_> =
                recipes.iter().map(|(name, recipe)| ((*name).to_owned(), *recipe)).collect();
            together(&["a", "b", "c"], &recipes, |recipe| *recipe == 2).cloned()
        };
        assert_eq!(why(&[("a", Some(1)), ("b", Some(1)), ("c", Some(1))]), Ok(1));
        let said = |recipes| why(recipes).unwrap_err();
        assert_eq!(said(&[("a", Some(1)), ("c", Some(1))]), "b is missing");
        assert_eq!(said(&[("b", Some(1))]), "a, c are missing");
        assert_eq!(said(&[("a", None), ("b", None), ("c", None)]), "nobody can say how they were made");
        let other = "made by another workload, or in another way than the others";
        assert_eq!(said(&[("a", Some(1)), ("b", Some(2)), ("c", Some(2))]), format!("a is {other}"));
        assert_eq!(said(&[("a", Some(1)), ("b", Some(1)), ("c", Some(2))]), format!("a, b are {other}"));
        assert_eq!(said(&[("a", Some(1)), ("b", Some(1)), ("c", None)]), format!("c is {other}"));
    }
}
