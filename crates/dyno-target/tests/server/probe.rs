use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use dyno_engine::driver::Route;
use dyno_results::event::{Event, Sample};
use dyno_target::probe::{HostOptions, HostReading, Probe, ProbeOptions};

use crate::support::{Server, wait_for};

fn start(server: &Server, host: bool) -> (Probe, Receiver<Event>) {
    let (sender, receiver) = mpsc::channel();
    let options = ProbeOptions {
        database: Some(Route::Wire(server.settings("user=postgres", false).endpoint().unwrap())),
        host: if host {
            HostReading::This(HostOptions {
                server_pid: Some(server.process_id()),
                disk: Some(server.directory.clone()),
            })
        } else {
            HostReading::None
        },
        interval: Duration::from_millis(50),
        ..ProbeOptions::new("pg")
    };
    let probe = Probe::start(options, move |event| drop(sender.send(event))).unwrap();
    (probe, receiver)
}

fn next_sample(events: &Receiver<Event>, source: &str) -> Sample {
    loop {
        match events.recv_timeout(Duration::from_secs(300)).unwrap() {
            Event::Sample(sample) if sample.source == source => return sample,
            _ => {}
        }
    }
}

#[test]
fn samples_of_host_and_database_arrive_until_it_is_dropped() {
    let Some(server) = Server::shared() else { return };
    let (probe, events) = start(&server, true);
    assert_eq!(next_sample(&events, "database").target, "pg");
    wait_for("the probe's own transactions to be counted", || {
        next_sample(&events, "database").values["transactions_committed_total"] > 0.0
    });
    let host = next_sample(&events, "host");
    for key in [
        "cpu_user_seconds_total",
        "memory_available_bytes",
        "driver_cpu_seconds_total",
        "server_memory_bytes",
    ] {
        assert!(host.values.contains_key(key), "{key}: {host:?}");
    }
    drop(probe);
    while events.try_recv().is_ok() {}
    assert_eq!(events.recv(), Err(mpsc::RecvError), "the outlet went with the probe");
}

#[test]
fn a_restarted_server_is_read_again_and_both_are_told() {
    let Some(mut server) = Server::start(&[]) else { return };
    let (probe, events) = start(&server, false);
    let next = || events.recv_timeout(Duration::from_secs(300)).unwrap();
    let mut told = Vec::new();
    // The last outage of several is no longer told.
    for _ in 0..4 {
        next_sample(&events, "database");
        server.restart();
        // What has come until now may be of the time before; of five samples that are still to come one may be.
        let mut come: Vec<Event> = events.try_iter().collect();
        let mut samples = 0;
        while samples < 5 {
            let event = next();
            samples += u32::from(matches!(event, Event::Sample(_)));
            come.push(event);
        }
        let said = come.into_iter().filter_map(|event| match event {
            Event::Notice(notice) => {
                assert_eq!(notice.target.as_deref(), Some("pg"));
                Some(notice.text)
            }
            Event::Sample(_) => None,
            other => panic!("{other:?}"),
        });
        told.push(said.collect::<Vec<_>>());
    }
    drop(probe);
    let [first, .., last] = told.as_slice() else { panic!("{told:?}") };
    let [lost, back] = first.as_slice() else { panic!("{first:?}") };
    assert!(lost.starts_with("statistics of the database are missing for a while: "), "{lost}");
    assert!(back.starts_with("the database is read again"), "{back}");
    assert!(last.is_empty(), "{last:?}");
}

#[test]
fn a_database_that_was_never_there_costs_a_notice_only() {
    let Some(server) = Server::shared() else { return };
    let (sender, events) = mpsc::channel();
    let endpoint = server.settings("user=postgres dbname=never_there", false).endpoint().unwrap();
    let options = ProbeOptions {
        database: Some(Route::Wire(endpoint)),
        host: HostReading::This(HostOptions::default()),
        interval: Duration::from_millis(20),
        ..ProbeOptions::new("pg")
    };
    let probe = Probe::start(options, move |event| drop(sender.send(event))).unwrap();
    for _ in 0..10 {
        next_sample(&events, "host");
    }
    drop(probe);
    assert!(
        events.try_iter().all(|event| matches!(event, Event::Sample(_))),
        "the notice came first and once"
    );
}
