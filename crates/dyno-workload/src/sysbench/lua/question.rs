//! What a script asks of the outside, and how it is answered. The numbers are what goes between Lua and Rust.

use std::time::Duration;

use mlua::{Lua, LuaString, MultiValue, Table, Value};

use super::error::ScriptError;

/// Numbers of the questions. They reach Lua as `core.op`.
const OPS: [(&str, i64); 14] = [
    ("QUERY", QUERY),
    ("PREPARE", PREPARE),
    ("EXECUTE", EXECUTE),
    ("FORGET", FORGET),
    ("CONNECT", CONNECT),
    ("RECONNECT", RECONNECT),
    ("ROLLBACK", ROLLBACK),
    ("SLEEP", SLEEP),
    ("COUNT", COUNT),
    ("READY", READY),
    ("EVENT_DONE", EVENT_DONE),
    ("RESTART", RESTART),
    ("ENDED", ENDED),
    ("FAILED", FAILED),
];
const QUERY: i64 = 1;
const PREPARE: i64 = 2;
const EXECUTE: i64 = 3;
const FORGET: i64 = 4;
const CONNECT: i64 = 5;
const RECONNECT: i64 = 6;
const ROLLBACK: i64 = 7;
const SLEEP: i64 = 8;
const COUNT: i64 = 9;
const READY: i64 = 10;
const EVENT_DONE: i64 = 11;
const RESTART: i64 = 12;
const ENDED: i64 = 13;
const FAILED: i64 = 14;

const DONE: i64 = 0;
const RESULT: i64 = 1;
const REFUSED: i64 = 2;

/// Longest sleep at a time: what a script writes may be no time at all.
const SLEEP_MAX_S: f64 = 1e6;

/// `core.op` and `core.answer`.
pub(super) fn constants(lua: &Lua) -> mlua::Result<(Table, Table)> {
    let answers = [("DONE", DONE), ("RESULT", RESULT), ("REFUSED", REFUSED)];
    Ok((lua.create_table_from(OPS)?, lua.create_table_from(answers)?))
}

/// What of an answer's rows is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    Nothing,
    All,
    First,
}

impl Keep {
    fn of(value: &Value) -> Self {
        match integer(value) {
            1 => Self::All,
            2 => Self::First,
            _ => Self::Nothing,
        }
    }
}

/// What a client wants next.
#[derive(Debug)]
pub(super) enum Question {
    Query {
        sql: LuaString,
        keep: Keep,
    },
    Prepare {
        handle: u32,
        sql: LuaString,
    },
    Execute {
        handle: u32,
        keep: Keep,
        values: MultiValue,
    },
    Forget {
        handle: u32,
    },
    /// Opens the connection, anew if it was open before.
    Connect,
    /// The same, because the script says `reconnect()`.
    Reconnect,
    /// Ends a transaction behind an error that restarts the event.
    Rollback,
    Sleep(Duration),
    /// Counts with sysbench's own counters, by its number of one.
    Count {
        counter: i64,
        by: u64,
    },
    /// `thread_init` is done.
    Ready,
    EventDone {
        stop: bool,
    },
    /// The event begins again.
    Restart,
    /// What was begun has come to its end; `found` is false where the script has nothing of that name.
    Ended {
        found: bool,
    },
    Failed(ScriptError),
}

impl Question {
    /// Reads what the driver in Lua returns.
    pub(super) fn read(mut values: MultiValue) -> Self {
        let op = values.pop_front().as_ref().map_or(0, integer);
        let mut next = || values.pop_front().unwrap_or(Value::Nil);
        match op {
            QUERY => {
                let keep = Keep::of(&next());
                match next() {
                    Value::String(sql) => Self::Query { sql, keep },
                    _ => Self::misread(op),
                }
            }
            PREPARE => match (integer(&next()), next()) {
                (handle, Value::String(sql)) => Self::Prepare { handle: handle as u32, sql },
                _ => Self::misread(op),
            },
            EXECUTE => {
                let (handle, keep) = (integer(&next()) as u32, Keep::of(&next()));
                Self::Execute { handle, keep, values }
            }
            FORGET => Self::Forget { handle: integer(&next()) as u32 },
            CONNECT => Self::Connect,
            RECONNECT => Self::Reconnect,
            ROLLBACK => Self::Rollback,
            SLEEP => {
                let seconds = next().as_number().unwrap_or(0.0);
                Self::Sleep(Duration::from_secs_f64(seconds.clamp(0.0, SLEEP_MAX_S)))
            }
            COUNT => Self::Count { counter: integer(&next()), by: integer(&next()).max(0) as u64 },
            READY => Self::Ready,
            EVENT_DONE => Self::EventDone { stop: next().as_boolean().unwrap_or(false) },
            RESTART => Self::Restart,
            ENDED => Self::Ended { found: next().as_boolean().unwrap_or(false) },
            FAILED => {
                let text = next().to_string().unwrap_or_default();
                let hook = next().as_string().map(LuaString::to_string_lossy);
                Self::Failed(ScriptError::new(hook, &text))
            }
            op => Self::misread(op),
        }
    }

    /// Only a script that takes the driver's own tables apart gets here.
    #[cold]
    fn misread(op: i64) -> Self {
        Self::Failed(ScriptError::new(
            None,
            &format!("the script asked for what cannot be done (question {op})"),
        ))
    }
}

#[inline]
pub(super) fn integer(value: &Value) -> i64 {
    match value {
        Value::Integer(value) => *value,
        Value::Number(value) => *value as i64,
        _ => 0,
    }
}

/// What the server refused, as `sysbench.sql` tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    /// The event is begun again.
    pub(super) ignorable: bool,
    /// A transaction block is open behind it that only a ROLLBACK can end.
    pub(super) open: bool,
    /// MySQL's number; 0 on PostgreSQL.
    pub(super) number: u16,
    /// SQLSTATE.
    pub(super) state: String,
    pub(super) message: String,
}

/// The answer to a question.
#[derive(Debug)]
pub(super) enum Reply<'a> {
    Done,
    /// `rows` as `result:fetch_row()` reads them, where they were wanted.
    Result {
        rows_count: u64,
        columns: u32,
        rows: Option<&'a [u8]>,
    },
    Refused(&'a Refused),
}

impl Reply<'_> {
    /// The arguments for the driver in Lua.
    pub(super) fn to_lua(&self, lua: &Lua) -> mlua::Result<(i64, Value, Value, Value, Value, Value)> {
        const NIL: Value = Value::Nil;
        Ok(match self {
            Self::Done => (DONE, NIL, NIL, NIL, NIL, NIL),
            Self::Result { rows_count, columns, rows } => {
                let rows = match rows {
                    Some(rows) => Value::String(lua.create_string(rows)?),
                    None => NIL,
                };
                let count = Value::Number(*rows_count as f64);
                (RESULT, count, Value::Number(f64::from(*columns)), rows, NIL, NIL)
            }
            Self::Refused(refused) => {
                let text = |text: &str| lua.create_string(text).map(Value::String);
                let (state, message) = (text(&refused.state)?, text(&refused.message)?);
                let number = Value::Number(f64::from(refused.number));
                let (ignorable, open) = (Value::Boolean(refused.ignorable), Value::Boolean(refused.open));
                (REFUSED, ignorable, number, state, message, open)
            }
        })
    }
}
