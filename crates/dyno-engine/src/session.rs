//! One client and its connection: the states it passes through, and its socket.

use std::os::fd::{AsFd as _, OwnedFd};

use dyno_wire::endpoint::{Address, Endpoint, SessionName};
use dyno_wire::link::Link;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send,
    socket_with, sockopt,
};

use crate::dialogue::{LoginDialogue, ProtocolScanner};
use crate::error::SessionError;
use crate::poller::{Interest, Poller};
use crate::prepared_statements::PreparedStatements;
use crate::request::Kinds;
use crate::workload::{Client, Reaction};

/// What a session waits for. It moves downwards to `Idle`, turns between `Idle`, `Waiting`, `Recovering` and
/// `Sleeping` while a stage runs, and falls back to `Disconnected` when its connection breaks.
#[derive(Debug)]
pub(crate) enum SessionState {
    /// Has no socket. Waits for its turn to connect, or for the end of its back-off after a loss.
    Disconnected,
    /// The socket is connecting. Waits until it is writable; then logs in.
    Connecting,
    /// TLS, startup and authentication. Waits for the server's part; then prepares.
    LoggingIn(Box<LoginDialogue>),
    /// All statements were sent for parsing in one go. Waits for the answer; then is idle.
    Preparing,
    /// Connected and prepared, nothing under way. Waits for a stage, or for an arrival of an open load.
    Idle,
    /// Waits for a time: think time before a transaction, or a client's own sleep within one.
    Sleeping,
    /// Ended a transaction that needed no server. Waits for the others to have had their turn; then goes on.
    Yielding,
    /// A request was sent. Waits for all of its answer.
    Waiting,
    /// The statement that ends a failed transaction was sent. Waits for its answer; then what was decided follows.
    Recovering(Reaction),
    /// Gave up: after too many failures in a row, or by its own decision. Waits for nothing; the next stage starts it
    /// afresh.
    Aborted,
}

/// The transaction under way.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Transaction {
    pub(crate) type_index: usize,
    /// When it was due, monotonic nanoseconds.
    pub(crate) scheduled_ns: u64,
    /// How long its client waited for a connection of a pool.
    pub(crate) waited_ns: u64,
    /// When its first request was sent; a retry does not change it.
    pub(crate) sent_ns: u64,
    pub(crate) tries: u32,
    /// A request whose effects may be durable is unanswered.
    pub(crate) commit_in_flight: bool,
    /// Anything was sent yet.
    pub(crate) sent: bool,
    /// The client has asked for another connection within it: its time runs on.
    pub(crate) reconnected: bool,
    /// What the statements of the request under way do.
    pub(crate) kinds: Kinds,
    /// A statement of it was cancelled because dyno asked for that.
    pub(crate) cancelled: bool,
}

/// A client and its connection.
pub(crate) struct Session {
    pub(crate) state: SessionState,
    pub(crate) client: Box<dyn Client>,
    pub(crate) scanner: ProtocolScanner,
    /// What is prepared on the connection.
    pub(crate) prepared_statements: PreparedStatements,
    /// Of a pool: the client that has it.
    pub(crate) borrower: Option<u32>,
    /// Of a pool: how long that client waited for it, nanoseconds.
    pub(crate) waited_ns: u64,
    /// `Some` from a transaction's beginning to its end.
    pub(crate) transaction: Option<Transaction>,
    /// Transactions ended in this stage.
    pub(crate) ended: u64,
    pub(crate) failures_in_a_row: u32,
    /// Takes part in the stage that runs.
    pub(crate) active: bool,
    /// Stands in the thread's list of idle clients of an open load.
    pub(crate) queued: bool,
    /// The one time this session waits for; timers with another time are stale.
    pub(crate) timer_ns: Option<u64>,
    /// When the connection was lost, until it is there again.
    pub(crate) lost_ns: Option<u64>,
    /// Attempts to connect since a transaction last ended well.
    pub(crate) attempts: u32,
    /// When the connection was begun to be opened.
    pub(crate) opened_ns: u64,
    /// The client takes the rows of the answer that is waited for.
    pub(crate) keeps_rows: bool,
    /// When the request was sent that is waited for.
    pub(crate) request_ns: u64,
    /// When the server was last asked to cancel what was under way; 0 for never.
    pub(crate) cancel_ns: u64,
    /// How the server knows the connection in use.
    pub(crate) name: Option<SessionName>,
    /// The number of the connection in use, among those of the client.
    number: u16,
    /// The others by their numbers; without memory where there is but one.
    others: Vec<Other>,
    socket: Option<OwnedFd>,
    link: Link,
    interest: Interest,
    /// Plain bytes of a reply of which more must come. Empty, and without memory, nearly always.
    unread: Vec<u8>,
    /// Network bytes that the socket did not take.
    unsent: Vec<u8>,
    /// Where requests are encrypted; without memory on a plain link.
    sealed: Vec<u8>,
}

