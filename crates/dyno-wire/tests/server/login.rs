//! Logins by every method, and every refusal with the server's SQLSTATE.

use dyno_wire::endpoint::Login;
use dyno_wire::pg::handshake::LoginError;

use crate::client::{Client, login};
use crate::postgres;

#[test]
fn every_method_lets_in_who_knows_the_password() {
    let Some(server) = postgres::shared() else { return };
    for (user, password) in
        [("trusted", None), ("clear", Some("right")), ("md5", Some("right")), ("scram", Some("right"))]
    {
        let mut client = Client::open(server.address, login(user, password)).unwrap();
        assert_eq!(client.query("SELECT current_user").rows, [[Some(user.to_owned())]]);
        assert_eq!(client.tls_version(), None);
        assert!(client.session.parameters.contains_key("server_version"));
        assert_eq!(client.session.secret_key.len(), 4);
    }
}

#[test]
fn no_method_lets_in_who_does_not() {
    let Some(server) = postgres::shared() else { return };
    for user in ["clear", "md5", "scram"] {
        for password in ["wrong", " ", "rightt"] {
            let refused = Client::open(server.address, login(user, Some(password))).unwrap_err();
            assert_eq!(sqlstate(&refused), "28P01", "{refused}");
            assert!(!refused.to_string().contains(password) || password == " ", "{refused}");
        }
        let refused = Client::open(server.address, login(user, None)).unwrap_err();
        assert!(matches!(refused, LoginError::PasswordMissing { .. }), "{refused}");
    }
}

#[test]
fn the_servers_refusals_keep_their_sqlstate() {
    let Some(server) = postgres::shared() else { return };
    let missing = Login { database: "missing".to_owned(), ..login("trusted", None) };
    assert_eq!(sqlstate(&Client::open(server.address, missing).unwrap_err()), "3D000");
    let stranger = login("stranger", None);
    assert_eq!(sqlstate(&Client::open(server.address, stranger).unwrap_err()), "28000");
    let parameters = vec![("no_such_setting".to_owned(), "1".to_owned())];
    let strange = Login { parameters, ..login("trusted", None) };
    assert_eq!(sqlstate(&Client::open(server.address, strange).unwrap_err()), "42704");
}

#[test]
fn one_session_too_many_is_refused_with_its_sqlstate() {
    let Some(server) = postgres::start(&["max_connections=6", "superuser_reserved_connections=3"]) else {
        return;
    };
    let mut sessions = Vec::new();
    let refused = loop {
        match Client::open(server.address, login("trusted", None)) {
            Ok(session) => sessions.push(session),
            Err(refused) => break refused,
        }
        assert!(sessions.len() <= 6);
    };
    assert_eq!(sqlstate(&refused), "53300");
    assert!(!sessions.is_empty());
}

#[test]
fn startup_parameters_take_effect() {
    let Some(server) = postgres::shared() else { return };
    let parameters =
        [("application_name", "dyno"), ("options", "-c work_mem=77MB"), ("TimeZone", "Asia/Tokyo")];
    let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let mut client = Client::open(server.address, Login { parameters, ..login("trusted", None) }).unwrap();
    let found = client.query("SELECT current_setting('work_mem'), current_setting('application_name')").rows;
    assert_eq!(found, [[Some("77MB".to_owned()), Some("dyno".to_owned())]]);
    assert_eq!(client.session.parameters["TimeZone"], "Asia/Tokyo");
}

fn sqlstate(refused: &LoginError) -> &str {
    let LoginError::Server(error) = refused else { panic!("{refused}") };
    assert_eq!(error.severity, "FATAL");
    &error.code
}
