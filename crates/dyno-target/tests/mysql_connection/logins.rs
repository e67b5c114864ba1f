use std::fs;

use dyno_target::connection::ConnectError;
use dyno_target::{Environment, MySqlSettings};
use dyno_test_servers::MysqlProduct;

use crate::support::{DATABASE, ENCODED, each, shared, target, url, with_tls};

fn answers(url: &str) -> Option<&'static str> {
    let mut session = target(url).connect().unwrap_or_else(|error| panic!("{url}: {error}"));
    assert_eq!(session.query_value::<u32>("SELECT 5").unwrap(), Some(5), "{url}");
    session.tls_version()
}

#[test]
fn sessions_open_by_tcp_and_by_socket() {
    each(|server| {
        let plain = server.url("target_plain", ENCODED, DATABASE);
        assert_eq!(answers(&format!("{plain}?ssl-mode=DISABLED")), None);
        let socket = server.socket().display().to_string();
        assert_eq!(
            answers(&format!("mysql://target_plain:{ENCODED}@localhost/{DATABASE}?socket={socket}")),
            None
        );
        // No database at all.
        answers(&server.url("target_plain", ENCODED, ""));
    });
}

#[test]
fn sessions_are_encrypted_as_the_mode_says() {
    for server in with_tls() {
        let authority = server.authority().display().to_string();
        for (parameters, encrypted) in [
            ("ssl-mode=DISABLED".to_owned(), false),
            (String::new(), true),
            ("ssl-mode=PREFERRED".to_owned(), true),
            ("ssl-mode=REQUIRED".to_owned(), true),
            (format!("ssl-mode=VERIFY_CA&ssl-ca={authority}"), true),
            (format!("ssl-ca={authority}"), true),
            (format!("ssl-mode=verify_identity&ssl-ca={authority}"), true),
        ] {
            assert_eq!(answers(&url(&server, &parameters)).is_some(), encrypted, "{parameters}");
        }
        let version = answers(&url(&server, "ssl-mode=REQUIRED&tls-version=TLSv1.2"));
        assert_eq!(version, Some("TLSv1.2"));
        let socket = server.socket().display().to_string();
        let local = format!("mysql://root@localhost/{DATABASE}?socket={socket}");
        assert_eq!(answers(&local), None);
        assert!(answers(&format!("{local}&ssl-mode=REQUIRED")).is_some());
        assert!(answers(&format!("{local}&ssl-mode=VERIFY_IDENTITY&ssl-ca={authority}")).is_some());
    }
}

#[test]
fn a_certificate_that_is_not_trusted_is_refused() {
    for server in with_tls() {
        let error = target(&url(&server, "ssl-mode=VERIFY_CA&ssl-ca=system")).connect().unwrap_err();
        assert!(matches!(error, ConnectError::CertificateNotTrusted { .. }), "{error}");
        assert!(error.to_string().contains("ssl-ca=FILE"), "{error}");
    }
}

#[test]
fn an_option_file_logs_in() {
    each(|server| {
        let home =
            std::env::temp_dir().join(format!("dyno-home-{}-{}", server.product() as u8, std::process::id()));
        fs::create_dir_all(&home).unwrap();
        let text = format!(
            "[client]\nuser=target_plain\npassword=\"s:c/r@m?\" # not root\nhost=127.0.0.1\nport={}\n[dyno]\ndatabase={DATABASE}\n",
            server.address.port()
        );
        fs::write(home.join(".my.cnf"), text).unwrap();
        let settings =
            MySqlSettings::parse("mysql://?connect-timeout=300", &Environment::empty().with_home(&home))
                .unwrap();
        let mut session = settings.connect().unwrap();
        let user: String = session.query_value("SELECT CURRENT_USER()").unwrap().unwrap();
        assert!(user.starts_with("target_plain@"), "{user}");
        assert_eq!(session.query_value::<String>("SELECT DATABASE()").unwrap().as_deref(), Some(DATABASE));
        fs::remove_dir_all(&home).unwrap();
    });
}

#[test]
fn the_server_is_told_which_program_it_is() {
    let Some(server) = shared(MysqlProduct::Mysql) else { return };
    let mut session = target(&url(&server, "program-name=mine")).connect().unwrap();
    let sql = "SELECT attr_value FROM performance_schema.session_connect_attrs \
               WHERE processlist_id = CONNECTION_ID() AND attr_name = 'program_name'";
    assert_eq!(session.query_value::<String>(sql).unwrap().as_deref(), Some("mine"));
}
