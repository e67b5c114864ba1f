//! TLS against a server whose certificates are made here by `openssl`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dyno_target::connection::ConnectError;
use dyno_target::settings::TargetError;
use dyno_target::{Connection, TargetSettings};
use dyno_test_servers::give_to_server;

use crate::support::{Server, wait_for};

/// A server with TLS, and the certificates around it: one for all tests here, which take turns, as each lets it show the
/// certificates that it needs.
struct Secured {
    server: Server,
    turn: MutexGuard<'static, bool>,
}

/// Certificates of the server by name: what is wrong with each, and how it is made.
const SERVER_CERTIFICATES: [(&str, &str, &str); 4] = [
    ("good", "/CN=somewhere", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
    ("other", "/CN=localhost", "subjectAltName=DNS:db.example,DNS:*.db.example"),
    ("common", "/CN=localhost", "keyUsage=digitalSignature"),
    ("client", "/CN=cert_user", "extendedKeyUsage=clientAuth"),
];

impl Secured {
    fn start() -> Option<Self> {
        static IS_MADE: Mutex<bool> = Mutex::new(false);
        let turn = IS_MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let is_made = *turn;
        let mut secured = Self { server: Server::shared_with(&["cluster_name=tls"])?, turn };
        if !is_made {
            secured.make();
            *secured.turn = true;
        }
        // What another test has left there.
        let _ = fs::remove_dir_all(secured.file("home"));
        secured.present("good");
        Some(secured)
    }

    fn make(&self) {
        // A process that had the server before may have made others of the same names.
        let mut admin = self.server.admin();
        admin.execute("ALTER SYSTEM SET ssl = off").unwrap();
        admin.execute("SELECT pg_reload_conf()").unwrap();
        self.wait_until("ssl", "off");
        self.authority("ca");
        self.authority("stranger");
        for (name, subject, extension) in SERVER_CERTIFICATES {
            self.issue(name, subject, extension);
        }
        self.issue_expired();
        // As PostgreSQL's documentation makes one for a first try.
        self.openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -keyout self.key -out self.crt");
        for name in ["good", "other", "common", "expired", "self"] {
            give_to_server(&self.file(&format!("{name}.key")));
        }
        let authority = self.file("ca.crt");
        admin.execute(&format!("ALTER SYSTEM SET ssl_ca_file = '{}'", authority.display())).unwrap();
        self.present("good");
        admin.execute("ALTER SYSTEM SET ssl = on").unwrap();
        admin.execute("SELECT pg_reload_conf()").unwrap();
        self.wait_until("ssl", "on");
    }

    fn file(&self, name: &str) -> PathBuf {
        self.server.directory.join(name)
    }

    fn openssl(&self, arguments: &str) {
        let made = Command::new("openssl")
            .args(arguments.split(' ').filter(|it| !it.is_empty()))
            .current_dir(&self.server.directory)
            .output()
            .unwrap();
        assert!(made.status.success(), "{arguments}: {}", String::from_utf8_lossy(&made.stderr));
    }

    fn authority(&self, name: &str) {
        self.openssl(&format!(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority-{name} -keyout {name}.key -out {name}.crt"
        ));
    }

    fn request(&self, name: &str, subject: &str) {
        self.openssl(&format!(
            "req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj {subject} -keyout {name}.key -out {name}.csr"
        ));
    }

    fn issue(&self, name: &str, subject: &str, extension: &str) {
        self.request(name, subject);
        fs::write(self.file("extensions"), extension).unwrap();
        self.openssl(&format!(
            "x509 -req -days 2 -in {name}.csr -CA ca.crt -CAkey ca.key -CAcreateserial -extfile extensions -out {name}.crt"
        ));
    }

    fn issue_expired(&self) {
        self.request("expired", "/CN=localhost");
        fs::write(self.file("index"), "").unwrap();
        fs::write(self.file("serial"), "77\n").unwrap();
        let configuration = "[ca]\ndefault_ca=it\n[it]\ndatabase=index\nserial=serial\nnew_certs_dir=.\n\
            default_md=sha256\npolicy=any\nx509_extensions=names\n[any]\ncommonName=supplied\n\
            [names]\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n";
        fs::write(self.file("ca.conf"), configuration).unwrap();
        self.openssl(
            "ca -config ca.conf -batch -notext -startdate 20200101000000Z -enddate 20210101000000Z \
             -cert ca.crt -keyfile ca.key -in expired.csr -out expired.crt",
        );
    }

    /// Lets the server show another certificate.
    fn present(&self, name: &str) {
        let mut admin = self.server.admin();
        let (certificate, key) = (self.file(&format!("{name}.crt")), self.file(&format!("{name}.key")));
        admin.execute(&format!("ALTER SYSTEM SET ssl_cert_file = '{}'", certificate.display())).unwrap();
        admin.execute(&format!("ALTER SYSTEM SET ssl_key_file = '{}'", key.display())).unwrap();
        admin.execute("SELECT pg_reload_conf()").unwrap();
        self.wait_until("ssl_key_file", &key.display().to_string());
    }

    /// A setting reaches new sessions some time after the server was told.
    fn wait_until(&self, setting: &str, value: &str) {
        wait_for(setting, || {
            let found: Option<String> = self.server.admin().query_value(&format!("SHOW {setting}")).unwrap();
            found.as_deref() == Some(value)
        });
    }

    fn settings(&self, host: &str, further: &str) -> TargetSettings {
        let port = self.server.port;
        self.server.named(&format!(
            "host={host} hostaddr=127.0.0.1 port={port} dbname=postgres user=plain {further}"
        ))
    }

    fn connect(&self, host: &str, mode: &str) -> Result<Connection, ConnectError> {
        let roots = if mode.starts_with("verify") { "sslrootcert=ca.crt" } else { "" };
        self.connect_with(host, mode, roots)
    }

    /// File names are those of the server's directory.
    fn connect_with(&self, host: &str, mode: &str, files: &str) -> Result<Connection, ConnectError> {
        let directory = format!("={}/", self.server.directory.display());
        let files = files.replace('=', &directory);
        self.settings(host, &format!("sslmode={mode} {files}")).connect()
    }
}

fn is_encrypted(session: Result<Connection, ConnectError>) {
    let mut session = session.unwrap();
    assert_eq!(session.tls_version(), Some("TLSv1.3"));
    let seen = session.query_value::<String>("SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
    assert_eq!(seen.unwrap().as_deref(), Some("TLSv1.3"));
}

#[test]
fn good_certificates_are_accepted_in_every_mode() {
    let Some(it) = Secured::start() else { return };
    for mode in ["prefer", "require", "verify-ca", "verify-full"] {
        is_encrypted(it.connect("localhost", mode));
    }
    is_encrypted(it.connect("127.0.0.1", "verify-full"));
    assert_eq!(it.connect("localhost", "disable").unwrap().tls_version(), None);
    let older =
        it.settings("localhost", "sslmode=require ssl_max_protocol_version=TLSv1.2").connect().unwrap();
    assert_eq!(older.tls_version(), Some("TLSv1.2"));
    // A large answer and a large COPY pass through the encryption whole.
    let mut session = it.connect("localhost", "verify-full").unwrap();
    assert_eq!(session.query("SELECT repeat('x', 1000) FROM generate_series(1, 2000)").unwrap().len(), 2000);
    session.execute("CREATE TEMP TABLE t (x text)").unwrap();
    let mut copy = session.copy_in("COPY t FROM STDIN").unwrap();
    for _ in 0..20_000 {
        copy.send(b"a line of some length that is sent often\n").unwrap();
    }
    assert_eq!(copy.finish().unwrap(), 20_000);
}

#[test]
fn wrong_certificates_are_refused_and_told_apart() {
    let Some(it) = Secured::start() else { return };
    let error = it.connect_with("localhost", "verify-ca", "sslrootcert=stranger.crt").unwrap_err();
    assert!(matches!(error, ConnectError::CertificateNotTrusted { .. }), "{error}");
    let error = it.connect_with("localhost", "require", "sslrootcert=stranger.crt").unwrap_err();
    assert!(
        matches!(error, ConnectError::CertificateNotTrusted { .. }),
        "roots are used where named: {error}"
    );
    it.present("other");
    let error = it.connect("localhost", "verify-full").unwrap_err();
    let ConnectError::CertificateName { wanted, presented, .. } = &error else { panic!("{error}") };
    assert_eq!(wanted, "localhost");
    assert!(presented.iter().any(|name| name.contains("db.example")), "{presented:?}");
    is_encrypted(it.connect("localhost", "verify-ca"));
    is_encrypted(it.connect("db.example", "verify-full"));
    is_encrypted(it.connect("a.db.example", "verify-full"));
    it.present("expired");
    for mode in ["verify-ca", "verify-full"] {
        let error = it.connect("localhost", mode).unwrap_err();
        assert!(matches!(error, ConnectError::CertificateExpired { .. }), "{error}");
    }
    is_encrypted(it.connect("localhost", "require"));
}

#[test]
fn names_in_the_subject_and_certificates_that_are_their_own_root_are_accepted() {
    let Some(it) = Secured::start() else { return };
    it.present("common");
    is_encrypted(it.connect("localhost", "verify-full"));
    let error = it.connect("elsewhere", "verify-full").unwrap_err();
    assert!(
        matches!(&error, ConnectError::CertificateName { presented, .. } if presented == &["localhost"]),
        "{error}"
    );
    it.present("self");
    is_encrypted(it.connect_with("localhost", "verify-full", "sslrootcert=self.crt"));
    let error = it.connect("localhost", "verify-ca").unwrap_err();
    assert!(error.to_string().contains("self-signed as an authority (CA:TRUE)"), "{error}");
}

#[test]
fn scram_binds_to_the_channel_where_it_must() {
    let Some(it) = Secured::start() else { return };
    let further = "user=scram_user password='s:c/r@m?' channel_binding=require";
    is_encrypted(it.settings("localhost", &format!("sslmode=require {further}")).connect());
    let error = it.settings("localhost", &format!("sslmode=disable {further}")).connect().unwrap_err();
    assert!(error.to_string().contains("channel binding"), "{error}");
}

#[test]
fn a_client_certificate_logs_in_and_its_key_must_be_private() {
    let Some(it) = Secured::start() else { return };
    let connect = |files: &str| {
        let directory = format!("={}/", it.server.directory.display());
        let files = files.replace('=', &directory);
        it.settings("localhost", &format!("sslmode=require user=cert_user {files}")).connect()
    };
    let private = it.file("client.key");
    set_mode(&private, 0o600);
    let mut session = connect("sslcert=client.crt sslkey=client.key").unwrap();
    assert_eq!(session.query_value::<String>("SELECT session_user").unwrap().as_deref(), Some("cert_user"));
    let error = connect("").unwrap_err();
    assert!(matches!(error, ConnectError::NotAllowed { .. }), "{error}");
    let error = connect("sslcert=client.crt sslkey=none.key").unwrap_err();
    assert!(is_file_error(&error, "none.key"), "{error}");
    set_mode(&private, 0o644);
    let error = connect("sslcert=client.crt sslkey=client.key").unwrap_err();
    assert!(is_file_error(&error, "chmod 0600"), "{error}");
    // Found without being named.
    set_mode(&private, 0o600);
    let home = it.file("home").join(".postgresql");
    fs::create_dir_all(&home).unwrap();
    fs::copy(it.file("client.crt"), home.join("postgresql.crt")).unwrap();
    fs::copy(&private, home.join("postgresql.key")).unwrap();
    fs::copy(it.file("ca.crt"), home.join("root.crt")).unwrap();
    assert!(connect("").is_ok());
    is_encrypted(it.settings("localhost", "sslmode=verify-full").connect());
}

fn is_file_error(error: &ConnectError, part: &str) -> bool {
    matches!(error, ConnectError::Target(TargetError::TlsFile(_))) && error.to_string().contains(part)
}

fn set_mode(file: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
}
