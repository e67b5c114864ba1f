//! Servers that answer wrongly: real ones whose answers a proxy damages on the way, and logins that are invented, each time
//! otherwise, by seed; and answers without an end. Logins, result sets, rows that are loaded and a load meet them. Whatever
//! comes, dyno neither panics, nor waits without an end, nor keeps whatever it is sent.

// The lint's exception for tests does not know the functions that tests share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../support/database.rs"]
mod database;
mod drivers;
mod invented;
mod proxy;

use dyno_results::spec::{End, PollerChoice, Protocol, StageOrder};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use dyno_engine::config::EngineConfig;
use dyno_engine::driver::Route;
use dyno_engine::engine::Engine;
use dyno_engine::workload::Workload;
use dyno_target::connection::QueryError;
use dyno_target::product::Dialect;
use dyno_target::{Connection, Environment, Target, inspect};
use dyno_wire::endpoint::{Address, Endpoint, Login, Tls};
use dyno_workload::sysbench::{Existing, Options, PrepareOptions, Sysbench, Test, prepare};

use database::{LONG, Server};
use dyno_test_servers::MysqlProduct;
use invented::Inventor;
use proxy::Proxy;

const AT_A_TIME: u64 = 4;
/// How long a client waits for what was damaged.
const SILENCE: Duration = Duration::from_millis(300);

/// The most that a server may say before it lets somebody in, and what the system keeps on the way.
const LOGIN_BYTES_MAX: usize = 16 << 20;

fn seeds() -> u64 {
    if dyno_test_servers::runs_all() { 1000 } else { 60 }
}

#[test]
fn a_postgresql_whose_answers_are_damaged() {
    Server::postgres().iter().for_each(damage);
}

#[test]
fn a_mysql_whose_answers_are_damaged() {
    Server::mysql(MysqlProduct::Mysql).iter().for_each(damage);
}

#[test]
fn a_mariadb_whose_answers_are_damaged() {
    Server::mysql(MysqlProduct::MariaDb).iter().for_each(damage);
}

/// Meets the server once for each seed.
fn damage(server: &Server) {
    let options = Options { tables: 1, table_size: 200, ..Options::default() };
    let dialect = dyno_target::inspect::recognise(&mut server.open()).unwrap().dialect;
    let wanted = PrepareOptions {
        target: "t".to_owned(),
        options: &options,
        dialect,
        threads: 1,
        seed: 1,
        existing: Existing::Replace,
        stop: None,
    };
    prepare(&|| server.target().connect(), &wanted, &mut |_| {}).unwrap();
    server.open().execute("CREATE TABLE loaded (id INT, name VARCHAR(100))").unwrap();
    each_seed(seeds(), |seed| {
        let Route::Wire(endpoint) = server.target().route().unwrap() else {
            panic!("a server has an endpoint")
        };
        let Address::Tcp(address) = endpoint.address else { panic!("{}", endpoint.address) };
        let proxy = Proxy::start(address, seed);
        let (endpoint, options) = (at(&endpoint, proxy.address), options.clone());
        within_time_limit(seed, move || {
            talk(&endpoint);
            load(&endpoint, &options, poller(seed));
        });
    });
}

fn each_seed(seeds: u64, meet: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    meet(seed);
                }
            });
        }
    });
}

/// The same elsewhere, and without TLS, which would notice every damage.
fn at(endpoint: &Endpoint, address: SocketAddr) -> Endpoint {
    let login = Login { tls: Tls::Disable, ..Login::clone(&endpoint.login) };
    Endpoint {
        address: Address::Tcp(address),
        login: Arc::new(login),
        connect_timeout: Some(Duration::from_secs(1)),
        ..endpoint.clone()
    }
}

/// Fails, and names the seed, if it panics or does not end.
fn within_time_limit(seed: u64, meet: impl FnOnce() + Send + 'static) {
    let (met, end) = channel();
    let meeting = thread::spawn(move || {
        meet();
        let _ = met.send(());
    });
    let ended = end.recv_timeout(LONG);
    assert!(ended != Err(RecvTimeoutError::Timeout), "seed {seed}: it does not end");
    assert!(meeting.join().is_ok(), "seed {seed}: it panicked");
}

/// What dyno asks by itself, and rows that it loads.
fn talk(endpoint: &Endpoint) {
    let Ok(mut connection) = Connection::open(endpoint) else { return };
    connection.set_answer_timeout(SILENCE);
    let _ = inspect::identity(&mut connection);
    let _ = inspect::facts(&mut connection, "t", "u");
    let _ = inspect::settings(&mut connection, "t");
    let _ = connection.query("SELECT * FROM sbtest1");
    let _ = connection.execute("SELECT * FROM there_is_no_such_table");
    let _ = connection.take_notices();
    let rows = "1\tname\n".repeat(50_000);
    if endpoint.wire.is_mysql() {
        let sql = "LOAD DATA LOCAL INFILE 'rows' INTO TABLE loaded";
        if let Ok(mut load) = connection.load_local(sql)
            && load.send(rows.as_bytes()).is_ok()
        {
            let _ = load.finish();
        }
    } else if let Ok(mut copy) = connection.copy_in("COPY loaded FROM STDIN")
        && copy.send(rows.as_bytes()).is_ok()
    {
        let _ = copy.finish();
    }
}

