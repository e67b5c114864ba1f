//! Orders whose transactions say what they do over the variables of their scripts, and what is found of that when rows are missing,
//! are too many, or when nobody knows whether a transaction was done.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use dyno_target::{Environment, Target};
use dyno_workload::benchmark::{Done, SeriesLoad};
use dyno_workload::folder;

use crate::database::Server;
use crate::shop::{Shop, on_each};

fn failed(shop: &Shop, workload: &str, transactions: u64, faults: &[&str]) -> String {
    failed_of(shop, shop.find(workload).loads().remove(0).as_ref(), transactions, faults)
}

fn failed_of(shop: &Shop, load: &dyn SeriesLoad, transactions: u64, faults: &[&str]) -> String {
    let baseline = load.baseline(&mut shop.open()).unwrap().unwrap();
    let done = shop.run(load, transactions);
    assert_eq!((done.acknowledged, done.failed), (2 * transactions, 0), "{}", shop.name);
    faults.iter().for_each(|sql| shop.execute(sql));
    let checks = baseline.verify(&mut shop.open(), "it", done, &[load.acknowledged()]).unwrap();
    let failed = checks.iter().filter(|check| check.passed != Some(true)).map(|check| check.name.as_str());
    failed.collect::<Vec<_>>().join(" ")
}

#[test]
fn rows_are_counted_by_the_variables_of_the_scripts() {
    on_each(|shop| {
        let name = &shop.name;
        shop.prepare_of("./orders").unwrap();
        for _ in 0..2 {
            assert_eq!(failed(&shop, "./orders/mix", 60, &[]), "", "{name}");
        }
        // Each client had its 40 in two loads, and no number twice; those that were undone have theirs, too.
        let numbers: u64 = shop.text("SELECT MAX(id) FROM purchase").parse().unwrap();
        assert!((220..=260).contains(&numbers), "{name}: {numbers}");
        let last = "DELETE FROM line WHERE purchase_id = (SELECT id FROM (SELECT MAX(purchase_id) AS id FROM line) l) AND number = 1";
        assert_eq!(failed(&shop, "./orders/buy", 5, &[last]), "rows-of-line", "{name}");
        let another = "INSERT INTO purchase (id, customer_id) VALUES (100000, 1)";
        assert_eq!(failed(&shop, "./orders/cancel", 5, &[another]), "rows-of-purchase", "{name}");
        // A customer is missing when the load begins.
        let load = shop.find("./orders/ask").loads().remove(0);
        shop.execute("DELETE FROM customer WHERE id = 3");
        assert_eq!(failed_of(&shop, load.as_ref(), 100, &[]), "no-wrong-answer", "{name}");
    });
}

#[test]
fn what_a_transaction_counts_is_what_its_commits_have_done() {
    on_each(|shop| {
        let name = &shop.name;
        shop.prepare_of("./orders").unwrap();
        let rows = || {
            let of = |table| shop.text(&format!("SELECT COUNT(*) FROM {table}")).parse::<u64>().unwrap();
            ["line", "purchase"].map(of)
        };
        let load = shop.find("./orders/mix").loads().remove(0);
        load.reset(&mut shop.open(), None).unwrap();
        let [lines, _] = rows();
        let counted = shop.counted(load.as_ref(), 60);
        let [bought, cancelled, orders] =
            ["buy.lines", "cancel.lines", "buy.orders"].map(|count| counted[count]);
        let [lines_after, _] = rows();
        assert_eq!(lines + bought, lines_after + cancelled, "{name}: {counted:?}");
        // Of the 80 some are undone.
        assert!(orders > 40 && orders < 80 && bought >= orders, "{name}: {counted:?}");

        let load = shop.find("./orders/buy").loads().remove(0);
        load.reset(&mut shop.open(), None).unwrap();
        let [_, before] = rows();
        let counted = shop.counted(load.as_ref(), 20);
        assert_eq!(before + counted["buy.orders"], rows()[1], "{name}: {counted:?}");
    });
}

#[test]
fn a_script_that_draws_from_the_largest_key_is_shown() {
    let files = folder::read(Path::new("tests/folder/orders")).unwrap();
    let shown = folder::check("./orders", &files).unwrap();
    assert!(shown.contains("INSERT INTO payment (id, purchase_id) VALUES ($1, $2)"), "{shown}");
}

#[test]
fn a_transaction_has_the_isolation_that_it_names() {
    Server::on_each(|server| {
        let shop = Shop { target: server.target(), name: server.name() };
        shop.prepare_of("./levels").unwrap();
        let growths = |kind: &str| {
            assert_eq!(failed(&shop, &format!("./levels/{kind}"), 20, &[]), "", "{}", shop.name);
            let sql = format!("SELECT COUNT(*) FROM seen WHERE kind = '{kind}' AND growth <> 0");
            shop.text(&sql).parse::<u64>().unwrap()
        };
        assert_eq!(growths("steady"), 0, "{}", shop.name);
        assert!(growths("loose") > 0, "{}", shop.name);
    });
    let home = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", home.path().join("levels.db").display());
    let target = Target::parse(&url, &Environment::empty()).unwrap();
    let shop = Shop { target, name: "SQLite".to_owned() };
    let refused = shop.prepare_of("./levels").unwrap_err().to_string();
    assert_eq!(
        refused,
        "./levels/steady asks for the isolation level `repeatable read`, and this target does not have it"
    );
    assert_eq!(shop.text("SELECT COUNT(*) FROM sqlite_master"), "0");
    shop.prepare_of("./levels/alone").unwrap();
    assert_eq!(failed(&shop, "./levels/alone", 5, &[]), "");
}

