//! From settings to endpoints: host names are resolved and certificates read.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dyno_wire::endpoint::{Address, Endpoint, Login, Tls, TlsSetup, Wire};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::{Host, PostgresLocation, SessionAttributes, TargetError, TargetSettings, names};
use crate::tls::SslMode;

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

    /// Whether any server that accepts a connection will do, as long as `target_session_attrs` is not set.
    pub fn takes_any_session(&self) -> bool {
        self.session == SessionAttributes::Any
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
