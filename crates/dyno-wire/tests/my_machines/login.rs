//! Logins, byte by byte, as real servers and other clients were seen to do them.

use std::sync::Arc;

use dyno_wire::endpoint::{ChannelBinding, Login, Password, Tls, TlsSetup};
use dyno_wire::my::error::ProtocolError;
use dyno_wire::my::handshake::{Handshake, LoginError, Options};
use dyno_wire::pg;
use dyno_wire::pg::handshake::is_mysql_greeting;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};

use crate::script::{AUTOCOMMIT, Script};

/// MySQL 9.7 without TLS, as it came.
pub(crate) const MYSQL_GREETING: &[u8] =
    b"K\0\0\0\x0a9.7.4-2\0\x09\0\0\0ms\x1ez{Xz\x17\0\xff\xf7\xff\x02\0\xff\x9f\x15\
    \0\0\0\0\0\0\0\0\0\0;\x03\x18A\x16V\x01_]P%\x10\0caching_sha2_password\0";

/// What MariaDB's client answered to it for the password `secret`.
const CACHING_SHA2_ANSWER: &[u8] =
    b".j9\x98\x87\xee\xc5\xc0h\xe2\xa9\xa8k\xb9\x8cs\xc1\xdb\"\x9d=\xab\xc6\x02\x14\xae\\\xae\x09\x87\x13\x1d";

/// MariaDB 10.11, as it came.
const MARIADB_GREETING: &[u8] =
    b"d\0\0\0\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x05\0\0\0=zo>'Ht3\0\xfe\xf7\x08\x02\0\
    \xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0>}~~!&9*hP6\\\0mysql_native_password\0";

/// MariaDB's request for its other plugin.
const ED25519_SWITCH: &[u8] =
    b"0\0\0\x02\xfeclient_ed25519\x001\xe8^\x81r\x8b\xaa3\xb0\x1b\x19\xcd\x83\x90H\x96\x14\
    \x97\x04\xfb&\x81\xf1\x01\xe6\xe8\xab\xc7\xfd\xeb\x83j";

/// What MariaDB's client signed for it, with no password.
const ED25519_ANSWER: &[u8] = b"@\0\0\x03(_o\xf1\xc8\xd4b\xea\x0f\x98#\xd8kGl\xe4\x11\xa40\xb4\x1d\xe8\xed\x83@\x1d\
    \x8f#\x1f\xbb\x93\xae\xdbw\x97\x1dV_\x05\xd0\x02\xd0B\x12\xdb\x99f\xecy\xff\x17\xb9\xdf\x80\xa3\x8d\x1f\xa6\x0c\
    \xb1\x9e\xa8\xae\x0f";

pub(crate) fn login(password: &str) -> Login {
    Login {
        user: "me".to_owned(),
        password: Some(Password::new(password.to_owned())),
        database: "db".to_owned(),
        parameters: vec![("program_name".to_owned(), "p".to_owned())],
        tls: Tls::Disable,
        channel_binding: ChannelBinding::Prefer,
    }
}

fn with_tls(tls: fn(TlsSetup) -> Tls) -> Login {
    let config = ClientConfig::builder().with_root_certificates(RootCertStore::empty()).with_no_client_auth();
    let server_name = ServerName::try_from("localhost").unwrap();
    Login { tls: tls(TlsSetup { config: Arc::new(config), server_name }), ..login("secret") }
}

fn begun(login: Login, greeting: &[u8]) -> (Handshake, Vec<u8>) {
    let mut handshake = Handshake::new(Arc::new(login), Options::default());
    let answer = said(&mut handshake, greeting);
    (handshake, answer)
}

fn said(handshake: &mut Handshake, input: &[u8]) -> Vec<u8> {
    handshake.handle_input(input).unwrap();
    let mut out = Vec::new();
    handshake.poll_output(&mut out);
    out
}

fn refused(login: Login, input: &[u8]) -> LoginError {
    Handshake::new(Arc::new(login), Options::default()).handle_input(input).unwrap_err()
}

/// A packet with this number.
fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    Script::default().numbered(number).packet(payload).bytes
}

