//! What the general options mean. The order of the checks is sysbench's, since the first that fails is the one that is
//! told.

use std::num::NonZeroU32;
use std::time::Duration;

use dyno_workload::sysbench::Distribution;
use dyno_workload::sysbench::lua::Distributions;
use thiserror::Error;

use super::{Options, values};
use crate::front_end::numbers::leading_integer;
use crate::front_end::{Extras, ExtrasError};

/// The general options of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SysbenchSettings {
    pub(crate) threads: NonZeroU32,
    /// Of all threads together; `None` for no limit.
    pub(crate) events: Option<u64>,
    /// `None` for no limit.
    pub(crate) time: Option<Duration>,
    /// Behind the time, how long to wait for events under way; `None` for as long as they take.
    pub(crate) forced_shutdown: Option<Duration>,
    /// Before counting begins.
    pub(crate) warmup: Duration,
    /// Events a second of all threads together; `None` for as many as the server can do.
    pub(crate) rate: Option<u32>,
    pub(crate) report_interval: Option<Duration>,
    /// What banner says of it, which may be less than nothing.
    pub(crate) report_interval_s: i64,
    /// In order.
    pub(crate) checkpoints: Vec<Duration>,
    pub(crate) debug: bool,
    pub(crate) validate: bool,
    pub(crate) verbosity: u8,
    /// 1 to 100; 0 for none.
    pub(crate) percentile: u8,
    pub(crate) histogram: bool,
    /// `None` for another one each time.
    pub(crate) seed: Option<u64>,
    pub(crate) distributions: Distributions,
    pub(crate) extras: Extras,
}

/// Settings that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum SettingsError {
    // With a line too many, as sysbench has it.
    #[error("FATAL: Invalid value for --threads: {value}.\n")]
    Threads { value: i64 },
    #[error("FATAL: Invalid value for thread-stack-size: {value}.\n")]
    StackSize { value: u64 },
    #[error("FATAL: Invalid value for --forced-shutdown: '{value}'")]
    ForcedShutdown { value: String },
    #[error("FATAL: Invalid value for --report-checkpoints: '{value}'")]
    Checkpoints { value: String },
    #[error("FATAL: Invalid random numbers distribution: {value}.")]
    Distribution { value: String },
    #[error("Invalid value for verbosity: {value}")]
    Verbosity { value: u8 },
    #[error("FATAL: Invalid value for --percentile: {value}")]
    Percentile { value: i64 },
    #[error("FATAL: {0}")]
    Extras(#[from] ExtrasError),
}

const VERBOSITY_MAX: u8 = 5;

impl SysbenchSettings {
    /// `warn` hears what sysbench warns of.
    pub(crate) fn new(
        options: &Options,
        environment: &dyn Fn(&str) -> Option<String>,
        warn: &mut dyn FnMut(&str),
    ) -> Result<Self, SettingsError> {
        let threads = renamed(options, "num-threads", "threads", warn);
        let threads = u32::try_from(threads).ok().and_then(NonZeroU32::new);
        let threads = threads.ok_or_else(|| SettingsError::Threads { value: options.integer("threads") })?;
        let events = limit(renamed(options, "max-requests", "events", warn));
        let time_s = limit(renamed(options, "max-time", "time", warn));
        let forced_shutdown = match time_s {
            Some(_) => forced_shutdown(options)?,
            None => None,
        };
        if events.is_none() && time_s.is_none() {
            warn("Both event and time limits are disabled, running an endless test");
        }
        if options.size("thread-stack-size") == 0 {
            return Err(SettingsError::StackSize { value: 0 });
        }
        let rate = renamed(options, "tx-rate", "rate", warn);
        let distributions = distributions(options)?;
        let checkpoints = checkpoints(options)?;
        // One byte of it counts.
        let verbosity = options.integer("verbosity") as u8;
        if verbosity > VERBOSITY_MAX {
            return Err(SettingsError::Verbosity { value: verbosity });
        }
        let percentile = options.integer("percentile");
        let percentile = u8::try_from(percentile).ok().filter(|percentile| *percentile <= 100);
        let percentile =
            percentile.ok_or_else(|| SettingsError::Percentile { value: options.integer("percentile") })?;
        let report_interval_s = options.integer("report-interval");
        Ok(Self {
            threads,
            events,
            time: time_s.map(Duration::from_secs),
            forced_shutdown,
            warmup: Duration::from_secs(u64::try_from(options.integer("warmup-time")).unwrap_or(0)),
            rate: u32::try_from(rate).ok().filter(|rate| *rate > 0),
            report_interval: limit(report_interval_s).map(Duration::from_secs),
            report_interval_s,
            checkpoints,
            debug: options.flag("debug"),
            validate: options.flag("validate"),
            verbosity: if options.flag("debug") { VERBOSITY_MAX } else { verbosity },
            percentile,
            histogram: options.flag("histogram"),
            seed: u64::try_from(options.integer("rand-seed")).ok().filter(|seed| *seed > 0),
            distributions,
            extras: extras_of(options, environment)?,
        })
    }
}

