//! Drives the machines over a blocking socket, and opens mysql_async connections to compare them with.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dyno_test_servers::Mysql;
use dyno_wire::endpoint::{ChannelBinding, Login, Password, Tls};
use dyno_wire::my::backend::{Column, OkPacket, Prepared, ResultRow, Text};
use dyno_wire::my::error::MySqlError;
use dyno_wire::my::frontend::{self, ExecuteWriter};
use dyno_wire::my::handshake::{Handshake, LoginError, Options, Session};
use dyno_wire::my::reply::{Expect, ReplyScanner, ReplySink, Totals};
use dyno_wire::my::value::Value;

use crate::servers::DATABASE;

/// A login as one of the server's users, to the database of these tests.
pub(crate) fn login(user: &str, password: Option<&str>) -> Login {
    Login {
        user: user.to_owned(),
        password: password.map(|password| Password::new(password.to_owned())),
        database: DATABASE.to_owned(),
        parameters: Vec::new(),
        tls: Tls::Disable,
        channel_binding: ChannelBinding::Prefer,
    }
}

/// What the client talks over.
pub(crate) trait Stream: Read + Write + fmt::Debug {}

impl<T: Read + Write + fmt::Debug> Stream for T {}

/// A session over a blocking socket.
#[derive(Debug)]
pub(crate) struct Client {
    stream: Box<dyn Stream>,
    pub(crate) session: Session,
    scanner: ReplyScanner,
    /// Decrypted bytes that were not consumed yet.
    received: Vec<u8>,
}

/// A value without its buffer.
#[derive(Clone, PartialEq)]
pub(crate) enum Owned {
    Null,
    Bytes(Vec<u8>),
    /// Anything else, as text.
    Text(&'static str, String),
}

impl fmt::Debug for Owned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Bytes(bytes) if bytes.len() > 100 => write!(f, "({} bytes)", bytes.len()),
            Self::Bytes(bytes) => write!(f, "'{}'", bytes.escape_ascii()),
            Self::Text(kind, text) => write!(f, "{kind} {text}"),
        }
    }
}

/// All that a reply brought.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) results: Vec<Vec<Vec<Owned>>>,
    pub(crate) columns: Vec<(String, u8, bool)>,
    pub(crate) infos: Vec<String>,
    pub(crate) file: Option<String>,
    pub(crate) prepared: Option<Prepared>,
    pub(crate) errors: Vec<MySqlError>,
    pub(crate) totals: Totals,
}

impl Reply {
    /// The rows of the only result, all in text.
    pub(crate) fn texts(&self) -> Vec<Vec<Option<String>>> {
        let text = |value: &Owned| match value {
            Owned::Null => None,
            Owned::Bytes(bytes) => Some(String::from_utf8(bytes.clone()).unwrap()),
            Owned::Text(_, text) => Some(text.clone()),
        };
        self.results.iter().flatten().map(|row| row.iter().map(text).collect()).collect()
    }

    /// The only value.
    pub(crate) fn value(&self) -> String {
        assert!(self.errors.is_empty(), "{self:?}");
        self.texts()[0][0].clone().unwrap()
    }
}

impl ReplySink for Reply {
    const WANTS_ROWS: bool = true;

    fn result_set(&mut self, _: usize) {
        self.results.push(Vec::new());
    }
    fn column(&mut self, column: Column<'_>) {
        self.columns.push((
            column.name.to_string(),
            column.value_type.column_type.0,
            column.value_type.unsigned,
        ));
    }
    fn row(&mut self, row: ResultRow<'_>) {
        let owned = |value: Value<'_>| match value {
            Value::Null => Owned::Null,
            Value::Bytes(bytes) => Owned::Bytes(bytes.to_vec()),
            Value::Int(_) => Owned::Text("int", value.to_string()),
            Value::UInt(_) => Owned::Text("uint", value.to_string()),
            Value::Float(_) => Owned::Text("float", value.to_string()),
            Value::Double(_) => Owned::Text("double", value.to_string()),
            Value::Date(_) => Owned::Text("date", value.to_string()),
            Value::DateTime(..) => Owned::Text("datetime", value.to_string()),
            Value::Time(_) => Owned::Text("time", value.to_string()),
        };
        assert_eq!(row.columns().count(), row.len());
        self.results.last_mut().unwrap().push(row.columns().map(owned).collect());
    }
    fn ok(&mut self, ok: OkPacket<'_>) {
        self.infos.push(ok.info.to_string());
    }
    fn error(&mut self, error: &MySqlError) {
        self.errors.push(error.clone());
    }
    fn prepared(&mut self, prepared: Prepared) {
        self.prepared = Some(prepared);
    }
    fn local_infile(&mut self, file: Text<'_>) {
        self.file = Some(file.to_string());
    }
}

impl Client {
    pub(crate) fn open(address: SocketAddr, login: Login, options: Options) -> Result<Self, LoginError> {
        Self::over(Box::new(connect(address)), login, options)
    }

    pub(crate) fn open_unix(path: &Path, login: Login) -> Result<Self, LoginError> {
        let options = Options { unix_socket: true, ..Options::default() };
        Self::over(Box::new(UnixStream::connect(path).unwrap()), login, options)
    }

    fn over(mut stream: Box<dyn Stream>, login: Login, options: Options) -> Result<Self, LoginError> {
        let mut handshake = Handshake::new(Arc::new(login), options);
        let mut network = Vec::new();
        loop {
            let mut out = Vec::new();
            handshake.poll_output(&mut out);
            stream.write_all(&out).unwrap();
            if handshake.is_done() {
                break;
            }
            receive(&mut stream, &mut network);
            handshake.handle_input(&network)?;
        }
        let mut session = handshake.into_session();
        let received = std::mem::take(&mut session.leftover);
        let scanner = ReplyScanner::new(session.capabilities);
        Ok(Self { stream, session, scanner, received })
    }

