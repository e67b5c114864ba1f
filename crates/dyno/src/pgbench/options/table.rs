//! The options by name. Their order is that in which a message lists the possibilities of an ambiguous one.

use super::getopt::{OptionSpec, Takes};

/// What an option is called within dyno.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opt {
    AggregateInterval,
    Builtin,
    Client,
    Connect,
    ContinueOnError,
    Dbname,
    Debug,
    Define,
    Dyno,
    ExitOnAbort,
    FailuresDetailed,
    File,
    Fillfactor,
    ForeignKeys,
    Host,
    IndexTablespace,
    Initialize,
    InitSteps,
    Jobs,
    LatencyLimit,
    Log,
    LogPrefix,
    MaxTries,
    NoDyno,
    NoVacuum,
    PartitionMethod,
    Partitions,
    Port,
    Progress,
    ProgressTimestamp,
    Protocol,
    Quiet,
    RandomSeed,
    Rate,
    ReportPerCommand,
    SamplingRate,
    Scale,
    SelectOnly,
    ShowScript,
    SkipSomeUpdates,
    Tablespace,
    Time,
    Transactions,
    UnloggedTables,
    Username,
    VacuumAll,
    VerboseErrors,
}

const fn flag(short: u8, long: &'static str, option: Opt) -> OptionSpec<Opt> {
    OptionSpec { option, long, short: Some(short), takes: Takes::Nothing, added: false }
}

const fn valued(short: u8, long: &'static str, option: Opt) -> OptionSpec<Opt> {
    OptionSpec { option, long, short: Some(short), takes: Takes::Value, added: false }
}

const fn long_flag(long: &'static str, option: Opt) -> OptionSpec<Opt> {
    OptionSpec { option, long, short: None, takes: Takes::Nothing, added: false }
}

const fn long_valued(long: &'static str, option: Opt) -> OptionSpec<Opt> {
    OptionSpec { option, long, short: None, takes: Takes::Value, added: false }
}

const fn added(long: &'static str, takes: Takes, option: Opt) -> OptionSpec<Opt> {
    OptionSpec { option, long, short: None, takes, added: true }
}

pub(super) const OPTIONS: &[OptionSpec<Opt>] = &[
    valued(b'b', "builtin", Opt::Builtin),
    valued(b'c', "client", Opt::Client),
    flag(b'C', "connect", Opt::Connect),
    valued(b'd', "dbname", Opt::Dbname),
    valued(b'D', "define", Opt::Define),
    valued(b'f', "file", Opt::File),
    valued(b'F', "fillfactor", Opt::Fillfactor),
    valued(b'h', "host", Opt::Host),
    flag(b'i', "initialize", Opt::Initialize),
    valued(b'I', "init-steps", Opt::InitSteps),
    valued(b'j', "jobs", Opt::Jobs),
    flag(b'l', "log", Opt::Log),
    valued(b'L', "latency-limit", Opt::LatencyLimit),
    flag(b'n', "no-vacuum", Opt::NoVacuum),
    valued(b'p', "port", Opt::Port),
    valued(b'P', "progress", Opt::Progress),
    valued(b'M', "protocol", Opt::Protocol),
    flag(b'q', "quiet", Opt::Quiet),
    flag(b'r', "report-per-command", Opt::ReportPerCommand),
    valued(b'R', "rate", Opt::Rate),
    valued(b's', "scale", Opt::Scale),
    flag(b'S', "select-only", Opt::SelectOnly),
    flag(b'N', "skip-some-updates", Opt::SkipSomeUpdates),
    valued(b'T', "time", Opt::Time),
    valued(b't', "transactions", Opt::Transactions),
    valued(b'U', "username", Opt::Username),
    flag(b'v', "vacuum-all", Opt::VacuumAll),
    long_flag("unlogged-tables", Opt::UnloggedTables),
    long_valued("tablespace", Opt::Tablespace),
    long_valued("index-tablespace", Opt::IndexTablespace),
    long_valued("sampling-rate", Opt::SamplingRate),
    long_valued("aggregate-interval", Opt::AggregateInterval),
    long_flag("progress-timestamp", Opt::ProgressTimestamp),
    long_valued("log-prefix", Opt::LogPrefix),
    long_flag("foreign-keys", Opt::ForeignKeys),
    long_valued("random-seed", Opt::RandomSeed),
    long_valued("show-script", Opt::ShowScript),
    long_valued("partitions", Opt::Partitions),
    long_valued("partition-method", Opt::PartitionMethod),
    long_flag("failures-detailed", Opt::FailuresDetailed),
    long_valued("max-tries", Opt::MaxTries),
    long_flag("verbose-errors", Opt::VerboseErrors),
    long_flag("exit-on-abort", Opt::ExitOnAbort),
    long_flag("debug", Opt::Debug),
    added("continue-on-error", Takes::Nothing, Opt::ContinueOnError),
    added("dyno", Takes::PerhapsValue, Opt::Dyno),
    added("no-dyno", Takes::Nothing, Opt::NoDyno),
];

impl Opt {
    /// For which of the two modes pgbench keeps the option; given in the other it refuses the command line.
    pub(super) fn mode(self) -> RunMode {
        match self {
            Self::Fillfactor
            | Self::ForeignKeys
            | Self::IndexTablespace
            | Self::InitSteps
            | Self::PartitionMethod
            | Self::Partitions
            | Self::Quiet
            | Self::Tablespace
            | Self::UnloggedTables => RunMode::Initialize,
            Self::Dbname
            | Self::Debug
            | Self::Dyno
            | Self::Host
            | Self::Initialize
            | Self::NoDyno
            | Self::NoVacuum
            | Self::Port
            | Self::Scale
            | Self::ShowScript
            | Self::Username => RunMode::Both,
            _ => RunMode::Benchmark,
        }
    }
}

/// What an option belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunMode {
    Initialize,
    Benchmark,
    Both,
}
