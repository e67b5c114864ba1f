//! Why there is no session: how sysbench and its drivers begin to say it, with MySQL's numbers of errors. Wrappers look
//! for these.

use std::fmt::Display;

use dyno_engine::error::SessionError;
use dyno_target::TargetError;
use dyno_target::connection::ConnectError;
use dyno_wire::endpoint::Address;
use dyno_wire::server_error::ServerError;
use dyno_workload::sysbench::{Called, FatalError};

use super::super::console::{Level, SysbenchConsole};
use super::SysbenchServer;
use crate::front_end::connect::{ConnectFailure, session_failed};

/// What the scripts of sysbench say when there is no driver, and when it did not connect.
const NO_DRIVER: &str = "failed to initialize the DB driver";
const NO_CONNECTION: &str = "connection creation failed";
const SQL_API: &str = "SQL API error";

/// Errors of MySQL's client library.
pub(super) const UNKNOWN_ERROR: u16 = 2000;
const NO_SERVER: u16 = 2002;
const UNKNOWN_HOST: u16 = 2005;
const SERVER_LOST: u16 = 2013;

/// No session came about.
#[derive(Debug)]
pub(in super::super) struct NotConnected {
    lines: Vec<String>,
    reason: &'static str,
}

impl NotConnected {
    /// The options name no driver, or none that can be had so.
    pub(super) fn no_driver(line: String) -> Self {
        Self { lines: vec![line], reason: NO_DRIVER }
    }

    pub(in super::super) fn nowhere() -> Self {
        Self::other("no host to connect to")
    }

    pub(in super::super) fn other(line: &str) -> Self {
        Self { lines: vec![line.to_owned()], reason: NO_CONNECTION }
    }

    /// libpq's words end with an end of line, and so does sysbench's message.
    pub(super) fn postgres(failure: impl Display) -> Self {
        Self::other(&format!("Connection to database failed: {failure}\n"))
    }

    pub(super) fn mysql(server: &str, number: u16, message: &str) -> Self {
        let lines = vec![
            format!("unable to connect to MySQL server on {server}, aborting..."),
            format!("error {number}: {message}"),
        ];
        Self { lines, reason: NO_CONNECTION }
    }

    pub(in super::super) fn is_without_driver(&self) -> bool {
        self.reason == NO_DRIVER
    }

    /// All that was told.
    pub(in super::super) fn message(&self) -> String {
        self.lines.join(" ").trim_end().to_owned()
    }

    /// Tells of it while threads begin.
    pub(in super::super) fn tell_thread(&self, console: &SysbenchConsole) {
        self.tell_command(console, "thread_init");
        console.fatal("Thread initialization failed!");
    }

    /// Tells of it where a command is carried out, by this function.
    pub(in super::super) fn tell_command(&self, console: &SysbenchConsole, function: &str) {
        self.tell_lines(console);
        console.fatal(&format!("`{function}' function failed: {}", self.reason));
    }

    /// Tells of it where a script says itself what follows from it.
    pub(in super::super) fn tell_lines(&self, console: &SysbenchConsole) {
        for line in &self.lines {
            console.say(Level::Fatal, line);
        }
    }
}

impl SysbenchServer {
    pub(super) fn not_opened(&self, failure: ConnectFailure) -> NotConnected {
        if !self.target.is_mysql() {
            return NotConnected::postgres(failure);
        }
        let Some(error) = failure.into_error() else { return NotConnected::nowhere() };
        let (number, message) = match (error.server_error(), &error) {
            (Some(server_error), _) => {
                (server_error.number().unwrap_or(UNKNOWN_ERROR), server_error.message().to_owned())
            }
            (None, ConnectError::Target(TargetError::NameNotFound { host, .. })) => {
                (UNKNOWN_HOST, format!("Unknown server host '{host}' (-2)"))
            }
            (None, ConnectError::Target(_)) => (UNKNOWN_ERROR, error.to_string()),
            (None, ConnectError::Closed { .. }) => (SERVER_LOST, error.to_string()),
            (None, ConnectError::Refused { .. }) => {
                (NO_SERVER, format!("Can't connect to server on '{}' (115)", self.host))
            }
            (None, _) => (NO_SERVER, error.to_string()),
        };
        NotConnected::mysql(&self.name, number, &message)
    }

    /// A session of the engine, after a first one could be opened.
    pub(super) fn refused(&self, address: &Address, error: &SessionError) -> NotConnected {
        if let SessionError::Prepare(server_error) = error {
            let lines = FatalError::of_server(String::new(), server_error).driver_lines(Called::Prepare);
            return NotConnected { lines, reason: SQL_API };
        }
        if !self.target.is_mysql() {
            return NotConnected::postgres(session_failed(None, address, error));
        }
        let server_error = error.server_error();
        let message = server_error.map_or_else(|| error.to_string(), |it| it.message().to_owned());
        let number = server_error.and_then(ServerError::number).unwrap_or(SERVER_LOST);
        NotConnected::mysql(&self.name, number, &message)
    }
}
