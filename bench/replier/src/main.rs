//! A server that only replies: it speaks as much of PostgreSQL's protocol as a load of one prepared `SELECT` needs, so
//! that ten thousand connections cost next to nothing on its side and what is seen is the driver's.
//!
//! One thread, one epoll. `replier` prints the port that it listens on, on 127.0.0.1, and runs until it is ended. It
//! reads no SQL and keeps no data: every execution is answered with the same row.

use std::error::Error;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrV4, SocketFlags, SocketType, acceptfrom_with, bind,
    getsockname, listen, recv, send, socket_with, sockopt,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const BACKLOG: i32 = 4096;
const EVENTS_MAX: usize = 512;
const REQUEST_BYTES_MAX: usize = 64 << 10;
/// Asks for TLS, which is refused with one letter.
const SSL_REQUEST: u32 = 80_877_103;

/// AuthenticationOk, ParameterStatus server_version, BackendKeyData, ReadyForQuery (idle).
const WELCOME: &[u8] =
    b"R\0\0\0\x08\0\0\0\0S\0\0\0\x18server_version\x0015.0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x01Z\0\0\0\x05I";
const PARSE_COMPLETE: &[u8] = b"1\0\0\0\x04";
const BIND_COMPLETE: &[u8] = b"2\0\0\0\x04";
const CLOSE_COMPLETE: &[u8] = b"3\0\0\0\x04";
/// One DataRow with the column `0`, and CommandComplete.
const ROW: &[u8] = b"D\0\0\0\x0b\0\x01\0\0\0\x010C\0\0\0\x0dSELECT 1\0";
const READY: &[u8] = b"Z\0\0\0\x05I";

fn main() -> Result<(), Box<dyn Error>> {
    // Every connection is a file.
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    let mut server = Server::listen()?;
    println!("{}", server.port);
    std::io::stdout().flush()?;
    server.serve()
}

struct Server {
    listener: OwnedFd,
    port: u16,
    epoll: OwnedFd,
    /// By file descriptor; `None` where it is no connection.
    connections: Vec<Option<Connection>>,
    request: Box<[u8]>,
    reply: Vec<u8>,
}

struct Connection {
    socket: OwnedFd,
    /// The startup message has no type and comes first.
    started: bool,
    /// The beginning of a message of which more must come; nearly always empty.
    partial: Vec<u8>,
}

impl Server {
    fn listen() -> Result<Self, Errno> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let listener = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        bind(&listener, &SocketAddrV4::new([127, 0, 0, 1].into(), 0))?;
        listen(&listener, BACKLOG)?;
        let port = SocketAddrV4::try_from(getsockname(&listener)?)?.port();
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, token(&listener), EventFlags::IN)?;
        let request = vec![0; REQUEST_BYTES_MAX].into_boxed_slice();
        Ok(Self { listener, port, epoll, connections: Vec::new(), request, reply: Vec::with_capacity(4096) })
    }

    fn serve(&mut self) -> Result<(), Box<dyn Error>> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS_MAX);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                let data = event.data;
                let file = data.u64() as usize;
                if file == self.listener.as_raw_fd() as usize {
                    self.accept()?;
                } else if !self.answer(file) {
                    // Closing takes it off the epoll.
                    self.connections[file] = None;
                }
            }
        }
    }

    fn accept(&mut self) -> Result<(), Errno> {
        loop {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let socket = match acceptfrom_with(&self.listener, flags) {
                Ok((socket, _)) => socket,
                Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => return Ok(()),
                Err(error) => return Err(error),
            };
            sockopt::set_tcp_nodelay(&socket, true)?;
            epoll::add(&self.epoll, &socket, token(&socket), EventFlags::IN)?;
            let file = socket.as_raw_fd() as usize;
            if self.connections.len() <= file {
                self.connections.resize_with(file + 1, || None);
            }
            self.connections[file] = Some(Connection { socket, started: false, partial: Vec::new() });
        }
    }

    /// Answers what has come; false when the connection is over, or does what a load of this bench does not.
    fn answer(&mut self, file: usize) -> bool {
        let Some(Some(connection)) = self.connections.get_mut(file) else { return true };
        let count = match recv(&connection.socket, &mut *self.request, RecvFlags::empty()) {
            Ok((0, _)) => return false,
            Ok((count, _)) => count,
            Err(Errno::AGAIN | Errno::INTR) => return true,
            Err(_) => return false,
        };
        self.reply.clear();
        let goes_on = if connection.partial.is_empty() {
            let (consumed, goes_on) =
                reply_to(&self.request[..count], &mut connection.started, &mut self.reply);
            connection.partial.extend_from_slice(&self.request[consumed..count]);
            goes_on
        } else {
            connection.partial.extend_from_slice(&self.request[..count]);
            let (consumed, goes_on) = reply_to(&connection.partial, &mut connection.started, &mut self.reply);
            connection.partial.drain(..consumed);
            goes_on
        };
        // Replies are small and each is waited for: a socket that does not take one whole is broken.
        let sent = self.reply.is_empty()
            || send(&connection.socket, &self.reply, SendFlags::NOSIGNAL) == Ok(self.reply.len());
        goes_on && sent
    }
}

fn token(socket: &OwnedFd) -> EventData {
    EventData::new_u64(socket.as_raw_fd() as u64)
}

/// Appends the replies to all whole messages; gives how many bytes they were, and false when the client leaves.
fn reply_to(mut messages: &[u8], started: &mut bool, reply: &mut Vec<u8>) -> (usize, bool) {
    let all = messages.len();
    // Type, where there is one, and length, which counts itself and not the type.
    while let Some(header) = messages.get(..if *started { 5 } else { 8 }) {
        let (kind, length) = if *started { (header[0], &header[1..]) } else { (0, &header[..4]) };
        let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize;
        let whole = length + usize::from(*started);
        if messages.len() < whole || length < 4 {
            return (all - messages.len(), length >= 4);
        }
        match kind {
            0 if header[4..8] == SSL_REQUEST.to_be_bytes() => reply.push(b'N'),
            0 => {
                *started = true;
                reply.extend_from_slice(WELCOME);
            }
            b'P' => reply.extend_from_slice(PARSE_COMPLETE),
            b'B' => reply.extend_from_slice(BIND_COMPLETE),
            b'C' => reply.extend_from_slice(CLOSE_COMPLETE),
            b'E' => reply.extend_from_slice(ROW),
            b'S' => reply.extend_from_slice(READY),
            b'H' => {}
            _ => return (all - messages.len(), false),
        }
        messages = &messages[whole..];
    }
    (all - messages.len(), true)
}
