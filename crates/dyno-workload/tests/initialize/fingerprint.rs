//! All that can be told of the tables without their object numbers.

use dyno_target::connection::Connection;

use crate::reference::Server;

/// Catalog, storage and contents of a database's tables of pgbench.
#[derive(Debug, PartialEq)]
pub(crate) struct Fingerprint {
    /// psql's description: columns, types, persistence, keys, tablespaces, partitions with their bounds.
    pub(crate) described: String,
    /// Of each table and index: kind, persistence, storage parameters, tablespace, statistics, size.
    pub(crate) classes: Vec<String>,
    /// Pages of each table that are all visible, and that are frozen.
    pub(crate) visibility: Vec<String>,
    /// Rows in the order in which they are stored.
    pub(crate) contents: Vec<(String, Vec<u8>)>,
}

impl Fingerprint {
    pub(crate) fn of(server: &Server, database: &str, connection: &mut Connection) -> Self {
        let described = without_oids(&server.psql(database, "\\d+ pgbench*"));
        let classes = lines(
            connection,
            "select c.relname, relkind, relpersistence, reloptions, spcname, pg_get_expr(relpartbound, c.oid), \
                    relpages, reltuples, relallvisible, relhastriggers, pg_relation_size(c.oid) \
             from pg_class c left join pg_tablespace t on t.oid = c.reltablespace \
             where c.relname like 'pgbench%' order by 1",
        );
        connection.execute("create extension if not exists pg_visibility").unwrap();
        let visibility = lines(
            connection,
            "select relname, (pg_visibility_map_summary(oid)).* \
             from pg_class where relname like 'pgbench%' and relkind = 'r' order by 1",
        );
        let tables = connection
            .query("select relname from pg_class where relname like 'pgbench%' and relkind = 'r' order by 1")
            .unwrap();
        let contents = tables
            .iter()
            .map(|row| {
                let (table, mut rows) = (row.text(0).unwrap().to_owned(), Vec::new());
                connection
                    .copy_out(&format!("copy {table} to stdout"), |piece| rows.extend_from_slice(piece))
                    .unwrap();
                (table, rows)
            })
            .collect();
        Self { described, classes, visibility, contents }
    }

    /// Panics where the two differ. Where `small_frozen` is not set, the reference did not write the rows of the two
    /// small tables as frozen.
    pub(crate) fn assert_same(&self, theirs: &Self, small_frozen: bool, what: &str) {
        let of = |lines: &[String]| -> Vec<String> {
            let small = |line: &&String| line.contains("_branches ") || line.contains("_tellers ");
            lines.iter().filter(|line| small_frozen || !small(line)).cloned().collect()
        };
        assert_eq!(self.described, theirs.described, "{what}");
        assert_eq!(of(&self.classes), of(&theirs.classes), "{what}");
        assert_eq!(of(&self.visibility), of(&theirs.visibility), "{what}");
        assert_eq!(self.contents.len(), theirs.contents.len(), "{what}");
        for ((table, ours), (_, theirs)) in self.contents.iter().zip(&theirs.contents) {
            assert!(ours == theirs, "{what}: the rows of {table} differ");
        }
    }
}

/// A partition by hash names its parent by object number.
fn without_oids(described: &str) -> String {
    const BEFORE: &str = "satisfies_hash_partition('";
    let mut parts = described.split(BEFORE);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + BEFORE + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

fn lines(connection: &mut Connection, sql: &str) -> Vec<String> {
    let rows = connection.query(sql).unwrap();
    rows.iter()
        .map(|row| row.iter().map(|(name, value)| format!("{name}={} ", value.unwrap_or("-"))).collect())
        .collect()
}
