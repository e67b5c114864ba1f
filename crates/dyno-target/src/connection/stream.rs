//! The socket under a session, TCP or local.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use dyno_wire::endpoint::Address;

#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Ends a session's socket; whoever waits on it wakes up with the connection lost.
#[derive(Debug)]
pub struct Closer(Stream);

impl Closer {
    /// Ends the socket. Harmless where it has ended already.
    pub fn close(&self) {
        let _ = match &self.0 {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Stream::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Stream {
    pub(super) fn closer(&self) -> io::Result<Closer> {
        Ok(Closer(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        }))
    }

    pub(super) fn connect(address: &Address, timeout: Option<Duration>) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => {
                let stream = match timeout {
                    Some(timeout) => TcpStream::connect_timeout(address, timeout)?,
                    None => TcpStream::connect(address)?,
                };
                stream.set_nodelay(true)?;
                Ok(Self::Tcp(stream))
            }
            Address::Unix(path) => Ok(Self::Unix(UnixStream::connect(path)?)),
        }
    }

    pub(super) fn peer_process_id(&self) -> Option<u32> {
        let Self::Unix(stream) = self else { return None };
        let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
        u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
    }

    /// Limits every single read and write.
    pub(super) fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        // The system takes zero for no limit.
        let timeout = timeout.map(|it| it.max(Duration::from_millis(1)));
        match self {
            Self::Tcp(stream) => {
                stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout))
            }
            Self::Unix(stream) => {
                stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout))
            }
        }
    }

    /// Reads what is there already; `None` where nothing is.
    pub(super) fn read_available(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.set_nonblocking(true)?;
        let read = self.read(buffer);
        self.set_nonblocking(false)?;
        match read {
            Ok(count) => Ok(Some(count)),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_nonblocking(on),
            Self::Unix(stream) => stream.set_nonblocking(on),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
