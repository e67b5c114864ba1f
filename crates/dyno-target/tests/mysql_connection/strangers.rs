use std::net::TcpListener;
use std::time::Duration;

use dyno_target::connection::{ConnectError, Connection};
use dyno_test_servers::{Postgres, Setup};

use crate::support::{each, target};

#[test]
fn a_mysql_url_to_a_postgresql_port_says_so() {
    let Some(server) = Postgres::shared(&Setup::default()) else { return };
    for mode in ["DISABLED", "PREFERRED", "REQUIRED"] {
        let url = format!("mysql://u@127.0.0.1:{}/d?ssl-mode={mode}", server.address.port());
        let error = target(&url).connect().unwrap_err();
        assert!(matches!(error, ConnectError::NotMySql { .. }), "{error}");
        assert!(error.to_string().contains("postgres://"), "{error}");
    }
    let socket = server.directory().join(format!(".s.PGSQL.{}", server.address.port()));
    let error = target(&format!("mysql:///d?socket={}", socket.display())).connect().unwrap_err();
    assert!(matches!(error, ConnectError::NotMySql { .. }), "{error}");
}

#[test]
fn a_postgresql_url_to_a_mysql_port_says_so() {
    each(|server| {
        for mode in ["disable", "prefer", "require"] {
            let url = format!("postgres://u@127.0.0.1:{}/d?sslmode={mode}", server.address.port());
            let error = target(&url).connect().unwrap_err();
            assert!(matches!(error, ConnectError::NotPostgres { .. }), "{error}");
            assert!(error.to_string().contains("mysql://"), "{error}");
        }
    });
}

#[test]
fn a_port_that_says_nothing_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let endpoint = target(&format!("mysql://u@127.0.0.1:{port}/d")).route().unwrap();
    let error = Connection::open_within(&endpoint, Some(Duration::from_millis(1500))).unwrap_err();
    assert!(matches!(error, ConnectError::TimedOut { .. }), "{error}");
}
