//! The phases of a run: what each stream is called, what it runs, and the course of its load on each target.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dyno_results::spec::{
    Course, Definition, LoadSpec, PhaseSpec, Plans, Protocol, RunSpec, StreamSpec, Time,
};
use dyno_results::sql_text::Syntax;
use dyno_workload::benchmark::Series;
use dyno_workload::query_set::QueryFolder;
use dyno_workload::scripts::SqlScript;

use super::{LoadSource, PhasePlan, StreamPlan, SystemPlan, files, within};
use crate::failure::{Failure, TableOwner};
use crate::secrets;

/// Tries for a transaction where none are named.
const TRIES_DEFAULT: u32 = 10;
/// What hooks call stages, and what therefore no stream is called.
const KINDS: [&str; 8] = ["run", "warm-up", "warmup", "ladder", "rung", "step", "ramp", "hold"];
/// Limit of a statement where stages are passes over queries.
const TIME_LIMIT_OF_PASSES: Duration = Duration::from_secs(300);
/// Passes that are measured.
const PASSES: u32 = 3;
/// Shortest limit of a statement.
const TIME_LIMIT_MIN: Duration = Duration::from_millis(100);
/// Most connections that clients may share.
const CONNECTIONS_MAX: u32 = 100_000;

/// The loads of a stream, by system.
type Loads = BTreeMap<String, LoadSpec>;

/// Decides what the phases leave open, and writes it there.
pub(super) fn resolve(spec: &mut RunSpec, systems: &[SystemPlan]) -> Result<Vec<PhasePlan>, Failure> {
    let names: Vec<&str> = systems.iter().map(|system| system.name.as_str()).collect();
    // All have the same, but for how many queries are in a pass: one with fewer goes through them more often. Of other fixed work
    // the time is compared.
    let mut series = systems.first().map(|system| system.benchmark.series()).unwrap_or_default();
    for (system, other) in
        systems.iter().flat_map(|it| it.benchmark.series().into_iter().map(move |of| (it, of)))
    {
        for own in series.iter_mut().filter(|own| own.workload == other.workload) {
            if own.pass.is_none() && own.fixed != other.fixed {
                return Err(Failure::wrong(format!(
                    "{} is another amount of work on {} than on {}, and its time is compared: give all systems the same",
                    own.workload, system.name, names[0]
                )));
            }
            (own.pass, own.fixed) = (own.pass.max(other.pass), own.fixed.max(other.fixed));
        }
        let [one, own] = [&systems[0], system].map(|it| it.benchmark.detail(other.workload));
        if let (Some(one), Some(own)) = (&one, &own)
            && one != own
        {
            return Err(Failure::wrong(format!(
                "{} is {own} on {} and {one} on {}, and they are compared: give all systems the same",
                other.workload, system.name, names[0]
            )));
        }
    }
    let offered = Offered { syntaxes: systems.iter().map(|it| it.capabilities().syntax).collect(), series };
    let (quick, series) = (spec.quick, &offered.series);
    keep_query_options_for_passes(&mut spec.phases, series);
    let mut phases = spec
        .phases
        .iter_mut()
        .map(|phase| PhasePlan::resolve(phase, quick, &offered, &names))
        .collect::<Result<Vec<_>, _>>()?;
    for stream in phases.iter_mut().flat_map(|phase| &mut phase.streams) {
        if let Some(detail) = systems.iter().find_map(|system| system.benchmark.detail(&stream.workload)) {
            stream.workload += &format!(": {detail}");
        }
    }
    for (place, phase) in (0..).zip(&mut phases) {
        phase.place = place;
    }
    refuse_unused(&spec.phases, &phases)?;
    name_apart(&spec.phases, &mut phases)?;
    for (phase, plan) in spec.phases.iter_mut().zip(&phases).filter(|(phase, _)| phase.streams.len() > 1) {
        for (stream, plan) in phase.streams.iter_mut().zip(&plan.streams) {
            stream.name = Some(plan.name.clone());
        }
    }
    Ok(phases)
}

/// What the systems run.
struct Offered {
    /// Of the workloads' family.
    series: Vec<Series>,
    /// How they read a text of SQL.
    syntaxes: Vec<Syntax>,
}

/// `plans` and `answers` hold for the series of a family that make passes. Where one does, they are removed from the others, which
/// have no queries.
fn keep_query_options_for_passes(phases: &mut [PhaseSpec], series: &[Series]) {
    let makes_passes = |stream: &StreamSpec| {
        let workload = stream.workload.as_deref();
        let own = series.iter().find(|own| Some(own.workload) == workload);
        !stream.queries.is_empty() || own.is_some_and(|own| own.pass.is_some())
    };
    if phases.iter().flat_map(|phase| &phase.streams).any(makes_passes) {
        // Of streams that run at the same time each is asked for by itself.
        for phase in phases.iter_mut().filter(|phase| phase.streams.len() == 1) {
            for stream in phase.streams.iter_mut().filter(|stream| !makes_passes(stream)) {
                (stream.plans, stream.answers) = (None, None);
            }
        }
    }
}

