//! Host names. Nothing else waits for a name server, which may be silent, but what reads a node_exporter, on a thread that is
//! left alone where the user wants to stop.

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
    let lookup = Apart::begin("name", look_up).map_err(TargetError::NoThread)?;
    lookup.end().and_then(|found| found).map_err(|source| match source.kind() {
        io::ErrorKind::Interrupted => TargetError::Interrupted,
        _ => TargetError::NameNotFound { host: host.to_owned(), source },
    })
}