#[test]
fn a_login_request_has_all_that_was_agreed() {
    let (mut handshake, request) = begun(login("secret"), MYSQL_GREETING);
    let version = env!("CARGO_PKG_VERSION");
    let attributes = format!(
        "\x0c_client_name\x04dyno\x0f_client_version{}{version}\x0cprogram_name\x01p",
        char::from(version.len() as u8)
    );
    let expected = [
        // Everything but SSL, LOCAL_FILES, FOUND_ROWS and SESSION_TRACK.
        &0x013f_a20d_u32.to_le_bytes()[..],
        b"\0\0\0\x40\x2d",
        &[0; 23],
        b"me\0\x20",
        CACHING_SHA2_ANSWER,
        b"db\0caching_sha2_password\0",
        &[attributes.len() as u8],
        attributes.as_bytes(),
    ]
    .concat();
    assert_eq!(request, packet(1, &expected));
    assert_eq!(said(&mut handshake, &packet(2, &[1, 3])), b"");
    assert!(!handshake.is_done());
    let ok = Script::default().numbered(3).ok(0, 0, AUTOCOMMIT, 0, "").bytes;
    assert_eq!(said(&mut handshake, &ok), b"");
    assert!(handshake.is_done());
    assert!(handshake.into_session().status.autocommit());
}

#[test]
fn an_empty_password_is_answered_with_nothing() {
    let (_, request) = begun(login(""), MYSQL_GREETING);
    assert!(request[36..].starts_with(b"me\0\0db\0"));
    let (_, request) = begun(Login { password: None, ..login("") }, MARIADB_GREETING);
    assert!(request[36..].starts_with(b"me\0\0db\0"));
}

#[test]
fn a_switch_to_ed25519_is_signed_as_mariadbs_own_client_does() {
    let (mut handshake, _) = begun(login(""), MARIADB_GREETING);
    assert_eq!(said(&mut handshake, ED25519_SWITCH), ED25519_ANSWER);
}

#[test]
fn a_challenge_of_ed25519_is_signed_to_its_last_byte() {
    let signed = |challenge: &[u8]| {
        let (mut handshake, _) = begun(login("secret"), MARIADB_GREETING);
        said(&mut handshake, &packet(2, &[b"\xfeclient_ed25519\0", challenge].concat()))
    };
    let ends_in_zero = [&[7; 31][..], &[0]].concat();
    assert_ne!(signed(&ends_in_zero), signed(&ends_in_zero[..31]));
}

#[test]
fn without_tls_the_password_goes_under_the_servers_key() {
    let (mut handshake, _) = begun(login("secret"), MYSQL_GREETING);
    assert_eq!(said(&mut handshake, &packet(2, &[1, 4])), packet(3, &[2]));
    let answer = said(&mut handshake, &packet(4, &[&[1], RSA_PUBLIC_KEY.as_bytes()].concat()));
    assert_eq!((answer.len(), answer[3]), (4 + 256, 5));
    // Another key has no place any more.
    assert!(handshake.handle_input(&packet(6, &[&[1], RSA_PUBLIC_KEY.as_bytes()].concat())).is_err());
}

#[test]
fn a_key_that_is_none_is_refused() {
    let small = RSA_PUBLIC_KEY.replacen("MIIBIjAN", "MIIBIjAO", 1);
    for key in ["", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", &small] {
        let (mut handshake, _) = begun(login("secret"), MYSQL_GREETING);
        said(&mut handshake, &packet(2, &[1, 4]));
        let error = handshake.handle_input(&packet(4, &[&[1], key.as_bytes()].concat())).unwrap_err();
        assert!(matches!(error, LoginError::PublicKey { .. }), "{error}");
    }
}

#[test]
fn over_a_unix_socket_the_password_goes_as_it_is() {
    let options = Options { unix_socket: true, ..Options::default() };
    let mut handshake = Handshake::new(Arc::new(login("secret")), options);
    said(&mut handshake, MYSQL_GREETING);
    assert_eq!(said(&mut handshake, &packet(2, &[1, 4])), packet(3, b"secret\0"));
}

#[test]
fn what_would_show_the_password_is_refused() {
    let (mut handshake, _) = begun(login("secret"), MYSQL_GREETING);
    let error = handshake.handle_input(&packet(2, b"\xfemysql_clear_password\0")).unwrap_err();
    assert_eq!(error, LoginError::ClearPassword { plugin: "mysql_clear_password" });
    let mut rest = Vec::new();
    handshake.poll_output(&mut rest);
    assert_eq!(rest, b"");
}