/// Two seeds meet epoll, and the next two io_uring, where there is such.
fn poller(seed: u64) -> PollerChoice {
    if seed % 4 < 2 { PollerChoice::Epoll } else { PollerChoice::Uring }
}

fn load(endpoint: &Endpoint, options: &Options, poller: PollerChoice) {
    let dialect = Dialect::of_wire(endpoint.wire.is_mysql());
    let workload: Arc<dyn Workload> = Arc::new(Sysbench::new(Test::ReadWrite, options.clone(), &dialect));
    let config = EngineConfig {
        protocol: Protocol::Prepared,
        reconnect_timeout: SILENCE,
        drain_timeout: SILENCE,
        poller: Some(poller),
        ..EngineConfig::new(1)
    };
    let mut engine = Engine::start(endpoint, &workload, config).unwrap();
    let plan = StageOrder::closed(2, End::Duration(SILENCE));
    let _ = engine.run_stage(&plan, &AtomicBool::new(false), &mut |_| {});
}

#[test]
fn a_postgresql_that_is_invented() {
    let url = "postgres://u:s3cret@ADDRESS/d?connect_timeout=1&sslmode=";
    invent(false, url, ["disable", "prefer"]);
}

#[test]
fn a_mysql_that_is_invented() {
    let url = "mysql://u:s3cret@ADDRESS/d?connect-timeout=1&ssl-mode=";
    invent(true, url, ["DISABLED", "PREFERRED"]);
}

/// Meets an invented server for each seed, without TLS and with it.
fn invent(is_mysql: bool, url: &str, modes: [&str; 2]) {
    let seeds = if dyno_test_servers::runs_all() { 600 } else { 60 };
    each_seed(seeds, |seed| {
        let inventor = Inventor::start(is_mysql, seed);
        let url = url.replace("ADDRESS", &inventor.address.to_string()) + modes[seed as usize % 2];
        let Route::Wire(endpoint) = Target::parse(&url, &Environment::empty()).unwrap().route().unwrap()
        else {
            panic!("a server has an endpoint")
        };
        within_time_limit(seed, move || {
            let told = match Connection::open(&endpoint) {
                Err(error) => error.to_string(),
                Ok(mut connection) => {
                    connection.set_answer_timeout(SILENCE);
                    // One that answers every question with nothing is refused by nobody.
                    format!("{:?}", inspect::identity(&mut connection))
                }
            };
            assert!(!told.contains("s3cret"), "{told}");
            load(&endpoint, &Options::default(), poller(seed));
        });
        let taken = inventor.taken.load(Ordering::SeqCst);
        assert!(taken < LOGIN_BYTES_MAX, "seed {seed}: a login took {taken} bytes");
    });
}

#[test]
fn answers_are_read_up_to_a_limit() {
    let ask = |server: Server, sql: &str| {
        let error = server.open().query(sql).unwrap_err();
        assert!(matches!(error, QueryError::TooLarge { .. }), "{error}");
        // Who does not keep the rows takes them all.
        server.open().execute(sql).unwrap();
    };
    let rows = "SELECT repeat('x', 60000) FROM";
    if let Some(server) = Server::postgres() {
        ask(server, &format!("{rows} generate_series(1, 1200)"));
    }
    if let Some(server) = Server::mysql(MysqlProduct::MariaDb) {
        ask(server, &format!("{rows} information_schema.columns LIMIT 1200"));
    }
}

/// A PostgreSQL that answers the first thing it hears with `first`, and from the second on without an end with `then`.
fn endless(first: &'static [u8], then: &'static [u8]) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut heard = [0; 4096];
            let _ = client.read(&mut heard);
            let _ = client.write_all(first);
            if first.ends_with(b"I") {
                let _ = client.read(&mut heard);
            }
            let piece = then.repeat(64 * 1024 / then.len());
            while client.write_all(&piece).is_ok() {}
        }
    });
    Target::parse(&format!("postgres://u@{address}/d?sslmode=disable"), &Environment::empty()).unwrap()
}

const AUTHENTICATED: &[u8] = b"R\0\0\0\x08\0\0\0\0";

#[test]
fn a_login_without_an_end_is_given_up() {
    let error = endless(AUTHENTICATED, b"S\0\0\0\x08a\0b\0").connect().unwrap_err();
    assert!(error.to_string().contains("more than 1048576 bytes"), "{error}");
}

#[test]
fn a_message_without_an_end_is_given_up() {
    // A row of 800 MB is announced.
    let welcome = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
    let mut connection = endless(welcome, b"D000").connect().unwrap();
    let error = connection.query("SELECT 1").unwrap_err();
    assert!(matches!(error, QueryError::TooLarge { .. }), "{error}");
    assert!(connection.is_broken());
}
