//! A session on the server: statements run there as operations, which are asked for, waited for and fetched over the session's own
//! connection. Another connection stops one, because the session's own waits for an answer.

use std::fmt;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dyno_engine::driver::{Batch, CancelSession, DriverSession, Executed, Operation, RowSink, Statement};
use dyno_results::sql_text::{Commands, Syntax};
use dyno_wire::server_error::{DriverError, DriverErrorKind};

use super::error::{NOT_HIVE, cancelled, checked, said};
use super::settings::HiveSettings;
use super::thrift::Item;
use super::wire::Wire;
use super::{load, rows};
use crate::deadline::Deadline;
use crate::interruption;
use crate::sql_text as text;

/// What of a text of several statements is quoted.
pub(super) const SYNTAX: Syntax = Syntax { backslashes: true, commands: &Commands::SPARK, ..Syntax::SQLITE };

/// To connect, and to answer a login.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// To open a session, which may start an engine for it.
const OPEN_TIMEOUT: Duration = Duration::from_secs(120);
/// To end one.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// To forget a statement that has ended.
const FORGET_TIMEOUT: Duration = Duration::from_secs(30);
/// Spark may start a job of a statement that it has stopped while it planned it, and nothing ends that job: it takes the processors
/// from all statements behind it. Closing the operation stops its jobs once more, so it is closed this long after.
const LATE_JOBS: Duration = Duration::from_secs(3);
/// A server that answers at once that a statement still runs is asked again after this time.
const PAUSE: Duration = Duration::from_millis(5);
/// Version 6 of the protocol: rows come as columns. Older servers refuse a client that names a version they do not know.
const VERSION: i32 = 5;
/// Rows of one answer; servers refuse more than ten thousand by default.
const FETCHED_ROWS: i64 = 5_000;

pub(super) struct HiveSession {
    wire: Wire,
    handle: Item,
    /// The workload's by their numbers.
    statements: Vec<Statement>,
    query: Arc<Query>,
    is_lost: bool,
}

/// What a session has under way, for another thread to stop.
struct Query {
    settings: HiveSettings,
    /// The session's own connection.
    socket: TcpStream,
    under_way: Mutex<Option<UnderWay>>,
    /// The connection was closed, because the server did not stop the statement.
    given_up: AtomicBool,
}

struct UnderWay {
    /// When it began, by which it is told from others.
    began: Instant,
    /// The server's name of it; `None` where it has none yet, or none any more, so that the server cannot be asked to stop it.
    operation: Option<Item>,
    /// Until when it is to have stopped; `None` where it was not asked to.
    stops_by: Option<Deadline>,
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query").field("place", &self.settings.authority()).finish_non_exhaustive()
    }
}

impl Query {
    fn under_way(&self) -> MutexGuard<'_, Option<UnderWay>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something begins that another thread may stop.
    fn begin(&self, operation: Option<Item>) {
        *self.under_way() = Some(UnderWay { began: Instant::now(), operation, stops_by: None });
    }

    /// It has ended; whether it had been asked to stop.
    fn end(&self) -> bool {
        self.under_way().take().is_some_and(|it| it.stops_by.is_some())
    }

    /// Asks the server to stop an operation; whether it says that it will.
    fn stop(&self, operation: Item, deadline: Deadline) -> bool {
        let Ok(mut wire) = Wire::connect(&self.settings, deadline) else { return false };
        let reply = wire.call("CancelOperation", vec![(1, operation)]);
        reply.is_ok_and(|reply| checked(reply).is_ok())
    }
}

impl CancelSession for Query {
    fn cancel(&self) {
        let (began, operation, deadline) = match &mut *self.under_way() {
            Some(it) => {
                (it.began, it.operation.clone(), *it.stops_by.get_or_insert_with(interruption::obeyed_by))
            }
            None => return,
        };
        let stops = !deadline.is_over() && operation.is_none_or(|operation| self.stop(operation, deadline));
        if !stops && self.under_way().as_ref().is_some_and(|it| it.began == began) {
            // The session need not wait.
            self.given_up.store(true, Ordering::Release);
            // It may be closed already.
            let _ = self.socket.shutdown(Shutdown::Both);
        }
    }
}

impl HiveSession {
    pub(super) fn open(settings: &HiveSettings, statements: &[Statement]) -> Result<Self, DriverError> {
        let mut wire = Wire::connect(settings, Deadline::within(CONNECT_TIMEOUT))?;
        wire.set_deadline(Deadline::within(OPEN_TIMEOUT));
        let opened = wire.call("OpenSession", opening(settings)).map_err(|error| wire.not_opened(&error))?;
        let opened = checked(opened)?;
        if opened.number(&[2]).unwrap_or(0) < VERSION.into() {
            return Err(DriverError::new(
                NOT_HIVE,
                "the server's protocol is too old: dyno speaks that of Hive 0.13 and later",
            ));
        }
        let handle = opened.at(&[3]).cloned().unwrap_or(Item::Struct(Vec::new()));
        wire.set_deadline(Deadline::default());
        let socket = wire.socket().map_err(|error| wire.lost(&error))?;
        let query = Arc::new(Query {
            settings: settings.clone(),
            socket,
            under_way: Mutex::new(None),
            given_up: AtomicBool::new(false),
        });
        Ok(Self { wire, handle, statements: statements.to_vec(), query, is_lost: false })
    }

