//! What was typed, option by option and each value checked by itself, in the order of the command line: of several
//! mistakes the first is reported.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dyno_workload::pgbench::initialize::{Initialization, PartitionMethod, Step, StepsError};
use dyno_workload::pgbench::load::LoadOptions;
use dyno_workload::script::builtin::{self, Builtin};
use dyno_workload::script::{Names, Protocol};
use rustix::process::{Resource, Rlimit, getrlimit};

use super::getopt::{CommandLineWords, Word};
use super::table::{RunMode, Takes};
use super::{ConnectionOptions, Extras, Parsed, ScriptChoice, ScriptSource, values};
use crate::pgbench::failed::PgbenchFailed;

/// The options as typed; what was not typed is as it is by default, or `None`.
#[derive(Debug, Default)]
pub(super) struct Typed {
    pub(super) connection: ConnectionOptions,
    pub(super) operands: Vec<OsString>,
    pub(super) initialize: bool,
    /// An option was given that only serves to initialise.
    pub(super) for_initializing: bool,
    /// The same for a run.
    pub(super) for_benchmarking: bool,
    pub(super) extras: Extras,
    pub(super) no_vacuum: bool,
    pub(super) scale: Option<u32>,

    pub(super) initialization: Initialization,
    pub(super) foreign_keys: bool,
    pub(super) partition_method: Option<PartitionMethod>,

    pub(super) load: LoadOptions,
    pub(super) scripts: Vec<ScriptChoice>,
    pub(super) transactions: Option<u32>,
    pub(super) duration_s: Option<u32>,
    pub(super) vacuum_all: bool,
    pub(super) log: bool,
    pub(super) log_prefix: Option<OsString>,
    pub(super) sampling_rate: Option<f64>,
    pub(super) aggregate_s: Option<u32>,
    pub(super) progress_s: Option<u32>,
    pub(super) progress_timestamp: bool,
}

/// pgbench's `MAX_SCRIPTS`.
const SCRIPTS_MAX: usize = 128;

/// Breaks at an option that is answered at once.
pub(super) fn read(
    arguments: Vec<OsString>,
    environment: &dyn Fn(&str) -> Option<String>,
    say: &mut dyn FnMut(&str),
) -> Result<ControlFlow<Parsed, Typed>, PgbenchFailed> {
    const OF_ENVIRONMENT: &str = "PGBENCH_RANDOM_SEED environment variable";
    let mut typed = Typed::default();
    typed.load.random_seed = seed(environment("PGBENCH_RANDOM_SEED").as_deref(), OF_ENVIRONMENT, say)?;
    typed.extras = Extras::of_environment("DYNO_PGBENCH", environment)?;
    let mut words = CommandLineWords::new(arguments);
    while let Some(word) = words.next()? {
        let (option, value) = match word {
            Word::Operand(operand) => {
                typed.operands.push(operand);
                continue;
            }
            Word::Option(option, value) => (option, value),
        };
        match option.mode {
            RunMode::Initialize => typed.for_initializing = true,
            RunMode::Benchmark => typed.for_benchmarking = true,
            RunMode::Both => {}
        }
        // Bytes that are no UTF-8 are told apart only in the names of files.
        let text = value.as_ref().map(|value| value.to_string_lossy().into_owned());
        match (option.long, text) {
            ("builtin", Some(text)) if text == "list" => return Ok(ControlFlow::Break(Parsed::ListBuiltins)),
            ("show-script", Some(text)) => {
                return Ok(ControlFlow::Break(Parsed::ShowScript(find_builtin(&text)?)));
            }
            ("log-prefix", _) => typed.log_prefix = value,
            ("file", _) => typed.add_file(&value.unwrap_or_default())?,
            ("random-seed", text) => {
                typed.load.random_seed = seed(text.as_deref(), "--random-seed option", say)?;
            }
            ("select-only", _) => typed.add_builtin("select-only", 1)?,
            ("skip-some-updates", _) => typed.add_builtin("simple-update", 1)?,
            ("dyno", None) => typed.extras = typed.extras.turned_on(),
            (long, Some(text)) => typed.set(long, text)?,
            (_, None) => {
                if let Takes::Nothing(turn_on) = option.takes {
                    turn_on(&mut typed);
                }
            }
        }
    }
    Ok(ControlFlow::Continue(typed))
}

