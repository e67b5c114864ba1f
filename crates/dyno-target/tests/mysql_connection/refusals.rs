use dyno_target::Connection;
use dyno_target::connection::{ConnectError, QueryError};
use dyno_test_servers::{Mysql, MysqlProduct, MysqlSetup};

use crate::support::{DATABASE, ENCODED, WITH_INNODB, each, own, root, shared_with, strict, target, url};

fn refused(url: &str) -> ConnectError {
    target(url).connect().unwrap_err()
}

#[test]
fn each_refusal_of_a_login_has_its_own_kind_and_advice() {
    each(|server| {
        let wrong = refused(&server.url("target_plain", "wrong", DATABASE));
        assert!(matches!(wrong, ConnectError::AccessDenied { .. }), "{wrong}");
        assert_eq!(wrong.number(), Some(1045), "{wrong}");
        assert!(wrong.to_string().contains("~/.my.cnf") && !wrong.to_string().contains("wrong"), "{wrong}");
        let none = refused(&format!("mysql://target_plain@{}/{DATABASE}", server.address));
        assert!(none.to_string().contains("no password was given"), "{none}");
        let database = refused(&server.url("root", &server.password, "target_no_such"));
        assert!(
            matches!(&database, ConnectError::DatabaseMissing { database, .. } if database == "target_no_such"),
            "{database}"
        );
        assert_eq!(database.number(), Some(1049));
    });
}

#[test]
fn a_plugin_that_is_not_supported_is_named() {
    // The same server as that of dyno-wire's tests.
    let setup = MysqlSetup::new(MysqlProduct::MariaDb).with_tls().with("secure-auth=0");
    let setup = setup.with("plugin-load-add=auth_pam_v1").with("pam-use-cleartext-plugin=1");
    let Some(server) = shared_with(&setup) else { return };
    server.sql(
        "DROP USER IF EXISTS target_ancient; \
         CREATE USER target_ancient IDENTIFIED VIA mysql_old_password USING '7c786c222596437b'",
    );
    let error = refused(&server.url("target_ancient", "x", ""));
    assert!(error.to_string().contains("mysql_old_password"), "{error}");
}

#[test]
fn tls_that_is_not_offered_or_demanded_is_said() {
    each(|server| {
        let error = refused(&url(server, "ssl-mode=REQUIRED"));
        assert!(matches!(error, ConnectError::TlsRefused { .. }), "{error}");
        assert!(error.to_string().contains("ssl-mode=DISABLED"), "{error}");
    });
    for server in strict() {
        let error = refused(&url(&server, "ssl-mode=DISABLED"));
        assert!(error.to_string().contains("ssl-mode=REQUIRED"), "{error}");
        // MariaDB only says that access is denied.
        let is_told = matches!(error, ConnectError::TlsRequired { .. });
        assert_eq!(is_told, server.product() == MysqlProduct::Mysql, "{error}");
        assert!(target(&url(&server, "")).connect().is_ok());
    }
}

#[test]
fn too_many_connections_are_said() {
    for server in WITH_INNODB.into_iter().filter_map(own) {
        server.sql("CREATE USER alone WITH MAX_USER_CONNECTIONS 1");
        let alone = server.url("alone", "", "");
        let first = target(&alone).connect().unwrap();
        let error = refused(&alone);
        assert!(matches!(error, ConnectError::TooManyConnections { .. }), "{error}");
        drop(first);
        // Of the server itself: an administrator is let in beyond it, anybody else is not.
        server.sql("SET GLOBAL max_connections = 10; CREATE USER anybody");
        let anybody = server.url("anybody", "", "");
        let mut sessions = Vec::new();
        let error = loop {
            match target(&anybody).connect() {
                Ok(session) => sessions.push(session),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, ConnectError::TooManyConnections { .. }), "{error}");
        assert_eq!(error.number(), Some(1040));
    }
}

#[test]
fn a_host_that_is_not_allowed_is_said() {
    for server in WITH_INNODB.into_iter().filter_map(own) {
        let mut session = root(&server);
        // A view in MariaDB.
        let accounts = if server.product() == MysqlProduct::Mysql { "user" } else { "global_priv" };
        session.execute(&format!("DELETE FROM mysql.{accounts} WHERE host <> 'localhost'")).unwrap();
        session.execute("FLUSH PRIVILEGES").unwrap();
        let error = refused(&url(&server, ""));
        assert!(matches!(error, ConnectError::HostNotAllowed { .. }), "{error}");
    }
}

#[test]
fn a_server_that_is_not_there_is_said() {
    let error = refused("mysql://u@127.0.0.1:1/d");
    assert!(matches!(error, ConnectError::Refused { .. }), "{error}");
    let error = refused("mysql://u@localhost/d?socket=/nowhere/s");
    assert!(matches!(error, ConnectError::NoSocket { .. }), "{error}");
}

#[test]
fn a_statement_longer_than_the_server_takes_says_what_to_raise() {
    for server in strict() {
        let mut session = root(&server);
        let error = session.query(&format!("SELECT '{}'", "x".repeat(3 << 20))).unwrap_err();
        assert!(error.to_string().contains("max_allowed_packet"), "{error}");
        assert!(error.to_string().len() < 1000, "{error}");
        assert!(session.is_broken());
    }
}

#[test]
fn a_server_that_takes_no_changes_says_so() {
    for server in strict() {
        // Who may do everything still writes.
        root(&server).execute("CREATE TABLE unchanged (x int)").unwrap();
        let mut writer = target(&server.url("target_plain", ENCODED, DATABASE)).connect().unwrap();
        let error = writer.execute("INSERT INTO unchanged VALUES (1)").unwrap_err();
        assert_eq!(error.number(), Some(1290), "{error}");
        assert!(error.to_string().contains("is it a replica"), "{error}");
    }
}

#[test]
fn too_many_prepared_statements_say_what_to_raise() {
    for server in strict() {
        let error = prepare(&server).unwrap_err();
        assert_eq!(error.number(), Some(1461), "{error}");
        assert!(error.to_string().contains("raise max_prepared_stmt_count"), "{error}");
    }
}

fn prepare(server: &Mysql) -> Result<u64, QueryError> {
    let mut session: Connection = root(server);
    session.execute("PREPARE s FROM 'SELECT 1'")
}
