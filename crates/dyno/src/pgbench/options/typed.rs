//! What was typed, option by option and each value checked by itself, in the order of the command line: of several
//! mistakes the first is reported.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dyno_workload::pgbench::initialize::{PartitionMethod, Steps};
use dyno_workload::script::builtin::{self, Builtin};
use dyno_workload::script::{Names, Protocol};
use rustix::process::{Resource, Rlimit, getrlimit};

use super::error::{PgbenchUsageError, SeedSource};
use super::getopt::{CommandLineWords, Word};
use super::table::{OPTIONS, Opt, RunMode};
use super::{ConnectionOptions, Extras, ScriptChoice, ScriptSource, values};

/// What reading comes to.
#[derive(Debug)]
pub(super) enum ParsedOptions {
    ListBuiltins,
    ShowScript(&'static Builtin),
    Typed(Box<Typed>),
}

/// The options as typed; what was not typed is `None` or false.
#[derive(Debug, Default)]
pub(super) struct Typed {
    pub(super) connection: ConnectionOptions,
    pub(super) initialize: bool,
    /// An option was given that only serves to initialise.
    pub(super) for_initializing: bool,
    /// The same for a run.
    pub(super) for_benchmarking: bool,
    pub(super) operands: Vec<OsString>,
    pub(super) scripts: Vec<ScriptChoice>,
    pub(super) variables: Vec<(String, String)>,
    pub(super) protocol: Option<Protocol>,
    pub(super) seed: u64,
    pub(super) extras: Extras,

    pub(super) aggregate_interval: Option<NonZeroU32>,
    pub(super) clients: Option<NonZeroU32>,
    pub(super) connect: bool,
    pub(super) continue_on_error: bool,
    pub(super) debug: bool,
    pub(super) duration: Option<NonZeroU32>,
    pub(super) exit_on_abort: bool,
    pub(super) failures_detailed: bool,
    pub(super) fillfactor: Option<u8>,
    pub(super) foreign_keys: bool,
    pub(super) index_tablespace: Option<String>,
    pub(super) latency_limit: Option<Duration>,
    pub(super) log: bool,
    pub(super) log_prefix: Option<OsString>,
    /// `Some(None)`: as many as it takes.
    pub(super) max_tries: Option<Option<NonZeroU32>>,
    pub(super) no_vacuum: bool,
    pub(super) partition_method: Option<PartitionMethod>,
    pub(super) partitions: Option<NonZeroU32>,
    pub(super) progress: Option<NonZeroU32>,
    pub(super) progress_timestamp: bool,
    pub(super) quiet: bool,
    pub(super) rate: Option<f64>,
    pub(super) report_per_command: bool,
    pub(super) sampling_rate: Option<f64>,
    pub(super) scale: Option<NonZeroU32>,
    pub(super) steps: Option<Steps>,
    pub(super) tablespace: Option<String>,
    pub(super) threads: Option<NonZeroU32>,
    pub(super) transactions: Option<NonZeroU32>,
    pub(super) unlogged: bool,
    pub(super) vacuum_all: bool,
    pub(super) verbose_errors: bool,
}

/// pgbench's `MAX_SCRIPTS`.
const SCRIPTS_MAX: usize = 128;

pub(super) fn read(
    arguments: Vec<OsString>,
    environment: &dyn Fn(&str) -> Option<String>,
    say: &mut dyn FnMut(&str),
) -> Result<ParsedOptions, PgbenchUsageError> {
    let mut typed = Typed {
        seed: seed(environment("PGBENCH_RANDOM_SEED").as_deref(), SeedSource::Environment, say)?,
        extras: extras_by_environment(environment("DYNO_PGBENCH").as_deref())?,
        ..Typed::default()
    };
    let mut words = CommandLineWords::new(OPTIONS, arguments);
    while let Some(word) = words.next()? {
        let (option, value) = match word {
            Word::Operand(operand) => {
                typed.operands.push(operand);
                continue;
            }
            Word::Option(option, value) => (option, value),
        };
        match option.mode() {
            RunMode::Initialize => typed.for_initializing = true,
            RunMode::Benchmark => typed.for_benchmarking = true,
            RunMode::Both => {}
        }
        // Bytes that are no UTF-8 are told apart only in the names of files.
        let text = value.as_ref().map(|value| value.to_string_lossy().into_owned());
        match option {
            Opt::Builtin if text.as_deref() == Some("list") => return Ok(ParsedOptions::ListBuiltins),
            Opt::ShowScript => {
                return Ok(ParsedOptions::ShowScript(builtin::find(text.as_deref().unwrap_or_default())?));
            }
            Opt::LogPrefix => typed.log_prefix = value,
            Opt::File => typed.add_file(&value.unwrap_or_default())?,
            Opt::RandomSeed => typed.seed = seed(text.as_deref(), SeedSource::Option, say)?,
            _ => match text {
                Some(text) => typed.set(option, text)?,
                None => typed.turn_on(option)?,
            },
        }
    }
    Ok(ParsedOptions::Typed(Box::new(typed)))
}

impl Typed {
    /// An option without a value.
    fn turn_on(&mut self, option: Opt) -> Result<(), PgbenchUsageError> {
        match option {
            Opt::Connect => self.connect = true,
            Opt::ContinueOnError => self.continue_on_error = true,
            Opt::Debug => self.debug = true,
            Opt::Dyno => self.extras = turned_on(self.extras),
            Opt::ExitOnAbort => self.exit_on_abort = true,
            Opt::FailuresDetailed => self.failures_detailed = true,
            Opt::ForeignKeys => self.foreign_keys = true,
            Opt::Initialize => self.initialize = true,
            Opt::Log => self.log = true,
            Opt::NoDyno => self.extras = Extras::Off,
            Opt::NoVacuum => self.no_vacuum = true,
            Opt::ProgressTimestamp => self.progress_timestamp = true,
            Opt::Quiet => self.quiet = true,
            Opt::ReportPerCommand => self.report_per_command = true,
            Opt::SelectOnly => self.add_builtin("select-only", 1)?,
            Opt::SkipSomeUpdates => self.add_builtin("simple-update", 1)?,
            Opt::UnloggedTables => self.unlogged = true,
            Opt::VacuumAll => self.vacuum_all = true,
            Opt::VerboseErrors => self.verbose_errors = true,
            _ => {}
        }
        Ok(())
    }