/// A connection that its client does not use at the moment. Nothing is under way on it, and nobody listens to it.
struct Other {
    socket: Option<OwnedFd>,
    scanner: ProtocolScanner,
    prepared_statements: PreparedStatements,
    link: Link,
    interest: Interest,
    unread: Vec<u8>,
    unsent: Vec<u8>,
}

impl Default for Other {
    fn default() -> Self {
        Self {
            socket: None,
            scanner: ProtocolScanner::default(),
            prepared_statements: PreparedStatements::default(),
            link: Link::Plain,
            interest: Interest::Read,
            unread: Vec::new(),
            unsent: Vec::new(),
        }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("state", &self.state).field("transaction", &self.transaction).finish()
    }
}

/// What a read brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// The request is answered in full.
    Answered,
    /// More must come.
    Partly,
    /// Nothing was there.
    Nothing,
}

impl Session {
    pub(crate) fn new(client: Box<dyn Client>) -> Self {
        Self {
            state: SessionState::Disconnected,
            client,
            scanner: ProtocolScanner::default(),
            prepared_statements: PreparedStatements::default(),
            borrower: None,
            waited_ns: 0,
            transaction: None,
            ended: 0,
            failures_in_a_row: 0,
            active: false,
            queued: false,
            timer_ns: None,
            lost_ns: None,
            attempts: 0,
            opened_ns: 0,
            keeps_rows: false,
            request_ns: 0,
            cancel_ns: 0,
            name: None,
            number: 0,
            others: Vec::new(),
            socket: None,
            link: Link::Plain,
            interest: Interest::Read,
            unread: Vec::new(),
            unsent: Vec::new(),
            sealed: Vec::new(),
        }
    }

