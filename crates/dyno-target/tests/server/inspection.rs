use dyno_results::event::Setting;
use dyno_target::inspect::{self, Statistics};

use crate::support::Server;

#[test]
fn the_product_and_its_place_are_recognised() {
    let Some(server) = Server::shared() else { return };
    for local in [true, false] {
        let mut session = server.settings("user=plain", local).connect().unwrap();
        let facts = inspect::facts(&mut session, "pg", "postgres://x").unwrap();
        assert_eq!((facts.name.as_str(), facts.url.as_str()), ("pg", "postgres://x"));
        assert_eq!(facts.product.as_deref(), Some("PostgreSQL"));
        let version = facts.version.unwrap();
        assert!(
            session.wire().unwrap().parameter("server_version").unwrap().starts_with(&version),
            "{version}"
        );
        assert!(facts.version_text.unwrap().starts_with("PostgreSQL "));
        assert_eq!(facts.same_host, Some(true));
        assert_eq!(facts.tls, None);
        assert_eq!(facts.connections_max, Some(397), "400 without the 3 that are reserved");
        assert_eq!(facts.isolation.as_deref(), Some("read committed"));
    }
}

#[test]
fn the_servers_process_is_found() {
    let Some(server) = Server::shared() else { return };
    for local in [true, false] {
        let mut session = server.settings("user=postgres", local).connect().unwrap();
        let found = inspect::server_process(&mut session).unwrap().unwrap();
        assert_eq!(found.pid, Some(server.process_id()));
        assert_eq!(found.data_directory, Some(server.directory.join("data")));
    }
}

#[test]
fn free_connections_are_counted_by_server_and_role() {
    let Some(server) = Server::start(&[]) else { return };
    let mut session = server.tcp("user=plain");
    crate::support::wait_for("the sessions that set it up to be gone", || {
        inspect::connections_allowed(&mut session).unwrap().least() == Some(26)
    });
    let _another = server.tcp("user=plain");
    assert_eq!(inspect::connections_allowed(&mut session).unwrap().least(), Some(25));
    assert_eq!(inspect::connections_allowed(&mut server.admin()).unwrap().least(), Some(27));
    assert_eq!(inspect::connections_allowed(&mut server.tcp("user=limited")).unwrap().least(), Some(1));
}

#[test]
fn changed_and_durability_settings_are_reported() {
    let Some(server) = Server::start(&["archive_command=copy --password=secret", "archive_mode=on"]) else {
        return;
    };
    let mut session = server.admin();
    session.execute("SET work_mem = '77MB'; SET synchronous_commit = off; SET enable_seqscan = off").unwrap();
    let found = inspect::settings(&mut session, "pg").unwrap();
    let get = |name: &str| found.rows.iter().find(|row| row.name == name);
    let fsync = get("fsync").unwrap();
    let expected = Setting {
        name: "fsync".into(),
        value: "off".into(),
        unit: None,
        default: Some("on".into()),
        source: Some("configuration file".into()),
        changed: true,
        durability: true,
    };
    assert_eq!(*fsync, expected);
    let work_mem = get("work_mem").unwrap();
    assert_eq!(
        (work_mem.value.as_str(), work_mem.unit.as_deref()),
        ("8192", Some("kB")),
        "not the session's own"
    );
    assert!(work_mem.changed && !work_mem.durability);
    let commit = get("synchronous_commit").unwrap();
    assert_eq!((commit.value.as_str(), commit.changed, commit.durability), ("on", false, true));
    for unchanged in ["full_page_writes", "wal_level", "data_checksums"] {
        assert!(get(unchanged).unwrap().durability, "{unchanged}");
    }
    for absent in
        ["enable_seqscan", "application_name", "client_encoding", "port", "shared_preload_libraries"]
    {
        assert!(get(absent).is_none(), "{absent}");
    }
    assert_eq!(get("archive_command").unwrap().value, "(not shown)");
}

