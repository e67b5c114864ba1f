//! Why a target's name could not be understood. No message ever repeats a value that may be, or be part of, a
//! password.

use std::path::PathBuf;

use crate::tls::TlsFileError;

/// A target that cannot be reached as it was named. Each message ends in what to do.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    // With one `@`, as what stands before the last one is hidden like a password.
    #[error(
        "a target is written postgres://user@host:5432/database (mysql://, clickhouse:// likewise), sqlite:FILE, duckdb:FILE or host=… dbname=…, not `{found}`"
    )]
    NotATarget { found: String },
    #[error("dyno does not know how to reach `{scheme}://`{}", nearest(.suggestion.as_deref(), "://"))]
    UnknownScheme { scheme: String, suggestion: Option<String> },
    #[error("the target's URL is malformed: {what}")]
    Url { what: String },
    #[error("the connection string is malformed at character {at}: {what}")]
    Conninfo { at: usize, what: &'static str },
    #[error("no connection parameter is called `{name}`{}", nearest(.suggestion.as_deref(), ""))]
    UnknownParameter { name: String, suggestion: Option<String> },
    #[error("the connection parameter `{name}` is not supported: {why}")]
    UnsupportedParameter { name: &'static str, why: &'static str },
    #[error("`{name}={value}` is not valid: expected {expected}")]
    InvalidValue { name: &'static str, value: String, expected: &'static str },
    #[error("{hosts} hosts are named but {count} of `{name}`: give one for each host, or one for all")]
    CountDiffers { name: &'static str, count: usize, hosts: usize },
    #[error(
        "no user is named and the system's user has no name: add it to the target (postgres://user@…, mysql://user@…)"
    )]
    NoUser,
    #[error("service `{service}` is in none of the service files: looked in {}", list(.files))]
    ServiceMissing { service: String, files: Vec<PathBuf> },
    #[error("service file {}, line {line}: {what}", .file.display())]
    ServiceFile { file: PathBuf, line: usize, what: String },
    #[error("cannot read {}: {source}", .file.display())]
    Read { file: PathBuf, source: std::io::Error },
    #[error("host `{host}` is not known: {source}; check its spelling and the name server")]
    NameNotFound { host: String, source: std::io::Error },
    #[error("cannot start a thread: {0}")]
    NoThread(#[source] std::io::Error),
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
    #[error(transparent)]
    TlsFile(#[from] TlsFileError),
    #[error("none of the hosts is suitable for target_session_attrs={wanted}: {tried}")]
    NoSuitableServer { wanted: &'static str, tried: String },
}

impl TargetError {
    pub(crate) fn invalid(name: &'static str, value: &str, expected: &'static str) -> Self {
        Self::InvalidValue { name, value: value.to_owned(), expected }
    }
}

fn nearest(suggestion: Option<&str>, suffix: &str) -> String {
    suggestion.map_or_else(String::new, |name| format!("; did you mean `{name}{suffix}`?"))
}

fn list(files: &[PathBuf]) -> String {
    if files.is_empty() {
        return "no file, for none exists".to_owned();
    }
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}
