//! Rows that are children of other tables' rows, on servers of each kind, on SQLite and on DuckDB.

use std::collections::BTreeMap;
use std::path::Path;

use dyno_target::{Environment, Target};
use dyno_test_servers::duckdb_library;
use dyno_workload::benchmark::ExpectedRows;
use dyno_workload::folder;

use crate::database::Server;
use crate::shop::Shop;

const FOLDER: &str = "./parcels";

/// What the generator makes on every product: how many pieces and scans there are, and what is drawn of them.
const SUMS: &str = "SELECT (SELECT COUNT(*) FROM piece), (SELECT COUNT(*) FROM scan), (SELECT SUM(weight) FROM piece), \
    (SELECT COUNT(DISTINCT weight) FROM piece), (SELECT COUNT(*) FROM scan WHERE place LIKE 'here%')";

fn run(shop: &Shop) -> String {
    shop.prepare_of(FOLDER).unwrap();
    let wrong = "SELECT COUNT(*) FROM parcel p LEFT JOIN (SELECT parcel_id, COUNT(*) AS pieces, MIN(number) AS first, \
        MAX(number) AS last FROM piece GROUP BY parcel_id) c ON c.parcel_id = p.id \
        WHERE COALESCE(c.pieces, 0) <> p.pieces OR c.first <> 1 OR c.last <> p.pieces";
    assert_eq!(shop.text(wrong), "0", "{}", shop.name);
    let wrong = "SELECT COUNT(*) FROM piece c JOIN parcel p ON p.id = c.parcel_id \
        WHERE c.name <> p.name OR p.pieces <> c.half * 2 + p.id % 2 OR c.sent <> p.sent OR (c.sent IS NULL) <> (p.sent IS NULL)";
    assert_eq!(shop.text(wrong), "0", "{}", shop.name);
    assert_eq!(shop.text("SELECT COUNT(*) FROM parcel WHERE pieces = 0").parse::<u64>().unwrap() / 1000, 2);
    let found = shop.find(&format!("{FOLDER}/add"));
    let count = |table: &str| shop.text(&format!("SELECT COUNT(*) FROM {table}")).parse().unwrap();
    let expected = [
        ExpectedRows::Exactly(30_000),
        ExpectedRows::AtLeast(count("piece")),
        ExpectedRows::Exactly(count("scan")),
    ];
    assert_eq!(found.expected, expected, "{}", shop.name);
    shop.text(SUMS)
}

#[test]
fn each_row_of_a_parent_has_its_children_and_they_its_values() {
    let mut sums = Server::on_each(|server| run(&Shop { target: server.target(), name: server.name() }));
    let home = tempfile::tempdir().unwrap();
    let mut in_process = vec![(format!("sqlite:{}", home.path().join("parcels.db").display()), "SQLite")];
    if let Some(library) = duckdb_library() {
        let file = home.path().join("parcels.duckdb");
        in_process.push((format!("duckdb:{}?driver={}", file.display(), library.display()), "DuckDB"));
    }
    for (url, name) in in_process {
        let target = Target::parse(&url, &Environment::empty()).unwrap();
        sums.push(run(&Shop { target, name: name.to_owned() }));
    }
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
}

/// The files with other children of a parcel.
fn said(children: &str) -> String {
    let mut files: BTreeMap<String, String> = folder::read(Path::new("tests/folder/parcels")).unwrap();
    let text = files.get_mut("workload.toml").unwrap();
    *text = text.replace("\":pieces\"", children);
    match folder::check(FOLDER, &files) {
        Ok(shown) => shown.lines().filter(|line| line.starts_with("piece (")).collect(),
        Err(mistakes) => mistakes.to_string(),
    }
}

#[test]
fn what_is_no_number_of_children_is_told_with_its_place_and_row() {
    assert_eq!(said("2"), "piece (60,000 rows)");
    assert_eq!(said("\":row % 2\""), "piece (15,000 rows)");
    assert_eq!(said("\"4 / 2.0\""), "piece (60,000 rows)");
    for (children, row, count) in [
        ("\"1 - :id\"", "2", "-1"),
        ("\"case when :id = 5 then null else 1 end\"", "5", "NULL"),
        ("\"2.5\"", "1", "2.5"),
        ("\"'two'\"", "1", "two"),
        ("1001", "1", "1001"),
        // Of no sample.
        ("\"case when :id = 29993 then -5 else 1 end\"", "29,993", "-5"),
    ] {
        let what =
            format!("the children of row {row} of parcel: {count} is no whole number from 0 to 1,000, ");
        let said = said(children);
        assert!(said.starts_with(&format!("workload.toml:22:12: {what}")), "{children}: {said}");
    }
    let said = said("\"1 / (:id - 7) * 0\"");
    assert!(said.contains("the children of row 7 of parcel: division by zero"), "{said}");
}
