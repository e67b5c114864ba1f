//! The rows of the tables are compared with those that their generator makes, before anything is measured.

use dyno_test_servers::{ClickHouse, ClickHouseKind, Lie, LyingProxy};

use crate::home::Home;
use crate::server::{database, shared, value};
use crate::sqlite;

/// A run of a workload, what damages its data so that no sample of a hundred rows tells, and what is then said.
struct Damage {
    words: &'static str,
    sql: &'static str,
    said: &'static [&'static str],
}

const DAMAGES: [Damage; 6] = [
    Damage {
        words: "tpch --scale 0.01 --warm-up 0s --repeat 1",
        sql: "DELETE FROM lineitem WHERE l_orderkey % 2 = 0",
        said: &["lineitem has", "rows, not 60,175"],
    },
    Damage {
        words: "tpcb/select-only --scale 1 --clients 1 --transactions 20 --warm-up 0s",
        sql: "DELETE FROM pgbench_accounts WHERE aid % 1000 = 2",
        said: &["pgbench_accounts has 99,900 rows, not 100,000"],
    },
    Damage {
        words: "ycsb/c --records 2000 --clients 1 --transactions 20 --warm-up 0s",
        sql: "DELETE FROM usertable WHERE ycsb_key = 'user8517097267634966620'",
        said: &["usertable has 1,999 rows, not at least 2,000"],
    },
    Damage {
        words: "events/join --rows 20000 --customers 1000 --clients 1 --transactions 20 --warm-up 0s",
        sql: "DELETE FROM event WHERE id IN (2, 3)",
        said: &["event has 19,998 rows, not at least 20,000"],
    },
    Damage {
        words: "oltp_point_select --tables 2 --table-size 2000 --clients 1 --transactions 20 --warm-up 0s",
        sql: "DELETE FROM sbtest2 WHERE id = 2",
        said: &["sbtest2 has 1,999 rows, not at least 2,000"],
    },
    Damage {
        words: "tpch --scale 0.01 --warm-up 0s --repeat 1",
        sql: "TRUNCATE region CASCADE",
        said: &["region has 0 rows, not 5", "nation has 0 rows, not 25", "lineitem has 0 rows, not 60,175"],
    },
];

fn refuses_incomplete(home: &Home, target: &str, damage: &Damage, do_it: impl Fn(&str)) {
    let words: Vec<&str> = ["run"].into_iter().chain(damage.words.split(' ')).collect();
    let words = [&words[..], &["--target", target, "--json"]].concat();
    home.dyno(&[&words[..], &["--prepare"]].concat()).expect(0);
    home.dyno(&words).expect(0);
    do_it(damage.sql);
    let refused = home.dyno(&words).expect(1);
    refused.says(damage.said);
    refused.says(&["--prepare", "--no-verify"]);
    home.dyno(&[&words[..], &["--no-verify"]].concat()).expect(0);
}

#[test]
fn incomplete_data_are_not_measured_on_postgresql() {
    let Some(server) = shared() else { return };
    let home = Home::new();
    for (at, damage) in DAMAGES.iter().enumerate() {
        let name = format!("incomplete_{at}");
        let target = database(&server, &name);
        refuses_incomplete(&home, &target, damage, |sql| drop(value(&server, &name, sql)));
    }
}

#[test]
fn incomplete_data_are_not_measured_on_sqlite() {
    let home = Home::new();
    for (at, damage) in DAMAGES[1..5].iter().enumerate() {
        let name = format!("incomplete_{at}.db");
        let target = sqlite::target(&home, &name, "");
        if sqlite::shell(&home, &name, "SELECT 1").is_none() {
            return;
        }
        refuses_incomplete(&home, &target, damage, |sql| drop(sqlite::shell(&home, &name, sql)));
    }
}

/// An answer without a word looks as that of a server that says nothing of the rows that it wrote.
#[test]
fn an_insert_that_a_proxy_has_swallowed_is_missed() {
    let Some(server) = ClickHouse::start(ClickHouseKind::Engine) else { return };
    let home = Home::new();
    let lie = Lie { asked: "INSERT%20INTO%20orders", times: 1, headers: "", body: "" };
    let proxy = LyingProxy::start(server.address, lie);
    let run = |target: &str| {
        let words =
            ["run", "tpch", "--scale", "0.01", "--warm-up", "0s", "--repeat", "1", "--target", target];
        home.dyno(&words).expect(1).says(&["orders has", "rows, not 15,000", "--prepare"]);
    };
    run(&format!("clickhouse://{}", proxy.address));
    assert_eq!(proxy.kept(), 1);
    // Nor does the next run take them as good.
    run(&server.url());
}
