//! A connection to a server whose protocol the event loop speaks: its socket, how requests leave it and answers arrive.

use std::os::fd::{AsFd as _, OwnedFd};

use dyno_wire::endpoint::{Address, SessionName};
use dyno_wire::link::Link;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send,
    socket_with, sockopt,
};

use crate::dialogue::{LoginDialogue, ProtocolScanner};
use crate::error::SessionError;
use crate::io::{Io, Received};
use crate::poller::{Interest, Poller, READ, READ_WRITE};
use crate::prepared_statements::PreparedStatements;
use crate::request::SentRequest;
use crate::workload::Client;

/// A connection, which need not be open.
pub(crate) struct WireConnection {
    /// By which the poller knows it.
    token: u64,
    socket: Option<OwnedFd>,
    link: Link,
    pub(crate) scanner: ProtocolScanner,
    /// How the server knows it.
    pub(crate) name: Option<SessionName>,
    /// The client takes the rows of the answer that is waited for.
    keeps_rows: bool,
    interest: Interest,
    /// Plain bytes of a reply of which more must come. Empty, and without memory, nearly always.
    unread: Vec<u8>,
    /// Network bytes that the socket did not take.
    unsent: Vec<u8>,
    /// Where requests are encrypted; without memory on a plain link.
    sealed: Vec<u8>,
}

impl WireConnection {
    pub(crate) fn new(token: u64) -> Self {
        Self {
            token,
            socket: None,
            link: Link::Plain,
            scanner: ProtocolScanner::default(),
            name: None,
            keeps_rows: false,
            interest: READ,
            unread: Vec::new(),
            unsent: Vec::new(),
            sealed: Vec::new(),
        }
    }

    pub(crate) fn token(&self) -> u64 {
        self.token
    }

    /// Has a socket, be it not yet connected.
    pub(crate) fn is_open(&self) -> bool {
        self.socket.is_some()
    }

