//! Logins against a scripted server: what is sent, what is refused, and that nothing is taken on trust.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dyno_wire::endpoint::{ChannelBinding, Login, Password, Tls, TlsSetup};
use dyno_wire::pg::error::{ProtocolError, Tag};
use dyno_wire::pg::frontend;
use dyno_wire::pg::handshake::{Handshake, LoginError};
use postgres_protocol::password::scram_sha_256;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use sha2::{Digest, Sha256};

use crate::script::{Script, strings};

pub(crate) fn login(password: &str) -> Login {
    Login {
        user: "ann".to_owned(),
        password: Some(Password::new(password.to_owned())),
        database: "shop".to_owned(),
        parameters: vec![("application_name".to_owned(), "dyno".to_owned())],
        tls: Tls::Disable,
        channel_binding: ChannelBinding::Prefer,
    }
}

fn tls_setup() -> TlsSetup {
    let config = ClientConfig::builder().with_root_certificates(RootCertStore::empty()).with_no_client_auth();
    TlsSetup { config: Arc::new(config), server_name: ServerName::try_from("localhost").unwrap() }
}

/// A handshake that has sent its first message, and that message.
fn begun(login: Login) -> (Handshake, Vec<u8>) {
    let mut handshake = Handshake::new(Arc::new(login));
    let sent = output(&mut handshake);
    (handshake, sent)
}

fn output(handshake: &mut Handshake) -> Vec<u8> {
    let mut out = Vec::new();
    handshake.poll_output(&mut out);
    out
}

fn refusal(login: Login, script: Script) -> LoginError {
    let (mut handshake, _) = begun(login);
    let Script(bytes) = script;
    let error = handshake.handle_input(&bytes).unwrap_err();
    assert!(!handshake.is_done());
    assert!(!error.to_string().contains("secret"), "{error}");
    error
}

#[test]
fn trust_needs_nothing_but_the_startup() {
    let (mut handshake, sent) = begun(Login { password: None, ..login("") });
    let mut expected = Vec::new();
    let parameters =
        [("user", "ann"), ("database", "shop"), ("client_encoding", "UTF8"), ("application_name", "dyno")];
    frontend::startup(&mut expected, parameters);
    assert_eq!(sent, expected);
    assert!(!handshake.is_done());
    handshake.handle_input(&Script::new().welcome().0).unwrap();
    assert!(handshake.is_done());
    assert_eq!(output(&mut handshake), []);
    let session = handshake.into_session();
    assert!(session.link.is_plain());
    assert_eq!(session.link.tls_version(), None);
    assert!(session.leftover.is_empty());
}

#[test]
fn an_encoding_that_was_named_is_kept() {
    let mut login = login("");
    login.parameters = vec![("client_encoding".to_owned(), "LATIN1".to_owned())];
    let (_, sent) = begun(login);
    assert!(sent.ends_with(b"\0shop\0client_encoding\0LATIN1\0\0"));
}

#[test]
fn negotiation_notices_and_long_keys_are_taken() {
    let mut negotiation = vec![0, 0, 0, 0, 0, 0, 0, 1];
    negotiation.extend_from_slice(&strings(&["_pq_.gadget"]));
    let script = Script::new()
        .message(b'v', &negotiation)
        .fields(b'N', &[(b'M', "hello")])
        .authentication(0, &[])
        .key(9, &[3; 256])
        .ready(b'I');
    let (mut handshake, _) = begun(login(""));
    handshake.handle_input(&script.0).unwrap();
    assert_eq!(handshake.into_session().secret_key, [3; 256]);
}

#[test]
fn a_password_goes_out_in_clear_or_as_md5_as_asked() {
    let (mut handshake, _) = begun(login("secret"));
    handshake.handle_input(&Script::new().authentication(3, &[]).0).unwrap();
    assert_eq!(output(&mut handshake), Script::new().message(b'p', b"secret\0").0);

    let (mut handshake, _) = begun(Login { user: "md5_user".to_owned(), ..login("password") });
    handshake.handle_input(&Script::new().authentication(5, &[0x2a, 0x3d, 0x8f, 0xe0]).0).unwrap();
    let answer = b"md562af4dd09bbb41884907a838a3233294\0";
    assert_eq!(output(&mut handshake), Script::new().message(b'p', answer).0);
}

