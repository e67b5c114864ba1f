//! How large the data is: by the files where they are told, else by InnoDB's statistics, which may be some seconds and
//! a tenth of the rows behind.

use dyno_results::event;

use super::files::FileSizes;
use super::{known, literal};
use crate::connection::{Connection, QueryError, TextRow};
use crate::inspect::{Sizes, mark_indexed, recognise};

/// Engines by whether a crash leaves their tables whole: those without a log may be emptied or corrupted by it.
const LOGGED: &[(&str, bool)] =
    &[("InnoDB", true), ("ROCKSDB", true), ("MEMORY", false), ("MyISAM", false), ("MRG_MyISAM", false)];
/// A file may have this much more than the statistics know of: room that was taken ahead, in a table that grows.
const FILE_AHEAD_BYTES: u64 = 8 << 20;
/// A table with rows is larger: an empty one has some pages too.
const ANALYZED_BYTES_MIN: u64 = 256 << 10;

/// Rows are an estimate from sampled pages.
pub(super) fn sizes(connection: &mut Connection, tables: &[&str]) -> Result<Sizes, QueryError> {
    refresh(connection)?;
    let cache = recognise(connection)?.product.and_then(|product| product.views.cache);
    let cache_bytes = match cache {
        Some(sql) => known(connection.query_value(sql))?,
        None => None,
    };
    let table_names = TableNames::of(connection, tables.iter().copied())?;
    let mut sizes = table_names.sizes(connection)?;
    table_names.add_indexes(connection, &mut sizes.tables)?;
    table_names.add_analyzed(connection, &mut sizes.tables)?;
    Ok(Sizes { cache_bytes, ..sizes })
}

/// Data and indexes of the session's database; null where the server counts nothing, as seekdb does while rows are in
/// memory only.
const DATABASE_BYTES: &str =
    "SELECT CAST(NULLIF(SUM(data_length + index_length), 0) AS UNSIGNED) AS database_bytes
     FROM information_schema.tables WHERE table_schema = DATABASE()";

/// Since 8.0 MySQL answers from what it noted up to a day ago, unless told otherwise; others know no such variable.
pub(super) fn refresh(connection: &mut Connection) -> Result<(), QueryError> {
    known(connection.execute("SET SESSION information_schema_stats_expiry = 0").map(Some))?;
    Ok(())
}

/// Where tables are.
#[derive(Debug)]
pub(super) struct TableNames {
    /// The session's database; `None` where it has none.
    database: Option<String>,
    tables: Vec<TableName>,
}

#[derive(Debug)]
struct TableName {
    /// As the caller named it.
    name: String,
    database: String,
    table: String,
}

