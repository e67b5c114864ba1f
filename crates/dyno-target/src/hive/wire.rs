//! A connection to the server: TCP, the login by SASL PLAIN where the server wants one, and one call after another.

use std::io::{self, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};

use dyno_wire::endpoint::Password;
use dyno_wire::server_error::DriverError;

use super::error::{CONNECTION_LOST, LOGIN_REFUSED, NO_CONNECTION, shortened};
use super::settings::{Auth, HiveSettings};
use super::thrift::{self, Item};
use crate::deadline::Deadline;

/// What a message of the login is.
const START: u8 = 1;
const OK: u8 = 2;
const COMPLETE: u8 = 5;
/// A server says less when it refuses a login.
const REFUSAL_BYTES_MAX: u32 = 1 << 16;

pub(super) struct Wire {
    stream: BufReader<Timed>,
    place: String,
    /// With SASL, a length precedes each piece of what is sent.
    auth: Auth,
    /// What of the piece is still to be read.
    left: u32,
    calls: i32,
}

impl Wire {
    /// Connects and logs in by the deadline, which is also that of what follows, until [`set_deadline`](Self::set_deadline) says
    /// otherwise.
    pub(super) fn connect(settings: &HiveSettings, deadline: Deadline) -> Result<Self, DriverError> {
        let place = settings.authority();
        let failed = |error: io::Error| no_connection(not_reached(&place, &error));
        let socket = dial(settings, deadline).map_err(failed)?;
        socket.set_nodelay(true).map_err(failed)?;
        let stream = BufReader::with_capacity(1 << 16, Timed { socket, deadline });
        let mut wire = Self { stream, place, auth: Auth::None, left: 0, calls: 0 };
        if settings.auth == Auth::Plain {
            wire.log_in(settings)?;
            wire.auth = Auth::Plain;
        }
        Ok(wire)
    }

    pub(super) fn socket(&self) -> io::Result<TcpStream> {
        self.stream.get_ref().socket.try_clone()
    }

    /// When all that is called from now on must be answered.
    pub(super) fn set_deadline(&mut self, deadline: Deadline) {
        self.stream.get_mut().deadline = deadline;
    }

    /// Calls a function of the server; what it returned.
    pub(super) fn call(&mut self, function: &str, request: Vec<(i16, Item)>) -> io::Result<Item> {
        self.calls = self.calls.wrapping_add(1);
        let message = thrift::call(function, self.calls, Item::Struct(request));
        match self.auth {
            Auth::None => self.stream.get_mut().write_all(&message)?,
            Auth::Plain => {
                let length = u32::try_from(message.len()).map_err(io::Error::other)?;
                self.stream.get_mut().write_all(&[&length.to_be_bytes()[..], &message].concat())?;
            }
        }
        let calls = self.calls;
        thrift::reply(self, calls)
    }

    /// The connection broke.
    pub(super) fn lost(&self, error: &io::Error) -> DriverError {
        let message = format!(
            "the connection to {} was lost: {}; look into the server's log",
            self.place,
            reason(error)
        );
        DriverError::lost(CONNECTION_LOST, message)
    }

    /// The server does not take the first call.
    pub(super) fn not_opened(&self, error: &io::Error) -> DriverError {
        let advice = match self.auth {
            Auth::None => {
                "a server that wants a login (its usual setting) hangs up on a target with auth=nosasl: leave that out; \
                 otherwise check host and port (10000), and whether the server speaks binary over TCP, not HTTP or TLS"
            }
            Auth::Plain => "look into the server's log",
        };
        let message = format!("{} opens no session: {}; {advice}", self.place, reason(error));
        no_connection(message)
    }

    fn log_in(&mut self, settings: &HiveSettings) -> Result<(), DriverError> {
        let password = settings.password.as_ref().map_or("", Password::reveal);
        // A server takes an empty password for none, and then for a malformed login.
        let password = if password.is_empty() { "x" } else { password };
        let login = format!("\0{}\0{password}", settings.user);
        let mut messages = sasl(START, b"PLAIN");
        messages.extend(sasl(OK, login.as_bytes()));
        let answered = self.stream.get_mut().write_all(&messages).and_then(|()| self.sasl_answer());
        match answered {
            Ok((OK | COMPLETE, _)) => Ok(()),
            Ok((_, said)) => {
                let (place, user, said) = (&self.place, &settings.user, shortened(&said));
                let advice = "check the user and the password in the target's URL";
                let message = format!("{place} lets user {user:?} not in: {said}; {advice}");
                Err(DriverError::lost(LOGIN_REFUSED, message))
            }
            Err(error) => Err(no_connection(format!(
                "{} does not answer a login by SASL PLAIN as HiveServer2 does: {}; a server without logins \
                 (hive.server2.authentication=NOSASL) wants auth=nosasl in the target; Kerberos, TLS and HTTP are not \
                 spoken; otherwise check host and port (10000)",
                self.place,
                reason(&error)
            ))),
        }
    }