    /// An option with its value.
    fn set(&mut self, option: Opt, text: String) -> Result<(), PgbenchUsageError> {
        let positive = |name| values::positive(&text, name).map(Some);
        match option {
            Opt::AggregateInterval => self.aggregate_interval = positive("--aggregate-interval")?,
            Opt::Builtin => {
                let (name, weight) = values::weighted(&text)?;
                self.add_builtin(name, weight)?;
            }
            Opt::Client => self.clients = positive("-c/--clients")?.map(with_open_files).transpose()?,
            Opt::Dbname => self.connection.database = Some(text),
            Opt::Define => self.variables.push(definition(&text)?),
            Opt::Dyno => self.extras = Extras::named(&text).ok_or(PgbenchUsageError::Dyno { value: text })?,
            Opt::Fillfactor => {
                let percent = values::integer(&text, "-F/--fillfactor", 10, 100)?;
                self.fillfactor = u8::try_from(percent).ok();
            }
            Opt::Host => self.connection.host = Some(text),
            Opt::IndexTablespace => self.index_tablespace = Some(text),
            Opt::InitSteps => self.steps = Some(Steps::parse(&text)?),
            Opt::Jobs => self.threads = positive("-j/--jobs")?,
            Opt::LatencyLimit => self.latency_limit = Some(latency_limit(text)?),
            Opt::MaxTries => self.max_tries = Some(values::tries(&text)?),
            Opt::PartitionMethod => self.partition_method = Some(partition_method(text)?),
            Opt::Partitions => {
                let count = values::integer(&text, "--partitions", 0, i32::MAX)?;
                self.partitions = u32::try_from(count).ok().and_then(NonZeroU32::new);
            }
            Opt::Port => self.connection.port = Some(text),
            Opt::Progress => self.progress = positive("-P/--progress")?,
            Opt::Protocol => self.protocol = Some(query_mode(text)?),
            // A rate without end is none.
            Opt::Rate => self.rate = Some(rate(text)?).filter(|rate| rate.is_finite()),
            Opt::SamplingRate => self.sampling_rate = Some(sampling_rate(text)?),
            Opt::Scale => self.scale = positive("-s/--scale")?,
            Opt::Tablespace => self.tablespace = Some(text),
            Opt::Time => self.duration = positive("-T/--time")?,
            Opt::Transactions => self.transactions = positive("-t/--transactions")?,
            Opt::Username => self.connection.user = Some(text),
            _ => {}
        }
        Ok(())
    }

