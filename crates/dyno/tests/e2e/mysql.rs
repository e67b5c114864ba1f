//! A server that the user names and that speaks MySQL's protocol: shared by tests that keep to a database of their own.

use std::sync::{Arc, Once};

use dyno_test_servers::{Mysql, MysqlProduct, MysqlSetup};

use crate::server::prefixed;

/// The password of the user whom [`database`] names.
pub(crate) const PASSWORD: &str = "Tr0ub4dor-und-3";

/// The server that all tests share which leave it as it is. `None`, and a line that says so, where this machine cannot
/// have it.
pub(crate) fn shared(product: MysqlProduct) -> Option<Arc<Mysql>> {
    static USER_IS_THERE: [Once; MysqlProduct::ALL.len()] = [const { Once::new() }; 3];
    let server = Mysql::shared(&MysqlSetup::new(product))?;
    USER_IS_THERE[product as usize].call_once(|| add_user(&server));
    Some(server)
}

/// One of a test's own. Rows may come by LOAD DATA LOCAL, as on the shared ones; seekdb has no setting for that.
pub(crate) fn start(product: MysqlProduct, settings: &[&str]) -> Option<Mysql> {
    let mut setup = MysqlSetup::new(product);
    if product != MysqlProduct::SeekDb {
        setup = setup.with("local-infile=1");
    }
    let server = Mysql::start(&settings.iter().fold(setup, |setup, setting| setup.with(setting)))?;
    add_user(&server);
    Some(server)
}

/// The slow tests run as another process, which shares the server of the fast ones.
fn add_user(server: &Mysql) {
    let user = prefixed("teller");
    server.make_user(&user, "%", PASSWORD);
    server.sql(&format!("GRANT ALL ON *.* TO {user}"));
}

/// Makes a database; returns its URL, with a password.
pub(crate) fn database(server: &Mysql, name: &str) -> String {
    let (database, user) = (prefixed(name), prefixed("teller"));
    server.sql(&format!("DROP DATABASE IF EXISTS {database}; CREATE DATABASE {database}"));
    server.url(&user, PASSWORD, &database)
}
