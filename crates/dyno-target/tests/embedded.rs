//! Embedded servers, really started: every profile, two at once, and with dyno killed under them.

// The lint's exception for tests does not know the functions that tests share.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dyno_target::Connection;
use dyno_target::embedded::{
    self, EmbeddedError, EmbeddedOptions, EmbeddedServer, Profile, ServerSpec, VersionSpec,
};
use dyno_target::interruption;
use rustix::process::{Pid, Signal, kill_process};

/// Directories of servers are made here, so that tests do not sweep each other's.
struct Base(PathBuf);

impl Base {
    fn new(name: &str) -> Self {
        let path = PathBuf::from("/var/tmp").join(format!("dynotest-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn options(&self) -> EmbeddedOptions {
        EmbeddedOptions { directory: Some(self.0.clone()), connections_max: 16, ..EmbeddedOptions::default() }
    }

    fn directories(&self) -> Vec<PathBuf> {
        fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// False, with a line for the test script, where no server is installed.
fn installed() -> bool {
    let found = !embedded::installed().is_empty();
    if !found {
        println!("skipped: no PostgreSQL is installed");
    }
    found
}

fn start(options: &EmbeddedOptions) -> EmbeddedServer {
    EmbeddedServer::start(options, &mut |_| ()).unwrap()
}

fn show(connection: &mut Connection, setting: &str) -> String {
    connection.query_value(&format!("select current_setting('{setting}')")).unwrap().unwrap()
}

fn lives(pid: u32) -> bool {
    // A process that ended is a zombie until its parent, here perhaps the init process, waits for it.
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(") ").is_some_and(|(_, fields)| fields.starts_with('Z')))
}

/// Whether a process ends that is about to; no measure of how long that takes.
fn ends(pid: u32) -> bool {
    let started = Instant::now();
    while lives(pid) && started.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(20));
    }
    !lives(pid)
}

#[test]
fn every_profile_starts_serves_and_leaves_nothing() {
    if !installed() {
        return;
    }
    let base = Base::new("profiles");
    for profile in Profile::ALL {
        let server = start(&EmbeddedOptions { profile, ..base.options() });
        let pid = server.pid();
        let mut connection = Connection::open(&server.endpoint()).unwrap();
        for setting in server.settings() {
            let from_file: Option<u32> = connection
                .query_value(&format!(
                    "select count(*) from pg_settings where name = '{}' and source = 'configuration file'",
                    setting.name
                ))
                .unwrap();
            assert_eq!(from_file, Some(1), "{} of {profile}", setting.name);
        }
        let durable = if profile == Profile::Extreme { "off" } else { "on" };
        for setting in ["fsync", "synchronous_commit", "full_page_writes"] {
            assert_eq!(show(&mut connection, setting), durable, "{setting} of {profile}");
        }
        assert_eq!(show(&mut connection, "listen_addresses"), "");
        assert_eq!(show(&mut connection, "server_encoding"), "UTF8");
        if profile == Profile::Production {
            assert_eq!(show(&mut connection, "data_checksums"), "on");
            assert_eq!(show(&mut connection, "checkpoint_timeout"), "15min");
        }
        let facts = server.facts();
        assert_eq!((facts.profile.as_str(), facts.unsafe_profile), (profile.name(), profile.is_unsafe()));
        assert!(server.data_directory().starts_with(&base.0));
        drop(connection);
        server.stop().unwrap();
        assert!(!lives(pid));
        assert_eq!(base.directories(), [] as [PathBuf; 0], "{profile}");
    }
}

#[test]
fn two_servers_live_side_by_side_and_no_sweep_takes_them() {
    if !installed() {
        return;
    }
    let base = Base::new("two");
    let first = start(&base.options());
    let second = start(&EmbeddedOptions { connections_max: 300, ..base.options() });
    assert_eq!(embedded::sweep_leftovers(Some(&base.0)), [] as [PathBuf; 0]);
    let mut to_first = Connection::open(&first.endpoint()).unwrap();
    let mut to_second = Connection::open(&second.endpoint()).unwrap();
    assert_eq!(show(&mut to_first, "max_connections"), "100");
    assert_eq!(show(&mut to_second, "max_connections"), "320");
    let pids = [first.pid(), second.pid()];
    drop((first, second));
    assert!(pids.into_iter().all(|pid| !lives(pid)), "dropping ends the servers before it returns");
    assert!(base.directories().is_empty());
}

#[test]
fn a_panic_ends_the_server() {
    if !installed() {
        return;
    }
    let base = Base::new("panic");
    let options = base.options();
    let (sender, receiver) = std::sync::mpsc::channel();
    let panicking = std::thread::spawn(move || {
        let server = start(&options);
        sender.send(server.pid()).unwrap();
        panic!("on purpose");
    });
    assert!(panicking.join().is_err());
    assert!(!lives(receiver.recv().unwrap()));
    assert!(base.directories().is_empty());
}

/// A process that holds a server for another test to kill; as a test of its own it does nothing.
#[test]
fn held_server() {
    let Some(base) = std::env::var_os("DYNO_TEST_HOLD") else { return };
    // Started by a thread that ends at once: the server must not end with it.
    let options = EmbeddedOptions { directory: Some(PathBuf::from(base)), ..EmbeddedOptions::default() };
    let server = std::thread::spawn(move || start(&options)).join().unwrap();
    println!("held {}", server.pid());
    // Until whoever started it is gone.
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// The same of a user who wants to stop, which is a wish of the whole process.
#[test]
fn interrupted_server() {
    let Some(base) = std::env::var_os("DYNO_TEST_INTERRUPT") else { return };
    // Nothing that it does waits for a disk.
    let profile = Profile::Extreme;
    let server = start(&EmbeddedOptions {
        directory: Some(PathBuf::from(base)),
        profile,
        ..EmbeddedOptions::default()
    });
    let log = fs::File::open(server.data_directory().with_file_name("log")).unwrap();
    if std::env::var_os("DYNO_TEST_HANG").is_some() {
        kill_process(Pid::from_raw(server.pid().cast_signed()).unwrap(), Signal::STOP).unwrap();
    }
    interruption::request();
    server.stop().unwrap();
    println!("{}", std::io::read_to_string(log).unwrap());
}

#[test]
fn a_server_gets_a_fast_shutdown_also_where_the_user_wants_to_stop() {
    if !installed() {
        return;
    }
    let base = Base::new("interrupted");
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["interrupted_server", "--exact", "--nocapture"])
        .env("DYNO_TEST_INTERRUPT", &base.0)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("received fast shutdown request"), "{said}");
    assert!(base.directories().is_empty());
}

