//! Users' Lua scripts for sysbench, run unchanged through LuaJIT.
//!
//! One Lua state serves a load thread; each thread of the script is a coroutine in it with globals of its own, and
//! yields at a query. The yield happens in Lua (`prelude/`); the Rust side answers by resuming. So thousands of clients
//! run on few threads, and a script holds up the others only for as long as it computes.
//!
//! ```text
//! let mut script = LuaScript::load(&path, &invocation)?;          // reads it once, with no sysbench.opt, as sysbench does
//! script.options_declared(), has_command(name), has_function("event")
//! script.configure(ScriptSettings { options, seed, … })?;
//! script.run_command("prepare", threads, &open)?;              // and cleanup, prewarm, help, commands of its own
//!
//! let script = Arc::new(script);                               // `run`
//! script.call("init", &open)?;
//! let load = LuaLoad::new(Arc::clone(&script), LuaRun { threads, clients, counters, ignored, stop, … });
//! // a stage of one transaction per client is `thread_init`; the stages behind it are events
//! script.report(&report)?                                      // false: print the usual line
//! load.failure()                                               // what ended the run
//! load.finish(&open)?;                                         // thread_done
//! script.report(&whole)?; script.call("done", &open)?; script.end_reports()?;
//! ```

mod blocking;
mod client;
mod error;
mod kind;
mod load;
pub mod options;
mod own_counts;
mod question;
mod random;
mod report;
mod rows;
mod script;
mod state;

pub use blocking::Opener;
pub use error::LuaError;
pub use load::{LuaLoad, LuaRun, OnConnectError};
pub use options::{DeclaredOption, OptionKind, OptionValue};
pub use random::Distributions;
pub use report::LuaReport;
pub use script::{Invocation, LuaScript, ScriptSettings, find_module};
pub use state::{LogLevel, LogSink};
