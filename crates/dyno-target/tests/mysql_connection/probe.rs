use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use dyno_results::event::{Event, Sample};
use dyno_target::probe::{Probe, ProbeOptions};
use dyno_test_servers::{Mysql, MysqlProduct};

use crate::support::{DATABASE, each, own, root, target, url};

fn start(server: &Mysql) -> (Probe, Receiver<Event>) {
    let (sender, receiver) = mpsc::channel();
    let options = ProbeOptions {
        database: Some(target(&url(server, "")).route().unwrap()),
        interval: Duration::from_millis(50),
        ..ProbeOptions::new("my")
    };
    let probe = Probe::start(options, move |event| drop(sender.send(event))).unwrap();
    (probe, receiver)
}

fn next(events: &Receiver<Event>) -> Event {
    events.recv_timeout(Duration::from_secs(300)).unwrap()
}

/// Notices before it tell of a server that could not answer in time.
fn next_sample(events: &Receiver<Event>) -> Sample {
    loop {
        match next(events) {
            Event::Sample(sample) => return sample,
            Event::Notice(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn samples_arrive_until_the_probe_is_dropped() {
    each(|server| {
        let (probe, events) = start(server);
        let sample = next_sample(&events);
        assert_eq!((sample.source.as_str(), sample.target.as_str()), ("database", "my"));
        assert!(!sample.values.is_empty(), "{}", server.product());
        next_sample(&events);
        if server.product() == MysqlProduct::Mysql {
            // Probes of other suites are in other databases, and another test's is of another user.
            let sql = format!(
                "SELECT count(*) FROM performance_schema.session_connect_attrs \
                 JOIN information_schema.processlist p ON p.id = processlist_id \
                 WHERE attr_name = 'program_name' AND attr_value = 'dyno probe' \
                 AND p.db = '{DATABASE}' AND p.user = 'root'"
            );
            assert_eq!(root(server).query_value::<u32>(&sql).unwrap(), Some(1));
        }
        drop(probe);
        while events.try_recv().is_ok() {}
        assert_eq!(events.recv(), Err(mpsc::RecvError), "the outlet went with the probe");
    });
}

#[test]
fn a_server_that_died_is_read_again_and_both_are_told() {
    for &product in MysqlProduct::tested() {
        let Some(mut server) = own(product) else { continue };
        let (probe, events) = start(&server);
        next_sample(&events);
        server.kill();
        server.restart();
        let mut told = Vec::new();
        loop {
            match next(&events) {
                Event::Notice(notice) => {
                    assert_eq!(notice.target.as_deref(), Some("my"));
                    told.push(notice.text);
                }
                Event::Sample(_) if !told.is_empty() => break,
                _ => {}
            }
        }
        drop(probe);
        let [lost, back] = told.as_slice() else { panic!("{product}: {told:?}") };
        assert!(lost.contains("missing for a while") && back.contains("read again"), "{product}: {told:?}");
    }
}
