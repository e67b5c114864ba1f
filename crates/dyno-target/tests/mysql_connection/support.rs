//! The servers that these tests run against.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use dyno_target::{Connection, Environment, Target};
use dyno_test_servers::{Mysql, MysqlProduct, MysqlSetup, Shared};

/// A server for all tests that only read, or keep to objects of their own; `None` where this machine cannot have it.
pub(crate) fn shared(product: MysqlProduct) -> Option<Arc<Mysql>> {
    static SHARED: [Shared<Mysql>; 3] = [const { Shared::new() }; 3];
    SHARED[product as usize].get(|| Mysql::start(&setup(product)))
}

/// Runs `test` against every product that this machine can have.
pub(crate) fn each(test: impl Fn(&Mysql)) {
    for server in MysqlProduct::ALL.into_iter().filter_map(shared) {
        test(&server);
    }
}

/// A server of the caller's own.
pub(crate) fn own(product: MysqlProduct) -> Option<Mysql> {
    Mysql::start(&setup(product))
}

fn setup(product: MysqlProduct) -> MysqlSetup {
    let setup = MysqlSetup::new(product);
    match product {
        MysqlProduct::SeekDb => setup.with_user("plain", "s:c/r@m?", "mysql_native_password"),
        MysqlProduct::Mysql => {
            with_files_and_tls(setup).with_user("plain", "s:c/r@m?", "caching_sha2_password")
        }
        MysqlProduct::MariaDb => with_files_and_tls(setup).with_user("plain", "s:c/r@m?", "ed25519"),
    }
}

fn with_files_and_tls(setup: MysqlSetup) -> MysqlSetup {
    setup.with("local-infile=ON").with("max-allowed-packet=1M").with_tls()
}

/// The server's URL for `root`, with parameters.
pub(crate) fn url(server: &Mysql, parameters: &str) -> String {
    format!("{}?{parameters}", server.url("root", &server.password, "test"))
}

pub(crate) fn target(url: &str) -> Target {
    Target::parse(url, &Environment::empty().with_user("nobody")).unwrap()
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
