//! The workload `tpcc`: its populations are those of the specification, its conditions hold behind loads of several clients, and each
//! fault is found by the condition that names it.

use std::collections::BTreeSet;
use std::path::Path;

use dyno_results::event::Check;
use dyno_workload::folder;

use crate::shop::on_each;

/// A query each, and what it returns of one warehouse: the specification's clauses 1.2 and 4.3.3.1.
const POPULATIONS: &[(&str, &str)] = &[
    ("SELECT COUNT(*), MIN(i_id), MAX(i_id) FROM item", "100000|1|100000"),
    ("SELECT COUNT(*) FROM item WHERE i_price < 1 OR i_price > 100 OR i_im_id < 1 OR i_im_id > 10000", "0"),
    (
        "SELECT MIN(LENGTH(i_name)), MAX(LENGTH(i_name)), MIN(LENGTH(i_data)), MAX(LENGTH(i_data)) FROM item",
        "14|24|26|50",
    ),
    (
        "SELECT CASE WHEN COUNT(*) BETWEEN 9500 AND 10500 THEN 'tenth' END FROM item WHERE i_data LIKE '%ORIGINAL%'",
        "tenth",
    ),
    (
        "SELECT COUNT(*) FROM warehouse WHERE w_id = 1 AND w_ytd = 300000 AND w_tax BETWEEN 0 AND 0.2 AND w_zip LIKE '____11111'",
        "1",
    ),
    (
        "SELECT COUNT(*), COUNT(DISTINCT s_i_id), MIN(s_quantity), MAX(s_quantity), SUM(s_ytd + s_order_cnt + s_remote_cnt) FROM stock",
        "100000|100000|10|100|0",
    ),
    (
        "SELECT MIN(LENGTH(s_dist_01)), MAX(LENGTH(s_dist_10)), MIN(LENGTH(s_data)), MAX(LENGTH(s_data)) FROM stock",
        "24|24|26|50",
    ),
    (
        "SELECT CASE WHEN COUNT(*) BETWEEN 9500 AND 10500 THEN 'tenth' END FROM stock WHERE s_data LIKE '%ORIGINAL%'",
        "tenth",
    ),
    (
        "SELECT COUNT(*) FROM district WHERE d_w_id = 1 AND d_id BETWEEN 1 AND 10 AND d_ytd = 30000 AND d_next_o_id = 3001",
        "10",
    ),
    (
        "SELECT COUNT(*), COUNT(DISTINCT c_last), MIN(c_id), MAX(c_id), MIN(c_middle), MAX(c_middle) FROM customer",
        "30000|1000|1|3000|OE|OE",
    ),
    (
        "SELECT c_last FROM customer WHERE c_d_id = 4 AND c_id IN (1, 372, 1000) ORDER BY c_id",
        "BARBARBAR\nPRICALLYOUGHT\nEINGEINGEING",
    ),
    (
        "SELECT MIN(n), MAX(n) FROM (SELECT COUNT(*) AS n FROM customer WHERE c_id <= 1000 GROUP BY c_last) c",
        "10|10",
    ),
    (
        "SELECT CASE WHEN COUNT(*) BETWEEN 2700 AND 3300 THEN 'tenth' END FROM customer WHERE c_credit = 'BC'",
        "tenth",
    ),
    (
        "SELECT COUNT(*) FROM customer WHERE c_credit_lim = 50000 AND c_balance = -10 AND c_ytd_payment = 10 AND c_payment_cnt = 1 \
         AND c_delivery_cnt = 0 AND c_discount BETWEEN 0 AND 0.5 AND LENGTH(c_first) BETWEEN 8 AND 16 AND LENGTH(c_data) BETWEEN 300 AND 500",
        "30000",
    ),
    (
        "SELECT COUNT(*) FROM history WHERE h_amount = 10 AND h_w_id = h_c_w_id AND h_d_id = h_c_d_id AND LENGTH(h_data) BETWEEN 12 AND 24",
        "30000",
    ),
    ("SELECT MIN(n), MAX(n) FROM (SELECT COUNT(*) AS n FROM orders GROUP BY o_d_id, o_c_id) o", "1|1"),
    (
        "SELECT COUNT(*), COUNT(DISTINCT o_c_id), MIN(o_ol_cnt), MAX(o_ol_cnt), MIN(o_all_local) FROM orders",
        "30000|3000|5|15|1",
    ),
    ("SELECT MIN(o_id), MAX(o_id), COUNT(*) FROM orders WHERE o_carrier_id IS NULL", "2101|3000|9000"),
    ("SELECT CASE WHEN COUNT(*) < 100 THEN 'permuted' END FROM orders WHERE o_c_id = o_id", "permuted"),
    ("SELECT MIN(no_o_id), MAX(no_o_id), COUNT(*) FROM new_order", "2101|3000|9000"),
    (
        "SELECT COUNT(*) FROM order_line JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id WHERE ol_quantity <> 5 \
         OR ol_supply_w_id <> 1 OR ol_i_id < 1 OR ol_i_id > 100000 OR ol_number > o_ol_cnt \
         OR (o_id < 2101 AND (ol_amount <> 0 OR ol_delivery_d IS NULL OR ol_delivery_d <> o_entry_d)) \
         OR (o_id > 2100 AND (ol_amount < 0.01 OR ol_amount > 9999.99 OR ol_delivery_d IS NOT NULL))",
        "0",
    ),
];

