//! What can go wrong on the way to a running embedded server.

use std::io;
use std::path::PathBuf;

use super::spec::ServerSpec;

/// Why there is no embedded server. Each message says what failed, on what, and what to do next.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// Nothing fitting is installed or cached, and none could be fetched.
    #[error(
        "no PostgreSQL binaries for `{wanted}`: {why}\nInstall PostgreSQL, name a directory with `postgres` and \
         `initdb`, or name a running server with --target"
    )]
    NoBinaries { wanted: ServerSpec, why: String },
    /// The directory that the user named holds no usable server.
    #[error("{} holds no usable PostgreSQL: {why}. Name the directory that holds `postgres` and `initdb`", directory.display())]
    BadDirectory { directory: PathBuf, why: String },
    /// `initdb` ended with an error.
    #[error("initdb could not make a database in {}: {output}", directory.display())]
    Initdb { directory: PathBuf, output: String },
    /// The disk is too full for what is planned.
    #[error(
        "too little room on the disk under {}: {} needed, {} free. Free some, choose a smaller scale, or name \
         another disk with --data-dir",
        directory.display(), Bytes(*needed_bytes), Bytes(*free_bytes)
    )]
    NoRoom { directory: PathBuf, needed_bytes: u64, free_bytes: u64 },
    /// The server ended, or did not accept connections in time.
    #[error("PostgreSQL from {binaries} did not start: {why}. The end of its log:\n{log}")]
    Start { binaries: String, why: String, log: String },
    /// Root may not become the unprivileged user, without whom PostgreSQL refuses to run.
    #[error(
        "cannot run as user {user}, and PostgreSQL refuses to run as root ({source}). Start dyno as an ordinary \
         user, or allow this container to change users (CAP_SETUID, CAP_SETGID, CAP_CHOWN)"
    )]
    SwitchUser { user: String, source: io::Error },
    /// A program is there and cannot be run by the user the server runs as.
    #[error("user {user} cannot run {}: {source}. Make it and the directories above it readable for that user", program.display())]
    Run { program: PathBuf, user: String, source: io::Error },
    /// The private directory cannot be made or written.
    #[error("cannot write in {}: {source}. Name a directory that can be written with --data-dir", directory.display())]
    Directory { directory: PathBuf, source: io::Error },
    /// A Unix socket's path must fit into the kernel's structure.
    #[error(
        "the path of the server's socket, {}, has {} bytes and the system allows {max_bytes}. Name a shorter \
         directory with --data-dir", path.display(), path.as_os_str().len()
    )]
    SocketPath { path: PathBuf, max_bytes: usize },
    /// The server did not end, or its directory could not be removed.
    #[error("could not stop the embedded server and remove {}: {why}", directory.display())]
    Stop { directory: PathBuf, why: String },
}

/// Shows bytes in the unit a reader would choose.
struct Bytes(u64);

impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 as f64 / f64::from(1 << 20) {
            mib if mib >= 1024.0 => write!(f, "{:.1} GiB", mib / 1024.0),
            mib => write!(f, "{mib:.0} MiB"),
        }
    }
}
