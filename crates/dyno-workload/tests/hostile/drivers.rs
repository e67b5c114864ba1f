//! The same for databases with a driver: a ClickHouse and a Spark whose answers are damaged, and servers of ClickHouse's and HiveServer2's
//! protocols that are invented, out of pieces of answers in an order that makes sense or none. Then they flood, send byte by byte, fall
//! silent or leave.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use dyno_engine::driver::Batch;
use dyno_target::{Connection, Environment, Target, inspect};
use dyno_test_servers::{ClickHouse, ClickHouseKind, Spark};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::proxy::Proxy;
use crate::{SILENCE, each_seed, seeds, within_time_limit};

/// So much is said at most, one piece again and again.
const FLOOD_BYTES: usize = 4 << 20;
/// A byte follows another after this time, so many of them.
const PAUSE: Duration = Duration::from_millis(5);
const SLOW_BYTES: usize = 100;

/// A statement takes Spark a hundred times as long as it takes others.
const SPARK_SEEDS: u64 = 200;

const CLICKHOUSE: &[&[u8]] = &[
    b"HTTP/1.1 200 OK\r\nKeep-Alive: timeout=3\r\nContent-Length: 13\r\n\r\ndyno\nUInt8\n1\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 500 No\r\nX-ClickHouse-Exception-Code: 60\r\nContent-Length: 48\r\n\r\n\
      Code: 60. DB::Exception: none. (UNKNOWN_TABLE)\r\n",
    b"HTTP/1.1 200 OK\r\nX-ClickHouse-Exception-Tag: tag\r\nContent-Length: 99999999999\r\n\r\n",
    b"X-Header: of many\r\n",
    b"16\r\na\tb\nInt64\tString\n1\tx\n\r\n",
    b"fffffffffffffff0\r\n",
    b"0\r\n\r\n",
    b"\r\n__exception__\r\ntag\r\nCode: 241. DB::Exception: memory. (MEMORY_LIMIT_EXCEEDED)\n",
    b"a\tb\n",
    b"\t\t\t\t",
    b"x",
];

/// Of a login: complete, refused. Of a reply: its beginning, a session that is open, lists and texts without an end.
const HIVE: &[&[u8]] = &[
    b"\x05\0\0\0\0",
    b"\x04\0\0\0\x02no",
    b"\0\0\0\x40",
    b"\x80\x01\0\x02\0\0\0\x0bOpenSession\0\0\0\x01",
    b"\x80\x01\0\x02\0\0\0\x0bOpenSession\0\0\0\x01\x0c\0\0\x0c\0\x01\x08\0\x01\0\0\0\0\0\x08\0\x02\0\0\0\x05\x0c\0\x03\0\0\0",
    b"\x0c\0\0\x0c\0\x01",
    b"\x0f\0\x01\x0c\xff\xff\xff\xff",
    b"\x0d\0\x01\x0b\x0c\xff\xff\xff\xff",
    b"\x0b\0\x01\x7f\xff\xff\xff",
    b"\x08\0\x01\0\0\0\0",
    b"\0",
];

#[test]
fn a_clickhouse_that_is_invented() {
    invent(CLICKHOUSE, "clickhouse://u:s3cret@ADDRESS/d");
}

#[test]
fn a_spark_that_is_invented() {
    invent(HIVE, "hive2://u:s3cret@ADDRESS/d?auth=nosasl");
    invent(HIVE, "hive2://u:s3cret@ADDRESS/d");
}

fn invent(pieces: &'static [&'static [u8]], url: &'static str) {
    each_seed(seeds(), |seed| {
        let url = url.replace("ADDRESS", &start(pieces, seed).to_string());
        within_time_limit(seed, move || {
            let told = match Connection::open_within(route(&url), Some(3 * SILENCE)) {
                Err(error) => error.to_string(),
                Ok(mut connection) => {
                    format!("{:?}", connection.within(SILENCE, |it| inspect::identity(it).map(|_| ())))
                }
            };
            assert!(!told.contains("s3cret"), "{told}");
        });
    });
}

fn route(url: &str) -> dyno_engine::driver::Route {
    Target::parse(url, &Environment::empty()).unwrap().route().unwrap()
}

/// Meets clients for as long as the process lives, each with the same.
fn start(pieces: &'static [&'static [u8]], seed: u64) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let random = StdRng::seed_from_u64(seed);
            thread::spawn(move || speak(client, pieces, random));
        }
    });
    address
}

/// Whoever has heard enough is gone, which is no matter here.
fn speak(mut client: TcpStream, pieces: &[&[u8]], mut random: StdRng) -> Option<()> {
    let piece = |random: &mut StdRng| pieces[random.random_range(0..pieces.len())];
    let mut heard = [0; 1 << 14];
    for _ in 0..random.random_range(1..5) {
        client.read(&mut heard).ok().filter(|count| *count > 0)?;
        // Mostly what a client expects first.
        let said = if random.random_bool(0.5) { pieces[0] } else { piece(&mut random) };
        client.write_all(said).ok()?;
        if random.random_bool(0.3) {
            client.write_all(piece(&mut random)).ok()?;
        }
    }
    let last = piece(&mut random);
    match random.random_range(0..4) {
        0 => {
            let many = last.repeat((1 << 16) / last.len());
            (0..FLOOD_BYTES / many.len()).try_for_each(|_| client.write_all(&many)).ok()?;
        }
        1 => {
            for byte in last.iter().cycle().take(SLOW_BYTES) {
                client.write_all(&[*byte]).ok()?;
                thread::sleep(PAUSE);
            }
        }
        2 => thread::sleep(4 * SILENCE),
        _ => {}
    }
    Some(())
}

#[test]
fn a_clickhouse_whose_answers_are_damaged() {
    let Some(server) = ClickHouse::start(ClickHouseKind::Engine) else { return };
    let table = "CREATE TABLE loaded (id Int32, name String) ENGINE = Memory";
    let many = "SELECT number, toString(number) FROM system.numbers LIMIT 5000";
    damage(seeds(), server.address, &server.url(), table, many);
}

#[test]
#[ignore = "slow: a server of Spark, which plans each statement for long"]
fn a_spark_whose_answers_are_damaged() {
    let Some(server) = Spark::start(false) else { return };
    let table = "CREATE TABLE loaded (id INT, name STRING) USING parquet";
    damage(
        SPARK_SEEDS,
        server.address,
        &server.url(),
        table,
        "SELECT id, cast(id AS STRING) FROM range(5000)",
    );
}

/// Meets the server once for each seed.
fn damage(seeds: u64, server: SocketAddr, url: &str, table: &str, many: &'static str) {
    Connection::open(route(url)).unwrap().execute(table).unwrap();
    each_seed(seeds, |seed| {
        let proxy = Proxy::start(server, seed);
        let url = url.replace(&server.to_string(), &proxy.address.to_string());
        within_time_limit(seed, move || talk(&url, many));
        drop(proxy);
    });
}

fn talk(url: &str, many: &str) {
    let Ok(mut connection) = Connection::open_within(route(url), Some(3 * SILENCE)) else { return };
    connection.within(SILENCE, |it| {
        let _ = inspect::identity(it);
        let _ = inspect::facts(it, "t", "u");
        let _ = inspect::settings(it, "t");
        let _ = it.query(many);
        let _ = it.load_batch("loaded", &["id", "name"], &Batch::Lines(b"1\tname\n".repeat(5_000)));
        let _ = it.query("SELECT * FROM there_is_no_such_table");
    });
}