impl TableNames {
    pub(super) fn of<'a>(
        connection: &mut Connection,
        tables: impl Iterator<Item = &'a str>,
    ) -> Result<Self, QueryError> {
        let database: Option<String> = known(connection.query_value("SELECT DATABASE()"))?;
        let table_name = |name: &str| {
            let plain = name.replace('`', "");
            let (schema, table) = match plain.split_once('.') {
                Some((schema, table)) => (schema.to_owned(), table.to_owned()),
                None => (database.clone().unwrap_or_default(), plain),
            };
            TableName { name: name.to_owned(), database: schema, table }
        };
        let tables = tables.map(table_name).collect();
        Ok(Self { database, tables })
    }

    /// Of the files of all databases that are named.
    pub(super) fn files(
        &self,
        connection: &mut Connection,
    ) -> Result<Result<FileSizes, super::files::NoFiles>, QueryError> {
        let mut databases: Vec<&str> =
            self.tables.iter().map(|table_name| table_name.database.as_str()).collect();
        databases.extend(self.database.as_deref());
        databases.sort_unstable();
        databases.dedup();
        FileSizes::read(connection, &databases)
    }

    /// Without the cache's.
    pub(super) fn sizes(&self, connection: &mut Connection) -> Result<Sizes, QueryError> {
        let files = self.files(connection)?.ok();
        let of_files =
            self.database.as_deref().zip(files.as_ref()).and_then(|(name, files)| files.of_database(name));
        let database_bytes = match of_files {
            Some(bytes) => Some(bytes),
            None => known(connection.query_value(DATABASE_BYTES))?,
        };
        let rows = match self.statement() {
            Some(sql) => known(connection.query(&sql).map(Some))?.unwrap_or_default(),
            None => Vec::new(),
        };
        let table = |(index, table_name): (usize, &TableName)| {
            let row = rows.iter().find(|row| row.get("place") == Some(&index.to_string()));
            let file =
                files.as_ref().and_then(|files| files.of_table(&table_name.database, &table_name.table));
            described(&table_name.name, row, file)
        };
        let tables = self.tables.iter().enumerate().map(table).collect();
        Ok(Sizes { database_bytes, tables, ..Sizes::default() })
    }

    /// Says of each table that is there what it is indexed by.
    fn add_indexes(
        &self,
        connection: &mut Connection,
        tables: &mut [event::Table],
    ) -> Result<(), QueryError> {
        let one = |(index, table_name): (usize, &TableName)| {
            format!(
                "SELECT '{index}' AS place, column_name AS `column` FROM information_schema.statistics
                 WHERE table_schema = {} AND table_name = {} AND seq_in_index = 1 AND index_name <> 'PRIMARY'",
                literal(&table_name.database),
                literal(&table_name.table)
            )
        };
        let all: Vec<String> = self.tables.iter().enumerate().map(one).collect();
        if !all.is_empty() {
            let sql = format!("{} ORDER BY 1, 2", all.join(" UNION ALL "));
            mark_indexed(tables, known(connection.query(&sql).map(Some))?.as_deref());
        }
        Ok(())
    }

    /// Says of each table of InnoDB with more than a few rows whether its statistics are there, which the server makes by itself
    /// unless that is turned off. Only those that are kept can be read, and only by who may read them.
    fn add_analyzed(
        &self,
        connection: &mut Connection,
        tables: &mut [event::Table],
    ) -> Result<(), QueryError> {
        let one = |(index, table_name): (usize, &TableName)| {
            let [database, table] = [&table_name.database, &table_name.table].map(|name| literal(name));
            format!(
                "SELECT '{index}' AS place,
                        EXISTS (SELECT 1 FROM mysql.innodb_table_stats s WHERE s.database_name = {database}
                                AND s.table_name = {table} AND s.n_rows > 0) AS analyzed
                 FROM information_schema.tables
                 WHERE table_schema = {database} AND table_name = {table} AND engine = 'InnoDB'
                   AND @@innodb_stats_persistent AND create_options NOT LIKE '%stats_persistent=0%'
                   AND EXISTS (SELECT 1 FROM mysql.innodb_table_stats WHERE n_rows > 0)"
            )
        };
        let all: Vec<String> = self.tables.iter().enumerate().map(one).collect();
        if all.is_empty() {
            return Ok(());
        }
        let rows = known(connection.query(&all.join(" UNION ALL ")).map(Some))?.unwrap_or_default();
        for (index, table) in tables.iter_mut().enumerate() {
            let row = rows.iter().find(|row| row.get("place") == Some(&index.to_string()));
            let is_large = table.table_bytes.is_some_and(|bytes| bytes >= ANALYZED_BYTES_MIN);
            table.analyzed = row.filter(|_| is_large).and_then(|row| row.get("analyzed")).map(|it| it == "1");
        }
        Ok(())
    }

    /// A look at each by its name: to look for several at once makes servers look at all that there are.
    fn statement(&self) -> Option<String> {
        let one = |(index, table_name): (usize, &TableName)| {
            format!(
                "SELECT {index} AS place, table_rows AS table_rows, data_length AS table_bytes,
                        index_length AS index_bytes, engine AS engine
                 FROM information_schema.tables WHERE table_schema = {} AND table_name = {}",
                literal(&table_name.database),
                literal(&table_name.table)
            )
        };
        let all: Vec<String> = self.tables.iter().enumerate().map(one).collect();
        (!all.is_empty()).then(|| all.join(" UNION ALL "))
    }
}