#[test]
fn a_begin_is_shown_as_it_is_sent() {
    let files = folder::read(Path::new("tests/folder/levels")).unwrap();
    let shown = folder::check("./levels", &files).unwrap();
    let begins =
        shown.lines().map(str::trim).filter(|line| line.contains("BEGIN") || line.contains("TRANSACTION"));
    insta::assert_snapshot!(begins.collect::<Vec<_>>().join("\n"));
}

/// What becomes of the next COMMIT.
const PASSED: u32 = 0;
const DONE: u32 = 1;
const NOT_DONE: u32 = 2;

/// Passes on what clients send, up to a COMMIT after which their connection is gone.
struct Relay {
    address: SocketAddr,
    commit: Arc<AtomicU32>,
    ended: Arc<AtomicBool>,
}

impl Relay {
    fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let relay =
            Self { address: listener.local_addr().unwrap(), commit: Arc::default(), ended: Arc::default() };
        let (commit, ended) = (Arc::clone(&relay.commit), Arc::clone(&relay.ended));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                match TcpStream::connect(server) {
                    Ok(server) if !ended.load(Ordering::SeqCst) => {
                        pass_on(client, server, Arc::clone(&commit));
                    }
                    _ => return,
                }
            }
        });
        relay
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // It sees that at the next connection.
        let _ = TcpStream::connect(self.address);
    }
}

fn pass_on(mut client: TcpStream, mut server: TcpStream, commit: Arc<AtomicU32>) {
    let (mut answered, mut answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let is_gone = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&is_gone);
    thread::spawn(move || {
        let mut chunk = [0; 16 * 1024];
        while let Ok(count @ 1..) = answers.read(&mut chunk) {
            if stopped.load(Ordering::SeqCst) || answered.write_all(&chunk[..count]).is_err() {
                break;
            }
        }
        let _ = answered.shutdown(Shutdown::Both);
        let _ = answers.shutdown(Shutdown::Both);
    });
    thread::spawn(move || {
        let mut chunk = [0; 16 * 1024];
        while let Ok(count @ 1..) = client.read(&mut chunk) {
            let is_commit = chunk[..count].windows(6).any(|word| word == b"COMMIT");
            let fate = if is_commit { commit.swap(PASSED, Ordering::SeqCst) } else { PASSED };
            is_gone.store(fate != PASSED, Ordering::SeqCst);
            if fate == NOT_DONE || server.write_all(&chunk[..count]).is_err() {
                break;
            }
        }
        let _ = client.shutdown(Shutdown::Both);
        let _ = server.shutdown(Shutdown::Both);
    });
}

#[test]
fn what_nobody_knows_may_be_there_or_not_and_nothing_else() {
    Server::on_each(|server| {
        let mut shop = Shop { target: server.target(), name: server.name() };
        let name = shop.name.clone();
        shop.prepare_of("./orders").unwrap();
        let direct = shop.target.clone();
        let relay = Relay::start(server.address());
        for (fate, rows) in [(DONE, 20), (NOT_DONE, 19)] {
            shop.target = server.target_at(relay.address);
            let load = shop.find("./orders/pay").loads().remove(0);
            shop.target = direct.clone();
            let baseline = load.baseline(&mut shop.open()).unwrap().unwrap();
            let before: i128 = shop.text("SELECT COUNT(*) FROM payment").parse().unwrap();
            shop.target = server.target_at(relay.address);
            relay.commit.store(fate, Ordering::SeqCst);
            let done = shop.run_losing(load.as_ref(), 10);
            shop.target = direct.clone();
            assert_eq!((done.unknown, done.acknowledged), (1, 19), "{name}");
            let there: i128 = shop.text("SELECT COUNT(*) FROM payment").parse().unwrap();
            assert_eq!(there - before, rows, "{name}");
            let verdicts = |done: Done| {
                let checks = baseline.verify(&mut shop.open(), "it", done, &[load.acknowledged()]).unwrap();
                checks.iter().map(|check| (check.name.clone(), check.passed)).collect::<BTreeMap<_, _>>()
            };
            assert_eq!(verdicts(done)["rows-of-payment"], Some(true), "{name}");
            // Of what is known nothing may be missing, and of what is not there is no more than one.
            let last =
                "DELETE FROM payment WHERE id = (SELECT id FROM (SELECT MAX(id) AS id FROM payment) p)";
            (18..rows).for_each(|_| shop.execute(last));
            assert_eq!(verdicts(done)["rows-of-payment"], Some(false), "{name}");
            for id in 0..2 {
                shop.execute(&format!(
                    "INSERT INTO payment (id, purchase_id) VALUES (-{id} - {fate} * 10, 1)"
                ));
            }
            assert_eq!(verdicts(done)["rows-of-payment"], Some(true), "{name}");
            shop.execute(&format!("INSERT INTO payment (id, purchase_id) VALUES (-9 - {fate} * 10, 1)"));
            assert_eq!(verdicts(done)["rows-of-payment"], Some(false), "{name}");
        }
    });
}