#[test]
fn a_password_that_is_asked_for_must_be_there() {
    let none = || Login { password: None, ..login("") };
    for (script, method) in [
        (Script::new().authentication(3, &[]), "password"),
        (Script::new().authentication(5, &[0; 4]), "md5"),
        (Script::new().authentication(10, b"SCRAM-SHA-256\0\0"), "scram-sha-256"),
    ] {
        assert_eq!(refusal(none(), script), LoginError::PasswordMissing { method });
    }
}

#[test]
fn the_servers_refusal_keeps_its_sqlstate() {
    let script = Script::new().fields(b'E', &[(b'S', "FATAL"), (b'C', "3D000"), (b'M', "no such database")]);
    let LoginError::Server(error) = refusal(login(""), script) else { panic!("not the server's error") };
    assert_eq!(error.code, "3D000");
    assert!(error.ends_session());
}

#[test]
fn unknown_methods_are_named() {
    let named = |script: Script| refusal(login("secret"), script).to_string();
    assert!(named(Script::new().authentication(7, &[])).starts_with("the server asks for GSSAPI"));
    assert!(named(Script::new().authentication(99, &[])).contains("authentication method 99"));
    assert!(named(Script::new().authentication(10, b"OAUTHBEARER\0\0")).contains("SASL with OAUTHBEARER,"));
}

#[test]
fn messages_out_of_place_are_refused() {
    let unexpected = |script: Script, wanted: u8| {
        let error = refusal(login("secret"), script);
        assert!(
            matches!(error, LoginError::Protocol(ProtocolError::Unexpected { tag, .. }) if tag == Tag(wanted)),
            "{error:?}"
        );
    };
    unexpected(Script::new().ready(b'I'), b'Z');
    unexpected(Script::new().row(&[]), b'D');
    unexpected(Script::new().key(1, &[0; 4]), b'K');
    unexpected(Script::new().authentication(0, &[]).authentication(3, &[]), b'R');
    unexpected(Script::new().authentication(3, &[]).authentication(3, &[]), b'R');
    unexpected(Script::new().authentication(11, b"r=x,s=eA==,i=4096"), b'R');
    unexpected(Script::new().authentication(12, b"v=x"), b'R');
}

#[test]
fn a_server_that_is_not_one_is_told() {
    let mut handshake = Handshake::new(Arc::new(login("")));
    assert_eq!(handshake.handle_input(b"220 mail ready\r\n"), Err(LoginError::SpokeFirst));
    let error = refusal(login(""), Script(b"HTTP/1.1 400 Bad Request\r\n".to_vec()));
    assert!(matches!(error, LoginError::Protocol(ProtocolError::FrameLength { .. })), "{error:?}");
}

#[test]
fn a_stranger_cannot_make_us_hoard_memory() {
    let mut endless = vec![b'N'];
    endless.extend_from_slice(&0x3000_0000_u32.to_be_bytes());
    endless.extend_from_slice(&[b'x'; 100_000]);
    let error = refusal(login(""), Script(endless));
    assert_eq!(
        error,
        LoginError::Protocol(ProtocolError::FrameLength { tag: Tag(b'N'), length: 0x3000_0000 })
    );
}

#[test]
fn a_login_and_a_handshake_show_no_password() {
    let login = login("secret");
    assert!(!format!("{login:?}").contains("secret"));
    let mut handshake = Handshake::new(Arc::new(login));
    handshake.poll_output(&mut Vec::new());
    handshake.handle_input(&Script::new().authentication(10, b"SCRAM-SHA-256\0\0").0).unwrap();
    assert!(!format!("{handshake:?}").contains("secret"));
}

mod tls {
    use super::*;

    fn login_with(tls: Tls) -> Login {
        Login { tls, ..login("secret") }
    }

