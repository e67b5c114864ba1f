//! What cannot be done is told before anything is begun: exit status 1, what failed, on what, and what to do next.

use std::os::unix::process::CommandExt as _;
use std::path::Path;

use dyno_test_servers::{Postgres, Setup, copy_program};

use crate::home::{Ended, Home};
use crate::server::{NOBODY, client, database, installed, prefixed, shared, url, value};

#[test]
fn an_option_that_each_stream_says_for_itself_is_refused() {
    let home = Home::new();
    for (own, [option, value]) in [
        ("clients=2", ["--clients", "8"]),
        ("rate=9", ["--rate", "100"]),
        ("clients=2,duration=5s", ["--duration", "9s"]),
    ] {
        let streams = [format!("tp=tpcb/tpcb-like,{own}"), format!("ap=tpcb/select-only,{own}")];
        let words = ["plan", "--stream", &*streams[0], "--stream", &*streams[1], option, value];
        home.dyno(&words).expect(1).says(&[option, "has no effect", "--stream"]);
    }
    // One of them takes it.
    let streams = ["--stream", "tp=tpcb/tpcb-like,rate=9", "--stream", "ap=tpcb/select-only,clients=2"];
    home.dyno(&[&["plan"], &streams[..], &["--clients", "8"]].concat()).expect(0);
}

#[test]
fn what_was_mistyped_is_answered_with_the_nearest_right_one() {
    let home = Home::new();
    for (arguments, words) in [
        (&["run", "--sclae", "10"][..], &["--sclae", "--scale"][..]),
        (&["runn"], &["runn", "run"]),
        (&["run", "--workload", "tpcb/select-onyl"], &["tpcb/select-onyl", "tpcb/select-only"]),
        (&["run", "--prepare=nevr"], &["nevr", "never"]),
        (&["run", "quikc"], &["quikc", "dyno scenarios"]),
        (&["run", "events/ingst"], &["did you mean events/ingest?"]),
        (&["run", "nowhere.toml"], &["nowhere.toml", "No such file"]),
        (&["run", "--profile", "prodcution"], &["prodcution", "production"]),
        (&["run", "--server", "mysql"], &["mysql"]),
        (&["run", "--poller", "urnig"], &["urnig", "uring"]),
        (&["run", "--target", "postgers://h/db"], &["postgers"]),
        (&["run", "--target", "postgres://h/db?sslmod=require"], &["sslmod", "sslmode"]),
    ] {
        let ended = home.dyno(arguments).expect(1);
        ended.says(words);
        assert_eq!(ended.out, "");
    }
}

/// Nobody is asked: without authorities no server could be trusted.
#[test]
fn a_file_of_authorities_that_is_none_is_named_with_its_variable() {
    let home = Home::new();
    let broken = "-----BEGIN CERTIFICATE-----\nbm8gY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n";
    for (name, text, why) in [
        ("missing.pem", None, "No such file"),
        ("empty.pem", Some(""), "it holds no certificate"),
        ("odd.pem", Some("no PEM\n"), "it holds no certificate"),
        ("broken.pem", Some(broken), "none of its certificates can be used"),
    ] {
        let file = home.path(name);
        if let Some(text) = text {
            home.file(name, text);
        }
        no_roots(&home, ("SSL_CERT_FILE", &file), &file, why);
    }
}

/// The authorities that a variable names are of no use to any driver: the error names the variable and the file.
#[track_caller]
fn no_roots(home: &Home, (variable, place): (&str, &Path), file: &Path, why: &str) {
    for target in [
        format!("postgres://{NOBODY}/x?sslmode=verify-full&sslrootcert=system"),
        format!("mysql://{NOBODY}/x?ssl-mode=VERIFY_CA"),
        format!("clickhouses://{NOBODY}/x"),
    ] {
        let run = ["run", "tpch", "--target", &target];
        let mut command = home.command(&run);
        command.env_remove("SSL_CERT_FILE").env(variable, place);
        let ended = Ended::of(command, &run).expect(1);
        ended.says(&[variable, &file.display().to_string(), why]);
    }
}

