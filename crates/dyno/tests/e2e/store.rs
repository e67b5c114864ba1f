//! Stores that cannot be used: told before anything is started, and left as they are.

use std::fs;

use rusqlite::Connection;

use crate::home::Home;

/// Calls every command on a store; each must refuse it with these words, and none may change it.
fn refused(home: &Home, store: &str, words: &[&str]) {
    let before = fs::read(store).unwrap();
    for command in [&["run", "--quick"][..], &["report"], &["runs"], &["findings"]] {
        home.dyno(&[command, &["--store", store]].concat()).expect(1).says(&[words, &[store]].concat());
    }
    assert!(fs::read(store).unwrap() == before, "the file is as it was");
}

#[test]
fn a_file_that_is_no_store_is_left_alone() {
    let home = Home::new();
    let text = home.file("letter.txt", &"Dear Sir or Madam, this is no database. ".repeat(100));
    refused(&home, &text, &["not a store of dyno", "no SQLite database"]);
    let other = home.path("other.sqlite");
    Connection::open(&other).unwrap().execute_batch("create table mine (a)").unwrap();
    refused(&home, other.to_str().unwrap(), &["not a store of dyno", "another program's"]);
}

#[test]
fn a_store_of_a_newer_dyno_is_left_alone() {
    let home = Home::new();
    let store = home.path("new.sqlite");
    let named = store.to_str().unwrap();
    make(&home, &["--store", named]);
    Connection::open(&store).unwrap().pragma_update(None, "user_version", 99).unwrap();
    refused(&home, named, &["newer dyno", "99"]);
}

#[test]
fn a_locked_store_is_told_and_nothing_is_started() {
    let home = Home::new();
    make(&home, &[]);
    let mut holder = Connection::open(home.store()).unwrap();
    let lock = holder.transaction_with_behavior(rusqlite::TransactionBehavior::Exclusive).unwrap();
    let servers = home.servers();
    let ended = home.dyno(&["run", "--quick", "--data-dir", &servers]).expect(1);
    ended.says(&["locked", home.store().to_str().unwrap()]);
    assert!(home.server_directories().is_empty());
    drop(lock);
    home.dyno(&["runs"]).expect(0);
}

#[test]
fn a_store_is_made_where_it_is_wanted() {
    let home = Home::new();
    let wanted = home.path("of/mine/runs.sqlite");
    make(&home, &["--store", wanted.to_str().unwrap()]);
    assert!(wanted.is_file() && !home.store().exists());
    home.dyno(&["runs", "--store", wanted.to_str().unwrap()]).expect(0);
}

/// A run that cannot start, which makes the store.
fn make(home: &Home, store: &[&str]) {
    home.dyno(&[&["run", "--target", "postgres://nobody@127.0.0.1:1/none"], store].concat()).expect(1);
}

#[test]
fn a_store_that_is_named_to_be_read_must_be_there() {
    let home = Home::new();
    let mistyped = home.path("mistyped.sqlite");
    for command in [
        &["report"][..],
        &["runs"],
        &["findings"],
        &["compare", "last"],
        &["serve", "--listen", "127.0.0.1:0"],
    ] {
        let ended = home.dyno(&[command, &["--store", mistyped.to_str().unwrap()]].concat()).expect(1);
        ended.says(&["there is no store", "mistyped.sqlite", "dyno run --store"]);
    }
    assert!(!mistyped.exists(), "none was made");
}

#[test]
fn before_the_first_run_reading_makes_no_store() {
    let home = Home::new();
    assert!(home.dyno(&["runs"]).expect(0).out.contains("no runs are stored yet"));
    for command in [&["report"][..], &["findings"], &["compare", "last"]] {
        home.dyno(command).expect(1).says(&["no run is stored yet", "dyno.sqlite", "dyno run"]);
    }
    assert!(!home.store().exists());
}
