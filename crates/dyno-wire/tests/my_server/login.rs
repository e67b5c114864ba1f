//! Logins by every plugin that the servers have.

use dyno_test_servers::{MysqlProduct, MysqlSetup};
use dyno_wire::endpoint::Login;
use dyno_wire::my::handshake::{LoginError, Options};

use crate::client::{Client, login};
use crate::servers::{Server, each, each_and_seekdb, shared, with_odd_logins};

fn opens(server: &Server, user: &str, password: Option<&str>) -> Result<String, LoginError> {
    let mut client = server.open(login(user, password), Options::default())?;
    Ok(client.query("SELECT substring_index(current_user(), '@', 1)").value())
}

/// Right and wrong passwords of an account.
fn check(server: &Server, user: &str, right: &str) {
    let password = Some(right).filter(|it| !it.is_empty());
    assert_eq!(opens(server, user, password), Ok(user.to_owned()), "{}", server.product());
    let wrong = opens(server, user, Some("wrong")).unwrap_err();
    assert!(matches!(&wrong, LoginError::Server(error) if error.number == 1045), "{user}: {wrong}");
    assert!(wrong.to_string().contains("(using password: YES)"), "{wrong}");
    if !right.is_empty() {
        let none = opens(server, user, None).unwrap_err();
        assert!(matches!(&none, LoginError::Server(error) if error.number == 1045), "{user}: {none}");
    }
}

const PASSWORDS: [&str; 3] =
    ["", "secret", "pässwörd longer than any hash of it would be, and than a challenge, 🦀🦀🦀🦀🦀🦀"];

#[test]
fn mariadbs_plugins() {
    let Some(server) = shared(MysqlProduct::MariaDb) else { return };
    for (number, password) in PASSWORDS.into_iter().enumerate() {
        // An ed25519 account with an empty password lets nobody in, MariaDB's own client neither.
        let plugins = ["mysql_native_password", "ed25519"].into_iter().take(if number == 0 { 1 } else { 2 });
        for plugin in plugins {
            let name = format!("{plugin}_{number}");
            let user = server.make_user(&name, &format!("VIA {plugin} USING PASSWORD('{password}')"));
            check(&server, &user, password);
        }
    }
    // The server asks for one plugin, and when that fails for the other.
    let either = server.make_user(
        "either",
        "VIA ed25519 USING PASSWORD('other') OR mysql_native_password USING PASSWORD('secret')",
    );
    check(&server, &either, "secret");
    check(&server, &either, "other");
}

#[test]
fn mysqls_plugins() {
    let Some(server) = shared(MysqlProduct::Mysql) else { return };
    for (number, password) in PASSWORDS.into_iter().enumerate() {
        for plugin in ["caching_sha2_password", "sha256_password"] {
            let name = format!("{plugin}_{number}");
            let user = server.make_user(&name, &format!("WITH {plugin} BY '{password}'"));
            // In full, then from the server's cache.
            for _ in 0..2 {
                check(&server, &user, password);
            }
        }
    }
}

#[test]
fn the_servers_key_is_asked_for_only_if_that_is_allowed() {
    let Some(server) = shared(MysqlProduct::Mysql) else { return };
    let keyless = server.make_user("keyless", "WITH caching_sha2_password BY 'secret'");
    let options = Options { public_key_retrieval: false, ..Options::default() };
    let open = || server.open(login(&keyless, Some("secret")), options);
    let refused = open().unwrap_err();
    assert_eq!(refused, LoginError::PublicKeyForbidden { plugin: "caching_sha2_password" });
    // With the password in its cache the server needs no key.
    check(&server, &keyless, "secret");
    assert!(open().is_ok());
}

#[test]
fn a_unix_socket_is_as_good_as_tls() {
    each_and_seekdb(|server| {
        let mut client = Client::open_unix(&server.socket(), server.root_login()).unwrap();
        assert_eq!(client.query("SELECT 1").value(), "1");
        if server.is(MysqlProduct::SeekDb) {
            // Its `root` has a password, so that is shown already.
            return;
        }
        let with = if server.is(MysqlProduct::Mysql) { "WITH caching_sha2_password" } else { "" };
        let user = server.make_user("by_socket", &format!("{with} BY 'secret'"));
        let mut client = Client::open_unix(&server.socket(), login(&user, Some("secret"))).unwrap();
        assert_eq!(client.query("SELECT 1").value(), "1");
    });
}

#[test]
fn a_plugin_that_is_not_known_is_named() {
    let Some(server) = with_odd_logins() else { return };
    let ancient = server.make_user("ancient", "VIA mysql_old_password USING '7c786c222596437b'");
    let refused = opens(&server, &ancient, Some("x")).unwrap_err();
    assert!(refused.to_string().contains("mysql_old_password"), "{refused}");
    assert!(refused.to_string().contains("set the password anew"), "{refused}");
}

#[test]
fn a_password_in_clear_is_not_sent_without_tls() {
    let Some(server) = with_odd_logins() else { return };
    let user = server.make_user("pam_in_clear", "VIA pam");
    let refused = opens(&server, &user, Some("secret")).unwrap_err();
    assert_eq!(refused, LoginError::ClearPassword { plugin: "mysql_clear_password" });
}

#[test]
fn an_unknown_database_is_an_error_and_none_is_fine() {
    each(|server| {
        let at = |database: &str| Login { database: database.to_owned(), ..server.root_login() };
        let refused = server.open(at("wire_my_none"), Options::default()).unwrap_err();
        assert!(
            matches!(&refused, LoginError::Server(error) if error.number == 1049 && error.state == "42000")
        );
        let mut client = server.open(at(""), Options::default()).unwrap();
        assert_eq!(client.query("SELECT database() IS NULL").value(), "1");
    });
}

#[test]
fn attributes_of_the_connection_arrive() {
    let Some(server) = shared(MysqlProduct::Mysql) else { return };
    let parameters = vec![("program_name".to_owned(), "dyno tést".to_owned())];
    let with = Login { parameters, ..server.root_login() };
    let mut client = server.open(with, Options::default()).unwrap();
    let sql = "SELECT attr_name, attr_value FROM performance_schema.session_connect_attrs
        WHERE processlist_id = connection_id() ORDER BY ordinal_position";
    let seen: Vec<_> = client.query(sql).texts().concat().into_iter().flatten().collect();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(seen, ["_client_name", "dyno", "_client_version", version, "program_name", "dyno tést"]);
}

#[test]
fn a_full_server_says_so_in_place_of_a_greeting() {
    let setup = MysqlSetup::new(MysqlProduct::Mysql).with("max-connections=10");
    let Some(server) = Server::start(&setup) else { return };
    let mut held = Vec::new();
    let refused = loop {
        match server.open(server.root_login(), Options::default()) {
            Ok(client) => held.push(client),
            Err(error) => break error,
        }
        assert!(held.len() < 50, "the limit is not kept");
    };
    // One more for the superuser; the rest is refused before a login or at its end.
    let number = match &refused {
        LoginError::Unwelcome(error) | LoginError::Server(error) => error.number,
        other => panic!("{other}"),
    };
    assert_eq!(number, 1040, "{refused}");
}
