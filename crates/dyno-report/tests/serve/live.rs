//! Runs that are watched while they go.

use std::io::Read as _;
use std::thread;
use std::time::Duration;

use dyno_results::event::{Event, Notice, Stamped};
use dyno_results::fold::fold;
use rusqlite::Connection;
use serde_json::Value;

use crate::http::{Events, get, request};
use crate::stand::{FIRST, Stand, append, short, until};
use crate::stream::Plan;

/// Rows of load and points of one metric, of a document or of what was added to one.
fn lengths(timelines: &Value) -> (usize, usize) {
    let length = |column: &Value| column.as_array().map_or(0, Vec::len);
    let mut sums = (0, 0);
    for timeline in timelines.as_array().unwrap() {
        sums.0 += length(&timeline["load"]["tps"]);
        for metric in timeline["metrics"].as_array().unwrap() {
            sums.1 += length(&metric["values"]);
        }
    }
    sums
}

fn expected(events: &[Stamped]) -> (usize, usize) {
    lengths(&serde_json::to_value(fold(events).timelines).unwrap())
}

#[test]
fn a_reader_sees_a_run_from_wherever_it_came_in_to_its_end() {
    let stand = Stand::new();
    let events = short();
    let thirds: Vec<_> = events.chunks(events.len().div_ceil(3)).collect();
    let mut writer = stand.begin();
    append(&mut writer, thirds[0]);
    assert_eq!(get(stand.address(), "/api/runs").json()["runs"][0]["live"], true);

    let mut early = Events::open(stand.address(), "/api/runs/last/live");
    let begun = early.expect("report");
    assert_eq!(begun.id, thirds[0].last().map(|stamped| stamped.seq));
    assert_eq!((&begun.data["live"], &begun.data["run"]["outcome"]), (&true.into(), &"incomplete".into()));
    let codes = begun.data["findings"].as_array().unwrap().iter().map(|finding| finding["code"].clone());
    assert!(!codes.into_iter().any(|code| code == "incomplete"), "it is only not at its end");
    let mut sums = lengths(&begun.data["timelines"]);
    assert_eq!(sums, expected(thirds[0]));

    append(&mut writer, thirds[1]);
    let take = |stream: &mut Events, sums: &mut (usize, usize)| {
        let update = stream.expect("update");
        assert!(update.data["report"].get("timelines").is_none());
        let (rows, points) = lengths(&update.data["append"]);
        *sums = (sums.0 + rows, sums.1 + points);
        update
    };
    take(&mut early, &mut sums);
    // One that comes in between begins with the whole, and both go on from the same place.
    append(&mut writer, &thirds[2][..1]);
    let mut late = Events::open(stand.address(), &format!("/api/runs/{FIRST}/live"));
    let mut late_sums = lengths(&late.expect("report").data["timelines"]);
    append(&mut writer, &thirds[2][1..]);
    for (stream, sums) in [(&mut early, &mut sums), (&mut late, &mut late_sums)] {
        loop {
            let update = take(stream, sums);
            if update.id == events.last().map(|stamped| stamped.seq) {
                assert_eq!(update.data["report"]["run"]["outcome"], "complete");
                assert_eq!(update.data["report"]["live"], false);
                break;
            }
        }
        assert_eq!(*sums, expected(&events), "every point came, and none twice");
        let end = stream.expect("end").data;
        assert_eq!(end["reason"], Value::Null);
        // Where the report lies when this server is gone.
        assert!(end["report"].as_str().unwrap().ends_with("/report.html"), "{end}");
        assert!(stream.next().is_none(), "the stream ends there");
    }
    until("nobody reads", || stand.server.readers() == 0);
    // Who comes too late is told at once.
    let mut after = Events::open(stand.address(), "/api/runs/last/live");
    assert_eq!(lengths(&after.expect("report").data["timelines"]), expected(&events));
    after.expect("end");
}

/// A ramp of some stages, each of some seconds.
fn ramp() -> Vec<Stamped> {
    Plan { ladder: (1..=12).collect(), rung_s: 2, hold_s: 2, ..Plan::default() }.events()
}

