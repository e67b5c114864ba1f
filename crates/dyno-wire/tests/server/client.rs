//! Drives the machines over a blocking socket, and opens tokio-postgres sessions to compare them with.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use dyno_wire::endpoint::{ChannelBinding, Login, Password, Tls};
use dyno_wire::libpq_text;
use dyno_wire::pg::backend::{CopyResponse, DataRow, NoticeFields, RowDescription};
use dyno_wire::pg::error::PostgresError;
use dyno_wire::pg::frontend;
use dyno_wire::pg::handshake::{Handshake, LoginError, Session};
use dyno_wire::pg::reply::{ReplyScanner, ReplySink, Totals};

/// A login as one of the server's users.
pub(crate) fn login(user: &str, password: Option<&str>) -> Login {
    Login {
        user: user.to_owned(),
        password: password.map(|password| Password::new(password.to_owned())),
        database: "postgres".to_owned(),
        parameters: Vec::new(),
        tls: Tls::Disable,
        channel_binding: ChannelBinding::Prefer,
    }
}

/// A session over a blocking socket.
#[derive(Debug)]
pub(crate) struct Client {
    stream: TcpStream,
    pub(crate) session: Session,
    scanner: ReplyScanner,
    /// Decrypted bytes that were not consumed yet.
    received: Vec<u8>,
}

/// All that a reply brought.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Option<String>>>,
    pub(crate) data: Vec<u8>,
    pub(crate) notices: Vec<String>,
    /// The same as libpq words them.
    pub(crate) notice_texts: Vec<String>,
    pub(crate) notifications: Vec<(i32, String, String)>,
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) copy_binary: Option<bool>,
    pub(crate) errors: Vec<PostgresError>,
    pub(crate) totals: Totals,
}

impl ReplySink for Reply {
    const WANTS_ROWS: bool = true;

    fn row_description(&mut self, columns: RowDescription<'_>) {
        self.columns = columns.columns().map(|column| column.name.to_string()).collect();
    }
    fn row(&mut self, row: DataRow<'_>) {
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
        self.rows.push(row.columns().map(|value| value.map(text)).collect());
    }
    fn error(&mut self, error: &PostgresError) {
        self.errors.push(error.clone());
    }
    fn notice(&mut self, notice: NoticeFields<'_>) {
        self.notices.push(notice.message().to_string());
        self.notice_texts.push(libpq_text::notice(notice, None));
    }
    fn parameter_status(&mut self, name: &str, value: &str) {
        self.parameters.push((name.to_owned(), value.to_owned()));
    }
    fn notification(&mut self, process_id: i32, channel: &str, payload: &str) {
        self.notifications.push((process_id, channel.to_owned(), payload.to_owned()));
    }
    fn copy_in(&mut self, response: CopyResponse<'_>) {
        self.copy_binary = Some(response.binary);
    }
    fn copy_out(&mut self, response: CopyResponse<'_>) {
        self.copy_binary = Some(response.binary);
    }
    fn copy_data(&mut self, data: &[u8]) {
        self.data.extend_from_slice(data);
    }
}

impl Client {
    pub(crate) fn open(address: SocketAddr, login: Login) -> Result<Self, LoginError> {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut handshake = Handshake::new(Arc::new(login));
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
        Ok(Self { stream, session, scanner: ReplyScanner::new(), received })
    }

    /// Opens a session as the superuser.
    pub(crate) fn superuser(address: SocketAddr) -> Self {
        Self::open(address, login("postgres", None)).unwrap()
    }

    /// Sends messages that will be answered by `syncs` `ReadyForQuery`, and takes the whole reply.
    pub(crate) fn exchange(&mut self, syncs: u32, write: impl FnOnce(&mut Vec<u8>)) -> Reply {
        let mut reply = Reply::default();
        self.begin(syncs, write);
        self.finish(&mut reply);
        reply
    }

    pub(crate) fn query(&mut self, sql: &str) -> Reply {
        self.exchange(1, |out| frontend::query(out, sql))
    }

    pub(crate) fn begin(&mut self, syncs: u32, write: impl FnOnce(&mut Vec<u8>)) {
        self.scanner.start(syncs);
        self.send(write);
    }

    /// Sends more of a request already begun.
    pub(crate) fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let (mut plain, mut network) = (Vec::new(), Vec::new());
        write(&mut plain);
        self.session.link.seal(&plain, &mut network).unwrap();
        self.stream.write_all(&network).unwrap();
    }

    /// Takes the reply until it is complete.
    pub(crate) fn finish(&mut self, reply: &mut Reply) {
        while !self.step(reply) {}
        reply.totals = self.scanner.totals();
    }

    /// Takes the reply until the server waits for the data of a COPY.
    pub(crate) fn until_copy_in(&mut self, reply: &mut Reply) {
        while !self.scanner.wants_copy_data() {
            assert!(!self.step(reply), "no copy: {reply:?}");
        }
    }

    /// Scans what is there, or else receives more; true once the reply is complete.
    fn step(&mut self, reply: &mut Reply) -> bool {
        let scanned = self.scanner.scan(&self.received, reply).unwrap();
        self.received.drain(..scanned.consumed);
        if scanned.consumed == 0 && !scanned.done {
            let mut network = Vec::new();
            receive(&mut self.stream, &mut network);
            self.session.link.open(&network, &mut self.received).unwrap();
            self.answer_tls();
        }
        scanned.done
    }

    fn answer_tls(&mut self) {
        let mut network = Vec::new();
        self.session.link.poll_output(&mut network).unwrap();
        self.stream.write_all(&network).unwrap();
    }

    pub(crate) fn tls_version(&self) -> Option<&'static str> {
        self.session.link.tls_version()
    }
}

fn receive(stream: &mut TcpStream, network: &mut Vec<u8>) {
    let mut buffer = [0; 8192];
    let count = stream.read(&mut buffer).unwrap();
    assert!(count > 0, "the server closed the connection");
    network.clear();
    network.extend_from_slice(&buffer[..count]);
}

/// Runs `job` with a tokio-postgres session of the superuser.
pub(crate) fn with_tokio<T>(address: SocketAddr, job: impl AsyncFnOnce(&tokio_postgres::Client) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(address.port()).user("postgres").dbname("postgres");
        let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        let result = job(&client).await;
        drop(client);
        connection.await.unwrap().unwrap();
        result
    })
}
