//! Commands to the server, appended to a buffer that the caller sends. Nothing is sent or remembered here.
//!
//! Each command is answered by one reply, but for [`stmt_close`] and [`quit`], which are not answered at
//! all. A statement longer than the server's `max_allowed_packet` is refused by it with error
//! 1153 and the end of the connection; MySQL does not read it first, so that the end may be all that arrives.

use super::capabilities::Capabilities;
use super::packet;
use crate::pg::frontend::string;

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;

/// The longest statement or value that either side may send: the server's own limit of `max_allowed_packet`.
const MESSAGE_BYTES_MAX: u32 = 1 << 30;

/// `utf8mb4_general_ci`: there is no server since 5.5.3 that would not know it.
const UTF8MB4: u8 = 45;

/// One or more statements in text; rows come in text.
pub fn query(out: &mut Vec<u8>, sql: impl AsRef<[u8]>) {
    command(out, COM_QUERY, sql.as_ref());
}

/// Prepares a statement; the answer gives its number.
pub fn stmt_prepare(out: &mut Vec<u8>, sql: impl AsRef<[u8]>) {
    command(out, COM_STMT_PREPARE, sql.as_ref());
}

/// Forgets a statement; not answered.
pub fn stmt_close(out: &mut Vec<u8>, statement: u32) {
    command(out, COM_STMT_CLOSE, &statement.to_le_bytes());
}

/// Ends the session; the server closes the connection.
pub fn quit(out: &mut Vec<u8>) {
    command(out, COM_QUIT, &[]);
}

fn command(out: &mut Vec<u8>, number: u8, body: &[u8]) {
    packet::write(out, 0, |out| {
        out.push(number);
        out.extend_from_slice(body);
    });
}

/// Sends the file of a `LOAD DATA LOCAL INFILE`, or another one, or none. Begun by
/// [`ReplyScanner::local_infile`](super::reply::ReplyScanner::local_infile); [`finish`](Self::finish) is owed to
/// the server in any case, and alone it refuses the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the server waits until finish() is sent"]
pub struct LocalInfile {
    sequence: u8,
}

impl LocalInfile {
    pub(super) fn new(sequence: u8) -> Self {
        Self { sequence }
    }

    /// A piece of the file; the pieces need not fall on lines.
    pub fn data(&mut self, out: &mut Vec<u8>, data: &[u8]) {
        // An empty packet would end the file, and so would the one that ends a payload of whole packets.
        for piece in data.chunks(packet::PAYLOAD_BYTES_MAX - 1) {
            self.sequence = packet::write(out, self.sequence, |out| out.extend_from_slice(piece));
        }
    }

    /// The end of the file.
    pub fn finish(self, out: &mut Vec<u8>) {
        packet::write(out, self.sequence, |_| ());
    }
}

/// Writes an execution of a prepared statement parameter by parameter, straight into the buffer. Parameters that
/// are not written are NULL; those beyond the statement's count are left out.
#[derive(Debug)]
#[must_use = "the command is complete only after finish()"]
pub struct ExecuteWriter<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    nulls_at: usize,
    types_at: usize,
    parameters: usize,
    written: usize,
}

/// A parameter's type in two bytes: the type, and 0x80 if it is unsigned.
const TYPE_NULL: [u8; 2] = [6, 0];
const TYPE_INTEGER: [u8; 2] = [8, 0];
const TYPE_UNSIGNED: [u8; 2] = [8, 0x80];
const TYPE_DOUBLE: [u8; 2] = [5, 0];
const TYPE_STRING: [u8; 2] = [253, 0];
const TYPE_DECIMAL: [u8; 2] = [246, 0];

impl<'o> ExecuteWriter<'o> {
    /// For a statement with this many parameters, as [`Prepared`](super::backend::Prepared) says.
    pub fn new(out: &'o mut Vec<u8>, statement: u32, parameters: u16) -> Self {
        let start = out.len();
        let parameters = usize::from(parameters);
        out.extend_from_slice(&[0; packet::Header::BYTES]);
        out.push(COM_STMT_EXECUTE);
        out.extend_from_slice(&statement.to_le_bytes());
        // No cursor; and a count of iterations that is always one.
        out.push(0);
        out.extend_from_slice(&1_u32.to_le_bytes());
        let nulls_at = out.len();
        let mut types_at = nulls_at;
        if parameters > 0 {
            out.resize(nulls_at + parameters.div_ceil(8), 0);
            // The types follow.
            out.push(1);
            types_at = out.len();
            out.resize(types_at + parameters * TYPE_NULL.len(), 0);
        }
        Self { out, start, nulls_at, types_at, parameters, written: 0 }
    }

