//! The options by name. Their order is that in which a message lists the possibilities of an ambiguous one.

use super::typed::Typed;
use crate::front_end::Extras;

/// An option that may be given.
#[derive(Debug)]
pub(super) struct OptionSpec {
    pub(super) long: &'static str,
    pub(super) short: Option<u8>,
    pub(super) takes: Takes,
    pub(super) mode: RunMode,
    /// One that pgbench 18 does not have: it makes no prefix ambiguous that is unique there.
    pub(super) added: bool,
}

/// Whether an option has a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Takes {
    /// And what it turns on.
    Nothing(fn(&mut Typed)),
    Value,
    /// Only joined by `=`, as in `--option=value`.
    PerhapsValue,
}

/// For which of the two modes pgbench keeps an option; given in the other it refuses the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunMode {
    Initialize,
    Benchmark,
    Both,
}

use RunMode::{Benchmark, Both, Initialize};
use Takes::{Nothing, PerhapsValue, Value};

const fn short(short: u8, long: &'static str, takes: Takes, mode: RunMode) -> OptionSpec {
    OptionSpec { short: Some(short), ..only_long(long, takes, mode) }
}

const fn only_long(long: &'static str, takes: Takes, mode: RunMode) -> OptionSpec {
    OptionSpec { long, short: None, takes, mode, added: false }
}

const fn added(long: &'static str, takes: Takes, mode: RunMode) -> OptionSpec {
    OptionSpec { added: true, ..only_long(long, takes, mode) }
}

pub(super) const OPTIONS: &[OptionSpec] = &[
    short(b'b', "builtin", Value, Benchmark),
    short(b'c', "client", Value, Benchmark),
    short(b'C', "connect", Nothing(|it| it.load.connects_each = true), Benchmark),
    short(b'd', "dbname", Value, Both),
    short(b'D', "define", Value, Benchmark),
    short(b'f', "file", Value, Benchmark),
    short(b'F', "fillfactor", Value, Initialize),
    short(b'h', "host", Value, Both),
    short(b'i', "initialize", Nothing(|it| it.initialize = true), Both),
    short(b'I', "init-steps", Value, Initialize),
    short(b'j', "jobs", Value, Benchmark),
    short(b'l', "log", Nothing(|it| it.log = true), Benchmark),
    short(b'L', "latency-limit", Value, Benchmark),
    short(b'n', "no-vacuum", Nothing(|it| it.no_vacuum = true), Both),
    short(b'p', "port", Value, Both),
    short(b'P', "progress", Value, Benchmark),
    short(b'M', "protocol", Value, Benchmark),
    short(b'q', "quiet", Nothing(|it| it.initialization.quiet = true), Initialize),
    short(b'r', "report-per-command", Nothing(|it| it.load.time_commands = true), Benchmark),
    short(b'R', "rate", Value, Benchmark),
    short(b's', "scale", Value, Both),
    short(b'S', "select-only", Nothing(|_| {}), Benchmark),
    short(b'N', "skip-some-updates", Nothing(|_| {}), Benchmark),
    short(b'T', "time", Value, Benchmark),
    short(b't', "transactions", Value, Benchmark),
    short(b'U', "username", Value, Both),
    short(b'v', "vacuum-all", Nothing(|it| it.vacuum_all = true), Benchmark),
    only_long("unlogged-tables", Nothing(|it| it.initialization.unlogged = true), Initialize),
    only_long("tablespace", Value, Initialize),
    only_long("index-tablespace", Value, Initialize),
    only_long("sampling-rate", Value, Benchmark),
    only_long("aggregate-interval", Value, Benchmark),
    only_long("progress-timestamp", Nothing(|it| it.progress_timestamp = true), Benchmark),
    only_long("log-prefix", Value, Benchmark),
    only_long("foreign-keys", Nothing(|it| it.foreign_keys = true), Initialize),
    only_long("random-seed", Value, Benchmark),
    only_long("show-script", Value, Both),
    only_long("partitions", Value, Initialize),
    only_long("partition-method", Value, Initialize),
    only_long("failures-detailed", Nothing(|it| it.load.failures_detailed = true), Benchmark),
    only_long("max-tries", Value, Benchmark),
    only_long("verbose-errors", Nothing(|it| it.load.verbose_errors = true), Benchmark),
    only_long("exit-on-abort", Nothing(|it| it.load.exit_on_abort = true), Benchmark),
    only_long("debug", Nothing(|it| it.load.debug = true), Both),
    added("continue-on-error", Nothing(|it| it.load.continue_on_error = true), Benchmark),
    added("dyno", PerhapsValue, Both),
    added("no-dyno", Nothing(|it| it.extras = Extras::Off), Both),
];
