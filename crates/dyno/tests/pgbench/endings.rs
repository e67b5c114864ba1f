//! How runs end: by themselves, by a signal, with a client that cannot go on; and what is not allowed to hold them up.

use std::io::Read as _;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process};

use crate::case::{case, same, script};
use crate::program::{Call, Program};
use crate::real;
use crate::server::{Database, database};

#[test]
fn by_time_though_nothing_is_sent() {
    let Some(database) = database("nothing_sent") else { return };
    let timed =
        |arguments: &str, text: &str| case(&format!("-n -T 1 -f s {arguments}")).file("s", text).timed();
    same(
        &database,
        [
            timed("", "\\set x random(1, 5)\n"),
            timed("-c 3 -j 2", "\\set x random(1, 5)\n"),
            timed("", "\\sleep 0\n"),
            // This seed draws each of the three at once: in a second on a busy machine few are done.
            timed("-f q@1 -f none@8 --random-seed=58", "\\shell true\n")
                .file("q", "select 1;\n")
                .file("none", "\\set a 1\n"),
        ],
    );
}

#[test]
fn the_time_that_commands_take_counts() {
    let Some(database) = database("slow_commands") else { return };
    let texts = [
        "select 1;\n\\shell sleep 0.05\n",
        "\\shell sleep 0.05\n",
        "\\shell sleep 0.05\n\\sleep 50 ms\nselect 1;\n",
    ];
    for (text, least_us) in texts.into_iter().zip([50_000, 50_000, 100_000]) {
        let ran = case("-n -t 3 -l -f s").file("s", text).run(&Program::dyno_alone(), &database);
        let log = ran.files.values().next().unwrap_or_else(|| panic!("{}", ran.stderr));
        let latencies: Vec<u64> =
            log.lines().map(|line| line.split(' ').nth(2).unwrap().parse().unwrap()).collect();
        assert!(latencies.len() == 3 && latencies.iter().all(|us| *us >= least_us), "{text}: {log}");
    }
}

#[test]
fn a_shell_command_that_never_ends_its_output() {
    let Some(database) = database("endless_shell") else { return };
    same(&database, [script("", "\\setshell x yes 1\n\\set y debug(:x)\n")]);
}

#[test]
fn connections_of_dyno_s_own_are_in_nobody_s_way() {
    let Some(database) = database("few_connections") else { return };
    let few = "drop role if exists pgbench_few; create role pgbench_few login connection limit 3";
    let port = one_then_many(database.address());
    let case = case("-U pgbench_few -n -c 3 -j 2 -t 5 -f s")
        .file("s", "select 1;\n")
        .setup(few)
        .environment("PGPORT", &port.to_string());
    let ran = case.run(&Program::dyno(), &database);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("actually processed: 15/15\n"), "{}", ran.stdout);
}

/// A port that passes connections on to the server: the first alone until the server has closed it, too, which it does
/// when it no longer counts it. Without that, the first connection, which is pgbench's too, may or may not be gone when
/// the clients come.
fn one_then_many(server: SocketAddr) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for (at, client) in listener.incoming().enumerate() {
            let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
            let there = pass_on(client.try_clone().unwrap(), server.try_clone().unwrap());
            let back = pass_on(server, client);
            if at == 0 {
                there.join().unwrap();
                back.join().unwrap();
            }
        }
    });
    port
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) -> JoinHandle<()> {
    std::thread::spawn(move || {
        // Either side may hang up when it likes.
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    })
}

#[test]
fn a_client_that_is_done_is_not_missed() {
    let Some(database) = database("done_early") else { return };
    // The second client waits until the other is done and has hung up, and ends whatever other session there is even then.
    let text = "\\if :client_id = 1\n\
                do $$ begin while clock_timestamp() < now() + '60 s' and exists (select from pg_stat_activity where \
                datname = current_database() and application_name = 'pgbench' and pid <> pg_backend_pid()) \
                loop perform pg_sleep(0.001), pg_stat_clear_snapshot(); end loop; end $$;\n\
                select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = current_database() and \
                application_name = 'pgbench' and pid <> pg_backend_pid();\n\
                \\else\nselect 1;\n\\endif\n";
    same(&database, [case("-n -c 2 -t 1 -f s").file("s", text)]);
    same(&database, [case("-n -c 2 -j 2 -t 1 --exit-on-abort -f s").file("s", text).since(18)]);
}

