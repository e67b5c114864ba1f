//! What a database file says of itself. There is no server: its settings are those of a session, and its sizes are in the
//! file.

use std::collections::BTreeMap;

use dyno_results::event;

use crate::connection::{Connection, QueryError};
use crate::inspect::{Inspector, Sizes, file, known};
use crate::product::Recognised;

pub(super) static INSPECTOR: Inspector = Inspector {
    isolation: |_| Ok(Some("serializable".to_owned())),
    settings,
    facts: super::facts::facts,
    sizes,
    statistics: |connection, _| Ok(file::statistics(connection, "-wal")),
    ..file::INSPECTOR
};

/// Settings of a session with the library's defaults.
const SETTINGS: [(&str, &str); 10] = [
    ("auto_vacuum", "0"),
    ("cache_size", "-2000"),
    ("foreign_keys", "1"),
    ("journal_mode", "delete"),
    ("locking_mode", "normal"),
    ("mmap_size", "0"),
    ("page_size", "4096"),
    ("synchronous", "full"),
    ("temp_store", "0"),
    ("wal_autocheckpoint", "1000"),
];
/// What `synchronous` answers in numbers.
const SYNCHRONOUS: [&str; 4] = ["off", "normal", "full", "extra"];
/// Of a larger file the sizes of single tables are not read: all of its pages would have to be.
const SIZES_BYTES_MAX: u64 = 1 << 30;

fn settings(connection: &mut Connection, recognised: &Recognised) -> Result<Vec<event::Setting>, QueryError> {
    let mut settings = Vec::new();
    for (name, default) in SETTINGS {
        let Some(value) = known(connection.query_value::<String>(&format!("PRAGMA {name}")))? else {
            continue;
        };
        let in_words = |number: usize| SYNCHRONOUS.get(number).map(|&word| word.to_owned());
        let value = match (name, value.parse()) {
            ("synchronous", Ok(number)) => in_words(number).unwrap_or(value),
            _ => value,
        };
        let durability = recognised.durability.contains(&name);
        let changed = value != default;
        if changed || durability {
            settings.push(event::Setting {
                name: name.to_owned(),
                value,
                default: Some(default.to_owned()),
                changed,
                durability,
                ..event::Setting::default()
            });
        }
    }
    Ok(settings)
}

/// Each session has a cache of its own, so that there is no size of one for all.
fn sizes(connection: &mut Connection, tables: &[&str]) -> Result<Sizes, QueryError> {
    let number = |connection: &mut Connection, sql: &str| known(connection.query_value::<u64>(sql));
    let pages = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
    let database_bytes = number(connection, pages)?;
    let is_small = database_bytes.is_some_and(|bytes| bytes <= SIZES_BYTES_MAX);
    let mut found = Vec::new();
    for &name in tables {
        let of = |what: &str| {
            format!(
                "SELECT sum(pgsize) FROM dbstat WHERE aggregate = TRUE AND name IN \
                 (SELECT name FROM sqlite_schema WHERE tbl_name = '{name}' AND type = '{what}')"
            )
        };
        let bytes = |connection: &mut Connection, what: &str| match is_small {
            true => number(connection, &of(what)),
            false => Ok(None),
        };
        // What ANALYZE has counted; the first number of an index, or of the table.
        let rows = format!("SELECT CAST(stat AS INTEGER) FROM sqlite_stat1 WHERE tbl = '{name}' LIMIT 1");
        let table_bytes = bytes(connection, "table")?;
        let indexed = format!(
            "SELECT c.name FROM pragma_index_list('{name}') i, pragma_index_info(i.name) c \
             WHERE c.seqno = 0 AND i.origin = 'c' ORDER BY c.name"
        );
        let indexed = known(connection.query(&indexed).map(Some))?.unwrap_or_default();
        let is_filled = number(connection, &format!("SELECT EXISTS (SELECT 1 FROM {name})"))? == Some(1);
        let rows = number(connection, &rows)?;
        found.push(event::Table {
            name: name.to_owned(),
            rows,
            table_bytes,
            index_bytes: bytes(connection, "index")?.or(table_bytes.map(|_| 0)),
            // All that is in the file goes through its journal or log.
            logged: Some(true),
            indexed: table_bytes
                .map(|_| indexed.iter().filter_map(|row| row.text(0).map(str::to_owned)).collect()),
            // Without the table of statistics there are none either.
            analyzed: is_filled.then_some(rows.is_some()),
            ..event::Table::default()
        });
    }
    Ok(Sizes { database_bytes, caches: caches(connection)?, tables: found, ..Sizes::default() })
}

/// The pages that each session caches, and what of the file it reads as memory.
fn caches(connection: &mut Connection) -> Result<BTreeMap<String, u64>, QueryError> {
    // A negative number of pages is one of KiB.
    let pages = "SELECT CASE WHEN cache_size < 0 THEN -1024 * cache_size ELSE cache_size * page_size END \
                 FROM pragma_cache_size, pragma_page_size";
    let mut caches = BTreeMap::new();
    for (name, sql) in [("cache_size", pages), ("mmap_size", "PRAGMA mmap_size")] {
        caches.extend(known(connection.query_value::<u64>(sql))?.map(|bytes| (name.to_owned(), bytes)));
    }
    Ok(caches)
}