/// Without a file the directories are looked at.
#[test]
fn a_directory_of_authorities_that_has_none_is_named_with_its_variable() {
    let home = Home::new();
    for directory in ["empty", "odd", "broken"] {
        std::fs::create_dir(home.path(directory)).unwrap();
    }
    home.file("odd/a.pem", "no PEM\n");
    let broken = "-----BEGIN CERTIFICATE-----\nbm8gY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n";
    home.file("broken/b.pem", broken);
    for (directory, file, why) in [
        ("missing", "missing", "No such file"),
        ("empty", "empty", "it has no file with root certificates"),
        ("odd", "odd/a.pem", "it holds no certificate"),
        ("broken", "broken/b.pem", "none of its certificates can be used"),
    ] {
        no_roots(&home, ("SSL_CERT_DIR", &home.path(directory)), &home.path(file), why);
    }
}

/// As for `dyno … 2>&1 | head`, when `head` has ended.
#[test]
fn an_error_that_nobody_reads_keeps_its_exit_status() {
    let home = Home::new();
    let unreachable = format!("postgres://{NOBODY}/db");
    let query = home.file("one.sql", "SELECT 1");
    for arguments in [
        &["run", "tpcb", "--target", &unreachable][..],
        &["run", &query, "--target", "mysql://u:secret@127.0.0.1:1/db"],
        &["run", "--sclae", "10"],
        &["pgbench", "-h", "127.0.0.1", "-p", "1"],
        &[
            "sysbench",
            "oltp_read_only",
            "--db-driver=pgsql",
            "--pgsql-host=127.0.0.1",
            "--pgsql-port=1",
            "run",
        ],
    ] {
        assert_eq!(unread(&home, arguments), [Some(1); 3], "{arguments:?}");
    }
    for arguments in [
        &["plan"][..],
        &["workloads"],
        &["run", "--help"],
        &["run", "tpch", "--help"],
        &["completions", "zsh"],
    ] {
        assert_eq!(unread(&home, arguments), [Some(0); 3], "{arguments:?}");
    }
}

/// Exit statuses with standard output closed, with standard error, and with both.
fn unread(home: &Home, arguments: &[&str]) -> [Option<i32>; 3] {
    [(true, false), (false, true), (true, true)].map(|(out, err)| {
        let (_, closed) = std::io::pipe().unwrap();
        let mut command = home.command(arguments);
        if out {
            command.stdout(closed.try_clone().unwrap());
        }
        if err {
            command.stderr(closed);
        }
        command.output().unwrap().status.code()
    })
}

/// As for `dyno run … | head`: steps of the preparation have been told, and it fails.
#[test]
fn a_preparation_that_fails_unread_keeps_its_exit_status() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let (target, user) = (database(&server, "unread"), prefixed("unread"));
    value(&server, "unread", &format!("create role {user} login"));
    value(&server, "unread", "revoke create on schema public from public");
    let target = target.replace("postgres@", &format!("{user}@"));
    for family in ["tpcb", "sysbench", "events"] {
        let arguments = ["run", family, "--target", &target];
        home.dyno(&arguments).expect(1).says(&["permission denied", "42501"]);
        assert_eq!(unread(&home, &arguments), [Some(1); 3], "{family}");
    }
}

#[test]
fn shells_are_told_what_they_complete() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = home.dyno(&["completions", shell]).expect(0).out;
        assert!(script.contains(&format!("dyno completions {shell} -- ")), "{script}");
        let scenarios = home.dyno(&["completions", shell, "--", "dyno", "run", "qui"]).expect(0).out;
        assert!(scenarios.starts_with("quick") && scenarios.lines().count() == 1, "{scenarios}");
    }
    home.dyno(&["completions", "sh"]).expect(1).says(&["bash", "zsh", "fish"]);
    let file = crate::sqlite::target(&home, "a.db", "");
    let load = ["--scale", "1", "--clients", "1", "--transactions", "1", "--warm-up", "0", "--json"];
    let run =
        home.dyno(&[&["run", "tpcb/select-only", "--target", &file], &load[..]].concat()).expect(0).report();
    let name = run.document()["run"]["name"].as_str().unwrap().to_owned();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_dyno")).parent().unwrap();
    for (words, offered) in [
        ("dyno run ycsb/m", "ycsb/mix"),
        ("dyno report ''", &format!("last {name}")),
        ("dyno compare last 20", &name),
        ("dyno run --rerun = 20", &name),
        ("dyno report --csv ''", ""),
    ] {
        let count = words.split(' ').count() - 1;
        let asked = format!(
            "source <(dyno completions bash); COMP_WORDS=({words}); COMP_CWORD={count}; _dyno; echo \"${{COMPREPLY[*]}}\""
        );
        let mut bash = std::process::Command::new("/bin/bash");
        bash.args(["-c", &asked]).env_clear().env("HOME", home.path(""));
        bash.env("PATH", format!("{}:/usr/bin:/bin", program.display()));
        let ended = Ended::of(bash, &[words]).expect(0);
        assert_eq!(ended.out.trim(), offered, "{words}: {}", ended.err);
    }
}