    pub fn integer(&mut self, value: i64) {
        self.value(TYPE_INTEGER, |out| out.extend_from_slice(&value.to_le_bytes()));
    }

    pub fn unsigned(&mut self, value: u64) {
        self.value(TYPE_UNSIGNED, |out| out.extend_from_slice(&value.to_le_bytes()));
    }

    pub fn double(&mut self, value: f64) {
        self.value(TYPE_DOUBLE, |out| out.extend_from_slice(&value.to_le_bytes()));
    }

    /// An exact number as it is written.
    pub fn decimal(&mut self, digits: &str) {
        self.value(TYPE_DECIMAL, |out| lenenc_bytes(out, digits.as_bytes()));
    }

    /// Text, or bytes, or any other value in its text form.
    pub fn text(&mut self, text: &[u8]) {
        self.value(TYPE_STRING, |out| lenenc_bytes(out, text));
    }

    pub fn null(&mut self) {
        if self.written < self.parameters {
            self.out[self.nulls_at + self.written / 8] |= 1 << (self.written % 8);
            self.value(TYPE_NULL, |_| ());
        }
    }

    /// Completes the command.
    pub fn finish(mut self) {
        while self.written < self.parameters {
            self.null();
        }
        packet::finish(self.out, self.start, 0);
    }

    fn value(&mut self, value_type: [u8; 2], write: impl FnOnce(&mut Vec<u8>)) {
        if self.written < self.parameters {
            let type_at = self.types_at + self.written * value_type.len();
            self.out[type_at..type_at + value_type.len()].copy_from_slice(&value_type);
            self.written += 1;
            write(self.out);
        }
    }
}

/// What the client says of itself at login.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoginRequest<'l> {
    pub(super) capabilities: Capabilities,
    pub(super) user: &'l str,
    pub(super) database: &'l str,
    pub(super) plugin: &'l str,
    pub(super) answer: &'l [u8],
    pub(super) attributes: &'l [(&'l str, &'l str)],
}

/// Asks for TLS: the beginning of a login request. The TLS handshake follows.
pub(super) fn ssl_request(out: &mut Vec<u8>, sequence: u8, capabilities: Capabilities) -> u8 {
    packet::write(out, sequence, |out| login_head(out, capabilities))
}

pub(super) fn login_request(out: &mut Vec<u8>, sequence: u8, request: &LoginRequest<'_>) -> u8 {
    let capabilities = request.capabilities;
    packet::write(out, sequence, |out| {
        login_head(out, capabilities);
        string(out, request.user);
        if capabilities.contains(Capabilities::PLUGIN_AUTH_LENENC_DATA) {
            lenenc_bytes(out, request.answer);
        } else {
            let answer = &request.answer[..request.answer.len().min(255)];
            out.push(answer.len() as u8);
            out.extend_from_slice(answer);
        }
        if capabilities.contains(Capabilities::CONNECT_WITH_DB) {
            string(out, request.database);
        }
        if capabilities.contains(Capabilities::PLUGIN_AUTH) {
            string(out, request.plugin);
        }
        if capabilities.contains(Capabilities::CONNECT_ATTRS) {
            attributes(out, request.attributes);
        }
    })
}

fn login_head(out: &mut Vec<u8>, capabilities: Capabilities) {
    out.extend_from_slice(&capabilities.0.to_le_bytes());
    out.extend_from_slice(&MESSAGE_BYTES_MAX.to_le_bytes());
    out.push(UTF8MB4);
    out.extend_from_slice(&[0; 23]);
}

fn attributes(out: &mut Vec<u8>, attributes: &[(&str, &str)]) {
    let mut list = Vec::new();
    for (name, value) in attributes {
        lenenc_bytes(&mut list, name.as_bytes());
        lenenc_bytes(&mut list, value.as_bytes());
    }
    lenenc_bytes(out, &list);
}

fn lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = (bytes.len() as u64).to_le_bytes();
    match bytes.len() {
        0..=0xfa => out.push(length[0]),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&length[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&length[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&length);
        }
    }
    out.extend_from_slice(bytes);
}
