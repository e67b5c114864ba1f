//! What is wrong with a command line, in pgbench's words: users and their wrappers look for them.

use std::ffi::OsString;

use dyno_workload::pgbench::initialize::StepsError;
use dyno_workload::script::builtin::FindError;
use thiserror::Error;

use super::getopt::GetoptError;

/// A command line that is refused. Its `Display` is the message itself; [`UsageError::stderr`] is all that is
/// printed. The program ends with status 1.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum PgbenchUsageError {
    #[error(transparent)]
    Getopt(#[from] GetoptError),
    #[error("too many command-line arguments (first is \"{}\")", .first.to_string_lossy())]
    TooManyArguments { first: OsString },

    #[error("invalid value \"{value}\" for option {option}")]
    NotAnInteger { value: String, option: &'static str },
    #[error("{option} must be in range {min}..{max}")]
    OutOfRange { option: &'static str, min: i32, max: i32 },
    #[error("need at least {needed} open files, but system limit is {limit}")]
    OpenFiles { needed: u64, limit: u64 },
    #[error("invalid latency limit: \"{value}\"")]
    LatencyLimit { value: String },
    #[error("invalid rate limit: \"{value}\"")]
    Rate { value: String },
    #[error("invalid sampling rate: \"{value}\"")]
    SamplingRate { value: String },
    #[error("invalid query mode (-M): \"{value}\"")]
    BadMode { value: String },
    #[error("invalid number of maximum tries: \"{value}\"")]
    MaxTries { value: String },
    #[error("invalid partition method, expecting \"range\" or \"hash\", got: \"{value}\"")]
    PartitionMethod { value: String },
    #[error(transparent)]
    Steps(#[from] StepsError),
    #[error("invalid variable definition: \"{value}\"")]
    Definition { value: String },
    #[error("option: invalid variable name: \"{name}\"")]
    VariableName { name: String },
    #[error("unrecognized random seed option \"{value}\"")]
    Seed { value: String, from: SeedSource },
    #[error("could not generate random seed")]
    NoRandomness { from: SeedSource },
    #[error("invalid value \"{value}\" for --dyno: expecting \"off\", \"brief\" or \"full\"")]
    Dyno { value: String },
    #[error("invalid value \"{value}\" of DYNO_PGBENCH: expecting \"off\", \"brief\" or \"full\"")]
    DynoVariable { value: String },

    #[error(transparent)]
    Builtin(#[from] FindError),
    #[error("invalid weight specification: {text}")]
    Weight { text: String },
    #[error("weight specification out of range (0 .. {}): {weight}", i32::MAX)]
    WeightOutOfRange { weight: i64 },
    #[error("at most {most} SQL scripts are allowed")]
    TooManyScripts { most: usize },
    #[error("total script weight must not be zero")]
    NoWeight,

    #[error("some of the specified options cannot be used in initialization (-i) mode")]
    NotWhenInitializing,
    #[error("some of the specified options cannot be used in benchmarking mode")]
    NotWhenBenchmarking,
    #[error("--partition-method requires greater than zero --partitions")]
    MethodWithoutPartitions,
    #[error("specify either a number of transactions (-t) or a duration (-T), not both")]
    TransactionsAndDuration,
    #[error("log sampling (--sampling-rate) is allowed only when logging transactions (-l)")]
    SamplingWithoutLog,
    #[error(
        "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at the same time"
    )]
    SamplingAndAggregation,
    #[error("log aggregation is allowed only when actually logging transactions")]
    AggregationWithoutLog,
    #[error("log file prefix (--log-prefix) is allowed only when logging transactions (-l)")]
    PrefixWithoutLog,
    #[error(
        "number of seconds for aggregation ({interval}) must not be higher than test duration ({duration})"
    )]
    IntervalAboveDuration { interval: u32, duration: u32 },
    #[error("duration ({duration}) must be a multiple of aggregation interval ({interval})")]
    IntervalUneven { interval: u32, duration: u32 },
    #[error("--progress-timestamp is allowed only under --progress")]
    TimestampWithoutProgress,
    #[error(
        "an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)"
    )]
    UnlimitedTries,
}

/// Where a seed came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SeedSource {
    Option,
    Environment,
}

impl SeedSource {
    fn name(self) -> &'static str {
        match self {
            Self::Option => "--random-seed option",
            Self::Environment => "PGBENCH_RANDOM_SEED environment variable",
        }
    }
}

const TRY_HELP: &str = "pgbench: hint: Try \"pgbench --help\" for more information.\n";

impl PgbenchUsageError {
    /// All lines for standard error: the message behind the program's name, and what pgbench says after it.
    pub(crate) fn stderr(&self) -> String {
        let kind = if matches!(self, Self::Getopt(_)) { "" } else { "error: " };
        format!("pgbench: {kind}{self}\n{}", self.after())
    }

    fn after(&self) -> String {
        match self {
            Self::Getopt(_) | Self::TooManyArguments { .. } => TRY_HELP.to_owned(),
            Self::OpenFiles { .. } => {
                "pgbench: hint: Reduce number of clients, or use limit/ulimit to increase the \
                                       system limit.\n"
                    .to_owned()
            }
            Self::Steps(error) => {
                error.detail().map_or_else(String::new, |detail| format!("pgbench: detail: {detail}\n"))
            }
            Self::Seed { from, .. } => format!(
                "pgbench: detail: Expecting an unsigned integer, \"time\" or \"rand\".\n{}",
                while_setting(*from)
            ),
            Self::NoRandomness { from } => while_setting(*from),
            Self::Builtin(_) => super::builtins(),
            _ => String::new(),
        }
    }
}

fn while_setting(from: SeedSource) -> String {
    format!("pgbench: error: error while setting random seed from {}\n", from.name())
}
