//! One table kept in several ways, each a system of one target: what each can do is measured, what one cannot is told.

use dyno_test_servers::MysqlProduct;
use serde_json::Value;

use crate::home::Home;
use crate::mysql;
use crate::report::Report;
use crate::server::{database, shared, value};

/// A short run.
const RUN: [&str; 10] =
    ["run", "storage", "--scale", "1", "--clients", "2", "--duration", "500ms", "--warm-up", "0s"];

/// The cell of a variant in a row of the table.
fn cell<'a>(report: &'a Report, group: &str, name: &str, system: &str) -> &'a Value {
    let variants = &report.document()["variants"];
    let systems = variants["systems"].as_array().unwrap();
    let place = systems.iter().position(|known| known == system).unwrap();
    let rows = variants["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["group"] == group && row["name"] == name);
    &row.unwrap_or_else(|| panic!("{group} {name}: {variants:#}"))["cells"][place]
}

fn value_of(report: &Report, group: &str, name: &str, system: &str) -> Option<f64> {
    cell(report, group, name, system)["value"].as_f64()
}

/// What a variant could not do, and what was said to it.
fn not_done(report: &Report) -> Vec<(&str, &str, &str)> {
    let all = report.document()["not_done"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter()
        .map(|it| {
            let text = |key: &str| it[key].as_str().unwrap();
            (text("target"), text("what"), text("said"))
        })
        .collect()
}

/// The operations and what they read, in the plan of a query as it was run for it.
fn plan<'a>(report: &'a Report, system: &str, query: &str) -> (Vec<&'a str>, Vec<&'a str>) {
    let plans = report.document()["plans"].as_array().unwrap();
    let is_meant = |it: &&Value| {
        let of = |key: &str| it[key].as_str();
        let ran = it["executed"] == true && of("series") == Some("queries");
        ran && of("target") == Some(system) && of("query") == Some(query)
    };
    let found = plans.iter().find(is_meant).unwrap_or_else(|| panic!("{system} {query}: {plans:#?}"));
    let nodes = found["nodes"].as_array().unwrap();
    let all = |key: &str| nodes.iter().filter_map(|node| node[key].as_str()).collect();
    (all("operation"), all("object"))
}

/// All that is measured of a variant that can do everything.
fn assert_whole(report: &Report, system: &str, queries: &[&str]) {
    let figures =
        [("size", "table bytes"), ("size", "bytes per row"), ("updates", "time"), ("tpcb", "throughput")];
    let reads = ["point-read", "point-read-after"].map(|series| (series, "throughput"));
    for (group, name) in [("build", "data")].into_iter().chain(figures).chain(reads) {
        assert!(value_of(report, group, name, system) > Some(0.0), "{system}: {group} {name}");
    }
    for series in ["queries", "queries-after"] {
        for query in queries {
            assert!(value_of(report, series, query, system) > Some(0.0), "{system}: {series} {query}");
        }
    }
    let of_series = |it: &&Value| it["target"] == system && it["passes"].is_object();
    let passes: Vec<&Value> = report.series().iter().filter(of_series).collect();
    assert_eq!(passes.len(), 2);
    // Queries per hour are of clients, and here is one.
    assert!(passes.iter().all(|it| it["passes"]["qph"].is_null()), "{passes:#?}");
    for query in passes.iter().flat_map(|it| it["passes"]["queries"].as_array().unwrap()) {
        assert_eq!(query["differs"], Value::Null, "{system}: {query:#}");
    }
    let checks = report.document()["checks"].as_array().unwrap();
    let own: Vec<&Value> = checks.iter().filter(|check| check["target"] == system).collect();
    assert!(own.iter().any(|check| check["name"] == "every-update-is-there"), "{own:#?}");
    assert!(own.iter().any(|check| check["name"] == "four-sums-agree"), "{own:#?}");
    assert!(own.iter().all(|check| check["passed"] == true), "{own:#?}");
}

