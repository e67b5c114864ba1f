//! Scripts' functions outside of the load: what they ask goes to a blocking connection. `prepare`, `cleanup`, commands of
//! the script's own, and what stands before and behind the load.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use dyno_engine::request::QueryKind;
use dyno_target::connection::{ConnectError, Connection, QueryError};
use dyno_target::interruption;

use super::error::ScriptError;
use super::kind::{kind_of, outcome};
use super::question::{Keep, Question, Refused, Reply};
use super::rows::Rows;
use super::state::{Seat, State, Task};
use crate::sysbench::counters::ClientCounters;

/// Opens a connection to the server.
pub type Opener<'a> = dyn Fn() -> Result<Connection, ConnectError> + Sync + 'a;

/// Has a client do `task` to its end, with no server if there is no `open`; whether the script has what was to be run.
/// What it asks the server is counted by `counters`.
pub(super) fn converse(
    state: &State,
    seat: Seat,
    task: Task<'_>,
    open: Option<&Opener<'_>>,
    counters: Option<&ClientCounters>,
) -> Result<bool, ScriptError> {
    let mut line = Line { open, counters, connections: BTreeMap::new(), used: 0, rows: Rows::new() };
    let mut question = state.start(seat, task);
    loop {
        question = match line.answer(question)? {
            Told::Done => state.resume(seat, &Reply::Done),
            Told::Result(rows_count) => {
                let (columns, rows) = (line.rows.columns, line.rows.bytes());
                state.resume(seat, &Reply::Result { rows_count, columns, rows })
            }
            Told::Refused(refused) => state.resume(seat, &Reply::Refused(&refused)),
            Told::Ended { found } => return Ok(found),
        };
    }
}

/// A client's ways to the server, by their numbers; each is opened when it is first needed.
struct Line<'a> {
    open: Option<&'a Opener<'a>>,
    counters: Option<&'a ClientCounters>,
    connections: BTreeMap<u16, Connection>,
    used: u16,
    rows: Rows,
}

enum Told {
    Done,
    /// With so many rows returned or changed.
    Result(u64),
    Refused(Refused),
    Ended {
        found: bool,
    },
}

impl Line<'_> {
    fn answer(&mut self, question: Question) -> Result<Told, ScriptError> {
        Ok(match question {
            Question::Query { sql, keep } => self.query(&sql.as_bytes(), keep),
            Question::Rollback => {
                self.query(b"ROLLBACK", Keep::Nothing);
                Told::Done
            }
            Question::Connect { connection } | Question::Reconnect { connection } => {
                self.used = connection;
                self.connections.remove(&connection);
                self.connected().map_or_else(Told::Refused, |_| Told::Done)
            }
            Question::Use { connection } => {
                self.used = connection;
                Told::Done
            }
            Question::Disconnect { connection } => {
                self.connections.remove(&connection);
                Told::Done
            }
            Question::Sleep(time) if interruption::sleep(time) => Told::Done,
            // What the script would do next is not begun.
            Question::Sleep(_) => return Err(ScriptError::new(None, "interrupted")),
            // Statements of the load went with the load's connections.
            Question::Prepare { .. } | Question::Execute { .. } => Told::Refused(plain_refusal(
                "the run is over, and its prepared statements with it".to_owned(),
            )),
            Question::Forget { .. }
            | Question::Count { .. }
            | Question::Ready
            | Question::EventDone { .. }
            | Question::Restart
            | Question::ThreadDone => Told::Done,
            Question::Ended { found } => Told::Ended { found },
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
                connection.take_answers_of_any_size();
                Ok(place.insert(connection))
            }
        }
    }

    fn query(&mut self, sql: &[u8], keep: Keep) -> Told {
        let Ok(text) = std::str::from_utf8(sql) else {
            return Told::Refused(plain_refusal("the query is not UTF-8".to_owned()));
        };
        self.rows.start(keep);
        let connection = match self.connected() {
            Ok(connection) => connection,
            Err(refused) => return Told::Refused(refused),
        };
        let kind = kind_of(sql);
        // Of what changes rows their number is told, of all else the number of rows returned.
        if kind == QueryKind::Write || (kind == QueryKind::Other && keep == Keep::Nothing) {
            return match connection.execute(text) {
                Ok(affected) => {
                    self.count(kind, 0, affected);
                    Told::Result(affected)
                }
                Err(error) => Told::Refused(refused(&error)),
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
                Told::Result(rows.len() as u64)
            }
            Err(error) => Told::Refused(refused(&error)),
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
