//! Servers that fall silent, and servers that are stopped: dyno gives them up, and a signal ends it in good order. What
//! hangs is ended by the test's own patience.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use dyno_test_servers::{MysqlProduct, Postgres, Setup};
use rustix::process::{Pid, Signal, kill_process};

use crate::home::{Ended, Home, Running, wait_until};
use crate::mysql;
use crate::processes::children;
use crate::server::{url, value};

/// AuthenticationOk, ReadyForQuery.
const WELCOME: [u8; 15] = [b'R', 0, 0, 0, 8, 0, 0, 0, 0, b'Z', 0, 0, 0, 5, b'I'];

/// A PostgreSQL that lets everybody in, and then answers a byte at a time, and never to the end.
fn endless_behind_login() -> String {
    listen(|mut client| {
        let _ = client.read(&mut [0; 4096]);
        let _ = client.write_all(&WELCOME);
        let _ = client.read(&mut [0; 4096]);
        // A notice of a megabyte.
        let mut answer = [b'N', 0, 16, 0, 0].into_iter().chain(std::iter::repeat(b'x'));
        while client.write_all(&[answer.next().unwrap()]).is_ok() {
            thread::sleep(Duration::from_millis(100));
        }
    })
}

/// A PostgreSQL that lets everybody in, and then says nothing any more. Ends with the test's process.
fn silent_behind_login() -> String {
    let serve = |mut client: TcpStream| {
        let mut heard = [0; 4096];
        let _ = client.read(&mut heard);
        let _ = client.write_all(&WELCOME);
        while matches!(client.read(&mut heard), Ok(1..)) {}
    };
    listen(serve)
}

/// Accepts connections and never says a word.
fn silent() -> String {
    listen(|mut client| while matches!(client.read(&mut [0; 4096]), Ok(1..)) {})
}

/// Serves each connection on a thread; returns the address.
fn listen(serve: impl Fn(TcpStream) + Copy + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || serve(client));
        }
    });
    address
}

#[test]
fn a_server_that_falls_silent_or_never_comes_to_an_end_is_given_up() {
    for address in [silent_behind_login(), endless_behind_login()] {
        let target = format!("postgres://u@{address}/d?sslmode=disable&connect_timeout=1");
        let home = Home::new();
        let ended = home.start(&["run", "--target", &target]).end().expect(1);
        ended.says(&["asking which server it is", "did not answer in time"]);
    }
}

#[test]
fn the_time_for_connecting_is_the_targets() {
    let home = Home::new();
    for (scheme, parameter) in [("postgres", "connect_timeout"), ("mysql", "connect-timeout")] {
        let target = format!("{scheme}://u@{}/d?{parameter}=1", silent());
        let workload = ["--workload", "sysbench/oltp_point_select"];
        let ended = home.start(&[&["run", "--target", &target], &workload[..]].concat()).end();
        ended.expect(1).says(&["did not answer within 1 s"]);
    }
}

#[test]
fn a_signal_ends_the_wait_for_a_silent_server() {
    let address = silent_behind_login();
    // Nothing else would end it within the test's patience.
    let target = format!("postgres://u@{address}/d?sslmode=disable&connect_timeout=3600");
    let (host, port) = address.split_once(':').unwrap();
    let at = ["-h", host, "-p", port, "-U", "u"];
    let pgsql = [format!("--pgsql-host={host}"), format!("--pgsql-port={port}")];
    let sysbench = ["sysbench", "oltp_read_only", "--db-driver=pgsql", &pgsql[0], &pgsql[1]];
    let calls = [
        vec!["run", "--target", &target],
        [&["pgbench", "-i"], &at[..], &["d"]].concat(),
        [&["pgbench", "-S"], &at[..], &["d"]].concat(),
        [&sysbench[..], &["prepare"]].concat(),
        [&sysbench[..], &["run"]].concat(),
    ];
    for (arguments, signal) in calls.iter().zip([Signal::INT, Signal::TERM, Signal::HUP].iter().cycle()) {
        let home = Home::new();
        let mut command = home.command(arguments);
        command.env("PGCONNECT_TIMEOUT", "3600").env("PGSSLMODE", "disable");
        let running = home.watch(&mut command, arguments);
        running.wait_until_connected(&address);
        running.signal(*signal);
        let ended = running.end();
        // Before there is anything to be ended in good order, a signal just ends it.
        assert!(ended.code.is_none_or(|code| code != 0), "{arguments:?}");
    }
}

/// A server that is stopped as a whole, until this is dropped.
struct Stopped(Vec<u32>);

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

fn interrupted(running: Running<'_>, server: u32) -> Ended {
    let stopped = Stopped::stop(server);
    running.signal(Signal::TERM);
    let ended = running.end();
    drop(stopped);
    ended
}

#[test]
fn a_postgresql_that_is_stopped_holds_nothing_up() {
    let Some(server) = Postgres::start(&Setup::default()) else { return };
    let target = url(&server, "postgres");
    let copies = || value(&server, "postgres", "select count(*) > 0 from pg_stat_progress_copy") == "t";
    let port = server.address.port().to_string();
    let home = Home::new();
    let tpcb = ["--workload", "tpcb/tpcb-like", "--warm-up", "0"];
    let front = ["pgbench", "-i", "-s", "200", "-h", "127.0.0.1", "-p", &port, "-U", "postgres", "postgres"];
    for arguments in [[&["run", "--target", &target, "--scale", "200"], &tpcb[..]].concat(), front.to_vec()] {
        let running = home.start(&arguments);
        wait_until("rows are copied", copies);
        interrupted(running, server.pid()).expect(1);
        wait_until("no rows are copied", || !copies());
    }
    let load = ["--scale", "1", "--prepare", "--clients", "2", "--duration", "10m"];
    let mut running = home.start(&[&["run", "--target", &target], &tpcb[..], &load].concat());
    running.wait_for("work", |report| {
        report.stages().last().is_some_and(|stage| stage["totals"]["done"].as_u64() > Some(0))
    });
    interrupted(running, server.pid()).expect(2).says(&["interrupted"]);
    assert_eq!(home.report().reason(), "interrupted");
}

#[test]
fn a_mysql_that_is_stopped_holds_nothing_up() {
    for product in [MysqlProduct::Mysql, MysqlProduct::MariaDb] {
        let Some(server) = mysql::start(product, &[]) else { continue };
        let target = mysql::database(&server, "stopped");
        let home = Home::new();
        let loads = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'LOAD DATA%'";
        let rows = ["--tables", "2", "--table-size", "5000000"];
        let running = home.start(&[&["run", "point_select", "--target", &target], &rows[..]].concat());
        wait_until("rows are loaded", || server.sql(loads).trim() != "0");
        interrupted(running, server.pid()).expect(1).says(&["interrupted"]);
        let load = ["--table-size", "1000", "--prepare", "--clients", "2", "--duration", "10m"];
        let mut running = home.start(&[&["run", "point_select", "--target", &target], &load[..]].concat());
        running.wait_for("work", |report| {
            report.stages().last().is_some_and(|stage| stage["totals"]["done"].as_u64() > Some(0))
        });
        interrupted(running, server.pid()).expect(2).says(&["interrupted"]);
    }
}