    /// Opens a socket and begins to connect it.
    pub(crate) fn open(
        &mut self,
        address: &Address,
        poller: &Poller,
        token: u64,
    ) -> Result<(), SessionError> {
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
        poller.add(&socket, token, Interest::ReadWrite).map_err(SessionError::io("epoll"))?;
        self.interest = Interest::ReadWrite;
        self.socket = Some(socket);
        self.state = SessionState::Connecting;
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

    /// Closes the socket and forgets all that belonged to it. Closing takes it off the poller.
    pub(crate) fn close(&mut self) {
        self.socket = None;
        self.link = Link::Plain;
        self.scanner = ProtocolScanner::default();
        self.prepared_statements = PreparedStatements::default();
        self.interest = Interest::Read;
        self.unread = Vec::new();
        self.unsent = Vec::new();
        self.sealed = Vec::new();
        self.timer_ns = None;
        self.keeps_rows = false;
        self.state = SessionState::Disconnected;
    }

    /// Takes another of the client's connections into use, which need not be open.
    pub(crate) fn switch_to(&mut self, number: u16, poller: &Poller, token: u64) -> Result<(), SessionError> {
        if number == self.number {
            return Ok(());
        }
        if let Some(socket) = &self.socket {
            poller.remove(socket).map_err(SessionError::io("epoll"))?;
        }
        let least = usize::from(number.max(self.number)) + 1;
        if self.others.len() < least {
            self.others.resize_with(least, Other::default);
        }
        let left = std::mem::replace(&mut self.number, number);
        for at in [left, number] {
            let other = &mut self.others[usize::from(at)];
            std::mem::swap(&mut self.socket, &mut other.socket);
            std::mem::swap(&mut self.scanner, &mut other.scanner);
            std::mem::swap(&mut self.prepared_statements, &mut other.prepared_statements);
            std::mem::swap(&mut self.link, &mut other.link);
            std::mem::swap(&mut self.interest, &mut other.interest);
            std::mem::swap(&mut self.unread, &mut other.unread);
            std::mem::swap(&mut self.unsent, &mut other.unsent);
        }
        match &self.socket {
            Some(socket) => poller.add(socket, token, self.interest).map_err(SessionError::io("epoll")),
            None => Ok(()),
        }
    }

    /// Ends the session in good order, if there is one.
    pub(crate) fn hang_up(&mut self, poller: &Poller, token: u64) {
        if self.is_open() {
            self.say_goodbye(poller, token);
            self.close();
        }
    }

    /// Ends the sessions that are not in use.
    pub(crate) fn hang_up_others(&mut self, poller: &Poller, token: u64) {
        let used = self.number;
        for number in (0..self.others.len()).map(|number| number as u16).filter(|number| *number != used) {
            // A connection that cannot be taken into use any more needs no goodbye.
            if self.switch_to(number, poller, token).is_ok() {
                self.hang_up(poller, token);
            }
        }
        let _ = self.switch_to(used, poller, token);
    }

    pub(crate) fn begin_login(&mut self, endpoint: &Endpoint) {
        self.state = SessionState::LoggingIn(Box::new(LoginDialogue::new(endpoint)));
    }

    /// Moves the login on with what the server has sent, as far as it goes. True when it has ended.
    pub(crate) fn log_in(
        &mut self,
        inbox: &mut [u8],
        outbox: &mut Vec<u8>,
        poller: &Poller,
        token: u64,
        readable: bool,
    ) -> Result<bool, SessionError> {
        let received = if readable { self.receive_raw(inbox)? } else { None };
        let SessionState::LoggingIn(handshake) = &mut self.state else { return Ok(false) };
        let taken = received.map_or(Ok(()), |count| handshake.handle_input(&inbox[..count]));
        outbox.clear();
        handshake.poll_output(outbox);
        if let Err(error) = taken {
            // TLS owes the server an alert that says why; whether it arrives does not matter.
            let _ = self.send_raw(outbox, poller, token);
            return Err(error);
        }
        let done = handshake.is_done();
        if !outbox.is_empty() {
            self.send_raw(outbox, poller, token)?;
        }
        if done
            && let SessionState::LoggingIn(handshake) = std::mem::replace(&mut self.state, SessionState::Idle)
        {
            let session = handshake.into_session();
            self.link = session.link;
            self.scanner = session.scanner;
            (self.name, self.cancel_ns) = (session.name, 0);
            self.unread = session.leftover;
        }
        Ok(done)
    }

    /// Sends a request: plain bytes, encrypted here where the link is.
    #[inline]
    pub(crate) fn send(&mut self, plain: &[u8], poller: &Poller, token: u64) -> Result<(), SessionError> {
        if self.link.is_plain() {
            return self.send_raw(plain, poller, token);
        }
        let mut sealed = std::mem::take(&mut self.sealed);
        sealed.clear();
        let sent = match self.link.seal(plain, &mut sealed) {
            Ok(()) => self.send_raw(&sealed, poller, token),
            Err(error) => Err(error.into()),
        };
        self.sealed = sealed;
        sent
    }

    /// Sends network bytes; what the socket does not take waits until it is writable.
    fn send_raw(&mut self, bytes: &[u8], poller: &Poller, token: u64) -> Result<(), SessionError> {
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
            self.set_interest(Interest::ReadWrite, poller, token)?;
        }
        Ok(())
    }

