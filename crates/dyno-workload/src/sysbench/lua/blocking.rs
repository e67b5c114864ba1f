//! Scripts' functions outside of the load: what they ask goes to a blocking connection. `prepare`, `cleanup`, commands of
//! the script's own, and what stands before and behind the load.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use dyno_engine::request::QueryKind;
use dyno_target::connection::{ConnectError, Connection, QueryError};
use dyno_target::interruption;

use super::error::LuaError;
use super::kind::{kind_of, outcome};
use super::question::{LuaReply, Question, Refused, RowsWanted};
use super::rows::AnswerRows;
use super::state::{LuaState, Seat, Task};
use crate::sysbench::counters::ClientCounters;

/// Opens a connection to the server.
pub type Opener<'a> = dyn Fn() -> Result<Connection, ConnectError> + Sync + 'a;

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
        question = match client.answer(question)? {
            BlockingAnswer::Done => state.resume(seat, &LuaReply::Done),
            BlockingAnswer::Result(rows_count) => {
                let (columns, rows) = (client.rows.columns, client.rows.bytes());
                state.resume(seat, &LuaReply::Result { rows_count, columns, rows })
            }
            BlockingAnswer::Refused(refused) => state.resume(seat, &LuaReply::Refused(&refused)),
            BlockingAnswer::Ended { found } => return Ok(found),
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

enum BlockingAnswer {
    Done,
    /// With so many rows returned or changed.
    Result(u64),
    Refused(Refused),
    Ended {
        found: bool,
    },
}

impl ClientConnections<'_> {
    fn answer(&mut self, question: Question) -> Result<BlockingAnswer, LuaError> {
        Ok(match question {
            Question::Query { sql, wanted } => self.query(&sql.as_bytes(), wanted),
            Question::Rollback => {
                self.query(b"ROLLBACK", RowsWanted::Nothing);
                BlockingAnswer::Done
            }
            Question::Connect { connection } | Question::Reconnect { connection } => {
                self.used = connection;
                self.connections.remove(&connection);
                self.connected().map_or_else(BlockingAnswer::Refused, |_| BlockingAnswer::Done)
            }
            Question::Use { connection } => {
                self.used = connection;
                BlockingAnswer::Done
            }
            Question::Disconnect { connection } => {
                self.connections.remove(&connection);
                BlockingAnswer::Done
            }
            Question::Sleep(time) if interruption::sleep(time) => BlockingAnswer::Done,
            // What the script would do next is not begun.
            Question::Sleep(_) => return Err(LuaError::new(None, "interrupted")),
            // Statements of the load went with the load's connections.
            Question::Prepare { .. } | Question::Execute { .. } => BlockingAnswer::Refused(plain_refusal(
                "the run is over, and its prepared statements with it".to_owned(),
            )),
            Question::Forget { .. }
            | Question::Count { .. }
            | Question::Ready
            | Question::EventDone { .. }
            | Question::Restart
            | Question::ThreadDone => BlockingAnswer::Done,
            Question::Ended { found } => BlockingAnswer::Ended { found },
            Question::Failed(error) => return Err(error),
        })
    }

    fn connected(&mut self) -> Result<&mut Connection, Refused> {
        if self.connections.get(&self.used).is_some_and(Connection::is_broken) {
            self.connections.remove(&self.used);
        }
        match self.connections.entry(self.used) {
            Entry::Occupied(open) => Ok(open.into_mut()),
            Entry::Vacant(place) => {
                let no_server =
                    || plain_refusal("no query is possible here: no connection is open yet".to_owned());
                let open = self.open.ok_or_else(no_server)?;
                let mut connection = open().map_err(|error| plain_refusal(error.to_string()))?;
                if let Some(wire) = connection.wire_mut() {
                    wire.take_answers_of_any_size();
                }
                Ok(place.insert(connection))
            }
        }
    }

    fn query(&mut self, sql: &[u8], wanted: RowsWanted) -> BlockingAnswer {
        let Ok(text) = std::str::from_utf8(sql) else {
            return BlockingAnswer::Refused(plain_refusal("the query is not UTF-8".to_owned()));
        };
        self.rows.start(wanted);
        let connection = match self.connected() {
            Ok(connection) => connection,
            Err(refused) => return BlockingAnswer::Refused(refused),
        };
        let kind = kind_of(sql);
        // Of what changes rows their number is told, of all else the number of rows returned.
        if kind == QueryKind::Write || (kind == QueryKind::Other && wanted == RowsWanted::Nothing) {
            return match connection.execute(text) {
                Ok(affected) => {
                    self.count(kind, 0, affected);
                    BlockingAnswer::Result(affected)
                }
                Err(error) => BlockingAnswer::Refused(refused(&error)),
            };
        }
        match connection.query(text) {
            Ok(rows) => {
                for row in &rows {
                    let columns = row.iter().count();
                    self.rows.row(columns, |rows| {
                        row.iter().for_each(|(_, value)| rows.value(value.map(str::as_bytes)));
                    });
                }
                self.count(kind, rows.len() as u64, 0);
                BlockingAnswer::Result(rows.len() as u64)
            }
            Err(error) => BlockingAnswer::Refused(refused(&error)),
        }
    }

    fn count(&self, kind: QueryKind, rows: u64, affected: u64) {
        if let Some(counters) = self.counters {
            counters.query(outcome(kind, rows, affected));
        }
    }
}

fn refused(error: &QueryError) -> Refused {
    let message = match error {
        QueryError::Server { error, .. } => error.message().to_owned(),
        error => error.to_string(),
    };
    Refused {
        ignorable: false,
        open: false,
        number: error.number().unwrap_or(0),
        state: error.sqlstate().unwrap_or_default().to_owned(),
        message,
    }
}

fn plain_refusal(message: String) -> Refused {
    Refused { ignorable: false, open: false, number: 0, state: String::new(), message }
}
