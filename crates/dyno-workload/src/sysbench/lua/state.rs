//! One Lua state: the prelude, the script, and the clients that run in it. Used by one thread at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mlua::{Function, Lua, LuaOptions, LuaString, StdLib, Table, Value};

use super::error::LuaError;
use super::options::DeclaredOption;
use super::question::{Asked, LuaReply, Question, constants};
use super::random::Streams;
use super::report::LuaReport;
use super::script::{Invocation, ScriptSettings};
use crate::random::Random;
use crate::sysbench::failure::{Called, FatalError};
use crate::sysbench::unique::UniqueRanges;

/// The prelude, in the order in which its parts build on one another.
const PRELUDE: [(&str, &str); 8] = [
    ("=dyno/clients", include_str!("prelude/clients.lua")),
    ("=dyno/chunks", include_str!("prelude/chunks.lua")),
    ("=dyno/random", include_str!("prelude/random.lua")),
    ("=dyno/sql", include_str!("prelude/sql.lua")),
    ("=dyno/older", include_str!("prelude/older.lua")),
    ("=dyno/report", include_str!("prelude/report.lua")),
    ("=dyno/exported", include_str!("prelude/exported.lua")),
    ("=dyno/foreign", include_str!("prelude/foreign.lua")),
];

/// A state that takes more has run away: its script gets an error instead.
const MEMORY_BYTES_MAX: usize = 2 << 30;

/// Characters of a refused query that are shown; sysbench shows about as many.
const QUERY_SHOWN_CHARS: usize = 4000;

/// How important a line of the log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    Fatal,
    Alert,
}

/// Takes lines for the user's terminal: where the server refused a statement, where the script uses its connections wrongly.
pub type LogSink = Arc<dyn Fn(LogLevel, &str) + Send + Sync>;

/// What every state of a script is made from.
#[derive(Debug)]
pub(super) struct Setup {
    /// As it was given.
    pub(super) path: String,
    pub(super) text: Vec<u8>,
    /// Where `require` looks: templates with `;` between them.
    pub(super) package_path: String,
    pub(super) invocation: Invocation,
    pub(super) settings: ScriptSettings,
    /// The command line is understood, which needs the script.
    pub(super) is_configured: bool,
    pub(super) unique: Arc<UniqueRanges>,
    /// A script that never asks for the driver needs no database.
    pub(super) driver_used: Arc<AtomicBool>,
}

/// What a client begins.
#[derive(Debug, Clone, Copy)]
pub(super) enum Task<'a> {
    /// Reads the script and does nothing else.
    Read,
    /// `thread_init`, then events.
    Load,
    Hook(&'a str),
    Command(&'a str),
    Report(&'a LuaReport<'a>),
}

impl Task<'_> {
    /// The function of the script that it is about.
    fn hook(&self) -> Option<&str> {
        match self {
            Self::Read => None,
            Self::Load => Some("event"),
            Self::Hook(name) | Self::Command(name) => Some(name),
            Self::Report(report) => Some(report.hook()),
        }
    }
}

/// A client within a state.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seat {
    /// Its key in Lua.
    index: u32,
    stream: usize,
}

pub(super) struct LuaState {
    lua: Lua,
    core: Table,
    spawn: Function,
    start: Function,
    resume: Function,
    has: Function,
    streams: Streams,
}

impl std::fmt::Debug for LuaState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LuaState").finish_non_exhaustive()
    }
}