#[test]
fn sizes_of_plain_unlogged_partitioned_and_missing_tables() {
    let Some(server) = Server::shared() else { return };
    let mut session = server.admin();
    session
        .execute(
            "DROP TABLE IF EXISTS size_plain, size_unlogged, size_parts, size_empty;
             CREATE TABLE size_plain (id int PRIMARY KEY); INSERT INTO size_plain SELECT generate_series(1, 1000);
             CREATE UNLOGGED TABLE size_unlogged AS SELECT 1 AS x;
             CREATE TABLE size_parts (id int) PARTITION BY RANGE (id);
             CREATE TABLE size_part_1 PARTITION OF size_parts FOR VALUES FROM (0) TO (10);
             CREATE TABLE size_part_2 PARTITION OF size_parts FOR VALUES FROM (10) TO (20);
             INSERT INTO size_parts SELECT generate_series(0, 19)",
        )
        .unwrap();
    session.execute("VACUUM ANALYZE size_plain, size_parts").unwrap();
    let tables = ["size_plain", "size_unlogged", "size_parts", "size_missing"];
    let data = inspect::data(&mut session, "pg", "w", Some(2.0), &tables).unwrap();
    assert!(data.database_bytes.unwrap() > 1_000_000);
    assert_eq!(data.cache_bytes, Some(128 << 20));
    let [plain, unlogged, parts, missing] = data.tables.as_slice() else { panic!("{:?}", data.tables) };
    assert_eq!((plain.rows, plain.logged), (Some(1000), Some(true)));
    assert!(plain.table_bytes.unwrap() >= 8192 && plain.index_bytes.unwrap() >= 8192);
    assert_eq!((unlogged.rows, unlogged.logged), (None, Some(false)), "never analysed");
    assert_eq!(parts.rows, Some(20));
    assert_eq!((missing.table_bytes, missing.logged), (None, None));
    let analyzed = [plain, unlogged, parts, missing].map(|table| table.analyzed);
    assert_eq!(analyzed, [Some(true), Some(false), Some(true), None]);
    // An index counts the rows, and the planner still knows nothing of the columns.
    session.execute("CREATE INDEX ON size_unlogged (x); CREATE TABLE size_empty (x int)").unwrap();
    let data = inspect::data(&mut session, "pg", "w", None, &["size_unlogged", "size_empty"]).unwrap();
    assert_eq!((data.tables[0].rows, data.tables[0].analyzed), (Some(1), Some(false)));
    assert_eq!(data.tables[1].analyzed, None);
}

#[test]
fn statistics_count_what_was_done() {
    let Some(server) = Server::start(&[]) else { return };
    let mut session = server.admin();
    let mut statistics = Statistics::prepare(&mut session, &[]).unwrap();
    let before = statistics.read(&mut session).unwrap();
    let documented = [
        "transactions_committed_total",
        "transactions_rolled_back_total",
        "tuples_returned_total",
        "tuples_inserted_total",
        "tuples_updated_total",
        "tuples_deleted_total",
        "blocks_hit_total",
        "blocks_read_total",
        "deadlocks_total",
        "conflicts_total",
        "temp_bytes_total",
        "wal_bytes_total",
        "checkpoints_timed_total",
        "checkpoints_requested_total",
        "checkpoint_write_seconds_total",
        "checkpoint_sync_seconds_total",
        "buffers_written_total",
        "connections_active",
        "connections_idle",
        "connections_in_transaction",
        "database_bytes",
    ];
    for key in documented {
        assert!(before.contains_key(key), "{key} is missing: {before:?}");
    }
    let mut worker = server.tcp("user=postgres");
    worker
        .execute("CREATE TABLE counted (x int); INSERT INTO counted SELECT generate_series(1, 5000)")
        .unwrap();
    worker.execute("CHECKPOINT").unwrap();
    // The log's position is known at once.
    let soon = statistics.read(&mut session).unwrap();
    assert!(soon["wal_bytes_total"] - before["wal_bytes_total"] > 100_000.0, "{soon:?}");
    // A session hands its counts in once a second at most, and at its end.
    drop(worker);
    let mut open = server.tcp("user=postgres");
    open.execute("BEGIN").unwrap();
    let idle = server.tcp("user=postgres");
    crate::support::wait_for("the statistics to arrive", || {
        let after = statistics.read(&mut session).unwrap();
        let grown = |key: &str| after[key] - before[key];
        grown("tuples_inserted_total") >= 5000.0
            && grown("wal_bytes_total") > 100_000.0
            && grown("checkpoints_requested_total") >= 1.0
            && after["connections_in_transaction"] == 1.0
            && after["connections_idle"] == 1.0
            && after["connections_active"] == 0.0
    });
    drop(idle);
    // The size is read now and then only: not in two readings one behind the other.
    let mut sized = (0..2).map(|_| statistics.read(&mut session).unwrap().contains_key("database_bytes"));
    assert!(sized.any(|sized| !sized));
}

#[test]
fn what_this_user_may_not_read_is_left_out_and_the_rest_is_there() {
    let Some(server) = Server::start(&[]) else { return };
    server.admin().execute("REVOKE SELECT ON pg_stat_bgwriter FROM PUBLIC").unwrap();
    let _other = server.tcp("user=scram_user password='s:c/r@m?'");
    let mut session = server.tcp("user=plain");
    let mut statistics = Statistics::prepare(&mut session, &[]).unwrap();
    let values = statistics.read(&mut session).unwrap();
    assert!(values.contains_key("transactions_committed_total"), "{values:?}");
    assert!(!values.contains_key("buffers_written_total"), "{values:?}");
    assert!(!values.contains_key("connections_active"), "states of others are hidden: {values:?}");
}