#[test]
fn a_wrong_scenario_is_told_with_its_line() {
    let home = Home::new();
    for (text, words) in [
        ("version = 1\nqiuck = true\n", &["line 2", "qiuck", "did you mean `quick`?"][..]),
        ("version = 1\nseed = 'ten'\n", &["line 2", "ten"]),
        ("version = 1\n[[phases]]\nwarm-up = 'a while'\n", &["line 3", "a while", "30s"]),
        (
            "version = 1\n[[phases]]\n[[phases.streams]]\nprotocol = 'prepard'\n",
            &["line 4", "did you mean `prepared`?"],
        ),
        ("seed = \n", &["line 1"]),
    ] {
        let scenario = home.file("mine.toml", text);
        let ended = home.dyno(&["run", &scenario]).expect(1);
        ended.says(&[words, &["mine.toml"]].concat());
        assert_eq!(ended.err.matches("is wrong at line").count(), 1, "{}", ended.err);
    }
}

#[test]
fn what_is_no_scenario_is_told_for_what_it_is() {
    let home = Home::new();
    let lua = home.file("mine.lua", "function event() end\n");
    for arguments in [&["run", &lua][..], &["plan", &lua], &["run", "--workload", &lua]] {
        home.dyno(arguments).expect(1).says(&["Lua script", "dyno sysbench"]);
    }
    for (name, content) in [("mine.txt", "hello\n"), ("mine.csv", "a,b\n"), ("mine", "seed = 7\n")] {
        let file = home.file(name, content);
        let ended = home.dyno(&["run", &file]).expect(1);
        ended.says(&["is no file that", name, "FILE.toml", "FILE.sql", "dyno sysbench"]);
        assert!(!ended.err.contains("line 1"), "{}", ended.err);
    }
    let scenario = home.file("mine.scenario", "version = 1\nqiuck = true\n");
    home.dyno(&["plan", &scenario]).expect(1).says(&["line 2", "did you mean `quick`?"]);
    home.dyno(&["plan", "./missing.txt"]).expect(1).says(&["missing.txt", "No such file", "FILE.toml"]);
    let queries = home.path("day=2/queries").display().to_string();
    home.dyno(&["run", &queries]).expect(1).says(&["cannot read the queries", "day=2"]);
    for path in ["./day=2/a.db", "day=2/a.db", "day=2"] {
        home.dyno(&["run", "--target", path]).expect(1).says(&["a target is written", "sqlite:FILE", "day="]);
    }
    home.dyno(&["run", "--target", "day=2 host=h"]).expect(1).says(&["no connection parameter", "day"]);
    home.dyno(&["run", "host=/tmp dbname=d"]).expect(1).says(&["--target"]);
    home.dyno(&["run", "--hold", "3", "min"]).expect(1).says(&["--hold 3min", "'3 min'"]);
    for number in ["nan", "inf", "-inf", "-3", "0.5"] {
        let text = format!("version = 1\n[[systems]]\ndata.ycsb = {{ records = {number} }}\n");
        let scenario = home.file("mine.toml", &text);
        home.dyno(&["plan", &scenario]).expect(1);
    }
    let scenario = home.file("mine.toml", "version = 1\n[[systems]]\ndata.ycsb.records = nan\n");
    home.dyno(&["plan", &scenario]).expect(1).says(&["systems.data.ycsb.records", "nan"]);
}

