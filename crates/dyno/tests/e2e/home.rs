//! A user's home of the test's own, and dyno called in it: with an empty environment, so that nothing of the
//! machine's decides anything.

use std::fs;
use std::io::Read;
use std::net::SocketAddrV4;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::report::Report;

/// How long a test waits for what must come sooner or later; no measure of anything.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(300);
/// A run gives up a server that stays away for 10 s.
const RECONNECTING: Duration = Duration::from_secs(8);

/// Looks until it is so.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < TIMEOUT, "it did not come to this: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) struct Home {
    directory: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        // On a disk, as embedded servers want it.
        Self::under(Path::new("/var/tmp"))
    }

    /// One that several tests look into, in a `static`, which is never dropped: it goes with the run's directory, where
    /// there is one.
    pub(crate) fn for_several() -> Self {
        let run = std::env::var_os("DYNO_TEST_RUN").unwrap_or_else(|| env!("CARGO_TARGET_TMPDIR").into());
        Self::under(Path::new(&run))
    }

    fn under(path: &Path) -> Self {
        // Not `dyno-…`, which dyno would take for a directory of its own.
        let directory = tempfile::Builder::new().prefix("dynotest-").tempdir_in(path).unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(directory.path().join("servers")).unwrap();
        Self { directory }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Puts a file there and returns its path as an argument.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Where dyno keeps its runs when nothing else is said.
    pub(crate) fn store(&self) -> PathBuf {
        self.path(".local/share/dyno/dyno.sqlite")
    }

    /// For `--data-dir`: a test sees whether its embedded server left anything.
    pub(crate) fn servers(&self) -> String {
        self.path("servers").to_str().unwrap().to_owned()
    }

    /// The directories of embedded servers that are there now.
    pub(crate) fn server_directories(&self) -> Vec<PathBuf> {
        fs::read_dir(self.path("servers")).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dyno"));
        command.args(arguments).current_dir(self.directory.path()).env_clear();
        command.env("PATH", "/usr/bin:/bin").env("HOME", self.directory.path()).env("LC_ALL", "C.UTF-8");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Calls dyno and waits for its end.
    pub(crate) fn dyno(&self, arguments: &[&str]) -> Ended {
        Ended::of(self.command(arguments), arguments)
    }

    /// Starts dyno.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running<'_> {
        self.watch(&mut self.command(arguments), arguments)
    }

    /// The same of a command that was made before.
    pub(crate) fn watch(&self, command: &mut Command, arguments: &[&str]) -> Running<'_> {
        let process = command.spawn().unwrap();
        Running { home: self, process: Some(process), called: arguments.join(" ") }
    }

    /// The last run, as `dyno report --json` tells it.
    pub(crate) fn report(&self) -> Report {
        self.dyno(&["report", "--json"]).expect(0).report()
    }

    /// The last run as far as it is stored, if there is one yet.
    fn report_so_far(&self) -> Option<Report> {
        let ended = self.dyno(&["report", "--json"]);
        (ended.code == Some(0)).then(|| ended.report())
    }
}

/// A dyno that was started. Killed with the test if the test fails.
pub(crate) struct Running<'a> {
    home: &'a Home,
    /// `None` once its end was waited for.
    process: Option<Child>,
    called: String,
}

