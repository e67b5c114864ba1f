use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use dyno_target::connection::ConnectError;
use dyno_target::{Environment, TargetSettings};

use crate::support::Server;

fn refusal(server: &Server, further: &str) -> ConnectError {
    server.settings(further, false).connect().unwrap_err()
}

fn at(address: SocketAddr, further: &str) -> ConnectError {
    let text = format!("host={} port={} user=u {further}", address.ip(), address.port());
    TargetSettings::parse(&text, &Environment::empty()).unwrap().connect().unwrap_err()
}

/// A listener that says this to whoever comes, then waits for the other to leave.
fn listener(words: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let _ = stream.write_all(words);
            while matches!(stream.read(&mut [0; 512]), Ok(1..)) {}
        }
    });
    address
}

#[test]
fn the_server_says_no_and_it_is_told_apart() {
    let Some(server) = Server::shared() else { return };
    let error = refusal(&server, "user=scram_user password=wrong");
    assert!(matches!(error, ConnectError::WrongPassword { .. }), "{error}");
    assert_eq!(error.sqlstate(), Some("28P01"));
    assert!(!error.to_string().contains("wrong;"), "{error}");
    let error = refusal(&server, "user=scram_user");
    assert!(matches!(error, ConnectError::PasswordMissing { .. }), "{error}");
    let error = refusal(&server, "user=plain dbname=no_such");
    assert!(
        matches!(&error, ConnectError::DatabaseMissing { database, .. } if database == "no_such"),
        "{error}"
    );
    let error = refusal(&server, "user=no_such");
    assert!(matches!(&error, ConnectError::RoleMissing { user, .. } if user == "no_such"), "{error}");
    let error = refusal(&server, "user=rejected");
    assert!(matches!(error, ConnectError::NotAllowed { .. }), "{error}");
    // This server has no TLS.
    let error = refusal(&server, "user=plain sslmode=require");
    assert!(matches!(error, ConnectError::TlsRefused { .. }), "{error}");
    let held: Vec<_> = (0..2).map(|_| server.tcp("user=limited")).collect();
    let error = refusal(&server, "user=limited");
    assert!(matches!(error, ConnectError::TooManyConnections { .. }), "{error}");
    drop(held);
}

#[test]
fn a_dead_port_and_a_missing_socket_say_what_to_check() {
    // A port that nobody is given who asks for any.
    let dead = SocketAddr::from(([127, 0, 0, 1], 1));
    let error = at(dead, "");
    assert!(matches!(error, ConnectError::Refused { .. }), "{error}");
    let missing = TargetSettings::parse("host=/nowhere user=u", &Environment::empty()).unwrap();
    let error = missing.connect().unwrap_err();
    assert!(matches!(error, ConnectError::NoSocket { .. }), "{error}");
    assert!(error.to_string().contains("/nowhere/.s.PGSQL.5432"), "{error}");
}

#[test]
fn a_server_that_is_no_postgresql_is_named_where_possible() {
    let rubbish = [
        (&b"\x05hello"[..], "hello"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "SSH"),
        (b"\x0e\0\0\0\x0a8.0.36-demo\0\x01", "8.0.36-demo"),
    ];
    for (words, part) in rubbish {
        for mode in ["disable", "prefer"] {
            let error = at(listener(words), &format!("sslmode={mode}"));
            assert!(matches!(error, ConnectError::NotPostgres { .. }), "{part}, {mode}: {error}");
            assert!(error.to_string().contains(part), "{mode}: {error}");
        }
    }
}

#[test]
fn a_silent_listener_is_given_up() {
    let error = at(listener(b""), "connect_timeout=1");
    assert!(matches!(error, ConnectError::TimedOut { .. }), "{error}");
}

#[test]
fn a_listener_that_hangs_up_is_said_to() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || listener.incoming().for_each(drop));
    let error = at(address, "");
    assert!(matches!(error, ConnectError::Closed { .. }), "{error}");
}
