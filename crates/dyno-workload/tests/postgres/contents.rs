//! Data of either serves the other: schema, contents and storage are the same to the byte.

use dyno_target::connection::Connection;
use dyno_workload::benchmark::{Done, Progress};
use dyno_workload::pgbench::tables::Table;

use crate::load::{Run, WORKLOADS, assert_passed};
use crate::server::Database;
use crate::{find, load, prepared};

/// All that can be told of the four tables without their names of files.
#[derive(Debug, PartialEq)]
struct Fingerprint {
    described: String,
    /// Pages, rows and all-visible pages as the statistics have them, sizes of table and keys.
    storage: Vec<Vec<Option<String>>>,
    contents: Vec<u8>,
}

impl Fingerprint {
    fn of(database: &Database, connection: &mut Connection) -> Self {
        let described =
            Table::ALL.map(|table| database.client("psql", &["-X", "-c", &format!("\\d+ {}", table.name())]));
        let storage = connection
            .query(
                "select relname, relpages, reltuples, relallvisible, relpersistence, pg_relation_size(oid) \
                 from pg_class where relname like 'pgbench%' order by relname",
            )
            .unwrap();
        let storage =
            storage.iter().map(|row| row.iter().map(|(_, value)| value.map(str::to_owned)).collect());
        let mut contents = Vec::new();
        for table in Table::ALL {
            let sql = format!("copy (select * from {} order by 1) to stdout", table.name());
            connection.wire_mut().unwrap().copy_out(&sql, |piece| contents.extend_from_slice(piece)).unwrap();
        }
        Self { described: described.concat(), storage: storage.collect(), contents }
    }
}

#[test]
fn data_is_that_of_pgbench_to_the_byte() {
    let (Some(ours), Some(theirs)) = (Database::new(), Database::new()) else { return };
    prepared(&ours, &mut ours.open(), 2).unwrap();
    theirs.initialize(2);
    let (of_ours, of_theirs) =
        (Fingerprint::of(&ours, &mut ours.open()), Fingerprint::of(&theirs, &mut theirs.open()));
    assert!(of_ours.contents == of_theirs.contents, "the rows differ");
    assert_eq!(of_ours.described, of_theirs.described);
    assert_eq!(of_ours.storage, of_theirs.storage);
    // The comparison is worth something only where blank and NULL fillers can be told apart.
    let text = String::from_utf8(of_ours.contents).unwrap();
    assert!(text.contains(&format!("\n200000\t2\t0\t{}\n", " ".repeat(84))));
    assert!(text.contains("\n20\t2\t0\t\\N\n"));
}

#[test]
fn each_step_is_reported_and_all_rows_are_counted() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    let seen = prepared(&database, &mut connection, 1).unwrap();
    let steps: Vec<_> = seen
        .iter()
        .filter_map(|progress| match progress {
            Progress::Finished(step) => Some((step.step.as_str(), step.rows, step.bytes.is_some())),
            _ => None,
        })
        .collect();
    let expected = [
        ("drop", None, false),
        ("tables", None, false),
        ("data", Some(100_011), true),
        ("keys", None, true),
        ("analyze", None, false),
    ];
    assert_eq!(steps, expected);
    let last = seen.iter().rev().find(|progress| matches!(progress, Progress::Rows { .. }));
    assert_eq!(last, Some(&Progress::Rows { done: 100_011, total: 100_011 }));
    // Once more on what is there: the same again.
    prepared(&database, &mut connection, 2).unwrap();
    assert_eq!(find(&mut connection, None).unwrap(), Some(2.0));
}

#[test]
fn our_load_runs_on_data_of_pgbench() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    database.initialize(2);
    assert_eq!(find(&mut connection, None).unwrap(), Some(2.0));
    for workload in WORKLOADS {
        for protocol in Run::PROTOCOLS {
            let load = load(&mut connection, workload);
            let before = load.baseline(&mut connection).unwrap().unwrap();
            let commits =
                Run { protocol, ..Run::default() }.on(load.as_ref(), &database.endpoint("postgres"));
            assert_eq!(commits, Done { acknowledged: 200, ..Done::default() }, "{workload} {protocol:?}");
            assert_passed(&before.verify(&mut connection, "pg", commits, &[load.acknowledged()]).unwrap());
        }
    }
    let left: Option<u64> = connection.query_value("select count(*) from pgbench_history").unwrap();
    assert_eq!(left, Some(1200));
    load(&mut connection, "tpcb/tpcb-like").reset(&mut connection, None).unwrap();
    let left: Option<u64> = connection.query_value("select count(*) from pgbench_history").unwrap();
    assert_eq!(left, Some(0));
}

#[test]
fn pgbench_runs_on_our_data() {
    let Some(database) = Database::new() else { return };
    let mut connection = database.open();
    prepared(&database, &mut connection, 2).unwrap();
    for workload in WORKLOADS {
        let before = load(&mut connection, workload).baseline(&mut connection).unwrap().unwrap();
        let builtin = workload.strip_prefix("tpcb/").unwrap();
        let printed = database.client("pgbench", &["-n", "-c", "2", "-t", "100", "-b", builtin]);
        assert!(printed.contains("200/200") && printed.contains("scaling factor: 2"), "{printed}");
        let commits = Done { acknowledged: 200, ..Done::default() };
        let mut checks = before.verify(&mut connection, "pg", commits, &[]).unwrap();
        // How many rows dyno's own clients have added nobody can say.
        checks.retain(|check| check.name != "rows-as-acknowledged");
        assert!(!checks.is_empty(), "{workload}");
        assert_passed(&checks);
    }
    // Without -n it vacuums and empties the history first, as `reset` does.
    database.client("pgbench", &["-t", "10"]);
    let left: Option<u64> = connection.query_value("select count(*) from pgbench_history").unwrap();
    assert_eq!(left, Some(10));
}
