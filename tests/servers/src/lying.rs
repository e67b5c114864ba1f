//! A proxy before a real server of HTTP that keeps some requests for itself and answers them with what it is given.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// Takes connections until the process ends.
#[derive(Debug)]
pub struct LyingProxy {
    pub address: SocketAddr,
    kept: Arc<AtomicU32>,
}

/// Which requests are kept, and what is said to them.
#[derive(Debug, Clone, Copy)]
pub struct Lie {
    /// In the first line of the request.
    pub asked: &'static str,
    /// At most so many; later ones are passed on.
    pub times: u32,
    /// Headers of the answer, each with its end of line, beside its length.
    pub headers: &'static str,
    pub body: &'static str,
}

impl LyingProxy {
    /// Before a server whose answers say how long they are.
    #[must_use]
    pub fn start(server: SocketAddr, lie: Lie) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let kept = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&kept);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let kept = Arc::clone(&counted);
                // A connection that breaks is none of the proxy's.
                thread::spawn(move || serve(&client, server, lie, &kept));
            }
        });
        Self { address, kept }
    }

    /// Requests that were not passed on.
    #[must_use]
    pub fn kept(&self) -> u32 {
        self.kept.load(Ordering::SeqCst)
    }
}

fn serve(client: &TcpStream, server: SocketAddr, lie: Lie, kept: &AtomicU32) -> std::io::Result<()> {
    let (mut requests, mut answers) = (BufReader::new(client), client);
    let server = TcpStream::connect(server)?;
    let (mut answered, mut asked) = (BufReader::new(&server), &server);
    while let Some(request) = message(&mut requests)? {
        let line = String::from_utf8_lossy(&request);
        let is_meant = line.lines().next().is_some_and(|line| line.contains(lie.asked));
        let keeps = |count: u32| (is_meant && count < lie.times).then_some(count + 1);
        if kept.fetch_update(Ordering::SeqCst, Ordering::SeqCst, keeps).is_ok() {
            let (length, Lie { headers, body, .. }) = (lie.body.len(), lie);
            write!(answers, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n{headers}\r\n{body}")?;
            continue;
        }
        asked.write_all(&request)?;
        let Some(answer) = message(&mut answered)? else { return Ok(()) };
        answers.write_all(&answer)?;
    }
    Ok(())
}

/// Reads a request or an answer with its body; `None` at the end of the connection.
fn message(from: &mut BufReader<&TcpStream>) -> std::io::Result<Option<Vec<u8>>> {
    let (mut message, mut length) = (Vec::new(), 0);
    loop {
        let begin = message.len();
        if from.read_until(b'\n', &mut message)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&message[begin..]).to_ascii_lowercase();
        if let Some(said) = line.strip_prefix("content-length:") {
            length = said.trim().parse().unwrap_or(0);
        }
        if line == "\r\n" {
            break;
        }
    }
    let head = message.len();
    message.resize(head + length, 0);
    from.read_exact(&mut message[head..])?;
    Ok(Some(message))
}