    fn call(&mut self, function: &str, request: Vec<(i16, Item)>) -> Result<Item, DriverError> {
        self.wire.call(function, request).map_err(|error| self.lost(&error)).and_then(checked)
    }

    fn lost(&mut self, error: &io::Error) -> DriverError {
        self.is_lost = true;
        let mut lost = self.wire.lost(error);
        if self.query.given_up.load(Ordering::Acquire) {
            lost.message = format!(
                "{} did not stop a statement when it was asked to, so the connection was closed: look whether the server answers",
                self.query.settings.authority()
            );
        }
        lost
    }

    /// Runs one statement to its end.
    pub(super) fn run(&mut self, sql: &str, rows: &mut dyn RowSink) -> Result<Executed, DriverError> {
        self.query.begin(None);
        let returned = self.run_operation(sql, rows);
        self.query.end();
        let returned = returned?;
        // The server does not say how many rows a statement has changed.
        Ok(Executed { statements: 1, rows: returned, affected: 0 })
    }

    fn run_operation(&mut self, sql: &str, rows: &mut dyn RowSink) -> Result<u64, DriverError> {
        // In the background, so that there is a name by which it can be stopped.
        let request = vec![(1, self.handle.clone()), (2, Item::text(sql)), (4, Item::Bool(true))];
        let begun = self.call("ExecuteStatement", request)?;
        let Some(operation) = begun.at(&[2]).cloned() else { return Ok(0) };
        if let Some(it) = &mut *self.query.under_way() {
            it.operation = Some(operation.clone());
        }
        let returned = self.wait(&operation).and_then(|()| match operation.at(&[3]) {
            Some(Item::Bool(false)) => Ok(0),
            _ => self.fetch(&operation, rows),
        });
        let was_stopped = self.query.end();
        let returned = returned.map_err(|error| match error.kind {
            // What it says of rows that are no longer there.
            DriverErrorKind::Other if was_stopped => cancelled(),
            _ => error,
        });
        self.forget(
            operation,
            returned.as_ref().is_err_and(|error| error.kind == DriverErrorKind::Cancelled),
        );
        returned
    }

    /// Has the server forget an operation. It does so with the session at the latest, for which alone there is time where the user
    /// wants to stop.
    fn forget(&mut self, operation: Item, was_cancelled: bool) {
        if self.is_lost || was_cancelled && !interruption::sleep(LATE_JOBS) || interruption::is_requested() {
            return;
        }
        // It may take as long as a statement, and is stopped as one: by the end of the connection.
        self.query.begin(None);
        self.wire.set_deadline(Deadline::within(FORGET_TIMEOUT));
        let _ = self.call("CloseOperation", vec![(1, operation)]);
        self.wire.set_deadline(Deadline::default());
        self.query.end();
    }

    /// The server answers when the operation has ended, or some seconds later.
    fn wait(&mut self, operation: &Item) -> Result<(), DriverError> {
        loop {
            let asked = Instant::now();
            let status = self.call("GetOperationStatus", vec![(1, operation.clone())])?;
            match status.number(&[2]) {
                // Initialized, running, pending.
                Some(0 | 1 | 7) => {
                    if asked.elapsed() < PAUSE {
                        std::thread::sleep(PAUSE);
                    }
                }
                Some(2) => return Ok(()),
                // Cancelled, closed, out of time.
                Some(3 | 4 | 8) => return Err(cancelled()),
                _ => {
                    let text = status.string(&[5]).unwrap_or_default();
                    return Err(said(status.string(&[3]).as_deref(), &text));
                }
            }
        }
    }

    fn fetch(&mut self, operation: &Item, rows: &mut dyn RowSink) -> Result<u64, DriverError> {
        if rows.wants_rows() {
            let metadata = self.call("GetResultSetMetadata", vec![(1, operation.clone())])?;
            rows::hand_on_names(&metadata, rows);
        }
        let mut count = 0;
        loop {
            // From where the last ended.
            let request = vec![(1, operation.clone()), (2, Item::I32(0)), (3, Item::I64(FETCHED_ROWS))];
            match rows::hand_on(&self.call("FetchResults", request)?, rows)? {
                // Servers do not say truly whether there is more.
                0 => return Ok(count),
                fetched => count += fetched as u64,
            }
        }
    }
}

/// Settings are those of the configuration that `SET` changes.
fn opening(settings: &HiveSettings) -> Vec<(i16, Item)> {
    let setting =
        |(name, value): &(String, String)| (Item::text(&format!("set:hiveconf:{name}")), Item::text(value));
    let database = (Item::text("use:database"), Item::text(&settings.database));
    let configuration = std::iter::once(database).chain(settings.settings.iter().map(setting)).collect();
    vec![(1, Item::I32(VERSION)), (2, Item::text(&settings.user)), (4, Item::Map(configuration))]
}

