//! Starts one of the servers and keeps it until standard input ends: for benches, and for trying things by hand.
//!
//! `serve mysql|mariadb|seekdb [NAME=VALUE …]` prints the port, the password of `root` (empty where there is none) and
//! the process id, a line each. `serve clickhouse` prints the target's name of the engine of today behind its front, `serve spark` that of
//! Spark's Thrift server.

use std::io::Read as _;
use std::process::ExitCode;

use dyno_test_servers::{ClickHouse, ClickHouseKind, Mysql, MysqlProduct, MysqlSetup, Spark};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let product = match words.next().as_deref() {
        Some("mysql") => MysqlProduct::Mysql,
        Some("mariadb") => MysqlProduct::MariaDb,
        Some("seekdb") => MysqlProduct::SeekDb,
        Some("clickhouse") => {
            let Some(server) = ClickHouse::start(ClickHouseKind::Engine) else { return ExitCode::FAILURE };
            println!("{}", server.url());
            return until_input_ends();
        }
        Some("spark") => {
            let Some(server) = Spark::start(false) else { return ExitCode::FAILURE };
            println!("{}", server.url());
            return until_input_ends();
        }
        _ => {
            eprintln!("usage: serve mysql|mariadb|seekdb [NAME=VALUE ...] | clickhouse | spark");
            return ExitCode::FAILURE;
        }
    };
    let setup = words.fold(MysqlSetup::new(product), |setup, setting| setup.with(&setting));
    // Why there is none was said.
    let Some(server) = Mysql::start(&setup) else { return ExitCode::FAILURE };
    println!("{}\n{}\n{}", server.address.port(), server.password, server.pid());
    until_input_ends()
}

/// However the other side ends, this ends with it.
fn until_input_ends() -> ExitCode {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    ExitCode::SUCCESS
}
