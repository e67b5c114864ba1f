//! A connection to a server whose protocol the event loop speaks: its socket, how requests leave it and answers arrive.

use dyno_wire::endpoint::{Address, SessionName};
use dyno_wire::link::Link;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt};

use crate::dialogue::{LoginDialogue, ProtocolScanner};
use crate::error::SessionError;
use crate::io::{Io, Received};
use crate::poller::{Poller, Socket};
use crate::prepared_statements::PreparedStatements;
use crate::request::SentRequest;
use crate::workload::Client;

/// A connection, which need not be open.
pub(crate) struct WireConnection {
    /// By which the poller knows it.
    token: u64,
    socket: Option<Socket>,
    link: Link,
    pub(crate) scanner: ProtocolScanner,
    /// How the server knows it.
    pub(crate) name: Option<SessionName>,
    /// The client takes the rows of the answer that is waited for.
    keeps_rows: bool,
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
    pub(crate) fn open(&mut self, address: &Address, poller: &mut Poller) -> Result<(), SessionError> {
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
        self.socket = Some(poller.add(socket, self.token)?);
        Ok(())
    }

    /// Hands a connected socket over to another poller.
    pub(crate) fn move_to(&mut self, poller: &mut Poller) -> Result<(), SessionError> {
        if let Some(socket) = self.socket.take() {
            self.socket = Some(poller.take_over(socket, self.token)?);
        }
        match std::mem::take(&mut self.unsent) {
            unsent if unsent.is_empty() => Ok(()),
            unsent => self.send(&unsent, poller),
        }
    }

    /// The result of the connect that was under way.
    pub(crate) fn finish_connect(&self, poller: &Poller) -> Result<(), SessionError> {
        self.socket.as_ref().map_or(Err(SessionError::Closed), |socket| poller.finish_connect(socket))
    }

    /// Closes the socket, if there is one.
    pub(crate) fn close(&mut self, poller: &mut Poller) {
        if let Some(socket) = self.socket.take() {
            poller.close(socket);
        }
    }

    /// Ends it in good order, so that the server need not find out by itself.
    pub(crate) fn say_goodbye(&mut self, poller: &mut Poller) {
        let mut goodbye = Vec::new();
        self.scanner.write_goodbye(&mut goodbye);
        // A connection that broke in this moment needs no goodbye.
        let _ = self.send(&goodbye, poller);
    }

    /// Of what comes on it nothing is to be heard until it is used again.
    pub(crate) fn set_aside(&self, poller: &mut Poller) -> Result<(), SessionError> {
        self.socket.as_ref().map_or(Ok(()), |socket| poller.set_aside(socket))
    }

    pub(crate) fn use_again(&self, poller: &mut Poller) -> Result<(), SessionError> {
        self.socket.as_ref().map_or(Ok(()), |socket| poller.use_again(socket))
    }

    /// Moves a login on with what the server has sent, as far as it goes. True when it has ended.
    pub(crate) fn log_in(
        &mut self,
        dialogue: &mut LoginDialogue,
        io: &mut Io,
        readable: bool,
    ) -> Result<bool, SessionError> {
        let received = readable && self.receive_raw(&mut io.poller)?;
        let taken = if received { dialogue.handle_input(io.poller.received()) } else { Ok(()) };
        io.outbox.clear();
        dialogue.poll_output(&mut io.outbox.bytes);
        if let Err(error) = taken {
            // TLS owes the server an alert that says why; whether it arrives does not matter.
            let _ = self.send_raw(&io.outbox.bytes, &mut io.poller);
            return Err(error);
        }
        if !io.outbox.bytes.is_empty() {
            self.send_raw(&io.outbox.bytes, &mut io.poller)?;
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
    pub(crate) fn request(&mut self, sent: SentRequest, io: &mut Io) -> Result<(), SessionError> {
        self.keeps_rows = sent.keeps_rows;
        self.scanner.start(sent.syncs, &io.outbox.expects);
        self.send(&io.outbox.bytes, &mut io.poller)
    }

    /// Sends plain bytes, encrypted here where the link is.
    #[inline]
    fn send(&mut self, plain: &[u8], poller: &mut Poller) -> Result<(), SessionError> {
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
    fn send_raw(&mut self, bytes: &[u8], poller: &mut Poller) -> Result<(), SessionError> {
        let Some(socket) = &mut self.socket else { return Err(SessionError::Closed) };
        if !self.unsent.is_empty() {
            self.unsent.extend_from_slice(bytes);
            return Ok(());
        }
        let sent = poller.send(socket, bytes)?;
        if sent < bytes.len() {
            self.unsent.extend_from_slice(&bytes[sent..]);
            poller.wait_until_writable(socket, true)?;
        }
        Ok(())
    }

    /// Whether all that was to be sent has left.
    pub(crate) fn has_sent_all(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Sends what had to wait. Called when the socket is writable.
    pub(crate) fn flush(&mut self, poller: &mut Poller) -> Result<(), SessionError> {
        let waiting = std::mem::take(&mut self.unsent);
        if !waiting.is_empty() {
            self.send_raw(&waiting, poller)?;
        }
        match &mut self.socket {
            Some(socket) if self.unsent.is_empty() => poller.wait_until_writable(socket, false),
            Some(_) => Ok(()),
            None => Err(SessionError::Closed),
        }
    }

    /// Reads what is there and scans it as the answer to the last request.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        prepared_statements: &mut PreparedStatements,
        client: &mut dyn Client,
        io: &mut Io,
    ) -> Result<Received, SessionError> {
        if !self.receive_raw(&mut io.poller)? {
            return Ok(Received::Nothing);
        }
        let arrived = io.poller.received();
        if self.link.is_plain() && self.unread.is_empty() {
            let (consumed, done) =
                self.scanner.scan(self.keeps_rows, client, prepared_statements, arrived)?;
            // Behind a whole answer there is seldom anything: a part of a notice, say. The next scan begins there.
            if consumed < arrived.len() {
                self.unread.extend_from_slice(&arrived[consumed..]);
            }
            return Ok(if done { Received::Answered } else { Received::Partly });
        }
        self.link.open(arrived, &mut self.unread)?;
        self.answer_tls(&mut io.poller)?;
        let (consumed, done) =
            self.scanner.scan(self.keeps_rows, client, prepared_statements, &self.unread)?;
        self.unread.drain(..consumed);
        Ok(if done { Received::Answered } else { Received::Partly })
    }

    /// Sends what TLS itself has to say: key updates, alerts.
    fn answer_tls(&mut self, poller: &mut Poller) -> Result<(), SessionError> {
        let mut network = Vec::new();
        self.link.poll_output(&mut network)?;
        if network.is_empty() { Ok(()) } else { self.send_raw(&network, poller) }
    }

    /// Receives network bytes, which the poller then has; false where there are none yet.
    #[inline]
    fn receive_raw(&mut self, poller: &mut Poller) -> Result<bool, SessionError> {
        let Some(socket) = &mut self.socket else { return Err(SessionError::Closed) };
        match poller.receive(socket) {
            Ok(Some(0)) => Err(self.told().unwrap_or(SessionError::Closed)),
            Ok(received) => Ok(received.is_some()),
            Err(error) => Err(self.told().unwrap_or(error)),
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
