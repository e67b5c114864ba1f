//! A way to a server that can be cut.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Passes on all that comes, until it is cut; whoever comes then is served again.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    clients: Arc<Mutex<Vec<TcpStream>>>,
}

impl Relay {
    /// It works until the process ends.
    pub(crate) fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let clients = Arc::<Mutex<Vec<TcpStream>>>::default();
        let accepted = Arc::clone(&clients);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
                accepted.lock().unwrap().push(client.try_clone().unwrap());
                let (back, forth) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                std::thread::spawn(move || pass(client, server));
                std::thread::spawn(move || pass(back, forth));
            }
        });
        Self { address, clients }
    }

    /// Closes all connections.
    pub(crate) fn cut(&self) {
        for client in self.clients.lock().unwrap().drain(..) {
            // It may have gone by itself.
            let _ = client.shutdown(Shutdown::Both);
        }
    }
}

/// The other side is closed when this one is.
fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 4096];
    let mut next = || -> io::Result<bool> {
        let count = from.read(&mut buffer)?;
        to.write_all(&buffer[..count])?;
        Ok(count > 0)
    };
    while next().unwrap_or(false) {}
    let _ = to.shutdown(Shutdown::Both);
}