#[test]
fn an_abort_that_ends_the_run_waits_for_nobody() {
    let Some(database) = database("exit_on_abort") else { return };
    // Ten minutes would pass before the second client is done.
    let text = "\\if :client_id = 1\nselect pg_sleep(600);\n\\else\nselect 1/0;\n\\endif\n";
    for threads in ["1", "2"] {
        let case = case(&format!("-n -c 2 -j {threads} -t 1 --exit-on-abort -f s")).file("s", text);
        let ran = case.run(&Program::dyno_alone(), &database);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(!ran.stdout.contains("transaction type"), "{}", ran.stdout);
        assert!(ran.stderr.ends_with("Run was aborted due to an error in thread 0\n"), "{}", ran.stderr);
        end_sessions(&database);
    }
}

/// A program that runs; killed if the test fails before its end.
struct Running {
    child: Child,
    _directory: tempfile::TempDir,
}

impl Running {
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn end(mut self) -> (ExitStatus, String, String) {
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (self.child.wait().unwrap(), stdout, stderr)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts `dyno pgbench --no-dyno` under a shell that first does `before`.
fn start(database: &Database, before: &str, arguments: &str, script: &str) -> Running {
    let directory = tempfile::tempdir().unwrap();
    let call = Call {
        arguments: arguments.split(' ').map(str::to_owned).collect(),
        environment: database.environment(),
        files: vec![("s".to_owned(), script.as_bytes().to_vec())],
        ..Call::default()
    };
    let program = Program::dyno_alone().command(directory.path(), &call);
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(format!("{before} exec \"$0\" \"$@\"")).arg(program.get_program());
    shell.args(program.get_args()).current_dir(directory.path()).env_clear();
    shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let child = shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    Running { child, _directory: directory }
}

/// Whether this process was started with the signal ignored.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(set.trim(), 16).unwrap() >> (signal.as_raw() - 1) & 1 == 1
}

/// Waits until so many clients are in the midst of a long sleep.
fn wait_for_sleepers(database: &Database, clients: u32) {
    database.wait_until(&format!(
        "select count(*) = {clients} from pg_stat_activity where datname = current_database() and \
         query = 'select pg_sleep(600);' and state = 'active'"
    ));
}

/// Waits until something in this database waits for a lock, or nothing does.
fn wait_for_waiting(database: &Database, waits: bool) {
    database.wait_until(&format!(
        "select (count(*) > 0) = {waits} from pg_locks join pg_database on database = pg_database.oid \
         where datname = current_database() and not granted"
    ));
}

/// Ends what the server still does for clients that are gone: it does not notice.
fn end_sessions(database: &Database) {
    const OTHERS: &str = "from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and \
                          backend_type = 'client backend'";
    database.run(&format!("select pg_terminate_backend(pid) {OTHERS}"));
    database.wait_until(&format!("select count(*) = 0 {OTHERS}"));
}

#[test]
fn a_signal_ends_the_load_with_its_report() {
    let Some(database) = database("signalled") else { return };
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        if is_ignored(signal) {
            println!("skipped: {signal:?} is ignored here, and so by what is started here");
            continue;
        }
        let running = start(&database, "", "-n -c 2 -T 900 -f s", "select 1;\nselect pg_sleep(600);\n");
        wait_for_sleepers(&database, 2);
        running.signal(signal);
        let (status, stdout, stderr) = running.end();
        assert_eq!(status.code(), Some(2), "{signal:?}: {stderr}");
        assert!(stdout.contains("number of transactions actually processed: 0\n"), "{stdout}");
        assert!(stderr.ends_with("Run was aborted; the above results are incomplete.\n"), "{stderr}");
        // Or the next program would be taken for one that is asleep, and get its signal before it listens.
        end_sessions(&database);
    }
}