    #[test]
    fn tls_is_asked_for_first() {
        for tls in [Tls::Prefer(tls_setup()), Tls::Require(tls_setup())] {
            let (mut handshake, sent) = begun(login_with(tls));
            assert_eq!(sent, [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
            handshake.handle_input(b"S").unwrap();
            // A TLS record with a handshake message: the ClientHello.
            assert_eq!(output(&mut handshake)[0], 0x16);
        }
    }

    #[test]
    fn a_server_without_tls_is_used_only_if_tls_was_a_mere_preference() {
        let (mut handshake, _) = begun(login_with(Tls::Prefer(tls_setup())));
        handshake.handle_input(b"").unwrap();
        handshake.handle_input(b"N").unwrap();
        assert_eq!(output(&mut handshake)[4..8], [0, 3, 0, 0]);
        handshake.handle_input(&Script::new().welcome().0).unwrap();
        assert!(handshake.into_session().link.is_plain());

        assert_eq!(
            refusal(login_with(Tls::Require(tls_setup())), Script(b"N".to_vec())),
            LoginError::TlsRefused
        );
    }

    #[test]
    fn nothing_may_come_unencrypted_with_the_answer() {
        for answer in [b'S', b'N'] {
            let mut bytes = vec![answer];
            bytes.extend_from_slice(&Script::new().welcome().0);
            let injected = bytes.len() - 1;
            assert_eq!(
                refusal(login_with(Tls::Prefer(tls_setup())), Script(bytes)),
                LoginError::DataBeforeTls { bytes: injected }
            );
        }
    }

    #[test]
    fn plaintext_in_place_of_the_tls_handshake_is_refused() {
        let (mut handshake, _) = begun(login_with(Tls::Require(tls_setup())));
        handshake.handle_input(b"S").unwrap();
        let error = handshake.handle_input(&Script::new().welcome().0).unwrap_err();
        assert!(matches!(error, LoginError::Tls(_)), "{error:?}");
    }

    #[test]
    fn other_answers_to_the_tls_request_are_told() {
        let error = Script::new().fields(b'E', &[(b'M', "unverified text")]);
        let told = refusal(login_with(Tls::Require(tls_setup())), error);
        assert_eq!(told, LoginError::TlsRequestFailed);
        assert_eq!(
            refusal(login_with(Tls::Require(tls_setup())), Script(b"HTTP".to_vec())),
            LoginError::TlsAnswer { answer: Tag(b'H') }
        );
    }

    #[test]
    fn a_cancel_request_is_done_once_written() {
        let mut handshake = Handshake::for_cancel(Arc::new(login("")), 7, vec![1, 2, 3, 4]);
        let mut expected = Vec::new();
        frontend::cancel_request(&mut expected, 7, &[1, 2, 3, 4]);
        assert_eq!(output(&mut handshake), expected);
        assert!(handshake.is_done());
    }
}

mod scram {
    use super::*;

    const OFFER: &[u8] = b"SCRAM-SHA-256\0\0";

    /// A server's half of an exchange, with the right password.
    struct Server {
        salt: String,
        server_key: Vec<u8>,
    }

    impl Server {
        fn new(password: &str) -> Self {
            // SCRAM-SHA-256$4096:salt$StoredKey:ServerKey, as PostgreSQL keeps it.
            let verifier = scram_sha_256(password.as_bytes());
            let (rest, server_key) = verifier.rsplit_once(':').unwrap();
            let salt = rest.split(['$', ':']).nth(2).unwrap().to_owned();
            Self { salt, server_key: STANDARD.decode(server_key).unwrap() }
        }

        /// Takes a login through both steps; gives the server's last message and the header the client sent.
        fn exchange(&self, handshake: &mut Handshake) -> (String, String) {
            handshake.handle_input(&Script::new().authentication(10, OFFER).0).unwrap();
            let first = output(handshake);
            let first = std::str::from_utf8(&first[5 + OFFER.len() - 1 + 4..]).unwrap().to_owned();
            let (header, bare) = first.split_at(3);
            let nonce = bare.split_once("r=").unwrap().1;
            let answer = format!("r={nonce}server,s={},i=4096", self.salt);
            handshake.handle_input(&Script::new().authentication(11, answer.as_bytes()).0).unwrap();
            let last = output(handshake);
            let last = std::str::from_utf8(&last[5..]).unwrap();
            let (unproved, _) = last.split_once(",p=").unwrap();
            let signature = hmac(&self.server_key, format!("{bare},{answer},{unproved}").as_bytes());
            (format!("v={}", STANDARD.encode(signature)), header.to_owned())
        }
    }

    fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
        let pad = |byte: u8| {
            let mut block = [byte; 64];
            block.iter_mut().zip(key).for_each(|(block, key)| *block ^= key);
            block
        };
        let inner = Sha256::new().chain_update(pad(0x36)).chain_update(message).finalize();
        Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().to_vec()
    }

    #[test]
    fn the_right_server_is_believed() {
        let (mut handshake, _) = begun(login("secret"));
        let (proof, header) = Server::new("secret").exchange(&mut handshake);
        assert_eq!(header, "n,,");
        handshake.handle_input(&Script::new().authentication(12, proof.as_bytes()).welcome().0).unwrap();
        assert!(handshake.is_done());
    }

    #[test]
    fn a_server_that_does_not_know_the_password_is_refused() {
        let (mut handshake, _) = begun(login("secret"));
        let server = Server::new("secret");
        let (_, _) = server.exchange(&mut handshake);
        let forged = format!("v={}", STANDARD.encode([0; 32]));
        let script = Script::new().authentication(12, forged.as_bytes()).welcome();
        let error = handshake.handle_input(&script.0).unwrap_err();
        assert!(matches!(error, LoginError::ServerNotVerified { .. }), "{error:?}");
        assert!(!handshake.is_done());
    }

    #[test]
    fn a_server_that_skips_its_proof_is_refused() {
        let (mut handshake, _) = begun(login("secret"));
        Server::new("secret").exchange(&mut handshake);
        let error = handshake.handle_input(&Script::new().welcome().0).unwrap_err();
        assert!(matches!(error, LoginError::ServerNotVerified { .. }), "{error:?}");

        let (mut handshake, _) = begun(login("secret"));
        let error = handshake.handle_input(&Script::new().authentication(10, OFFER).welcome().0).unwrap_err();
        assert!(matches!(error, LoginError::ServerNotVerified { .. }), "{error:?}");
    }

    #[test]
    fn a_garbled_exchange_is_refused() {
        for answer in ["r=wrong,s=c2FsdA==,i=4096", "", "r=", "e=other-error", "\u{fffd}"] {
            let script = Script::new().authentication(10, OFFER).authentication(11, answer.as_bytes());
            let error = refusal(login("secret"), script);
            assert!(matches!(error, LoginError::Scram { .. }), "{error:?}");
        }
    }

    #[test]
    fn plus_without_tls_is_refused() {
        let script = Script::new().authentication(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
        assert_eq!(refusal(login("secret"), script), LoginError::PlusWithoutTls);
    }

    #[test]
    fn channel_binding_that_is_required_lets_no_password_out() {
        for script in [
            Script::new().authentication(3, &[]),
            Script::new().authentication(5, &[0; 4]),
            Script::new().authentication(10, OFFER),
            Script::new().welcome(),
        ] {
            let required = Login { channel_binding: ChannelBinding::Require, ..login("secret") };
            let (mut handshake, _) = begun(required);
            let error = handshake.handle_input(&script.0).unwrap_err();
            assert!(matches!(error, LoginError::ChannelBinding { .. }), "{error:?}");
            assert_eq!(output(&mut handshake), []);
        }
    }
}

/// A server's side of a SCRAM login, as far as it can be written without knowing the nonce.
pub(crate) fn scram_login_bytes() -> Vec<u8> {
    Script::new()
        .authentication(10, b"SCRAM-SHA-256\0\0")
        .authentication(11, b"r=nonce,s=c2FsdA==,i=4096")
        .authentication(12, b"v=AAAA")
        .welcome()
        .0
}
