//! What a script asks of the outside, and how it is answered. The numbers are what goes between Lua and Rust.

use std::time::Duration;

use mlua::{Lua, LuaString, MultiValue, Table, Value};

use super::error::LuaError;

/// Constants, and a table of their names and numbers.
macro_rules! numbers {
    ($(#[$about:meta])* $table:ident { $($name:ident = $number:literal,)* }) => {
        $(#[$about])*
        const $table: &[(&str, i64)] = &[$((stringify!($name), $name)),*];
        $(const $name: i64 = $number;)*
    };
}

numbers! {
    /// Numbers of the questions. They reach Lua as `core.op`.
    OPS {
        QUERY = 1,
        PREPARE = 2,
        EXECUTE = 3,
        FORGET = 4,
        CONNECT = 5,
        RECONNECT = 6,
        ROLLBACK = 7,
        SLEEP = 8,
        COUNT = 9,
        READY = 10,
        EVENT_DONE = 11,
        RESTART = 12,
        ENDED = 13,
        FAILED = 14,
        THREAD_DONE = 15,
        USE = 16,
        DISCONNECT = 17,
        COUNTED = 18,
    }
}
numbers! {
    /// Numbers of the answers. They reach Lua as `core.answer`.
    ANSWERS {
        DONE = 0,
        RESULT = 1,
        REFUSED = 2,
    }
}

/// Longest sleep at a time: what a script writes may be no time at all.
const SLEEP_MAX_S: f64 = 1e6;

/// `core.op` and `core.answer`.
pub(super) fn constants(lua: &Lua) -> mlua::Result<(Table, Table)> {
    let table = |numbers: &[(&'static str, i64)]| lua.create_table_from(numbers.iter().copied());
    Ok((table(OPS)?, table(ANSWERS)?))
}

/// What of an answer's rows is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowsWanted {
    Nothing,
    All,
    First,
}

impl RowsWanted {
    fn of(value: &Value) -> Self {
        match integer(value) {
            1 => Self::All,
            2 => Self::First,
            _ => Self::Nothing,
        }
    }
}

/// What the driver in Lua returns: the question's number and what belongs to it. A tuple is read off Lua's stack as it is,
/// and most questions leave the list at its end empty.
pub(super) type Asked = (Value, Value, Value, Value, Value, Value, Value, Value, MultiValue);

/// Values of a statement's parameters.
#[derive(Debug)]
pub(super) struct ParameterValues {
    count: usize,
    /// The first ones; nil beyond the last.
    few: [Value; 4],
    more: MultiValue,
}

impl ParameterValues {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// `None`, as NULL, where trailing nils were left out.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&Value> {
        self.few.get(index).or_else(|| self.more.get(index - self.few.len()))
    }
}

/// What a client wants next.
#[derive(Debug)]
pub(super) enum Question {
    Query {
        sql: LuaString,
        wanted: RowsWanted,
    },
    Prepare {
        handle: u32,
        sql: LuaString,
    },
    Execute {
        handle: u32,
        wanted: RowsWanted,
        values: ParameterValues,
    },
    Forget {
        connection: u16,
        handle: u32,
    },
    /// Opens a connection, anew if it was open before, and goes on with it.
    Connect {
        connection: u16,
    },
    /// The same, because the script says `reconnect()`.
    Reconnect {
        connection: u16,
    },
    /// Goes on with a connection that was opened before.
    Use {
        connection: u16,
    },
    /// Closes a connection. The one in use is then none.
    Disconnect {
        connection: u16,
    },
    /// Ends a transaction behind an error that restarts the event.
    Rollback,
    Sleep(Duration),
    /// Counts with sysbench's own counters, by its number of one.
    Count {
        counter: i64,
        by: u64,
    },
    /// What a thread of the script has counted with one of them.
    Counted {
        thread: i64,
        counter: i64,
    },
    /// `thread_init` is done.
    Ready,
    EventDone {
        stop: bool,
    },
    /// The event begins again.
    Restart,
    /// The thread ends, but not with an event.
    ThreadDone,
    /// What was begun has come to its end; `found` is false where the script has nothing of that name.
    Ended {
        found: bool,
    },
    Failed(LuaError),
}

impl Question {
    /// Reads what the driver in Lua returns.
    #[inline]
    pub(super) fn read((op, first, second, third, a, b, c, d, more): Asked) -> Self {
        let op = integer(&op);
        match op {
            QUERY => match second {
                Value::String(sql) => Self::Query { sql, wanted: RowsWanted::of(&first) },
                _ => Self::misread(op),
            },
            PREPARE => match second {
                Value::String(sql) => Self::Prepare { handle: integer(&first) as u32, sql },
                _ => Self::misread(op),
            },
            EXECUTE => {
                let values = ParameterValues { count: integer(&third) as usize, few: [a, b, c, d], more };
                Self::Execute { handle: integer(&first) as u32, wanted: RowsWanted::of(&second), values }
            }
            FORGET => Self::Forget { connection: integer(&first) as u16, handle: integer(&second) as u32 },
            CONNECT => Self::Connect { connection: integer(&first) as u16 },
            RECONNECT => Self::Reconnect { connection: integer(&first) as u16 },
            USE => Self::Use { connection: integer(&first) as u16 },
            DISCONNECT => Self::Disconnect { connection: integer(&first) as u16 },
            ROLLBACK => Self::Rollback,
            SLEEP => {
                // A whole number of Lua's comes as an integer.
                let seconds = first.as_number().unwrap_or(integer(&first) as f64);
                Self::Sleep(Duration::from_secs_f64(seconds.clamp(0.0, SLEEP_MAX_S)))
            }
            COUNT => Self::Count { counter: integer(&first), by: integer(&second).max(0) as u64 },
            COUNTED => Self::Counted { thread: integer(&first), counter: integer(&second) },
            READY => Self::Ready,
            EVENT_DONE => Self::EventDone { stop: first.as_boolean().unwrap_or(false) },
            RESTART => Self::Restart,
            THREAD_DONE => Self::ThreadDone,
            ENDED => Self::Ended { found: first.as_boolean().unwrap_or(false) },
            FAILED => {
                let text = first.to_string().unwrap_or_default();
                let hook = second.as_string().map(LuaString::to_string_lossy);
                Self::Failed(LuaError::new(hook, text))
            }
            op => Self::misread(op),
        }
    }

    /// Only a script that takes the driver's own tables apart gets here.
    #[cold]
    fn misread(op: i64) -> Self {
        Self::Failed(LuaError::new(None, format!("the script asked for what cannot be done (question {op})")))
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
pub(super) enum LuaReply<'a> {
    Done,
    /// `rows` as `result:fetch_row()` reads them, where they were wanted.
    Result {
        rows_count: u64,
        columns: u32,
        rows: Option<&'a [u8]>,
    },
    Refused(&'a Refused),
}

impl LuaReply<'_> {
    /// A plain number.
    pub(super) const fn number(number: u64) -> Self {
        Self::Result { rows_count: number, columns: 0, rows: None }
    }

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