/// What a reader makes of a document and an update, as the page does: what is not in it stays as it was.
fn take_in(document: &mut Value, update: &Value) {
    for (name, part) in update["report"].as_object().unwrap() {
        document[name] = part.clone();
    }
    let stages = document["stages"].as_array_mut().unwrap();
    for stage in update["stages"].as_array().unwrap() {
        match stages.iter_mut().find(|known| known["id"] == stage["id"]) {
            Some(known) => *known = stage.clone(),
            None => stages.push(stage.clone()),
        }
    }
}

#[test]
fn only_what_has_changed_is_sent_and_all_of_it_is_the_report() {
    let stand = Stand::new();
    let events = ramp();
    let mut writer = stand.begin();
    append(&mut writer, &events[..40]);
    let mut stream = Events::open(stand.address(), "/api/runs/last/live");
    let mut document = stream.expect("report").data;
    let (mut sent, mut updates) = (document["stages"].as_array().unwrap().len(), 0);
    // Some events a look: each is followed by an update before the next ones come.
    for part in events[40..].chunks(10) {
        append(&mut writer, part);
        loop {
            let update = stream.expect("update");
            take_in(&mut document, &update.data);
            sent += update.data["stages"].as_array().unwrap().len();
            updates += 1;
            assert!(update.data["report"].get("stages").is_none(), "stages are sent one by one");
            for name in ["schema", "targets", "hosts", "settings"] {
                assert!(update.data["report"].get(name).is_none(), "{name} has not changed");
            }
            if update.id == part.last().map(|stamped| stamped.seq) {
                break;
            }
        }
    }
    stream.expect("end");
    let mut whole = get(stand.address(), "/api/runs/last").json();
    for document in [&mut document, &mut whole] {
        document.as_object_mut().unwrap().remove("timelines");
    }
    assert_eq!(document, whole);
    let stages = whole["stages"].as_array().unwrap().len();
    // With each update the one under way, and now and then the ones beside it.
    assert!(stages > 10 && sent <= stages + 3 * updates, "{sent} of {stages} stages in {updates} updates");
}

#[test]
fn a_run_whose_process_is_gone_ends_and_is_not_live() {
    let stand = Stand::new();
    let events = short();
    let mut writer = stand.begin();
    append(&mut writer, &events[..events.len() / 2]);
    let mut stream = Events::open(stand.address(), "/api/runs/last/live");
    stream.expect("report");
    drop(writer);
    assert!(stream.expect("end").data["reason"].as_str().unwrap().contains("gone"));
    assert_eq!(get(stand.address(), "/api/runs").json()["runs"][0]["live"], false);
    let told = get(stand.address(), "/api/runs/last").json();
    assert_eq!(told["live"], false);
    let codes = told["findings"].as_array().unwrap().iter().map(|finding| finding["code"].clone());
    assert!(codes.into_iter().any(|code| code == "incomplete"), "now it is");
}

#[test]
fn a_run_that_is_taken_out_of_the_store_ends_for_its_readers() {
    let stand = Stand::new();
    let events = short();
    let mut writer = stand.begin();
    append(&mut writer, &events[..20]);
    let mut stream = Events::open(stand.address(), "/api/runs/last/live");
    stream.expect("report");
    writer.discard().unwrap();
    assert!(stream.expect("end").data["reason"].as_str().unwrap().contains("store"));
    assert_eq!(get(stand.address(), &format!("/api/runs/{FIRST}")).status, 404);
}

#[test]
fn a_hundred_readers_are_served_alike() {
    let stand = Stand::new();
    let events = short();
    let mut writer = stand.begin();
    append(&mut writer, &events[..20]);
    let mut readers: Vec<_> =
        (0..100).map(|_| Events::open(stand.address(), "/api/runs/last/live?points=50")).collect();
    for reader in &mut readers {
        assert_eq!(reader.expect("report").id, Some(19));
    }
    append(&mut writer, &events[20..]);
    for reader in &mut readers {
        let ended = loop {
            match reader.next().unwrap() {
                event if event.kind == "end" => break event,
                event => assert_eq!(event.kind, "update"),
            }
        };
        assert_eq!(ended.id, events.last().map(|stamped| stamped.seq));
    }
    drop(readers);
    until("nobody reads", || stand.server.readers() == 0);
}

