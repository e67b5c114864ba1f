//! Logins over TLS.

use std::sync::Arc;

use dyno_test_servers::{MysqlProduct, MysqlSetup};
use dyno_wire::endpoint::{Login, Tls, TlsSetup};
use dyno_wire::my::handshake::{LoginError, Options};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore};

use crate::client::{Client, login};
use crate::servers::{Server, each, each_of, with_odd_logins};

const PRODUCTS: [MysqlProduct; 2] = [MysqlProduct::Mysql, MysqlProduct::MariaDb];

/// Runs `job` against a server of each that offers TLS, at the same time.
fn each_secured(job: impl Fn(&Server) + Sync) {
    each_of(&PRODUCTS, |product| Server::shared(&MysqlSetup::new(product).with_tls()), job);
}

fn trusted(server: &Server, versions: &[&'static rustls::SupportedProtocolVersion]) -> TlsSetup {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(server.authority()).unwrap()).unwrap();
    setup(roots, "localhost", versions)
}

fn setup(
    roots: RootCertStore,
    name: &'static str,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> TlsSetup {
    let config = ClientConfig::builder_with_protocol_versions(versions)
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsSetup { config: Arc::new(config), server_name: ServerName::try_from(name).unwrap() }
}

fn open(server: &Server, tls: Tls, user: &str, password: Option<&str>) -> Result<Client, LoginError> {
    server.open(Login { tls, ..login(user, password) }, Options::default())
}

#[test]
fn logins_and_long_replies_go_over_tls() {
    each_secured(|server| {
        let user = server.make_user("tls", "BY 'secret' REQUIRE SSL");
        for (version, name) in [(&TLS12, "TLSv1.2"), (&TLS13, "TLSv1.3")] {
            let tls = Tls::Require(trusted(server, &[version]));
            let mut client = open(server, tls, &user, Some("secret")).unwrap();
            assert_eq!(client.session.link.tls_version(), Some(name));
            assert_eq!(client.query("SHOW STATUS LIKE 'ssl_version'").texts()[0][1].as_deref(), Some(name));
            let sql = format!("SELECT length('{}'), repeat('y', 3000000)", "x".repeat(2_000_000));
            let texts = client.query(sql).texts();
            assert_eq!(texts[0][0].as_deref(), Some("2000000"));
            assert_eq!(texts[0][1].as_ref().map(String::len), Some(3_000_000));
            assert!(client.quit());
        }
        let refused = open(server, Tls::Disable, &user, Some("secret")).unwrap_err();
        assert!(matches!(&refused, LoginError::Server(error) if error.number == 1045), "{refused}");
    });
}

#[test]
fn every_plugin_works_over_tls() {
    each_secured(|server| {
        let plugins = if server.is(MysqlProduct::Mysql) {
            ["caching_sha2_password", "sha256_password"]
        } else {
            ["mysql_native_password", "ed25519"]
        };
        for plugin in plugins {
            let identified = if server.is(MysqlProduct::Mysql) {
                format!("WITH {plugin} BY 'secret'")
            } else {
                format!("VIA {plugin} USING PASSWORD('secret')")
            };
            let user = server.make_user(plugin, &identified);
            let prefer = || Tls::Prefer(trusted(server, &[&TLS13]));
            // In full, then from the cache that MySQL keeps.
            for _ in 0..2 {
                assert!(open(server, prefer(), &user, Some("secret")).is_ok(), "{plugin}");
                assert!(open(server, prefer(), &user, Some("wrong")).is_err(), "{plugin}");
            }
        }
    });
}

/// PAM sees the password itself, and here has no user of that name.
#[test]
fn a_password_in_clear_is_sent_over_tls_where_that_is_allowed() {
    let Some(server) = with_odd_logins() else { return };
    let user = server.make_user("pam", "VIA pam");
    let tls = Tls::Require(trusted(&server, &[&TLS13]));
    let login = Login { tls, ..login(&user, Some("secret")) };
    let refused = server.open(login.clone(), Options::default()).unwrap_err();
    assert_eq!(refused, LoginError::ClearPasswordForbidden { plugin: "mysql_clear_password" });
    let allowed = Options { clear_password: true, ..Options::default() };
    let refused = server.open(login, allowed).unwrap_err();
    assert!(matches!(&refused, LoginError::Server(error) if error.number == 1045), "{refused}");
}

#[test]
fn a_certificate_that_is_not_trusted_or_of_another_name_is_refused() {
    each_secured(|server| {
        let stranger = setup(RootCertStore::empty(), "localhost", &[&TLS13]);
        let refused = open(server, Tls::Prefer(stranger), "root", None).unwrap_err();
        assert!(matches!(refused, LoginError::Certificate(_)), "{refused}");
        let mut misnamed = trusted(server, &[&TLS13]);
        misnamed.server_name = ServerName::try_from("elsewhere").unwrap();
        let refused = open(server, Tls::Require(misnamed), "root", None).unwrap_err();
        assert!(matches!(refused, LoginError::Certificate(_)), "{refused}");
    });
}

#[test]
fn a_server_without_tls_is_used_or_refused_as_the_login_says() {
    each(|server| {
        let setup = setup(RootCertStore::empty(), "localhost", &[&TLS13]);
        let with = |tls| Login { tls, ..server.root_login() };
        let mut client = server.open(with(Tls::Prefer(setup.clone())), Options::default()).unwrap();
        assert!(client.session.link.is_plain());
        assert_eq!(client.query("SELECT 1").value(), "1");
        let refused = server.open(with(Tls::Require(setup)), Options::default()).unwrap_err();
        assert_eq!(refused, LoginError::TlsRefused);
    });
}