    /// Sends a command and takes the whole reply.
    pub(crate) fn exchange(&mut self, expect: Expect, write: impl FnOnce(&mut Vec<u8>)) -> Reply {
        self.scanner.start(expect);
        self.send(write);
        let mut reply = Reply::default();
        self.finish(&mut reply);
        reply
    }

    pub(crate) fn query(&mut self, sql: impl AsRef<[u8]>) -> Reply {
        self.exchange(Expect::Text, |out| frontend::query(out, sql))
    }

    /// The totals of a query whose rows nobody wants.
    pub(crate) fn count(&mut self, sql: &str) -> Totals {
        self.scanner.start(Expect::Text);
        self.send(|out| frontend::query(out, sql));
        self.finish(&mut ());
        self.scanner.totals()
    }

    pub(crate) fn prepare(&mut self, sql: &str) -> Prepared {
        let reply = self.exchange(Expect::Prepared, |out| frontend::stmt_prepare(out, sql));
        assert!(reply.errors.is_empty(), "{reply:?}");
        assert_eq!(reply.prepared, self.scanner.prepared());
        reply.prepared.unwrap()
    }

    pub(crate) fn execute(
        &mut self,
        prepared: Prepared,
        write: impl FnOnce(&mut ExecuteWriter<'_>),
    ) -> Reply {
        self.exchange(Expect::Binary, |out| {
            let mut writer = ExecuteWriter::new(out, prepared.statement, prepared.parameters);
            write(&mut writer);
            writer.finish();
        })
    }

    /// Sends a query that is expected to ask for a file, and sends these pieces of it.
    pub(crate) fn load(&mut self, sql: &str, pieces: &[&[u8]]) -> Reply {
        let mut reply = Reply::default();
        self.scanner.start(Expect::Text);
        self.send(|out| frontend::query(out, sql));
        while !self.scanner.wants_local_infile() {
            if self.step(&mut reply) {
                return reply;
            }
        }
        let mut file = self.scanner.local_infile().unwrap();
        assert!(self.scanner.local_infile().is_none());
        for piece in pieces {
            self.send(|out| file.data(out, piece));
        }
        self.send(|out| file.finish(out));
        self.finish(&mut reply);
        reply
    }

    /// Sends several commands at once, and takes the replies of all.
    pub(crate) fn pipeline(&mut self, expects: &[Expect], write: impl FnOnce(&mut Vec<u8>)) -> Reply {
        let mut reply = Reply::default();
        self.scanner.start(expects[0]);
        self.send(write);
        for expect in &expects[1..] {
            self.scanner.extend(*expect);
        }
        self.finish(&mut reply);
        reply
    }

    pub(crate) fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let (mut plain, mut network) = (Vec::new(), Vec::new());
        write(&mut plain);
        self.session.link.seal(&plain, &mut network).unwrap();
        self.stream.write_all(&network).unwrap();
    }

    /// Ends the session; true if the server closes the connection.
    pub(crate) fn quit(mut self) -> bool {
        self.send(frontend::quit);
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).is_ok()
    }

    /// What the server says before it closes the connection, which it does by itself.
    pub(crate) fn last_words(mut self) -> Vec<u8> {
        let mut words = Vec::new();
        match self.stream.read_to_end(&mut words) {
            Ok(_) => words,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => words,
            Err(error) => panic!("{error}"),
        }
    }

    fn finish<S: Record>(&mut self, reply: &mut S) {
        while !self.step(reply) {}
        reply.totals(self.scanner.totals());
        assert!(self.received.is_empty(), "{} bytes after the reply", self.received.len());
    }

    /// Scans what is there, or else receives more; true once the reply is complete.
    fn step<S: ReplySink>(&mut self, reply: &mut S) -> bool {
        let scanned = self.scanner.scan(&self.received, reply).unwrap();
        self.received.drain(..scanned.consumed);
        if scanned.consumed == 0 && !scanned.done {
            let mut network = Vec::new();
            receive(&mut self.stream, &mut network);
            self.session.link.open(&network, &mut self.received).unwrap();
            network.clear();
            self.session.link.poll_output(&mut network).unwrap();
            self.stream.write_all(&network).unwrap();
        }
        scanned.done
    }
}

/// A sink that may want the totals.
pub(crate) trait Record: ReplySink {
    fn totals(&mut self, totals: Totals) {
        let _ = totals;
    }
}

impl Record for () {}

impl Record for Reply {
    fn totals(&mut self, totals: Totals) {
        self.totals = totals;
    }
}

/// A socket on which a lost answer fails the test instead of hanging it.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

pub(crate) fn receive(stream: &mut impl Read, network: &mut Vec<u8>) {
    let mut buffer = vec![0; 64 * 1024];
    let count = stream.read(&mut buffer).unwrap();
    assert!(count > 0, "the server closed the connection");
    network.clear();
    network.extend_from_slice(&buffer[..count]);
}

/// Runs `job` with a mysql_async connection of the superuser.
pub(crate) fn with_mysql_async<T>(server: &Mysql, job: impl AsyncFnOnce(&mut mysql_async::Conn) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = mysql_async::OptsBuilder::default()
            .ip_or_hostname("127.0.0.1")
            .tcp_port(server.address.port())
            .prefer_socket(false)
            .user(Some("root"))
            .pass(Some(server.password.as_str()))
            .db_name(Some(DATABASE));
        let mut connection = mysql_async::Conn::new(options).await.unwrap();
        let result = job(&mut connection).await;
        connection.disconnect().await.unwrap();
        result
    })
}
