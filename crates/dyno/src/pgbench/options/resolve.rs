//! From what was typed to what it means: defaults, and the options that do not go together. The order of the checks
//! is pgbench's, since the first that fails is the one that is reported.

use std::time::Duration;

use dyno_results::spec::End;
use dyno_workload::pgbench::initialize::Step;
use dyno_workload::pgbench::log::LogOptions;
use dyno_workload::script::builtin;

use super::typed::Typed;
use super::{ConnectionOptions, Parsed, ProgressOptions, RunOptions, ScriptChoice, ScriptSource, Vacuum};
use crate::pgbench::failed::PgbenchFailed;

const DEFAULT_TRANSACTIONS: u32 = 10;
const LOG_PREFIX: &str = "pgbench_log";

fn refuse_if(wrong: bool, message: &str) -> Result<(), PgbenchFailed> {
    if wrong { Err(PgbenchFailed::new(message)) } else { Ok(()) }
}

pub(super) fn initialize(mut typed: Typed) -> Result<Parsed, PgbenchFailed> {
    let connection = connection(&mut typed)?;
    refuse_if(
        typed.for_benchmarking,
        "some of the specified options cannot be used in initialization (-i) mode",
    )?;
    let mut initialization = typed.initialization;
    refuse_if(
        typed.partition_method.is_some() && initialization.partitions == 0,
        "--partition-method requires greater than zero --partitions",
    )?;
    if typed.no_vacuum {
        initialization.steps.retain(|step| *step != Step::Vacuum);
    }
    if typed.foreign_keys && !initialization.steps.contains(&Step::ForeignKeys) {
        initialization.steps.push(Step::ForeignKeys);
    }
    initialization.scale = typed.scale.unwrap_or(1);
    initialization.partition_method = typed.partition_method.unwrap_or_default();
    Ok(Parsed::Initialize(connection, Box::new(initialization)))
}

pub(super) fn run(mut typed: Typed) -> Result<RunOptions, PgbenchFailed> {
    let scripts = scripts(&mut typed)?;
    let connection = connection(&mut typed)?;
    refuse_if(typed.for_initializing, "some of the specified options cannot be used in benchmarking mode")?;
    let end = match (typed.transactions, typed.duration_s) {
        (Some(_), Some(_)) => {
            let message = "specify either a number of transactions (-t) or a duration (-T), not both";
            return Err(PgbenchFailed::new(message));
        }
        (None, Some(duration)) => End::Duration(seconds(duration)),
        (transactions, None) => {
            End::TransactionsPerClient(transactions.unwrap_or(DEFAULT_TRANSACTIONS).into())
        }
    };
    let log = log(&mut typed)?;
    refuse_if(
        typed.progress_timestamp && typed.progress_s.is_none(),
        "--progress-timestamp is allowed only under --progress",
    )?;
    let mut load = typed.load;
    // A limit below a microsecond is none to pgbench here.
    load.latency_limit = load.latency_limit.filter(|limit| !limit.is_zero());
    refuse_if(
        load.tries_max.is_none() && load.latency_limit.is_none() && typed.duration_s.is_none(),
        "an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)",
    )?;
    load.threads = load.threads.min(load.clients);
    load.log = log;
    Ok(RunOptions {
        connection,
        scripts,
        load,
        end,
        vacuum: match (typed.no_vacuum, typed.vacuum_all) {
            (true, _) => Vacuum::Nothing,
            (false, false) => Vacuum::Usual,
            (false, true) => Vacuum::All,
        },
        scale: typed.scale,
        progress: typed
            .progress_s
            .map(|every| ProgressOptions { every: seconds(every), timestamps: typed.progress_timestamp }),
        extras: typed.extras,
    })
}

fn seconds(number: u32) -> Duration {
    Duration::from_secs(number.into())
}

/// The scripts that were chosen, or the first builtin.
fn scripts(typed: &mut Typed) -> Result<Vec<ScriptChoice>, PgbenchFailed> {
    let mut scripts = std::mem::take(&mut typed.scripts);
    if scripts.is_empty() {
        let usual = builtin::ALL.iter().take(1);
        scripts.extend(usual.map(|it| ScriptChoice { source: ScriptSource::Builtin(it), weight: 1 }));
    }
    refuse_if(scripts.iter().all(|script| script.weight == 0), "total script weight must not be zero")?;
    Ok(scripts)
}

/// The database is `-d`'s or else the first operand; any other operand is one too many.
fn connection(typed: &mut Typed) -> Result<ConnectionOptions, PgbenchFailed> {
    let mut connection = std::mem::take(&mut typed.connection);
    let mut operands = std::mem::take(&mut typed.operands).into_iter();
    if connection.database.is_none() {
        connection.database = operands.next().map(|name| name.to_string_lossy().into_owned());
    }
    match operands.next() {
        Some(first) => {
            let first = first.to_string_lossy();
            let message = format!("too many command-line arguments (first is \"{first}\")");
            Err(PgbenchFailed::new(message).try_help())
        }
        None => Ok(connection),
    }
}

fn log(typed: &mut Typed) -> Result<Option<LogOptions>, PgbenchFailed> {
    let (sampling_rate, aggregate_s) = (typed.sampling_rate, typed.aggregate_s);
    let prefix = typed.log_prefix.take();
    refuse_if(
        sampling_rate.is_some() && !typed.log,
        "log sampling (--sampling-rate) is allowed only when logging transactions (-l)",
    )?;
    refuse_if(
        sampling_rate.is_some() && aggregate_s.is_some(),
        "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at the same time",
    )?;
    refuse_if(
        aggregate_s.is_some() && !typed.log,
        "log aggregation is allowed only when actually logging transactions",
    )?;
    refuse_if(
        prefix.is_some() && !typed.log,
        "log file prefix (--log-prefix) is allowed only when logging transactions (-l)",
    )?;
    if let (Some(interval), Some(duration)) = (aggregate_s, typed.duration_s) {
        let too_long = format!(
            "number of seconds for aggregation ({interval}) must not be higher than test duration ({duration})"
        );
        refuse_if(interval > duration, &too_long)?;
        let uneven = format!("duration ({duration}) must be a multiple of aggregation interval ({interval})");
        refuse_if(duration % interval != 0, &uneven)?;
    }
    let prefix = prefix.unwrap_or_else(|| LOG_PREFIX.into()).into();
    Ok(typed.log.then_some(LogOptions { prefix, sampling_rate, aggregate_s }))
}
