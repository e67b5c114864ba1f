//! What is found of the plans of a query set.

use super::*;
use crate::event::HookTime;
use crate::plan::{Plan, PlanNode};

/// A plan of one step behind another, on a table.
fn plan(target: &str, when: HookTime, operation: &str) -> Event {
    let node = |depth, operation: &str, object: Option<&str>| PlanNode {
        depth,
        operation: operation.to_owned(),
        object: object.map(str::to_owned),
        rows_planned: Some(if when == HookTime::After { 7.0 } else { 9.0 }),
        ..PlanNode::default()
    };
    Event::Plan(Plan {
        target: target.to_owned(),
        series: "queries".to_owned(),
        query: "only".to_owned(),
        sql: "SELECT 1".to_owned(),
        when,
        executed: false,
        reason: None,
        nodes: vec![node(0, "Sort", None), node(1, operation, Some("orders"))],
        text: None,
    })
}

fn run(plans: Vec<Event>) -> Report {
    let mut fixture = Fixture::started("2026-11-20-1");
    for target in ["pg", "my"] {
        fixture.target = target;
        for _ in 0..3 {
            let load = FixtureStage {
                series: "queries",
                workload: "tpch/queries",
                ..FixtureStage::read(StageKind::Hold, 1, &[1])
            };
            fixture.play(&load);
        }
    }
    plans.into_iter().for_each(|plan| fixture.push(plan));
    fixture.finish();
    for stamped in &mut fixture.events {
        if let Event::StageStarted(stage) = &mut stamped.event {
            stage.pass = true;
        }
    }
    fold(&fixture.events)
}

#[test]
fn a_plan_that_is_another_behind_the_passes_is_found() {
    let [before, after] = [HookTime::Before, HookTime::After];
    let report = run(vec![
        plan("pg", before, "Seq Scan"),
        plan("my", before, "Seq Scan"),
        plan("pg", after, "Index Scan"),
        plan("my", after, "Seq Scan"),
    ]);
    let words = ["only: Seq Scan on orders before the passes, Index Scan on orders after them (first pass "];
    must_find(&report, "plan-changed", Severity::Doubt, &words);
    let found = report_findings(&report, "plan-changed");
    assert_eq!(found, ["pg"]);
}

#[test]
fn the_indexes_that_are_used_now_and_no_longer_are_named() {
    let by = |when, index: Option<&str>| {
        let mut told = plan("pg", when, if index.is_some() { "Index Scan" } else { "Seq Scan" });
        if let Event::Plan(plan) = &mut told {
            // The first step that differs is another.
            plan.nodes[0].operation = format!("Sort by {}", index.is_some());
            plan.nodes[1].index = index.map(str::to_owned);
        }
        told
    };
    for (before, after, words) in [
        (Some("orders_date"), None, ", index orders_date no longer used (first pass"),
        (None, Some("COVERING INDEX orders_date"), ", index orders_date used now (first pass"),
        (Some("a"), Some("b"), ", index a no longer used, index b used now (first pass"),
    ] {
        let report = run(vec![by(HookTime::Before, before), by(HookTime::After, after)]);
        must_find(&report, "plan-changed", Severity::Doubt, &[words]);
    }
}

#[test]
fn the_same_steps_in_another_order_are_told_as_such() {
    let steps = |when, tables: [&str; 2]| {
        let mut told = plan("pg", when, "Seq Scan");
        if let Event::Plan(plan) = &mut told {
            let step = plan.nodes[0].clone();
            let of = |table: &&str| PlanNode { object: Some((*table).to_owned()), ..step.clone() };
            plan.nodes = tables.iter().map(of).collect();
        }
        told
    };
    let report = run(vec![
        steps(HookTime::Before, ["orders", "lineitem"]),
        steps(HookTime::After, ["lineitem", "orders"]),
    ]);
    let words = ["only: after the passes the same steps in another order than before them (first pass "];
    must_find(&report, "plan-changed", Severity::Doubt, &words);
}

#[test]
fn plans_that_are_alike_or_unknown_are_no_finding() {
    let [before, after] = [HookTime::Before, HookTime::After];
    let alike = vec![plan("pg", before, "Seq Scan"), plan("pg", after, "Seq Scan")];
    let report = run(alike);
    must_be_silent(&report, "plan-changed");
    // It is told once.
    assert_eq!(report.plans.iter().map(|shown| shown.plan.when).collect::<Vec<_>>(), [after]);
    // Other targets run it in other ways, and one was not asked before.
    must_be_silent(
        &run(vec![plan("pg", before, "Seq Scan"), plan("my", after, "Index Scan")]),
        "plan-changed",
    );
    let mut failed = plan("pg", after, "Index Scan");
    if let Event::Plan(plan) = &mut failed {
        plan.nodes.clear();
        plan.reason = Some("it took longer than 300 s".to_owned());
    }
    must_be_silent(&run(vec![plan("pg", before, "Seq Scan"), failed]), "plan-changed");
}

fn report_findings(report: &Report, code: &str) -> Vec<String> {
    let all = judge(report).into_iter().filter(|finding| finding.code == code);
    all.filter_map(|finding| finding.subject.target).collect()
}
