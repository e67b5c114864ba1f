//! Host names. Nothing else waits for a name server, which may be silent.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};

use dyno_wire::endpoint::Address;

use super::TargetError;
use crate::interruption::Apart;

/// The addresses of a host, as the system finds them; what is an address already is looked up nowhere.
pub(crate) fn addresses(host: &str, port: u16) -> Result<Vec<Address>, TargetError> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![Address::Tcp(SocketAddr::new(address, port))]);
    }
    let name = host.to_owned();
    let look_up =
        move || (name.as_str(), port).to_socket_addrs().map(|found| found.map(Address::Tcp).collect());
    Apart::begin("name", look_up).and_then(|lookup| lookup.end()?).map_err(|source| match source.kind() {
        io::ErrorKind::Interrupted => TargetError::Interrupted,
        _ => TargetError::NameNotFound { host: host.to_owned(), source },
    })
}
