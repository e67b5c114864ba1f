//! A system under test: a target of a run with its connections, its data, its probe, and what became of it. Systems share
//! the stream, and those of one target its server where that is dyno's own; the loss of one leaves the others as they are.

use dyno_results::event::{Event, NotDone, TargetLost};
use dyno_target::probe::Probe;
use dyno_workload::benchmark::Dataset;

use super::describe::RowCounts;
use super::stages::Stages;
use super::target_server::{Remote, TargetServer};
use super::{Context, admin, data, describe, verification};
use crate::failure::{Failure, LostTarget};
use crate::plan::{PhasePlan, SystemPlan};

/// A system of the run that is under way.
pub(super) struct System<'a> {
    pub(super) plan: &'a SystemPlan,
    pub(super) server: TargetServer,
    data: Option<Dataset>,
    /// The rows of each table, as they were counted before any load.
    counted: Option<Vec<u64>>,
    probe: Option<Probe>,
    pub(super) stages: Stages,
    /// Why it was given up.
    lost: Option<LostTarget>,
    /// It is a variant that cannot be made, which was told.
    left_out: Option<Failure>,
}

impl<'a> System<'a> {
    /// Connects to the named server, or starts the embedded one, unless one of the `others` has it.
    pub(super) fn set_up(
        context: &Context<'_>,
        plan: &'a SystemPlan,
        remote: Remote,
        others: &[System<'_>],
    ) -> Result<Self, Failure> {
        let beside = others.iter().find(|other| other.plan.target == plan.target);
        let running = beside.and_then(|other| other.server.embedded.clone());
        let server = TargetServer::set_up(context, plan, remote, running)?;
        Ok(Self {
            plan,
            server,
            data: None,
            counted: None,
            probe: None,
            stages: Stages::default(),
            lost: None,
            left_out: None,
        })
    }

    pub(super) fn name(&self) -> &'a str {
        &self.plan.name
    }

    /// Sees to it that the data is there.
    pub(super) fn provide_data(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        context.check_stopped()?;
        match data::provide(context, self.plan, &mut self.server) {
            Ok(data) => self.data = Some(data),
            Err(failure) => self.left_out = Some(self.not_done(context, None, failure)?),
        }
        Ok(())
    }

    /// Tells that a variant cannot do this by its nature: a series, or else a step of its preparation. Another failure is returned
    /// as an error.
    pub(super) fn not_done(
        &self,
        context: &Context<'_>,
        phase: Option<&PhasePlan>,
        failure: Failure,
    ) -> Result<Failure, Failure> {
        let refusal = match &failure {
            Failure::Benchmark(error) if self.plan.benchmark.variant().is_some() => error.refusal(),
            _ => None,
        };
        let Some((step, said)) = refusal else { return Err(failure) };
        let tell = |what: &str, series: bool| {
            let (target, what, said) = (self.name().to_owned(), what.to_owned(), said.clone());
            context.stream.emit(Event::NotDone(NotDone { target, what, series, said }));
        };
        match (step, phase) {
            (None, Some(phase)) => phase.streams.iter().for_each(|stream| tell(&stream.name, true)),
            (step, _) => tell(step.unwrap_or("tables"), false),
        }
        Ok(failure)
    }

    /// Why it was left out, where it was.
    pub(super) fn take_left_out(&mut self) -> Option<Failure> {
        self.left_out.take()
    }

    /// Adds rows until each of the tables has so many.
    pub(super) fn top_up(&mut self, context: &Context<'_>, rows: &[u64]) -> Result<(), Failure> {
        data::top_up(context, self.plan, &mut self.server, rows)?;
        self.provide_data(context)
    }

    /// Counts the rows of each table, and compares them with those that its generator makes.
    pub(super) fn check_rows(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        let Some(data) = self.data.as_ref().filter(|data| !data.expected.is_empty()) else { return Ok(()) };
        let rows = admin::telling(context, &format!("counting the rows of {}", self.plan.name), || {
            let connection = self.server.reconnect_if_broken()?;
            admin::cancellable(context, connection, |connection| data.count(connection))
        })?;
        verification::rows_as_expected(&self.plan.name, self.plan.benchmark.name(), data, &rows)?;
        self.counted = Some(rows);
        Ok(())
    }

