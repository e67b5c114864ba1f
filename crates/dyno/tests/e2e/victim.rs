//! A server of a test's own that is to be killed or stopped, whatever its product is: what each needs for the same test.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use dyno_test_servers::{Mysql, MysqlProduct, Postgres, Setup};
use rusqlite::{Connection, OpenFlags};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::home::{Home, Running, wait_until};
use crate::mysql;
use crate::processes::children;
use crate::report::Report;
use crate::server::{client, prefixed, url};

/// Runs each test on PostgreSQL, on MariaDB and, where the slow ones run, on MySQL, which differs from MariaDB in little.
macro_rules! on_each {
    ($($test:ident)*) => {
        mod postgresql {
            $(#[test] fn $test() { super::$test(None); })*
        }
        mod mariadb {
            $(#[test] fn $test() { super::$test(Some(dyno_test_servers::MysqlProduct::MariaDb)); })*
        }
        mod mysql {
            $(
                #[test]
                #[ignore = "slow: MySQL, as MariaDB"]
                fn $test() { super::$test(Some(dyno_test_servers::MysqlProduct::Mysql)); }
            )*
        }
    };
}
pub(crate) use on_each;

pub(crate) struct Victim {
    server: Server,
    pub(crate) target: String,
}

enum Server {
    Postgres(Postgres),
    Mysql(Mysql),
}

impl Victim {
    /// `None` is PostgreSQL.
    pub(crate) fn start(product: Option<MysqlProduct>) -> Option<Self> {
        Some(match product {
            None => {
                let server = Postgres::start(&Setup::default().with("fsync=on"))?;
                Self { target: url(&server, "postgres"), server: Server::Postgres(server) }
            }
            Some(product) => {
                let server = mysql::start(product, &[])?;
                Self { target: mysql::database(&server, "victim"), server: Server::Mysql(server) }
            }
        })
    }

    pub(crate) fn postgres(&self) -> Option<&Postgres> {
        match &self.server {
            Server::Postgres(server) => Some(server),
            Server::Mysql(_) => None,
        }
    }

    pub(crate) fn address(&self) -> String {
        match &self.server {
            Server::Postgres(server) => server.address.to_string(),
            Server::Mysql(server) => server.address.to_string(),
        }
    }

    /// The target with a time for connecting.
    pub(crate) fn target_with(&self, connect_timeout_s: u32) -> String {
        let parameter = if self.postgres().is_some() { "connect_timeout" } else { "connect-timeout" };
        format!("{}?{parameter}={connect_timeout_s}", self.target)
    }

    /// Waits until one that is started next can be told from it: MySQL knows in whole seconds how long it has been up.
    pub(crate) fn wait_until_grown(&self) {
        let Server::Mysql(server) = &self.server else { return };
        let uptime =
            || server.sql("show global status like 'Uptime'").split_whitespace().nth(1)?.parse().ok();
        wait_until("the server is some seconds old", || uptime() > Some(5_u64));
    }

    pub(crate) fn kill(&mut self) {
        match &mut self.server {
            Server::Postgres(server) => server.crash(),
            Server::Mysql(server) => server.kill(),
        }
    }

    pub(crate) fn restart(&mut self) {
        match &mut self.server {
            Server::Postgres(server) => server.restart(),
            Server::Mysql(server) => server.restart(),
        }
    }

    pub(crate) fn stop(&self) -> Stopped {
        Stopped::stop(match &self.server {
            Server::Postgres(server) => server.pid(),
            Server::Mysql(server) => server.pid(),
        })
    }

    /// A workload that writes, on little data.
    pub(crate) fn load(&self) -> &'static [&'static str] {
        match self.server {
            Server::Postgres(_) => &["--workload", "tpcb/tpcb-like", "--scale", "1"],
            Server::Mysql(_) => &["--workload", "sysbench/insert", "--tables", "2", "--table-size", "500"],
        }
    }

    /// The same on so much data that no test waits until they are there.
    pub(crate) fn load_of_much(&self) -> &'static [&'static str] {
        match self.server {
            Server::Postgres(_) => &["--workload", "tpcb/tpcb-like", "--scale", "200"],
            Server::Mysql(_) => {
                &["--workload", "sysbench/insert", "--tables", "2", "--table-size", "5000000"]
            }
        }
    }

    /// How another front end is called to prepare as much.
    pub(crate) fn front_end(&self) -> Vec<String> {
        let called = match &self.server {
            Server::Postgres(server) => {
                let port = server.address.port();
                format!("pgbench -i -s 200 -h 127.0.0.1 -p {port} -U postgres postgres")
            }
            Server::Mysql(server) => format!(
                "sysbench oltp_insert --db-driver=mysql --mysql-host=127.0.0.1 --mysql-port={} --mysql-user={} \
                 --mysql-password={} --mysql-db={} --table-size=5000000 prepare",
                server.address.port(),
                prefixed("teller"),
                mysql::PASSWORD,
                prefixed("victim")
            ),
        };
        called.split(' ').map(str::to_owned).collect()
    }

    /// Whether rows are being loaded.
    pub(crate) fn loads_rows(&self) -> bool {
        self.is_so(
            "select count(*) > 0 from pg_stat_progress_copy",
            "select count(*) > 0 from information_schema.processlist \
             where info like 'LOAD DATA%' or info like 'INSERT INTO%'",
        )
    }

    /// What a load's hook has to do so that its clients wait behind their first transactions for whoever has shut the gate.
    pub(crate) fn gate(&self) -> &'static str {
        match self.server {
            Server::Postgres(_) => {
                "sql:create sequence passed; \
                 create function pass() returns trigger language plpgsql as 'begin \
                 if nextval(''passed'') > 30 then perform pg_advisory_xact_lock_shared(7); end if; \
                 return new; end'; \
                 create trigger gate before insert on pgbench_history for each row execute function pass()"
            }
            Server::Mysql(_) => {
                "sql:create trigger gate1 after insert on sbtest1 for each row set @passed = if(new.id > 520, \
                 get_lock('gate', 3600) + release_lock('gate'), 0); \
                 create trigger gate2 after insert on sbtest2 for each row set @passed = if(new.id > 520, \
                 get_lock('gate', 3600) + release_lock('gate'), 0)"
            }
        }
    }

    /// Shuts the gate for as long as the server lives.
    pub(crate) fn shut_gate(&self) -> Keeper {
        let keeper = self
            .keeper("select pg_advisory_lock(7), pg_sleep(3600)", "select get_lock('gate', 0), sleep(3600)");
        wait_until("the gate is shut", || {
            self.is_so(
                "select count(*) > 0 from pg_locks where locktype = 'advisory' and granted",
                "select is_used_lock('gate') is not null",
            )
        });
        keeper
    }

    /// Keeps everybody from the first table of [`Victim::load`] for as long as the server lives.
    pub(crate) fn lock_table(&self) -> Keeper {
        let keeper = self.keeper(
            "begin; lock table pgbench_accounts; select pg_sleep(3600)",
            &format!("lock tables {}.sbtest1 write; select sleep(3600)", prefixed("victim")),
        );
        wait_until("the table is locked", || {
            self.is_so(
                "select count(*) > 0 from pg_locks where mode = 'AccessExclusiveLock' and granted \
                 and relation = (select oid from pg_class where relname = 'pgbench_accounts')",
                "select count(*) > 0 from information_schema.processlist where info like 'select sleep(3600)%'",
            )
        });
        keeper
    }

    /// Whether somebody waits for the table that is locked, other than dyno's reading of sizes every second, which may
    /// come before the load's clients are connected.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.is_so(
            "select count(*) > 0 from pg_stat_activity \
             where wait_event_type = 'Lock' and query not like '%pg_table_size%'",
            "select count(*) > 0 from information_schema.processlist \
             where state like 'Waiting for table%' and info not like '%information_schema%'",
        )
    }

    /// A query that nobody waits for, by its answer or its end.
    pub(crate) fn endless_query(&self) -> &'static str {
        match self.server {
            Server::Postgres(_) => "select pg_sleep(3600)",
            Server::Mysql(_) => "select sleep(3600)",
        }
    }

    /// Whether [`Victim::endless_query`] is under way.
    pub(crate) fn runs_endless_query(&self) -> bool {
        self.is_so(
            "select count(*) > 0 from pg_stat_activity where wait_event = 'PgSleep'",
            "select count(*) > 0 from information_schema.processlist where info like 'select sleep(3600)%'",
        )
    }

    /// Stops what runs it: the session's own process, or the server where sessions have none.
    pub(crate) fn stop_endless_query(&self) -> Stopped {
        match &self.server {
            Server::Postgres(server) => {
                let pid = "select pid from pg_stat_activity where wait_event = 'PgSleep'";
                let pid = client(server, "psql", "postgres", &["-X", "-A", "-t", "-c", pid]);
                Stopped::stop(pid.trim().parse().unwrap())
            }
            Server::Mysql(_) => self.stop(),
        }
    }

    fn is_so(&self, in_postgres: &str, in_mysql: &str) -> bool {
        match &self.server {
            Server::Postgres(server) => {
                client(server, "psql", "postgres", &["-X", "-A", "-t", "-c", in_postgres]).trim() == "t"
            }
            Server::Mysql(server) => server.sql(in_mysql).trim() == "1",
        }
    }

    fn keeper(&self, in_postgres: &str, in_mysql: &str) -> Keeper {
        let mut command = match &self.server {
            Server::Postgres(server) => {
                let mut command = server.command("psql", "postgres");
                command.args(["-X", "-q", "-c", in_postgres]);
                command
            }
            Server::Mysql(server) => {
                let mut command = server.client("root", &server.password);
                command.args(["-e", in_mysql]);
                command
            }
        };
        Keeper(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

/// A client that holds something.
pub(crate) struct Keeper(Child);

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A hook that waits for the test.
pub(crate) struct Pause {
    reached: PathBuf,
    over: PathBuf,
}

impl Pause {
    pub(crate) fn new(home: &Home) -> Self {
        Self { reached: home.path("pause-reached"), over: home.path("pause-over") }
    }

    pub(crate) fn hook(&self) -> String {
        let Self { reached, over } = self;
        format!("touch {}; while [ ! -e {} ]; do sleep 0.05; done", reached.display(), over.display())
    }

    /// Waits until the hook runs, does `work`, and has the hook end.
    pub(crate) fn meanwhile<T>(&self, work: impl FnOnce() -> T) -> T {
        wait_until("the hook runs", || self.reached.exists());
        let done = work();
        std::fs::write(&self.over, "").unwrap();
        done
    }
}

/// A server that is stopped as a whole (SIGSTOP), until this is dropped.
pub(crate) struct Stopped(Vec<u32>);

impl Stopped {
    fn stop(pid: u32) -> Self {
        let send = |pid| kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::STOP);
        send(pid).unwrap();
        let children = children(pid);
        for child in &children {
            // It may have ended by now.
            let _ = send(*child);
        }
        Self([vec![pid], children].concat())
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        for pid in &self.0 {
            let _ = kill_process(Pid::from_raw(*pid as i32).unwrap(), Signal::CONT);
        }
    }
}

/// Waits until a load has done something.
pub(crate) fn wait_for_work(running: &mut Running<'_>) {
    running.wait_for("work", |report| {
        report.stages().last().is_some_and(|stage| stage["totals"]["done"].as_u64() > Some(0))
    });
}

/// Waits until no client tries to connect any more, and for as long as dyno takes to end that does not wait for the server.
pub(crate) fn wait_until_given_up(home: &Home) {
    let store = Connection::open_with_flags(home.store(), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let ended = "select count(*) from event where kind = 'stage-finished'";
    let count = || store.query_row(ended, [], |row| row.get::<_, i64>(0));
    wait_until("the clients have given up", || count().is_ok_and(|count| count > 0));
    std::thread::sleep(Duration::from_secs(1));
}

/// Nothing that a load left behind was checked, and that is told.
#[track_caller]
pub(crate) fn assert_not_checked(report: &Report) {
    let [check] = report.checks() else { panic!("{:#?}", report.checks()) };
    assert_eq!((&check["name"], &check["passed"]), (&"data-after-load".into(), &Value::Null), "{check:#}");
}
