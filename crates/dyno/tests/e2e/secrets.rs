//! A password is read and used, and stands nowhere afterwards.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dyno_test_servers::{Postgres, Setup};

use crate::home::{Ended, Home};
use crate::server::{database, prefixed, shared};

const PASSWORD: &str = "Tr0ub4dor-und-3";
/// The same as the server keeps it. With fewer iterations than a server makes by itself (4096), of which a program that is
/// built for tests needs a tenth of a second for each connection.
const VERIFIER: &str = "SCRAM-SHA-256$64:ZHluby10ZXN0LXNhbHQtMQ==$YrOkqWxQLHM+wYR1gQZ3n4+zE7lkeJXcwRj1Kj2bOGM=:\
                        7yCxmcWoGU6kv3tpfgOmYwZt7o3hoJURPpcy7m6v9co=";

/// The server that asks for passwords, and a database of a test's own there.
fn server(name: &str) -> Option<(Arc<Postgres>, String)> {
    let server = Postgres::shared(&Setup {
        hba: Some("host all postgres all trust\nhost all all all scram-sha-256\n".to_owned()),
        sql: format!("create role teller login password '{VERIFIER}'"),
        ..Setup::default()
    })?;
    let bank = prefixed(name);
    server.psql(&format!("create database {bank} owner teller"));
    Some((server, bank))
}

const BRIEF: [&str; 10] = [
    "--workload",
    "tpcb/tpcb-like",
    "--clients",
    "2",
    "--transactions",
    "5",
    "--scale",
    "1",
    "--warm-up",
    "0",
];

#[test]
fn a_password_reaches_no_output_and_no_file() {
    let Some((server, bank)) = server("silent_bank") else { return };
    let (host, port) = (server.address.ip(), server.address.port());
    let percent = PASSWORD.replace('-', "%2D");
    let ways = [
        format!("postgres://teller:{PASSWORD}@{host}:{port}/{bank}"),
        format!("postgres://teller:{percent}@{host}:{port}/{bank}"),
        format!("postgres://{host}:{port}/{bank}?user=teller&password={PASSWORD}"),
        format!("host={host} port={port} user=teller password='{PASSWORD}' dbname={bank}"),
    ];
    let home = Home::new();
    // What made the tables knows the password as well.
    let making = [&["run", "--target", &ways[0], "--prepare=always"], &BRIEF[..]].concat();
    assert_silent(&home.dyno(&making).expect(0), "prepare");
    for way in &ways {
        let (joined, short) = (format!("--target={way}"), format!("-t{way}"));
        for further in [&["--target", way][..], &["--json", &joined], &["-q", &short]] {
            let ended = home.dyno(&[&["run"], further, &BRIEF[..]].concat()).expect(0);
            assert_silent(&ended, way);
        }
        // Where no target is expected, it is refused without being quoted.
        let misplaced = home.dyno(&["run", way]).expect(1);
        misplaced.says(&["did you mean --target?"]);
        for ended in [misplaced, home.dyno(&[way]).expect(1), home.dyno(&["run", "quick", way]).expect(1)] {
            assert_silent(&ended, way);
        }
    }
    let shown = home.dyno(&["report"]).expect(0);
    assert_silent(&shown, "report");
    assert_nowhere(&home, PASSWORD);
    assert_nowhere(&home, &percent);
}

#[test]
fn a_password_from_the_environment_or_a_file_is_used() {
    let Some((server, bank)) = server("bank") else { return };
    let home = Home::new();
    let port = server.address.port();
    let target = format!("postgres://teller@127.0.0.1:{port}/{bank}");
    let arguments = [&["run", "--target", &target], &BRIEF[..]].concat();
    home.dyno(&arguments).expect(1).says(&["asks for a password", "PGPASSWORD"]);

    let mut command = home.command(&arguments);
    command.env("PGPASSWORD", PASSWORD);
    Ended::of(command, &arguments).expect(0);

    home.file(".pgpass", &format!("127.0.0.1:{port}:{bank}:teller:{PASSWORD}\n"));
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(home.path(".pgpass"), private).unwrap();
    home.dyno(&arguments).expect(0);
}

