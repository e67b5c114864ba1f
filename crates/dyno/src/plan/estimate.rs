//! What a run takes, as far as its plan and an earlier run tell: time, disk space, and memory of dyno itself. What they do not
//! tell is said to be unknown. Nothing here asks a server.

use std::time::Duration;

use dyno_results::document::Report;
use dyno_results::event::Data;
use dyno_results::format;
use dyno_results::spec::{Course, End, Quantity, Rungs};
use dyno_target::Target;

use super::OPEN_CLIENTS;
use super::{PhasePlan, Plan, StreamPlan, SystemPlan, TargetSource};

/// What a release build took with one client, in runs of seconds: 25 MiB of a server, 29 of a file of SQLite.
const MEMORY_BYTES: u64 = 30 << 20;
/// What each further client took: over PostgreSQL's protocol (100 to 1,000 clients, without TLS), and with a thread of its own, as
/// drivers need one (300 clients of SQLite).
const CLIENT_BYTES: u64 = 3 << 10;
const THREAD_BYTES: u64 = 400 << 10;

const STEP: [&str; 2] = ["step", "steps"];
const HOLD: [&str; 2] = ["hold", "holds"];

/// A system, and the latest run with the same data on the same target.
pub(crate) struct Known<'a> {
    pub(crate) system: &'a SystemPlan,
    pub(crate) earlier: Option<Earlier>,
}

/// A run that was stored.
pub(crate) struct Earlier {
    pub(crate) report: Report,
    /// What the system was called in it.
    pub(crate) system: String,
}

