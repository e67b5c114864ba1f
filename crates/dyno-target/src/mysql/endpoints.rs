//! From settings to endpoints: host names are resolved and certificates read.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;

use dyno_wire::endpoint::{Address, ChannelBinding, Endpoint, Login, Tls, TlsSetup, Wire};
use dyno_wire::my::handshake;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::{LOCALHOST, MySqlLocation, MySqlSettings};
use crate::settings::{TargetError, at_addresses, names};
use crate::tls::SslMode;

impl MySqlSettings {
    /// Every address that may be tried, in order; never empty.
    ///
    /// # Errors
    /// A host whose name is not known (unless another is), and certificates or keys that cannot be used.
    pub fn endpoints(&self) -> Result<Vec<Endpoint>, TargetError> {
        let config = self.client_config()?;
        at_addresses(&self.hosts, MySqlLocation::addresses, |place, address| {
            self.endpoint_at(place, address, config.as_ref())
        })
    }

    fn client_config(&self) -> Result<Option<Arc<ClientConfig>>, TargetError> {
        if self.tls.mode == SslMode::Disable {
            return Ok(None);
        }
        Ok(Some(Arc::new(self.tls.client_config()?)))
    }

    fn endpoint_at(
        &self,
        place: &MySqlLocation,
        address: Address,
        config: Option<&Arc<ClientConfig>>,
    ) -> Endpoint {
        let is_socket = matches!(address, Address::Unix(_));
        let setup = |config: &Arc<ClientConfig>| TlsSetup {
            config: Arc::clone(config),
            server_name: server_name(place, &address),
        };
        let tls = match (self.tls.mode, config) {
            // As MySQL: what need not be encrypted is not over a socket.
            (SslMode::Prefer, Some(_)) if is_socket => Tls::Disable,
            (SslMode::Prefer, Some(config)) => Tls::Prefer(setup(config)),
            (_, Some(config)) => Tls::Require(setup(config)),
            (_, None) => Tls::Disable,
        };
        let parameters = vec![
            ("program_name".to_owned(), self.program_name.clone()),
            ("_pid".to_owned(), std::process::id().to_string()),
        ];
        let login = Login {
            user: self.user.clone(),
            password: self.password.clone(),
            database: self.database.clone(),
            parameters,
            tls,
            channel_binding: ChannelBinding::Disable,
        };
        let options = handshake::Options { unix_socket: is_socket, ..self.options };
        let (wire, connect_timeout) = (Wire::MySql(options), self.connect_timeout);
        Endpoint { address, login: Arc::new(login), wire, connect_timeout }
    }
}

/// The name as the certificate must hold it, which matters to `VERIFY_IDENTITY` only.
fn server_name(place: &MySqlLocation, address: &Address) -> ServerName<'static> {
    let otherwise = match address {
        Address::Tcp(socket) => socket.ip(),
        Address::Unix(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
    };
    ServerName::try_from(place.name().unwrap_or(LOCALHOST).to_owned())
        .unwrap_or_else(|_| ServerName::IpAddress(otherwise.into()))
}

impl MySqlLocation {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Tcp { name, .. } => Some(name),
            Self::Local { .. } | Self::Socket(_) => None,
        }
    }

    fn addresses(&self) -> Result<Vec<Address>, TargetError> {
        match self {
            Self::Socket(socket) => Ok(vec![Address::Unix(socket.clone())]),
            Self::Local { sockets, port } => {
                let existing: Option<&PathBuf> = sockets.iter().find(|socket| socket.exists());
                let address = match existing {
                    Some(socket) => Address::Unix(socket.clone()),
                    None => Address::Tcp((Ipv4Addr::LOCALHOST, *port).into()),
                };
                Ok(vec![address])
            }
            Self::Tcp { name, port } => names::addresses(name, *port),
        }
    }
}
