//! Messages to the server, appended to a buffer that the caller sends. Nothing is sent or remembered here.
//!
//! A string ends at its first NUL byte, as it would in C, so no text can smuggle in a second field. A message
//! beyond 2 GiB is written with the greatest length there is, which every server refuses (its limit is 1 GiB);
//! the bytes are never read as further messages.

const PROTOCOL_3_0: i32 = 3 << 16;
const SSL_REQUEST: i32 = (1234 << 16) | 5679;
const CANCEL_REQUEST: i32 = (1234 << 16) | 5678;

/// Simple query: one or more statements, answered by one `ReadyForQuery`.
pub fn query(out: &mut Vec<u8>, sql: impl AsRef<[u8]>) {
    message(out, b'Q', |out| string(out, sql));
}

/// Makes statement `name` (empty: the unnamed one) from `sql`. `types` are parameter type OIDs; the server
/// infers those that are 0 or left out.
pub fn parse(out: &mut Vec<u8>, name: &str, sql: impl AsRef<[u8]>, types: &[u32]) {
    message(out, b'P', |out| {
        string(out, name);
        string(out, sql);
        let count = count(types.len());
        out.extend_from_slice(&count.to_be_bytes());
        for oid in types {
            out.extend_from_slice(&oid.to_be_bytes());
        }
    });
}

/// Binds `parameters`, in text format, to a statement; the results come in text format.
pub fn bind<'p>(
    out: &mut Vec<u8>,
    portal: &str,
    statement: &str,
    parameters: impl IntoIterator<Item = Option<&'p [u8]>>,
) {
    let mut bind = BindWriter::new(out, portal, statement);
    for parameter in parameters {
        match parameter {
            Some(text) => bind.text(text),
            None => bind.null(),
        }
    }
    bind.finish();
}

/// Describes a portal: answered by its columns.
pub fn describe_portal(out: &mut Vec<u8>, name: &str) {
    named(out, b'D', b'P', name);
}

/// Describes a prepared statement: answered by its parameters, and by its columns or that it has none.
pub fn describe_statement(out: &mut Vec<u8>, name: &str) {
    named(out, b'D', b'S', name);
}

/// Runs a portal; 0 for `rows_max` means all rows.
#[inline]
pub fn execute(out: &mut Vec<u8>, portal: &str, rows_max: u32) {
    message(out, b'E', |out| {
        string(out, portal);
        out.extend_from_slice(&i32::try_from(rows_max).unwrap_or(i32::MAX).to_be_bytes());
    });
}

pub fn close_statement(out: &mut Vec<u8>, name: &str) {
    named(out, b'C', b'S', name);
}

/// Ends a pipeline: the server commits what it began for it and answers with `ReadyForQuery`.
#[inline]
pub fn sync(out: &mut Vec<u8>) {
    out.extend_from_slice(b"S\0\0\0\x04");
}

/// Asks for the answers so far without ending the pipeline.
pub fn flush(out: &mut Vec<u8>) {
    out.extend_from_slice(b"H\0\0\0\x04");
}

/// A piece of a `COPY … FROM STDIN`; the pieces need not fall on rows.
pub fn copy_data(out: &mut Vec<u8>, data: &[u8]) {
    message(out, b'd', |out| out.extend_from_slice(data));
}

/// All data of a `COPY … FROM STDIN` was sent. After an extended-protocol `Execute` a [`sync`] must follow: the
/// server ignores one that it reads while copying.
pub fn copy_done(out: &mut Vec<u8>) {
    out.extend_from_slice(b"c\0\0\0\x04");
}

/// Gives up a `COPY … FROM STDIN`; the server answers with an error that quotes `reason`.
pub fn copy_fail(out: &mut Vec<u8>, reason: &str) {
    message(out, b'f', |out| string(out, reason));
}

/// Ends the session.
pub fn terminate(out: &mut Vec<u8>) {
    out.extend_from_slice(b"X\0\0\0\x04");
}

/// Asks, on a connection of its own, that the session with this process and key stop what it is doing. The
/// server closes that connection without an answer.
pub fn cancel_request(out: &mut Vec<u8>, process_id: i32, secret_key: &[u8]) {
    framed(out, |out| {
        out.extend_from_slice(&CANCEL_REQUEST.to_be_bytes());
        out.extend_from_slice(&process_id.to_be_bytes());
        out.extend_from_slice(secret_key);
    });
}

/// Asks for TLS; the server answers with the single byte `S` or `N`.
pub fn ssl_request(out: &mut Vec<u8>) {
    framed(out, |out| out.extend_from_slice(&SSL_REQUEST.to_be_bytes()));
}

