//! A shop of four tables: made, loaded, checked, and made larger. A bank: brought into the state in which a load begins.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use dyno_engine::config::EngineConfig;
use dyno_engine::engine::{Engine, Observation};
use dyno_results::event::{Check, Stage};
use dyno_results::spec::{End, Protocol, StageOrder};
use dyno_target::{Connection, Environment, Target};
use dyno_workload::benchmark::{
    Benchmark, BenchmarkError, Dataset, Done, ExpectedRows, Sending, SeriesLoad, Site,
};
use dyno_workload::folder;
use dyno_workload::registry::{self, DataOptions};
use serde_json::{Value, json};

use crate::database::{Server, config};

/// The benchmark of some workloads, by the names that a user types.
fn benchmark(target: &Target, workload: &str, options: &Value) -> Box<dyn Benchmark> {
    let folder = workload.split('/').nth(1).unwrap();
    let place = match folder {
        "web-shop" => "../../docs",
        "tpcc" => "../../workloads",
        _ => "tests/folder",
    };
    let files = folder::read(&Path::new(place).join(folder)).unwrap();
    folder::register(&format!("./{folder}"), &files).unwrap();
    let options = DataOptions::read(options.as_object().unwrap()).unwrap();
    registry::find(workload).unwrap().benchmark(&options, &target.capabilities()).unwrap()
}

/// A shop on a database that has none.
pub(crate) struct Shop {
    pub(crate) target: Target,
    /// Of the product.
    pub(crate) name: String,
}

impl Shop {
    pub(crate) fn open(&self) -> Connection {
        self.target.connect().unwrap()
    }

    fn benchmark(&self, workload: &str) -> Box<dyn Benchmark> {
        let options = match workload.contains("shop") {
            true => json!({ "orders": 700, "customers": 40 }),
            false => json!({}),
        };
        benchmark(&self.target, workload, &options)
    }

