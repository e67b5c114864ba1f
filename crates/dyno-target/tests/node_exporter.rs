//! Reading a real node_exporter of this machine: its figures beside those of `/proc`, its failures, and its absence.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::io::Write as _;
use std::net::TcpListener;
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use dyno_results::event::{Event, Sample};
use dyno_target::host::{self, Sampler};
use dyno_target::probe::{HostReading, NodeExporter, NodeExporterError, Probe, ProbeOptions};
use dyno_test_servers::NodeExporter as Server;

fn url(server: &Server) -> String {
    format!("http://{}/metrics", server.address)
}

fn exporter(url: &str) -> NodeExporter {
    NodeExporter::parse(url).unwrap()
}

fn watch(url: &str) -> (Probe, Receiver<Event>) {
    let (sender, receiver) = mpsc::channel();
    let options = ProbeOptions {
        host: HostReading::NodeExporter(exporter(url)),
        interval: Duration::from_millis(50),
        ..ProbeOptions::new("pg")
    };
    let probe = Probe::start(options, move |event| drop(sender.send(event))).unwrap();
    (probe, receiver)
}

fn next(events: &Receiver<Event>) -> Event {
    events.recv_timeout(Duration::from_secs(300)).unwrap()
}

fn next_sample(events: &Receiver<Event>) -> Sample {
    match next(events) {
        Event::Sample(sample) => sample,
        other => panic!("{other:?}"),
    }
}

fn notice(event: Event) -> Option<String> {
    match event {
        Event::Notice(notice) => {
            assert_eq!(notice.target.as_deref(), Some("pg"));
            Some(notice.text)
        }
        _ => None,
    }
}

#[test]
fn it_says_the_same_as_proc() {
    let Some(server) = Server::start(&[]) else { return };
    let mut sampler = Sampler::new(None, None);
    let before = sampler.sample();
    let (probe, events) = watch(&url(&server));
    let sample = next_sample(&events);
    assert_eq!((sample.source.as_str(), sample.target.as_str()), ("host", "pg"));
    let between = next_sample(&events).values;
    let after = sampler.sample();
    // Read between two readings of /proc, a counter lies between them. The kernel adds up what processors count at
    // different times, and idle time and iowait may step back a little.
    for key in ["cpu_user_seconds_total", "cpu_system_seconds_total", "cpu_idle_seconds_total"] {
        let within = before[key] - 0.5..=after[key] + 0.5;
        assert!(within.contains(&between[key]), "{key}: {} is not in {within:?}", between[key]);
    }
    for key in ["cpus", "memory_total_bytes"] {
        assert_eq!(between[key], after[key], "{key}");
    }
    let tenth = after["memory_total_bytes"] / 10.0;
    // Others on this machine may have taken much of it between the two readings, but not between all.
    let alike = |told: f64, here: f64| (told - here).abs() < tenth;
    let mut told = between["memory_available_bytes"];
    let mut looks = 1;
    while !alike(told, sampler.sample()["memory_available_bytes"]) {
        assert!(looks < 100, "{told} bytes of memory are available, it says");
        told = next_sample(&events).values["memory_available_bytes"];
        looks += 1;
    }
    let driver_only = ["driver_", "cgroup_", "loopback_"];
    drop(probe);
    for key in before.keys().filter(|key| !driver_only.iter().any(|prefix| key.starts_with(prefix))) {
        assert!(between.contains_key(key), "{key} is missing");
    }
}

#[test]
fn the_machine_is_told_as_it_tells_of_itself() {
    let Some(server) = Server::start(&[]) else { return };
    let told = exporter(&url(&server)).check().unwrap();
    let here = host::facts(None);
    assert_eq!((told.hostname, told.kernel, told.os), (here.hostname, here.kernel, here.os));
    assert_eq!((told.cpus, told.memory_bytes), (here.cpus, here.memory_bytes));
}

#[test]
fn a_collector_that_is_switched_off_costs_its_keys_only() {
    let Some(server) = Server::start(&["--no-collector.pressure", "--no-collector.os"]) else { return };
    let (_probe, events) = watch(&url(&server));
    let values = next_sample(&events).values;
    assert!(values.contains_key("cpu_user_seconds_total") && values.contains_key("memory_total_bytes"));
    assert!(!values.contains_key("pressure_cpu_seconds_total"), "{values:?}");
}

