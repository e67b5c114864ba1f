//! `dyno plan` and `dyno schema`: what a command line stands for, and the form of it.

use dyno_results::spec::RunSpec;
use dyno_workload::registry::DataOptions;
use schemars::schema_for;
use serde_json::Value;

use super::run::{seed_from_clock, specification};
use super::{print, print_json, write_err};
use crate::DONE;
use crate::cli::PlanArguments;
use crate::failure::Failure;
use crate::plan::Plan;
use crate::secrets::is_hidden;

pub(crate) fn plan(arguments: PlanArguments) -> Result<u8, Failure> {
    let PlanArguments { what, json } = arguments;
    let asked = specification(what, None, false)?;
    // A seed that nobody named is drawn anew for each run.
    let seed = asked.seed;
    let spec = RunSpec { seed, ..Plan::resolve(asked, seed_from_clock())?.spec };
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
    Ok(DONE)
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