impl LuaState {
    pub(super) fn new(setup: &Setup) -> Result<Self, LuaError> {
        let streams = Streams::new(&setup.settings.distributions, &setup.unique);
        // The usual options leave pcall as LuaJIT has it, which lets a query yield within it.
        let lua = Lua::new_with(StdLib::ALL_SAFE, LuaOptions::new())?;
        lua.set_memory_limit(MEMORY_BYTES_MAX)?;
        let core = lua.create_table()?;
        let (op, answer) = constants(&lua)?;
        core.set("op", op)?;
        core.set("answer", answer)?;
        core.set("setup", setup_table(&lua, setup)?)?;
        let host = lua.create_table()?;
        streams.register(&lua, &host)?;
        let log = setup.invocation.log.clone();
        for (name, level) in [("log_fatal", LogLevel::Fatal), ("log_alert", LogLevel::Alert)] {
            let log = log.clone();
            let tell = move |_: &Lua, text: LuaString| {
                if let Some(log) = &log {
                    log(level, &text.to_string_lossy());
                }
                Ok(())
            };
            host.set(name, lua.create_function(tell)?)?;
        }
        type Refusal = (LuaString, bool, u16, LuaString, LuaString);
        let tell = move |_: &Lua, (called, mysql, number, message, query): Refusal| {
            let called = match &*called.as_bytes() {
                b"prepare" => Called::Prepare,
                b"execute" => Called::Execute,
                _ => Called::Query,
            };
            if let Some(log) = &log {
                let number = mysql.then_some(number);
                tell_refusal(&**log, called, number, message.to_string_lossy(), &query.to_string_lossy());
            }
            Ok(())
        };
        host.set("log_refusal", lua.create_function(tell)?)?;
        let used = Arc::clone(&setup.driver_used);
        let note = move |_: &Lua, ()| {
            used.store(true, Ordering::Relaxed);
            Ok(())
        };
        host.set("note_driver", lua.create_function(note)?)?;
        host.set("list_options", lua.create_function(|_, declared: Value| list_options(&declared))?)?;
        host.set("traceback", lua.create_function(traceback)?)?;
        host.set("getinfo", lua.create_function(getinfo)?)?;
        core.set("host", host)?;
        for (name, text) in PRELUDE {
            lua.load(text).set_name(name).call::<()>(&core)?;
        }
        Ok(Self {
            spawn: core.get("spawn")?,
            start: core.get("start")?,
            resume: core.get("resume")?,
            has: core.get("has")?,
            core,
            lua,
            streams,
        })
    }

    /// Adds a client with globals of its own. `blocking`: it opens its connection itself.
    pub(super) fn spawn(&self, tid: u32, random: Random, blocking: bool) -> Result<Seat, LuaError> {
        let stream = self.streams.add(random);
        // Lua counts from 1, and keeps what is counted so in an array.
        let index = stream as u32 + 1;
        self.spawn.call::<()>((index, tid, blocking))?;
        Ok(Seat { index, stream })
    }

    /// Has a client begin a task; what it wants first.
    pub(super) fn start(&self, seat: Seat, task: Task<'_>) -> Question {
        self.streams.run(seat.stream);
        self.begin(seat, task)
            .map_or_else(|error| Question::Failed(LuaError::from_lua(task.hook(), &error)), Question::read)
    }

    fn begin(&self, seat: Seat, task: Task<'_>) -> mlua::Result<Asked> {
        match task {
            Task::Read => self.start.call(seat.index),
            Task::Load => self.start.call((seat.index, "load")),
            Task::Hook(name) => self.start.call((seat.index, "hook", name)),
            Task::Command(name) => self.start.call((seat.index, "command", name)),
            Task::Report(report) => {
                self.start.call((seat.index, "report", report.hook(), report.to_lua(&self.lua)?))
            }
        }
    }

    /// Goes on with a client; what it wants next.
    #[inline]
    pub(super) fn resume(&self, seat: Seat, reply: &LuaReply<'_>) -> Question {
        self.streams.run(seat.stream);
        let answered = reply
            .to_lua(&self.lua)
            .and_then(|(code, a, b, c, d, e)| self.resume.call::<Asked>((seat.index, code, a, b, c, d, e)));
        answered.map_or_else(|error| Question::Failed(error.into()), Question::read)
    }

    /// Whether the script has a function of that name.
    pub(super) fn has(&self, seat: Seat, name: &str) -> bool {
        self.has.call((seat.index, name)).unwrap_or(false)
    }

    /// A table of the client's `sysbench.cmdline`.
    pub(super) fn cmdline(&self, seat: Seat, name: &str) -> Option<Value> {
        let clients: Table = self.core.get("clients").ok()?;
        let client: Table = clients.get(seat.index).ok()?;
        let env: Table = client.get("env").ok()?;
        let sysbench: Table = env.get("sysbench").ok()?;
        sysbench.get::<Table>("cmdline").ok()?.get(name).ok()
    }

    /// Tells a client what the command line said.
    pub(super) fn configure(&self, seat: Seat, setup: &Setup, random: Random) -> Result<(), LuaError> {
        self.streams.configure(seat.stream, random, &setup.settings.distributions, &setup.unique);
        self.core.set("setup", setup_table(&self.lua, setup)?)?;
        Ok(self.core.get::<Function>("set_options")?.call(seat.index)?)
    }

    /// Ends what reports have begun to print.
    pub(super) fn end_reports(&self) -> Result<(), LuaError> {
        Ok(self.core.get::<Function>("end_reports")?.call(())?)
    }
}

