//! TLS with certificates of the tests' own, and SCRAM bound to it.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dyno_test_servers::succeed;
use dyno_wire::endpoint::{ChannelBinding, Login, Tls, TlsSetup};
use dyno_wire::link::Link;
use dyno_wire::pg::frontend;
use dyno_wire::pg::handshake::{Handshake, LoginError};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};

use crate::cancel::wait_until_asleep;
use crate::client::{Client, login};
use crate::postgres::{Postgres, shared, shared_with};

/// Kinds of certificate: name and openssl's options.
const KINDS: &[(&str, &[&str])] = &[
    ("rsa-sha256", &["-newkey", "rsa:2048", "-sha256"]),
    ("rsa-sha512", &["-newkey", "rsa:2048", "-sha512"]),
    (
        "rsa-pss-sha384",
        &[
            "-newkey",
            "rsa:2048",
            "-sha384",
            "-sigopt",
            "rsa_padding_mode:pss",
            "-sigopt",
            "rsa_pss_saltlen:-1",
        ],
    ),
    ("ecdsa-sha256", &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-sha256"]),
    ("ecdsa-sha384", &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384", "-sha384"]),
];

/// A self-signed certificate for `localhost` and its key.
struct Certificate {
    certificate: PathBuf,
    key: PathBuf,
}

impl Certificate {
    /// `None`, and a line that says so, without openssl.
    fn make(directory: &Path, name: &str, options: &[&str]) -> Option<Self> {
        if Command::new("openssl").arg("version").output().is_err() {
            println!("skipped: no openssl command to make certificates with");
            return None;
        }
        let path = |suffix: &str| directory.join(format!("{name}.{suffix}"));
        // Not a CA: rustls refuses one as a server's certificate.
        let mut config = "[req]\nprompt=no\ndistinguished_name=dn\nx509_extensions=ext\n".to_owned();
        config
            .push_str("[dn]\nCN=localhost\n[ext]\nsubjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n");
        fs::write(path("cnf"), config).unwrap();
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-nodes", "-days", "2"]).args(options);
        openssl.arg("-config").arg(path("cnf")).arg("-keyout").arg(path("key")).arg("-out").arg(path("crt"));
        succeed(&mut openssl);
        Some(Self { certificate: path("crt"), key: path("key") })
    }

    fn der(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_file(&self.certificate).unwrap()
    }

    /// A client's configuration that trusts this certificate and no other.
    fn trusted(&self) -> TlsSetup {
        setup(self, "localhost", &[&TLS12, &TLS13])
    }
}

fn setup(
    root: &Certificate,
    name: &'static str,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> TlsSetup {
    let mut roots = RootCertStore::empty();
    roots.add(root.der()).unwrap();
    let config = ClientConfig::builder_with_protocol_versions(versions)
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsSetup { config: Arc::new(config), server_name: ServerName::try_from(name).unwrap() }
}

fn bound(setup: TlsSetup, channel_binding: ChannelBinding) -> Login {
    Login { tls: Tls::Require(setup), channel_binding, ..login("scram_tls", Some("right")) }
}

/// A directory for certificates, gone with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("dyno-wire-{}-{name}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        Self(directory)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// One server for the tests that give it certificates, which take turns.
fn in_turn() -> Option<(Arc<Postgres>, MutexGuard<'static, ()>)> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    Some((shared_with(&["cluster_name=tls"])?, turn))
}

/// Gives the server a certificate; settings are reloaded, it is not restarted.
fn use_certificate(server: &Postgres, certificate: &Certificate) {
    // A name that this server has not had before.
    let name = certificate.certificate.file_stem().unwrap().to_str().unwrap();
    let name = format!("{name}-{}", std::process::id());
    let key = server.give(&format!("{name}.key"), &certificate.key);
    let crt = server.give(&format!("{name}.crt"), &certificate.certificate);
    let mut admin = Client::superuser(server.address);
    for (setting, value) in
        [("ssl_cert_file", crt.to_str().unwrap()), ("ssl_key_file", key.to_str().unwrap()), ("ssl", "on")]
    {
        assert!(admin.query(&format!("ALTER SYSTEM SET {setting} = '{value}'")).errors.is_empty());
    }
    admin.query("SELECT pg_reload_conf()");
    // A new session shows what the postmaster has read.
    let read = |setting: &str| Client::superuser(server.address).query(&format!("SHOW {setting}")).rows;
    while read("ssl_cert_file") != [[crt.to_str().map(str::to_owned)]]
        || read("ssl") != [[Some("on".to_owned())]]
    {}
}

#[test]
fn scram_is_bound_to_every_kind_of_certificate() {
    let scratch = Scratch::new("kinds");
    let Some((server, _turn)) = in_turn() else { return };
    for (name, options) in KINDS {
        let Some(certificate) = Certificate::make(&scratch.0, name, options) else { return };
        use_certificate(&server, &certificate);
        for binding in [ChannelBinding::Require, ChannelBinding::Prefer, ChannelBinding::Disable] {
            let login = bound(certificate.trusted(), binding);
            let mut client = Client::open(server.address, login)
                .unwrap_or_else(|error| panic!("{name} {binding:?}: {error}"));
            assert_eq!(client.tls_version(), Some("TLSv1.3"), "{name}");
            let seen = client.query("SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()").rows;
            assert_eq!(seen, [[Some("TLSv1.3".to_owned())]], "{name}");
        }
        let wrong = Login { tls: Tls::Require(certificate.trusted()), ..login("scram_tls", Some("wrong")) };
        let refused = Client::open(server.address, wrong).unwrap_err();
        assert!(matches!(&refused, LoginError::Server(error) if error.code == "28P01"), "{refused}");
    }
}

/// Ed25519 signs without a hash of its own, so `tls-server-end-point` is not defined for it.
#[test]
fn without_a_hash_to_bind_to_scram_goes_unbound_or_not_at_all() {
    let scratch = Scratch::new("unbound");
    let Some((server, _turn)) = in_turn() else { return };
    let Some(certificate) = Certificate::make(&scratch.0, "ed25519", &["-newkey", "ed25519"]) else { return };
    use_certificate(&server, &certificate);
    let preferring = bound(certificate.trusted(), ChannelBinding::Prefer);
    assert_eq!(Client::open(server.address, preferring).unwrap().tls_version(), Some("TLSv1.3"));
    let requiring = bound(certificate.trusted(), ChannelBinding::Require);
    let refused = Client::open(server.address, requiring).unwrap_err();
    assert!(matches!(refused, LoginError::ChannelBinding { .. }), "{refused}");
}

#[test]
fn tls_is_used_when_offered_and_refused_when_wrong() {
    let scratch = Scratch::new("trust");
    let Some((server, _turn)) = in_turn() else { return };
    let Some(certificate) = Certificate::make(&scratch.0, "right", KINDS[3].1) else { return };
    let Some(other) = Certificate::make(&scratch.0, "other", KINDS[3].1) else { return };
    use_certificate(&server, &certificate);

    let preferred = Login { tls: Tls::Prefer(certificate.trusted()), ..login("trusted", None) };
    assert_eq!(Client::open(server.address, preferred).unwrap().tls_version(), Some("TLSv1.3"));
    let old = setup(&certificate, "localhost", &[&TLS12]);
    let client = Client::open(server.address, bound(old, ChannelBinding::Require)).unwrap();
    assert_eq!(client.tls_version(), Some("TLSv1.2"));

    for wrong in [other.trusted(), setup(&certificate, "elsewhere", &[&TLS13])] {
        let refused = Client::open(server.address, bound(wrong, ChannelBinding::Prefer)).unwrap_err();
        assert!(matches!(refused, LoginError::Certificate(_)), "{refused}");
    }
    let plain = Login { tls: Tls::Disable, ..login("scram_tls", Some("right")) };
    let refused = Client::open(server.address, plain).unwrap_err();
    assert!(matches!(&refused, LoginError::Server(error) if error.code == "28000"), "{refused}");
    // Neither trust nor md5 can be bound, so neither will do.
    for user in ["trusted", "md5", "clear"] {
        let tls = Tls::Require(certificate.trusted());
        let demanding = Login { tls, channel_binding: ChannelBinding::Require, ..login(user, Some("right")) };
        let refused = Client::open(server.address, demanding).unwrap_err();
        assert!(matches!(refused, LoginError::ChannelBinding { .. }), "{refused}");
    }
}

#[test]
fn a_server_without_tls_is_refused_unless_tls_is_only_preferred() {
    let scratch = Scratch::new("none");
    let Some(server) = shared() else { return };
    let Some(certificate) = Certificate::make(&scratch.0, "unused", KINDS[3].1) else { return };
    let required = Login { tls: Tls::Require(certificate.trusted()), ..login("trusted", None) };
    assert_eq!(Client::open(server.address, required).unwrap_err(), LoginError::TlsRefused);
    let preferred = Login { tls: Tls::Prefer(certificate.trusted()), ..login("scram", Some("right")) };
    assert_eq!(Client::open(server.address, preferred).unwrap().tls_version(), None);
}

#[test]
fn much_passes_through_tls_unharmed_in_both_directions() {
    let scratch = Scratch::new("much");
    let Some((server, _turn)) = in_turn() else { return };
    let Some(certificate) = Certificate::make(&scratch.0, "much", KINDS[3].1) else { return };
    use_certificate(&server, &certificate);
    let mut client =
        Client::open(server.address, bound(certificate.trusted(), ChannelBinding::Prefer)).unwrap();
    let mut long = String::from("SELECT '");
    for number in 0..200_000 {
        write!(long, "{number} ").unwrap();
    }
    long.push('\'');
    let reply = client.query(&long);
    assert_eq!(reply.rows[0][0].as_deref(), Some(&long[8..long.len() - 1]));

    // A cancel request may be encrypted as well.
    client.begin(1, |out| frontend::query(out, "SELECT pg_sleep(600)"));
    wait_until_asleep(&mut Client::superuser(server.address), client.session.process_id);
    let login = Arc::new(bound(certificate.trusted(), ChannelBinding::Prefer));
    let session = &client.session;
    cancel_over_tls(&server, Handshake::for_cancel(login, session.process_id, session.secret_key.clone()));
    let mut reply = crate::client::Reply::default();
    client.finish(&mut reply);
    assert_eq!(reply.errors[0].code, "57014");
}

fn cancel_over_tls(server: &Postgres, mut handshake: Handshake) {
    let mut stream = TcpStream::connect(server.address).unwrap();
    let mut buffer = [0; 8192];
    loop {
        let mut out = Vec::new();
        handshake.poll_output(&mut out);
        stream.write_all(&out).unwrap();
        if handshake.is_done() {
            break;
        }
        let count = stream.read(&mut buffer).unwrap();
        handshake.handle_input(&buffer[..count]).unwrap();
    }
    assert!(!handshake.into_session().link.is_plain());
    // The server's end of it says that the request was taken.
    while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
}

/// Somebody between client and server whose certificate the client trusts, and who passes on every byte: only
/// channel binding can tell.
#[test]
fn a_man_in_the_middle_is_found_out_by_channel_binding_alone() {
    let scratch = Scratch::new("middle");
    let Some((server, _turn)) = in_turn() else { return };
    let Some(certificate) = Certificate::make(&scratch.0, "server", KINDS[3].1) else { return };
    let Some(intruder) = Certificate::make(&scratch.0, "intruder", KINDS[3].1) else { return };
    use_certificate(&server, &certificate);
    for (binding, deceived) in
        [(ChannelBinding::Disable, true), (ChannelBinding::Prefer, false), (ChannelBinding::Require, false)]
    {
        let login = bound(intruder.trusted(), binding);
        let outcome = login_through(&server, &certificate, &intruder, login);
        assert_eq!(outcome.is_ok(), deceived, "{binding:?}: {outcome:?}");
        if let Err(error) = outcome {
            assert!(matches!(error, LoginError::Server(_)), "{error}");
        }
    }
}

fn login_through(
    server: &Postgres,
    certificate: &Certificate,
    intruder: &Certificate,
    login: Login,
) -> Result<(), LoginError> {
    let (mut upstream, mut link) = upstream(server, certificate);
    let key = PrivateKeyDer::from_pem_file(&intruder.key).unwrap();
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![intruder.der()], key);
    let mut middle = ServerConnection::new(Arc::new(config.unwrap())).unwrap();

    let mut client = Handshake::new(Arc::new(login));
    client.poll_output(&mut Vec::new());
    client.handle_input(b"S")?;
    while !client.is_done() {
        // From the client to the server …
        let (mut sent, mut plain, mut sealed) = (Vec::new(), Vec::new(), Vec::new());
        client.poll_output(&mut sent);
        let mut rest = &sent[..];
        while !rest.is_empty() {
            middle.read_tls(&mut rest).unwrap();
            middle.process_new_packets().unwrap();
        }
        let _ = middle.reader().read_to_end(&mut plain);
        // … and back, when there was something to answer.
        if !plain.is_empty() {
            link.seal(&plain, &mut sealed).unwrap();
            upstream.write_all(&sealed).unwrap();
            let answer = receive_plain(&mut upstream, &mut link);
            middle.writer().write_all(&answer).unwrap();
        }
        let mut answered = Vec::new();
        while middle.wants_write() {
            middle.write_tls(&mut answered).unwrap();
        }
        client.handle_input(&answered)?;
    }
    Ok(())
}

fn upstream(server: &Postgres, certificate: &Certificate) -> (TcpStream, Link) {
    let mut stream = TcpStream::connect(server.address).unwrap();
    let mut request = Vec::new();
    frontend::ssl_request(&mut request);
    stream.write_all(&request).unwrap();
    let mut answer = [0; 1];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer, *b"S");
    let setup = certificate.trusted();
    let mut session = ClientConnection::new(setup.config, setup.server_name).unwrap();
    while session.is_handshaking() {
        session.complete_io(&mut stream).unwrap();
    }
    (stream, Link::Tls(Box::new(session)))
}

fn receive_plain(stream: &mut TcpStream, link: &mut Link) -> Vec<u8> {
    let (mut buffer, mut plain) = ([0; 8192], Vec::new());
    while plain.is_empty() {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the server closed the connection");
        link.open(&buffer[..count], &mut plain).unwrap();
    }
    plain
}
