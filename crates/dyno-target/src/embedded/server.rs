//! A PostgreSQL of dyno's own, from nothing to serving and back to nothing.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use dyno_results::event;
use dyno_wire::endpoint::{Address, ChannelBinding, Endpoint, Login, Tls, Wire};
use rustix::process::Signal;

use super::cache::Cache;
use super::configuration;
use super::directory::{RunDirectory, SOCKET_PORT};
use super::error::EmbeddedError;
use super::find::{self, Binaries, Places};
use super::postmaster::{Postmaster, end_with_dyno};
use super::profile::{self, ConfiguredSetting, Machine, Profile};
use super::spec::{ServerSpec, Version};
use super::user::RunAs;
use super::{leftovers, ready};
use crate::host::{self, Dropped, drop_file_cache};
use crate::interruption;

/// What to start, and where.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EmbeddedOptions {
    /// `None`: the newest installed, else one that is fetched.
    pub server: Option<ServerSpec>,
    pub profile: Profile,
    /// Connections that the load opens at most.
    pub connections_max: u32,
    /// Where the private directory is made. `None`: `/var/tmp`, which unlike `/tmp` is on a disk.
    pub directory: Option<PathBuf>,
    /// Room that the data will need on the disk. Less is an error before anything is made.
    pub required_bytes: u64,
    /// Where fetched servers are kept. `None`: the user's cache directory.
    pub cache_directory: Option<PathBuf>,
}

/// Where private directories are made.
const BASE: &str = "/var/tmp";
/// What an empty database with its first log files takes on disk.
const EMPTY_BYTES: u64 = 256 << 20;
/// For the load and dyno's own sessions.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const USER: &str = "dyno";
const DATABASE: &str = "postgres";
/// Lines of the log that an error shows.
const LOG_LINES: usize = 20;

/// A running server. Stopped and removed when dropped, and by the kernel if dyno is killed.
#[derive(Debug)]
pub struct EmbeddedServer {
    // Fields are dropped in this order: the process before the directory it works in.
    postmaster: Postmaster,
    directory: RunDirectory,
    binaries: Binaries,
    profile: Profile,
    settings: Vec<ConfiguredSetting>,
    data: PathBuf,
}

impl EmbeddedServer {
    /// Makes a database and starts its server; returns when it accepts sessions. Before that, what killed runs
    /// have left is removed.
    ///
    /// # Errors
    /// See [`EmbeddedError`]; nothing is left behind.
    pub fn start(options: &EmbeddedOptions, progress: &mut dyn FnMut(&str)) -> Result<Self, EmbeddedError> {
        let user = RunAs::choose();
        let base = options.directory.as_deref().unwrap_or(Path::new(BASE));
        for path in leftovers::sweep(base, &user) {
            progress(&format!("removed {}, left by a run that was killed", path.display()));
        }
        let spec = options.server.clone().unwrap_or_default();
        let cache = cache(options, &user);
        let binaries = find::resolve(&spec, &Places::of_this_machine(), cache.as_ref(), &user, progress)?;
        let free_bytes = check_room(base, options.required_bytes)?;

        let directory = RunDirectory::make(base, &user)?;
        let data = directory.data();
        let maker = Maker { user: &user, binaries: &binaries, directory: &directory, data: &data };
        progress(&format!("making a database with PostgreSQL {}", binaries.version));
        maker.initdb(options.profile)?;

        let machine = Machine::of(&host::facts(Some(&data)), free_bytes);
        let mut settings =
            profile::settings(options.profile, &machine, options.connections_max, binaries.version);
        configuration::drop_unsupported(&mut settings, &binaries.directory, &data, &user);
        progress(&format!("starting PostgreSQL {}, {} profile", binaries.version, options.profile));
        configuration::write(&directory, &user, &settings).map_err(|error| maker.unwritable(error))?;
        let postmaster = maker.start(progress)?;
        let profile = options.profile;
        Ok(Self { postmaster, directory, binaries, profile, settings, data })
    }

    /// How to connect, in the form of libpq's connection strings: on the socket, which wants no password.
    pub fn conninfo(&self) -> String {
        let host = self.directory.path().to_string_lossy().replace('\\', "\\\\").replace('\'', "\\'");
        format!("host='{host}' port={SOCKET_PORT} user={USER} dbname={DATABASE} sslmode=disable")
    }