#[test]
fn a_reader_that_never_reads_is_dropped_and_nobody_waits_for_it() {
    // Long enough for the one who reads, on a busy machine too.
    let stand = Stand::with(|options| options.stalled = Duration::from_secs(5));
    let mut events = short();
    // More than the buffers of a socket hold.
    let text = "much ".repeat(5 << 19);
    events[19].event = Event::Notice(Notice { target: None, stage: None, text });
    let mut writer = stand.begin();
    append(&mut writer, &events[..20]);
    let mut heeding = Events::open(stand.address(), "/api/runs/last/live");
    heeding.expect("report");
    let mut deaf: Vec<_> =
        (0..3).map(|_| request(stand.address(), "GET", "/api/runs/last/live", &[])).collect();
    // They have been answered: from here on they take nothing.
    for reader in &mut deaf {
        reader.read_exact(&mut [0; 12]).unwrap();
    }
    until("only who reads is left", || stand.server.readers() == 1);
    append(&mut writer, &events[20..]);
    // One update, or two where a look came in between.
    heeding.expect("update");
    while heeding.next().expect("it is told of the end").kind == "update" {}
    drop(deaf);
}

#[test]
fn readers_that_leave_are_forgotten_and_the_store_is_left_alone() {
    let stand = Stand::new();
    let mut writer = stand.begin();
    append(&mut writer, &short()[..20]);
    for _ in 0..5 {
        let mut stream = Events::open(stand.address(), "/api/runs/last/live");
        stream.expect("report");
    }
    append(&mut writer, &short()[20..25]);
    until("nobody reads", || stand.server.readers() == 0);
}

#[test]
fn a_store_that_is_locked_for_a_while_is_waited_for() {
    let stand = Stand::new();
    let events = short();
    let mut writer = stand.begin();
    append(&mut writer, &events[..20]);
    let mut stream = Events::open(stand.address(), "/api/runs/last/live");
    stream.expect("report");
    let mut holder = Connection::open(stand.file()).unwrap();
    let lock = holder.transaction_with_behavior(rusqlite::TransactionBehavior::Exclusive).unwrap();
    thread::sleep(Duration::from_millis(1500));
    drop(lock);
    append(&mut writer, &events[20..]);
    stream.expect("update");
}

#[test]
fn a_server_that_ends_tells_its_readers_what_there_is_to_tell() {
    let stand = Stand::new();
    let events = short();
    let mut writer = stand.begin();
    append(&mut writer, &events[..20]);
    let mut stream = Events::open(stand.address(), "/api/runs/last/live");
    stream.expect("report");
    append(&mut writer, &events[20..]);
    drop(writer);
    let address = stand.address();
    let Stand { server, .. } = stand;
    let reading = thread::spawn(move || {
        let mut kinds = Vec::new();
        while let Some(event) = stream.next() {
            kinds.push(event.kind);
        }
        // As the page does then, which may have much to draw first.
        thread::sleep(Duration::from_millis(500));
        (kinds, get(address, "/api/runs/last?points=10000").status)
    });
    server.close(Duration::from_secs(30));
    let (kinds, asked_again) = reading.join().unwrap();
    assert_eq!((kinds.last().map(String::as_str), asked_again), (Some("end"), 200));
}

#[test]
fn a_server_that_must_end_at_once_does_so_with_streams_open() {
    let stand = Stand::new();
    let mut writer = stand.begin();
    append(&mut writer, &short()[..20]);
    let mut stream = Events::open(stand.address(), "/api/runs/last/live");
    stream.expect("report");
    let address = stand.address();
    drop(stand.server);
    assert!(stream.next().is_none());
    assert!(std::net::TcpStream::connect(address).is_err());
}