    /// Tells how large the data is.
    pub(super) fn describe_data(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        let counted = self.counted.take();
        let Some(data) = &self.data else { return Ok(()) };
        describe::data(context, self.plan, &mut self.server, data, counted)
    }

    /// The data on the server.
    pub(super) fn data(&self) -> Option<&Dataset> {
        self.data.as_ref()
    }

    /// Counts the rows of each table, where the family of workloads does that.
    pub(super) fn count(&mut self, context: &Context<'_>) -> Result<Option<Vec<u64>>, Failure> {
        let Some(data) = self.data.as_ref().filter(|data| data.counts) else { return Ok(None) };
        let rows = admin::telling(context, &format!("counting the rows of {}", self.plan.name), || {
            let connection = self.server.reconnect_if_broken()?;
            admin::cancellable(context, connection, |connection| data.count(connection))
        })?;
        Ok(Some(rows))
    }

    /// Tells the sizes again after a phase. What cannot be read is no news beside what was measured.
    pub(super) fn describe_data_again(&mut self, context: &Context<'_>, phase: &PhasePlan, written: bool) {
        // Where the load was checked they have just been counted; else that is what the user wants to be left out.
        let counted = if context.plan.spec.no_verify { Ok(None) } else { self.count(context) };
        let Some(data) = &self.data else { return };
        let told = counted.and_then(|rows| {
            let rows = match rows {
                Some(rows) => RowCounts::Counted(rows),
                None if written && data.counts => RowCounts::Unknown,
                None => RowCounts::Estimated,
            };
            describe::data_after_load(context, self.plan, &mut self.server, data, phase, rows)
        });
        if let Err(failure) = told {
            let text = format!("the sizes after the load are unknown: {failure}");
            context.stream.notice(self.name(), None, text);
        }
    }

    /// Begins to read host and database once a second, also anew where the server is another process by now.
    pub(super) fn watch(&mut self, context: &Context<'_>) {
        // The one before is ended first, so that nothing is read twice.
        self.probe = None;
        if context.plan.spec.no_telemetry {
            return;
        }
        let tables = self.data.as_ref().map(|data| data.tables.clone()).unwrap_or_default();
        self.probe = describe::watch(context.stream, self.name(), &self.server, tables);
        self.server.set_watched(self.probe.is_some());
    }

    pub(super) fn is_watched(&self) -> bool {
        self.probe.is_some()
    }

    pub(super) fn unwatch(&mut self) {
        self.probe = None;
        self.server.set_watched(false);
    }

    pub(super) fn is_live(&self) -> bool {
        self.lost.is_none() && self.left_out.is_none()
    }

    /// What becomes of a failure of this target: the others go on without it. The failure is returned where it ends the
    /// run: there is no other target, no load has begun anywhere, or it is none of the target's.
    pub(super) fn fail(&mut self, context: &Context<'_>, failure: Failure) -> Result<(), Failure> {
        let failure = self.stages.explain(failure);
        if context.plan.systems.len() == 1 || !context.stream.has_begun_load() || failure.ends_run() {
            return Err(failure);
        }
        let name = self.name().to_owned();
        let at_s = context.stream.seconds();
        let stage = self.stages.last();
        let reason = failure.to_string();
        let advice = failure.help().map(|help| format!("; {help}")).unwrap_or_default();
        let text = format!("given up at {at_s:.0} s, and the run goes on without it{advice}");
        context.stream.emit(Event::TargetLost(TargetLost { target: name.clone(), stage, reason }));
        context.stream.notice(&name, stage, text);
        self.unwatch();
        self.lost = Some(LostTarget { name, at_s, failure: Box::new(failure) });
        Ok(())
    }

    /// Stops and removes what was started for the run. What was measured counts more than a server that does not stop:
    /// its failure is told, not returned.
    pub(super) fn clear(self, context: &Context<'_>) {
        if self.server.embedded.is_some() {
            context.stream.activity("stopping");
        }
        if let Err(error) = self.server.clear() {
            context.stream.notice(&self.plan.name, None, error.to_string());
        }
    }
}

/// The failure of a run that went on without some of its targets.
pub(super) fn tell_lost(systems: &mut [System<'_>]) -> Result<(), Failure> {
    let lost: Vec<LostTarget> = systems.iter_mut().filter_map(|system| system.lost.take()).collect();
    if lost.is_empty() { Ok(()) } else { Err(Failure::TargetsLost { lost }) }
}