impl Drop for HiveSession {
    fn drop(&mut self) {
        // The server ends the sessions of a connection that closes, too; where the user wants to stop that is enough.
        if !self.is_lost && !interruption::is_requested() {
            self.wire.set_deadline(Deadline::within(CLOSE_TIMEOUT));
            let _ = self.wire.call("CloseSession", vec![(1, self.handle.clone())]);
        }
    }
}

impl DriverSession for HiveSession {
    fn execute(&mut self, operation: Operation<'_>, rows: &mut dyn RowSink) -> Result<Executed, DriverError> {
        let mut all = Executed::default();
        for sql in text::of_operation(operation, &self.statements, SYNTAX) {
            all.add(self.run(&sql, rows)?);
        }
        Ok(all)
    }

    fn in_transaction(&self) -> bool {
        false
    }

    fn canceller(&self) -> Arc<dyn CancelSession> {
        Arc::<Query>::clone(&self.query)
    }

    fn load(&mut self, table: &str, columns: &[&str], rows: &Batch) -> Result<u64, DriverError> {
        load::load(self, table, columns, rows)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{Ipv4Addr, TcpListener};
    use std::sync::mpsc::{RecvTimeoutError, channel};

    use super::*;
    use crate::hive::thrift;
    use crate::settings::Environment;

    /// How a server behaves.
    #[derive(Clone, Copy)]
    struct Behaviour {
        /// What it says to who cancels a statement.
        cancelled: i32,
        /// Whether its statements end.
        ends: bool,
        /// The function whose call it never answers.
        silent_at: &'static str,
    }

    fn server(behaviour: Behaviour) -> HiveSettings {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || serve(stream, behaviour));
            }
        });
        let url = format!("hive2://{address}/?auth=nosasl");
        HiveSettings::parse(&url, &Environment::empty()).unwrap().unwrap()
    }

    fn serve(mut stream: TcpStream, Behaviour { cancelled, ends, silent_at }: Behaviour) -> Option<()> {
        let status = |code| (1, Item::Struct(vec![(1, Item::I32(code)), (5, Item::text("no"))]));
        loop {
            let (function, sequence) = thrift::called(&mut stream).ok()?;
            if function == silent_at {
                continue;
            }
            let returned = match function.as_str() {
                "OpenSession" => vec![status(0), (2, Item::I32(VERSION)), (3, Item::Struct(Vec::new()))],
                "ExecuteStatement" => vec![status(0), (2, Item::Struct(vec![(1, Item::text("it"))]))],
                // Ended, or still running.
                "GetOperationStatus" => vec![status(0), (2, Item::I32(if ends { 2 } else { 1 }))],
                "CancelOperation" => vec![status(cancelled)],
                _ => vec![status(0)],
            };
            stream.write_all(&thrift::answer(&function, sequence, Item::Struct(returned))).ok()?;
        }
    }

    /// Runs a statement that somebody wants to stop all the time.
    fn run_and_stop(session: &mut HiveSession) -> Result<Executed, DriverError> {
        let canceller = session.canceller();
        std::thread::scope(|scope| {
            let (done, ended) = channel::<()>();
            scope.spawn(move || {
                while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(Duration::from_millis(50)) {
                    canceller.cancel();
                }
            });
            let ran = session.run("SELECT 1", &mut ());
            drop(done);
            ran
        })
    }

    /// Its limit is that of the whole call, and who stops it ends it: without, it is waited for as long as the server likes.
    #[test]
    fn a_call_that_is_not_answered_ends() {
        for silent_at in ["ExecuteStatement", "GetOperationStatus", "FetchResults", "CloseOperation"] {
            let behaviour = Behaviour { cancelled: 0, ends: true, silent_at };
            let mut session = HiveSession::open(&server(behaviour), &[]).unwrap();
            let ran = run_and_stop(&mut session);
            assert!(session.is_lost, "{silent_at}: {ran:?}");
            assert_eq!(ran.is_ok(), silent_at == "CloseOperation", "{silent_at}: {ran:?}");
        }
        let behaviour = Behaviour { cancelled: 0, ends: true, silent_at: "CloseSession" };
        drop(HiveSession::open(&server(behaviour), &[]).unwrap());
    }

    #[test]
    fn a_statement_that_does_not_stop_loses_its_connection() {
        // The server says that it will stop it, and that it will not.
        for cancelled in [0, 3] {
            let behaviour = Behaviour { cancelled, ends: false, silent_at: "" };
            let mut session = HiveSession::open(&server(behaviour), &[]).unwrap();
            let error = run_and_stop(&mut session).unwrap_err();
            assert_eq!(error.kind, DriverErrorKind::SessionLost, "{error}");
            assert!(error.message.contains("did not stop a statement"), "{error}");
        }
    }
}