/// A number under its present name, or its former one where that says more than nothing.
fn renamed(options: &Options, former: &str, present: &str, warn: &mut dyn FnMut(&str)) -> i64 {
    let nothing = if former == "num-threads" { 1 } else { 0 };
    let value = options.integer(former);
    if options.is_typed(former) && value > nothing {
        warn(&format!("--{former} is deprecated, use --{present} instead"));
        value
    } else {
        options.integer(present)
    }
}

fn limit(value: i64) -> Option<u64> {
    u64::try_from(value).ok().filter(|value| *value > 0)
}

fn forced_shutdown(options: &Options) -> Result<Option<Duration>, SettingsError> {
    let text = options.text("forced-shutdown").unwrap_or("off");
    if text == "off" {
        return Ok(None);
    }
    match leading_integer(text) {
        (seconds, "") => {
            // What is less than nothing forces nothing.
            Ok(u64::try_from(seconds.unwrap_or(0)).ok().map(Duration::from_secs))
        }
        _ => Err(SettingsError::ForcedShutdown { value: text.to_owned() }),
    }
}

fn checkpoints(options: &Options) -> Result<Vec<Duration>, SettingsError> {
    let mut checkpoints = Vec::new();
    for word in options.list("report-checkpoints") {
        let seconds = values::strict_integer(word).and_then(|seconds| u64::try_from(seconds).ok());
        let seconds = seconds.ok_or_else(|| SettingsError::Checkpoints { value: word.to_owned() })?;
        checkpoints.push(Duration::from_secs(seconds));
    }
    checkpoints.sort_unstable();
    Ok(checkpoints)
}

fn distributions(options: &Options) -> Result<Distributions, SettingsError> {
    let number = |name| u32::try_from(options.integer(name)).unwrap_or(0);
    let iterations = number("rand-spec-iter");
    let gaussian = Distribution::Gaussian { iterations };
    let (percent, result_percent) = (number("rand-spec-pct"), number("rand-spec-res"));
    let special = Distribution::Special { iterations, percent, result_percent };
    let pareto = Distribution::Pareto { h: options.double("rand-pareto-h") };
    let zipfian = Distribution::Zipfian { exponent: options.double("rand-zipfian-exp") };
    let default = match options.text("rand-type").unwrap_or_default() {
        "uniform" => Distribution::Uniform,
        "gaussian" => gaussian,
        "special" => special,
        "pareto" => pareto,
        "zipfian" => zipfian,
        other => return Err(SettingsError::Distribution { value: other.to_owned() }),
    };
    Ok(Distributions { default, gaussian, special, pareto, zipfian })
}

fn extras_of(options: &Options, environment: &dyn Fn(&str) -> Option<String>) -> Result<Extras, ExtrasError> {
    if options.flag("no-dyno") {
        return Ok(Extras::Off);
    }
    match options.text("dyno") {
        Some("") => Ok(Extras::Full),
        Some(text) => Extras::of_option(text),
        None => Extras::of_environment("DYNO_SYSBENCH", environment),
    }
}