#[test]
fn a_lost_one_is_told_once_and_so_is_its_return() {
    let Some(mut server) = Server::start(&[]) else { return };
    let (probe, events) = watch(&url(&server));
    next_sample(&events);
    server.kill();
    let lost = std::iter::from_fn(|| Some(next(&events))).find_map(notice).unwrap();
    assert!(
        lost.contains(&url(&server)) && lost.contains("cannot be reached") && lost.contains("check"),
        "{lost}"
    );
    // Nothing is filled in, and nothing is said again, while it is away.
    assert!(events.recv_timeout(Duration::from_millis(500)).is_err());
    server.restart();
    let back = notice(next(&events)).unwrap();
    assert!(back.starts_with("the host is read again"), "{back}");
    assert!(next_sample(&events).values.contains_key("cpu_user_seconds_total"));
    drop(probe);
    assert!(events.try_iter().all(|event| matches!(event, Event::Sample(_))));
}

#[test]
fn a_probe_of_nobody_ends_at_once() {
    let (probe, events) = watch("http://127.0.0.1:1/metrics");
    assert!(notice(next(&events)).unwrap().contains("http://127.0.0.1:1/metrics"));
    drop(probe);
    assert_eq!(events.iter().count(), 0, "the outlet went with the probe");
}

#[test]
fn users_and_passwords_are_checked_and_not_shown() {
    let Some(server) = Server::start_closed() else { return };
    let right = exporter(&format!("http://{}@{}", Server::CREDENTIALS, server.address));
    assert_eq!(right.url(), url(&server));
    right.check().unwrap();
    for wrong in [url(&server), format!("http://me:wrong-word@{}", server.address)] {
        let error = exporter(&wrong).check().unwrap_err();
        assert!(matches!(error, NodeExporterError::Unauthorized { status: 401, .. }), "{error}");
        assert!(!error.to_string().contains("wrong-word"), "{error}");
    }
}

/// Names the exporter for the part of the test below that runs in a process of its own.
const TRUSTED: &str = "DYNO_TEST_TRUSTED_EXPORTER";

#[test]
fn tls_is_trusted_by_who_trusts_the_authority() {
    if let Ok(url) = std::env::var(TRUSTED) {
        exporter(&url).check().unwrap();
        return;
    }
    let Some(server) = Server::start_with_tls() else { return };
    let url = format!("https://localhost:{}/metrics", server.address.port());
    let error = exporter(&url).check().unwrap_err();
    assert!(matches!(error, NodeExporterError::Tls { .. }), "{error}");
    let plain = exporter(&format!("http://localhost:{}/metrics", server.address.port())).check().unwrap_err();
    assert!(matches!(plain, NodeExporterError::Status { status: 400, .. }), "{plain}");
    // What a process trusts is decided when it starts.
    let mut trusting = Command::new(std::env::current_exe().unwrap());
    trusting.args(["--exact", "tls_is_trusted_by_who_trusts_the_authority"]);
    let output = trusting.env(TRUSTED, url).env("SSL_CERT_FILE", server.authority()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn what_is_wrong_is_said_in_the_words_for_it() {
    let Some(server) = Server::start(&[]) else { return };
    let at = |rest: &str| exporter(&format!("{}{rest}", server.address)).check().unwrap_err();
    // It answers with its start page.
    let nothing = at("/nothing");
    assert!(matches!(nothing, NodeExporterError::NotANodeExporter { .. }), "{nothing}");
    let device = at("/metrics#device=nothing");
    assert!(
        matches!(&device, NodeExporterError::NoSuchDevice { device, .. } if device == "nothing"),
        "{device}"
    );
    let tls = exporter(&format!("https://{}/metrics", server.address)).check().unwrap_err();
    assert!(matches!(tls, NodeExporterError::Tls { .. }), "{tls}");
    let nobody = exporter("http://127.0.0.1:1/metrics").check().unwrap_err();
    assert!(matches!(nobody, NodeExporterError::Unreachable { .. }), "{nobody}");
    let unknown = exporter("http://no.such.host.invalid:9100/metrics").check().unwrap_err();
    assert!(matches!(unknown, NodeExporterError::Unreachable { .. }), "{unknown}");
}

/// Not a node_exporter: a listener that sends `head`, and nothing more.
fn stuck(head: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.write_all(head.as_bytes());
        std::thread::park();
    });
    url
}

#[test]
fn who_says_nothing_and_who_speaks_no_http_are_given_up() {
    for (head, said) in [("", "no answer within"), ("SSH-2.0-OpenSSH_9.2\r\n", "")] {
        let error = exporter(&stuck(head)).check().unwrap_err();
        assert!(matches!(error, NodeExporterError::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains(said), "{error}");
    }
}
