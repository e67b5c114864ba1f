//! What to do about a server's errors, and what the settings that would help are called in its protocol.

use dyno_wire::endpoint::{Endpoint, Tls};
use dyno_wire::pg::error::PostgresError;
use dyno_wire::server_error::ServerError;

use crate::cause::{self, Cause};

/// How the settings of TLS are called, which differs with the protocol.
#[derive(Debug, PartialEq, Eq)]
pub struct TlsTerms {
    /// Names the trusted authority.
    pub(super) authority: &'static str,
    /// Turns TLS off.
    pub(super) off: &'static str,
    /// What to do about a certificate for another name.
    pub(super) other_name: &'static str,
    /// What a client certificate depends on.
    pub(super) client_certificate: &'static str,
}

static POSTGRES: TlsTerms = TlsTerms {
    authority: "sslrootcert",
    off: "sslmode=disable",
    other_name: "name the host as the certificate does (hostaddr can give its address), or say sslmode=verify-ca",
    client_certificate: "sslcert, sslkey and the server's ssl_ca_file",
};

static MYSQL: TlsTerms = TlsTerms {
    authority: "ssl-ca",
    off: "ssl-mode=DISABLED",
    other_name: "name the host as the certificate does, or say ssl-mode=VERIFY_CA",
    client_certificate: "ssl-cert, ssl-key and the server's ssl_ca",
};

impl TlsTerms {
    pub(super) fn of(endpoint: &Endpoint) -> &'static Self {
        if endpoint.wire.is_mysql() { &MYSQL } else { &POSTGRES }
    }
}

/// What follows a server's error: what else it said, or what helps.
pub(super) fn further(error: &ServerError) -> String {
    match error {
        ServerError::Postgres(error) => details(error),
        ServerError::MySql(_) | ServerError::Driver(_) => {
            Cause::of(error).and_then(of_cause).map_or_else(String::new, |advice| format!("; {advice}"))
        }
    }
}

const NO_ACCESS_METHOD: &str = "; `SELECT amname FROM pg_am` lists those that are there; others come with an extension, such as \
                                Hydra's columnar or citus_columnar: install it, and CREATE EXTENSION in this database";

fn details(error: &PostgresError) -> String {
    let part =
        |name, text: &Option<String>| text.as_ref().map_or_else(String::new, |it| format!("; {name}: {it}"));
    let helps = match error.code.as_str() {
        "42704" if error.message.contains("access method") => NO_ACCESS_METHOD,
        _ => "",
    };
    part("detail", &error.detail) + &part("hint", &error.hint) + helps
}

/// What helps on MySQL's protocol, whatever was being done.
fn of_cause(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::LocalFile => {
            "allow it in the server (SET GLOBAL local_infile = ON) and in the target (local-infile), or do without"
        }
        Cause::FileMoved => cause::FILE_MOVED,
        Cause::StatementTooLarge => "raise max_allowed_packet in the server",
        Cause::ReadOnly => "it takes no changes: is it a replica, set read_only, or a file with mode=ro?",
        Cause::TooManyStatements => {
            "raise max_prepared_stmt_count in the server, or use fewer connections or no prepared statements"
        }
        Cause::Denied => "GRANT the user what it needs, or name another",
        Cause::PasswordExpired => "set the user's password anew (ALTER USER)",
        Cause::DiskFull => "make room on the server's disk",
        Cause::OutOfMemory => "raise what the server or a statement may take of the memory",
        Cause::NotPreparable => "the server does not prepare this statement: send it as text",
        Cause::NoSuchStorage => {
            "SHOW ENGINES lists the engines that are there; others are plugins to be installed"
        }
        Cause::NoSuchTable
        | Cause::TableExists
        | Cause::Locked
        | Cause::TooManyConnections
        | Cause::SessionShared
        | Cause::OtherColumns => return None,
    })
}

/// Where to look when a session was lost.
pub(super) fn lost(is_mysql: bool, sql: &str) -> &'static str {
    // The smallest max_allowed_packet in use by default; the server hangs up on what is longer.
    const LONG_BYTES: usize = 1 << 20;
    if is_mysql && sql.len() > LONG_BYTES {
        "raise max_allowed_packet in the server if the statement is longer, or look into its log"
    } else {
        "look into the server's log"
    }
}

/// What to do about a user who was not let in.
pub(super) fn access_denied(endpoint: &Endpoint) -> &'static str {
    let login = &endpoint.login;
    match (&login.password, &login.tls) {
        (None, Tls::Disable) => {
            "no password was given, nor TLS used: write it into the URL, ~/.my.cnf or MYSQL_PWD, or say ssl-mode=REQUIRED"
        }
        (None, _) => "no password was given: write it into the URL, ~/.my.cnf or MYSQL_PWD",
        (Some(_), Tls::Disable) => {
            "check user and password (the URL, ~/.my.cnf, MYSQL_PWD), and that the account is for this host and does not demand TLS (ssl-mode=REQUIRED)"
        }
        (Some(_), _) => {
            "check user and password (the URL, ~/.my.cnf, MYSQL_PWD), and that the account is for this host"
        }
    }
}

/// What to do about a database that is not there.
pub(super) fn database_missing(error: &ServerError) -> &'static str {
    match error {
        ServerError::Postgres(_) => "create it (CREATE DATABASE) or name another",
        _ => "create it (CREATE DATABASE), or name another in the URL",
    }
}

/// What to do about a database that the user may not use.
pub(super) fn not_allowed(error: &ServerError) -> &'static str {
    match error {
        ServerError::Postgres(_) => "add a line to its pg_hba.conf and reload, or use another sslmode",
        _ => "GRANT the user rights on it, or name another",
    }
}

/// What to do about a host from which nobody is let in.
pub(super) fn host_not_allowed(error: &ServerError) -> &'static str {
    match error.number() {
        // Too many failed attempts.
        Some(1129) => "unblock it (TRUNCATE performance_schema.host_cache, or FLUSH HOSTS)",
        _ => "create an account for it, or use one",
    }
}

/// What limits the number of connections.
pub(super) fn connection_limit(error: &ServerError) -> &'static str {
    match error.number() {
        Some(1203 | 1226) => "the user's own limit (max_user_connections)",
        _ => "max_connections",
    }
}
