//! Counts the two tables, and the events whose customer is not there. PostgreSQL reads the events once, in several
//! processes; on MySQL's protocol the events of other customers are a range of the foreign key's index.

use dyno_target::connection::{Connection, QueryError};

use super::ACTIONS;
use crate::dataset::{TableError, numbers};

/// The tables at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Census {
    pub customers: u64,
    pub events: u64,
    /// The highest id of an event; 0 where there is none.
    pub last_event: u64,
    /// Events whose customer is not there.
    pub dangling: u64,
}

impl Census {
    pub(super) fn take(connection: &mut Connection) -> Result<Self, TableError> {
        Self::read(connection).map_err(TableError::of("customer or event"))
    }

    fn read(connection: &mut Connection) -> Result<Self, QueryError> {
        let ends = "SELECT COUNT(*), COALESCE(MIN(id), 0), COALESCE(MAX(id), 0) FROM customer";
        let [customers, first, last] = numbers::<i64, 3>(connection, ends)?;
        // Ids are integers, and no two rows have the same: with as many rows as ids from the first to the last, none
        // is missing, and an event's customer is there if it lies between them.
        let gapless = customers > 0 && last - first + 1 == customers;
        let [events, last_event, dangling] = match (gapless, connection.dialect().foreign_key_index) {
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
        Ok(Self { customers: customers as u64, events, last_event, dangling })
    }
}

/// Events, the highest id, and events that are `dangling`: each as the server finds it soonest.
fn one_by_one(connection: &mut Connection, dangling: &str) -> Result<[u64; 3], QueryError> {
    let [events] = numbers(connection, "SELECT COUNT(*) FROM event")?;
    let last_event = highest_id(connection)?;
    let [dangling] = numbers(connection, &format!("SELECT COUNT(*) FROM event WHERE {dangling}"))?;
    Ok([events, last_event, dangling])
}

/// The highest id of an event, by a look at the end of the key; 0 where there is none.
pub(super) fn highest_id(connection: &mut Connection) -> Result<u64, QueryError> {
    let [last_event] = numbers(connection, "SELECT COALESCE(MAX(id), 0) FROM event")?;
    Ok(last_event)
}

/// Events behind `last` whose action is none of the ten.
pub(super) fn strange_actions(connection: &mut Connection, last: u64) -> Result<u64, QueryError> {
    let actions: Vec<String> = ACTIONS.iter().map(|action| format!("'{action}'")).collect();
    let sql =
        format!("SELECT COUNT(*) FROM event WHERE id > {last} AND action NOT IN ({})", actions.join(", "));
    let [strange] = numbers(connection, &sql)?;
    Ok(strange)
}
