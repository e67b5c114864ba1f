//! The example of the documents, on servers of each kind, on SQLite and on DuckDB.

use dyno_target::{Environment, Target};
use dyno_test_servers::duckdb_library;

use crate::shop::{Shop, on_each};

fn run(shop: &Shop) {
    let name = &shop.name;
    shop.prepare_of("./web-shop").unwrap();
    let data = shop.find("./web-shop");
    assert_eq!(data.tables, ["article", "customer", "purchase", "line", "payment"]);
    assert_eq!(data.count(&mut shop.open()).unwrap(), [1_000, 40, 700, 1_400, 350], "{name}");
    let absent = shop.text("SELECT COUNT(*) FROM article WHERE description IS NULL");
    assert!((200..300).contains(&absent.parse::<u64>().unwrap()), "{name}: {absent}");
    for workload in ["look", "buy", "pay", "mix"] {
        assert_eq!(shop.failed(&format!("./web-shop/{workload}"), &[]), "", "{name}: {workload}");
    }
    let lost = "DELETE FROM payment WHERE id = (SELECT id FROM (SELECT MAX(id) AS id FROM payment) p)";
    let failed = shop.failed("./web-shop/pay", &[lost]);
    assert_eq!(failed, "rows-of-payment customers-have-paid-their-payments", "{name}");
    let dearer = "UPDATE article SET price = price + 1 WHERE id = 5";
    assert_eq!(shop.failed("./web-shop/look", &[dearer]), "articles-do-not-change", "{name}");
    let more = "UPDATE line SET amount = amount + 1 WHERE purchase_id = 3 AND number = 2";
    assert_eq!(shop.failed("./web-shop/buy", &[more]), "totals-are-the-sums-of-lines", "{name}");
}

#[test]
fn the_example_runs_everywhere_and_its_checks_find_what_is_wrong() {
    on_each(|shop| run(&shop));
    let Some(library) = duckdb_library() else { return };
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("shop.duckdb");
    let url = format!("duckdb:{}?driver={}", file.display(), library.display());
    let target = Target::parse(&url, &Environment::empty()).unwrap();
    run(&Shop { target, name: "DuckDB".to_owned() });
}