#[test]
fn what_does_not_go_together_is_refused() {
    let home = Home::new();
    for arguments in [
        &["run", "--target", "postgres://h/d", "--profile", "extreme"][..],
        &["run", "--target", "postgres://h/d", "--data-dir", "/tmp"],
        &["run", "--transactions", "5", "--clients", "1..4"],
        &["run", "--transactions", "5", "--rate", "1..4/s"],
        &["run", "latency", "--think-time", "1s"],
        &["run", "quick", "--arrivals", "constant"],
        &["run", "--duration", "1s", "--transactions", "5"],
        &["run", "--rate", "5/s", "--think-time", "1s"],
        &["run", "--rate", "5/s", "--hold", "1s"],
        &["run", "--duration", "1s", "--clients", "1,2"],
        &["run", "--arrivals", "constant"],
        &["run", "oltp_read_write", "--workload", "tpcb"],
    ] {
        home.dyno(arguments).expect(1).says(&["error:"]);
    }
}

#[test]
fn absurd_quantities_are_refused_with_what_would_be_right() {
    if !installed() {
        return;
    }
    let home = Home::new();
    let servers = home.servers();
    for (arguments, words) in [
        (&["--scale", "0"][..], &["--scale 0 is too little", "1 and more"][..]),
        (&["--scale", "1.5"], &["--scale 1.5 is no whole number"]),
        (&["--scale", "4000000000"], &["--scale 4000000000 is too much", "1,000,000"]),
        (&["--scale=-1"], &["--scale", "-1"]),
        (&["--clients", "0"], &["clients"]),
        (&["--clients", "4,x"], &["4,x"]),
        (&["--rate", "0"], &["above 0"]),
        (&["--rate", "20000k/s"], &["20000k/s", "10,000,000/s"]),
        (&["--max-tries", "0"], &["--max-tries", "1"]),
        (&["--rate=-5/s"], &["--rate", "-5/s"]),
        (&["--duration", "0"], &["--duration", "100ms"]),
        (&["--duration", "soon"], &["soon", "30s"]),
        (&["--transactions", "0"], &["--transactions", "1"]),
        (&["--threads", "0"], &["--threads"]),
    ] {
        let call = [&["run", "--quick", "--data-dir", &servers], arguments].concat();
        home.dyno(&call).expect(1).says(words);
    }
    assert!(home.server_directories().is_empty());
}

#[test]
fn a_page_that_cannot_be_written_is_told_before_the_run() {
    let home = Home::new();
    let file = home.file("file", "");
    let ended = home.dyno(&["run", "--target", "postgres://h/d", "--html", &format!("{file}/page.html")]);
    ended.expect(1).says(&["cannot write", "file/page.html"]);
    let missing = home.path("missing");
    for command in [&["run", "--target", "postgres://h/d", "--html"][..], &["run", "--html"]] {
        let page = missing.join("page.html").display().to_string();
        home.dyno(&[command, &[&page]].concat()).expect(1).says(&["cannot write", "missing does not exist"]);
    }
    assert!(!missing.exists(), "no directory is made");
    home.dyno(&["run", "--html", "-"]).expect(1).says(&["--html", "standard output"]);
    assert!(!home.store().exists(), "nothing was begun");
}

#[test]
fn a_server_that_is_not_there_is_told_with_its_address() {
    let home = Home::new();
    let target = format!("postgres://me@{NOBODY}/bank");
    let ended = home.dyno(&["run", "--target", &target]).expect(1);
    ended.says(&["cannot connect", NOBODY, "connection refused"]);
    let missing = home.path("no-socket");
    let target = format!("host={} user=me", missing.display());
    home.dyno(&["run", "--target", &target]).expect(1).says(&["no-socket", "socket"]);
    home.dyno(&["run", "--target", "postgres://me@host.invalid/bank"]).expect(1).says(&["host.invalid"]);
}