fn setup_table(lua: &Lua, setup: &Setup) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("path", &*setup.path)?;
    table.set("name", format!("@{}", setup.path))?;
    table.set("text", lua.create_string(&setup.text)?)?;
    table.set("package_path", &*setup.package_path)?;
    let invocation = &setup.invocation;
    table.set("command", invocation.command.as_deref())?;
    let argv = lua.create_table()?;
    for (index, word) in invocation.argv.iter().enumerate() {
        argv.set(index, &**word)?;
    }
    table.set("argv", argv)?;
    table.set("driver", if invocation.mysql { "mysql" } else { "pgsql" })?;
    table.set("mysql", invocation.mysql)?;
    table.set("no_driver", invocation.no_driver.as_deref())?;
    table.set("emulates", setup.settings.emulates_statements)?;
    table.set("percentile", setup.settings.percentile)?;
    if setup.is_configured {
        let values = lua.create_table()?;
        for (name, value) in &setup.settings.options {
            values.set(&**name, value.to_lua(lua)?)?;
        }
        table.set("options", values)?;
    }
    Ok(table)
}

/// The lines that help has of the options that a script declares.
fn list_options(declared: &Value) -> mlua::Result<String> {
    DeclaredOption::read_all(declared)
        .map(|declared| DeclaredOption::list(&declared))
        .map_err(mlua::Error::runtime)
}

/// `debug.traceback([message [, level]])`
fn traceback(lua: &Lua, (message, level): (Value, Option<usize>)) -> mlua::Result<Value> {
    let text = match &message {
        Value::Nil => None,
        Value::String(text) => Some(text.to_string_lossy()),
        // As in Lua itself, what is no text is handed back.
        _ => return Ok(message),
    };
    lua.traceback(text.as_deref(), level.unwrap_or(1)).map(Value::String)
}

/// `debug.getinfo(level)`: where that is and what it is called. Of a function nothing is told.
fn getinfo(lua: &Lua, (level, _what): (Value, Value)) -> mlua::Result<Option<Table>> {
    let Some(level) = level.as_usize() else { return Ok(None) };
    let shown = lua.inspect_stack(level, |debug| {
        let source = debug.source();
        let text = |text: Option<std::borrow::Cow<'_, str>>| text.map(std::borrow::Cow::into_owned);
        (
            text(source.source),
            text(source.short_src),
            source.what,
            debug.current_line(),
            text(debug.names().name),
        )
    });
    let Some((source, short_src, what, line, name)) = shown else { return Ok(None) };
    let table = lua.create_table()?;
    table.set("source", source)?;
    table.set("short_src", short_src)?;
    table.set("what", what)?;
    table.set("currentline", line.map_or(-1, |line| line as i64))?;
    table.set("name", name)?;
    Ok(Some(table))
}

/// What sysbench prints where the server refuses a statement of a script.
fn tell_refusal(
    log: &dyn Fn(LogLevel, &str),
    called: Called,
    number: Option<u16>,
    message: String,
    query: &str,
) {
    // A bulk insert has half a million characters.
    let query = match query.char_indices().nth(QUERY_SHOWN_CHARS) {
        Some((end, _)) => format!("{} …", &query[..end]),
        None => query.to_owned(),
    };
    let error = FatalError { query, number, state: String::new(), message };
    error.driver_lines(called).iter().for_each(|line| log(LogLevel::Fatal, line));
}

