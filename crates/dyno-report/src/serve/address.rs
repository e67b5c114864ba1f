//! Where to listen: what was asked for, and what is wrong with it.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};

use super::error::ServeError;

/// The addresses that a name and a port, or an address and a port, stand for.
pub(super) fn resolve(listen: &str) -> Result<Vec<SocketAddr>, ServeError> {
    let wrong = |why: String| ServeError::Address { listen: listen.to_owned(), why };
    let addresses: Vec<_> = listen.to_socket_addrs().map_err(|error| wrong(error.to_string()))?.collect();
    if addresses.is_empty() { Err(wrong("the name has no address".to_owned())) } else { Ok(addresses) }
}

/// Takes the first address that is free.
pub(super) fn bind(addresses: &[SocketAddr]) -> Result<TcpListener, ServeError> {
    let mut refused = None;
    for address in addresses {
        match TcpListener::bind(address) {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                return Err(ServeError::Taken { address: *address });
            }
            Err(source) => refused = Some(ServeError::Bind { address: *address, source }),
        }
    }
    Err(refused.unwrap_or_else(|| ServeError::Start(io::Error::from(io::ErrorKind::AddrNotAvailable))))
}
