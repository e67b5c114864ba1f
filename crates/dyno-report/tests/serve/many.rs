//! Many who ask for the same at once: it is computed once, and is what the store has.

use std::sync::Barrier;
use std::thread;

use dyno_results::event::Stamped;
use serde_json::Value;

use crate::http::{Answer, Events, get};
use crate::stand::{Stand, append, named, short};

/// The answers to a hundred requests that begin together, which must all be the same.
fn ask_at_once(stand: &Stand, path: &str) -> Value {
    asked_at_once(stand, path).json()
}

fn asked_at_once(stand: &Stand, path: &str) -> Answer {
    let (address, barrier) = (stand.address(), Barrier::new(100));
    let ask = || {
        barrier.wait();
        get(address, path)
    };
    let mut answers: Vec<_> = thread::scope(|scope| {
        let asking: Vec<_> = (0..100).map(|_| scope.spawn(ask)).collect();
        asking.into_iter().map(|asking| asking.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|answer| answer.status == 200 && answer.body == answers[0].body));
    answers.swap_remove(0)
}

fn rows(document: &Value) -> usize {
    document["timelines"][0]["load"]["t_s"].as_array().unwrap().len()
}

#[test]
fn a_hundred_requests_at_once_cost_one_computation() {
    let stand = Stand::new();
    stand.stored(&short());
    let path = "/api/runs/last";
    let told = ask_at_once(&stand, path);
    assert_eq!(stand.server.documents_computed(), 1);
    // By another name, and as who watches begins.
    assert_eq!(get(stand.address(), "/api/runs/2026").json(), told);
    assert_eq!(Events::open(stand.address(), "/api/runs/last/live").expect("report").data, told);
    assert_eq!(stand.server.documents_computed(), 1);
    // Another part of it is another document.
    let part = ask_at_once(&stand, "/api/runs/last?from=2&to=4");
    assert!(rows(&part) < rows(&told));
    assert_eq!(stand.server.documents_computed(), 2);
    assert_eq!(ask_at_once(&stand, path), told);
    assert_eq!(stand.server.documents_computed(), 2);
}

#[test]
fn series_and_comparisons_are_computed_once_too() {
    let stand = Stand::new();
    let first = stand.stored(&short());
    let csv = asked_at_once(&stand, "/api/runs/last/series.csv");
    assert!(csv.body.starts_with("target,"), "{}", csv.body);
    assert_eq!(stand.server.documents_computed(), 1);
    let mut writer = stand.begin();
    let events = named(short(), writer.name());
    let (begun, rest) = events.split_at(events.len() - 12);
    append(&mut writer, begun);
    let path = format!("/api/compare?side={first}&side=last");
    let told = ask_at_once(&stand, &path);
    assert_eq!(told["sides"].as_array().unwrap().len(), 2);
    assert_eq!(stand.server.documents_computed(), 2);
    assert_eq!(ask_at_once(&stand, &path), told);
    assert_eq!(stand.server.documents_computed(), 2);
    // One of the runs goes on.
    append(&mut writer, rest);
    assert_ne!(ask_at_once(&stand, &path), told);
    assert_eq!(stand.server.documents_computed(), 3);
    // What is none is asked for anew.
    assert_eq!(get(stand.address(), "/api/compare?side=nowhere&side=last").status, 400);
}

#[test]
fn a_run_that_grows_is_never_answered_from_what_it_was() {
    let stand = Stand::new();
    let events = short();
    let mut writer = stand.begin();
    let mut last_rows = 0;
    let parts: Vec<&[Stamped]> = events[..events.len() - 1].chunks(12).collect();
    for (index, part) in parts.iter().enumerate() {
        append(&mut writer, part);
        let told = ask_at_once(&stand, "/api/runs/last");
        assert_eq!(stand.server.documents_computed(), index as u64 + 1);
        let shown = if told["timelines"][0].is_null() { 0 } else { rows(&told) };
        assert!(shown >= last_rows && told["live"] == true);
        last_rows = shown;
    }
    assert!(last_rows > 8, "{last_rows}");
    // Its process is gone, which no event says.
    drop(writer);
    assert_eq!(ask_at_once(&stand, "/api/runs/last")["live"], false);
    assert_eq!(stand.server.documents_computed(), parts.len() as u64 + 1);
}

#[test]
fn another_run_of_the_same_name_has_a_document_of_its_own() {
    let stand = Stand::new();
    let mut events = short()[..30].to_vec();
    let mut writer = stand.begin();
    append(&mut writer, &events);
    let before = get(stand.address(), "/api/runs/last").json();
    writer.discard().unwrap();
    drop(writer);
    // It gets the name, and the number in the store; and as many events.
    let mut writer = stand.begin();
    events.iter_mut().for_each(|stamped| stamped.at_ms += 1000);
    append(&mut writer, &events);
    let told = get(stand.address(), "/api/runs/last").json();
    assert_eq!(told["run"]["name"], before["run"]["name"]);
    assert_ne!(told["run"]["seconds"], before["run"]["seconds"]);
}