#[test]
fn old_and_unknown_plugins_are_named() {
    for (request, name) in [
        (&b"\xfe"[..], "mysql_old_password"),
        (b"\xfemysql_old_password\x0012345678\0", "mysql_old_password"),
        (b"\xfeauth_gssapi_client\0x", "auth_gssapi_client"),
        (b"\xfeparsec\0x", "parsec"),
    ] {
        let (mut handshake, _) = begun(login("secret"), MYSQL_GREETING);
        let error = handshake.handle_input(&packet(2, request)).unwrap_err();
        assert!(matches!(&error, LoginError::UnsupportedPlugin { plugin, .. } if plugin == name), "{error}");
        assert!(!error.to_string().contains("secret"));
    }
    let (mut handshake, _) = begun(login("secret"), MYSQL_GREETING);
    assert_eq!(
        handshake.handle_input(&packet(2, b"\x02authentication_fido")).unwrap_err(),
        LoginError::SecondFactor
    );
}

#[test]
fn tls_begins_after_the_greeting_and_nothing_comes_between() {
    let mut with_ssl = MYSQL_GREETING.to_vec();
    // The low half of the capabilities follows the version, the id and the first part of the challenge.
    with_ssl[4 + 1 + 8 + 4 + 8 + 1 + 1] |= 8;
    let (_, request) = begun(with_tls(Tls::Require), &with_ssl);
    assert_eq!(&request[..9], b"\x20\0\0\x01\x0d\xaa\x3f\x01\0");
    // A TLS record, a handshake.
    assert_eq!(&request[36..38], b"\x16\x03");
    let injected = [&with_ssl[..], b"x"].concat();
    assert_eq!(refused(with_tls(Tls::Prefer), &injected), LoginError::DataBeforeTls { bytes: 1 });
    assert_eq!(refused(with_tls(Tls::Require), MYSQL_GREETING), LoginError::TlsRefused);
    let (_, request) = begun(with_tls(Tls::Prefer), MYSQL_GREETING);
    assert!(request.windows(20).any(|part| part == b"caching_sha2_passwor"));
}

#[test]
fn an_error_may_stand_for_the_greeting_with_or_without_a_state() {
    let plain = packet(0, b"\xff\x10\x04Too many connections");
    let error = refused(login("secret"), &plain);
    assert!(matches!(&error, LoginError::Unwelcome(error) if error.number == 1040 && error.state == "?????"));
    let with_state = packet(0, b"\xff\x10\x04#08004Too many connections");
    let error = refused(login("secret"), &with_state);
    assert!(matches!(&error, LoginError::Unwelcome(error) if error.state == "08004"), "{error}");
}

#[test]
fn strangers_are_told_from_mysql() {
    for bytes in [&b"SSH-2.0-OpenSSH_9.2p1"[..], b"HTTP/1.1 400 Bad Request", b"220 mail ESMTP"] {
        let error = refused(login("secret"), bytes);
        assert!(matches!(&error, LoginError::NotMySql(beginning) if beginning.len() > 10), "{error}");
    }
    let error = refused(login("secret"), &packet(0, b"\x093.23.49\0"));
    assert_eq!(error, LoginError::ProtocolVersion { version: 9 });
}

#[test]
fn a_server_that_changes_its_mind_without_an_end_is_given_up() {
    let (mut handshake, _) = begun(login("secret"), MARIADB_GREETING);
    let request = [&b"\xfemysql_native_password\0"[..], &[7; 20], b"\0"].concat();
    // Each is answered, and so the next one's number is two beyond.
    let mut turns = (1..=u32::from(u16::MAX)).map(|turn| {
        let taken = handshake.handle_input(&packet((turn * 2) as u8, &request));
        handshake.poll_output(&mut Vec::new());
        taken
    });
    let error = turns.find_map(Result::err).unwrap();
    assert!(matches!(error, LoginError::TooMuch { .. }), "{error}");
}

