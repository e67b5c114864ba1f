//! A PostgreSQL of dyno's own, from nothing to serving and back to nothing.

use std::io::{self, Read as _, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use dyno_results::event;
use dyno_wire::endpoint::{Address, ChannelBinding, Endpoint, Login, Password, Tls, Wire};
use rustix::process::Signal;

use super::cache::Cache;
use super::cold::Dropped;
use super::configuration::{self, Listening};
use super::directory::{RunDirectory, SOCKET_PORT};
use super::error::EmbeddedError;
use super::find::{self, Binaries, Places};
use super::postmaster::{Postmaster, end_with_dyno};
use super::profile::{self, ConfiguredSetting, Machine, Profile};
use super::spec::{ServerSpec, Version};
use super::user::RunAs;
use super::{cold, leftovers, ready};
use crate::{host, interruption};

/// What to start, and where.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// `None`: the newest installed, else one that is fetched.
    pub server: Option<ServerSpec>,
    pub profile: Profile,
    /// Connections that the load opens at most.
    pub connections_max: u32,
    /// Where the private directory is made. `None`: `/var/tmp`, which unlike `/tmp` is on a disk.
    pub directory: Option<PathBuf>,
    /// Room that the data will need on the disk. Less is an error before anything is made.
    pub required_bytes: u64,
    /// Also listen on a free port of 127.0.0.1, with a password made for the run.
    pub tcp: bool,
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
    tcp: Option<Tcp>,
    data: PathBuf,
}

#[derive(Debug, Clone)]
struct Tcp {
    port: u16,
    password: Password,
}

impl EmbeddedServer {
    /// Makes a database and starts its server; returns when it accepts sessions. Before that, what killed runs
    /// have left is removed.
    ///
    /// # Errors
    /// See [`EmbeddedError`]; nothing is left behind.
    pub fn start(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Self, EmbeddedError> {
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
        let password = options.tcp.then(random_password);
        progress(&format!("making a database with PostgreSQL {}", binaries.version));
        maker.initdb(options.profile, password.as_ref())?;

        let machine = Machine::of(&host::facts(Some(&data)), free_bytes);
        let mut settings =
            profile::settings(options.profile, &machine, options.connections_max, binaries.version);
        configuration::drop_unsupported(&mut settings, &binaries.directory, &data, &user);
        progress(&format!("starting PostgreSQL {}, {} profile", binaries.version, options.profile));
        let (postmaster, tcp) = maker.start(&settings, password.as_ref(), progress)?;
        let profile = options.profile;
        Ok(Self { postmaster, directory, binaries, profile, settings, tcp, data })
    }

    /// How to connect, in the form of libpq's connection strings: on 127.0.0.1 if that was asked for, else on
    /// the socket. Holds no password; [`password`](Self::password) has it.
    #[must_use]
    pub fn conninfo(&self) -> String {
        let (host, port) = match &self.tcp {
            Some(tcp) => (Ipv4Addr::LOCALHOST.to_string(), tcp.port),
            None => (self.directory.path().to_string_lossy().into_owned(), SOCKET_PORT),
        };
        let host = host.replace('\\', "\\\\").replace('\'', "\\'");
        format!("host='{host}' port={port} user={USER} dbname={DATABASE} sslmode=disable")
    }

    /// The password for connections over TCP; the socket needs none.
    #[must_use]
    pub fn password(&self) -> Option<&Password> {
        self.tcp.as_ref().map(|tcp| &tcp.password)
    }

    /// The same as [`conninfo`](Self::conninfo) and [`password`](Self::password), ready to be used.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        let address = match &self.tcp {
            Some(tcp) => Address::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, tcp.port))),
            None => Address::Unix(self.directory.socket()),
        };
        let login = Login {
            user: USER.to_owned(),
            password: self.password().cloned(),
            database: DATABASE.to_owned(),
            parameters: Vec::new(),
            tls: Tls::Disable,
            channel_binding: ChannelBinding::Prefer,
        };
        let connect_timeout = Some(CONNECT_TIMEOUT);
        Endpoint { address, login: Arc::new(login), wire: Wire::Postgres, connect_timeout }
    }

    /// The main process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.postmaster.pid()
    }

    #[must_use]
    pub fn version(&self) -> Version {
        self.binaries.version
    }

    /// What dyno wrote into the configuration file, with reasons.
    #[must_use]
    pub fn settings(&self) -> &[ConfiguredSetting] {
        &self.settings
    }

    #[must_use]
    pub fn data_directory(&self) -> &Path {
        &self.data
    }

    #[must_use]
    pub fn facts(&self) -> event::Embedded {
        event::Embedded {
            profile: self.profile.name().to_owned(),
            source: self.binaries.source.clone(),
            unsafe_profile: self.profile.is_unsafe(),
        }
    }

    /// The last lines of the server's log, for the message of an error that the server had a part in.
    #[must_use]
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
        let dropped = cold::drop_caches(&self.data);
        progress("starting PostgreSQL again");
        let user = RunAs::choose();
        let maker =
            Maker { user: &user, binaries: &self.binaries, directory: &self.directory, data: &self.data };
        self.postmaster = maker.start_once(&self.settings, self.tcp.as_ref(), progress)?;
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
#[must_use]
pub fn installed() -> Vec<(Version, PathBuf)> {
    let found = find::installed(&Places::of_this_machine(), &RunAs::choose());
    found.into_iter().map(|binaries| (binaries.version, binaries.directory)).collect()
}

