//! The servers that these tests run against.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dyno_target::{Connection, Environment, Target};
use dyno_test_servers::{Mysql, MysqlProduct, MysqlSetup};

/// The database of these tests, on servers that other suites use, too.
pub(crate) const DATABASE: &str = "target_my";

pub(crate) const WITH_INNODB: [MysqlProduct; 2] = [MysqlProduct::Mysql, MysqlProduct::MariaDb];

/// The password of the user `target_plain`, as a URL has it.
pub(crate) const ENCODED: &str = "s%3Ac%2Fr%40m%3F";

/// The server of this setup for all tests that only read, or keep to objects of their own; `None` where this machine cannot
/// have it.
pub(crate) fn shared_with(setup: &MysqlSetup) -> Option<Arc<Mysql>> {
    static PREPARED: Mutex<BTreeSet<SocketAddr>> = Mutex::new(BTreeSet::new());
    let server = Mysql::shared(setup)?;
    let mut prepared = PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
    if prepared.insert(server.address) {
        let identified = match setup.product {
            MysqlProduct::SeekDb => "BY 's:c/r@m?'",
            MysqlProduct::Mysql => "WITH caching_sha2_password BY 's:c/r@m?'",
            MysqlProduct::MariaDb => "VIA ed25519 USING PASSWORD('s:c/r@m?')",
        };
        server.sql(&format!(
            "DROP DATABASE IF EXISTS {DATABASE}; CREATE DATABASE {DATABASE}; \
             DROP USER IF EXISTS target_plain; CREATE USER target_plain IDENTIFIED {identified}; \
             GRANT ALL ON {DATABASE}.* TO target_plain"
        ));
    }
    Some(server)
}

pub(crate) fn shared(product: MysqlProduct) -> Option<Arc<Mysql>> {
    shared_with(&MysqlSetup::new(product))
}

/// Servers that offer TLS.
pub(crate) fn with_tls() -> impl Iterator<Item = Arc<Mysql>> {
    WITH_INNODB.into_iter().filter_map(|product| shared_with(&MysqlSetup::new(product).with_tls()))
}

/// Servers that allow nothing which they need not.
pub(crate) fn strict() -> impl Iterator<Item = Arc<Mysql>> {
    let settings = [
        "require-secure-transport=ON",
        "max-allowed-packet=1M",
        "max-prepared-stmt-count=0",
        "read-only=ON",
        "local-infile=OFF",
    ];
    let setup =
        move |product| settings.iter().fold(MysqlSetup::new(product).with_tls(), |it, set| it.with(set));
    WITH_INNODB.into_iter().filter_map(move |product| shared_with(&setup(product)))
}

/// Runs `test` against MySQL and MariaDB, and in `./test all` against seekdb.
pub(crate) fn each(test: impl Fn(&Mysql)) {
    for server in MysqlProduct::tested().iter().copied().filter_map(shared) {
        test(&server);
    }
}

/// A server of the caller's own.
pub(crate) fn own(product: MysqlProduct) -> Option<Mysql> {
    Mysql::start(&MysqlSetup::new(product).with_sql(&format!("CREATE DATABASE {DATABASE}")))
}

/// The server's URL for `root`, with parameters.
pub(crate) fn url(server: &Mysql, parameters: &str) -> String {
    format!("{}?{parameters}", server.url("root", &server.password, DATABASE))
}

/// Who connects waits as long as it takes on a busy machine, where ten seconds are not enough.
pub(crate) fn target(url: &str) -> Target {
    let joined = match url.split_once('?') {
        None => "?",
        Some((_, "")) => "",
        Some(_) => "&",
    };
    let name = if url.starts_with("postgres") { "connect_timeout" } else { "connect-timeout" };
    let url = format!("{url}{joined}{name}=300");
    Target::parse(&url, &Environment::empty().with_user("nobody")).unwrap()
}

/// A session of `root`'s.
pub(crate) fn root(server: &Mysql) -> Connection {
    target(&url(server, "")).connect().unwrap()
}

/// A query that takes far longer than any test.
pub(crate) fn endless(product: MysqlProduct) -> &'static str {
    match product {
        // It has three collations.
        MysqlProduct::SeekDb => {
            "SELECT count(*) FROM information_schema.columns a, information_schema.columns b, \
             information_schema.columns c, information_schema.columns d"
        }
        _ => {
            "SELECT count(*) FROM information_schema.collations a, information_schema.collations b, \
             information_schema.collations c, information_schema.collations d, \
             information_schema.collations e, information_schema.collations f"
        }
    }
}

/// Waits until the session with this number runs what is [`endless`].
pub(crate) fn wait_until_busy(server: &Mysql, id: i64) {
    let mut admin = root(server);
    let sql = format!("SELECT info FROM information_schema.processlist WHERE id = {id}");
    let busy = move || {
        let info: Option<String> = admin.query_value(&sql).unwrap();
        info.is_some_and(|info| info.contains("SELECT count(*) FROM information_schema.co"))
    };
    wait_for("the query to begin", busy);
}

/// Asks until it is so.
pub(crate) fn wait_for(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !so() {
        assert!(Instant::now() < deadline, "it did not come to this: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
