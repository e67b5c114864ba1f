//! What can go wrong between the engine and a server.

use std::time::Duration;

use dyno_wire::link::LinkError;
use dyno_wire::my;
use dyno_wire::pg::error::ProtocolError;
use dyno_wire::pg::handshake::LoginError;
use dyno_wire::server_error::{DriverError, ServerError};
use rustix::io::Errno;

use crate::driver::Route;

/// Why a connection could not be opened, or broke.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("{doing}: {source}")]
    Io { doing: &'static str, source: Errno },
    #[error("{0}")]
    Login(Box<dyn std::error::Error + Send + Sync>),
    /// The login itself was refused.
    #[error("the server refused the login: {0}")]
    Refused(ServerError),
    #[error("{0}")]
    Link(#[from] LinkError),
    #[error("the server's answer is not understood: {0}")]
    Protocol(#[from] ProtocolError),
    #[error("the server's answer is not understood: {0}")]
    MyProtocol(#[from] my::error::ProtocolError),
    #[error("{0}")]
    Server(ServerError),
    #[error("the statement could not be prepared: {0}")]
    Prepare(ServerError),
    /// It refused a statement whose place is known: see [`Statement::at`](crate::request::Statement::at).
    #[error("{place}: {said}")]
    At { place: Box<str>, said: ServerError },
    #[error("the server closed the connection")]
    Closed,
    #[error("no answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error(
        "a statement was still under way long after the end of the load: dyno had it cancelled, and closed its connection because the \
         server did not end it in time"
    )]
    NotDrained,
    #[error("a statement that took too long could not be cancelled: {0}")]
    NotCancelled(Box<dyn std::error::Error + Send + Sync>),
    /// Nor was it waited for any longer.
    #[error(
        "the server did not cancel a statement within 2 s of its time limit, so its connection was closed: look whether the \
         server answers"
    )]
    NotStopped,
    /// A client cannot go on, for a reason of its workload: see [`Client::gave_up`](crate::workload::Client::gave_up).
    #[error("a client cannot go on: {why}")]
    GaveUp {
        why: String,
        /// What the server said, where that is the reason; it stands in `why`.
        said: Option<ServerError>,
    },
    #[error("the workload sent an empty request")]
    EmptyRequest,
    #[error("the statement copies from the client, which has nothing to copy")]
    CopyIn,
}

impl SessionError {
    pub(crate) fn io(doing: &'static str) -> impl Fn(Errno) -> Self {
        move |source| Self::Io { doing, source }
    }

    /// The server's own error, where there is one.
    pub fn server_error(&self) -> Option<&ServerError> {
        match self {
            Self::Server(error) | Self::Prepare(error) | Self::Refused(error) => Some(error),
            Self::At { said, .. } => Some(said),
            Self::GaveUp { said, .. } => said.as_ref(),
            _ => None,
        }
    }
}

impl From<DriverError> for SessionError {
    fn from(error: DriverError) -> Self {
        Self::Server(error.into())
    }
}

impl From<LoginError> for SessionError {
    fn from(error: LoginError) -> Self {
        match error {
            LoginError::Server(error) => Self::Refused(error.into()),
            error => Self::Login(Box::new(error)),
        }
    }
}

impl From<my::handshake::LoginError> for SessionError {
    fn from(error: my::handshake::LoginError) -> Self {
        match error {
            my::handshake::LoginError::Server(error) | my::handshake::LoginError::Unwelcome(error) => {
                Self::Refused(error.into())
            }
            error => Self::Login(Box::new(error)),
        }
    }
}

/// Why the engine could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Not all clients could be connected and prepared before the stage.
    #[error("connection {} of {wanted} to {}: {source}", connected + 1, .route.place())]
    Connect { route: Box<Route>, connected: u32, wanted: u32, source: SessionError },
    /// The process may not hold as many open files as the clients need.
    #[error(
        "{wanted} clients need {needed} open files, and the limit is {limit}: raise it with `ulimit -n {needed}`"
    )]
    OpenFiles { wanted: u32, needed: u64, limit: u64 },
    #[error("cannot start a thread: {0}; allow more: `ulimit -u`, or pids.max of the control group")]
    Start(#[source] std::io::Error),
    #[error("only PostgreSQL's protocol has an extended mode: let statements travel simple or prepared")]
    NotExtended,
    #[error("an open load's clients are its connections: a pool is for closed loops")]
    OpenOverPool,
    /// Its clients would wait for ever.
    #[error("a pool of {connections} connections has none for each of {generators} load generators")]
    PoolTooSmall { connections: u32, generators: u32 },
    #[error("a load thread ended unexpectedly")]
    ThreadLost,
    #[error("a load thread cannot wait for its connections: {0}")]
    Poll(#[source] Errno),
    #[error("DYNO_POLLER is `{0}`: there are auto, epoll and uring")]
    UnknownPoller(String),
    /// Asked to stop while connecting.
    #[error("stopped while connecting")]
    Stopped,
}