    /// Sends what had to wait. Called when the socket is writable.
    pub(crate) fn flush(&mut self, poller: &Poller, token: u64) -> Result<(), SessionError> {
        let waiting = std::mem::take(&mut self.unsent);
        if !waiting.is_empty() {
            self.send_raw(&waiting, poller, token)?;
        }
        if self.unsent.is_empty() { self.set_interest(Interest::Read, poller, token) } else { Ok(()) }
    }

    fn set_interest(&mut self, interest: Interest, poller: &Poller, token: u64) -> Result<(), SessionError> {
        let Some(socket) = &self.socket else { return Err(SessionError::Closed) };
        if self.interest != interest {
            poller.change(socket.as_fd(), token, interest).map_err(SessionError::io("epoll"))?;
            self.interest = interest;
        }
        Ok(())
    }

    /// Reads what is there and scans it as the answer to the last request.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        inbox: &mut [u8],
        poller: &Poller,
        token: u64,
    ) -> Result<Received, SessionError> {
        let Some(count) = self.receive_raw(inbox)? else { return Ok(Received::Nothing) };
        if self.link.is_plain() && self.unread.is_empty() {
            let scanned = self.scanner.scan(
                self.keeps_rows,
                self.client.as_mut(),
                &mut self.prepared_statements,
                &inbox[..count],
            )?;
            // Behind a whole answer there is seldom anything: a part of a notice, say. The next scan begins there.
            if scanned.consumed < count {
                self.unread.extend_from_slice(&inbox[scanned.consumed..count]);
            }
            return Ok(if scanned.done { Received::Answered } else { Received::Partly });
        }
        self.link.open(&inbox[..count], &mut self.unread)?;
        self.answer_tls(poller, token)?;
        let scanned = self.scanner.scan(
            self.keeps_rows,
            self.client.as_mut(),
            &mut self.prepared_statements,
            &self.unread,
        )?;
        self.unread.drain(..scanned.consumed);
        Ok(if scanned.done { Received::Answered } else { Received::Partly })
    }

    /// Sends what TLS itself has to say: key updates, alerts.
    fn answer_tls(&mut self, poller: &Poller, token: u64) -> Result<(), SessionError> {
        let mut network = Vec::new();
        self.link.poll_output(&mut network)?;
        if network.is_empty() { Ok(()) } else { self.send_raw(&network, poller, token) }
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
        inbox: &mut [u8],
        poller: &Poller,
        token: u64,
    ) -> SessionError {
        if !matches!(error, SessionError::Io { .. } | SessionError::Closed) {
            return error;
        }
        self.listen();
        loop {
            match self.receive(inbox, poller, token) {
                Ok(Received::Partly) => {}
                Err(told @ SessionError::Server(_)) => return told,
                Ok(_) | Err(_) => return self.told().unwrap_or(error),
            }
        }
    }

    /// Ends the session in good order, so that the server need not find out by itself.
    pub(crate) fn say_goodbye(&mut self, poller: &Poller, token: u64) {
        let mut goodbye = Vec::new();
        self.scanner.write_goodbye(&mut goodbye);
        // A connection that broke in this moment needs no goodbye.
        let _ = self.send(&goodbye, poller, token);
    }

    /// Has a socket, be it not yet connected.
    pub(crate) fn is_open(&self) -> bool {
        self.socket.is_some()
    }

    /// Connected, logged in and prepared.
    pub(crate) fn is_connected(&self) -> bool {
        !matches!(
            self.state,
            SessionState::Disconnected
                | SessionState::Connecting
                | SessionState::LoggingIn(_)
                | SessionState::Preparing
        )
    }
}
