//! Where a load goes: from the options of the driver to a server, found and refused in sysbench's words.

mod failure;

use dyno_engine::error::SessionError;
use dyno_target::connection::Connection;
use dyno_target::{Environment, MySqlSettings, Target, TargetError, TargetSettings};
use dyno_wire::endpoint::{Address, Endpoint};

use super::console::{Level, SysbenchConsole};
use super::options::Options;
use crate::front_end::connect;
use dyno_workload::c_numbers::leading_integer;

pub(super) use failure::NotConnected;
use failure::UNKNOWN_ERROR;

/// The name that sessions have in the server's lists.
const PROGRAM_NAME: &str = "sysbench";

/// A database as the options name it. Nothing was tried yet.
#[derive(Debug, Clone)]
pub(super) struct Database {
    first: SysbenchServer,
    further: Vec<SysbenchServer>,
    /// `auto`: statements are prepared where that is possible.
    pub(super) prepared: bool,
    pub(super) mysql: bool,
}

/// One server, or one of several that are given to the threads in turn.
#[derive(Debug, Clone)]
struct SysbenchServer {
    target: Target,
    /// As messages name it: `host 'db1', port 3306`.
    name: String,
    /// The host as it was typed, or the socket.
    host: String,
}

/// A server that let us in.
#[derive(Debug)]
pub(super) struct OpenedServer {
    pub(super) connection: Connection,
    /// Where all of the places are, this one first.
    pub(super) endpoints: Vec<Endpoint>,
    /// Without the password.
    pub(super) url: String,
}

impl Database {
    pub(super) fn new(options: &Options, environment: &Environment) -> Result<Self, NotConnected> {
        let prepared = match options.text("db-ps-mode").unwrap_or_default() {
            "auto" => true,
            "disable" => false,
            other => return Err(NotConnected::no_driver(format!("Invalid value for db-ps-mode: {other}"))),
        };
        let (mut servers, mysql) = match options.text("db-driver").unwrap_or_default() {
            "mysql" => (mysql(options, environment)?, true),
            "pgsql" => (vec![postgres(options, environment)?], false),
            other => return Err(NotConnected::no_driver(format!("invalid database driver name: '{other}'"))),
        };
        if servers.is_empty() {
            return Err(NotConnected::nowhere());
        }
        Ok(Self { first: servers.remove(0), further: servers, prepared, mysql })
    }

    fn servers(&self) -> impl Iterator<Item = &SysbenchServer> {
        std::iter::once(&self.first).chain(&self.further)
    }

    /// Opens a session at the first place.
    pub(super) fn open(&self) -> Result<Connection, NotConnected> {
        self.first.open()
    }

    /// Opens a session at each place, keeps the first, and tells where they are.
    pub(super) fn open_all(&self) -> Result<OpenedServer, NotConnected> {
        let connection = self.first.open()?;
        let mut endpoints = Vec::from_iter(connection.endpoint().cloned());
        for server in &self.further {
            endpoints.extend(server.open()?.endpoint().cloned());
        }
        Ok(OpenedServer { connection, endpoints, url: self.first.target.url() })
    }

    /// Where all of the places are, without looking whether there is a server.
    pub(super) fn endpoints(&self) -> Result<Vec<Endpoint>, TargetError> {
        let first = |server: &SysbenchServer| {
            Ok(connect::addresses(&server.target)?.into_iter().next().map(|(_, endpoint)| endpoint))
        };
        self.servers().filter_map(|server| first(server).transpose()).collect()
    }

    /// Why a session of the engine was not opened, worded like a first one's failure.
    pub(super) fn refused(&self, address: &Address, error: &SessionError) -> NotConnected {
        self.first.refused(address, error)
    }

    /// Tells of what the user should know and is no error.
    pub(super) fn warn(&self, console: &SysbenchConsole) {
        for warning in self.servers().flat_map(|server| server.target.warnings()) {
            console.say(Level::Warning, warning);
        }
    }
}

impl SysbenchServer {
    fn open(&self) -> Result<Connection, NotConnected> {
        let opened = connect::open(&self.target).map(|opened| opened.connection);
        opened.map_err(|failure| self.not_opened(failure))
    }
}

fn postgres(options: &Options, environment: &Environment) -> Result<SysbenchServer, NotConnected> {
    let text = |name| options.text(name).unwrap_or_default();
    let mut parameters = vec![
        ("host", text("pgsql-host")),
        ("port", text("pgsql-port")),
        ("user", text("pgsql-user")),
        ("dbname", text("pgsql-db")),
        ("fallback_application_name", PROGRAM_NAME),
    ];
    // An empty password is none, as it is to libpq.
    parameters
        .extend(Some(("password", text("pgsql-password"))).filter(|(_, password)| !password.is_empty()));
    // Where it is not said, libpq's environment may say it.
    parameters.extend(options.is_typed("pgsql-sslmode").then(|| ("sslmode", text("pgsql-sslmode"))));
    let target = TargetSettings::from_parameters(&parameters, environment)
        .map_err(|error| NotConnected::postgres(connect::ConnectFailure::from(error)))?;
    let host = text("pgsql-host").to_owned();
    let target = connect::remembered(Target::Postgres(target));
    Ok(SysbenchServer { target, name: format!("host '{host}'"), host })
}

/// Every host with every port, or where there are sockets, these.
fn mysql(options: &Options, environment: &Environment) -> Result<Vec<SysbenchServer>, NotConnected> {
    for refused in ["mysql-compression", "mysql-dry-run"] {
        if options.flag(refused) {
            return Err(NotConnected::no_driver(format!("--{refused} is not supported: nothing is sent so")));
        }
    }
    let ports: Vec<_> = options.list("mysql-port").into_iter().map(port).collect();
    let hosts = options.list("mysql-host");
    let sockets = options.list("mysql-socket");
    let mut servers = Vec::new();
    if sockets.is_empty() {
        for (host, port) in hosts.iter().flat_map(|host| ports.iter().map(move |port| (*host, *port))) {
            let name = format!("host '{host}', port {port}");
            let target = mysql_target(options, &[("host", host), ("port", &port.to_string())], environment);
            servers.push(server(target, name, host)?);
        }
    }
    for socket in sockets {
        let target = mysql_target(options, &[("socket", socket)], environment);
        servers.push(server(target, format!("socket '{socket}'"), socket)?);
    }
    Ok(servers)
}

fn server(
    target: Result<MySqlSettings, TargetError>,
    name: String,
    host: &str,
) -> Result<SysbenchServer, NotConnected> {
    match target {
        Ok(target) => {
            let target = connect::remembered(Target::MySql(target));
            Ok(SysbenchServer { target, name, host: host.to_owned() })
        }
        Err(error) => Err(NotConnected::mysql(&name, UNKNOWN_ERROR, &error.to_string())),
    }
}

fn mysql_target(
    options: &Options,
    server: &[(&str, &str)],
    environment: &Environment,
) -> Result<MySqlSettings, TargetError> {
    let text = |name| options.text(name).unwrap_or_default();
    let mut given = server.to_vec();
    given.extend([
        ("user", text("mysql-user")),
        ("password", text("mysql-password")),
        ("database", text("mysql-db")),
        ("program-name", PROGRAM_NAME),
        ("ssl-mode", if options.flag("mysql-ssl") { "REQUIRED" } else { "DISABLED" }),
    ]);
    MySqlSettings::from_options(&given, environment)
}

/// The number that the text begins with, as C's `atoi` has it.
fn port(text: &str) -> u16 {
    leading_integer(text).0.and_then(|port| port.try_into().ok()).unwrap_or(0)
}
