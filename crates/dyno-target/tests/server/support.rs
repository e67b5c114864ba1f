//! The PostgreSQL that these tests inspect, with users for every way to log in.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use dyno_target::{Connection, Environment, TargetSettings};
use dyno_test_servers::{Ending, Postgres, Setup, Shared};

/// Users with their passwords and how each has to prove itself over TCP.
const SETUP: &str = "
    SET password_encryption = 'scram-sha-256'; CREATE ROLE scram_user LOGIN PASSWORD 's:c/r@m?';
    SET password_encryption = 'md5'; CREATE ROLE md5_user LOGIN PASSWORD 'md5 word';
    CREATE ROLE cert_user LOGIN; CREATE ROLE rejected LOGIN;
    CREATE ROLE limited LOGIN CONNECTION LIMIT 2; CREATE ROLE plain LOGIN;";

const HBA: &str = "
    local all all trust
    host all scram_user 127.0.0.1/32 scram-sha-256
    host all md5_user 127.0.0.1/32 md5
    hostssl all cert_user 127.0.0.1/32 cert
    host all rejected 127.0.0.1/32 reject
    host all all 127.0.0.1/32 trust\n";

pub(crate) struct Server {
    postgres: Postgres,
    pub(crate) directory: PathBuf,
    pub(crate) port: u16,
}

impl Server {
    /// One server for all tests that only read or keep to objects of their own.
    pub(crate) fn shared() -> Option<Arc<Self>> {
        static SHARED: Shared<Server> = Shared::new();
        SHARED.get(|| Self::start(&[]))
    }

    /// A server of the caller's own with further settings, `name=value`; `None` where no PostgreSQL is installed.
    pub(crate) fn start(settings: &[&str]) -> Option<Self> {
        let settings = ["work_mem=8MB", "max_connections=30"].iter().chain(settings);
        let postgres = Postgres::start(&Setup {
            settings: settings.map(|&setting| setting.to_owned()).collect(),
            hba: Some(HBA.to_owned()),
            sql: SETUP.to_owned(),
            ..Setup::default()
        })?;
        let (directory, port) = (postgres.directory().to_owned(), postgres.address.port());
        Some(Self { postgres, directory, port })
    }

    /// Settings for this server, by its socket or by TCP, with further parameters.
    pub(crate) fn settings(&self, further: &str, local: bool) -> TargetSettings {
        let host = if local { self.directory.display().to_string() } else { "127.0.0.1".to_owned() };
        self.named(&format!("host={host} port={} dbname=postgres {further}", self.port))
    }

    pub(crate) fn named(&self, text: &str) -> TargetSettings {
        TargetSettings::parse(text, &Environment::empty().with_home(self.directory.join("home"))).unwrap()
    }

    pub(crate) fn admin(&self) -> Connection {
        self.settings("user=postgres", true).connect().unwrap()
    }

    pub(crate) fn tcp(&self, further: &str) -> Connection {
        self.settings(further, false).connect().unwrap()
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.postgres.pid()
    }

    /// Stops at once and starts anew on the same data and port.
    pub(crate) fn restart(&mut self) {
        self.postgres.crash();
        self.postgres.restart();
    }
}

impl Ending for Server {
    fn pid(&self) -> u32 {
        self.postgres.pid()
    }

    fn directory(&self) -> &Path {
        &self.directory
    }

    fn signal() -> &'static str {
        Postgres::signal()
    }
}

/// Asks until it is so.
pub(crate) fn wait_for(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !so() {
        assert!(Instant::now() < deadline, "it did not come to this: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