#[test]
fn what_the_server_refuses_is_told_in_its_words() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let run = |target: &str, further: &[&str]| home.dyno(&[&["run", "--target", target], further].concat());
    let missing = url(&server, "no_such_database");
    run(&missing, &[]).expect(1).says(&["no_such_database", "does not exist", "3D000", "CREATE DATABASE"]);
    let stranger = format!("postgres://nobody_here@{}/postgres", server.address);
    run(&stranger, &[]).expect(1).says(&["nobody_here", "does not exist"]);
    let plain = format!("{}?sslmode=require", url(&server, "postgres"));
    run(&plain, &[]).expect(1).says(&["TLS", "sslmode=disable"]);
}

#[test]
fn tables_that_are_missing_or_not_the_workloads_are_told() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let empty = database(&server, "without_tables");
    let never = home.dyno(&["run", "--target", &empty, "--prepare=never"]).expect(1);
    never.says(&["the tables of tpcb are missing", "--prepare"]);

    let foreign = database(&server, "foreign_tables");
    let _ = value(&server, "foreign_tables", "create table pgbench_accounts as select 7 as mine");
    for prepare in ["--prepare=auto", "--prepare=always", "--prepare=never"] {
        let ended = home.dyno(&["run", "--target", &foreign, prepare, "--scale", "1"]).expect(1);
        ended.says(&["pgbench_accounts", "mine"]);
    }
    assert_eq!(
        value(&server, "foreign_tables", "select mine from pgbench_accounts"),
        "7",
        "it was left alone"
    );

    let scaled = database(&server, "other_scale");
    let _ = client(&server, "pgbench", "other_scale", &["-i", "-q", "-s", "1"]);
    home.dyno(&["run", "--target", &scaled, "--scale", "3"]).expect(1).says(&["scale 1", "3", "--prepare"]);
}

#[test]
fn a_table_that_somebody_else_keeps_locked_is_told() {
    let Some(server) = shared() else { return };
    let target = database(&server, "locked");
    let _ = client(&server, "pgbench", "locked", &["-i", "-q", "-s", "1"]);
    let home = Home::new();
    // As somebody who writes and does not commit, until the session is ended from here.
    let holding = "begin; lock pgbench_history in row exclusive mode; select pg_sleep(3600)";
    std::thread::scope(|scope| {
        let holder =
            scope.spawn(|| server.command("psql", &prefixed("locked")).args(["-X", "-c", holding]).output());
        let is_locked =
            "select count(*) from pg_locks where granted and relation = 'pgbench_history'::regclass";
        while value(&server, "locked", is_locked) == "0" {
            assert!(!holder.is_finished(), "the lock was not taken");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let ended = home.dyno(&["run", "--target", &target, "--workload", "tpcb/tpcb-like"]);
        let end = "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() \
                   and query like '%pg_sleep(3600)' and pid <> pg_backend_pid()";
        let _ = value(&server, "locked", end);
        ended.expect(1).says(&["pgbench_history", "locked for 10 s", "pg_locks"]);
    });
}

#[test]
fn too_few_connections_are_told_with_the_number_that_fits() {
    let Some(server) = Postgres::start(&Setup::default().with("max_connections=12")) else { return };
    let home = Home::new();
    let target = url(&server, "postgres");
    let ended = home.dyno(&["run", "--target", &target, "--scale", "1", "--clients", "1,4,50"]).expect(1);
    ended.says(&["50 clients", "--clients 1,4", "max_connections"]);
    // Nothing was made for a load that cannot run.
    assert_eq!(value(&server, "postgres", "select to_regclass('pgbench_accounts')"), "");
}

/// How many threads a program may start is the system's to say.
#[test]
fn a_thread_that_cannot_be_started_is_an_error() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    let target = database(&server, "few_threads");
    let (port, name) = (server.address.port().to_string(), prefixed("few_threads"));
    // Root may start any number: a user of whom there is no other process.
    let (directory, program) = (home.path("few"), home.path("few/dyno"));
    std::fs::create_dir(&directory).unwrap();
    copy_program(Path::new(env!("CARGO_BIN_EXE_dyno")), &program);
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        std::os::unix::fs::chown(&directory, Some(UNUSED), None).unwrap();
    }
    home.dyno(&[
        "run",
        "tpcb/select-only",
        "--target",
        &target,
        "--scale",
        "1",
        "--clients",
        "1",
        "--transactions",
        "1",
    ])
    .expect(0);
    let pgsql = [format!("--pgsql-port={port}"), format!("--pgsql-db={name}")];
    let script = home.file("event.lua", "function event() end");
    let calls: [&[&str]; 3] = [
        &[
            "pgbench",
            "--no-dyno",
            "-n",
            "-S",
            "-P",
            "1",
            "-t",
            "1",
            // A name is looked up on a thread.
            "-h",
            "localhost",
            "-p",
            &port,
            "-U",
            "postgres",
            &name,
        ],
        &[
            "sysbench",
            &script,
            "run",
            "--events=1",
            "--report-interval=1",
            "--db-driver=pgsql",
            "--pgsql-host=127.0.0.1",
            "--pgsql-user=postgres",
            &pgsql[0],
            &pgsql[1],
        ],
        &[
            "run",
            "tpcb/select-only",
            "--target",
            &target,
            "--scale",
            "1",
            "--clients",
            "1",
            "--transactions",
            "1",
        ],
    ];
    for arguments in calls {
        for threads in 1..5 {
            let limited = format!("ulimit -u {threads}; exec \"$0\" \"$@\"");
            let mut command = std::process::Command::new("/bin/bash");
            command.arg("-c").arg(&limited).arg(&program).args(arguments).current_dir(&directory).env_clear();
            command.env("HOME", &directory).env("DYNO_SYSBENCH", "off");
            if is_root {
                command.uid(UNUSED).gid(UNUSED);
            }
            let ended = Ended::of(command, arguments);
            assert!(!ended.err.contains("panicked"), "{threads} threads: {}", ended.err);
            if threads == 1 {
                assert!(matches!(ended.code, Some(1 | 2)), "{arguments:?}: {:?} {}", ended.code, ended.out);
                let said = format!("{} {}", ended.err, ended.out);
                let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(said.contains("cannot start a thread"), "{arguments:?}: {said}");
            }
        }
    }
}