/// Begins a session: protocol 3.0 and the startup parameters (`user`, `database`, …).
pub fn startup<'p>(out: &mut Vec<u8>, parameters: impl IntoIterator<Item = (&'p str, &'p str)>) {
    framed(out, |out| {
        out.extend_from_slice(&PROTOCOL_3_0.to_be_bytes());
        for (name, value) in parameters {
            string(out, name);
            string(out, value);
        }
        out.push(0);
    });
}

/// A password, in clear or hashed for `md5`.
pub fn password(out: &mut Vec<u8>, text: &str) {
    message(out, b'p', |out| string(out, text));
}

/// Chooses a SASL mechanism and sends its first message.
pub fn sasl_initial_response(out: &mut Vec<u8>, mechanism: &str, data: &[u8]) {
    message(out, b'p', |out| {
        string(out, mechanism);
        out.extend_from_slice(&length(data.len()).to_be_bytes());
        out.extend_from_slice(data);
    });
}

/// A further message of a SASL exchange.
pub fn sasl_response(out: &mut Vec<u8>, data: &[u8]) {
    message(out, b'p', |out| out.extend_from_slice(data));
}

/// Writes a Bind message parameter by parameter, straight into the buffer: no list of parameters is needed.
#[derive(Debug)]
#[must_use = "a Bind message is complete only after finish()"]
pub struct BindWriter<'o> {
    out: &'o mut Vec<u8>,
    length_at: usize,
    count_at: usize,
    parameters: usize,
}

impl<'o> BindWriter<'o> {
    #[inline]
    pub fn new(out: &'o mut Vec<u8>, portal: &str, statement: &str) -> Self {
        out.extend_from_slice(b"B\0\0\0\0");
        let length_at = out.len() - 4;
        string(out, portal);
        string(out, statement);
        // No format codes: every parameter is text.
        out.extend_from_slice(&[0; 2]);
        let count_at = out.len();
        out.extend_from_slice(&[0; 2]);
        Self { out, length_at, count_at, parameters: 0 }
    }

    /// Adds a parameter in its text form.
    pub fn text(&mut self, text: &[u8]) {
        self.parameters += 1;
        self.out.extend_from_slice(&length(text.len()).to_be_bytes());
        self.out.extend_from_slice(text);
    }

    /// Adds a number in its text form.
    pub fn integer(&mut self, value: i64) {
        self.text(itoa::Buffer::new().format(value).as_bytes());
    }

    /// Adds a parameter whose text `write` appends to the buffer; NULL if it returns false.
    pub fn text_with(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) {
        self.parameters += 1;
        parameter(self.out, write);
    }

    pub fn null(&mut self) {
        self.parameters += 1;
        self.out.extend_from_slice(&(-1_i32).to_be_bytes());
    }

    /// Completes the message; the results will come in text format.
    pub fn finish(self) {
        self.out[self.count_at..self.count_at + 2].copy_from_slice(&count(self.parameters).to_be_bytes());
        self.out.extend_from_slice(&[0; 2]);
        close_frame(self.out, self.length_at);
    }
}

/// Appends a parameter of Bind, whose text `write` appends; NULL if it returns false.
#[inline]
pub(crate) fn parameter(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> bool) {
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    let length = match write(out) {
        true => length(out.len() - length_at - 4),
        false => {
            out.truncate(length_at + 4);
            -1
        }
    };
    out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
}

fn named(out: &mut Vec<u8>, tag: u8, kind: u8, name: &str) {
    message(out, tag, |out| {
        out.push(kind);
        string(out, name);
    });
}

#[inline]
fn message(out: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    framed(out, body);
}

/// Writes `body` behind a length that counts itself.
#[inline]
fn framed(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    close_frame(out, length_at);
}

#[inline]
fn close_frame(out: &mut [u8], length_at: usize) {
    let length = length(out.len() - length_at);
    out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
}

/// Ends at the first NUL, as it would in C: no text can smuggle in a second field.
#[inline]
pub(crate) fn string(out: &mut Vec<u8>, text: impl AsRef<[u8]>) {
    let bytes = text.as_ref();
    // Of a name a vectorised search takes longer to begin than this to end.
    let end = match bytes.len() {
        ..32 => bytes.iter().position(|byte| *byte == 0),
        _ => memchr::memchr(0, bytes),
    };
    let end = end.unwrap_or(bytes.len());
    out.extend_from_slice(&bytes[..end]);
    out.push(0);
}

#[inline]
pub(crate) fn length(bytes: usize) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX)
}

fn count(items: usize) -> u16 {
    u16::try_from(items).unwrap_or(u16::MAX)
}
