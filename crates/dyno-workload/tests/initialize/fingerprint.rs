//! All that can be told of the tables without their object numbers.

use dyno_target::connection::Connection;

use crate::reference::Server;

/// Catalog and contents of a database's tables of pgbench, and how they are stored.
#[derive(Debug)]
pub(crate) struct Fingerprint {
    /// psql's description (columns, types, persistence, keys, tablespaces, partitions with their bounds), and a hash of
    /// each table's rows in the order in which they are stored.
    pub(crate) tables: Vec<String>,
    /// Of each table and index: kind, persistence, storage parameters, tablespace, statistics, size. Of each table: its
    /// pages that are frozen and, where some are, that are all visible. Rows that are not frozen are made visible by
    /// VACUUM, which passes over a page that another process is just writing to disk.
    pub(crate) storage: Vec<String>,
    /// The same of the two small tables, whose rows versions before 17 did not write as frozen.
    pub(crate) storage_of_small: Vec<String>,
}

impl Fingerprint {
    pub(crate) fn of(server: &Server, database: &str, connection: &mut Connection) -> Self {
        let described = without_oids(&server.psql(database, "\\d+ pgbench*"));
        let mut tables: Vec<_> = described.lines().map(str::to_owned).collect();
        tables.extend(contents(connection));
        let mut storage = lines(
            connection,
            "select c.relname, relkind, relpersistence, reloptions, spcname, pg_get_expr(relpartbound, c.oid), \
                    relpages, reltuples, relhastriggers, pg_relation_size(c.oid) \
             from pg_class c left join pg_tablespace t on t.oid = c.reltablespace \
             where c.relname like 'pgbench%' order by 1",
        );
        connection.execute("create extension if not exists pg_visibility").unwrap();
        storage.extend(lines(
            connection,
            "select relname, case when all_frozen > 0 then all_visible end as all_visible, all_frozen \
             from pg_class, pg_visibility_map_summary(oid) \
             where relname like 'pgbench%' and relkind = 'r' order by 1",
        ));
        let is_small = |line: &String| line.contains("_branches ") || line.contains("_tellers ");
        let (storage_of_small, storage) = storage.into_iter().partition(is_small);
        Self { tables, storage, storage_of_small }
    }
}

/// A hash of the rows of each table, which the server makes.
fn contents(connection: &mut Connection) -> Vec<String> {
    // Rows come in the order in which they are stored.
    connection.execute("set synchronize_seqscans = off").unwrap();
    connection.execute("set max_parallel_workers_per_gather = 0").unwrap();
    let names = "select relname from pg_class where relname like 'pgbench%' and relkind = 'r' order by 1";
    let tables = connection.query(names).unwrap();
    let hash = |table: &str| {
        format!("select '{table}' as hashed, count(*), md5(string_agg(t::text, E'\\n')) from {table} t")
    };
    let tables: Vec<String> = tables.iter().map(|row| row.text(0).unwrap().to_owned()).collect();
    tables.iter().flat_map(|table| lines(connection, &hash(table))).collect()
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
