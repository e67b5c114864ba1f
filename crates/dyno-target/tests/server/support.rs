//! The PostgreSQL that these tests inspect, with users for every way to log in.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use dyno_target::{Connection, Environment, TargetSettings};
use dyno_test_servers::{Postgres, Setup};

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
    postgres: Arc<Postgres>,
    pub(crate) directory: PathBuf,
    pub(crate) port: u16,
}

impl Server {
    /// One server for all tests that only read or keep to objects of their own; no other suite has one with these users.
    pub(crate) fn shared() -> Option<Self> {
        Self::shared_with(&[])
    }

    /// The same with further settings, `name=value`.
    pub(crate) fn shared_with(settings: &[&str]) -> Option<Self> {
        Some(Self::of(Postgres::shared(&setup(settings))?))
    }

    /// A server of the caller's own with further settings, `name=value`; `None` where no PostgreSQL is installed.
    pub(crate) fn start(settings: &[&str]) -> Option<Self> {
        let settings: Vec<_> = ["max_connections=30"].iter().chain(settings).copied().collect();
        Some(Self::of(Arc::new(Postgres::start(&setup(&settings))?)))
    }

    fn of(postgres: Arc<Postgres>) -> Self {
        let (directory, port) = (postgres.directory().to_owned(), postgres.address.port());
        Self { postgres, directory, port }
    }

    /// Settings for this server, by its socket or by TCP, with further parameters.
    pub(crate) fn settings(&self, further: &str, local: bool) -> TargetSettings {
        let host = if local { self.directory.display().to_string() } else { "127.0.0.1".to_owned() };
        self.named(&format!("host={host} port={} dbname=postgres {further}", self.port))
    }

    /// Who connects waits as long as it takes on a busy machine, where ten seconds are not enough.
    pub(crate) fn named(&self, text: &str) -> TargetSettings {
        let text = match text.starts_with("postgres://") {
            true => format!("{text}?connect_timeout=300"),
            false => format!("connect_timeout=300 {text}"),
        };
        TargetSettings::parse(&text, &Environment::empty().with_home(self.directory.join("home"))).unwrap()
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

    /// Stops a server of the caller's own at once, and starts it anew on the same data and port.
    pub(crate) fn restart(&mut self) {
        let postgres = Arc::get_mut(&mut self.postgres).unwrap();
        postgres.crash();
        postgres.restart();
    }
}

fn setup(settings: &[&str]) -> Setup {
    let settings = ["work_mem=8MB"].iter().chain(settings);
    Setup {
        settings: settings.map(|&setting| setting.to_owned()).collect(),
        hba: Some(HBA.to_owned()),
        sql: SETUP.to_owned(),
        ..Setup::default()
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
