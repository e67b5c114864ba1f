//! The PostgreSQL that these tests talk to, with users for every way to log in.

use std::sync::Arc;

pub(crate) use dyno_test_servers::Postgres;
use dyno_test_servers::Setup;

/// Users are named for how they must log in; all have the password `right`.
const HBA: &str = "
host    all postgres,trusted 127.0.0.1/32 trust
host    all clear            127.0.0.1/32 password
host    all md5              127.0.0.1/32 md5
hostssl all scram_tls        127.0.0.1/32 scram-sha-256
host    all scram            127.0.0.1/32 scram-sha-256
";

const ROLES: &str = "
CREATE ROLE trusted LOGIN;
SET password_encryption = 'md5';
CREATE ROLE md5 LOGIN PASSWORD 'right';
SET password_encryption = 'scram-sha-256';
CREATE ROLE clear LOGIN PASSWORD 'right';
CREATE ROLE scram LOGIN PASSWORD 'right';
CREATE ROLE scram_tls LOGIN PASSWORD 'right';
";

/// The server that all tests share which do not change its settings; no other suite has one with these users. `None`, and a
/// line that says so, if there is no PostgreSQL on this machine.
pub(crate) fn shared() -> Option<Arc<Postgres>> {
    shared_with(&[])
}

/// The same with further `settings`, `name=value`.
pub(crate) fn shared_with(settings: &[&str]) -> Option<Arc<Postgres>> {
    Postgres::shared(&setup(settings))
}

/// A server of the test's own with further `settings`, `name=value`.
pub(crate) fn start(settings: &[&str]) -> Option<Postgres> {
    Postgres::start(&setup(settings))
}

fn setup(settings: &[&str]) -> Setup {
    Setup {
        settings: settings.iter().map(|&setting| setting.to_owned()).collect(),
        hba: Some(HBA.to_owned()),
        sql: ROLES.to_owned(),
        ..Setup::default()
    }
}
