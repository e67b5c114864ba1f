//! Any bytes as a MySQL server's side of a login: it ends in a session or an error, sooner or later, and never panics.
//! The first byte chooses TLS or not and how the rest is cut, the second what the client is willing to do.

#![no_main]

use std::sync::{Arc, LazyLock};

use dyno_wire::endpoint::{ChannelBinding, Login, Password, Tls, TlsSetup};
use dyno_wire::my::handshake::{Handshake, Options};
use libfuzzer_sys::fuzz_target;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};

/// No server can make a client say more than a few packets.
const SAID_BYTES_MAX: usize = 64 * 1024;

static LOGINS: LazyLock<Vec<Arc<Login>>> = LazyLock::new(|| {
    let config = ClientConfig::builder().with_root_certificates(RootCertStore::empty()).with_no_client_auth();
    let server_name = ServerName::from(std::net::IpAddr::from([127, 0, 0, 1]));
    let setup = TlsSetup { config: Arc::new(config), server_name };
    let all = [Tls::Disable, Tls::Prefer(setup.clone()), Tls::Require(setup)];
    all.into_iter().map(login).collect()
});

fn login(tls: Tls) -> Arc<Login> {
    Arc::new(Login {
        user: "ann".to_owned(),
        password: Some(Password::new("secret".to_owned())),
        database: "shop".to_owned(),
        parameters: Vec::new(),
        tls,
        channel_binding: ChannelBinding::Prefer,
    })
}

fn options(choice: u8) -> Options {
    let is = |bit: u8| choice & (1 << bit) != 0;
    Options {
        unix_socket: is(0),
        local_infile: is(1),
        found_rows: is(2),
        deprecate_eof: is(4),
        clear_password: is(6),
        public_key_retrieval: is(5),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let [choice, willing, network @ ..] = bytes else { return };
    let login = &LOGINS[usize::from(*choice) % LOGINS.len()];
    let piece = usize::from(choice / 3).max(1);
    let mut handshake = Handshake::new(Arc::clone(login), options(*willing));
    let mut said = Vec::new();
    if willing & 0x80 != 0 {
        handshake.handle_silence();
    }
    for piece in network.chunks(piece) {
        let taken = handshake.handle_input(piece);
        handshake.poll_output(&mut said);
        if let Err(error) = taken {
            assert!(!error.to_string().contains("secret"));
            assert!(!handshake.is_done());
            break;
        }
    }
    assert!(said.len() < SAID_BYTES_MAX);
    if handshake.is_done() {
        let session = handshake.into_session();
        assert!(session.leftover.len() <= network.len());
    }
});
