//! The plan as it is stored with the run: without any password, and without the targets' URLs, which are stored by
//! themselves.

use dyno_engine::plan::{Arrivals, Limit};
use dyno_results::event::HookTime;
use dyno_target::probe::NodeExporter;
use serde_json::{Value, json};

use super::{Load, Place, Plan, Ramp, Rungs};
use crate::scenario::{Scenario, SysbenchFields};

impl Plan {
    pub(crate) fn as_json(&self) -> Value {
        let series = self.targets.first().map(|target| target.benchmark.series()).unwrap_or_default();
        let mut plan = json!({
            "workloads": series.iter().map(|series| series.workload).collect::<Vec<_>>(),
            "targets": self.targets.iter().map(|target| json!({
                "name": target.name,
                "embedded": matches!(target.place, Place::Embedded { .. }),
                "host_metrics": target.host_metrics.as_ref().map(NodeExporter::url),
            })).collect::<Vec<_>>(),
            "prepare": self.prepare,
            "verify": self.verify,
            "telemetry": self.telemetry,
            "quick": self.quick,
            "protocol": self.protocol.name(),
            "threads": self.threads,
            "connections": self.connections,
            "max_tries": self.tries_max,
            "realtime": self.realtime,
            "seed": self.seed,
            "warm_up_s": self.warm_up.as_secs_f64(),
            "load": load(&self.load),
            "repeat": self.repeat,
            "together": self.together,
            "cold": self.cold,
            "hooks": self.hooks.iter().map(|hook| json!({
                "when": match hook.when {
                    HookTime::Before => "before",
                    HookTime::After => "after",
                },
                "target": hook.target,
                "stage": hook.stage.name(),
                "action": hook.shown(),
            })).collect::<Vec<_>>(),
        });
        if let (Value::Object(plan), Value::Object(wishes)) = (&mut plan, &self.wishes) {
            plan.extend(wishes.clone());
        }
        plan
    }
}

/// What the user says of the data.
pub(super) fn wishes(scenario: &Scenario) -> Value {
    json!({
        "scale": scenario.scale,
        "rows": scenario.rows.map(|rows| rows.0),
        "customers": scenario.customers.map(|customers| customers.0),
        "customer_index": scenario.customer_index,
        "sysbench": said(&scenario.sysbench),
    })
}

/// The fields of sysbench that are set.
fn said(fields: &SysbenchFields) -> Value {
    match serde_json::to_value(fields) {
        Ok(Value::Object(mut map)) => {
            map.retain(|_, value| !value.is_null());
            Value::Object(map)
        }
        _ => Value::Null,
    }
}

fn load(load: &Load) -> Value {
    match load {
        Load::Ladder { rungs, step, hold, think_time } => json!({
            "rungs": match rungs {
                Rungs::Automatic { factor, max } => json!({"automatic": true, "factor": factor, "max": max}),
                Rungs::Listed(rungs) => json!(rungs),
            },
            "step_s": step.as_secs_f64(),
            "hold_s": hold.as_secs_f64(),
            "think_time_s": think_time.as_secs_f64(),
        }),
        Load::Ramp(Ramp { steps, step, hold, to_the_end, think_time, clients, distribution }) => json!({
            "ramp": steps.to_string(),
            "step_s": step.as_secs_f64(),
            "hold_s": hold.map(|hold| hold.as_secs_f64()),
            "to_the_end": to_the_end,
            "think_time_s": think_time.as_secs_f64(),
            "clients": clients,
            "distribution": distribution,
        }),
        Load::Single { clients, clients_end, arrivals, limit } => json!({
            "clients": clients,
            "clients_end": clients_end,
            "arrivals": match arrivals {
                Arrivals::Closed { think_time } => json!({"think_time_s": think_time.as_secs_f64()}),
                Arrivals::Open { rate_per_s, rate_end_per_s, distribution } => json!({
                    "rate_per_s": rate_per_s,
                    "rate_end_per_s": rate_end_per_s,
                    "distribution": distribution,
                }),
            },
            "limit": match limit {
                Limit::Duration(duration) => json!({"seconds": duration.as_secs_f64()}),
                Limit::TransactionsPerClient(count) => json!({"transactions_per_client": count}),
            },
        }),
    }
}
