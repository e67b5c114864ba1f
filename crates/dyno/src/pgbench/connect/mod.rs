//! Where a load goes: from `-h`, `-p`, `-U`, the database's name and libpq's environment to a session. A password that
//! is needed and not known is asked for on the terminal.

mod prompt;

use dyno_engine::error::SessionError;
use dyno_target::connection::Connection;
use dyno_target::settings::{Environment, TargetSettings};
use dyno_target::{Target, TargetError};
use dyno_wire::endpoint::{Address, Endpoint, Password};

use super::failed::PgbenchFailed;
use super::options::ConnectionOptions;
use crate::front_end::connect::{self, ConnectFailure, Opened};
use prompt::ask_on_terminal;

/// The name that sessions have unless `PGAPPNAME` or the connection string says another.
const APPLICATION_NAME: &str = "pgbench";

/// A server that let us in: where and how sessions are opened.
#[derive(Debug, Clone)]
pub(crate) struct PgbenchServer {
    pub(crate) endpoint: Endpoint,
    /// What was resolved to get its address.
    name: Option<String>,
    /// The target as it is shown and stored, without the password.
    pub(crate) url: String,
}

impl PgbenchServer {
    /// Why a further session there could not be opened.
    pub(crate) fn failure(&self, error: &SessionError) -> String {
        connect::session_failed(self.name.as_deref(), &self.endpoint.address, error)
    }

    /// Host or directory, port and database, as `--debug` tells them.
    pub(crate) fn whereabouts(&self) -> String {
        let (host, port) = match &self.endpoint.address {
            Address::Tcp(address) => (address.ip().to_string(), address.port().to_string()),
            Address::Unix(path) => {
                let directory = path.parent().unwrap_or(path).display().to_string();
                (directory, path.extension().unwrap_or_default().to_string_lossy().into_owned())
            }
        };
        let host = self.name.as_ref().unwrap_or(&host);
        format!("pghost: {host} pgport: {port}")
    }
}

/// Opens the first session of this process: its environment is heeded, and its terminal is asked for a password.
/// `purpose` is what for: `setup`, `initialization`.
pub(crate) fn open(
    options: &ConnectionOptions,
    purpose: &str,
    say: &mut dyn FnMut(&str),
) -> Result<(Connection, PgbenchServer), PgbenchFailed> {
    let opened =
        target(options, &Environment::of_process()).map_err(ConnectFailure::from).and_then(|target| {
            let target = connect::remembered(target);
            for warning in target.warnings() {
                say(&format!("WARNING: {warning}\n"));
            }
            open_asking(target, &mut ask_on_terminal)
        });
    opened.map_err(|failure| not_connected(failure, purpose))
}

fn not_connected(failure: ConnectFailure, purpose: &str) -> PgbenchFailed {
    PgbenchFailed::new(failure).and(format!("could not create connection for {purpose}"))
}

/// What is connected to; nothing is tried.
fn target(options: &ConnectionOptions, environment: &Environment) -> Result<Target, TargetError> {
    // pgbench fills in the database's name by itself, so that a service's name for it does not count.
    let by_default =
        || environment.variable("PGDATABASE").or(environment.variable("PGUSER")).or(environment.user());
    let database = options.database.as_deref().or_else(by_default).unwrap_or_default();
    let named = [
        ("host", options.host.as_deref().unwrap_or_default()),
        ("port", options.port.as_deref().unwrap_or_default()),
        ("user", options.user.as_deref().unwrap_or_default()),
        ("dbname", database),
        ("fallback_application_name", APPLICATION_NAME),
    ];
    TargetSettings::from_parameters(&named, environment).map(Target::Postgres)
}

/// Opens the first session. `ask` is called at most once, if a password is needed and none is known; `None` if there is
/// nobody to ask.
fn open_asking(
    target: Target,
    ask: &mut dyn FnMut() -> Option<Password>,
) -> Result<(Connection, PgbenchServer), ConnectFailure> {
    let url = target.url();
    let opened = match connect::open(&target) {
        Err(failure) if failure.needs_password() => match ask() {
            Some(password) => connect::open(&target.with_password(&password)),
            None => Err(failure),
        },
        opened => opened,
    };
    let Opened { connection, endpoint, name } = opened?;
    Ok((connection, PgbenchServer { endpoint, name, url }))
}

#[cfg(test)]
mod tests;