impl Running<'_> {
    fn process(&mut self) -> &mut Child {
        self.process.as_mut().unwrap()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.as_ref().unwrap().id()
    }

    /// Waits until the stored run is as far as that; returns it.
    pub(crate) fn wait_for(&mut self, what: &str, mut reached: impl FnMut(&Report) -> bool) -> Report {
        let begun = Instant::now();
        let mut growth = Growth::of(self.home);
        loop {
            // Before the report: what a run has stored that has ended since is still to be looked at.
            let ended = self.process().try_wait().unwrap().is_some();
            if (growth.is_seen() || ended)
                && let Some(report) = self.home.report_so_far().filter(&mut reached)
            {
                return report;
            }
            if ended {
                let Ended { called, code, out, err } = self.collect();
                panic!("`dyno {called}` ended with {code:?} before {what}:\n--- out\n{out}--- err\n{err}");
            }
            assert!(begun.elapsed() < TIMEOUT, "`dyno {}` did not come to {what}", self.called);
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.process().try_wait().unwrap().is_some()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(self.process.as_ref().unwrap()), signal).unwrap();
    }

    /// Waits until it has a connection to this address.
    pub(crate) fn wait_until_connected(&self, address: &str) {
        // As /proc has it: the address's bytes from the last to the first, the port, and the state "established".
        let address: SocketAddrV4 = address.parse().unwrap();
        let remote = format!("{:08X}:{:04X} 01", address.ip().to_bits().swap_bytes(), address.port());
        let file = format!("/proc/{}/net/tcp", self.pid());
        wait_until("it is connected", || fs::read_to_string(&file).unwrap_or_default().contains(&remote));
    }

    /// Waits for its end, for as long as only one takes that hangs.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ended {
        let mut process = self.process.take().unwrap();
        let (out, err) = (drain(process.stdout.take()), drain(process.stderr.take()));
        let called = format!("`dyno {}` has ended", self.called);
        let process = self.process.insert(process);
        wait_until(&called, || process.try_wait().unwrap().is_some());
        let status = process.wait().unwrap();
        self.process = None;
        let (stdout, stderr) = (out.join().unwrap(), err.join().unwrap());
        Ended::from_output(&self.called, Output { status, stdout, stderr })
    }

    /// Waits for the end of a run, called with `--json`, whose server was away for so long. `None` where a busy machine took
    /// longer to start it again than a run waits, and the run has said so.
    #[track_caller]
    pub(crate) fn end_behind(self, away: Duration, address: &str) -> Option<Report> {
        let ended = self.end();
        if away < RECONNECTING || ended.code == Some(0) {
            return Some(ended.expect(0).report());
        }
        let ended = ended.expect(2);
        ended.says(&["error:", address]);
        assert!(ended.report().reason().contains("went away"), "{}", ended.err);
        println!("skipped: the server was away for {away:?}, longer than a run waits for it");
        None
    }

    fn collect(&mut self) -> Ended {
        let output = self.process.take().unwrap().wait_with_output().unwrap();
        Ended::from_output(&self.called, output)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Reads on a thread what a process prints.
fn drain(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.map(|mut pipe| pipe.read_to_end(&mut bytes)).transpose().unwrap();
        bytes
    })
}

/// Whether more was stored since the last look, which costs far less than a report.
struct Growth {
    store: PathBuf,
    /// `None` until there is a store.
    reader: Option<Connection>,
    events: i64,
}

impl Growth {
    fn of(home: &Home) -> Self {
        Self { store: home.store(), reader: None, events: 0 }
    }

    fn is_seen(&mut self) -> bool {
        if self.reader.is_none() {
            self.reader = Connection::open_with_flags(&self.store, OpenFlags::SQLITE_OPEN_READ_ONLY).ok();
        }
        // A store in the making has no such table yet.
        let count =
            |reader: &Connection| reader.query_row("select count(*) from event", [], |row| row.get(0));
        let events = self.reader.as_ref().and_then(|reader| count(reader).ok()).unwrap_or(self.events);
        std::mem::replace(&mut self.events, events) != events
    }
}

/// What a dyno left behind that has ended.
pub(crate) struct Ended {
    called: String,
    /// `None` where a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    pub(crate) fn of(mut command: Command, arguments: &[&str]) -> Self {
        Self::from_output(&arguments.join(" "), command.output().unwrap())
    }

    fn from_output(called: &str, output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        Self { called: called.to_owned(), code: output.status.code(), out, err }
    }

    /// The test fails, and shows what was printed, unless this was the exit status.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "`dyno {}`\n--- out\n{}--- err\n{}",
            self.called,
            self.out,
            self.err
        );
        self
    }

    /// The test fails unless the error says all of this, line breaks aside.
    #[track_caller]
    pub(crate) fn says(&self, words: &[&str]) {
        let said = self.err.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in words {
            assert!(said.contains(word), "`dyno {}` does not say `{word}`:\n{}", self.called, self.err);
        }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("`dyno {}`: {error}: {}", self.called, self.out))
    }

    #[track_caller]
    pub(crate) fn report(&self) -> Report {
        Report::new(self.json())
    }
}