fn described(name: &str, row: Option<&TextRow>, file_bytes: Option<u64>) -> event::Table {
    let told = |column| row.and_then(|row| row.get(column)?.parse().ok());
    let engine = row.and_then(|row| row.get("engine"));
    let logged = engine.and_then(|engine| {
        LOGGED.iter().find(|(known, _)| known.eq_ignore_ascii_case(engine)).map(|(_, logged)| *logged)
    });
    let counted =
        TableStatistics::of(told("table_rows"), told("table_bytes"), told("index_bytes"), logged.is_some());
    let TableStatistics { rows, table_bytes, index_bytes } = match file_bytes {
        Some(bytes) => counted.brought_to(bytes),
        None => counted,
    };
    event::Table { name: name.to_owned(), rows, table_bytes, index_bytes, logged, ..event::Table::default() }
}

/// What the server's statistics say of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TableStatistics {
    rows: Option<u64>,
    table_bytes: Option<u64>,
    index_bytes: Option<u64>,
}

impl TableStatistics {
    /// A server that counts nothing says 0. One whose engine is known counts: of a table that has a size, no bytes of
    /// indexes are no indexes beside the primary key.
    fn of(
        rows: Option<u64>,
        table_bytes: Option<u64>,
        index_bytes: Option<u64>,
        engine_is_known: bool,
    ) -> Self {
        let positive = |number: Option<u64>| number.filter(|number| *number > 0);
        let table_bytes = positive(table_bytes);
        let none = index_bytes.filter(|bytes| *bytes == 0 && engine_is_known && table_bytes.is_some());
        Self { rows: positive(rows), table_bytes, index_bytes: positive(index_bytes).or(none) }
    }

    /// The file's size, divided as the statistics divide it. Statistics that know of less than half of the file are of a
    /// time before most of the rows came.
    fn brought_to(self, file_bytes: u64) -> Self {
        let index_bytes = self.index_bytes.unwrap_or(0);
        let known_bytes = self.table_bytes.unwrap_or(0) + index_bytes;
        let share = index_bytes as f64 / known_bytes.max(1) as f64;
        let index_bytes = (share * file_bytes as f64).round() as u64;
        let behind = known_bytes < file_bytes.saturating_sub(FILE_AHEAD_BYTES) / 2;
        Self {
            rows: self.rows.filter(|_| !behind),
            table_bytes: Some(file_bytes - index_bytes),
            index_bytes: self.index_bytes.map(|_| index_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_divided_as_the_statistics_divide_it() {
        let counted = |rows, table, index| TableStatistics {
            rows: Some(rows),
            table_bytes: Some(table),
            index_bytes: index,
        };
        assert_eq!(
            counted(1000, 75 << 20, Some(25 << 20)).brought_to(120 << 20),
            counted(1000, 90 << 20, Some(30 << 20))
        );
        assert_eq!(counted(1000, 75 << 20, None).brought_to(80 << 20), counted(1000, 80 << 20, None));
        let behind = counted(10, 3 << 20, Some(1 << 20)).brought_to(400 << 20);
        assert_eq!(behind, TableStatistics { rows: None, ..counted(0, 300 << 20, Some(100 << 20)) });
        let unknown = TableStatistics { rows: None, table_bytes: None, index_bytes: None };
        let bare = counted(1000, 75 << 20, Some(0)).brought_to(80 << 20);
        assert_eq!(bare, counted(1000, 80 << 20, Some(0)));
        assert_eq!(unknown.brought_to(7), TableStatistics { table_bytes: Some(7), ..unknown });
    }

    #[test]
    fn no_bytes_of_indexes_are_none_where_the_engine_counts() {
        let of =
            |table, index, known| TableStatistics::of(Some(3), Some(table), Some(index), known).index_bytes;
        assert_eq!(of(16384, 0, true), Some(0));
        assert_eq!(of(16384, 0, false), None, "seekdb, as long as rows are in memory");
        assert_eq!(of(0, 0, true), None);
        assert_eq!(of(16384, 16384, false), Some(16384));
        assert_eq!(
            TableStatistics::of(Some(0), None, None, true),
            TableStatistics::of(None, None, None, true)
        );
    }
}