#[test]
fn a_server_that_hangs_is_killed_where_the_user_wants_to_stop() {
    if !installed() {
        return;
    }
    let base = Base::new("hanging");
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["interrupted_server", "--exact", "--nocapture"])
        .env("DYNO_TEST_INTERRUPT", &base.0)
        .env("DYNO_TEST_HANG", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(base.directories().is_empty());
}

fn holder(base: &Path) -> (Child, u32) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["held_server", "--exact", "--nocapture"])
        .env("DYNO_TEST_HOLD", base)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let pid = lines
        .map_while(Result::ok)
        .find_map(|line| line.rsplit_once("held ").and_then(|(_, pid)| pid.parse().ok()))
        .expect("the holder started its server");
    (child, pid)
}

#[test]
fn a_killed_dyno_takes_its_server_along_and_the_next_start_cleans_up() {
    if !installed() {
        return;
    }
    let base = Base::new("killed");
    let (mut dyno, server) = holder(&base.0);
    // Longer than the thread that asked for the server has lived.
    std::thread::sleep(Duration::from_millis(300));
    assert!(lives(server), "the server outlives the thread that started it");
    assert_eq!(embedded::sweep_leftovers(Some(&base.0)), [] as [PathBuf; 0], "its dyno lives");
    dyno.kill().unwrap();
    dyno.wait().unwrap();
    assert!(ends(server), "the server lives on");
    let left = base.directories();
    assert_eq!(left.len(), 1);
    let mut said = Vec::new();
    let next = EmbeddedServer::start(&base.options(), &mut |text| said.push(text.to_owned())).unwrap();
    assert!(!left[0].exists());
    assert!(said.iter().any(|text| text.contains("left by a run that was killed")), "{said:?}");
    next.stop().unwrap();
}

