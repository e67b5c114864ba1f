//! `dyno plan` and `dyno schema`: what a command line stands for, and the form of it.

use dyno_report::terminal::Terminal;
use dyno_results::document::Report;
use dyno_results::spec::{RunSpec, SystemSpec};
use dyno_results::store::{RunSummary, Store};
use dyno_workload::registry::DataOptions;
use schemars::schema_for;
use serde_json::Value;

use super::run::{seed_from_clock, specification};
use super::{print, print_json, write_err};
use crate::DONE;
use crate::cli::PlanArguments;
use crate::failure::Failure;
use crate::place;
use crate::plan::estimate::{self, Earlier, Known};
use crate::plan::{Plan, SystemPlan};
use crate::secrets::is_hidden;

pub(crate) fn plan(arguments: PlanArguments) -> Result<u8, Failure> {
    let PlanArguments { what, json, store } = arguments;
    let asked = specification(what, None, false)?;
    // A seed that nobody named is drawn anew for each run.
    let seed = asked.seed;
    let plan = Plan::resolve(asked, seed_from_clock())?;
    // Without what was stored the estimate says less, and the plan is the same.
    let store = place::open_stored(&store).ok();
    let known =
        |system| Known { system, earlier: store.as_ref().and_then(|store| earlier(store, &plan, system)) };
    let known: Vec<Known<'_>> = plan.systems.iter().map(known).collect();
    let estimate = dyno_report::labelled(&estimate::lines(&plan, &known), Terminal::stderr());
    let spec = RunSpec { seed, ..plan.spec };
    for hook in spec.hooks.iter().filter(|hook| is_hidden(&hook.action)) {
        let action = &hook.action;
        write_err(&format!(
            "warning: what looks like a secret is left out, and must be filled in: {action}\n"
        ));
    }
    if json {
        print_json(&spec)?;
    } else {
        print(&toml::to_string(&spec)?)?;
    }
    // Beside the scenario, which goes to a file or another program.
    write_err(&estimate);
    Ok(DONE)
}

/// The latest run with the same data on the same target.
fn earlier(store: &Store, plan: &Plan, system: &SystemPlan) -> Option<Earlier> {
    let target = plan.resolved.targets.iter().find(|target| target.name == system.target)?;
    let own = plan.resolved.systems.iter().find(|own| own.name == system.name)?;
    let streams = || plan.phases.iter().flat_map(|phase| &phase.streams);
    let same = |report: Report| {
        let spec = &report.run.resolved;
        let is_there = |other: &&SystemSpec| {
            let mut targets = spec.targets.iter().filter(|it| it.name == other.target);
            other.data == own.data && targets.any(|it| it.url == target.url && it.embedded == target.embedded)
        };
        let system = spec.systems.iter().find(is_there)?.name.clone();
        Some(Earlier { report, system })
    };
    let has_workload = |workload: &str| streams().any(|stream| stream.workload == workload);
    let may = |run: &RunSummary| run.content.series.iter().any(|series| has_workload(&series.workload));
    store.latest(may, same).ok().flatten()
}

pub(crate) fn print_schema() -> Result<u8, Failure> {
    print_json(&schema())?;
    Ok(DONE)
}

/// The JSON Schema of a specification.
pub(crate) fn schema() -> Value {
    let mut schema = schema_for!(RunSpec).to_value();
    // Results know no workload: what may stand in a system's data is known here.
    let mut data = schema_for!(DataOptions).to_value();
    let definitions = data.as_object_mut().and_then(|data| {
        data.remove("$schema");
        data.remove("$defs")
    });
    if let Some(place) = schema.pointer_mut("/$defs/SystemSpec/properties/data") {
        *place = data;
    }
    if let (Some(Value::Object(more)), Some(Value::Object(all))) = (definitions, schema.get_mut("$defs")) {
        all.extend(more);
    }
    schema
}
