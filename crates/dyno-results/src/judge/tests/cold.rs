//! What is found of caches that were to be dropped.

use super::*;
use crate::event::{Cold, Data, Hook, HookTime, Table};

fn cold(kept: &[&str]) -> Option<Cold> {
    let dropped = vec!["the server's own cache (restarted)".to_owned()];
    Some(Cold { dropped, kept: kept.iter().map(|&why| why.to_owned()).collect() })
}

/// Two passes over a query set on a server, behind what a cold start came to; `read` bytes a second come from its disks.
fn run(phase: u32, cold: Option<Cold>, read: Option<f64>) -> Report {
    let mut fixture = Fixture::started("2026-11-20-1");
    let table = Table {
        name: "lineitem".to_owned(),
        rows: None,
        rows_counted: true,
        table_bytes: Some(GIB),
        index_bytes: None,
        logged: None,
        indexed: None,
        analyzed: None,
    };
    fixture.push(Event::Data(Data {
        target: "pg".to_owned(),
        workload: "tpch".to_owned(),
        scale: Some(1.0),
        database_bytes: Some(2 * GIB),
        cache_bytes: None,
        memory_bytes: None,
        tables: vec![table],
        caches: std::collections::BTreeMap::new(),
        indirect: None,
        missing_indexes: Vec::new(),
        settings_set: None,
        after: None,
        phase: None,
    }));
    if let Some(per_second) = read {
        fixture.grow("host", "server_disk_read_bytes_total", per_second);
    }
    fixture.push(Event::Hook(Hook {
        target: "pg".to_owned(),
        about: "queries".to_owned(),
        phase: Some(phase),
        when: HookTime::Before,
        action: "cold".to_owned(),
        seconds: 1.0,
        succeeded: true,
        said: None,
        cold,
    }));
    for _ in 0..2 {
        let (series, workload) = ("queries", "tpch/queries");
        fixture.play(&FixtureStage {
            series,
            workload,
            ..FixtureStage::read(StageKind::Hold, 1, &[1, 1, 1, 1])
        });
    }
    fixture.finish();
    for stamped in &mut fixture.events {
        if let Event::StageStarted(stage) = &mut stamped.event {
            stage.pass = true;
        }
    }
    fold(&fixture.events)
}

const CODE: &str = "cold-not-cold";

#[test]
fn what_was_not_dropped_is_told_with_its_reason() {
    let why = "the system's cache of files: the server is on another host";
    must_find(&run(0, cold(&[why]), None), CODE, Severity::Doubt, &["not dropped", why]);
    must_be_silent(&run(1, cold(&[why]), None), CODE);
    must_be_silent(&run(0, cold(&[]), None), CODE);
    // A run of an earlier version, which did not say.
    must_be_silent(&run(0, None, Some(1e6)), CODE);
}

#[test]
fn a_first_pass_that_reads_next_to_nothing_from_disks_is_not_cold() {
    let little = run(0, cold(&[]), Some(1e6));
    must_find(&little, CODE, Severity::Doubt, &["were read from disks, of tables of 1 GiB"]);
    must_be_silent(&run(0, cold(&[]), Some(100e6)), CODE);
}
