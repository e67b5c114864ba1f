//! The wrong protocol on the port, in both directions.

use std::io::{Read, Write};
use std::sync::Arc;

use dyno_test_servers::{Postgres, Setup};
use dyno_wire::endpoint::{ChannelBinding, Login, Tls, TlsSetup};
use dyno_wire::my::handshake::{Handshake, LoginError, Options};
use dyno_wire::pg;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};

use crate::client::{connect, login, receive};
use crate::servers::each;

/// It says nothing until it is spoken to, as each side waits for the other.
#[test]
fn a_postgresql_server_is_told_by_its_silence() {
    let Some(server) = Postgres::shared(&Setup::default()) else { return };
    let mut stream = connect(server.address);
    let mut handshake = Handshake::new(Arc::new(login("root", None)), Options::default());
    let mut out = Vec::new();
    handshake.poll_output(&mut out);
    assert!(out.is_empty());
    assert!(handshake.handle_silence());
    handshake.poll_output(&mut out);
    stream.write_all(&out).unwrap();
    let mut answer = Vec::new();
    receive(&mut stream, &mut answer);
    let error = handshake.handle_input(&answer).unwrap_err();
    assert_eq!(error, LoginError::PostgreSql);
    assert!(!handshake.handle_silence());
}

#[test]
fn a_greeting_after_the_silence_is_late() {
    each(|server| {
        let mut stream = connect(server.address);
        let mut greeting = Vec::new();
        receive(&mut stream, &mut greeting);
        let mut handshake = Handshake::new(Arc::new(login("root", None)), Options::default());
        assert!(handshake.handle_silence());
        assert_eq!(handshake.handle_input(&greeting).unwrap_err(), LoginError::LateGreeting);
    });
}

/// The server's greeting arrives where PostgreSQL's answer is awaited.
#[test]
fn a_postgresql_client_is_told_of_mysql() {
    let config = ClientConfig::builder().with_root_certificates(RootCertStore::empty()).with_no_client_auth();
    let setup =
        TlsSetup { config: Arc::new(config), server_name: ServerName::try_from("localhost").unwrap() };
    each(|server| {
        for tls in [Tls::Disable, Tls::Prefer(setup.clone()), Tls::Require(setup.clone())] {
            let login = Login { tls, channel_binding: ChannelBinding::Prefer, ..login("postgres", None) };
            let mut handshake = pg::handshake::Handshake::new(Arc::new(login));
            let mut out = Vec::new();
            handshake.poll_output(&mut out);
            let mut stream = connect(server.address);
            stream.write_all(&out).unwrap();
            let mut greeting = Vec::new();
            receive(&mut stream, &mut greeting);
            let error = handshake.handle_input(&greeting).unwrap_err();
            assert_eq!(error, pg::handshake::LoginError::MySql, "{}", server.product());
            // Its complaint about what we sent is nobody's concern.
            let _ = stream.read(&mut [0; 512]);
        }
    });
}