    /// Opens a socket and begins to connect it.
    pub(crate) fn open(&mut self, address: &Address, poller: &Poller) -> Result<(), SessionError> {
        let family = match address {
            Address::Tcp(address) if address.is_ipv6() => AddressFamily::INET6,
            Address::Tcp(_) => AddressFamily::INET,
            Address::Unix(_) => AddressFamily::UNIX,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket =
            socket_with(family, SocketType::STREAM, flags, None).map_err(SessionError::io("socket"))?;
        let connecting = match address {
            Address::Tcp(address) => {
                sockopt::set_tcp_nodelay(&socket, true).map_err(SessionError::io("TCP_NODELAY"))?;
                connect(&socket, address)
            }
            Address::Unix(path) => {
                connect(&socket, &SocketAddrUnix::new(path).map_err(SessionError::io("connect"))?)
            }
        };
        match connecting {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(source) => return Err(SessionError::Io { doing: "connect", source }),
        }
        poller.add(&socket, self.token, READ_WRITE).map_err(SessionError::io("epoll"))?;
        self.interest = READ_WRITE;
        self.socket = Some(socket);
        Ok(())
    }

    /// The result of the connect that was under way.
    pub(crate) fn finish_connect(&self) -> Result<(), SessionError> {
        let socket = self.socket.as_ref().ok_or(SessionError::Closed)?;
        match sockopt::socket_error(socket) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(source)) | Err(source) => Err(SessionError::Io { doing: "connect", source }),
        }
    }

    /// Ends it in good order, so that the server need not find out by itself.
    pub(crate) fn say_goodbye(&mut self, poller: &Poller) {
        let mut goodbye = Vec::new();
        self.scanner.write_goodbye(&mut goodbye);
        // A connection that broke in this moment needs no goodbye.
        let _ = self.send(&goodbye, poller);
    }

    /// Of what comes on it nothing is to be heard until it is used again.
    pub(crate) fn set_aside(&self, poller: &Poller) -> Result<(), SessionError> {
        self.socket.as_ref().map_or(Ok(()), |socket| poller.remove(socket)).map_err(SessionError::io("epoll"))
    }

    pub(crate) fn use_again(&self, poller: &Poller) -> Result<(), SessionError> {
        let add = |socket| poller.add(socket, self.token, self.interest);
        self.socket.as_ref().map_or(Ok(()), add).map_err(SessionError::io("epoll"))
    }

    /// Moves a login on with what the server has sent, as far as it goes. True when it has ended.
    pub(crate) fn log_in(
        &mut self,
        dialogue: &mut LoginDialogue,
        io: &mut Io,
        readable: bool,
    ) -> Result<bool, SessionError> {
        let received = if readable { self.receive_raw(&mut io.inbox)? } else { None };
        let taken = received.map_or(Ok(()), |count| dialogue.handle_input(&io.inbox[..count]));
        io.outbox.clear();
        dialogue.poll_output(&mut io.outbox.bytes);
        if let Err(error) = taken {
            // TLS owes the server an alert that says why; whether it arrives does not matter.
            let _ = self.send_raw(&io.outbox.bytes, &io.poller);
            return Err(error);
        }
        if !io.outbox.bytes.is_empty() {
            self.send_raw(&io.outbox.bytes, &io.poller)?;
        }
        Ok(dialogue.is_done())
    }

    /// Takes over from a login that has ended.
    pub(crate) fn logged_in(&mut self, dialogue: LoginDialogue) {
        let session = dialogue.into_session();
        self.link = session.link;
        self.scanner = session.scanner;
        self.name = session.name;
        self.unread = session.leftover;
    }

    /// Sends what the outbox holds, which so many ReadyForQuery answer.
    #[inline]
    pub(crate) fn request(&mut self, sent: SentRequest, io: &Io) -> Result<(), SessionError> {
        self.keeps_rows = sent.keeps_rows;
        self.scanner.start(sent.syncs, &io.outbox.expects);
        self.send(&io.outbox.bytes, &io.poller)
    }

    /// Sends plain bytes, encrypted here where the link is.
    #[inline]
    fn send(&mut self, plain: &[u8], poller: &Poller) -> Result<(), SessionError> {
        if self.link.is_plain() {
            return self.send_raw(plain, poller);
        }
        let mut sealed = std::mem::take(&mut self.sealed);
        sealed.clear();
        let sent = match self.link.seal(plain, &mut sealed) {
            Ok(()) => self.send_raw(&sealed, poller),
            Err(error) => Err(error.into()),
        };
        self.sealed = sealed;
        sent
    }

    /// Sends network bytes; what the socket does not take waits until it is writable.
    fn send_raw(&mut self, bytes: &[u8], poller: &Poller) -> Result<(), SessionError> {
        let Some(socket) = &self.socket else { return Err(SessionError::Closed) };
        if !self.unsent.is_empty() {
            self.unsent.extend_from_slice(bytes);
            return Ok(());
        }
        let sent = match send(socket, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) => sent,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(source) => return Err(SessionError::Io { doing: "send", source }),
        };
        if sent < bytes.len() {
            self.unsent.extend_from_slice(&bytes[sent..]);
            self.set_interest(READ_WRITE, poller)?;
        }
        Ok(())
    }

    /// Sends what had to wait. Called when the socket is writable.
    pub(crate) fn flush(&mut self, poller: &Poller) -> Result<(), SessionError> {
        let waiting = std::mem::take(&mut self.unsent);
        if !waiting.is_empty() {
            self.send_raw(&waiting, poller)?;
        }
        if self.unsent.is_empty() { self.set_interest(READ, poller) } else { Ok(()) }
    }

    fn set_interest(&mut self, interest: Interest, poller: &Poller) -> Result<(), SessionError> {
        let Some(socket) = &self.socket else { return Err(SessionError::Closed) };
        if self.interest != interest {
            poller.change(socket.as_fd(), self.token, interest).map_err(SessionError::io("epoll"))?;
            self.interest = interest;
        }
        Ok(())
    }

    /// Reads what is there and scans it as the answer to the last request.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        prepared_statements: &mut PreparedStatements,
        client: &mut dyn Client,
        io: &mut Io,
    ) -> Result<Received, SessionError> {
        let Some(count) = self.receive_raw(&mut io.inbox)? else { return Ok(Received::Nothing) };
        if self.link.is_plain() && self.unread.is_empty() {
            let (consumed, done) =
                self.scanner.scan(self.keeps_rows, client, prepared_statements, &io.inbox[..count])?;
            // Behind a whole answer there is seldom anything: a part of a notice, say. The next scan begins there.
            if consumed < count {
                self.unread.extend_from_slice(&io.inbox[consumed..count]);
            }
            return Ok(if done { Received::Answered } else { Received::Partly });
        }
        self.link.open(&io.inbox[..count], &mut self.unread)?;
        self.answer_tls(&io.poller)?;
        let (consumed, done) =
            self.scanner.scan(self.keeps_rows, client, prepared_statements, &self.unread)?;
        self.unread.drain(..consumed);
        Ok(if done { Received::Answered } else { Received::Partly })
    }

    /// Sends what TLS itself has to say: key updates, alerts.
    fn answer_tls(&mut self, poller: &Poller) -> Result<(), SessionError> {
        let mut network = Vec::new();
        self.link.poll_output(&mut network)?;
        if network.is_empty() { Ok(()) } else { self.send_raw(&network, poller) }
    }

    /// Reads network bytes; `None` where there are none yet.
    #[inline]
    fn receive_raw(&mut self, inbox: &mut [u8]) -> Result<Option<usize>, SessionError> {
        let Some(socket) = &self.socket else { return Err(SessionError::Closed) };
        match recv(socket, inbox, RecvFlags::empty()) {
            Ok((0, _)) => Err(self.told().unwrap_or(SessionError::Closed)),
            Ok((count, _)) => Ok(Some(count)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(source) => Err(self.told().unwrap_or(SessionError::Io { doing: "receive", source })),
        }
    }

    /// What the server gave as the reason, if it gave one: it may stand in what came behind the last answer.
    #[cold]
    fn told(&mut self) -> Option<SessionError> {
        if !self.scanner.has_error() {
            self.listen();
            self.scanner.overhear(&self.unread);
        }
        self.scanner.take_error().map(SessionError::Server)
    }

    /// Listens as if for an answer that never comes, so that the server's unasked words are kept.
    pub(crate) fn listen(&mut self) {
        if self.scanner.is_done() {
            self.scanner.start(1, &[]);
        }
    }

    /// Why the connection broke, in the server's words where it left any: a server that ends a session says why
    /// before it closes, and a send that then fails knows nothing of it.
    pub(crate) fn last_words(
        &mut self,
        error: SessionError,
        prepared_statements: &mut PreparedStatements,
        client: &mut dyn Client,
        io: &mut Io,
    ) -> SessionError {
        if !matches!(error, SessionError::Io { .. } | SessionError::Closed) {
            return error;
        }
        self.listen();
        loop {
            match self.receive(prepared_statements, client, io) {
                Ok(Received::Partly) => {}
                Err(told @ SessionError::Server(_)) => return told,
                Ok(_) | Err(_) => return self.told().unwrap_or(error),
            }
        }
    }
}
