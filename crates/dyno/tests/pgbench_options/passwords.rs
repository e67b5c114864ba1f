//! A server that asks some roles for a password: shared by the tests of the connections and of the terminal.

use dyno_test_servers::Setup;

const HBA: &str = "
local all secret                 scram-sha-256
local all all                    trust
host  all secret    127.0.0.1/32 scram-sha-256
host  all nowhere   127.0.0.1/32 reject
host  all all       127.0.0.1/32 trust
";

/// With a role `secret`, whose password is `right`.
pub(crate) fn setup() -> Setup {
    let sql = "CREATE ROLE secret LOGIN PASSWORD 'right'; CREATE ROLE nowhere LOGIN; CREATE ROLE locked";
    Setup { hba: Some(HBA.to_owned()), sql: sql.to_owned(), ..Setup::default() }
}