/// What is wrong, how it comes to be, how it is undone, and the checks that say so.
type Fault = (&'static str, &'static [&'static str], &'static [&'static str], &'static str);

/// Those of a group are there at the same time: no check is of two of them, so each is found by its own.
const FAULTS: &[&[Fault]] = &[
    &[
        (
            "an order line is deleted",
            &[
                "CREATE TABLE kept AS SELECT * FROM order_line WHERE ol_d_id = 3 AND ol_o_id = 5 AND ol_number = 2",
                "DELETE FROM order_line WHERE ol_d_id = 3 AND ol_o_id = 5 AND ol_number = 2",
            ],
            &["INSERT INTO order_line SELECT * FROM kept", "DROP TABLE kept"],
            "rows-of-order_line 4 6",
        ),
        (
            "a balance is changed",
            &["UPDATE customer SET c_balance = c_balance + 1 WHERE c_d_id = 2 AND c_id = 17"],
            &["UPDATE customer SET c_balance = c_balance - 1 WHERE c_d_id = 2 AND c_id = 17"],
            "10 12",
        ),
        (
            "a district's counter is off by one",
            &["UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 10"],
            &["UPDATE district SET d_next_o_id = d_next_o_id - 1 WHERE d_id = 10"],
            "2",
        ),
        (
            "a payment is lost in the warehouse alone",
            &["UPDATE warehouse SET w_ytd = w_ytd - 10"],
            &["UPDATE warehouse SET w_ytd = w_ytd + 10"],
            "1 8",
        ),
        (
            "a delivery is half done",
            &["UPDATE orders SET o_carrier_id = 7 WHERE o_d_id = 5 AND o_id = 3000"],
            &["UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 5 AND o_id = 3000"],
            "5 7 11",
        ),
    ],
    &[
        (
            "one of the first orders is deleted with its lines",
            &[
                "CREATE TABLE kept AS SELECT * FROM orders WHERE o_d_id = 4 AND o_id = 7",
                "CREATE TABLE kept_lines AS SELECT * FROM order_line WHERE ol_d_id = 4 AND ol_o_id = 7",
                "DELETE FROM order_line WHERE ol_d_id = 4 AND ol_o_id = 7",
                "DELETE FROM orders WHERE o_d_id = 4 AND o_id = 7",
            ],
            &[
                "INSERT INTO orders SELECT * FROM kept",
                "INSERT INTO order_line SELECT * FROM kept_lines",
                "DROP TABLE kept",
                "DROP TABLE kept_lines",
            ],
            "rows-of-orders rows-of-order_line 11",
        ),
        (
            "the commit of a payment is lost",
            &[
                "CREATE TABLE kept_payment AS SELECT * FROM history WHERE h_d_id = 1 AND h_c_id = 1 AND h_amount = 10",
                "DELETE FROM history WHERE h_d_id = 1 AND h_c_id = 1 AND h_amount = 10",
                "UPDATE warehouse SET w_ytd = w_ytd - 10",
                "UPDATE district SET d_ytd = d_ytd - 10 WHERE d_id = 1",
                "UPDATE customer SET c_balance = c_balance + 10, c_ytd_payment = c_ytd_payment - 10 WHERE c_d_id = 1 AND c_id = 1",
            ],
            &[
                "INSERT INTO history SELECT * FROM kept_payment",
                "DROP TABLE kept_payment",
                "UPDATE warehouse SET w_ytd = w_ytd + 10",
                "UPDATE district SET d_ytd = d_ytd + 10 WHERE d_id = 1",
                "UPDATE customer SET c_balance = c_balance - 10, c_ytd_payment = c_ytd_payment + 10 WHERE c_d_id = 1 AND c_id = 1",
            ],
            // The customer has no other.
            "rows-of-history 10",
        ),
        (
            "a payment is lost in the district alone",
            &["UPDATE district SET d_ytd = d_ytd - 10 WHERE d_id = 8"],
            &["UPDATE district SET d_ytd = d_ytd + 10 WHERE d_id = 8"],
            "1 9",
        ),
    ],
    &[
        (
            "all lines of an order are deleted",
            &[
                "CREATE TABLE kept AS SELECT * FROM order_line WHERE ol_d_id = 9 AND ol_o_id = 2050",
                "DELETE FROM order_line WHERE ol_d_id = 9 AND ol_o_id = 2050",
            ],
            &["INSERT INTO order_line SELECT * FROM kept", "DROP TABLE kept"],
            "rows-of-order_line 4 6",
        ),
        (
            "an order in the middle is delivered twice",
            &[
                "CREATE TABLE kept_order AS SELECT * FROM new_order WHERE no_d_id = 6 AND no_o_id = 2900",
                "DELETE FROM new_order WHERE no_d_id = 6 AND no_o_id = 2900",
            ],
            &["INSERT INTO new_order SELECT * FROM kept_order", "DROP TABLE kept_order"],
            "rows-of-new_order 3 5 11",
        ),
    ],
];

#[test]
fn rows_are_locked_where_a_transaction_locks_no_more_than_that() {
    let files = folder::read(Path::new("../../workloads/tpcc")).unwrap();
    let shown = folder::check("./tpcc", &files).unwrap();
    let locks = |dialect: &str| {
        let section = shown.split(&format!("\n\n{dialect}\n")).nth(1).unwrap();
        section.split("\n\n").next().unwrap().matches("FOR UPDATE").count()
    };
    assert_eq!(["postgresql", "mysql", "sqlite"].map(locks), [6, 6, 0], "{shown}");
    assert!(shown.contains("o_d_id = $2 AND o_id = $3\n"), "{shown}");
}

/// The names of the checks that failed, of the conditions their numbers.
fn failed(checks: &[Check]) -> BTreeSet<String> {
    let failed = checks.iter().filter(|check| check.passed != Some(true)).map(|check| &check.name);
    let short = |name: &String| match name.strip_prefix("condition-").and_then(|rest| rest.split('-').next())
    {
        Some(number) => number.to_owned(),
        None => name.clone(),
    };
    failed.map(short).collect()
}

#[test]
#[ignore = "slow: a warehouse is loaded into each product"]
fn populations_are_the_specifications_and_faults_are_found_by_their_conditions() {
    on_each(|shop| {
        let name = &shop.name;
        shop.prepare_of("./tpcc").unwrap();
        for (query, expected) in POPULATIONS {
            assert_eq!(shop.text(query), *expected, "{name}: {query}");
        }
        let load = |workload: &str| shop.find(&format!("./tpcc/{workload}")).loads().remove(0);
        // Before and after loads of several clients.
        for workload in ["stock_level", "order_status", "new_order", "payment", "delivery"] {
            assert_eq!(shop.failed(&format!("./tpcc/{workload}"), &[]), "", "{name}: {workload}");
        }
        let mix = load("mix");
        let baseline = mix.baseline(&mut shop.open()).unwrap().unwrap();
        // Each client deals all cards once.
        let done = shop.run(mix.as_ref(), 23);
        assert_eq!(done.acknowledged, 46, "{name}");
        let verified =
            || failed(&baseline.verify(&mut shop.open(), "it", done, &[mix.acknowledged()]).unwrap());
        assert_eq!(verified(), BTreeSet::new(), "{name}");
        // In one file, which is quick to count, each alone; elsewhere those together that no check has in common.
        let alone = FAULTS.iter().flat_map(|group| group.iter().map(std::slice::from_ref));
        let groups: Vec<&[Fault]> = if name == "SQLite" { alone.collect() } else { FAULTS.to_vec() };
        for group in groups {
            let named = || group.iter().flat_map(|(.., checks)| checks.split(' '));
            let expected: BTreeSet<String> = named().map(str::to_owned).collect();
            assert_eq!(expected.len(), named().count(), "a check is of two faults");
            group.iter().flat_map(|(_, done, ..)| *done).for_each(|sql| shop.execute(sql));
            assert_eq!(
                verified(),
                expected,
                "{name}: {:?}",
                group.iter().map(|fault| fault.0).collect::<Vec<_>>()
            );
            group.iter().flat_map(|(_, _, undone, _)| *undone).for_each(|sql| shop.execute(sql));
        }
        assert_eq!(verified(), BTreeSet::new(), "{name}");
        // A district is delivered, or it is skipped.
        let load = load("delivery");
        load.reset(&mut shop.open(), None).unwrap();
        shop.execute("DELETE FROM new_order WHERE no_d_id IN (3, 8)");
        let orders = || shop.text("SELECT COUNT(*) FROM new_order").parse::<u64>().unwrap();
        let before = orders();
        let skipped = shop.counted(load.as_ref(), 20)["delivery.districts_skipped"];
        assert_eq!((before - orders() + skipped, skipped >= 80), (400, true), "{name}");
    });
}
