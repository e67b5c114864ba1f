//! Each of the four servers is what it says, starts and stops, and leaves nothing behind.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use dyno_test_servers::{Mysql, MysqlProduct, MysqlSetup, Postgres, Setup, Shared, Sysbench, succeed};

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

/// It answers, says what it is, is stopped in order and started again, and then goes.
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
    let first = server.pid();
    server.stop();
    assert!(!is_running(first));
    server.restart();
    assert_eq!(server.sql("select id from kept"), "7\n");

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
    on_each(&MysqlProduct::ALL, |product| {
        let starting = [(); 2].map(|()| thread::spawn(move || start(product)));
        let [Some(one), Some(other)] = starting.map(|it| it.join().unwrap()) else { return };
        assert_ne!(one.address, other.address);
        one.sql("create table here (id int primary key)");
        let count = "select count(*) from information_schema.tables where table_schema = 'test'";
        assert_eq!((one.sql(count).trim(), other.sql(count).trim()), ("1", "0"), "{product}");
    });
}

#[test]
fn a_killed_one_starts_again_with_what_it_had_committed() {
    on_each(&MysqlProduct::ALL, |product| {
        let Some(mut server) = start(product) else { return };
        server.sql("create table kept (id int primary key); insert into kept values (1), (2)");
        let (address, first) = (server.address, server.pid());
        server.kill();
        assert!(!is_running(first));
        server.restart();
        assert_eq!(server.address, address);
        assert_eq!(server.sql("select sum(id) from kept"), "3\n", "{product}");
    });
}

#[test]
fn settings_and_sql_are_there_from_the_start() {
    for product in [MysqlProduct::Mysql, MysqlProduct::MariaDb] {
        let setup =
            MysqlSetup::new(product).with("max_connections=17").with_sql("create table t select 5 as n");
        let Some(server) = Mysql::start(&setup) else { continue };
        assert_eq!(server.sql("select @@global.max_connections, n from t"), "17\t5\n", "{product}");
    }
    let setup = MysqlSetup::new(MysqlProduct::SeekDb).with("cpu_count=3").with_sql("create table t (n int)");
    let Some(server) = Mysql::start(&setup) else { return };
    let shown = server.sql("show parameters like 'cpu_count'");
    assert!(shown.split('\t').any(|field| field == "3"), "{shown}");
    assert_eq!(server.sql("select count(*) from t"), "0\n");
}

/// Users are checked by the plugin that was asked for, over TCP, with TLS and without.
#[test]
fn users_come_in_with_their_own_password_only() {
    on_each(&MysqlProduct::ALL, |product| {
        let plugins: &[&str] = match product {
            MysqlProduct::Mysql => &["caching_sha2_password", "sha256_password"],
            MysqlProduct::MariaDb => &["mysql_native_password", "ed25519"],
            MysqlProduct::SeekDb => &["mysql_native_password"],
        };
        let setup =
            plugins.iter().fold(MysqlSetup::new(product), |it, plugin| it.with_user(plugin, "right", plugin));
        let secured = setup.clone().with_tls();
        let kinds = if product == MysqlProduct::SeekDb { vec![setup] } else { vec![setup, secured] };
        for setup in kinds {
            let Some(server) = Mysql::start(&setup) else { continue };
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

#[test]
fn tls_is_there_when_it_was_asked_for() {
    for product in [MysqlProduct::Mysql, MysqlProduct::MariaDb] {
        let cipher =
            |server: &Mysql| server.sql("show session status like 'Ssl_cipher'").replace("Ssl_cipher\t", "");
        let Some(plain) = start(product) else { continue };
        assert_eq!(cipher(&plain).trim(), "", "{product}");
        let secured = Mysql::start(&MysqlSetup::new(product).with_tls()).unwrap();
        assert_ne!(cipher(&secured).trim(), "", "{product}");
        assert_eq!(secured.authority(), PathBuf::from(secured.directory()).join("ca.crt"));
    }
}

/// sysbench can prepare and run its read_write on every server.
#[test]
fn sysbench_works_with_each() {
    let Some(sysbench) = Sysbench::find() else { return };
    let run = |sysbench: &dyn Fn() -> Command, sql: &dyn Fn(&str) -> String| {
        let test = ["oltp_read_write", "--tables=2", "--table-size=50", "--events=20", "--time=0"];
        succeed(sysbench().args(test).arg("prepare"));
        assert_eq!(sql("select count(*) from sbtest2").trim(), "50");
        let said = succeed(sysbench().args(test).arg("run"));
        let events = said.lines().find_map(|line| line.trim().strip_prefix("total number of events:"));
        assert_eq!(events.map(str::trim), Some("20"), "{said}");
    };
    on_each(&MysqlProduct::ALL, |product| {
        let Some(server) = start(product) else { return };
        run(&|| sysbench.with_mysql(&server), &|statement| server.sql(statement));
    });
    let Some(server) = Postgres::start(&Setup::default()) else { return };
    run(&|| sysbench.with_postgres(&server), &|statement| server.psql(statement));
}

/// Set for a process of this test that does nothing but start a server that is never dropped.
const STARTS_ONE: &str = "DYNO_TEST_STARTS_ONE";

#[test]
fn a_shared_server_goes_with_its_process_however_that_ends() {
    static SHARED: Shared<Postgres> = Shared::new();
    const NAME: &str = "a_shared_server_goes_with_its_process_however_that_ends";
    if std::env::var_os(STARTS_ONE).is_some() {
        let Some(server) = SHARED.get(|| Postgres::start(&Setup::default())) else { return };
        println!("\nserver {} {}", server.pid(), server.directory().display());
        let _ = std::io::stdin().read_line(&mut String::new());
        return;
    }
    for kill in [false, true] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME, "--nocapture"])
            .env(STARTS_ONE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let told = lines.find_map(|line| Some(line.strip_prefix("server ")?.to_owned()));
        if kill {
            child.kill().unwrap();
        }
        drop(child.stdin.take());
        child.wait().unwrap();
        let Some(told) = told else {
            println!("skipped: no server to share");
            return;
        };
        let (pid, directory) = told.split_once(' ').unwrap();
        let (pid, directory) = (pid.parse().unwrap(), Path::new(directory));
        let begun = Instant::now();
        // Who sees to that goes last.
        while running_in(directory).is_some() && begun.elapsed() < Duration::from_secs(300) {
            thread::sleep(Duration::from_millis(10));
        }
        assert_nothing_left(pid, directory);
    }
}
