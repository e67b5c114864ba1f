//! Clients that connect and do not ask, or do not ask again. How long each is waited for is measured nowhere: that it
//! comes to an end is.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::http::{get, request};
use crate::stand::{Stand, until};

/// Only a server that does not let go takes longer.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Longer than any test takes.
const NEVER: Duration = Duration::from_secs(3600);

fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream
}

/// Whether the server has hung up, rather than that nothing has come.
fn is_let_go(mut stream: &TcpStream) -> bool {
    match stream.read(&mut [0; 64]) {
        Ok(read) => read == 0,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}

#[test]
fn who_never_asks_is_let_go() {
    let stand = Stand::with(|options| (options.request, options.idle) = (Duration::from_millis(200), NEVER));
    let silent: Vec<_> = (0..10).map(|_| connected(stand.address())).collect();
    let mut half = connected(stand.address());
    half.write_all(b"GET /api/runs HTTP/1.1\r\nHost: local").unwrap();
    assert!(silent.iter().chain([&half]).all(is_let_go));
}

#[test]
fn who_asks_a_byte_at_a_time_gains_nothing_by_it() {
    let stand = Stand::with(|options| (options.request, options.idle) = (Duration::from_millis(200), NEVER));
    let mut slow = connected(stand.address());
    slow.write_all(b"GET /api/runs HTTP/1.1\r\nX-Long: ").unwrap();
    until("it is let go", || {
        let _ = slow.set_read_timeout(Some(Duration::from_millis(10)));
        slow.write_all(b"x").is_err() || is_let_go(&slow)
    });
}

#[test]
fn who_does_not_ask_again_is_let_go() {
    let stand = Stand::with(|options| (options.request, options.idle) = (NEVER, Duration::from_secs(2)));
    // One answer takes a while, the other is there at once.
    for (path, answer) in [("/api/runs", "200 OK"), ("/nowhere", "404 Not Found")] {
        let mut kept = connected(stand.address());
        kept.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).unwrap();
        let mut text = String::new();
        kept.read_to_string(&mut text).unwrap();
        assert!(text.starts_with(&format!("HTTP/1.1 {answer}")), "{text}");
    }
}

#[test]
fn one_address_does_not_get_every_place() {
    let stand = Stand::with(|options| options.request = NEVER);
    let mut silent: Vec<_> = (0..128).map(|_| connected(stand.address())).collect();
    assert!(is_let_go(&connected(stand.address())), "there is no place left for this address");
    silent.clear();
    until("there is room again", || {
        let mut stream = request(stand.address(), "HEAD", "/api/runs", &[]);
        stream.read(&mut [0; 16]).is_ok_and(|read| read > 0)
    });
    assert_eq!(get(stand.address(), "/api/runs").status, 200);
}