/// What a reader is told, in lines with a label each.
pub(crate) fn lines(plan: &Plan, known: &[Known<'_>]) -> Vec<(&'static str, String)> {
    let times: Vec<Time> = plan.phases.iter().map(|phase| of_phase(phase, known)).collect();
    let mut lines = Vec::new();
    for (phase, time) in plan.phases.iter().zip(&times) {
        let names: Vec<&str> = phase.streams.iter().map(|stream| stream.name.as_str()).collect();
        lines.push(("", format!("{}: {}: {}", names.join(" and "), time.amount(), time.parts.join(", "))));
    }
    if times.len() > 1 {
        lines.push(("", format!("together {}", Time::sum(&times).amount())));
    }
    let preparations: Vec<String> = known.iter().filter_map(Known::preparation).collect();
    let unknown = if preparations.len() == known.len() { "" } else { "making the data, " };
    lines.extend(preparations.into_iter().map(|text| ("", text)));
    lines.push(("", format!("not known: {unknown}connecting, and checking the data before and after")));
    lines[0].0 = "duration";
    let disk = known.iter().map(Known::disk).enumerate();
    lines.extend(disk.map(|(at, text)| (if at == 0 { "disk" } else { "" }, text)));
    lines.push(("memory", memory(plan)));
    lines
}

/// How long something takes.
#[derive(Default)]
struct Time {
    seconds: f64,
    /// It may end earlier.
    at_most: bool,
    /// A part of it is not known.
    open: bool,
    parts: Vec<String>,
}

impl Time {
    fn sum(times: &[Self]) -> Self {
        Self {
            seconds: times.iter().map(|time| time.seconds).sum(),
            at_most: times.iter().any(|time| time.at_most),
            open: times.iter().any(|time| time.open),
            parts: Vec::new(),
        }
    }

    fn amount(&self) -> String {
        let most = if self.at_most { "at most " } else { "" };
        match format::duration_s(self.seconds) {
            _ if self.open && self.seconds <= 0.0 => "not known".to_owned(),
            seconds if self.open => format!("{most}{seconds} and what is not known"),
            seconds => format!("{most}{seconds}"),
        }
    }

    /// Adds `count` stages of so many seconds each, or of a time that is not known.
    fn add(&mut self, count: u32, [one, several]: [&str; 2], seconds: Option<f64>) {
        match seconds {
            Some(seconds) => self.seconds += f64::from(count) * seconds,
            None => self.open = true,
        }
        let each = seconds.map_or("a time that is not known".to_owned(), format::duration_s);
        self.parts.push(match count {
            1 => format!("{one} of {each}"),
            count => format!("{count} {several} of {each}"),
        });
    }

    fn add_timed(&mut self, count: u32, what: [&str; 2], each: Duration) {
        if count > 0 && !each.is_zero() {
            self.add(count, what, Some(each.as_secs_f64()));
        }
    }
}

/// The loads of a phase on all systems.
fn of_phase(phase: &PhasePlan, known: &[Known<'_>]) -> Time {
    let of_system = |known: &Known<'_>| {
        let streams = phase.streams.iter().map(|stream| of_stream(phase, stream, known));
        longest(streams)
    };
    let all = known.iter().map(of_system);
    if phase.together || known.len() < 2 {
        return longest(all);
    }
    let all: Vec<Time> = all.collect();
    let mut time = Time::sum(&all);
    time.parts = longest(all.into_iter()).parts;
    time.parts.push(format!("on {} systems in turn", known.len()));
    time
}

/// Of loads at the same time.
fn longest(times: impl Iterator<Item = Time>) -> Time {
    let mut open = false;
    let time = times.inspect(|time| open |= time.open).max_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let time = time.unwrap_or_default();
    Time { open: open || time.open, ..time }
}

fn of_stream(phase: &PhasePlan, stream: &StreamPlan, known: &Known<'_>) -> Time {
    let course = stream.course(&known.system.name);
    let pass_s = known.pass_s(stream);
    let mut time = Time::default();
    if stream.pass.is_some() && !phase.warm_up.is_zero() {
        time.add(1, ["pass as warm-up", ""], pass_s);
    } else {
        time.add_timed(1, ["warm-up", ""], phase.warm_up);
    }
    match course {
        Course::Ladder { rungs: Rungs::Listed(rungs), step, hold, .. } => {
            time.add_timed(rungs.len() as u32, STEP, *step);
            time.add_timed(phase.repeat, HOLD, *hold);
        }
        Course::Ladder { rungs: Rungs::Automatic { factor, max }, step, hold, .. } => {
            time.at_most = true;
            time.add_timed(max.ilog(*factor) + 1, STEP, *step);
            time.add_timed(phase.repeat, HOLD, *hold);
        }
        Course::Ramp(ramp) => {
            time.at_most = !ramp.to_the_end;
            match ramp.steps.end {
                Some(end) => time.add_timed(ramp.steps.count_to(end), STEP, ramp.step),
                None => {
                    time.open = true;
                    time.parts.push(format!(
                        "steps of {} without a limit",
                        format::duration_s(ramp.step.as_secs_f64())
                    ));
                }
            }
            time.add_timed(phase.repeat, HOLD, ramp.hold.unwrap_or_default());
        }
        Course::Fixed { end: End::Duration(duration), .. } => {
            time.add_timed(phase.repeat, ["stage", "stages"], *duration);
        }
        Course::Fixed { end: End::TransactionsPerClient(_), .. } if stream.pass.is_some() => {
            time.add(phase.repeat, ["pass", "passes"], pass_s);
        }
        Course::Fixed { end: End::TransactionsPerClient(count), .. } => {
            let work = format::counted(*count, "transaction");
            let [one, several] = ["stage", "stages"].map(|stage| format!("{stage} of {work} of each client"));
            time.add(phase.repeat, [&one, &several], None);
        }
        // Beside another, which has a time.
        Course::Fixed { end: End::WithOthers, .. } => {}
    }
    time
}

impl Known<'_> {
    /// Seconds of a pass over the queries in the earlier run.
    fn pass_s(&self, stream: &StreamPlan) -> Option<f64> {
        let Earlier { report, system } = self.earlier.as_ref()?;
        let mut series = report.series.iter();
        let same = series.find(|it| it.target == *system && it.workload == stream.workload)?;
        let clients = clients(stream.course(&self.system.name));
        same.passes.as_ref().filter(|passes| Some(passes.clients) == clients)?.total_s
    }

    /// `the data of pg took 4.1 s in run 2026-11-20-1`
    fn preparation(&self) -> Option<String> {
        let Earlier { report, system } = self.earlier.as_ref()?;
        let steps = report.prepare.iter().filter(|step| step.target == *system);
        let seconds: f64 = steps.map(|step| step.seconds).sum();
        let (seconds, run) = (format::duration_s(seconds), &report.run.name);
        Some(format!(
            "making the data of {}, where they are missing: {seconds} in run {run}",
            self.system.name
        ))
        .filter(|_| report.prepare.iter().any(|step| step.target == *system))
    }

    fn disk(&self) -> String {
        let name = &self.system.name;
        let more = "and what the load adds, and the server's log";
        if let Some(Earlier { report, system }) = &self.earlier
            && let Some(bytes) = report.found.iter().find(|data| data.target == *system).and_then(Data::bytes)
        {
            return format!("{name}: {} as in run {}, {more}", format::bytes(bytes), report.run.name);
        }
        let sizes = self.system.benchmark.sizes_wanted();
        let protocol = self.system.capabilities().protocol;
        let sizes = sizes.iter().map(|size| (size, format::bytes(size.bytes)));
        let of_protocol = sizes.clone().find(|(size, _)| size.protocol == protocol);
        match (of_protocol, sizes.clone().find_map(|(size, bytes)| Some((size.product?, bytes)))) {
            (Some((size, bytes)), _) => match size.product {
                Some(product) => format!("{name}: ≈ {bytes} (as measured on {product}), {more}"),
                None => format!("{name}: ≈ {bytes} (reckoned from its rows), {more}"),
            },
            (None, Some((product, bytes))) => {
                format!("{name}: not known for {protocol}; ≈ {bytes} on {product}, where it was measured")
            }
            (None, None) => format!(
                "{name}: not known: the data that are there are used, or as many are made as suit the machine, unless the size is named"
            ),
        }
    }
}

