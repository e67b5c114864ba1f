//! Where a load goes: from `-h`, `-p`, `-U`, the database's name and libpq's environment to a session, found and
//! refused as libpq would. A password that is needed and not known is asked for on the terminal.

mod failure;
mod prompt;

use std::sync::Arc;

use dyno_target::connection::{ConnectError, Connection};
use dyno_target::settings::{Environment, TargetSettings};
use dyno_wire::endpoint::{Address, Endpoint, Login, Password};

use super::options::ConnectionOptions;
use crate::secrets;

pub(crate) use failure::ConnectFailure;
use prompt::ask_on_terminal;

/// The name that sessions have unless `PGAPPNAME` or the connection string says another.
const APPLICATION_NAME: &str = "pgbench";

/// Where to connect, understood; nothing was tried yet.
#[derive(Debug, Clone)]
struct Destination {
    settings: TargetSettings,
    /// Asked for, in place of one that was named.
    password: Option<Password>,
}

/// The first session, and where and how the others are opened.
#[derive(Debug)]
pub(crate) struct OpenedConnection {
    pub(crate) connection: Connection,
    pub(crate) server: PgbenchServer,
}

/// A server that let us in.
#[derive(Debug, Clone)]
pub(crate) struct PgbenchServer {
    pub(crate) endpoint: Endpoint,
    /// What was resolved to get its address.
    name: Option<String>,
    url: String,
}

impl PgbenchServer {
    /// The target as it is shown and stored, without the password.
    pub(crate) fn url(&self) -> &str {
        &self.url
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

    pub(crate) fn database(&self) -> &str {
        &self.endpoint.login.database
    }
}

/// Opens the first session of this process: its environment is heeded, and its terminal is asked for a password.
pub(crate) fn open(
    options: &ConnectionOptions,
    say: &mut dyn FnMut(&str),
) -> Result<OpenedConnection, ConnectFailure> {
    let mut destination = Destination::new(options, &Environment::of_process())?;
    let settings = &destination.settings;
    secrets::remember(settings.passwords(), settings.user(), settings.database());
    for warning in settings.warnings() {
        say(&format!("WARNING: {warning}\n"));
    }
    destination.open(&mut ask_on_terminal)
}

impl Destination {
    pub(crate) fn new(
        options: &ConnectionOptions,
        environment: &Environment,
    ) -> Result<Self, ConnectFailure> {
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
        let settings = TargetSettings::from_parameters(&named, environment)
            .map_err(|error| ConnectFailure::target(&error))?;
        Ok(Self { settings, password: None })
    }

    /// Opens the first session. `ask` is called at most once, if a password is needed and none is known; `None` if
    /// there is nobody to ask.
    pub(crate) fn open(
        &mut self,
        ask: &mut dyn FnMut() -> Option<Password>,
    ) -> Result<OpenedConnection, ConnectFailure> {
        match self.try_all() {
            Err(failure) if failure.needs_password() && self.password.is_none() => match ask() {
                Some(password) => {
                    self.password = Some(password);
                    self.try_all()
                }
                None => Err(failure),
            },
            other => other,
        }
    }

    /// Tries one address after the other. One that can be reached and refuses the login is the last.
    fn try_all(&self) -> Result<OpenedConnection, ConnectFailure> {
        if !self.settings.takes_any_session() {
            let endpoint = self.settings.endpoint().map_err(|error| ConnectFailure::target(&error))?;
            return self.try_one(None, endpoint).map_err(|error| ConnectFailure::of_address(None, &error));
        }
        let mut failure = None;
        for (name, endpoint) in
            self.settings.named_endpoints().map_err(|error| ConnectFailure::target(&error))?
        {
            let error = match self.try_one(name, endpoint) {
                Ok(opened) => return Ok(opened),
                Err(error) => error,
            };
            let is_last = error.sqlstate().is_some() && !matches!(error, ConnectError::NotReady { .. });
            let this = ConnectFailure::of_address(name, &error);
            failure = Some(match failure {
                None => this,
                Some(before) => this.after(&before),
            });
            if is_last {
                break;
            }
        }
        Err(failure.unwrap_or_else(ConnectFailure::nowhere))
    }

    fn try_one(&self, name: Option<&str>, endpoint: Endpoint) -> Result<OpenedConnection, ConnectError> {
        let endpoint = self.with_password(endpoint);
        let connection = Connection::open(&endpoint)?;
        let name = name.map(str::to_owned);
        let server = PgbenchServer { endpoint, name, url: self.settings.url() };
        Ok(OpenedConnection { connection, server })
    }

    fn with_password(&self, endpoint: Endpoint) -> Endpoint {
        match &self.password {
            None => endpoint,
            Some(password) => {
                let login = Login { password: Some(password.clone()), ..Login::clone(&endpoint.login) };
                Endpoint { login: Arc::new(login), ..endpoint }
            }
        }
    }
}

#[cfg(test)]
mod tests;
