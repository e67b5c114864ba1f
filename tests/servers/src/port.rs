//! A port of a server's own: nobody else gets it from the time when it is picked until the server is gone, whether the
//! server runs or not.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketAddrAny, SocketFlags, SocketType, bind, getsockname, socket_with};

/// A socket that is bound to the port and never listens. Servers share addresses that are in use so (`SO_REUSEADDR`),
/// but the kernel gives such a port to nobody who asks for any, and a connection to it is refused.
#[derive(Debug)]
pub(crate) struct Port {
    _held: OwnedFd,
    /// On 127.0.0.1.
    pub(crate) address: SocketAddr,
}

impl Port {
    /// A port that is free.
    pub(crate) fn reserve() -> Self {
        let held = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        set_socket_reuseaddr(&held, true).unwrap();
        bind(&held, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let address: SocketAddrAny = getsockname(&held).unwrap();
        let address = SocketAddr::try_from(address).unwrap();
        Self { _held: held, address }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_port_is_kept_for_a_server_and_for_nobody_else() {
        let port = Port::reserve();
        let refused = TcpStream::connect(port.address).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        for _ in 0..2 {
            // The server comes, and comes again.
            let server = TcpListener::bind(port.address).unwrap();
            drop(TcpStream::connect(port.address).unwrap());
            drop(server);
        }
        let others: Vec<Port> = (0..100).map(|_| Port::reserve()).collect();
        let ports: BTreeSet<u16> = others.iter().chain([&port]).map(|it| it.address.port()).collect();
        assert_eq!(ports.len(), 101);
    }
}
