//! A server that the user names and that speaks MySQL's protocol: shared by tests that keep to a database of their own.

use std::sync::Arc;

use dyno_test_servers::{Mysql, MysqlProduct, MysqlSetup, Shared};

/// The password of [`USER`].
pub(crate) const PASSWORD: &str = "Tr0ub4dor-und-3";
const USER: &str = "teller";

/// The server that tests share which leave it as it is. `None`, and a line that says so, where this machine cannot have
/// it.
pub(crate) fn shared(product: MysqlProduct) -> Option<Arc<Mysql>> {
    static SHARED: [Shared<Mysql>; 3] = [const { Shared::new() }; 3];
    SHARED[product as usize].get(|| start(&setup(product)))
}

/// One of a test's own.
pub(crate) fn start(setup: &MysqlSetup) -> Option<Mysql> {
    let server = Mysql::start(setup)?;
    server.sql(&format!("CREATE USER {USER} IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON *.* TO {USER}"));
    Some(server)
}

/// Rows may come by LOAD DATA LOCAL, where that has to be allowed.
pub(crate) fn setup(product: MysqlProduct) -> MysqlSetup {
    let setup = MysqlSetup::new(product);
    if product == MysqlProduct::SeekDb { setup } else { setup.with("local-infile=1") }
}

/// Makes a database; returns its URL, with a password.
pub(crate) fn database(server: &Mysql, name: &str) -> String {
    server.sql(&format!("CREATE DATABASE {name}"));
    server.url(USER, PASSWORD, name)
}
