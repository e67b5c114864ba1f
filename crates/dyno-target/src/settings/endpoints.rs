//! From settings to endpoints: host names are resolved and certificates read. Of several candidates the first
//! that accepts a connection (and suits `target_session_attrs`) is taken.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dyno_wire::endpoint::{Address, Endpoint, Login, Tls, TlsSetup, Wire};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::{Host, PostgresLocation, SessionAttributes, TargetError, TargetSettings, names};
use crate::connection::{self, ConnectError, Connection};
use crate::tls::SslMode;

/// How long an address of several may take to accept where no limit is set.
const TRY_TIMEOUT: Duration = Duration::from_secs(5);

impl TargetSettings {
    /// Every address that may be tried, in order; never empty.
    ///
    /// # Errors
    /// A host whose name is not known (unless another is), and certificates or keys that cannot be used.
    pub fn endpoints(&self) -> Result<Vec<Endpoint>, TargetError> {
        Ok(self.named_endpoints()?.into_iter().map(|(_, endpoint)| endpoint).collect())
    }

    /// The same, each with its host's name where that was resolved to get the address.
    ///
    /// # Errors
    /// As [`TargetSettings::endpoints`].
    pub fn named_endpoints(&self) -> Result<Vec<(Option<&str>, Endpoint)>, TargetError> {
        let config = self.client_config()?;
        at_addresses(&self.hosts, Host::addresses, |host, address| {
            let name = match &host.place {
                PostgresLocation::Tcp { name, address: None } => name.as_deref(),
                _ => None,
            };
            (name, self.endpoint_at(host, address, config.as_ref()))
        })
    }

    /// The address to use: the only one, or the first of several that accepts a connection and suits. Where none
    /// accepts it is the first, so that opening it says why.
    ///
    /// # Errors
    /// As [`TargetSettings::endpoints`], and where none suits `target_session_attrs`.
    pub fn endpoint(&self) -> Result<Endpoint, TargetError> {
        let endpoints = self.endpoints()?;
        if self.session != SessionAttributes::Any {
            return self.suitable(&endpoints);
        }
        first_answering(&endpoints, self.connect_timeout)
    }

    /// Whether any server that accepts a connection will do, as long as `target_session_attrs` is not set.
    pub fn takes_any_session(&self) -> bool {
        self.session == SessionAttributes::Any
    }

    /// Opens a session at [`TargetSettings::endpoint`] within `connect_timeout`.
    ///
    /// # Errors
    /// Says what stands in the way and what to do about it.
    pub fn connect(&self) -> Result<Connection, ConnectError> {
        Connection::open(&self.endpoint()?)
    }

    fn client_config(&self) -> Result<Option<Arc<ClientConfig>>, TargetError> {
        if self.tls.mode == SslMode::Disable || !self.hosts.iter().any(Host::is_tcp) {
            return Ok(None);
        }
        Ok(Some(Arc::new(self.tls.client_config()?)))
    }

    fn endpoint_at(&self, host: &Host, address: Address, config: Option<&Arc<ClientConfig>>) -> Endpoint {
        let tls = match (&address, config) {
            // As libpq: a local socket is never encrypted, whatever sslmode says.
            (Address::Tcp(socket), Some(config)) => {
                let setup =
                    TlsSetup { config: Arc::clone(config), server_name: server_name(host, socket.ip()) };
                if self.tls.mode == SslMode::Prefer { Tls::Prefer(setup) } else { Tls::Require(setup) }
            }
            _ => Tls::Disable,
        };
        let login = Login {
            user: self.user.clone(),
            password: host.password.clone(),
            database: self.database.clone(),
            parameters: self.startup.clone(),
            tls,
            channel_binding: self.channel_binding,
        };
        let connect_timeout = self.connect_timeout;
        Endpoint { address, login: Arc::new(login), wire: Wire::Postgres, connect_timeout }
    }

