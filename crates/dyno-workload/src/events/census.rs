//! Counts the two tables, and the events whose customer is not there. PostgreSQL reads the events once, in several
//! processes; on MySQL's protocol the events of other customers are a range of the foreign key's index.

use dyno_target::cause::Cause;
use dyno_target::connection::{Connection, QueryError};
use thiserror::Error;

use super::ACTIONS;

/// The tables at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Census {
    pub customers: u64,
    pub events: u64,
    /// The highest id of an event; 0 where there is none.
    pub last_event: u64,
    /// Events whose customer is not there.
    pub dangling: u64,
}

impl Census {
    pub(super) fn take(connection: &mut Connection) -> Result<Self, CensusError> {
        let ends = "SELECT COUNT(*), COALESCE(MIN(id), 0), COALESCE(MAX(id), 0) FROM customer";
        let [customers, first, last] = numbers(connection, ends)?;
        // Ids are integers, and no two rows have the same: with as many rows as ids from the first to the last, none
        // is missing, and an event's customer is there if it lies between them.
        let gapless = customers > 0 && last - first + 1 == customers;
        let [events, last_event, dangling] = match (gapless, connection.is_mysql()) {
            (true, false) => numbers(
                connection,
                &format!(
                    "SELECT COUNT(*), COALESCE(MAX(id), 0), \
                     COALESCE(SUM(CASE WHEN customer_id BETWEEN {first} AND {last} THEN 0 ELSE 1 END), 0) FROM event"
                ),
            )?,
            (true, true) => {
                let outside = format!("customer_id < {first} OR customer_id > {last}");
                one_by_one(connection, &outside)?
            }
            (false, _) => {
                let none = "NOT EXISTS (SELECT 1 FROM customer WHERE customer.id = event.customer_id)";
                one_by_one(connection, none)?
            }
        };
        Ok(Self {
            customers: customers as u64,
            events: events as u64,
            last_event: last_event as u64,
            dangling: dangling as u64,
        })
    }
}

/// Events, the highest id, and events that are `dangling`: each as the server finds it soonest.
fn one_by_one(connection: &mut Connection, dangling: &str) -> Result<[i64; 3], CensusError> {
    let [events] = numbers(connection, "SELECT COUNT(*) FROM event")?;
    let last_event = highest_id(connection)? as i64;
    let [dangling] = numbers(connection, &format!("SELECT COUNT(*) FROM event WHERE {dangling}"))?;
    Ok([events, last_event, dangling])
}

/// The highest id of an event, by a look at the end of the key; 0 where there is none.
pub(super) fn highest_id(connection: &mut Connection) -> Result<u64, CensusError> {
    let [last_event] = numbers(connection, "SELECT COALESCE(MAX(id), 0) FROM event")?;
    Ok(last_event as u64)
}

/// Events behind `last` whose action is none of the ten.
pub(super) fn strange_actions(connection: &mut Connection, last: u64) -> Result<u64, CensusError> {
    let actions: Vec<String> = ACTIONS.iter().map(|action| format!("'{action}'")).collect();
    let sql =
        format!("SELECT COUNT(*) FROM event WHERE id > {last} AND action NOT IN ({})", actions.join(", "));
    let [strange] = numbers(connection, &sql)?;
    Ok(strange as u64)
}

/// The integers in the only row of an answer.
fn numbers<const N: usize>(connection: &mut Connection, sql: &str) -> Result<[i64; N], CensusError> {
    let rows = connection.query(sql).map_err(CensusError::of)?;
    let mut values = [0; N];
    for (at, value) in values.iter_mut().enumerate() {
        let text = rows.first().and_then(|row| row.text(at)).unwrap_or_default();
        *value = text.parse().map_err(|_| CensusError::NotANumber { text: text.to_owned() })?;
    }
    Ok(values)
}

/// Why rows could not be counted.
#[derive(Debug, Error)]
pub enum CensusError {
    #[error("the tables of events are missing: {0}; run again with --prepare")]
    Missing(#[source] QueryError),
    #[error("the tables of events may not be read: {0}; connect as their owner, or grant SELECT on them")]
    Denied(#[source] QueryError),
    #[error("cannot count the rows of events: {0}")]
    Failed(#[source] QueryError),
    #[error("the tables of events gave {text:?} where a number was to come")]
    NotANumber { text: String },
}

impl CensusError {
    fn of(source: QueryError) -> Self {
        match source.cause() {
            Some(Cause::NoSuchTable) => Self::Missing(source),
            Some(Cause::Denied) => Self::Denied(source),
            _ => Self::Failed(source),
        }
    }
}