/// The bytes of a parameter's value, if it is text.
pub(super) fn text_of(value: &Value) -> Option<mlua::BorrowedBytes> {
    value.as_string().map(mlua::LuaString::as_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysbench::lua::question::{Refused, RowsWanted};

    const SCRIPT: &str = r#"
        sysbench.cmdline.options = { tables = { "Tables", 1 } }
        local own = sysbench.tid
        for i = 1, 60 do _G["helper" .. i] = function(...) return own + i, ... end end
        function thread_init()
           con = sysbench.sql.driver():connect()
           statement = con:prepare("SELECT ? + 1")
           value = statement:bind_create(sysbench.sql.type.INT)
           statement:bind_param(value)
        end
        function event(id)
           assert(own == id and helper60() == id + 60)
           value:set(id)
           assert(statement:execute():fetch_row()[1] == tostring(id + 1))
           con:query("COMMIT")
        end"#;

    fn setup(text: &str) -> Setup {
        Setup {
            path: "own.lua".to_owned(),
            text: text.as_bytes().to_vec(),
            package_path: String::new(),
            invocation: Invocation::default(),
            settings: ScriptSettings::default(),
            is_configured: true,
            unique: UniqueRanges::new(0),
            driver_used: Arc::default(),
        }
    }

    fn spawn(state: &LuaState, tid: u32) -> Seat {
        state.spawn(tid, Random::of_client(1, tid), false).unwrap()
    }

    /// A value on its way to Lua.
    fn row(value: &str) -> Vec<u8> {
        [&(value.len() as u32 + 1).to_le_bytes(), value.as_bytes()].concat()
    }

    #[test]
    fn five_thousand_clients_take_turns_in_two_states() {
        const CLIENTS: u32 = 5000;
        let setup = setup(SCRIPT);
        let states = [LuaState::new(&setup).unwrap(), LuaState::new(&setup).unwrap()];
        let before = states.each_ref().map(|state| state.lua.used_memory());
        let clients: Vec<_> = (0..CLIENTS)
            .map(|tid| {
                let state = &states[tid as usize % 2];
                (tid, state, spawn(state, tid))
            })
            .collect();
        for (_, state, seat) in &clients {
            assert!(matches!(state.start(*seat, Task::Load), Question::Connect { connection: 0 }));
        }
        for (_, state, seat) in &clients {
            assert!(matches!(state.resume(*seat, &LuaReply::Done), Question::Prepare { handle: 1, .. }));
        }
        for (_, state, seat) in &clients {
            assert!(matches!(state.resume(*seat, &LuaReply::Done), Question::Ready));
        }
        for _ in 0..3 {
            for (tid, state, seat) in &clients {
                let Question::Execute { handle: 1, wanted: RowsWanted::All, values } =
                    state.resume(*seat, &LuaReply::Done)
                else {
                    panic!("client {tid} does not execute");
                };
                assert_eq!((values.len(), values.get(0)), (1, Some(&Value::Integer(i64::from(*tid)))));
            }
            for (tid, state, seat) in &clients {
                let rows = row(&(tid + 1).to_string());
                let reply = LuaReply::Result { rows_count: 1, columns: 1, rows: Some(&rows) };
                let question = state.resume(*seat, &reply);
                assert!(matches!(&question, Question::Query { sql, .. } if *sql == "COMMIT"), "{question:?}");
            }
            for (_, state, seat) in &clients {
                let question =
                    state.resume(*seat, &LuaReply::Result { rows_count: 0, columns: 0, rows: None });
                assert!(matches!(question, Question::EventDone { stop: false }), "{question:?}");
            }
        }
        let taken: usize = states
            .iter()
            .zip(before)
            .map(|(state, before)| {
                state.lua.gc_collect().unwrap();
                state.lua.used_memory() - before
            })
            .sum();
        let bytes_each = taken / CLIENTS as usize;
        assert!(bytes_each < 24 * 1024, "{bytes_each} bytes for each client");
    }

    #[test]
    fn what_is_refused_is_raised_where_the_query_stands() {
        let state = LuaState::new(&setup(
            "function event()\n  con = sysbench.sql.driver():connect()\n  con:query('x')\nend",
        ))
        .unwrap();
        let seat = spawn(&state, 0);
        assert!(matches!(state.start(seat, Task::Load), Question::Ready));
        assert!(matches!(state.resume(seat, &LuaReply::Done), Question::Connect { connection: 0 }));
        assert!(matches!(state.resume(seat, &LuaReply::Done), Question::Query { .. }));
        let mut refused = Refused {
            ignorable: true,
            open: true,
            number: 0,
            state: "40001".to_owned(),
            message: "again".to_owned(),
        };
        assert!(matches!(state.resume(seat, &LuaReply::Refused(&refused)), Question::Rollback));
        assert!(matches!(state.resume(seat, &LuaReply::Done), Question::Restart));
        // Its connection is still there, and the event that begins again asks for a second one.
        assert!(matches!(state.resume(seat, &LuaReply::Done), Question::Connect { connection: 1 }));
        let seat = spawn(&state, 1);
        state.start(seat, Task::Load);
        state.resume(seat, &LuaReply::Done);
        state.resume(seat, &LuaReply::Done);
        refused.ignorable = false;
        let Question::Failed(error) = state.resume(seat, &LuaReply::Refused(&refused)) else {
            panic!("it goes on")
        };
        assert_eq!(
            error.to_string(),
            "`thread_run' function failed: own.lua:3: SQL error, errno = 0, state = '40001': again"
        );
    }

    #[test]
    fn a_state_that_runs_out_of_memory_fails_its_script_alone() {
        let state =
            LuaState::new(&setup("function event() local t = {} while true do t[#t + 1] = {} end end"))
                .unwrap();
        state.lua.set_memory_limit(state.lua.used_memory() + (16 << 20)).unwrap();
        let seat = spawn(&state, 0);
        assert!(matches!(state.start(seat, Task::Load), Question::Ready));
        let Question::Failed(error) = state.resume(seat, &LuaReply::Done) else {
            panic!("memory has no end")
        };
        assert!(error.message.contains("not enough memory"), "{error}");
    }
}
