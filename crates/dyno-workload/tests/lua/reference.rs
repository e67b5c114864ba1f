//! Beside the real sysbench: its own installed scripts, unchanged, and scripts of ours that both run. It runs them where
//! recordings are made or compared.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use dyno_test_servers::{Recorded, Sysbench};
use dyno_workload::sysbench::Snapshot;
use dyno_workload::sysbench::lua::{LuaReport, OptionValue};

use crate::run::{Run, read};
use crate::server::{DATABASE, Server, mysql, servers};

static RECORDED: LazyLock<Recorded> =
    LazyLock::new(|| Recorded::open(Path::new("tests/lua/recorded/scripts.json")));

/// sysbench's own script, if it is installed.
fn installed(name: &str) -> Option<PathBuf> {
    Sysbench::find()?;
    let path = Path::new("/usr/share/sysbench").join(name);
    path.is_file().then_some(path)
}

fn with_sizes(run: Run) -> Run {
    run.option("tables", OptionValue::Integer(2)).option("table_size", OptionValue::Integer(500))
}

#[test]
fn the_installed_tests_run_unchanged() {
    // Reads, writes and other of an event.
    let tests = [
        ("oltp_point_select.lua", (1, 0, 0)),
        ("oltp_read_only.lua", (14, 0, 2)),
        ("oltp_read_write.lua", (14, 4, 2)),
        ("oltp_write_only.lua", (0, 4, 2)),
        ("oltp_update_index.lua", (0, 1, 0)),
        ("oltp_update_non_index.lua", (0, 1, 0)),
        ("oltp_insert.lua", (0, 1, 0)),
        ("select_random_points.lua", (1, 0, 0)),
        ("select_random_ranges.lua", (1, 0, 0)),
        ("oltp_delete.lua", (0, 1, 0)),
    ];
    for server in servers().into_iter().chain(mysql()) {
        let Some(path) = installed("oltp_read_write.lua") else { return };
        for table in 1..=2 {
            server.sql(&format!("DROP TABLE IF EXISTS sbtest{table}"));
        }
        assert_eq!(
            with_sizes(Run::of_file(&path, &server)).command("prepare", &server),
            Ok(true),
            "{server}"
        );
        assert_eq!(server.sql("SELECT count(*), min(id), max(id) FROM sbtest2"), "500|1|500", "{server}");
        for (name, per_event) in tests {
            let path = path.with_file_name(name);
            let counts = with_sizes(Run::of_file(&path, &server)).events(20, &server).well();
            assert_eq!(counts.events, 80, "{server} {name}");
            if name == "oltp_delete.lua" {
                // The later of two that draw the same row finds none.
                assert_eq!(counts.writes + counts.other, 80, "{server} {name}");
                continue;
            }
            // Deadlocks restart events.
            let tries = 80 + counts.ignored_errors;
            let (reads, writes, other) = per_event;
            let most = (reads * tries, (writes * tries), other * tries);
            assert!(counts.reads >= reads * 80 && counts.reads <= most.0, "{server} {name}: {counts:?}");
            let touched = counts.writes + counts.other;
            assert!(
                touched >= (writes + other) * 80 && touched <= most.1 + most.2,
                "{server} {name}: {counts:?}"
            );
        }
        assert_eq!(
            with_sizes(Run::of_file(&path, &server)).command("cleanup", &server),
            Ok(true),
            "{server}"
        );
        assert!(server.open().unwrap().query("SELECT 1 FROM sbtest1").is_err(), "{server}");
    }
}

/// Runs our script in the real sysbench.
fn really(server: &Server, script: &str) -> (String, bool) {
    let sysbench = Sysbench::find().unwrap_or_else(|| panic!("there is no sysbench to record"));
    let mut file = tempfile::Builder::new().suffix(".lua").tempfile().unwrap();
    std::io::Write::write_all(&mut file, script.as_bytes()).unwrap();
    let mut command = match server {
        Server::Postgres(server) => sysbench.with_postgres_database(server, DATABASE),
        Server::MySql(server) => sysbench.with_mysql_database(server, DATABASE),
    };
    let output = command.arg(file.path()).args(["--events=1", "--time=0", "run"]).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8(text).unwrap(), output.status.success())
}

