//! From what was typed to what it means: defaults, and the options that do not go together. The order of the checks
//! is pgbench's, since the first that fails is the one that is reported.

use std::num::NonZeroU32;
use std::time::Duration;

use dyno_workload::pgbench::initialize::Initialization;
use dyno_workload::script::Protocol;
use dyno_workload::script::builtin;

use super::error::PgbenchUsageError;
use super::typed::Typed;
use super::{
    ConnectionOptions, InitializeOptions, Length, LogKind, LogOptions, ProgressOptions, RunOptions,
    ScriptChoice, ScriptSource, Vacuum,
};

const DEFAULT_TRANSACTIONS: NonZeroU32 = NonZeroU32::new(10).unwrap();
const FILLFACTOR: u8 = 100;
const LOG_PREFIX: &str = "pgbench_log";

pub(super) fn initialize(mut typed: Typed) -> Result<InitializeOptions, PgbenchUsageError> {
    let connection = connection(&mut typed)?;
    if typed.for_benchmarking {
        return Err(PgbenchUsageError::NotWhenInitializing);
    }
    if typed.partition_method.is_some() && typed.partitions.is_none() {
        return Err(PgbenchUsageError::MethodWithoutPartitions);
    }
    let mut steps = typed.steps.unwrap_or_default();
    if typed.no_vacuum {
        steps = steps.without_vacuum();
    }
    if typed.foreign_keys {
        steps = steps.with_foreign_keys();
    }
    let initialization = Initialization {
        steps,
        scale: typed.scale.unwrap_or(NonZeroU32::MIN).get(),
        fillfactor: typed.fillfactor.unwrap_or(FILLFACTOR),
        quiet: typed.quiet,
        tablespace: typed.tablespace,
        index_tablespace: typed.index_tablespace,
        partitions: typed.partitions.map_or(0, NonZeroU32::get),
        partition_method: typed.partition_method.unwrap_or_default(),
        unlogged: typed.unlogged,
    };
    Ok(InitializeOptions { connection, initialization, debug: typed.debug })
}

pub(super) fn run(mut typed: Typed) -> Result<RunOptions, PgbenchUsageError> {
    let scripts = scripts(&mut typed)?;
    let connection = connection(&mut typed)?;
    if typed.for_initializing {
        return Err(PgbenchUsageError::NotWhenBenchmarking);
    }
    let length = match (typed.transactions, typed.duration) {
        (Some(_), Some(_)) => return Err(PgbenchUsageError::TransactionsAndDuration),
        (None, Some(duration)) => Length::Duration(seconds(duration)),
        (transactions, None) => Length::Transactions(transactions.unwrap_or(DEFAULT_TRANSACTIONS)),
    };
    let log = log(&mut typed)?;
    if typed.progress_timestamp && typed.progress.is_none() {
        return Err(PgbenchUsageError::TimestampWithoutProgress);
    }
    let max_tries = typed.max_tries.unwrap_or(Some(NonZeroU32::MIN));
    // A limit below a microsecond is none to pgbench here.
    let limited = typed.latency_limit.is_some_and(|limit| !limit.is_zero());
    if max_tries.is_none() && !limited && typed.duration.is_none() {
        return Err(PgbenchUsageError::UnlimitedTries);
    }
    let clients = typed.clients.unwrap_or(NonZeroU32::MIN);
    Ok(RunOptions {
        connection,
        scripts,
        clients,
        threads: typed.threads.unwrap_or(NonZeroU32::MIN).min(clients),
        length,
        reconnect: typed.connect,
        protocol: typed.protocol.unwrap_or(Protocol::Simple),
        variables: typed.variables,
        rate: typed.rate,
        latency_limit: typed.latency_limit.filter(|limit| !limit.is_zero()),
        max_tries,
        continue_on_error: typed.continue_on_error,
        exit_on_abort: typed.exit_on_abort,
        vacuum: match (typed.no_vacuum, typed.vacuum_all) {
            (true, _) => Vacuum::Nothing,
            (false, false) => Vacuum::Usual,
            (false, true) => Vacuum::All,
        },
        scale: typed.scale,
        seed: typed.seed,
        log,
        progress: typed
            .progress
            .map(|every| ProgressOptions { every: seconds(every), timestamps: typed.progress_timestamp }),
        report_per_command: typed.report_per_command,
        failures_detailed: typed.failures_detailed,
        verbose_errors: typed.verbose_errors,
        debug: typed.debug,
        extras: typed.extras,
    })
}

fn seconds(number: NonZeroU32) -> Duration {
    Duration::from_secs(number.get().into())
}

/// The scripts that were chosen, or the first builtin.
fn scripts(typed: &mut Typed) -> Result<Vec<ScriptChoice>, PgbenchUsageError> {
    let mut scripts = std::mem::take(&mut typed.scripts);
    if scripts.is_empty() {
        let usual = builtin::ALL.iter().take(1);
        scripts.extend(usual.map(|it| ScriptChoice { source: ScriptSource::Builtin(it), weight: 1 }));
    }
    if scripts.iter().all(|script| script.weight == 0) {
        return Err(PgbenchUsageError::NoWeight);
    }
    Ok(scripts)
}

/// The database is `-d`'s or else the first operand; any other operand is one too many.
fn connection(typed: &mut Typed) -> Result<ConnectionOptions, PgbenchUsageError> {
    let mut connection = std::mem::take(&mut typed.connection);
    let mut operands = std::mem::take(&mut typed.operands).into_iter();
    if connection.database.is_none() {
        connection.database = operands.next().map(|name| name.to_string_lossy().into_owned());
    }
    match operands.next() {
        Some(first) => Err(PgbenchUsageError::TooManyArguments { first }),
        None => Ok(connection),
    }
}

fn log(typed: &mut Typed) -> Result<Option<LogOptions>, PgbenchUsageError> {
    let (sampling, interval) = (typed.sampling_rate, typed.aggregate_interval);
    let prefix = typed.log_prefix.take();
    if sampling.is_some() && !typed.log {
        return Err(PgbenchUsageError::SamplingWithoutLog);
    }
    if sampling.is_some() && interval.is_some() {
        return Err(PgbenchUsageError::SamplingAndAggregation);
    }
    if interval.is_some() && !typed.log {
        return Err(PgbenchUsageError::AggregationWithoutLog);
    }
    if prefix.is_some() && !typed.log {
        return Err(PgbenchUsageError::PrefixWithoutLog);
    }
    if let (Some(interval), Some(duration)) = (interval, typed.duration) {
        let (interval, duration) = (interval.get(), duration.get());
        if interval > duration {
            return Err(PgbenchUsageError::IntervalAboveDuration { interval, duration });
        }
        if duration % interval != 0 {
            return Err(PgbenchUsageError::IntervalUneven { interval, duration });
        }
    }
    let kind = match (sampling, interval) {
        (Some(share), _) => LogKind::Sampled(share),
        (None, Some(interval)) => LogKind::Aggregated(seconds(interval)),
        (None, None) => LogKind::EveryTransaction,
    };
    Ok(typed.log.then(|| LogOptions { prefix: prefix.unwrap_or_else(|| LOG_PREFIX.into()), kind }))
}