#[test]
fn variants_of_postgresql_are_measured_side_by_side() {
    let Some(server) = shared() else { return };
    let (home, target) = (Home::new(), database(&server, "storage"));
    let partitions = "parts=partition by hash (aid); \
                      create table {table}_0 partition of {table} for values with (modulus 2, remainder 0); \
                      create table {table}_1 partition of {table} for values with (modulus 2, remainder 1)";
    let variants = [
        "heap",
        "indexed=index(abalance)",
        "loose=with (fillfactor=50); set work_mem = '1MB'; no keys",
        partitions,
        "columnar=using columnar",
        "wrong=index(no_such_column)",
    ];
    let mut words =
        [&RUN[..], &["--json", "--target", &target, "--workers", "1", "--updates", "150"]].concat();
    words.extend(variants.iter().flat_map(|variant| ["--variant", *variant]));
    let report = home.dyno(&words).expect(0).report();
    let names: Vec<&str> = report.document()["targets"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert_eq!(names, ["heap", "indexed", "loose", "parts", "columnar", "wrong"]);
    let queries =
        ["top-100", "top-100 (1 worker)", "first-3", "count-by-branch", "count-by-branch (1 worker)"];
    for system in ["heap", "indexed", "loose", "parts", "wrong"] {
        assert_whole(&report, system, &queries);
    }
    let [columnar, wrong] = &not_done(&report)[..] else { panic!("{:?}", not_done(&report)) };
    assert_eq!((columnar.0, columnar.1), ("columnar", "tables"));
    assert!(columnar.2.contains("access method \"columnar\" does not exist"), "{columnar:?}");
    assert!(columnar.2.contains("CREATE EXTENSION"), "{columnar:?}");
    assert_eq!((wrong.0, wrong.1), ("wrong", "indexes"));
    assert!(wrong.2.contains("no_such_column"), "{wrong:?}");
    // Each query is planned with the settings with which it is run, on names that are the same in each variant.
    for (query, is_shared) in [("top-100", false), ("top-100 (1 worker)", true)] {
        let (operations, objects) = plan(&report, "heap", query);
        let gathers = operations.iter().any(|operation| operation.starts_with("Gather"));
        assert!(
            gathers == is_shared && objects == ["storage_accounts"],
            "{query}: {operations:?} {objects:?}"
        );
        let (operations, _) = plan(&report, "indexed", query);
        assert!(operations.contains(&"Index Scan Backward"), "{query}: {operations:?}");
    }
    let shown = home.dyno(&["report", "--plan", "top-100 (1 worker)"]).expect(0).out;
    assert!(shown.contains("top-100 (1 worker) on heap/queries"), "{shown}");
    // What is not done is a row of the table, and nothing else of that variant is measured.
    assert!(cell(&report, "build", "tables", "columnar")["not_done"].is_string());
    assert!(cell(&report, "build", "indexes", "wrong")["not_done"].is_string());
    assert!(value_of(&report, "queries", "top-100", "columnar").is_none());
    // What was said of the tables has come to them.
    let ratio = |name: &str, system: &str| cell(&report, "size", name, system)["ratio"].as_f64().unwrap();
    assert!(ratio("table bytes", "loose") > 1.5 && ratio("index bytes", "indexed") > 1.1);
    assert!(ratio("index bytes", "loose") < 0.1);
    let asked = |sql: &str| value(&server, "storage", sql);
    let part: u64 = asked("SELECT count(*) FROM parts_storage_accounts_0").parse().unwrap();
    assert!((40_000..60_000).contains(&part), "{part}");
    let keys =
        "SELECT count(*) FROM pg_index WHERE indisprimary AND indrelid::regclass::text LIKE 'loose_storage%'";
    assert_eq!(asked(keys), "0");
}

#[test]
fn tables_are_used_again_until_they_were_written_to() {
    let Some(server) = shared() else { return };
    let (home, target) = (Home::new(), database(&server, "storage_again"));
    let run = |words: &[&str]| {
        let one =
            ["--target", &target, "--variant", "a=with (fillfactor=90)", "--variant", "b=index(abalance)"];
        home.dyno(&[&["run"], words, &one, &["--json"]].concat())
    };
    let read = ["--workload", "storage/queries", "--scale", "1", "--repeat", "1", "--warm-up", "0s"];
    let made = |report: &Report, system: &str| {
        let steps = report.document()["prepare"].as_array().unwrap();
        steps.iter().filter(|step| step["target"] == system).count()
    };
    let report = run(&read).expect(0).report();
    assert!(made(&report, "a") > 3 && made(&report, "b") > 3);
    let report = run(&read).expect(0).report();
    assert_eq!((made(&report, "a"), made(&report, "b")), (0, 0), "both are as they were made");
    assert!(!report.findings().contains(&"index-missing"));
    let indexes = "SELECT indexname FROM pg_indexes WHERE indexdef LIKE '%b_storage_accounts%(abalance)'";
    let index = value(&server, "storage_again", indexes);
    value(&server, "storage_again", &format!("DROP INDEX {index}"));
    value(&server, "storage_again", "ALTER TABLE a_storage_tellers DROP CONSTRAINT a_storage_tellers_pkey");
    let report = run(&read).expect(0).report();
    assert_eq!((made(&report, "a"), made(&report, "b")), (0, 0));
    let missing = report.document()["findings"].as_array().unwrap().iter();
    let missing = missing.filter(|finding| finding["code"] == "index-missing");
    let missing: Vec<_> = missing.map(|finding| finding["evidence"].as_str().unwrap()).collect();
    assert_eq!(missing.len(), 2, "{missing:?}");
    assert!(missing[0].contains("index a_storage_tellers_pkey of a_storage_tellers"), "{missing:?}");
    assert!(missing[1].contains(&format!("index {index} of b_storage_accounts")), "{missing:?}");
    // A preparation that was broken off, and a variant that is another now.
    value(&server, "storage_again", "COMMENT ON TABLE b_storage_tellers IS 'dyno storage/2 unfinished'");
    let report = run(&read).expect(0).report();
    assert!(made(&report, "a") == 0 && made(&report, "b") > 3);
    let write = ["--workload", "storage/updates", "--scale", "1"];
    assert_eq!(made(&run(&write).expect(0).report(), "a"), 0);
    let report = run(&read).expect(0).report();
    assert!(made(&report, "a") > 3 && made(&report, "b") > 3, "the updates are not what is measured");
    let refused = run(&["--workload", "storage/queries", "--scale", "2"]).expect(1).err;
    assert!(refused.contains("has --scale 1, not 2"), "{refused}");
    value(&server, "storage_again", "COMMENT ON TABLE a_storage_accounts IS 'ours'");
    let refused = run(&[&read[..], &["--prepare"]].concat()).expect(1).err;
    assert!(refused.contains("a_storage_accounts is there and dyno has not made it"), "{refused}");
}

#[test]
fn an_embedded_server_is_one_for_all_its_variants() {
    if shared().is_none() {
        return;
    }
    let home = Home::new();
    let words = ["--workload", "storage/point-read", "--variant", "a=", "--variant", "b=no keys", "--json"];
    let report = home.dyno(&[&RUN[..1], &words, &RUN[2..]].concat()).expect(0).report();
    let targets = report.document()["targets"].as_array().unwrap();
    let urls: Vec<&Value> = targets.iter().map(|target| &target["url"]).collect();
    assert!(urls.len() == 2 && urls[0] == urls[1], "{urls:?}");
    assert!(
        value_of(&report, "point-read", "throughput", "a")
            > value_of(&report, "point-read", "throughput", "b")
    );
}

#[test]
fn what_cannot_be_meant_is_refused_before_a_server_is_asked() {
    let home = Home::new();
    let refused = |words: &[&str]| home.dyno(&[&["run"], words].concat()).expect(1).err;
    let nowhere = ["--target", "postgres://nobody@127.0.0.1:1/none"];
    for (words, why) in [
        (["storage", "--variant", "a-b=using heap"], "is no name for a variant"),
        (["storage", "--variant", "a=index()"], "index without columns"),
        (["tpcb", "--variant", "heap"], "--variant is for storage"),
        (
            ["storage", "--scale=1", "--updates=100001"],
            "--updates 100001 is too much: it takes at most 100,000",
        ),
        (["storage", "--scale", "1.5"], "a whole number"),
    ] {
        let told = refused(&[&words[..], &nowhere].concat());
        assert!(told.contains(why), "{words:?}: {told}");
    }
    let twice = refused(&[&["storage", "--variant", "a=", "--variant", "a=no keys"][..], &nowhere].concat());
    assert!(twice.contains("two systems have the name a"), "{twice}");
    let cold = refused(&["storage", "--variant", "a=", "--variant", "b=", "--cold"]);
    assert!(cold.contains("which several systems share"), "{cold}");
}

#[test]
fn engines_of_mysql_are_measured_side_by_side() {
    for product in MysqlProduct::tested().iter().copied().filter(|product| *product != MysqlProduct::SeekDb) {
        let Some(server) = mysql::shared(product) else { continue };
        let (home, target) = (Home::new(), mysql::database(&server, "storage"));
        let mut words = [&RUN[..], &["--json", "--target", &target, "--updates", "150"]].concat();
        for variant in [
            "InnoDB",
            "MyISAM",
            "parts=partition by hash (aid) partitions 4",
            "nope",
            "wrong=no keys; row_format=x",
        ] {
            words.extend(["--variant", variant]);
        }
        let report = home.dyno(&words).expect(0).report();
        for system in ["InnoDB", "MyISAM", "parts"] {
            assert_whole(&report, system, &["top-100", "first-3", "count-by-branch"]);
            let (_, objects) = plan(&report, system, "top-100");
            assert_eq!(objects, ["storage_accounts"], "{system}");
        }
        let [nope, wrong] = &not_done(&report)[..] else { panic!("{:?}", not_done(&report)) };
        assert!(
            nope.0 == "nope" && nope.1 == "tables" && nope.2.contains("Unknown storage engine"),
            "{nope:?}"
        );
        assert!(wrong.0 == "wrong" && wrong.1 == "tables", "{wrong:?}");
    }
}

/// A folder of a user's, with a table that may be kept in several ways.
const OWN: &str = r#"about = "parents and children"
usual = ["reports", "add"]

[options.parents]
about = "parents"
default = 2000

[[tables]]
name = "parent"
rows = ":parents"
key = ["id"]
columns = [{ name = "id", type = "integer", value = ":row" }]

[[tables]]
name = "child"
rows = "3 * :parents"
key = ["id"]
varies = true
foreign-keys = [{ columns = ["parent_id"], table = "parent" }]
columns = [
  { name = "id", type = "integer", value = ":row" },
  { name = "parent_id", type = "integer", value = "(:row - 1) % :parents + 1" },
  { name = "amount", type = "integer", value = "random(1, 100)" },
]

[[tables]]
name = "toy"
parent = "child"
children = "random(0, 2)"
key = ["child_id", "number"]
columns = [
  { name = "child_id", type = "integer", value = ":parent.id" },
  { name = "number", type = "integer", value = ":child" },
]

[[transactions]]
name = "add"
adds = { child = 1 }

[[transactions]]
name = "fail"

[[passes]]
name = "reports"
queries = ["sum.sql", "largest.sql"]

[[checks]]
about = "every child has its parent"
none = "SELECT child.id FROM child LEFT JOIN parent ON parent.id = child.parent_id WHERE parent.id IS NULL"
"#;

#[test]
fn a_folder_of_ones_own_is_kept_in_several_ways() {
    let Some(server) = shared() else { return };
    let (home, target) = (Home::new(), database(&server, "storage_own"));
    let folder = home.path("own");
    std::fs::create_dir(&folder).unwrap();
    for (file, text) in [
        ("workload.toml", OWN),
        (
            "add.sql",
            "\\set id next(child)\n\\set parent random(1, :parents)\nINSERT INTO child (id, parent_id, amount) VALUES (:id, :parent, 1);\n",
        ),
        ("fail.sql", "SELECT 1;\n\\set wrong 1 / (:parents - :parents)\n"),
        (
            "sum.sql",
            "SELECT parent_id % 3, SUM(amount) FROM child c JOIN parent ON c.parent_id = parent.id GROUP BY 1;\n",
        ),
        ("largest.sql", "SELECT id FROM child WHERE id <= :parents ORDER BY amount DESC, id LIMIT 5;\n"),
    ] {
        std::fs::write(folder.join(file), text).unwrap();
    }
    let load = ["--clients", "2", "--transactions", "50", "--warm-up", "0s", "--repeat", "1", "--json"];
    let variants = ["--variant", "plain=", "--variant", "bare=no keys", "--variant", "indexed=index(amount)"];
    let run = [&["run", "./own", "--target", &target], &load[..], &variants].concat();
    let report = home.dyno(&run).expect(0).report();
    report.assert_checks_passed();
    for system in ["plain", "bare", "indexed"] {
        for (group, name) in [("add", "throughput"), ("reports", "sum"), ("reports", "largest")] {
            assert!(value_of(&report, group, name, system) > Some(0.0), "{system}: {group} {name}");
        }
    }
    let asked = |sql: &str| value(&server, "storage_own", sql);
    assert_eq!(asked("SELECT count(*) FROM pg_constraint WHERE conrelid::regclass::text LIKE 'bare%'"), "0");
    assert_eq!(asked("SELECT count(*) FROM pg_constraint WHERE conrelid = 'plain_child'::regclass"), "2");
    assert_eq!(asked("SELECT count(*) FROM indexed_child"), "6100");
    let toys = |variant: &str| asked(&format!("SELECT count(*), sum(child_id) FROM {variant}_toy"));
    assert_eq!([toys("bare"), toys("indexed")], [toys("plain"), toys("plain")]);
    let differs = |it: &Value| {
        it["passes"]["queries"].as_array().is_some_and(|all| all.iter().any(|it| !it["differs"].is_null()))
    };
    assert!(!report.series().iter().any(differs), "{:#?}", report.series());
    // Settings of sessions hide nothing of what a script says.
    let small = "small=set work_mem = '1MB'";
    let fail = [&["run", "./own/fail", "--target", &target, "--variant", small], &load[..]].concat();
    home.dyno(&fail).expect(2).says(&["fail.sql:2: \\set: division by zero"]);
    // They are used again, and the plain folder knows nothing of them.
    let again = home.dyno(&run).expect(0).report();
    assert!(again.document()["prepare"].as_array().is_none_or(Vec::is_empty));
    home.dyno(&["run", "./own/reports", "--prepare=never", "--target", &target])
        .expect(1)
        .says(&["are missing"]);
}
