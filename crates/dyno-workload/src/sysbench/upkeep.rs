//! What sysbench's commands `cleanup` and `prewarm` do.

use dyno_target::connection::{Connection, QueryError};
use dyno_target::product::Dialect;

use super::options::Options;
use super::schema::{drop_table, index_name, table_name};

/// Drops the tables that the options name, where they are there. `tell` hears of each before.
///
/// # Errors
/// What the server said.
pub fn cleanup(
    connection: &mut Connection,
    options: &Options,
    tell: &mut dyn FnMut(u32),
) -> Result<(), QueryError> {
    for table in 1..=options.tables {
        tell(table);
        connection.execute(&drop_table(table))?;
    }
    Ok(())
}

/// Has the server read table number `table` and its index once, so that a load finds them in memory as far as there is
/// room. Brings the statistics up to date before.
///
/// # Errors
/// What the server said.
pub fn prewarm(
    connection: &mut Connection,
    options: &Options,
    dialect: &Dialect,
    table: u32,
) -> Result<(), QueryError> {
    let (name, index) = (table_name(table), index_name(table));
    if let Some(sql) = dialect.analyze(&name) {
        connection.execute(&sql)?;
    }
    // Whole rows, so that no index alone can answer; and what only the index on k, or a second reading, answers.
    let rows = if options.secondary { name.clone() } else { dialect.by_table.of(&name, "") };
    let mut reads = vec![format!("SELECT COUNT(*) FROM {rows} WHERE c <> pad")];
    if options.create_secondary {
        reads.push(format!("SELECT COUNT(k) FROM {} WHERE k > 0", dialect.by_index.of(&name, &index)));
    }
    for sql in reads {
        connection.query(&sql)?;
    }
    Ok(())
}