#[test]
fn a_password_in_a_file_is_used_and_one_that_is_typed_earns_a_warning() {
    let Some((server, bank)) = server("file_bank") else { return };
    let home = Home::new();
    let url = format!("postgres://teller:{PASSWORD}@{}/{bank}", server.address);
    let file = home.file("targets", &format!("# the bank\n\n  pg={url}\n"));
    let ended = home.dyno(&[&["run", "--target-file", &file], &BRIEF[..]].concat()).expect(0);
    assert!(!ended.err.contains("warning"), "{}", ended.err);
    fs::remove_file(&file).unwrap();
    assert_nowhere(&home, PASSWORD);

    home.dyno(&["run", "--target", &url, "--threads", "0"]).expect(1).says(&["warning", "--target-file"]);
    home.dyno(&["run", "--target-file", &file]).expect(1).says(&["cannot read targets", "No such file"]);
    let empty = home.file("empty", "# nothing\n");
    home.dyno(&["run", "--target-file", &empty]).expect(1).says(&["no line of it names a target"]);
}

#[test]
fn a_hook_has_no_password_and_none_that_it_names_is_stored() {
    let Some((server, bank)) = server("hooked_bank") else { return };
    let home = Home::new();
    let target = format!("postgres://teller@{}/{bank}", server.address);
    let alone = format!("set -x; test {PASSWORD}; env | grep -c -e PGPASS -e TOKEN; true");
    let arguments = [&["run", "--target", &target, "--before", "run", &alone], &BRIEF[..]].concat();
    let mut command = home.command(&arguments);
    command.env("PGPASSWORD", PASSWORD).env("DYNO_TOKEN", "s3cret");
    let ended = Ended::of(command, &arguments).expect(0);
    assert_silent(&ended, "a hook");
    assert_nowhere(&home, PASSWORD);
    let hook = home.report().document()["hooks"][0].clone();
    assert!(hook["action"].as_str().unwrap().contains("test ***"), "{hook}");
    assert!(hook["said"].as_str().unwrap().lines().any(|line| line == "0"), "{hook}");
}

#[test]
fn a_wrong_password_is_told_without_being_shown() {
    let Some((server, bank)) = server("closed_bank") else { return };
    let home = Home::new();
    let wrong = "Tr0ub4dor-und-4";
    for target in [
        format!("postgres://teller:{wrong}@{}/{bank}", server.address),
        // Not a URL that can be read: it is quoted, and still not the password in it.
        format!("postgres://teller:{wrong}@127.0.0.1:port/{bank}"),
        format!("host=127.0.0.1 password={wrong} pasword={wrong} port={}", server.address.port()),
    ] {
        let ended = home.dyno(&[&["run", "--target", &target], &BRIEF[..]].concat()).expect(1);
        assert!(!ended.out.contains(wrong) && !ended.err.contains(wrong), "{}", ended.err);
    }
    let target = format!("postgres://teller:{wrong}@{}/{bank}", server.address);
    let ended = home.dyno(&[&["run", "--target", &target], &BRIEF[..]].concat()).expect(1);
    ended.says(&["teller", "28P01", "password authentication failed"]);
}

/// What a server says is shown and stored, but for the secrets in it.
#[test]
fn words_about_secrets_stay() {
    let Some((server, bank)) = server("talking_bank") else { return };
    let home = Home::new();
    let target = format!("postgres://teller:{PASSWORD}@{}/{bank}", server.address);
    let script = home.file("q.sql", "SELECT cast('it is ' || ':pw' AS int);\n");
    let (defined, value) = (format!("pw={PASSWORD}"), "Xyl0phone-9");
    let other = format!("api_key={value}");
    let load = ["--clients", "1", "--transactions", "2", "--warm-up", "0", "--protocol", "simple"];
    let run = |sql: &str, more: &[&str]| {
        fs::write(&script, sql).unwrap();
        let ended = home.dyno(&[&["run", &script, "--target", &target][..], more, &load].concat());
        let notices = home.report().document()["notices"].to_string();
        assert!(!ended.out.contains(PASSWORD) && !ended.err.contains(PASSWORD), "{}", ended.err);
        (ended, notices)
    };
    let (echoed, notices) = run("SELECT cast('it is :pw' AS int);", &["-D", &defined]);
    assert!(notices.contains("it is ***") && echoed.err.contains("it is ***"), "{notices} {}", echoed.err);
    let (echoed, notices) = run("SELECT cast('it is :api_key' AS int);", &["-D", &other]);
    assert!(notices.contains("it is ***") && !echoed.err.contains(value), "{notices} {}", echoed.err);
    // The value was not stored, so it is asked for again.
    let again = home.dyno(&["run", "--rerun", "last", "--target", &target]).expect(1);
    again.says(&["the value of the variable api_key", "was a secret", "-D api_key=VALUE"]);
    let given = home.dyno(&["run", "--rerun", "last", "--target", &target, "-D", &other]);
    assert!(given.err.contains("it is ***"), "{}", given.err);
    // A text of SQL with a secret in it is read from its file again.
    run(&format!("SELECT length('{PASSWORD}');"), &[]).0.expect(0);
    home.dyno(&["run", "--rerun", "last", "--target", &target]).expect(0);
    let (_, notices) = run("SELECT password FROM pg_class;", &[]);
    assert!(notices.contains("column \\\"password\\\" does not exist"), "{notices}");
    let (header, notices) =
        run("SELECT cast('Authorization: Basic dGVsbGVyOng5 password=hush' AS int);", &[]);
    assert!(notices.contains("Basic *** password=***"), "{notices}");
    assert!(!header.err.contains("hush"), "{}", header.err);
    let (turned, _) = run("SELECT cast(U&'turned \\202E \\009B' AS int);", &[]);
    assert!(turned.err.contains("turned \\u{202e} \\u{9b}"), "{}", turned.err);
    for secret in [PASSWORD, value] {
        fs::remove_file(&script).ok();
        assert_nowhere(&home, secret);
    }
}