    fn add_builtin(&mut self, name: &str, weight: u32) -> Result<(), PgbenchUsageError> {
        self.add(ScriptSource::Builtin(builtin::find(name)?), weight)
    }

    fn add_file(&mut self, text: &OsStr) -> Result<(), PgbenchUsageError> {
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

    fn add(&mut self, source: ScriptSource, weight: u32) -> Result<(), PgbenchUsageError> {
        if self.scripts.len() == SCRIPTS_MAX {
            return Err(PgbenchUsageError::TooManyScripts { most: SCRIPTS_MAX });
        }
        self.scripts.push(ScriptChoice { source, weight });
        Ok(())
    }
}

/// Refuses more clients than this process may have open files for; pgbench counts its standard streams with them.
fn with_open_files(clients: NonZeroU32) -> Result<NonZeroU32, PgbenchUsageError> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let needed = u64::from(clients.get()) + 3;
    match maximum {
        Some(maximum) if maximum < needed => {
            Err(PgbenchUsageError::OpenFiles { needed, limit: current.unwrap_or(maximum) })
        }
        _ => Ok(clients),
    }
}

fn definition(text: &str) -> Result<(String, String), PgbenchUsageError> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            if !Names::is_valid(name) {
                return Err(PgbenchUsageError::VariableName { name: name.to_owned() });
            }
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err(PgbenchUsageError::Definition { value: text.to_owned() }),
    }
}

fn latency_limit(value: String) -> Result<Duration, PgbenchUsageError> {
    let limit_us = values::leading_number(&value) * 1000.0;
    // The cast cuts what is below a microsecond, and ends at its type's end.
    let limit = Duration::from_micros((limit_us as i64).unsigned_abs());
    if limit_us > 0.0 { Ok(limit) } else { Err(PgbenchUsageError::LatencyLimit { value }) }
}

fn rate(value: String) -> Result<f64, PgbenchUsageError> {
    let rate = values::leading_number(&value);
    if rate > 0.0 { Ok(rate) } else { Err(PgbenchUsageError::Rate { value }) }
}

fn sampling_rate(value: String) -> Result<f64, PgbenchUsageError> {
    let share = values::leading_number(&value);
    if share > 0.0 && share <= 1.0 { Ok(share) } else { Err(PgbenchUsageError::SamplingRate { value }) }
}

fn query_mode(value: String) -> Result<Protocol, PgbenchUsageError> {
    match value.as_str() {
        "simple" => Ok(Protocol::Simple),
        "extended" => Ok(Protocol::Extended),
        "prepared" => Ok(Protocol::Prepared),
        _ => Err(PgbenchUsageError::BadMode { value }),
    }
}

fn partition_method(value: String) -> Result<PartitionMethod, PgbenchUsageError> {
    match value.to_ascii_lowercase().as_str() {
        "range" => Ok(PartitionMethod::Range),
        "hash" => Ok(PartitionMethod::Hash),
        _ => Err(PgbenchUsageError::PartitionMethod { value }),
    }
}

/// The seed of all random numbers. Where one is asked for, which it is is said.
fn seed(text: Option<&str>, from: SeedSource, say: &mut dyn FnMut(&str)) -> Result<u64, PgbenchUsageError> {
    let seed = match text {
        None | Some("time") => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(now.as_micros()).unwrap_or_default()
        }
        Some("rand") => from_system().ok_or(PgbenchUsageError::NoRandomness { from })?,
        Some(number) => values::seed(number, from)?,
    };
    if text.is_some() {
        say(&format!("pgbench: setting random seed to {seed}\n"));
    }
    Ok(seed)
}

fn from_system() -> Option<u64> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)).ok()?;
    Some(u64::from_ne_bytes(bytes))
}

fn extras_by_environment(text: Option<&str>) -> Result<Extras, PgbenchUsageError> {
    match text {
        None | Some("") => Ok(Extras::default()),
        Some(text) => {
            Extras::named(text).ok_or_else(|| PgbenchUsageError::DynoVariable { value: text.to_owned() })
        }
    }
}

/// What a bare `--dyno` makes of it.
fn turned_on(extras: Extras) -> Extras {
    if extras == Extras::Full { extras } else { Extras::Brief }
}
