use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::event::{StageKind, Stamped};
use crate::fixture::{Fixture, FixtureStage, wobble};
use crate::fold::fold;
use crate::store::RawEvent;

struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("dyno-blocks-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn store(&self) -> Store {
        Store::open(self.0.join("runs.db")).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// A run of two blocks and some more, that was killed.
fn long() -> Vec<Stamped> {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.read("host", "cpus", 4.0);
    fixture.grow("host", "cpu_user_seconds_total", 3.0);
    fixture.grow("host", "cpu_idle_seconds_total", 1.0);
    fixture.grow("database", "wal_bytes_total", 5e6);
    for clients in [4, 8] {
        fixture.play(&FixtureStage::write(StageKind::Hold, clients, &wobble(1000, 700)));
    }
    fixture.events
}

/// Writes a run as a campaign does.
fn write(store: &Store, events: &[Stamped]) -> String {
    let mut writer = store.begin_run("2026-11-20").unwrap();
    for stamped in events {
        writer.append(stamped).unwrap();
    }
    writer.name().to_owned()
}

fn json(store: &Store, name: &str) -> serde_json::Value {
    serde_json::to_value(store.report(name).unwrap()).unwrap()
}

#[test]
fn a_killed_run_is_told_from_what_was_kept_as_from_its_events() {
    let (scratch, events) = (Scratch::new(), long());
    let store = scratch.store();
    let name = write(&store, &events);
    let (_, last) = store.fold(&name).unwrap();
    let whole = events.len() as u64 / EVENTS_EACH * EVENTS_EACH;
    assert!(whole > EVENTS_EACH, "several blocks: {}", events.len());
    assert_eq!(last, Some(whole - 1));
    let told = json(&store, &name);
    assert_eq!(told, serde_json::to_value(fold(&events)).unwrap());

    // What is kept is made of the events, and they are enough.
    for away in ["UPDATE block SET format = format + 1", "DELETE FROM block"] {
        store.connection.execute_batch(away).unwrap();
        assert_eq!(store.fold(&name).unwrap().1, None, "{away}");
        assert_eq!(json(&store, &name), told, "{away}");
    }
}

#[test]
fn a_block_that_is_broken_is_not_believed() {
    let (scratch, events) = (Scratch::new(), long());
    let store = scratch.store();
    let name = write(&store, &events);
    let told = json(&store, &name);
    let [first, second] = store.blocks(&name).unwrap().try_into().ok().expect("two blocks");
    let mut rare_sum = 0;
    let rare = params![name, second.seq];
    let sum_up = |raw: RawEvent<'_>| {
        rare_sum = of_rare(&name, rare_sum, raw.checksum);
        Ok(())
    };
    store.read_rows(&name, RARE, rare, sum_up).unwrap();
    let half = &second.content[..second.content.len() / 2];
    let checksum = of_block(&name, [first.seq, second.seq, FORMAT], rare_sum, half);
    let changed = "UPDATE block SET content = ?1, checksum = ?2 WHERE seq = ?3";
    store.connection.execute(changed, params![half, checksum, second.seq]).unwrap();
    assert_eq!(store.fold(&name).unwrap().1, None);
    assert_eq!(json(&store, &name), told);
}

#[test]
fn a_run_that_is_taken_out_takes_its_blocks_with_it() {
    let (scratch, events) = (Scratch::new(), long());
    let store = scratch.store();
    let mut writer = store.begin_run("2026-11-20").unwrap();
    for stamped in &events[..(EVENTS_EACH + 1) as usize] {
        writer.append(stamped).unwrap();
    }
    let rows =
        || -> i64 { store.connection.query_row("SELECT count(*) FROM block", [], |row| row.get(0)).unwrap() };
    assert_eq!(rows(), 1);
    writer.discard().unwrap();
    assert_eq!(rows(), 0);
}

#[test]
fn rare_events_are_found_by_their_index() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let plan: Vec<String> = {
        let mut statement = store.connection.prepare(&format!("EXPLAIN QUERY PLAN {RARE}")).unwrap();
        let rows = statement.query_map(params![1, 10], |row| row.get::<_, String>(3)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    let searches = |table: &str, index: &str| {
        let of_table = plan.iter().filter(|line| line.contains(table));
        let searches: Vec<_> = of_table.map(|line| line.contains(index)).collect();
        searches.len() == 3 && searches.iter().all(|by_index| *by_index)
    };
    assert!(searches("SEARCH event ", "USING INDEX event_by_kind"), "{plan:?}");
    assert!(searches("SEARCH one_before ", "USING COVERING INDEX"), "{plan:?}");
}

/// Also where both of two rows are sound, each in the other's place.
#[test]
fn a_block_that_was_changed_is_told_and_other_runs_are_read() {
    let (scratch, events) = (Scratch::new(), long());
    let store = scratch.store();
    let (name, other) = (write(&store, &events), write(&store, &events));
    let (first, second) = (EVENTS_EACH - 1, 2 * EVENTS_EACH - 1);
    let told = json(&store, &other);
    // Before a second of load.
    let begun = events.iter().rfind(|stamped| stamped.event.kind() == "stage-started").unwrap().seq;
    let begun = format!("DELETE FROM event WHERE run_id = 1 AND seq = {begun}");
    let exchanged = "CREATE TEMP TABLE kept AS SELECT * FROM block WHERE run_id = 1;
        UPDATE block SET (content, checksum) = (SELECT content, checksum FROM kept WHERE kept.seq <> block.seq)
            WHERE run_id = 1 AND seq IN (1999, 3999)";
    for (change, named) in [
        // A byte of the last number of the block.
        ("UPDATE block SET content = CAST(substr(content, 1, length(content) - 3) || x'01' || substr(content, -2) AS BLOB)
            WHERE run_id = 1 AND seq = 1999", first),
        ("UPDATE block SET content = CAST(replace(content, 'cpu_idle', 'cpu_user') AS BLOB) WHERE run_id = 1 AND seq = 3999", second),
        ("UPDATE block SET checksum = checksum + 1 WHERE run_id = 1 AND seq = 3999", second),
        ("UPDATE block SET (content, checksum) = (SELECT content, checksum FROM block WHERE run_id = 2 AND seq = 3999)
            WHERE run_id = 1 AND seq = 1999", first),
        ("DELETE FROM block WHERE run_id = 1 AND seq = 1999", second),
        (exchanged, first),
        // One that no block holds and no event behind it tells.
        (&begun, second),
    ] {
        store.connection.execute_batch(&format!("SAVEPOINT before; {change}")).unwrap();
        let error = store.report(&name).unwrap_err();
        assert!(matches!(error, StoreError::BlockChanged { .. }), "{change}: {error}");
        let (text, path) = (error.to_string(), store.path().to_str().unwrap());
        let says = [&*format!("block of run {name} that ends with event {named} "), path, "DELETE FROM block"];
        assert!(says.iter().all(|words| text.contains(words)), "{change}: {text}");
        assert_eq!(json(&store, &other), told, "{change}");
        store.connection.execute_batch("DROP TABLE IF EXISTS temp.kept; ROLLBACK TO before; RELEASE before").unwrap();
    }
    // As the error says.
    store.connection.execute_batch("UPDATE block SET checksum = 1; DELETE FROM block").unwrap();
    assert_eq!(json(&store, &name)["stages"], told["stages"]);
}
