//! A session: a connection to the server that is kept, over which one request follows another. Nothing of a session is kept on the
//! server.

use std::fmt;
use std::io::{BufReader, Read as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dyno_engine::driver::{
    Batch, CancelSession, DriverSession, Executed, Operation, RowSink, SessionProgress, Statement, Value,
};
use dyno_results::sql_text::{Commands, Hashes, Syntax};
use dyno_wire::server_error::{DriverError, DriverErrorKind};
use flate2::Compression;
use flate2::write::GzEncoder;
use ureq::http::Response;
use ureq::{Agent, Body};

use super::error::{CONNECTION_LOST, NOT_CLICKHOUSE, exception, shortened};
use super::http::{Asked, Server};
use super::rows::{self, Unfinished};
use crate::deadline::Deadline;
use crate::interruption;
use crate::settings::url::encode;
use crate::sql_text as text;

/// What of a text of several statements is quoted.
pub(super) const SYNTAX: Syntax = Syntax {
    dollars: true,
    hashes: Hashes::BeforeBlank,
    dashes_need_blank: false,
    commands: &Commands::BACKSLASH,
    ..Syntax::MYSQL
};

/// How rows come back.
const FORMAT: &str = "default_format=TabSeparatedWithNamesAndTypes";
/// The same with all digits of decimals: a quotient that was cut off to 3.00 is no integer 3. Old versions write them anyway.
const FORMAT_WITH_ZEROS: &str =
    "default_format=TabSeparatedWithNamesAndTypes&output_format_decimal_trailing_zeros=1";
/// What a request did, as JSON whose numbers are texts.
const SUMMARY: &str = "X-ClickHouse-Summary";
/// The format of an answer.
const ANSWER_FORMAT: &str = "X-ClickHouse-Format";
/// Of a server that marks an error behind rows.
const TAG: &str = "X-ClickHouse-Exception-Tag";
const ANSWER_BUFFER_BYTES: usize = 1 << 16;
/// How long a server may take to answer when a session is opened.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a server may take to say how far a query is.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(2);
/// A connection that is idle is given up so long before the server would.
const BEFORE_SERVER: Duration = Duration::from_secs(1);
/// Where the server does not say how long it keeps one: the shortest of its versions' defaults.
const KEEP_ALIVE_S: u64 = 3;

pub(super) struct ClickHouseSession {
    server: Arc<Server>,
    agent: Agent,
    /// How rows come back.
    format: &'static str,
    /// The workload's by their numbers.
    statements: Vec<Statement>,
    query: Arc<Query>,
    queries: u64,
    /// How long an answer may take.
    limit: Option<Duration>,
}

/// The query that a session has under way, for another thread to stop and to ask about.
struct Query {
    server: Arc<Server>,
    /// The session's own connection.
    agent: Agent,
    /// Another, over which the server is asked to stop it, and how far it is.
    other: Agent,
    /// Begins the names of the session's queries.
    prefix: String,
    under_way: Mutex<Option<UnderWay>>,
    /// The connection was closed, because the server did not stop the query.
    given_up: AtomicBool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct UnderWay {
    number: u64,
    /// Until when it is to have stopped; `None` where it was not asked to.
    stops_by: Option<Deadline>,
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl Query {
    fn name(&self, number: u64) -> String {
        format!("{}-{number}", self.prefix)
    }

    fn under_way(&self) -> MutexGuard<'_, Option<UnderWay>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The query that is to stop, and by when.
    fn to_stop(&self) -> Option<(u64, Deadline)> {
        let mut under_way = self.under_way();
        let query = under_way.as_mut()?;
        Some((query.number, *query.stops_by.get_or_insert_with(interruption::obeyed_by)))
    }

    /// Asks the server beside the query; the rows of its answer, as text.
    fn ask_beside(&self, sql: &str, deadline: Deadline) -> Option<Vec<String>> {
        let limit = deadline.left().ok()?;
        let asked = Asked { parameters: FORMAT, body: sql.as_bytes(), limit, ..Asked::default() };
        let answer = self.server.post(&self.other, &asked).ok()?.body_mut().read_to_string().ok()?;
        // Behind names and types.
        Some(answer.lines().skip(2).map(str::to_owned).collect())
    }

    /// Asks the server to stop a query; whether it answers in time. It may say that there is no such query: one may not have begun
    /// yet, or have ended while its rows are on their way.
    fn kill(&self, number: u64, deadline: Deadline) -> bool {
        let kill = format!("KILL QUERY WHERE query_id = '{}' ASYNC", self.name(number));
        self.ask_beside(&kill, deadline).is_some()
    }
}

impl SessionProgress for Query {
    fn read_share(&self) -> Option<f64> {
        let name = self.name(self.under_way().as_ref()?.number);
        let ask =
            format!("SELECT read_rows, total_rows_approx FROM system.processes WHERE query_id = '{name}'");
        let rows = self.ask_beside(&ask, Deadline::within(PROGRESS_TIMEOUT))?;
        let (read, total) = rows.first()?.split_once('\t')?;
        let (read, total) = (read.parse::<f64>().ok()?, total.parse::<f64>().ok()?);
        // The total is an estimate.
        (total > 0.0).then(|| (read / total).min(1.0))
    }
}

impl CancelSession for Query {
    fn cancel(&self) {
        let Some((number, deadline)) = self.to_stop() else { return };
        let stops = self.kill(number, deadline) && !deadline.is_over();
        // Where the server does not answer, or does not obey, the session at least need not wait.
        if !stops && self.under_way().is_some_and(|query| query.number == number) {
            self.given_up.store(true, Ordering::Release);
            self.agent.clone().shutdown();
        }
    }
}

/// What a server is asked once.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerTraits {
    /// How long it keeps an idle connection.
    idle: Duration,
    /// How rows come back.
    format: &'static str,
}

pub(super) fn traits(server: &Server) -> Result<ServerTraits, DriverError> {
    let agent = server.agent(Duration::ZERO);
    let ask = |format| {
        let limit = Some(OPEN_TIMEOUT);
        let asked = Asked { parameters: format, body: b"SELECT 1", limit, ..Asked::default() };
        Ok((format, server.post(&agent, &asked)?))
    };
    let (format, answer) = match ask(FORMAT_WITH_ZEROS) {
        // It does not know the setting, or this user may change none.
        Err(DriverError { kind: DriverErrorKind::Other, .. }) => ask(FORMAT)?,
        asked => asked?,
    };
    let header = answer.headers().get("Keep-Alive").and_then(|it| it.to_str().ok());
    let said = header.and_then(|it| it.split("timeout=").nth(1)?.split(',').next()?.trim().parse().ok());
    let idle = Duration::from_secs(said.unwrap_or(KEEP_ALIVE_S)).saturating_sub(BEFORE_SERVER);
    Ok(ServerTraits { idle, format })
}

impl ClickHouseSession {
    /// Asks the server once, so that what is wrong shows before the load.
    pub(super) fn new(
        server: Arc<Server>,
        ServerTraits { idle, format }: ServerTraits,
        statements: &[Statement],
    ) -> Result<Self, DriverError> {
        let agent = server.agent(idle);
        let query = Query {
            server: Arc::clone(&server),
            agent: agent.clone(),
            other: server.agent(idle),
            prefix: format!("dyno-{:016x}", rand::random::<u64>()),
            under_way: Mutex::new(None),
            given_up: AtomicBool::new(false),
        };
        let (statements, query) = (statements.to_vec(), Arc::new(query));
        let limit = Some(OPEN_TIMEOUT);
        let mut session = Self { server, agent, format, statements, query, queries: 0, limit };
        let mut hello = Hello(false);
        session.run("SELECT 1 AS dyno", &mut hello)?;
        session.limit = None;
        match hello.0 {
            true => Ok(session),
            false => {
                Err(DriverError::new(NOT_CLICKHOUSE, "what answers is not ClickHouse: check host and port"))
            }
        }
    }

    fn run(&mut self, sql: &str, rows: &mut dyn RowSink) -> Result<Executed, DriverError> {
        // Only the error of what sends rows can come behind them; of all else the server is to say first whether it is done.
        let waits = if text::returns_rows(sql, SYNTAX) { "" } else { "&wait_end_of_query=1" };
        self.ask(waits, None, sql.as_bytes(), |session, answer| {
            // Only some versions say it.
            if let Some(format) = answer.headers().get(ANSWER_FORMAT)
                && format != "TabSeparatedWithNamesAndTypes"
                && text::returns_rows(sql, SYNTAX)
            {
                return Err(rows::other_format());
            }
            let (marks, written) = (answer.headers().contains_key(TAG), written_rows(&answer));
            let body = BufReader::with_capacity(ANSWER_BUFFER_BYTES, answer.into_body().into_reader());
            let returned = rows::read(body, marks, rows).map_err(|unfinished| match unfinished {
                Unfinished::Exception(error) => error,
                Unfinished::Broken(error) => session.lost(&error),
            })?;
            Ok(Executed { statements: 1, rows: returned, affected: written.unwrap_or(0) })
        })
    }

    /// Sends a request under a name of its own, and takes its answer.
    fn ask<T>(
        &mut self,
        parameters: &str,
        encoding: Option<&str>,
        body: &[u8],
        take: impl FnOnce(&Self, Response<Body>) -> Result<T, DriverError>,
    ) -> Result<T, DriverError> {
        self.queries += 1;
        let name = self.query.name(self.queries);
        *self.query.under_way() = Some(UnderWay { number: self.queries, stops_by: None });
        let parameters = format!("query_id={name}&{}{parameters}", self.format);
        let asked = Asked { parameters: &parameters, encoding, body, limit: self.limit };
        let answer = self.server.post(&self.agent, &asked);
        let taken = answer.and_then(|answer| take(self, answer));
        *self.query.under_way() = None;
        taken.map_err(|mut error| {
            if error.kind == DriverErrorKind::SessionLost && self.query.given_up.load(Ordering::Acquire) {
                error.message = self.server.given_up();
            }
            error
        })
    }

    fn lost(&self, error: &std::io::Error) -> DriverError {
        DriverError::lost(CONNECTION_LOST, self.server.broken(&error.to_string()))
    }
}

/// Rows that the server says it wrote; `None` where it does not say.
fn written_rows(answer: &Response<Body>) -> Option<u64> {
    let summary = answer.headers().get(SUMMARY)?.to_str().ok()?;
    let number = summary.split(r#""written_rows":"#).nth(1)?.trim_start_matches(['"', ' ']);
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Looks whether 1 is 1.
struct Hello(bool);

impl RowSink for Hello {
    fn row(&mut self, values: &[Value<'_>]) {
        self.0 = values == [Value::Integer(1)];
    }
}

impl DriverSession for ClickHouseSession {
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

    fn progress(&self) -> Option<Arc<dyn SessionProgress>> {
        Some(Arc::<Query>::clone(&self.query))
    }

    fn load(&mut self, table: &str, columns: &[&str], rows: &Batch) -> Result<u64, DriverError> {
        let Batch::Lines(lines) = rows else {
            return Err(DriverError::new("no bulk load", "rows come as lines"));
        };
        let compressed =
            compressed(lines).map_err(|error| DriverError::new("no bulk load", error.to_string()))?;
        let insert = format!("INSERT INTO {table} ({}) FORMAT TabSeparated", columns.join(", "));
        let parameters = format!("&wait_end_of_query=1&query={}", encode(&insert));
        self.ask(&parameters, Some("gzip"), &compressed, |session, mut answer| {
            let written = written_rows(&answer);
            let mut rest = Vec::new();
            let mut body = answer.body_mut().as_reader().take(ANSWER_BUFFER_BYTES as u64);
            body.read_to_end(&mut rest).map_err(|error| session.lost(&error))?;
            // The status has been sent when an error comes late; what is between dyno and the server may replace it.
            if !rest.is_empty() {
                let said = String::from_utf8_lossy(&rest);
                let unknown = || {
                    let said = shortened(&said);
                    DriverError::new(
                        NOT_CLICKHOUSE,
                        format!("an INSERT was answered, where nothing is to be said: {said}"),
                    )
                };
                let error = said.find("Code: ").and_then(|at| exception(said.get(at..)?));
                return Err(error.unwrap_or_else(unknown));
            }
            // Who says nothing is not trusted for long: the rows of the whole table are counted behind the load.
            let sent = lines.iter().filter(|byte| **byte == b'\n').count() as u64;
            Ok(written.unwrap_or(sent))
        })
    }
}

fn compressed(lines: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(lines.len() / 3), Compression::fast());
    encoder.write_all(lines)?;
    encoder.finish()
}