    fn at_site<T>(
        &self,
        work: impl FnOnce(&mut Connection, &Site<'_>) -> Result<T, BenchmarkError>,
    ) -> Result<T, BenchmarkError> {
        let (stop, open) = (AtomicBool::new(false), || self.target.connect());
        let site = Site {
            target: "it",
            open: &open,
            cpus: 3,
            memory_bytes: None,
            same_host: true,
            free_disk_bytes: None,
            quick: true,
            seed: 1,
            stop: &stop,
        };
        work(&mut self.open(), &site)
    }

    fn prepare(&self) -> Result<(), BenchmarkError> {
        self.prepare_of("./shop")
    }

    pub(crate) fn prepare_of(&self, folder: &str) -> Result<(), BenchmarkError> {
        let benchmark = self.benchmark(folder);
        self.at_site(|connection, site| benchmark.prepare(connection, site, &mut |_| {}))
    }

    pub(crate) fn find(&self, workload: &str) -> Dataset {
        self.benchmark(workload).find(&mut self.open()).unwrap().unwrap()
    }

    pub(crate) fn text(&self, sql: &str) -> String {
        let rows = self.open().query(sql).unwrap();
        let row = |row: &dyno_target::connection::TextRow| {
            row.iter().map(|(_, value)| value.unwrap_or("NULL").to_owned()).collect::<Vec<_>>().join("|")
        };
        rows.iter().map(row).collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn execute(&self, sql: &str) {
        self.open().execute(sql).unwrap();
    }

    fn sending(&self) -> Sending {
        Sending { dialect: Some(self.open().dialect()), tries_max: 10, threads: 2, ..Sending::default() }
    }

    /// Two clients with so many transactions each, none of which fails for good.
    pub(crate) fn run(&self, load: &dyn SeriesLoad, transactions: u64) -> Done {
        let sending = self.sending();
        let told = RefCell::new(Vec::new());
        let done = self.run_as(load, transactions, &sending, |seen| {
            if let Observation::Error(error) = seen {
                told.borrow_mut().push(error.to_string());
            }
        });
        assert_eq!(done.failed + done.unknown, 0, "{}: {:?}", self.name, told.into_inner());
        done
    }

    /// The same: what the workload itself has counted, by transaction type and key.
    pub(crate) fn counted(&self, load: &dyn SeriesLoad, transactions: u64) -> BTreeMap<String, u64> {
        let types = load.workload(&Sending::default()).unwrap().types().to_vec();
        let stage = Stage { types, counts: load.counts(), ..Stage::default() };
        let counted = RefCell::new(BTreeMap::new());
        self.run_as(load, transactions, &self.sending(), |seen| {
            let Observation::Interval(interval) = seen else { return };
            let of_type = |place| interval.types.iter().find(|part| usize::from(part.type_index) == place);
            for (of, count) in stage.counted(|place| Some(&of_type(place)?.own)) {
                *counted.borrow_mut().entry(format!("{}.{}", of.of, of.key)).or_default() += count;
            }
        });
        counted.into_inner()
    }

    /// The same with texts for statements, where connections may be lost.
    pub(crate) fn run_losing(&self, load: &dyn SeriesLoad, transactions: u64) -> Done {
        let dialect = Some(self.open().dialect());
        let sending = Sending { dialect, protocol: Protocol::Simple, threads: 2, ..Sending::default() };
        self.run_as(load, transactions, &sending, |_| {})
    }

    fn run_as(
        &self,
        load: &dyn SeriesLoad,
        transactions: u64,
        sending: &Sending,
        see: impl Fn(&Observation),
    ) -> Done {
        let workload = load.workload(sending).unwrap();
        let config = EngineConfig { protocol: sending.protocol, ..config(1) };
        let mut engine = Engine::start(self.target.route().unwrap(), &workload, config).unwrap();
        let order = StageOrder::closed(2, End::TransactionsPerClient(transactions));
        let mut done = Done::default();
        let mut observe = |observation| {
            see(&observation);
            let Observation::Interval(interval) = observation else { return };
            for part in &interval.types {
                done.acknowledged += part.done;
                done.unknown += part.unknown;
                done.failed += part.failed;
            }
        };
        engine.run_stage(&order, &AtomicBool::new(false), &mut observe).unwrap();
        done
    }

    /// The checks behind a load in which `faults` happen.
    fn verified(&self, workload: &str, faults: &[&str]) -> Vec<Check> {
        let load = self.find(workload).loads().remove(0);
        let baseline = load.baseline(&mut self.open()).unwrap().unwrap();
        let done = self.run(load.as_ref(), 20);
        assert_eq!((done.acknowledged, done.failed), (40, 0), "{}", self.name);
        faults.iter().for_each(|sql| self.execute(sql));
        baseline.verify(&mut self.open(), "it", done, &[load.acknowledged()]).unwrap()
    }

    pub(crate) fn failed(&self, workload: &str, faults: &[&str]) -> String {
        let checks = self.verified(workload, faults);
        let failed =
            checks.iter().filter(|check| check.passed != Some(true)).map(|check| check.name.as_str());
        failed.collect::<Vec<_>>().join(" ")
    }
}

/// Runs `test` on each kind of server and on SQLite.
pub(crate) fn on_each(test: impl Fn(Shop) + Sync) {
    Server::on_each(|server| test(Shop { target: server.target(), name: server.name() }));
    let home = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", home.path().join("shop.db").display());
    let target = Target::parse(&url, &Environment::empty()).unwrap();
    test(Shop { target, name: "SQLite".to_owned() });
}

#[test]
fn a_shop_is_made_the_same_everywhere_and_its_loads_are_checked() {
    on_each(|shop| {
        let name = &shop.name;
        assert!(shop.benchmark("./shop").find(&mut shop.open()).unwrap().is_none(), "{name}");
        shop.prepare().unwrap();
        let data = shop.find("./shop");
        assert_eq!(data.tables, ["article", "customer", "purchase", "line"]);
        assert_eq!(data.count(&mut shop.open()).unwrap(), [1000, 40, 700, 2100], "{name}");
        // Quotes and backslashes come as they are, and each value is the same on every product.
        insta::assert_snapshot!(
            "customers",
            shop.text("SELECT id, name, phone, since FROM customer WHERE id <= 8 ORDER BY id")
        );
        let sums = "SELECT SUM(customer_id), MIN(customer_id), MAX(customer_id) FROM purchase";
        insta::assert_snapshot!("purchases", shop.text(sums));
        insta::assert_snapshot!(
            "lines",
            shop.text("SELECT * FROM line WHERE purchase_id IN (1, 700) ORDER BY purchase_id, number")
        );

        let checks = shop.verified("./shop/buy", &[]);
        let names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
        let tables = ["rows-of-purchase", "rows-of-line", "rows-unchanged"];
        assert_eq!(names, [&tables[..], &["every-line-has-its-purchase", "articles-do-not-change"]].concat());
        assert_eq!(shop.failed("./shop/buy", &[]), "", "{name}");
        assert_eq!(shop.failed("./shop/look", &[]), "", "{name}");
        let mixed = shop.verified("./shop/mix", &[]);
        assert!(mixed.iter().all(|check| check.passed == Some(true)), "{name}: {mixed:?}");
        assert!(mixed.iter().any(|check| check.name == "rows-of-line"), "{name}: {mixed:?}");
        // What a server's bug or somebody else would leave.
        assert_eq!(
            shop.failed("./shop/buy", &["DELETE FROM line WHERE purchase_id = 7 AND number = 2"]),
            "rows-of-line",
            "{name}"
        );
        let foreign = "INSERT INTO customer (name, since) VALUES ('x', '2024-01-01')";
        assert_eq!(shop.failed("./shop/look", &[foreign]), "rows-of-customer", "{name}");
        let dearer = "UPDATE article SET price = price + 1 WHERE id = 5";
        assert_eq!(shop.failed("./shop/buy", &[dearer]), "articles-do-not-change", "{name}");
        shop.execute("DELETE FROM customer WHERE id > 40");

        // Rows are added behind those of the loads, up to what another has.
        let there = data.count(&mut shop.open()).unwrap();
        let wanted = [there[0], there[1], there[2] + 25, there[3]];
        let benchmark = shop.benchmark("./shop");
        shop.at_site(|connection, site| benchmark.top_up(connection, site, &wanted, &mut |_| {})).unwrap();
        assert_eq!(data.count(&mut shop.open()).unwrap(), wanted, "{name}");
        assert_eq!(shop.failed("./shop/buy", &[]), "", "{name}: numbers go on");
    });
}

#[test]
fn data_of_other_sizes_and_tables_of_others_are_not_taken_for_the_folders() {
    on_each(|shop| {
        let name = &shop.name;
        shop.execute("CREATE TABLE article (id INTEGER, mine INTEGER)");
        let refused = shop.prepare().unwrap_err().to_string();
        assert!(refused.starts_with("article is there and dyno has not made it"), "{name}: {refused}");
        assert_eq!(shop.text("SELECT COUNT(*) FROM article"), "0", "{name}");
        shop.execute("DROP TABLE article");
        shop.prepare().unwrap();
        let refusal = |options: Value| {
            let found = benchmark(&shop.target, "./shop", &options).find(&mut shop.open());
            found.err().map(|error| error.to_string())
        };
        assert_eq!(refusal(json!({})), None, "{name}");
        let other = refusal(json!({ "orders": "1k" })).unwrap();
        assert!(other.contains("has --orders 700, not 1,000; run with --orders 700"), "{name}: {other}");
        shop.execute("DELETE FROM line");
        shop.execute("DELETE FROM purchase WHERE id = 1");
        assert!(refusal(json!({})).unwrap().contains("rows of purchase"), "{name}");
    });
}

#[test]
fn a_load_that_writes_begins_with_tables_that_were_emptied() {
    on_each(|bank| {
        let name = &bank.name;
        bank.prepare_of("./bank").unwrap();
        assert_eq!(bank.failed("./bank/move", &[]), "", "{name}");
        let entries = || bank.text("SELECT COUNT(*) FROM entry");
        assert_eq!(entries(), "40", "{name}");

        let mut told = Vec::new();
        let mut tell = |text| told.push(text);

        let [look, moves] =
            ["./bank/look", "./bank/move"].map(|workload| bank.find(workload).loads().remove(0));
        look.reset(&mut bank.open(), Some(&mut tell)).unwrap();
        assert_eq!(entries(), "40", "{name}: it only reads");
        moves.reset(&mut bank.open(), Some(&mut tell)).unwrap();
        assert_eq!(entries(), "0", "{name}");
        moves.reset(&mut bank.open(), Some(&mut tell)).unwrap();
        assert_eq!(told, ["entry held 40 rows and is emptied before the load"], "{name}");
        let clients = |load: &dyn SeriesLoad| load.contention().map(|contention| contention.clients);
        let both = bank.find("./bank").loads().remove(0);
        let each = [look, moves, both].map(|load| clients(load.as_ref()));
        assert_eq!(each, [None, Some(2), Some(2)]);
    });
}

#[test]
fn a_check_is_asked_behind_the_transactions_that_it_is_for() {
    on_each(|bank| {
        let name = &bank.name;
        bank.prepare_of("./bank").unwrap();
        let richer = "UPDATE account SET balance = balance + 1 WHERE id = 7";
        let agree = "accounts-and-branches-agree-with-the-entries";
        assert_eq!(bank.failed("./bank/move", &[richer]), agree, "{name}");
        assert_eq!(bank.failed("./bank/look", &[richer]), "no-balance-changes", "{name}");
        assert_eq!(bank.failed("./bank/both", &[richer]), "", "{name}: it is of neither alone");
    });
}

#[test]
fn tables_without_marks_are_known_by_their_columns_and_rows() {
    on_each(|bank| {
        let name = &bank.name;
        bank.prepare_of("./bank").unwrap();
        let find = |options: Value| {
            let found = benchmark(&bank.target, "./bank", &options).find(&mut bank.open());
            found.map(|data| data.map(|data| data.expected)).map_err(|error| error.to_string())
        };
        let exactly = [ExpectedRows::Any, ExpectedRows::Exactly(2), ExpectedRows::Exactly(200)];
        assert_eq!(find(json!({})), Ok(Some(exactly.to_vec())), "{name}");
        assert!(find(json!({ "branches": 3 })).unwrap_err().contains("has --branches 2, not 3"), "{name}");
        let damages = [
            ("DELETE FROM account WHERE id = 77", "of 100 rows of account"),
            ("DELETE FROM account WHERE id = 200", "account runs from 1 to 199, not from 1 to 200"),
            ("DELETE FROM branch WHERE id = 1", "branch runs from 2 to 2"),
            ("DELETE FROM branch", "--branches 0 is too little"),
            ("DROP TABLE entry", "entry is missing"),
        ];
        for (damage, expected) in damages {
            bank.execute(damage);
            let refused = find(json!({})).unwrap_err();
            let is_told = refused.contains(expected) && refused.contains("is damaged");
            assert!(is_told, "{name}: {damage}: {refused}");
        }

        // Another program makes the same tables.
        ["account", "branch"].iter().for_each(|table| bank.execute(&format!("DROP TABLE {table}")));
        assert_eq!(find(json!({})), Ok(None), "{name}");
        bank.execute("CREATE TABLE entry (account_id BIGINT, amount INTEGER)");
        bank.execute("CREATE TABLE branch (id INTEGER NOT NULL PRIMARY KEY, balance INTEGER)");
        let account =
            "CREATE TABLE account (id INTEGER NOT NULL, branch_id INTEGER, balance INTEGER, remark CHAR(9)";
        bank.execute(&format!("{account})"));
        assert!(find(json!({})).unwrap_err().contains("account has no primary key on id"), "{name}");
        bank.execute("DROP TABLE account");
        bank.execute(&format!("{account}, PRIMARY KEY (id))"));
        bank.execute("INSERT INTO branch VALUES (1, 0)");
        let rows: Vec<String> = (1..=100).map(|id| format!("({id}, 1, 0, NULL)")).collect();
        bank.execute(&format!("INSERT INTO account VALUES {}", rows.join(", ")));
        assert_eq!(find(json!({})).unwrap().unwrap()[2], ExpectedRows::Exactly(100), "{name}");
        assert_eq!(bank.failed("./bank/move", &[]), "", "{name}");

        // And others have the name of one alone.
        bank.execute("DROP TABLE account");
        bank.execute("CREATE TABLE account (id INTEGER, owner INTEGER)");
        let refused = bank.prepare_of("./bank").unwrap_err().to_string();
        assert!(
            refused.starts_with("account is there and is no table of ./bank: its columns are"),
            "{name}: {refused}"
        );
        assert_eq!(bank.text("SELECT COUNT(*) FROM account"), "0", "{name}");
    });
}

#[test]
fn a_value_that_does_not_fit_is_told_with_its_row() {
    let files = [
        (
            "workload.toml",
            "about = \"x\"\n[[tables]]\nname = \"t\"\nrows = 100000\ncolumns = [{ name = \"a\", type = \"varchar(3)\", value = \"case when :row = 77777 then 1000 else 1 end\" }]\n[[transactions]]\nname = \"read\"\n",
        ),
        ("read.sql", "SELECT 1 FROM t;\n"),
    ];
    let files: BTreeMap<String, String> = files.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    folder::register("./narrow", &files).unwrap();
    let home = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", home.path().join("x.db").display());
    let shop = Shop { target: Target::parse(&url, &Environment::empty()).unwrap(), name: String::new() };
    let benchmark = registry::find("./narrow")
        .unwrap()
        .benchmark(&DataOptions::default(), &shop.target.capabilities())
        .unwrap();
    let failed = shop
        .at_site(|connection, site| benchmark.prepare(connection, site, &mut |_| {}))
        .unwrap_err()
        .to_string();
    assert_eq!(
        failed,
        "a value of t.a of row 77,777: `1000` is longer than 3 letters; the tables are not complete"
    );
}

#[test]
fn a_value_that_a_server_would_change_ends_the_preparation() {
    on_each(|shop| match shop.prepare_of("./long") {
        Ok(()) => {
            let bytes = shop.text("SELECT SUM(LENGTH(body)) FROM letter");
            // seekdb cuts a text and says nothing of it.
            let held = if shop.name == "OceanBase seekdb" { "655350" } else { "700000" };
            assert_eq!(bytes, held, "{}", shop.name);
        }
        Err(error) => {
            let changed = "the server did not take all rows of letter as they were sent, and says: ";
            assert!(error.to_string().contains(changed), "{}: {error}", shop.name);
        }
    });
}

#[test]
fn all_letters_and_times_of_the_next_century_are_held() {
    on_each(|guests| {
        let name = &guests.name;
        // Only products of MySQL's protocol know these words.
        let _ = guests.open().execute("ALTER DATABASE CHARACTER SET latin1");
        guests.prepare_of("./late").unwrap();
        assert!(guests.find("./late").loads().len() == 1, "{name}: they are known again");
        let held = "SELECT name FROM guest WHERE id = 7 AND arrives = '2110-06-01 00:00:07'";
        assert_eq!(guests.text(held), "Zoë 王7", "{name}");
        let own = "SELECT COUNT(*) FROM guest WHERE name = 'Zoë 王7'";
        assert_eq!(guests.text(own), "1", "{name}");
    });
}

#[test]
fn a_decimal_of_a_server_is_exact_in_expressions() {
    Server::on_each(|server| {
        let bank = Shop { target: server.target(), name: server.name() };
        bank.prepare_of("./ledger").unwrap();
        let load = bank.find("./ledger").loads().remove(0);
        let balances = || bank.text("SELECT balance FROM account ORDER BY id");
        assert_eq!(balances(), "90071992547410.43\n90071992547410.93", "{}", bank.name);
        bank.run(load.as_ref(), 20);
        assert_eq!(balances(), "90071992547410.63\n90071992547411.13", "{}", bank.name);
        bank.run_losing(load.as_ref(), 20);
        assert_eq!(balances(), "90071992547410.83\n90071992547411.33", "{}", bank.name);
    });
}