/// A value of a variable is for all streams that use it, and one that none uses is mistyped.
fn refuse_unused(asked: &[PhaseSpec], phases: &[PhasePlan]) -> Result<(), Failure> {
    let asked = asked.iter().flat_map(|phase| &phase.streams);
    let streams: Vec<(&StreamSpec, &StreamPlan)> =
        asked.zip(phases.iter().flat_map(|phase| &phase.streams)).collect();
    let uses = |(asked, plan): &(&StreamSpec, &StreamPlan), name: &String| {
        asked.define.iter().any(|it| it.name == *name) && !plan.source.unused().contains(name)
    };
    let mut unused = streams.iter().flat_map(|(_, plan)| plan.source.unused());
    let Some(name) = unused.find(|name| !streams.iter().any(|stream| uses(stream, name))) else {
        return Ok(());
    };
    let what = match streams.as_slice() {
        [(_, StreamPlan { source: LoadSource::Queries(_), .. })] => match name.rsplit_once(':') {
            Some((file, own)) => format!("no query {file} has a parameter :{own}"),
            None => format!("no query has a parameter :{name}"),
        },
        [(_, plan)] => format!("no command of {} uses the variable {name}", plan.workload),
        _ => format!("no stream uses the variable {name}"),
    };
    Err(Failure::wrong(format!("{what}, for which -D {name}=… gives a value")))
}

/// Streams of one name could not be told apart in the report: where two were, each that the user has not
/// named is called as its workload is.
fn name_apart(asked: &[PhaseSpec], phases: &mut [PhasePlan]) -> Result<(), Failure> {
    let names = |phases: &[PhasePlan]| -> Vec<String> {
        phases.iter().flat_map(|phase| &phase.streams).map(|stream| stream.name.clone()).collect()
    };
    let is_twice = |names: &[String], name: &str| names.iter().filter(|other| *other == name).count() > 1;
    let all = names(phases);
    let asked = asked.iter().flat_map(|phase| &phase.streams);
    for (asked, stream) in asked.zip(phases.iter_mut().flat_map(|phase| &mut phase.streams)) {
        if asked.name.is_none() && is_twice(&all, &stream.name) {
            stream.name = last_part(&stream.workload);
        }
    }
    let all = names(phases);
    match all.iter().find(|name| is_twice(&all, name)) {
        None => Ok(()),
        Some(twice) => Err(Failure::wrong(format!(
            "two loads are called {twice}, and their stages could not be told apart: name them (--stream NAME=WORKLOAD,…, \
                 or `name` of a stream)"
        ))),
    }
}

/// `select-only` of `tpcb/select-only`, `big` of `./big.sql`, `nightly` of `./nightly/`.
fn last_part(workload: &str) -> String {
    let last = Path::new(workload).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    // Such as `.`.
    last.unwrap_or_else(|| "queries".to_owned())
}

