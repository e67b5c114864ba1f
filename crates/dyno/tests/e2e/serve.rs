//! `dyno serve` before a real run, and what `dyno report` gives to other tools.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdout};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::home::{Home, TIMEOUT};
use crate::server::{database, shared};

/// It leaves the processors to other tests.
const RUN: [&str; 5] = ["run", "tpcb/select-only", "--think-time", "5ms", "--target"];
/// A load in three stages.
const LOAD: [&str; 10] =
    ["--clients", "1,2", "--step", "2s", "--hold", "2s", "--warm-up", "0", "--scale", "1"];
/// One that lasts until it is ended.
const LASTING: [&str; 10] =
    ["--clients", "1,2", "--step", "1s", "--hold", "1h", "--warm-up", "0", "--scale", "1"];

/// A server that was started. Killed with the test if the test fails.
struct Serving {
    process: Child,
    out: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Serving {
    fn start(home: &Home, arguments: &[&str]) -> Self {
        let mut process =
            home.command(&[&["serve", "--listen", "127.0.0.1:0"], arguments].concat()).spawn().unwrap();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let address = line.strip_prefix("http://").and_then(|rest| rest.split('/').next());
        let address = address.and_then(|address| address.parse().ok());
        Self { address: address.unwrap_or_else(|| panic!("no address: {line:?}")), process, out }
    }

    /// Ends it as Ctrl-C does; returns the exit status and whatever else it has printed.
    fn end(mut self) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.process), Signal::INT).unwrap();
        let status = self.process.wait().unwrap();
        let mut printed = String::new();
        self.out.read_to_string(&mut printed).unwrap();
        self.process.stderr.take().unwrap().read_to_string(&mut printed).unwrap();
        (status.code(), printed)
    }

    fn open(&self, path: &str, lines: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let request = format!("GET {path} HTTP/1.0\r\nHost: {}\r\n{lines}\r\n", self.address);
        stream.write_all(request.as_bytes()).unwrap();
        BufReader::new(stream)
    }

    /// Status and body.
    fn get(&self, path: &str, lines: &str) -> (u16, String) {
        let mut answer = String::new();
        self.open(path, lines).read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path, "");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The next event of a stream: its kind and its data.
fn next_event(stream: &mut BufReader<TcpStream>) -> (String, Value) {
    let mut kind = String::new();
    loop {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the stream ended after `{kind}`");
        if let Some(said) = line.strip_prefix("event: ") {
            said.trim_end().clone_into(&mut kind);
        }
        if let Some(data) = line.strip_prefix("data: ") {
            return (kind, serde_json::from_str(data).unwrap());
        }
    }
}

/// The metrics that the dashboard asks for of any run on a PostgreSQL of this machine.
fn asked_by_the_dashboard() -> BTreeSet<String> {
    let text = fs::read_to_string("../../dashboards/grafana.json").unwrap();
    let words = text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let asked = words.filter(|word| word.starts_with("dyno_"));
    // Those of shared connections, of what goes wrong, and of what is read every tenth second.
    let absent = ["response", "connections_in_use", "waiting", "dyno_errors", "dyno_runs", "database_bytes"];
    asked.filter(|word| !absent.iter().any(|part| word.contains(part))).map(str::to_owned).collect()
}

#[test]
fn a_run_is_watched_from_outside_while_it_goes() {
    let Some(server) = shared() else { return };
    let target = database(&server, "watched");
    let home = Home::new();
    let serving = Serving::start(&home, &[]);
    let mut running = home.start(&[&RUN[..], &[target.as_str()], &LASTING[..]].concat());
    running.wait_for("its first seconds", |report| {
        !report.document()["timelines"].as_array().unwrap().is_empty()
    });

    assert_eq!(serving.json("/api/runs")["runs"][0]["live"], true);
    let mut stream = serving.open("/api/runs/last/live", "");
    let (kind, first) = next_event(&mut stream);
    assert_eq!((kind.as_str(), &first["schema"]), ("report", &"dyno.report/1".into()));
    let asked = asked_by_the_dashboard();
    assert!(asked.len() > 15, "{asked:?}");
    let (mut updates, mut missing, begun) = (0, asked, Instant::now());
    while updates < 3 || !missing.is_empty() {
        assert!(begun.elapsed() < TIMEOUT, "{updates} updates, and /metrics had all but {missing:?}");
        let (kind, data) = next_event(&mut stream);
        assert_eq!(kind, "update");
        assert!(data["append"].is_array());
        updates += 1;
        let exposed = serving.get("/metrics", "").1;
        missing.retain(|metric| !exposed.contains(&format!("\n{metric}{{")));
    }
    running.signal(Signal::INT);
    let reason = loop {
        let (kind, data) = next_event(&mut stream);
        if kind == "end" {
            break data["reason"].clone();
        }
        assert_eq!(kind, "update");
    };
    assert_eq!(reason, Value::Null, "it has said that it has finished");
    running.end().expect(2);

    let served = serving.json("/api/runs/last");
    let report = home.report();
    assert_eq!(served["live"], false);
    for part in ["stages", "series", "checks", "findings"] {
        assert_eq!(served[part], report.document()[part], "{part}");
    }
    // It ends at once, though a reader is there.
    let _stream = serving.open("/api/runs/last/live", "");
    let (status, printed) = serving.end();
    assert_eq!((status, printed.as_str()), (Some(0), ""));
}