    /// The same as [`conninfo`](Self::conninfo), ready to be used.
    pub fn endpoint(&self) -> Endpoint {
        endpoint(&self.directory)
    }

    /// The main process.
    pub fn pid(&self) -> u32 {
        self.postmaster.pid()
    }

    /// Whether the main process is no more.
    pub fn has_ended(&self) -> bool {
        self.postmaster.ended().is_some()
    }

    pub fn version(&self) -> Version {
        self.binaries.version
    }

    /// What dyno wrote into the configuration file, with reasons.
    pub fn settings(&self) -> &[ConfiguredSetting] {
        &self.settings
    }

    pub fn data_directory(&self) -> &Path {
        &self.data
    }

    pub fn facts(&self) -> event::Embedded {
        event::Embedded {
            profile: self.profile.name().to_owned(),
            source: self.binaries.source.clone(),
            unsafe_profile: self.profile.is_unsafe(),
        }
    }

    /// The last lines of the server's log, for the message of an error that the server had a part in.
    pub fn log_tail(&self) -> String {
        self.directory.log_tail(LOG_LINES)
    }

    /// Stops the server, drops what the kernel keeps of its files, and starts it again on the same data, under the same
    /// address.
    ///
    /// # Errors
    /// It does not end, or does not start again; it is then of no further use.
    pub fn restart_cold(&mut self, progress: &mut dyn FnMut(&str)) -> Result<Dropped, EmbeddedError> {
        progress("stopping PostgreSQL for a cold start");
        if !self.postmaster.stop() {
            let directory = self.directory.path().to_path_buf();
            let why = format!("process {} does not end", self.pid());
            return Err(EmbeddedError::Stop { directory, why });
        }
        let dropped = drop_file_cache(&self.data, true);
        progress("starting PostgreSQL again");
        let user = RunAs::choose();
        let maker =
            Maker { user: &user, binaries: &self.binaries, directory: &self.directory, data: &self.data };
        self.postmaster = maker.start(progress)?;
        Ok(dropped)
    }

    /// Stops the server and removes everything it had. Dropping does the same without telling of a failure.
    ///
    /// # Errors
    /// If the server does not end, or its directory cannot be removed; the next start tries again.
    pub fn stop(mut self) -> Result<(), EmbeddedError> {
        let directory = self.directory.path().to_path_buf();
        let failed = |why: String| EmbeddedError::Stop { directory, why };
        if !self.postmaster.stop() {
            return Err(failed(format!("process {} does not end", self.pid())));
        }
        self.directory.remove().map_err(|error| failed(error.to_string()))
    }
}

/// Ends servers and removes directories that killed runs have left in `/var/tmp`, or in `directory`. Touches
/// nothing else. Returns what was removed.
pub fn sweep_leftovers(directory: Option<&Path>) -> Vec<PathBuf> {
    leftovers::sweep(directory.unwrap_or(Path::new(BASE)), &RunAs::choose())
}

/// The servers that could be started on this machine without fetching, the newest first: version and directory.
pub fn installed() -> Vec<(Version, PathBuf)> {
    let found = find::installed(&Places::of_this_machine(), &RunAs::choose());
    found.into_iter().map(|binaries| (binaries.version, binaries.directory)).collect()
}

/// Whether `options` can be started without fetching: what they ask for is installed or cached.
pub fn available(options: &EmbeddedOptions) -> bool {
    let user = RunAs::choose();
    let spec = options.server.clone().unwrap_or_default();
    let cache = cache(options, &user);
    find::present(&spec, &Places::of_this_machine(), cache.as_ref(), &user).is_some()
}

/// `None` where the user has no home. A directory that others can write is no place for programs to be run.
fn cache(options: &EmbeddedOptions, user: &RunAs) -> Option<Cache> {
    options.cache_directory.as_deref().map(Cache::at).or_else(|| Cache::of_user(user))
}

/// Free bytes under `base`, if they are enough.
fn check_room(base: &Path, required_bytes: u64) -> Result<u64, EmbeddedError> {
    let directory = base.to_path_buf();
    let free_bytes = match host::free_bytes(base) {
        Ok(free_bytes) => free_bytes,
        Err(source) => return Err(EmbeddedError::Directory { directory, source }),
    };
    let needed_bytes = required_bytes.saturating_add(EMPTY_BYTES);
    if free_bytes < needed_bytes {
        return Err(EmbeddedError::NoRoom { directory, needed_bytes, free_bytes });
    }
    Ok(free_bytes)
}