impl PhasePlan {
    /// Its series in words: `oltp, report`.
    pub(crate) fn names(&self) -> String {
        self.streams.iter().map(|stream| stream.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Decides what a phase leaves open, and writes it there.
    fn resolve(
        phase: &mut PhaseSpec,
        quick: bool,
        offered: &Offered,
        systems: &[&str],
    ) -> Result<Self, Failure> {
        // What is done once is done at once, and not before it counts.
        let once = |stream: &StreamSpec| {
            let workload = stream.workload.as_deref();
            let own = offered.series.iter().find(|series| Some(series.workload) == workload);
            own.is_some_and(|series| series.fixed.is_some() && series.pass.is_none())
        };
        if phase.streams.iter().any(once) {
            (phase.warm_up, phase.repeat) = (Some(Time(Duration::ZERO)), Some(1));
        }
        let repeat = within("--repeat", phase.repeat, 1000)?;
        if phase.streams.is_empty() {
            return Err(Failure::wrong("a phase has no stream"));
        }
        let several = phase.streams.len() > 1;
        let beside =
            several || (phase.together && phase.streams.iter().any(|stream| !stream.systems.is_empty()));
        let streams = phase
            .streams
            .iter_mut()
            .map(|stream| StreamPlan::resolve(stream, offered, systems, (quick, beside, several)));
        let (mut streams, mut loads): (Vec<_>, Vec<_>) =
            streams.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        end_somewhere(&mut loads, systems, phase.together);
        for ((stream, plan), loads) in phase.streams.iter_mut().zip(&mut streams).zip(loads) {
            plan.courses = courses(&loads, quick, beside)?;
            write_loads(stream, loads);
        }
        let holds = |course: &Course| course.has_hold() && !course.ends_with_others();
        if streams.iter().flat_map(StreamPlan::courses).any(holds) {
            let passes = streams.iter().any(|stream| stream.pass.is_some()) && !quick;
            phase.repeat = repeat.or(Some(if passes { PASSES } else { 1 }));
        } else if repeat.is_some() {
            let what =
                "--repeat is about the hold, and behind a ramp there is one only if its --hold is named";
            return Err(Failure::wrong(what));
        }
        let (repeat, together, cold) = (phase.repeat.unwrap_or(1), phase.together, phase.cold);
        // A pass that warms up reads what was just dropped.
        let is_cold_pass = cold && streams.iter().any(|stream| stream.pass.is_some());
        let usual = Duration::from_secs(if is_cold_pass {
            0
        } else if quick {
            1
        } else {
            5
        });
        let warm_up = phase.warm_up.get_or_insert(Time(usual)).0;
        Ok(Self { place: 0, warm_up, repeat, together, cold, streams })
    }
}

/// Where no load that runs at a time has an end of its own, all get one.
fn end_somewhere(streams: &mut [Loads], systems: &[&str], together: bool) {
    let at_a_time: Vec<Vec<&str>> =
        if together { vec![systems.to_vec()] } else { systems.iter().map(|system| vec![*system]).collect() };
    for systems in at_a_time {
        let is_one = |name: &String| systems.contains(&name.as_str());
        let mut loads: Vec<&mut LoadSpec> =
            streams.iter_mut().flatten().filter_map(|(name, load)| is_one(name).then_some(load)).collect();
        if loads.iter().all(|load| load.ends_with_others()) {
            loads.iter_mut().for_each(|load| load.end_by_itself());
        }
    }
}

fn courses(loads: &Loads, quick: bool, beside: bool) -> Result<BTreeMap<String, Course>, Failure> {
    let of = |(system, load): (&String, &LoadSpec)| Ok((system.clone(), load.course(quick, beside)?));
    loads.iter().map(of).collect::<Result<_, String>>().map_err(Failure::wrong)
}

/// Writes the loads as they were decided: one for all, and those of the systems on which it is another.
fn write_loads(stream: &mut StreamSpec, loads: Loads) {
    let common = loads.iter().find(|(name, _)| !stream.systems.contains_key(*name));
    if let Some((_, load)) = common {
        stream.load = load.clone();
    }
    for (name, load) in loads {
        if load != stream.load || stream.systems.contains_key(&name) {
            stream.systems.insert(name, load);
        }
    }
}

impl StreamPlan {
    /// `beside` others at the same time, which may be of other systems; of `several` in its phase.
    fn resolve(
        stream: &mut StreamSpec,
        offered: &Offered,
        systems: &[&str],
        (quick, beside, several): (bool, bool, bool),
    ) -> Result<(Self, Loads), Failure> {
        let workload = stream.workload.clone().unwrap_or_default();
        let (source, usual) = source(stream, &workload, offered)?;
        let (pass, fixed) = match &source {
            LoadSource::Family(place) => (offered.series[*place].pass, offered.series[*place].fixed),
            LoadSource::Script(_) => (None, None),
            LoadSource::Queries(folder) => (Some(folder.pass()), None),
        };
        if let Some(unknown) = stream.systems.keys().find(|name| !systems.contains(&name.as_str())) {
            return Err(Failure::no_target("the load of a system", unknown, systems.iter().copied()));
        }
        let answers = stream.answers.as_deref().map(files::read_answers).transpose()?;
        let of_passes = [("--answers", answers.is_some()), ("--plans", stream.plans.is_some())];
        if let Some((option, _)) = of_passes.iter().find(|(_, is_named)| *is_named && pass.is_none()) {
            let what = format!("{option} is for queries that are run in passes, and {workload} is none");
            return Err(Failure::wrong(what));
        }
        let mut loads = Loads::new();
        for system in systems {
            let load = match stream.systems.get(*system) {
                // Steps are of the others, beside which it stays as it is.
                Some(own) if beside && own.is_steady() => {
                    own.clone().or(LoadSpec { step: None, hold: None, ..stream.load.clone() })
                }
                Some(own) => own.clone().or(stream.load.clone()),
                None => stream.load.clone(),
            };
            let load = match (pass, fixed) {
                (_, Some(transactions)) => LoadSpec::of_one_client(transactions),
                (Some(pass), None) => load.of_passes(pass),
                (None, None) => load,
            };
            loads.insert((*system).to_owned(), load.resolved(quick, beside).map_err(Failure::wrong)?);
        }
        let courses = courses(&loads, quick, beside)?;
        let connections = within("--connections", stream.connections, CONNECTIONS_MAX)?;
        if connections.is_some() && courses.values().any(Course::is_open) {
            let what = "--connections is for clients that share them, and the clients of an open loop (a rate) are its \
                        connections already: name their number with --clients instead";
            return Err(Failure::wrong(what));
        }
        if pass.is_some() {
            stream.time_limit.get_or_insert(Time(TIME_LIMIT_OF_PASSES));
            stream.protocol.get_or_insert(Protocol::Simple);
            stream.plans.get_or_insert_default();
        }
        if stream.time_limit.is_some_and(|limit| limit.0 < TIME_LIMIT_MIN) {
            return Err(Failure::wrong("--time-limit must be at least 100ms"));
        }
        let name = match &stream.name {
            Some(name) if name.is_empty() => return Err(Failure::wrong("a stream has an empty name")),
            Some(name) if KINDS.contains(&name.as_str()) => {
                return Err(Failure::wrong(format!(
                    "a stream cannot be called {name}: that is a kind of stage"
                )));
            }
            Some(name) => name.clone(),
            None if several => last_part(&workload),
            None => usual,
        };
        let protocol = *stream.protocol.get_or_insert_default();
        let tables = match (&source, &stream.folder) {
            (LoadSource::Family(_), None) => TableOwner::Dyno,
            (LoadSource::Family(_), Some(_)) => TableOwner::Folder,
            _ => TableOwner::User,
        };
        let plan = Self {
            name,
            workload,
            source,
            tables,
            protocol,
            tries_max: *stream
                .max_tries
                .insert(within("--max-tries", stream.max_tries, u32::MAX)?.unwrap_or(TRIES_DEFAULT)),
            time_limit: stream.time_limit.map(|limit| limit.0),
            pass,
            fixed: fixed.is_some(),
            answers: answers.map(Arc::new),
            plans: stream.plans.unwrap_or(Plans::None),
            connections,
            courses,
        };
        Ok((plan, loads))
    }

    /// The load on a system.
    pub(crate) fn course(&self, system: &str) -> &Course {
        // Every system of the plan has one.
        &self.courses[system]
    }

    /// The loads on all systems.
    pub(crate) fn courses(&self) -> impl Iterator<Item = &Course> {
        self.courses.values()
    }

    /// The most clients that are named for a system; `None` where the number is open.
    pub(crate) fn clients_named(&self, system: &str) -> Option<u32> {
        self.course(system).clients_named()
    }

    /// The connections of so many clients.
    pub(crate) fn connections_of(&self, clients: u32) -> u32 {
        self.connections.map_or(clients, |shared| shared.min(clients))
    }

    /// Whether it may change data.
    pub(crate) fn writes(&self, series: &[Series]) -> bool {
        match &self.source {
            LoadSource::Family(place) => series.get(*place).is_none_or(|series| series.writes),
            LoadSource::Script(script) => script.writes(),
            LoadSource::Queries(folder) => folder.writes(),
        }
    }
}

/// What a stream runs, and what it is called where it is alone.
fn source(
    stream: &StreamSpec,
    workload: &str,
    Offered { series, syntaxes }: &Offered,
) -> Result<(LoadSource, String), Failure> {
    if stream.queries.is_empty()
        && stream.script.is_none()
        && let Some(Definition { name, .. }) = stream.define.first()
    {
        let what =
            format!("-D {name}=… is for a script or the queries of a folder, and {workload} is neither");
        return Err(Failure::wrong(what));
    }
    let mut values = BTreeMap::new();
    for Definition { name, value } in &stream.define {
        if secrets::was_left_out(value) {
            return Err(Failure::advised(
                format!("the value of the variable {name} of {workload} was a secret, which is not stored"),
                format!("give it again: -D {name}=VALUE"),
            ));
        }
        if values.insert(name.clone(), value.clone()).is_some() {
            return Err(Failure::wrong(format!("the variable {name} is defined twice (-D)")));
        }
    }
    if let Some(text) = &stream.script {
        let script =
            SqlScript::new(workload, text, &values).map_err(|error| Failure::wrong(error.to_string()))?;
        return Ok((LoadSource::Script(script), last_part(workload)));
    }
    if !stream.queries.is_empty() {
        let folder = QueryFolder::new(&stream.queries, &values, syntaxes)
            .map_err(|error| Failure::wrong(format!("{workload}: {error}")))?;
        return Ok((LoadSource::Queries(folder), last_part(workload)));
    }
    let place = series.iter().position(|series| series.workload == workload);
    let place = place.ok_or_else(|| Failure::wrong(format!("no target runs {workload}")))?;
    Ok((LoadSource::Family(place), series[place].name.to_owned()))
}
