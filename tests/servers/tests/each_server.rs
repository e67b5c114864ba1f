//! Each of the four servers is what it says, starts and stops, and leaves nothing behind.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use dyno_test_servers::{Mysql, MysqlProduct, MysqlSetup, Postgres, Setup, Sysbench, succeed};

fn start(product: MysqlProduct) -> Option<Mysql> {
    Mysql::start(&MysqlSetup::new(product))
}

/// Runs `job` for each product, at the same time.
fn on_each(products: &[MysqlProduct], job: impl Fn(MysqlProduct) + Sync) {
    thread::scope(|scope| {
        for product in products {
            let job = &job;
            scope.spawn(move || job(*product));
        }
    });
}

/// One that has ended has no command line any more, even if nobody has asked yet how it ended.
fn is_running(pid: u32) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|command| !command.is_empty())
}

#[track_caller]
fn assert_nothing_left(pid: u32, directory: &Path) {
    assert!(!is_running(pid), "process {pid} is still there");
    assert!(!directory.exists(), "{} is still there", directory.display());
    assert_eq!(running_in(directory), None);
}

/// A process in whose command line the directory stands.
fn running_in(directory: &Path) -> Option<PathBuf> {
    let name = directory.file_name().unwrap().to_str().unwrap();
    let mut processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    processes.find(|process| {
        let command = std::fs::read(process.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(name)
    })
}

/// It answers, says what it is, starts again with what it had committed after it was stopped in order or killed, and then
/// goes.
fn lives_and_goes(product: MysqlProduct, is_it: impl Fn(&str) -> bool) {
    let Some(mut server) = start(product) else { return };
    let version = server.sql("select version()");
    assert!(is_it(version.trim()), "{version}");
    assert_eq!(server.sql("select 6 * 7, database()"), "42\ttest\n");
    assert_eq!(
        server.sql("select count(*) from information_schema.tables where table_schema = 'test'"),
        "0\n"
    );
    assert!(server.socket().exists());

    server.sql("create table kept (id int primary key); insert into kept values (7)");
    let (address, first) = (server.address, server.pid());
    server.stop();
    assert!(!is_running(first));
    server.restart();
    assert_eq!(server.sql("select id from kept"), "7\n");

    server.sql("insert into kept values (8)");
    let second = server.pid();
    server.kill();
    assert!(!is_running(second));
    server.restart();
    assert_eq!(server.address, address);
    assert_eq!(server.sql("select sum(id) from kept"), "15\n");

    let (pid, directory) = (server.pid(), server.directory().to_owned());
    assert!(is_running(pid));
    drop(server);
    assert_nothing_left(pid, &directory);
}

#[test]
fn mysql_lives_and_goes() {
    let major = |version: &str| version.split('.').next()?.parse::<u32>().ok();
    lives_and_goes(MysqlProduct::Mysql, |it| !it.contains("MariaDB") && major(it) >= Some(9));
}

#[test]
fn mariadb_lives_and_goes() {
    lives_and_goes(MysqlProduct::MariaDb, |it| it.starts_with("10.11.") && it.contains("MariaDB"));
}

#[test]
#[ignore = "slow: seekdb"]
fn seekdb_lives_and_goes() {
    lives_and_goes(MysqlProduct::SeekDb, |it| it.starts_with("5.7.25-OceanBase seekdb"));
}

#[test]
fn postgres_lives_and_goes() {
    let Some(server) = Postgres::start(&Setup::default()) else { return };
    assert!(server.psql("select version()").starts_with("PostgreSQL "));
    let (pid, directory) = (server.pid(), server.directory().to_owned());
    assert!(is_running(pid));
    drop(server);
    assert_nothing_left(pid, &directory);
}

#[test]
fn two_of_each_run_at_once_apart() {
    on_each(MysqlProduct::tested(), |product| {
        let starting = [(); 2].map(|()| thread::spawn(move || start(product)));
        let [Some(one), Some(other)] = starting.map(|it| it.join().unwrap()) else { return };
        assert_ne!(one.address, other.address);
        one.sql("create table here (id int primary key)");
        let count = "select count(*) from information_schema.tables where table_schema = 'test'";
        assert_eq!((one.sql(count).trim(), other.sql(count).trim()), ("1", "0"), "{product}");
    });
}

#[test]
#[ignore = "slow: seekdb"]
fn settings_and_sql_of_seekdb_are_there_from_the_start() {
    let setup = MysqlSetup::new(MysqlProduct::SeekDb).with("cpu_count=3").with_sql("create table t (n int)");
    let Some(server) = Mysql::start(&setup) else { return };
    let shown = server.sql("show parameters like 'cpu_count'");
    assert!(shown.split('\t').any(|field| field == "3"), "{shown}");
    assert_eq!(server.sql("select count(*) from t"), "0\n");
}

/// Users are checked by the plugin that was asked for, over TCP, with TLS and without.
#[test]
fn settings_sql_users_and_tls_are_as_asked_for() {
    on_each(MysqlProduct::tested(), |product| {
        let plugins: &[&str] = match product {
            MysqlProduct::Mysql => &["caching_sha2_password", "sha256_password"],
            MysqlProduct::MariaDb => &["mysql_native_password", "ed25519"],
            MysqlProduct::SeekDb => &["mysql_native_password"],
        };
        let setup =
            plugins.iter().fold(MysqlSetup::new(product), |it, plugin| it.with_user(plugin, "right", plugin));
        if product == MysqlProduct::SeekDb {
            let Some(server) = Mysql::start(&setup) else { return };
            plugins.iter().for_each(|plugin| comes_in_with_his_own_password_only(&server, plugin, false));
            return;
        }
        let setup = setup.with("max_connections=17").with_sql("create table t select 5 as n");
        for setup in [setup.clone(), setup.with_tls()] {
            let Some(server) = Mysql::start(&setup) else { return };
            assert_eq!(server.sql("select @@global.max_connections, n from t"), "17\t5\n", "{product}");
            let cipher = server.sql("show session status like 'Ssl_cipher'").replace("Ssl_cipher\t", "");
            assert_eq!(!cipher.trim().is_empty(), setup.tls, "{product}: {cipher}");
            assert_eq!(server.authority(), server.directory().join("ca.crt"));
            plugins.iter().for_each(|plugin| comes_in_with_his_own_password_only(&server, plugin, setup.tls));
        }
    });
}

/// A user who is called as his plugin is.
fn comes_in_with_his_own_password_only(server: &Mysql, plugin: &str, tls: bool) {
    let product = server.product();
    let who = |password| {
        let output = server.client(plugin, password).args(["-e", "select current_user()"]).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    assert_eq!(who("right"), (true, format!("{plugin}@%")), "{product}, TLS: {tls}");
    assert!(!who("wrong").0, "{product} lets anybody in as {plugin}");
    let sql = format!("select plugin from mysql.user where user = '{plugin}'");
    if product != MysqlProduct::SeekDb {
        assert_eq!(server.sql(&sql).trim(), plugin, "{product}");
    }
}

/// sysbench can prepare and run its read_write on every server.
#[test]
fn sysbench_works_with_each() {
    let Some(sysbench) = Sysbench::find() else { return };
    let run = |sysbench: &dyn Fn() -> Command, count: &dyn Fn(&str) -> String| {
        let test = ["oltp_read_write", "--tables=2", "--table-size=50", "--events=20", "--time=0"];
        succeed(sysbench().args(test).arg("prepare"));
        assert_eq!(count("sbtest2").trim(), "50");
        let said = succeed(sysbench().args(test).arg("run"));
        let events = said.lines().find_map(|line| line.trim().strip_prefix("total number of events:"));
        assert_eq!(events.map(str::trim), Some("20"), "{said}");
    };
    on_each(MysqlProduct::tested(), |product| {
        let Some(server) = Mysql::shared(&MysqlSetup::new(product)) else { return };
        server.sql("drop database if exists each_server; create database each_server");
        let count = |table: &str| server.sql(&format!("select count(*) from each_server.{table}"));
        run(&|| sysbench.with_mysql_database(&server, "each_server"), &count);
    });
    let Some(server) = Postgres::shared(&Setup::default()) else { return };
    server.psql("drop database if exists each_server");
    server.psql("create database each_server");
    let count = |table: &str| {
        let select = format!("select count(*) from {table}");
        server.client("psql", "each_server", &["-X", "-q", "-A", "-t", "-c", &select])
    };
    run(&|| sysbench.with_postgres_database(&server, "each_server"), &count);
}

/// Set for a process of this test that does nothing but ask for a shared server, which is never dropped.
const ASKS_FOR_ONE: &str = "DYNO_TEST_ASKS_FOR_ONE";

#[test]
fn asks_for_a_shared_server() {
    if std::env::var_os(ASKS_FOR_ONE).is_none() {
        return;
    }
    let Some(server) = Postgres::shared(&Setup::default()) else { return };
    println!("\nserver {} {}", server.pid(), server.directory().display());
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// A process that has a shared server, of this run if there is one; `None` where there is no such server.
struct Asking {
    process: Child,
    pid: u32,
    directory: PathBuf,
}

impl Asking {
    fn start(run: Option<&Path>) -> Option<Self> {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "asks_for_a_shared_server", "--nocapture"]);
        command.env(ASKS_FOR_ONE, "1").env_remove("DYNO_TEST_RUN");
        if let Some(run) = run {
            command.env("DYNO_TEST_RUN", run);
        }
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        let told = lines.find_map(|line| Some(line.strip_prefix("server ")?.to_owned()));
        let Some(told) = told else {
            println!("skipped: no server to share");
            process.wait().unwrap();
            return None;
        };
        let (pid, directory) = told.split_once(' ').unwrap();
        Some(Self { process, pid: pid.parse().unwrap(), directory: PathBuf::from(directory) })
    }

    fn end(mut self, kill: bool) {
        if kill {
            self.process.kill().unwrap();
        }
        drop(self.process.stdin.take());
        self.process.wait().unwrap();
    }
}

/// Waits until nothing is left of a server, and of who sees to that.
fn assert_goes(pid: u32, directory: &Path) {
    let begun = Instant::now();
    while running_in(directory).is_some() && begun.elapsed() < Duration::from_secs(300) {
        thread::sleep(Duration::from_millis(10));
    }
    assert_nothing_left(pid, directory);
}

#[test]
fn a_shared_server_goes_with_its_process_however_that_ends() {
    for kill in [false, true] {
        let Some(asking) = Asking::start(None) else { return };
        let (pid, directory) = (asking.pid, asking.directory.clone());
        asking.end(kill);
        assert_goes(pid, &directory);
    }
}

#[test]
fn the_processes_of_a_run_share_a_server_that_goes_with_the_run() {
    let run = tempfile::tempdir().unwrap();
    let alive = run.path().join("alive");
    succeed(Command::new("mkfifo").arg(&alive));
    let alive = File::options().read(true).write(true).open(alive).unwrap();
    let Some(first) = Asking::start(Some(run.path())) else { return };
    let (pid, directory) = (first.pid, first.directory.clone());
    let second = Asking::start(Some(run.path())).unwrap();
    assert_eq!((second.pid, &second.directory), (pid, &directory));
    first.end(true);
    assert!(is_running(pid));
    let third = Asking::start(Some(run.path())).unwrap();
    assert_eq!(third.pid, pid);
    second.end(false);
    third.end(false);
    assert!(is_running(pid));
    drop(alive);
    assert_goes(pid, &directory);
}
