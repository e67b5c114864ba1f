//! Servers that fall silent, and servers that are stopped: dyno gives them up, and a signal ends it in good order. What
//! hangs is ended by the test's own timeout.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use dyno_test_servers::MysqlProduct;
use rustix::process::Signal;

use crate::home::{Ended, Home, Running, wait_until};
use crate::victim::{
    Pause, Stopped, Victim, assert_not_checked, on_each, wait_for_work, wait_until_given_up,
};

/// A time for connecting, in seconds, behind which nothing ends within a test's patience: a silent server is asked again
/// after three times as long.
const PATIENT_S: u32 = 3600;

/// How long a question is waited for before it is looked whether it will come at all.
const LOOK: Duration = Duration::from_millis(100);

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
    // Without heeding the signal it would hang until the test's timeout is over.
    let target = format!("postgres://u@{address}/d?sslmode=disable&connect_timeout={PATIENT_S}");
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
        command.env("PGCONNECT_TIMEOUT", PATIENT_S.to_string()).env("PGSSLMODE", "disable");
        let running = home.watch(&mut command, arguments);
        running.wait_until_connected(&address);
        running.signal(*signal);
        // How is not the same for all; nothing else would end it.
        let ended = running.end();
        assert_ne!(ended.code, Some(0), "{arguments:?}");
    }
}

/// It gives up by itself after some seconds, and says something else then.
#[test]
fn a_signal_ends_the_wait_for_a_driver() {
    let address = silent();
    for scheme in ["clickhouse", "hive2"] {
        let target = format!("{scheme}://{address}/");
        let arguments = ["run", "tpch", "--target", &target];
        let home = Home::new();
        let running = home.start(&arguments);
        running.wait_until_connected(&address);
        running.signal(Signal::INT);
        assert_interrupted(running.end(), &arguments);
    }
}

/// It was the signal that ended it, and nothing else: `dyno run` says so, the front ends die of it where there is nothing yet
/// to be ended in good order.
#[track_caller]
fn assert_interrupted(ended: Ended, arguments: &[&str]) {
    if arguments[0] == "run" {
        ended.expect(1).says(&["interrupted"]);
    } else {
        assert_eq!(ended.code, None, "{arguments:?}: {}", ended.err);
    }
}

/// It gives up by itself after some seconds, and says something else then.
#[test]
fn a_signal_ends_the_wait_for_a_node_exporter() {
    let address = silent();
    let home = Home::new();
    let metrics = format!("http://{address}/metrics");
    let arguments = ["run", "--target", "postgres://u@127.0.0.1:1/d", "--host-metrics", &metrics];
    let running = home.start(&arguments);
    running.wait_until_connected(&address);
    running.signal(Signal::INT);
    assert_interrupted(running.end(), &arguments);
}