/// A password that is a word of dyno's own, or a number of the run's, changes nothing that is measured.
#[test]
fn a_password_that_is_an_ordinary_word_loses_no_measurement() {
    let Some(server) = shared() else { return };
    let open = database(&server, "open_bank");
    for password in ["extended", "select-only", "embedded", "hold", "ladder"] {
        let home = Home::new();
        let target = open.replace("postgres@", &format!("postgres:{password}@"));
        let load = ["--scale", "1", "--clients", "1", "--duration", "200ms", "--warm-up", "0", "--json"];
        let report = home
            .dyno(&[&["run", "tpcb/select-only", "--target", &target], &load[..]].concat())
            .expect(0)
            .report();
        assert_eq!(report.outcome(), "complete", "{password}");
        assert_eq!(report.stages().len(), 1, "{password}");
        assert!(!report.document()["notices"].to_string().contains("secret"), "{password}");
    }
}

/// The front ends print words of servers, too.
#[test]
fn the_drop_ins_hide_secrets_and_control_characters() {
    let Some((server, bank)) = server("dropped_bank") else { return };
    let home = Home::new();
    let sql = format!("SELECT cast(U&'{PASSWORD} \\001B[31m \\202E' AS int);\n");
    let script = home.file("q.sql", &sql);
    let port = server.address.port().to_string();
    let place = ["-h", "127.0.0.1", "-p", &port, "-U", "teller", &bank];
    let lua = home.file("q.lua", &format!("function event() db_query([[{sql}]]) end\n"));
    let options = [
        format!("--pgsql-port={port}"),
        format!("--pgsql-db={bank}"),
        format!("--pgsql-password={PASSWORD}"),
    ];
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let fixed = ["--db-driver=pgsql", "--pgsql-host=127.0.0.1", "--pgsql-user=teller", "--events=1"];
    for arguments in [
        [&["pgbench", "-n", "-t", "1", "-f", &script], &place[..]].concat(),
        [&["sysbench", &lua], &fixed[..], &options, &["run"]].concat(),
    ] {
        let mut command = home.command(&arguments);
        command.env("PGPASSWORD", PASSWORD);
        let ended = Ended::of(command, &arguments);
        let all = format!("{}{}", ended.out, ended.err);
        assert!(all.contains("*** \\e[31m \\u{202e}"), "{all}");
        assert_silent(&ended, arguments[0]);
        assert!(!all.contains(['\u{1b}', '\u{202e}']), "{all}");
    }
}

#[track_caller]
fn assert_silent(ended: &Ended, way: &str) {
    for text in [&ended.out, &ended.err] {
        assert!(!text.contains(PASSWORD), "{way}: {text}");
    }
}

/// Neither the store nor any other file of a home in which dyno has run holds the secret.
#[track_caller]
pub(crate) fn assert_nowhere(home: &Home, secret: &str) {
    let written = files(&home.path(""));
    assert!(written.contains(&home.store()), "{written:?}");
    for file in written {
        // What is no text becomes other characters, and none of the secret's.
        let found = String::from_utf8_lossy(&fs::read(&file).unwrap()).contains(secret);
        assert!(!found, "{} holds the password", file.display());
    }
}

/// Every file under a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
