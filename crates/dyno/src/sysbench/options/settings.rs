//! What the general options mean. The order of the checks is sysbench's, since the first that fails is the one that is
//! told.

use std::fmt::Display;
use std::num::NonZeroU32;
use std::time::Duration;

use dyno_workload::sysbench::Distribution;
use dyno_workload::sysbench::lua::{Distributions, OptionKind, OptionValue};
use thiserror::Error;

use super::{Options, strict_integer};
use crate::front_end::{Extras, ExtrasError};
use dyno_workload::c_numbers::leading_integer;

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

/// Settings that cannot be run, in sysbench's words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub(crate) struct SettingsError(String);

impl SettingsError {
    fn fatal(what: impl Display) -> Self {
        Self(format!("FATAL: {what}"))
    }

    fn invalid(option: &str, value: impl Display) -> Self {
        Self::fatal(format!("Invalid value for {option}: {value}"))
    }
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
        // With a line too many, as sysbench has it.
        let refused = || SettingsError::invalid("--threads", format!("{}.\n", options.integer("threads")));
        let threads = threads.ok_or_else(refused)?;
        let events = limit(renamed(options, "max-requests", "events", warn));
        let time_s = limit(renamed(options, "max-time", "time", warn));
        let forced_shutdown = match time_s {
            Some(_) => forced_shutdown(options)?,
            None => None,
        };
        if events.is_none() && time_s.is_none() {
            warn("Both event and time limits are disabled, running an endless test");
        }
        if options.value("thread-stack-size", OptionKind::Size) == OptionValue::Integer(0) {
            return Err(SettingsError::invalid("thread-stack-size", "0.\n"));
        }
        let rate = renamed(options, "tx-rate", "rate", warn);
        let distributions = distributions(options)?;
        let checkpoints = checkpoints(options)?;
        // One byte of it counts.
        let verbosity = options.integer("verbosity") as u8;
        if verbosity > VERBOSITY_MAX {
            return Err(SettingsError(format!("Invalid value for verbosity: {verbosity}")));
        }
        let percentile = options.integer("percentile");
        let percentile = u8::try_from(percentile).ok().filter(|percentile| *percentile <= 100);
        let refused = || SettingsError::invalid("--percentile", options.integer("percentile"));
        let percentile = percentile.ok_or_else(refused)?;
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
            extras: extras_of(options, environment).map_err(SettingsError::fatal)?,
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
        _ => Err(SettingsError::invalid("--forced-shutdown", format!("'{text}'"))),
    }
}

fn checkpoints(options: &Options) -> Result<Vec<Duration>, SettingsError> {
    let mut checkpoints = Vec::new();
    for word in options.list("report-checkpoints") {
        let seconds = strict_integer(word).and_then(|seconds| u64::try_from(seconds).ok());
        let refused = || SettingsError::invalid("--report-checkpoints", format!("'{word}'"));
        let seconds = seconds.ok_or_else(refused)?;
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
    let named = options.text("rand-type").unwrap_or_default();
    let shapes = [Distribution::Uniform, gaussian, special, pareto, zipfian];
    let refused = || SettingsError::fatal(format!("Invalid random numbers distribution: {named}."));
    let default = shapes.into_iter().find(|shape| shape.name() == named).ok_or_else(refused)?;
    Ok(Distributions { default, gaussian, special, pareto, zipfian })
}

fn extras_of(options: &Options, environment: &dyn Fn(&str) -> Option<String>) -> Result<Extras, ExtrasError> {
    if options.flag("no-dyno") {
        return Ok(Extras::Off);
    }
    match options.text("dyno") {
        Some("") => Ok(Extras::Full),
        Some(text) => Extras::named(text, "--dyno"),
        None => Extras::of_environment("DYNO_SYSBENCH", environment),
    }
}