impl Typed {
    /// An option with its value.
    fn set(&mut self, option: &str, text: String) -> Result<(), PgbenchFailed> {
        let positive = |name| values::positive(&text, name);
        match option {
            "aggregate-interval" => self.aggregate_s = Some(positive("--aggregate-interval")?),
            "builtin" => {
                let (name, weight) = values::weighted(&text)?;
                self.add_builtin(name, weight)?;
            }
            "client" => self.load.clients = with_open_files(positive("-c/--clients")?)?,
            "dbname" => self.connection.database = Some(text),
            "define" => self.load.defines.push(definition(&text)?),
            "dyno" => self.extras = Extras::named(&text, "--dyno")?,
            "fillfactor" => {
                let percent = values::integer(&text, "-F/--fillfactor", 10, 100)?;
                self.initialization.fillfactor = u8::try_from(percent).unwrap_or(u8::MAX);
            }
            "host" => self.connection.host = Some(text),
            "index-tablespace" => self.initialization.index_tablespace = Some(text),
            "init-steps" => {
                let steps = Step::parse_all(&text);
                let refused = |error: StepsError| PgbenchFailed::new(error).with("detail", error.detail());
                self.initialization.steps = steps.map_err(refused)?;
            }
            "jobs" => self.load.threads = positive("-j/--jobs")?,
            "latency-limit" => {
                let limit_us = values::number(&text, "latency limit", f64::INFINITY)? * 1000.0;
                // The cast cuts what is below a microsecond, and ends at its type's end.
                self.load.latency_limit = Some(Duration::from_micros((limit_us as i64).unsigned_abs()));
            }
            "max-tries" => self.load.tries_max = values::tries(&text)?,
            "partition-method" => self.partition_method = Some(partition_method(&text)?),
            "partitions" => {
                self.initialization.partitions = values::integer(&text, "--partitions", 0, values::INT_MAX)?;
            }
            "port" => self.connection.port = Some(text),
            "progress" => self.progress_s = Some(positive("-P/--progress")?),
            "protocol" => self.load.mode = query_mode(&text)?,
            "rate" => {
                let rate = values::number(&text, "rate limit", f64::INFINITY)?;
                // A rate without end is none.
                self.load.rate = Some(rate).filter(|rate| rate.is_finite());
            }
            "sampling-rate" => self.sampling_rate = Some(values::number(&text, "sampling rate", 1.0)?),
            "scale" => self.scale = Some(positive("-s/--scale")?),
            "tablespace" => self.initialization.tablespace = Some(text),
            "time" => self.duration_s = Some(positive("-T/--time")?),
            "transactions" => self.transactions = Some(positive("-t/--transactions")?),
            "username" => self.connection.user = Some(text),
            _ => {}
        }
        Ok(())
    }

    fn add_builtin(&mut self, name: &str, weight: u32) -> Result<(), PgbenchFailed> {
        self.add(ScriptSource::Builtin(find_builtin(name)?), weight)
    }

    fn add_file(&mut self, text: &OsStr) -> Result<(), PgbenchFailed> {
        use std::os::unix::ffi::OsStrExt as _;
        let lossy = text.to_string_lossy();
        let (_, weight) = values::weighted(&lossy)?;
        let bytes = text.as_bytes();
        let end = bytes.iter().rposition(|byte| *byte == b'@').unwrap_or(bytes.len());
        let source = match &bytes[..end] {
            b"-" => ScriptSource::StandardInput,
            name => ScriptSource::File(PathBuf::from(OsStr::from_bytes(name))),
        };
        self.add(source, weight)
    }

    fn add(&mut self, source: ScriptSource, weight: u32) -> Result<(), PgbenchFailed> {
        if self.scripts.len() == SCRIPTS_MAX {
            return Err(PgbenchFailed::new(format!("at most {SCRIPTS_MAX} SQL scripts are allowed")));
        }
        self.scripts.push(ScriptChoice { source, weight });
        Ok(())
    }
}

fn find_builtin(name: &str) -> Result<&'static Builtin, PgbenchFailed> {
    builtin::find(name).map_err(|error| PgbenchFailed::new(error).followed_by(&super::builtins()))
}

/// Refuses more clients than this process may have open files for; pgbench counts its standard streams with them.
fn with_open_files(clients: u32) -> Result<u32, PgbenchFailed> {
    const REDUCE: &str = "Reduce number of clients, or use limit/ulimit to increase the system limit.";
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let needed = u64::from(clients) + 3;
    match maximum {
        Some(maximum) if maximum < needed => {
            let limit = current.unwrap_or(maximum);
            let message = format!("need at least {needed} open files, but system limit is {limit}");
            Err(PgbenchFailed::new(message).with("hint", Some(REDUCE)))
        }
        _ => Ok(clients),
    }
}

fn definition(text: &str) -> Result<(String, String), PgbenchFailed> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            if !Names::is_valid(name) {
                return Err(PgbenchFailed::new(format!("option: invalid variable name: \"{name}\"")));
            }
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err(values::invalid("variable definition", text)),
    }
}

fn query_mode(text: &str) -> Result<Protocol, PgbenchFailed> {
    let modes = [Protocol::Simple, Protocol::Extended, Protocol::Prepared];
    let found = modes.into_iter().find(|mode| mode.name() == text);
    found.ok_or_else(|| values::invalid("query mode (-M)", text))
}

fn partition_method(text: &str) -> Result<PartitionMethod, PgbenchFailed> {
    let methods = [PartitionMethod::Range, PartitionMethod::Hash];
    let found = methods.into_iter().find(|method| method.name().eq_ignore_ascii_case(text));
    let expecting = "invalid partition method, expecting \"range\" or \"hash\", got";
    found.ok_or_else(|| PgbenchFailed::new(format!("{expecting}: \"{text}\"")))
}

/// The seed of all random numbers, of which `from` tells. Where one is asked for, which it is is said.
fn seed(text: Option<&str>, from: &str, say: &mut dyn FnMut(&str)) -> Result<u64, PgbenchFailed> {
    let seed = match text {
        None | Some("time") => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(now.as_micros()).unwrap_or_default()
        }
        Some("rand") => rand::random(),
        Some(number) => values::seed(number).ok_or_else(|| {
            let refused = PgbenchFailed::new(format!("unrecognized random seed option \"{number}\""));
            let expecting = "Expecting an unsigned integer, \"time\" or \"rand\".";
            let refused = refused.with("detail", Some(expecting));
            refused.and(format!("error while setting random seed from {from}"))
        })?,
    };
    if text.is_some() {
        say(&format!("pgbench: setting random seed to {seed}\n"));
    }
    Ok(seed)
}
