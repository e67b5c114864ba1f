//! Scripts' functions outside of the load: what they ask goes to a blocking connection. `prepare`, `cleanup`, commands of
//! the script's own, and what stands before and behind the load.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use dyno_target::connection::{Connection, QueryError, WireConnection};
use dyno_target::interruption;

use super::error::LuaError;
use super::kind::outcome;
use super::own_counts::{count_own, counted};
use super::question::{LuaReply, Question, Refused, RowsWanted};
use super::rows::AnswerRows;
use super::state::{LuaState, Seat, Task};
use crate::sysbench::counters::ClientCounters;

/// Opens a connection to the server, or says why not.
pub type Opener<'a> = dyn Fn() -> Result<Connection, String> + Send + Sync + 'a;

/// Has a client do `task` to its end, with no server if there is no `open`; whether the script has what was to be run.
/// What it asks the server is counted by `counters`.
pub(super) fn converse(
    state: &LuaState,
    seat: Seat,
    task: Task<'_>,
    open: Option<&Opener<'_>>,
    counters: Option<&ClientCounters>,
) -> Result<bool, LuaError> {
    let mut client =
        ClientConnections { open, counters, connections: BTreeMap::new(), used: 0, rows: AnswerRows::new() };
    let mut question = state.start(seat, task);
    loop {
        let answer = match question {
            Question::Ended { found } => return Ok(found),
            Question::Failed(error) => return Err(error),
            // What the script would do next is not begun.
            Question::Sleep(time) if !interruption::sleep(time) => {
                return Err(LuaError::new(None, "interrupted"));
            }
            asked => client.answer(asked),
        };
        question = match &answer {
            Ok(None) => state.resume(seat, &LuaReply::Done),
            Ok(Some(rows_count)) => {
                let (rows_count, columns, rows) = (*rows_count, client.rows.columns, client.rows.bytes());
                state.resume(seat, &LuaReply::Result { rows_count, columns, rows })
            }
            Err(refused) => state.resume(seat, &LuaReply::Refused(refused)),
        };
    }
}

/// A client's ways to the server, by their numbers; each is opened when it is first needed.
struct ClientConnections<'a> {
    open: Option<&'a Opener<'a>>,
    counters: Option<&'a ClientCounters>,
    connections: BTreeMap<u16, Connection>,
    used: u16,
    rows: AnswerRows,
}

impl ClientConnections<'_> {
    /// With as many rows as were returned, where the answer is a result.
    fn answer(&mut self, question: Question) -> Result<Option<u64>, Refused> {
        match question {
            Question::Query { sql, wanted } => return self.query(&sql.as_bytes(), wanted),
            Question::Rollback => {
                // What the script does next meets whatever is wrong.
                let _ = self.query(b"ROLLBACK", RowsWanted::Nothing);
            }
            Question::Connect { connection } | Question::Reconnect { connection } => {
                self.used = connection;
                self.connections.remove(&connection);
                self.connected()?;
            }
            Question::Use { connection } => self.used = connection,
            Question::Disconnect { connection } => {
                self.connections.remove(&connection);
            }
            Question::Count { counter, by } => {
                if let Some(counters) = self.counters {
                    count_own(counters, counter, by);
                }
            }
            Question::Counted { thread, counter } => {
                return Ok(Some(self.counters.map_or(0, |counters| counted(counters, thread, counter))));
            }
            // Statements of the load went with the load's connections.
            Question::Prepare { .. } | Question::Execute { .. } => {
                return Err(plain_refusal("the run is over, and its prepared statements with it"));
            }
            _ => {}
        }
        Ok(None)
    }

    fn connected(&mut self) -> Result<&mut Connection, Refused> {
        if self.connections.get(&self.used).is_some_and(Connection::is_broken) {
            self.connections.remove(&self.used);
        }
        match self.connections.entry(self.used) {
            Entry::Occupied(open) => Ok(open.into_mut()),
            Entry::Vacant(place) => {
                let no_server = || plain_refusal("no query is possible here: no connection is open yet");
                let open = self.open.ok_or_else(no_server)?;
                let mut connection = open().map_err(plain_refusal)?;
                if let Some(wire) = connection.wire_mut() {
                    wire.take_answers_of_any_size();
                }
                Ok(place.insert(connection))
            }
        }
    }

    /// The rows that were returned; `None` of a statement without a result.
    fn query(&mut self, sql: &[u8], wanted: RowsWanted) -> Result<Option<u64>, Refused> {
        let text = str::from_utf8(sql).map_err(|_| plain_refusal("the query is not UTF-8"))?;
        self.rows.start(wanted);
        let connection = self.connected()?;
        let rows = connection.query(text).map_err(|error| refused(&error))?;
        let (has_result, affected) = connection.wire().map_or((false, 0), WireConnection::last_answer);
        for row in &rows {
            let columns = row.iter().count();
            self.rows.row(columns, |rows| {
                row.iter().for_each(|(_, value)| rows.value(value.map(str::as_bytes)));
            });
        }
        if let Some(counters) = self.counters {
            counters.query(outcome(has_result, affected));
        }
        Ok(has_result.then_some(rows.len() as u64))
    }
}

fn refused(error: &QueryError) -> Refused {
    let message = match error {
        QueryError::Server { error, .. } => error.message().to_owned(),
        error => error.to_string(),
    };
    Refused {
        number: error.number().unwrap_or(0),
        state: error.sqlstate().unwrap_or_default().to_owned(),
        ..plain_refusal(message)
    }
}

fn plain_refusal(message: impl Into<String>) -> Refused {
    Refused { message: message.into(), ..Refused::default() }
}