fn endpoint(directory: &RunDirectory) -> Endpoint {
    let address = Address::Unix(directory.socket());
    let login = Login {
        user: USER.to_owned(),
        password: None,
        database: DATABASE.to_owned(),
        parameters: Vec::new(),
        tls: Tls::Disable,
        channel_binding: ChannelBinding::Prefer,
    };
    let connect_timeout = Some(CONNECT_TIMEOUT);
    Endpoint { address, login: Arc::new(login), wire: Wire::Postgres, connect_timeout }
}

/// What the steps of a start have in common.
struct Maker<'a> {
    user: &'a RunAs,
    binaries: &'a Binaries,
    directory: &'a RunDirectory,
    data: &'a Path,
}

impl Maker<'_> {
    fn program(&self, name: &str) -> PathBuf {
        self.binaries.directory.join(name)
    }

    fn initdb(&self, profile: Profile) -> Result<(), EmbeddedError> {
        let mut command = self.user.command(&self.program("initdb"));
        command.arg("-D").arg(self.data).args(["--username", USER, "--encoding", "UTF8"]);
        // The one locale that every machine has and that sorts alike on all of them, so that runs compare.
        command.args(["--locale", "C", "--auth-local", "trust", "--auth-host", "reject"]);
        // Nothing here outlives the run, so nothing needs to be on the disk before it.
        command.arg("--no-sync");
        command.args(profile.checksums_argument(self.binaries.version));
        end_with_dyno(&mut command, Signal::KILL);
        let (status, said) = run_to_end(&mut command).map_err(|error| self.not_run("initdb", error))?;
        if status.success() {
            return Ok(());
        }
        let complaint = String::from_utf8_lossy(&said).trim().to_owned();
        if complaint.contains("Permission denied") {
            let source = io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("user {} has no access to it or to a directory above it", self.user.name),
            );
            return Err(self.unwritable(source));
        }
        Err(EmbeddedError::Initdb { directory: self.data.to_path_buf(), output: complaint })
    }

    fn start(&self, progress: &mut dyn FnMut(&str)) -> Result<Postmaster, EmbeddedError> {
        let log = self.directory.empty_log().map_err(|error| self.unwritable(error))?;
        let log_again = log.try_clone().map_err(|error| self.unwritable(error))?;
        let mut command = self.user.command(&self.program("postgres"));
        command.arg("-D").arg(self.data).stdout(Stdio::from(log)).stderr(Stdio::from(log_again));
        let postmaster = Postmaster::start(command).map_err(|error| self.not_run("postgres", error))?;
        ready::wait(&postmaster, &endpoint(self.directory), progress).map_err(|why| self.not_started(why))?;
        Ok(postmaster)
    }

    fn not_run(&self, program: &str, source: io::Error) -> EmbeddedError {
        let user = self.user.name.clone();
        // Programs that may not be read or run give EACCES; only the change of user gives EPERM.
        if self.user.switch && source.raw_os_error() == Some(rustix::io::Errno::PERM.raw_os_error()) {
            return EmbeddedError::SwitchUser { user, source };
        }
        EmbeddedError::Run { program: self.program(program), user, source }
    }

    fn not_started(&self, why: String) -> EmbeddedError {
        let binaries = self.binaries.directory.display().to_string();
        EmbeddedError::Start { binaries, why, log: self.directory.log_tail(LOG_LINES) }
    }

    fn unwritable(&self, source: io::Error) -> EmbeddedError {
        EmbeddedError::Directory { directory: self.directory.path().to_path_buf(), source }
    }
}

/// Runs a program unless the user wants to stop, which ends it; how it ended, and what it said to standard error.
fn run_to_end(command: &mut Command) -> io::Result<(ExitStatus, Vec<u8>)> {
    const LOOK: Duration = Duration::from_millis(10);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let mut said = Vec::new();
    let stderr = child.stderr.take();
    std::thread::scope(|scope| {
        let read = || stderr.map(|mut stderr| stderr.read_to_end(&mut said));
        if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, read) {
            child.kill()?;
            child.wait()?;
            return Err(error);
        }
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if interruption::is_requested() {
                child.kill()?;
            }
            std::thread::sleep(LOOK);
        }
    })
    .map(|status| (status, said))
}