/// A user id that nobody has.
const UNUSED: u32 = 48_221;

#[test]
fn every_command_has_help_with_examples() {
    let home = Home::new();
    let overview = home.dyno(&["--help"]).expect(0).out;
    for command in ["run", "report", "runs", "findings"] {
        assert!(overview.contains(command));
        let help = home.dyno(&[command, "--help"]).expect(0).out;
        assert!(help.contains("Examples:") && help.contains(&format!("dyno {command}")), "{help}");
    }
    for command in ["workloads", "scenarios", "targets"] {
        assert!(!home.dyno(&[command]).expect(0).out.is_empty());
        let listed = home.dyno(&[command, "--json"]).expect(0).json();
        assert_eq!(listed["schema"], format!("dyno.{command}/1"));
    }
    let targets = home.dyno(&["targets"]).expect(0).out;
    for scheme in ["postgres://", "mysql://", "sqlite:", "clickhouse://", "hive2://"] {
        assert!(targets.contains(&format!("\n  {scheme}")), "{scheme}: {targets}");
    }
    home.dyno(&["--version"]).expect(0);
    home.dyno(&[]).expect(1);
}

#[test]
fn a_right_that_is_missing_is_told_with_the_grant() {
    let Some(server) = shared() else { return };
    let target = database(&server, "granted");
    let reader = prefixed("reader");
    let home = Home::new();
    let small =
        ["--tables", "1", "--table-size", "100", "--clients", "1", "--transactions", "5", "--warm-up", "0"];
    let run = |target: &str| {
        home.dyno(&[&["run", "sysbench/oltp_update_index", "--target", target], &small[..]].concat())
    };
    run(&target).expect(0);
    value(&server, "granted", &format!("create role {reader} login"));
    value(&server, "granted", &format!("grant select on all tables in schema public to {reader}"));
    let ended = run(&target.replace("postgres@", &format!("{reader}@"))).expect(1);
    ended.says(&["42501", "GRANT SELECT, INSERT, UPDATE, DELETE"]);
    assert!(!ended.err.contains("--prepare"), "{}", ended.err);
}