#[test]
fn a_killed_run_is_not_live() {
    let Some(server) = shared() else { return };
    let target = database(&server, "killed_live");
    let home = Home::new();
    let serving = Serving::start(&home, &[]);
    let mut running = home.start(&[&RUN[..], &[target.as_str()], &LASTING[..]].concat());
    running.wait_for("its first seconds", |report| {
        !report.document()["timelines"].as_array().unwrap().is_empty()
    });
    let mut stream = serving.open("/api/runs/last/live", "");
    assert_eq!(next_event(&mut stream).0, "report");
    running.signal(Signal::KILL);
    assert_eq!(running.end().code, None);
    let reason = loop {
        let (kind, data) = next_event(&mut stream);
        if kind == "end" {
            break data["reason"].as_str().unwrap().to_owned();
        }
    };
    assert!(reason.contains("process is gone"), "{reason}");
    assert_eq!(serving.json("/api/runs")["runs"][0]["live"], false);
}

#[test]
fn events_and_series_are_given_to_other_tools() {
    let Some(server) = shared() else { return };
    let target = database(&server, "given_away");
    let home = Home::new();
    let run = home.start(&[&RUN[..], &[target.as_str()], &LOAD[..]].concat());
    let mut run = run;
    run.wait_for("its first seconds", |report| {
        !report.document()["timelines"].as_array().unwrap().is_empty()
    });
    let followed = home.dyno(&["report", "--events", "--follow"]).expect(0).out;
    run.end().expect(0);
    let kinds: Vec<Value> =
        followed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].clone()).collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&"started".into()), Some(&"finished".into())));
    assert_eq!(home.dyno(&["report", "last", "--events"]).expect(0).out, followed);

    let csv = home.dyno(&["report", "--csv"]).expect(0).out;
    let mut lines = csv.split_terminator("\r\n").map(|line| line.split(',').count());
    let columns = lines.next().unwrap();
    assert!(columns > 30 && lines.clone().count() >= 6 && lines.all(|count| count == columns), "{csv}");
    home.dyno(&["report", "last", "--csv", "series.csv"]).expect(0);
    assert_eq!(fs::read_to_string(home.path("series.csv")).unwrap(), csv);
    home.dyno(&["report", "--csv", "nowhere/series.csv"]).expect(1).says(&["nowhere/series.csv"]);
}

#[test]
fn a_server_is_refused_where_it_would_be_open_or_cannot_be() {
    let home = Home::new();
    home.dyno(&["serve", "--listen", "0.0.0.0:0"]).expect(1).says(&["token", "DYNO_TOKEN", "127.0.0.1:7878"]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let port = address.rsplit(':').next().unwrap();
    home.dyno(&["serve", "--listen", &address]).expect(1).says(&[
        port,
        "taken",
        "127.0.0.1:0 takes a free one",
    ]);
    home.dyno(&["serve", "--listen", "127.0.0.1:0", "--token-file", "none"])
        .expect(1)
        .says(&["none", "token"]);
    home.dyno(&["serve", "--listen", "here"]).expect(1).says(&["`here`"]);
    let text = home.file("letter.txt", "Dear Sir or Madam");
    home.dyno(&["serve", "--listen", "127.0.0.1:0", "--store", &text])
        .expect(1)
        .says(&["not a store of dyno"]);
}

#[test]
fn a_token_is_asked_for_and_never_printed() {
    let home = Home::new();
    let token = "a-long-secret-of-theirs";
    let file = home.file("token", &format!("{token}\nmore\n"));
    let serving = Serving::start(&home, &["--token-file", &file]);
    assert_eq!(serving.get("/api/runs", "").0, 401);
    assert_eq!(serving.get("/api/runs", "Authorization: Bearer wrong\r\n").0, 401);
    // There is no store yet, and none is made.
    assert_eq!(serving.get("/api/runs", &format!("Authorization: Bearer {token}\r\n")).0, 503);
    assert!(!home.store().exists());
    assert_eq!(serving.get(&format!("/?token={token}"), "").0, 303);
    let (status, printed) = serving.end();
    assert_eq!((status, printed.as_str()), (Some(0), ""));
    let refused = home.dyno(&["serve", "--token", token, "--listen", "nowhere"]).expect(1);
    assert!(!refused.err.contains(token), "{}", refused.err);
}