    /// The first that suits; a standby only preferred gives way to any in a second round.
    fn suitable(&self, endpoints: &[Endpoint]) -> Result<Endpoint, TargetError> {
        let mut tried = Vec::new();
        let mut fallback = None;
        for endpoint in endpoints {
            match self.suits(endpoint) {
                Ok(true) => return Ok(endpoint.clone()),
                Ok(false) => {
                    fallback = fallback.or(Some(endpoint));
                    tried.push(format!("{} is not", endpoint.address));
                }
                Err(error) => tried.push(error),
            }
        }
        match fallback {
            Some(endpoint) if self.session == SessionAttributes::PreferStandby => Ok(endpoint.clone()),
            _ => Err(TargetError::NoSuitableServer { wanted: self.session.name(), tried: tried.join("; ") }),
        }
    }

    fn suits(&self, endpoint: &Endpoint) -> Result<bool, String> {
        let mut connection = Connection::open(endpoint).map_err(|error| error.to_string())?;
        let sql = match self.session {
            SessionAttributes::Any => return Ok(true),
            SessionAttributes::ReadWrite => "SELECT current_setting('transaction_read_only') = 'off'",
            SessionAttributes::ReadOnly => "SELECT current_setting('transaction_read_only') = 'on'",
            SessionAttributes::Primary => "SELECT NOT pg_is_in_recovery()",
            SessionAttributes::Standby | SessionAttributes::PreferStandby => "SELECT pg_is_in_recovery()",
        };
        let answer: Option<String> = connection.query_value(sql).map_err(|error| error.to_string())?;
        Ok(answer.as_deref() == Some("t"))
    }
}

/// The name as the certificate must hold it. One that no certificate can hold (an underscore at its end, a
/// socket's path) is replaced by the address, which then only matters to `verify-full`.
fn server_name(host: &Host, address: IpAddr) -> ServerName<'static> {
    host.place
        .server_name()
        .and_then(|name| ServerName::try_from(name).ok())
        .unwrap_or_else(|| ServerName::IpAddress(address.into()))
}

/// What `endpoint` makes of each address of each host. A host that is not known is an error only where no other is.
pub(crate) fn at_addresses<'h, H, E>(
    hosts: &'h [H],
    addresses: impl Fn(&H) -> Result<Vec<Address>, TargetError>,
    endpoint: impl Fn(&'h H, Address) -> E,
) -> Result<Vec<E>, TargetError> {
    let mut endpoints = Vec::new();
    let mut unknown = None;
    for host in hosts {
        match addresses(host) {
            Ok(addresses) => endpoints.extend(addresses.into_iter().map(|address| endpoint(host, address))),
            Err(error) => unknown = unknown.or(Some(error)),
        }
    }
    match unknown {
        Some(error) if endpoints.is_empty() => Err(error),
        _ => Ok(endpoints),
    }
}

/// The only one, or the first of several that accepts a connection, or the first.
pub(crate) fn first_answering(
    endpoints: &[Endpoint],
    timeout: Option<Duration>,
) -> Result<Endpoint, TargetError> {
    let timeout = timeout.unwrap_or(TRY_TIMEOUT);
    let answering = match endpoints {
        [_] => None,
        several => several.iter().find(|endpoint| connection::accepts(&endpoint.address, timeout)),
    };
    let none = || TargetError::NoSuitableServer { wanted: "any", tried: "no address".to_owned() };
    answering.or(endpoints.first()).cloned().ok_or_else(none)
}

impl Host {
    fn addresses(&self) -> Result<Vec<Address>, TargetError> {
        match &self.place {
            PostgresLocation::Local(directories) => {
                let sockets: Vec<PathBuf> = directories.iter().map(|it| self.socket_in(it)).collect();
                let existing: Vec<_> = sockets.iter().filter(|it| it.exists()).cloned().collect();
                let chosen =
                    if existing.is_empty() { sockets.into_iter().take(1).collect() } else { existing };
                Ok(chosen.into_iter().map(Address::Unix).collect())
            }
            PostgresLocation::Socket(directory) => Ok(vec![Address::Unix(self.socket_in(directory))]),
            PostgresLocation::Tcp { address: Some(address), .. } => {
                Ok(vec![Address::Tcp(SocketAddr::new(*address, self.port))])
            }
            PostgresLocation::Tcp { name, address: None } => {
                names::addresses(name.as_deref().unwrap_or_default(), self.port)
            }
        }
    }

    fn socket_in(&self, directory: &Path) -> PathBuf {
        directory.join(format!(".s.PGSQL.{}", self.port))
    }
}