/// Whether `options` can be started without fetching: what they ask for is installed or cached.
#[must_use]
pub fn available(options: &Options) -> bool {
    let user = RunAs::choose();
    let spec = options.server.clone().unwrap_or_default();
    let cache = cache(options, &user);
    find::present(&spec, &Places::of_this_machine(), cache.as_ref(), &user).is_some()
}

/// `None` where the user has no home. A directory that others can write is no place for programs to be run.
fn cache(options: &Options, user: &RunAs) -> Option<Cache> {
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

    fn initdb(&self, profile: Profile, password: Option<&Password>) -> Result<(), EmbeddedError> {
        let mut command = self.user.command(&self.program("initdb"));
        command.arg("-D").arg(self.data).args(["--username", USER, "--encoding", "UTF8"]);
        // The one locale that every machine has and that sorts alike on all of them, so that runs compare.
        command.args(["--locale", "C", "--auth-local", "trust", "--auth-host", "scram-sha-256"]);
        // Nothing here outlives the run, so nothing needs to be on the disk before it.
        command.arg("--no-sync");
        command.args(profile.checksums_argument(self.binaries.version));
        // A file that only the server's user can read, for the moment that `initdb` takes.
        const PASSWORD_FILE: &str = "password";
        if let Some(password) = password {
            let mut file = self.directory.create_private(PASSWORD_FILE, self.user)?;
            writeln!(file, "{}", password.reveal()).map_err(|error| self.unwritable(error))?;
            command.arg("--pwfile").arg(self.directory.path().join(PASSWORD_FILE));
        }
        end_with_dyno(&mut command, Signal::KILL);
        let (status, said) = run_to_end(&mut command).map_err(|error| self.not_run("initdb", error))?;
        if password.is_some() {
            self.directory.remove_file(PASSWORD_FILE).map_err(|error| self.unwritable(error))?;
        }
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

    /// Starts the server on a free port if it is to listen on one. Another program may take the port between the
    /// look and the start, so that is tried again.
    fn start(
        &self,
        settings: &[ConfiguredSetting],
        password: Option<&Password>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(Postmaster, Option<Tcp>), EmbeddedError> {
        const TRIES: u32 = 3;
        let mut tries = 0;
        loop {
            tries += 1;
            let tcp = match password {
                Some(password) => {
                    let port = free_port().map_err(|error| self.not_started(error.to_string()))?;
                    Some(Tcp { port, password: password.clone() })
                }
                None => None,
            };
            match self.start_once(settings, tcp.as_ref(), progress) {
                Ok(postmaster) => return Ok((postmaster, tcp)),
                Err(EmbeddedError::Start { log, .. })
                    if tcp.is_some() && tries < TRIES && log.contains("Address already in use") => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn start_once(
        &self,
        settings: &[ConfiguredSetting],
        tcp: Option<&Tcp>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Postmaster, EmbeddedError> {
        let listening = Listening {
            socket_directory: self.directory.path(),
            socket_port: SOCKET_PORT,
            tcp_port: tcp.map(|tcp| tcp.port),
        };
        configuration::write(self.directory, self.user, settings, &listening)
            .map_err(|error| self.unwritable(error))?;
        let log = self.directory.empty_log().map_err(|error| self.unwritable(error))?;
        let log_again = log.try_clone().map_err(|error| self.unwritable(error))?;
        let mut command = self.user.command(&self.program("postgres"));
        command.arg("-D").arg(self.data).stdout(Stdio::from(log)).stderr(Stdio::from(log_again));
        let postmaster = Postmaster::start(command).map_err(|error| self.not_run("postgres", error))?;
        let socket = listening.socket();
        ready::wait(&postmaster, &socket, USER, progress).map_err(|why| self.not_started(why))?;
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

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn random_password() -> Password {
    Password::new((0..4).map(|_| format!("{:016x}", rand::random::<u64>())).collect())
}