#[test]
fn silence_is_answered_with_a_question_for_postgresql() {
    for (answer, expected) in [
        (&b"S"[..], LoginError::PostgreSql),
        (b"N", LoginError::PostgreSql),
        (b"E\0\0\0\x52SFATAL\0", LoginError::PostgreSql),
        (MYSQL_GREETING, LoginError::LateGreeting),
    ] {
        let mut handshake = Handshake::new(Arc::new(login("secret")), Options::default());
        assert!(handshake.handle_silence());
        let mut question = Vec::new();
        handshake.poll_output(&mut question);
        assert_eq!(question, b"\0\0\0\x08\x04\xd2\x16\x2f");
        assert_eq!(handshake.handle_input(answer).unwrap_err(), expected);
        assert!(!handshake.handle_silence());
    }
    let (mut handshake, _) = begun(login("secret"), MYSQL_GREETING);
    assert!(!handshake.handle_silence());
}

#[test]
fn a_postgresql_login_is_told_of_mysql() {
    let unwelcome = packet(0, b"\xff\x6a\x04Host '10.0.0.1' is not allowed to connect to this MySQL server");
    // One whose length reads as PostgreSQL's answer to the question for TLS.
    let mut as_yes = MYSQL_GREETING.to_vec();
    as_yes.splice(12..12, *b"-sid-log");
    as_yes[0] = b'S';
    for greeting in [MYSQL_GREETING, MARIADB_GREETING, &unwelcome, &as_yes] {
        assert!(is_mysql_greeting(greeting));
        for login in [login("secret"), with_tls(Tls::Prefer), with_tls(Tls::Require)] {
            let mut handshake = pg::handshake::Handshake::new(Arc::new(login));
            handshake.poll_output(&mut Vec::new());
            let error = handshake.handle_input(greeting).unwrap_err();
            assert_eq!(error, pg::handshake::LoginError::MySql);
        }
    }
    for other in
        [&b"R\0\0\0\x08\0\0\0\0"[..], b"E\0\0\0\xffSFATAL\0VFATAL\0", b"N", b"S", b"K\0\0\0\x0c\0\0\0"]
    {
        assert!(!is_mysql_greeting(other));
    }
}

#[test]
fn packets_of_a_login_have_their_numbers_and_bounds() {
    let (mut handshake, _) = begun(login("secret"), MYSQL_GREETING);
    let error = handshake.handle_input(&packet(4, &[1, 3])).unwrap_err();
    assert_eq!(error, LoginError::Protocol(ProtocolError::Sequence { expected: 2, got: 4 }));
    let (mut handshake, _) = begun(login("secret"), MYSQL_GREETING);
    let error = handshake.handle_input(b"\xff\xff\xff\x02").unwrap_err();
    assert!(matches!(error, LoginError::Protocol(ProtocolError::TooLarge { .. })), "{error}");
}

/// MySQL closes a login that has lasted ten seconds, whatever is on its way to it by then.
#[test]
fn a_refusal_that_crosses_the_answer_is_told() {
    let (mut handshake, _) = begun(login("secret"), MYSQL_GREETING);
    let refusal = packet(1, b"\xff\x87\x04#08S01Got timeout reading communication packets");
    let error = handshake.handle_input(&refusal).unwrap_err();
    assert!(matches!(&error, LoginError::Server(error) if error.number == 1159), "{error}");
    assert!(error.to_string().contains("Got timeout reading communication packets"), "{error}");
}

/// A key made for this test; its other half was thrown away.
const RSA_PUBLIC_KEY: &str = "\
-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEApNF13VKjChVY/D9oyKpI
bfDPm5vtBUiNsyLjuCb9yzH2EeeIGpByDZmvoGG35XBrkUOmPcP+nNZN1ym3f2ip
Z6j2YmzhL6aL2lq6HLP4fin6X0cnO3YWQSJOLfjoRsnMFw/SNonU29bh6Gb0LyNX
XbGGpSIPMcinj71S3RpdOZiwEf9+jit0J+MMelZxTg1yuihtCxVrn24elkd4vCP5
a8E+D3ep39ykeYxFHm5PiYele5a8h+uTJe0a0xXVPyC2UDoLkRbEpt6KgjCBT/9Q
XjK7YwMESkS3/Ub/xsInEzchH0p6wZJ9sU7J/I8aPw4DjwEjxPKZoWi+1ZRWGu28
LQIDAQAB
-----END PUBLIC KEY-----
";