/// What is asked of a name server that says nothing. To have one takes root: it is another one for this process alone.
#[test]
fn a_signal_ends_the_wait_for_a_host_name() {
    // Nobody else has it, and nobody is asked.
    let Ok(silent) = UdpSocket::bind("127.86.0.53:53") else {
        println!("skipped: no name server can be put on 127.86.0.53");
        return;
    };
    let home = Home::new();
    let resolver = home.file("resolv.conf", "nameserver 127.86.0.53\noptions timeout:30 attempts:5\n");
    let private = format!("mount --bind {resolver} /etc/resolv.conf && exec \"$0\" \"$@\"");
    let calls = [
        vec!["run", "--target", "postgres://u@db.example/d"],
        vec!["run", "point_select", "--target", "mysql://u@db.example/d"],
        vec!["pgbench", "-S", "-h", "db.example", "-U", "u", "d"],
        vec!["sysbench", "oltp_read_only", "--mysql-host=db.example", "run"],
    ];
    let in_private = || {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &private]);
        command
    };
    // A container may forbid mounts.
    match in_private().arg("true").output() {
        Ok(tried) if tried.status.success() => {}
        tried => {
            println!("skipped: no name server can be had for a process alone: {tried:?}");
            return;
        }
    }
    for arguments in &calls {
        let dyno = home.command(arguments);
        let mut command = in_private();
        command.arg(dyno.get_program()).args(dyno.get_args());
        command.env_clear().envs(dyno.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(home.path("")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = home.watch(&mut command, arguments);
        silent.set_read_timeout(Some(LOOK)).unwrap();
        let asked = || silent.recv(&mut [0; 512]).is_ok();
        while !asked() {
            assert!(!running.has_ended(), "{arguments:?}: {}", running.end().err);
        }
        running.signal(Signal::INT);
        // The resolver gives up by itself in the end, and what dyno says then is another thing.
        assert_interrupted(running.end(), arguments);
        // Questions of before are none of the next one's.
        while asked() {}
    }
}

/// The package registry is behind a proxy that says nothing; and who waits for who fetches waits as well.
#[test]
fn a_signal_ends_the_wait_for_a_server_that_is_fetched() {
    let proxy = format!("http://{}", silent());
    let home = Home::new();
    // Nobody has it cached.
    let arguments = ["run", "--server", "postgres@12.1", "--workload", "tpcb/select-only"];
    let start = || {
        let mut command = home.command(&arguments);
        command
            .env("HTTPS_PROXY", &proxy)
            .env("https_proxy", &proxy)
            .env("XDG_CACHE_HOME", home.path("cache"));
        home.watch(&mut command, &arguments)
    };
    let first = start();
    first.wait_until_connected(proxy.trim_start_matches("http://"));
    let second = start();
    wait_until("it wants the lock", || has_open(second.pid(), "/postgresql/.lock"));
    for running in [second, first] {
        running.signal(Signal::INT);
        running.end().expect(1).says(&["interrupted"]);
    }
}

/// Whether a process has a file open whose path ends so.
fn has_open(pid: u32, end: &str) -> bool {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut paths = files.filter_map(|file| fs::read_link(file.path()).ok());
    paths.any(|path| path.to_string_lossy().ends_with(end))
}

on_each! {
    a_server_that_is_stopped_holds_nothing_up
    a_server_that_stays_stopped_under_the_load_is_given_up
    a_server_that_stays_stopped_in_the_verification_is_given_up
}

fn interrupted(running: Running<'_>, victim: &Victim) -> Ended {
    let stopped = victim.stop();
    running.signal(Signal::TERM);
    let ended = running.end();
    drop(stopped);
    ended
}

fn a_server_that_is_stopped_holds_nothing_up(product: Option<MysqlProduct>) {
    let Some(victim) = Victim::start(product) else { return };
    let home = Home::new();
    let front_end = victim.front_end();
    let front_end: Vec<&str> = front_end.iter().map(String::as_str).collect();
    let target = victim.target_with(PATIENT_S);
    let run = ["run", "--prepare", "--target", &target];
    for arguments in [front_end, [&run, victim.load_of_much()].concat()] {
        let mut command = home.command(&arguments);
        command.env("PGCONNECT_TIMEOUT", PATIENT_S.to_string());
        let running = home.watch(&mut command, &arguments);
        wait_until("rows are loaded", || victim.loads_rows());
        let Ended { out, err, .. } = interrupted(running, &victim).expect(1);
        let says = |word| out.contains(word) || err.contains(word);
        assert!(says("interrupted") || says("stopped"), "{arguments:?}: {out}{err}");
        wait_until("no rows are loaded", || !victim.loads_rows());
    }
    stop_under_load(&victim, &home);
}

fn stop_under_load(victim: &Victim, home: &Home) {
    let target = victim.target_with(PATIENT_S);
    let run = ["run", "--prepare", "--target", &target, "--warm-up", "0", "--clients", "2"];
    let mut running = home.start(&[&run, victim.load(), &["--duration", "10m"]].concat());
    wait_for_work(&mut running);
    interrupted(running, victim).expect(2).says(&["interrupted"]);
    assert_eq!(home.report().reason(), "interrupted");
}

#[test]
#[ignore = "slow: seekdb"]
fn a_seekdb_that_is_stopped_holds_nothing_up() {
    let Some(victim) = Victim::start(Some(MysqlProduct::SeekDb)) else { return };
    stop_under_load(&victim, &Home::new());
}

/// Three clients of a load that is over after a second or twenty transactions of each; a server that does not answer is
/// given up soon. A statement that is prepared would wait before the load for a table that is locked.
const BRIEF: [&str; 8] =
    ["--clients", "3", "--warm-up", "0", "--protocol", "simple", "--prepare", "--target"];

/// Starts a run, and stops the server once somebody waits for a table that is locked in a hook.
fn stopped_at_table<'a>(
    victim: &Victim,
    home: &'a Home,
    hook: [&str; 2],
    length: [&str; 2],
) -> (Running<'a>, Stopped) {
    let target = victim.target_with(1);
    let pause = Pause::new(home);
    let waiting = pause.hook();
    let load = [victim.load(), &hook, &[&waiting], &length].concat();
    let running = home.start(&[&["run"], &BRIEF[..], &[&target], &load].concat());
    let _keeper = pause.meanwhile(|| victim.lock_table());
    wait_until("somebody waits for the table", || victim.is_waited_for());
    (running, victim.stop())
}

fn a_server_that_stays_stopped_under_the_load_is_given_up(product: Option<MysqlProduct>) {
    let Some(victim) = Victim::start(product) else { return };
    let home = Home::new();
    let (running, _stopped) = stopped_at_table(&victim, &home, ["--before", "hold"], ["--duration", "1s"]);
    wait_until_given_up(&home);
    // It is waited for, to be verified.
    running.signal(Signal::INT);
    running.end().expect(2).says(&["error:", &victim.address()]);
    let report = home.report();
    assert_eq!(report.outcome(), "incomplete");
    assert_not_checked(&report);
}

fn a_server_that_stays_stopped_in_the_verification_is_given_up(product: Option<MysqlProduct>) {
    let Some(victim) = Victim::start(product) else { return };
    let home = Home::new();
    let (running, _stopped) = stopped_at_table(&victim, &home, ["--after", "hold"], ["--transactions", "20"]);
    running.end().expect(2).says(&["error:", "did not answer in time"]);
    let report = home.report();
    assert_eq!(report.stage()["totals"]["done"], 60);
    assert_not_checked(&report);
}