    fn sasl_answer(&mut self) -> io::Result<(u8, String)> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head)?;
        let [status, length @ ..] = head;
        let length = u32::from_be_bytes(length);
        if !(OK..=COMPLETE).contains(&status) || length > REFUSAL_BYTES_MAX {
            return Err(io::Error::other("it speaks another protocol"));
        }
        let mut said = Vec::new();
        self.stream.by_ref().take(length.into()).read_to_end(&mut said)?;
        Ok((status, String::from_utf8_lossy(&said).into_owned()))
    }
}

/// Without the lengths of the pieces.
impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.auth == Auth::None {
            return self.stream.read(buffer);
        }
        if self.left == 0 {
            let mut length = [0; 4];
            self.stream.read_exact(&mut length)?;
            self.left = u32::from_be_bytes(length);
            // A server that sends nothing but such would be read for ever.
            if self.left == 0 {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a piece of its answer is empty"));
            }
        }
        let most = buffer.len().min(self.left as usize);
        let read = self.stream.read(&mut buffer[..most])?;
        self.left -= read as u32;
        Ok(read)
    }
}

fn sasl(status: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&[status], &length[..], payload].concat()
}

/// A socket whose waits all end by one deadline.
struct Timed {
    socket: TcpStream,
    deadline: Deadline,
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.deadline.left()?)?;
        self.socket.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.deadline.left()?)?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// Tries the addresses of the host in turn.
fn dial(settings: &HiveSettings, deadline: Deadline) -> io::Result<TcpStream> {
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    for address in
        (settings.host.as_str(), settings.port).to_socket_addrs().map_err(|_| io::ErrorKind::NotFound)?
    {
        let connected = match deadline.left()? {
            Some(left) => TcpStream::connect_timeout(&address, left),
            None => TcpStream::connect(address),
        };
        match connected {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn not_reached(place: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            format!("the host of {place} is not known: check its spelling and the name server")
        }
        io::ErrorKind::ConnectionRefused => format!(
            "no server listens at {place} (connection refused): start it, or check host and port (10000)"
        ),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            format!("{place} did not answer in time: check host and firewall")
        }
        _ => format!("{place} cannot be reached: {error}"),
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            "it hung up".to_owned()
        }
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "it did not answer in time".to_owned(),
        _ => error.to_string(),
    }
}

fn no_connection(message: String) -> DriverError {
    DriverError::lost(NO_CONNECTION, message)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::time::Duration;

    use super::*;
    use crate::settings::Environment;

    /// A byte comes within each wait, for ever.
    #[test]
    fn a_login_that_comes_byte_by_byte_is_given_up() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut server, _) = listener.accept().unwrap();
            // An answer of 65,535 bytes.
            let answer = [2, 0, 0, 0xff, 0xff].into_iter().chain(std::iter::repeat(b'x'));
            for byte in answer {
                if server.write_all(&[byte]).is_err() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let url = format!("hive2://u@{address}/");
        let settings = HiveSettings::parse(&url, &Environment::empty()).unwrap().unwrap();
        let error = Wire::connect(&settings, Deadline::within(Duration::from_millis(300))).err().unwrap();
        assert!(error.message.contains("did not answer in time"), "{error}");
    }

    #[test]
    fn an_empty_piece_is_an_error() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let stream = BufReader::new(Timed { socket, deadline: Deadline::default() });
        let mut wire = Wire { stream, place: String::new(), auth: Auth::Plain, left: 0, calls: 0 };
        let (mut server, _) = listener.accept().unwrap();
        server.write_all(b"\0\0\0\x02ab\0\0\0\x01c\0\0\0\0\0\0\0\x01d").unwrap();
        let mut read = [0; 3];
        wire.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"abc");
        assert_eq!(wire.read(&mut read).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
