//! Sizes of InnoDB's files, one for each table or partition. Unlike InnoDB's statistics they are never behind.

use std::collections::BTreeMap;

use super::{known, literal};
use crate::cause::Cause;
use crate::connection::{Connection, QueryError};

/// Since 8.0, and what the same is called before and in MariaDB.
const VIEWS: [&str; 2] = ["innodb_tablespaces", "innodb_sys_tablespaces"];

/// Bytes by the file's name, partitions added up: `shop/customer`.
#[derive(Debug, Default)]
pub(super) struct FileSizes(BTreeMap<String, u64>);

/// Why there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoFiles {
    /// It takes the right PROCESS.
    Denied,
    /// The server has no such view, or tables lie in no files of their own.
    Unknown,
}

impl FileSizes {
    /// Those of the tables of these databases.
    pub(super) fn read(
        connection: &mut Connection,
        databases: &[&str],
    ) -> Result<Result<Self, NoFiles>, QueryError> {
        let directories: Vec<String> = databases.iter().filter_map(|name| encoded(name)).collect();
        if directories.is_empty() {
            return Ok(Err(NoFiles::Unknown));
        }
        let listed: Vec<String> = directories.iter().map(|name| literal(name)).collect();
        for view in VIEWS {
            let sql = format!(
                "SELECT SUBSTRING_INDEX(name, '#', 1) AS file, SUM(file_size) AS bytes FROM information_schema.{view}
                 WHERE SUBSTRING_INDEX(name, '/', 1) IN ({}) GROUP BY 1",
                listed.join(", ")
            );
            match connection.query(&sql) {
                Ok(rows) => {
                    let sizes = rows
                        .iter()
                        .filter_map(|row| Some((row.text(0)?.to_owned(), row.text(1)?.parse().ok()?)));
                    return Ok(Ok(Self(sizes.collect())));
                }
                Err(error) if is_denied(&error) => return Ok(Err(NoFiles::Denied)),
                Err(error) => drop(known::<()>(Err(error))?),
            }
        }
        Ok(Err(NoFiles::Unknown))
    }

    pub(super) fn of_table(&self, database: &str, table: &str) -> Option<u64> {
        self.0.get(&format!("{}/{}", encoded(database)?, encoded(table)?)).copied()
    }

    pub(super) fn of_database(&self, database: &str) -> Option<u64> {
        let directory = format!("{}/", encoded(database)?);
        let files = self.0.iter().filter(|(name, _)| name.starts_with(&directory));
        files.map(|(_, bytes)| *bytes).reduce(|sum, bytes| sum + bytes)
    }
}

/// Whether the server refused for want of a right.
pub(super) fn is_denied(error: &QueryError) -> bool {
    // Access to a database, to a table, to a column; a right for all (PROCESS).
    error.cause() == Some(Cause::Denied)
}

/// A name as the server gives it to a file; `None` for one with letters beyond ASCII, some of which have codes of their
/// own.
fn encoded(name: &str) -> Option<String> {
    let mut file = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            plain if plain.is_ascii_alphanumeric() || plain == '_' => file.push(plain),
            other if other.is_ascii() => file.push_str(&format!("@{:04x}", u32::from(other))),
            _ => return None,
        }
    }
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_the_servers_files_have_them() {
        assert_eq!(encoded("sbtest_1").as_deref(), Some("sbtest_1"));
        assert_eq!(encoded("a-b c").as_deref(), Some("a@002db@0020c"));
        assert_eq!(encoded("größe"), None);
    }

    #[test]
    fn sizes_are_added_up_by_database() {
        let sizes = [("shop/a", 10), ("shop/b", 5), ("shopping/a", 100)];
        let sizes = FileSizes(sizes.map(|(name, bytes)| (name.to_owned(), bytes)).into());
        assert_eq!((sizes.of_table("shop", "b"), sizes.of_table("shop", "c")), (Some(5), None));
        assert_eq!((sizes.of_database("shop"), sizes.of_database("nothing")), (Some(15), None));
    }
}
