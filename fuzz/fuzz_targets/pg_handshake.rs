//! Any bytes as a server's side of a login: it ends in a session or an error, sooner or later, and never
//! panics. The first byte chooses TLS or not and how the rest is cut.

#![no_main]

use std::sync::{Arc, LazyLock};

use dyno_wire::endpoint::{ChannelBinding, Login, Password, Tls, TlsSetup};
use dyno_wire::pg::handshake::Handshake;
use libfuzzer_sys::fuzz_target;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};

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

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, network)) = bytes.split_first() else { return };
    let login = &LOGINS[usize::from(choice) % LOGINS.len()];
    let piece = usize::from(choice / 3).max(1);
    let mut handshake = Handshake::new(Arc::clone(login));
    let mut out = Vec::new();
    handshake.poll_output(&mut out);
    for piece in network.chunks(piece) {
        if let Err(error) = handshake.handle_input(piece) {
            assert!(!error.to_string().contains("secret"));
            assert!(!handshake.is_done());
            break;
        }
        handshake.poll_output(&mut out);
    }
    if handshake.is_done() {
        assert!(handshake.into_session().secret_key.len() <= 256);
    }
});
