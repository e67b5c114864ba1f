//! A small client: HTTP/1.0, so that an answer ends with its connection, and nothing hides what was sent.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How long a test waits for what must come sooner or later; no measure of anything.
const TIMEOUT: Duration = Duration::from_secs(60);

/// An answer, read to its end.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// Sends a request as it stands; `lines` are further headers.
pub(crate) fn request(address: SocketAddr, method: &str, path: &str, lines: &[&str]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut text = format!("{method} {path} HTTP/1.0\r\n");
    if !lines.iter().any(|line| line.starts_with("Host:")) {
        text.push_str(&format!("Host: {address}\r\n"));
    }
    for line in lines {
        text.push_str(&format!("{line}\r\n"));
    }
    text.push_str("\r\n");
    // One that is refused early may be closed before it is all sent.
    let _ = stream.write_all(text.as_bytes());
    stream
}

pub(crate) fn answer(stream: TcpStream) -> Answer {
    let mut reader = BufReader::new(stream);
    let (status, headers) = head(&mut reader);
    let mut body = String::new();
    reader.read_to_string(&mut body).unwrap();
    Answer { status, headers, body }
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    get_with(address, path, &[])
}

pub(crate) fn get_with(address: SocketAddr, path: &str, lines: &[&str]) -> Answer {
    answer(request(address, "GET", path, lines))
}

fn head(reader: &mut BufReader<TcpStream>) -> (u16, Vec<(String, String)>) {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no status: {line:?}")).parse().unwrap();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_owned(), value.to_owned())),
            None => return (status, headers),
        }
    }
}

/// An event stream.
pub(crate) struct Events {
    reader: BufReader<TcpStream>,
}

/// One event of it.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) kind: String,
    pub(crate) id: Option<u64>,
    pub(crate) data: Value,
}

impl Events {
    pub(crate) fn open(address: SocketAddr, path: &str) -> Self {
        let mut reader = BufReader::new(request(address, "GET", path, &[]));
        let (status, headers) = head(&mut reader);
        assert_eq!(status, 200, "{path}");
        assert!(headers.iter().any(|(_, value)| value == "text/event-stream"), "{headers:?}");
        Self { reader }
    }

    /// The next event; `None` where the stream has ended.
    pub(crate) fn next(&mut self) -> Option<Event> {
        let mut event = Event { kind: String::new(), id: None, data: Value::Null };
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim_end_matches('\n').split_once(": ") {
                Some(("event", kind)) => kind.clone_into(&mut event.kind),
                Some(("id", id)) => event.id = Some(id.parse().unwrap()),
                Some(("data", data)) => event.data = serde_json::from_str(data).unwrap(),
                None if !event.kind.is_empty() => return Some(event),
                _ => {}
            }
        }
    }

    #[track_caller]
    pub(crate) fn expect(&mut self, kind: &str) -> Event {
        let event = self.next().unwrap_or_else(|| panic!("the stream ended before `{kind}`"));
        assert_eq!(event.kind, kind, "{}", event.data);
        event
    }
}