/// If the kernel's signal does not end the server, the sweep must: here it is stopped and cannot heed the signal.
#[test]
fn a_sweep_ends_a_server_that_lives_on() {
    if !installed() {
        return;
    }
    let base = Base::new("stuck");
    let (mut dyno, server) = holder(&base.0);
    let pid = rustix::process::Pid::from_raw(server.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    dyno.kill().unwrap();
    dyno.wait().unwrap();
    assert!(lives(server));
    assert_eq!(embedded::sweep_leftovers(Some(&base.0)).len(), 1);
    assert!(ends(server));
    assert!(base.directories().is_empty());
}

#[test]
fn errors_say_what_to_do() {
    if !installed() {
        return;
    }
    let base = Base::new("errors");
    let error = |options: EmbeddedOptions| EmbeddedServer::start(&options, &mut |_| ()).unwrap_err();
    let full = error(EmbeddedOptions { required_bytes: 1 << 60, ..base.options() });
    assert!(
        matches!(full, EmbeddedError::NoRoom { .. }) && full.to_string().contains("--data-dir"),
        "{full}"
    );
    let missing = error(EmbeddedOptions { directory: Some(base.0.join("missing")), ..base.options() });
    assert!(matches!(missing, EmbeddedError::Directory { .. }), "{missing}");
    let none =
        error(EmbeddedOptions { server: Some(ServerSpec::Directory(base.0.clone())), ..base.options() });
    assert!(matches!(none, EmbeddedError::BadDirectory { .. }), "{none}");
    // More than any kernel gives: the server starts and ends, and its log says why.
    let start = error(EmbeddedOptions { connections_max: 2_000_000, ..base.options() });
    assert!(matches!(&start, EmbeddedError::Start { log, .. } if log.contains("max_connections")), "{start}");
    assert!(base.directories().is_empty(), "failures leave nothing");
}

#[test]
fn a_directory_that_is_closed_to_the_servers_user_is_told() {
    if !installed() || !rustix::process::geteuid().is_root() {
        println!("skipped: needs root and an installed PostgreSQL");
        return;
    }
    let base = Base::new("closed");
    let closed = base.0.join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let options = EmbeddedOptions { directory: Some(closed.clone()), ..base.options() };
    let error = EmbeddedServer::start(&options, &mut |_| ()).unwrap_err();
    assert!(matches!(error, EmbeddedError::Directory { .. }), "{error}");
    assert_eq!(fs::read_dir(closed).unwrap().count(), 0);
}

#[test]
fn a_fetched_server_starts() {
    fetched("fetched", &[(18, None)], &[Profile::Default]);
}

/// What an earlier dyno has fetched, which kept no sums, is fetched anew; a server that runs from it misses nothing.
#[test]
#[ignore = "slow: fetches a server twice"]
fn a_server_that_runs_from_the_cache_outlives_its_replacement() {
    if std::env::var_os("DYNO_TEST_FETCH").is_none() {
        println!("skipped: DYNO_TEST_FETCH=1 fetches a server");
        return;
    }
    let base = Base::new("replaced");
    fs::set_permissions(&base.0, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let cache = base.0.join("cache");
    let server = Some(ServerSpec::Version(VersionSpec { major: 16, minor: Some(4) }));
    let options = EmbeddedOptions { server, cache_directory: Some(cache.clone()), ..base.options() };
    let mut first = match EmbeddedServer::start(&options, &mut |_| ()) {
        Err(error @ EmbeddedError::NoBinaries { .. }) => {
            println!("skipped: {error}");
            return;
        }
        started => started.unwrap(),
    };
    let [home] = &fs::read_dir(cache.join("postgresql"))
        .unwrap()
        .map(|it| it.unwrap().path())
        .filter(|path| path.join("sum").exists())
        .collect::<Vec<_>>()[..]
    else {
        panic!("one server")
    };
    fs::remove_file(home.join("sum")).unwrap();
    let mut said = Vec::new();
    let second = EmbeddedServer::start(&options, &mut |text| said.push(text.to_owned())).unwrap();
    assert!(said.iter().any(|text| text.starts_with("replaced ")), "{said:?}");
    assert!(home.join("sum").exists());
    let mut connection = Connection::open(&first.endpoint()).unwrap();
    // From a file of the server's.
    connection
        .execute("create table t (x int); do 'begin perform 1; end'; set timezone = 'Asia/Tokyo'")
        .unwrap();
    first.restart_cold(&mut |_| ()).unwrap();
    assert_eq!(
        Connection::open(&first.endpoint()).unwrap().query_value("select count(*) from t").unwrap(),
        Some(0)
    );
    drop((first, second));
}

#[test]
#[ignore = "slow: every version in every profile"]
fn a_fetched_server_starts_in_every_profile() {
    fetched("fetched-all", &[(18, None), (16, Some(4))], &Profile::ALL);
}

/// From the network only when asked to (`./test` asks); from the cache as soon as something is there.
fn fetched(name: &str, versions: &[(u32, Option<u32>)], profiles: &[Profile]) {
    let base = Base::new(name);
    let asked = std::env::var_os("DYNO_TEST_FETCH").is_some();
    let mut tried = 0;
    for &(major, minor) in versions {
        let mut said = Vec::new();
        let version = VersionSpec { major, minor };
        let options = EmbeddedOptions { server: Some(ServerSpec::Version(version)), ..base.options() };
        let cached = embedded::available(&options);
        if !asked && !cached {
            continue;
        }
        tried += 1;
        for &profile in profiles {
            let options = EmbeddedOptions { profile, ..options.clone() };
            let started = Instant::now();
            let server = match EmbeddedServer::start(&options, &mut |text| said.push(text.to_owned())) {
                Err(error @ EmbeddedError::NoBinaries { .. }) if !cached => {
                    println!("skipped: {error}");
                    return;
                }
                started => started.unwrap(),
            };
            println!("{version} {profile} from {}: {:?}", server.facts().source, started.elapsed());
            let mut connection = Connection::open(&server.endpoint()).unwrap();
            assert!(version.matches(&server.version()));
            assert!(show(&mut connection, "server_version").starts_with(&version.to_string()));
            let checksums = match profile {
                Profile::Production => "on",
                Profile::Default if major >= 18 => "on",
                Profile::Default | Profile::Extreme => "off",
            };
            assert_eq!(show(&mut connection, "data_checksums"), checksums, "{profile}");
            server.stop().unwrap();
        }
        let fetches =
            said.iter().filter(|text| text.starts_with("fetching") && text.contains("from")).count();
        assert!(fetches <= 1, "the second start uses the cache: {said:?}");
    }
    if tried == 0 {
        println!("skipped: no fetched PostgreSQL is cached; DYNO_TEST_FETCH=1 fetches some");
    }
}