#[test]
fn a_signal_ends_what_comes_before_the_load() {
    let Some(database) = crate::server::database_with_tables("locked") else { return };
    database.run("begin; lock pgbench_branches");
    let running = start(&database, "", "-T 900", "");
    wait_for_waiting(&database, true);
    running.signal(Signal::TERM);
    let (status, _, stderr) = running.end();
    assert_eq!(status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("interrupted before the load began"), "{stderr}");
    // Its statement was cancelled; or the next program would be taken for one that waits.
    wait_for_waiting(&database, false);
    let running = start(&database, "", "-i -q", "");
    wait_for_waiting(&database, true);
    running.signal(Signal::TERM);
    let (status, _, stderr) = running.end();
    assert_eq!(status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("initialization was stopped"), "{stderr}");
    database.run("rollback");
}

#[test]
fn signals_that_are_to_be_ignored_are() {
    let Some(database) = database("ignored") else { return };
    let running = start(&database, "trap '' HUP INT;", "-n -t 1 -f s", "select pg_sleep(600);\n");
    wait_for_sleepers(&database, 1);
    running.signal(Signal::HUP);
    running.signal(Signal::INT);
    database.run("select pg_cancel_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()");
    let (status, _, stderr) = running.end();
    // It went on until its statement was cancelled.
    assert!(stderr.contains("canceling statement due to user request"), "{stderr}");
    assert!(status.code() == Some(2) && status.signal().is_none(), "{status}");
}

#[test]
fn the_same_schedule_for_the_same_seed() {
    let Some(database) = database("same_schedule") else { return };
    let ours = schedule_us(&Program::dyno_alone(), &database);
    // The real one's log has the time of writing, later than the one that the latency ends with by as much as comes
    // between the two: mostly a few microseconds.
    let theirs = real::does(database.version(), "intervals of the schedule, ms", 0, |program| {
        let mut runs: Vec<_> = (0..7).map(|_| schedule_us(program, &database)).collect();
        let middle = |at: usize| {
            runs.sort_unstable_by_key(|run| run[at]);
            runs[runs.len() / 2][at]
        };
        (0..INTERVALS).map(middle).map(in_ms).collect::<Vec<_>>()
    });
    let Some(theirs) = theirs else { return };
    assert_eq!(ours.iter().copied().map(in_ms).collect::<Vec<_>>(), theirs);
    // None is so near to the border between two milliseconds that microseconds count.
    assert!(ours.iter().all(|us| (us.rem_euclid(1000) - 500).abs() > 100), "{ours:?}");
}

const INTERVALS: usize = 11;

/// Rounded.
fn in_ms(us: i64) -> i64 {
    (us + 500).div_euclid(1000)
}

/// The times between twelve transactions, as the log has them, in µs.
fn schedule_us(program: &Program, database: &Database) -> Vec<i64> {
    let scheduled = case("-n -t 12 -R 40 -l --random-seed=42 -f s").file("s", "select 1;\n");
    let ran = scheduled.run(program, database);
    let log = ran.files.values().next().unwrap_or_else(|| panic!("{}", ran.stderr)).clone();
    // When each was due: it ended then and there, less its latency, which counts from then.
    let due_us = log.lines().map(|line| {
        let part = |index: usize| line.split(' ').nth(index).unwrap().parse::<i64>().unwrap();
        part(4) * 1_000_000 + part(5) - part(2)
    });
    let due_us: Vec<_> = due_us.collect();
    assert_eq!(due_us.len(), INTERVALS + 1, "{log}");
    due_us.windows(2).map(|pair| pair[1] - pair[0]).collect()
}