/// What a script says of what it sees is the same in both. It says so by a table that both write to.
#[test]
fn scripts_see_what_they_see_in_sysbench() {
    let script = r###"
        function thread_init() con = sysbench.sql.driver():connect() end
        local function say(...)
           local words = {}
           for i = 1, select("#", ...) do words[i] = tostring((select(i, ...))) end
           con:query("INSERT INTO lua_said (said) VALUES ('" .. table.concat(words, " "):gsub("'", "") .. "')")
        end
        function event(id)
           say("event", id, sysbench.tid, thread_id, sysbench.opt.threads > 0, sysbench.version)
           say(tostring(con), tostring(sysbench.sql.driver()), sysbench.sql.driver():name())
           local rs = con:query("SELECT 1, NULL, 'x' UNION ALL SELECT 2, 'y', NULL ORDER BY 1")
           -- All at once: sysbench keeps one result.
           local first, second, third = rs:fetch_row(), rs:fetch_row(), rs:fetch_row()
           say("rows", tonumber(rs.nrows), tonumber(rs.nfields), tostring(rs))
           say("row", first[1], first[2], first[3])
           say("row", second[1], second[2], second[3])
           say("row", third)
           say("query_row", con:query_row("SELECT 5, NULL, 'z'"))
           say("no row", con:query_row("SELECT 1 FROM lua_said WHERE 1 = 0"))
           say("caught", pcall(con.query, con, "SELECT nothing"))
           local statement = con:prepare("INSERT INTO lua_said (number, said) VALUES (?, ?)")
           local number = statement:bind_create(sysbench.sql.type.INT)
           local text = statement:bind_create(sysbench.sql.type.VARCHAR, 4)
           say(tostring(statement), tostring(number), statement:bind_param(number, text))
           number:set(1.9) text:set("abcdefgh") statement:execute()
           number:set(-1.9) text:set("ab") statement:execute()
           say("types", pcall(statement.bind_create, statement, sysbench.sql.type.TIMESTAMP))
           say("closed", statement:close(), con:disconnect())
           return true
        end"###
        .replace("say(\"closed\", statement:close(), con:disconnect())", "say(\"closed\", statement:close())");
    for server in servers() {
        let said = |run: &dyn Fn()| {
            let mut connection = server.open().unwrap();
            connection.execute("DROP TABLE IF EXISTS lua_said").unwrap();
            let key =
                if server.is_mysql() { "integer AUTO_INCREMENT PRIMARY KEY" } else { "serial PRIMARY KEY" };
            connection
                .execute(&format!("CREATE TABLE lua_said (id {key}, number integer, said text)"))
                .unwrap();
            run();
            let sql = "SELECT coalesce(number, 0), said FROM lua_said ORDER BY id";
            let rows = connection.query(sql).unwrap();
            let said = rows.iter().map(|row| format!("{} {}", row.text(0).unwrap(), row.text(1).unwrap()));
            said.map(|line| strip_place(&line)).collect::<Vec<_>>()
        };
        let theirs: Vec<String> = RECORDED.get(&format!("what is seen on {server}"), || {
            said(&|| {
                let (output, success) = really(&server, &script);
                assert!(success, "{output}");
            })
        });
        let ours = said(&|| {
            let run = Run { clients: 1, threads: 1, ..Run::of(&script, &server) };
            run.events(1, &server).well();
        });
        assert!(ours.len() >= 14, "{ours:?}");
        assert_eq!(ours, theirs, "{server}");
    }
}

/// The script's name differs.
fn strip_place(line: &str) -> String {
    match (line.find("false "), line.find(".lua:")) {
        (Some(from), Some(at)) => format!("{}{}", &line[..from + 6], &line[at..]),
        _ => line.to_owned(),
    }
}

#[test]
fn errors_are_told_as_sysbench_tells_them() {
    let scripts = [
        ("an error in an event", "function event()\n  error('boom')\nend"),
        ("a value that is none", "function event()\n  local t = nil\n  t.x = 1\nend"),
        ("an error at the start", "function thread_init()\n  error('boom')\nend\nfunction event() end"),
        (
            "a statement that fails",
            "function event()\n  sysbench.sql.driver():connect():query('SELECT nothing FROM nowhere')\nend",
        ),
    ];
    for server in servers() {
        for (case, script) in scripts {
            let theirs: String = RECORDED.get(&format!("{case} on {server}"), || {
                let (output, success) = really(&server, script);
                assert!(!success, "{output}");
                let told = output.lines().find(|line| line.contains("function failed")).unwrap();
                without_script(told.strip_prefix("FATAL: ").unwrap())
            });
            let run = Run { clients: 1, threads: 1, ..Run::of(script, &server) };
            let ours = run.events(1, &server).failure.unwrap().to_string();
            assert_eq!(without_script(&ours), theirs, "{case} on {server}");
        }
    }
}

/// Of ``thread_run' function failed: /tmp/….lua:2: boom` all but the script's name.
fn without_script(told: &str) -> String {
    let (function, rest) = told.split_once("failed: ").unwrap();
    let rest = rest.split_once(".lua").map_or(rest, |(_, rest)| rest);
    format!("{function}failed: {rest}")
}

#[test]
fn reports_reach_the_hooks() {
    let script = read(
        r###"
        function sysbench.hooks.report_intermediate(stat)
           assert(stat.events == 30 and stat.reads == 60 and stat.latency_min == nil and stat.queue_length == 4)
           sysbench.report_csv(stat)
           sysbench.report_json(stat)
           sysbench.report_default(stat)
        end
        function sysbench.hooks.report_cumulative(stat)
           assert(stat.latency_min == 0.001 and stat.latency_sum == 3 and stat.queue_length == nil)
           error("seen")
        end"###,
    );
    let mut counts = Snapshot { events: 30, reads: 60, ..Snapshot::default() };
    counts.latencies.sum_ns = 3_000_000_000;
    counts.latencies.extremes_ns = Some((1_000_000, 1_000_000_000));
    let report = LuaReport {
        counts: &counts,
        total: Duration::from_secs(2),
        interval: Duration::from_millis(1500),
        threads_running: 2,
        percentile: 95.0,
        queue: Some((4, 1)),
        is_cumulative: false,
    };
    assert_eq!(script.report(&report), Ok(true));
    let cumulative = LuaReport { queue: None, is_cumulative: true, ..report };
    let error = script.report(&cumulative).unwrap_err();
    assert_eq!(
        (error.hook.as_deref(), error.message.as_str()),
        (Some("report_cumulative"), "test.lua:10: seen")
    );
    script.end_reports().unwrap();
    assert_eq!(read("").report(&report), Ok(false));
}