/// What dyno itself takes for its clients.
fn memory(plan: &Plan) -> String {
    let more = "what the servers take, and answers and data under way, are not known";
    let of_phase = |phase: &PhasePlan| -> Option<(u64, u64)> {
        let each =
            plan.systems.iter().flat_map(|system| phase.streams.iter().map(move |stream| (system, stream)));
        each.map(|(system, stream)| {
            let clients = stream.connections_of(clients(stream.course(&system.name))?);
            let bytes = if has_threads(system) { THREAD_BYTES } else { CLIENT_BYTES };
            Some((u64::from(clients), u64::from(clients) * bytes))
        })
        .try_fold((0, 0), |sum, one| one.map(|one| (sum.0 + one.0, sum.1 + one.1)))
    };
    let all: Option<Vec<(u64, u64)>> = plan.phases.iter().map(of_phase).collect();
    match all.and_then(|all| all.into_iter().max_by_key(|(_, bytes)| *bytes)) {
        Some((clients, bytes)) => format!(
            "dyno: ≈ {} with up to {}, as measured; {more}",
            format::bytes(MEMORY_BYTES + bytes),
            format::counted(clients, "client")
        ),
        None => format!(
            "dyno: ≈ {}, as measured, and {} for each client, whose number depends on the processors; {more}",
            format::bytes(MEMORY_BYTES),
            format::bytes(if plan.systems.iter().any(has_threads) { THREAD_BYTES } else { CLIENT_BYTES })
        ),
    }
}

/// Whether each client has a thread of its own.
fn has_threads(system: &SystemPlan) -> bool {
    matches!(&system.source, TargetSource::Named(target) if matches!(**target, Target::Driver(_)))
}

/// The most clients; `None` where that depends on the machine.
fn clients(course: &Course) -> Option<u32> {
    match course {
        Course::Ladder { rungs: Rungs::Automatic { max, .. }, .. } => Some(*max),
        Course::Ramp(ramp) if ramp.steps.of == Quantity::RatePerS => {
            Some(ramp.clients.unwrap_or(OPEN_CLIENTS))
        }
        course => course.clients_named().or(course.is_open().then_some(OPEN_CLIENTS)),
    }
}
