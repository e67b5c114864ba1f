//! What is answered about stored runs.

use std::fs;

use dyno_results::comparison;
use dyno_results::event::Stamped;
use dyno_results::fold::fold;
use dyno_results::judge::judge;
use dyno_results::store::Store;
use rusqlite::Connection;
use serde_json::Value;

use crate::http::{get, get_with};
use crate::stand::{FIRST, Stand, append, short};
use crate::stream::Plan;

#[test]
fn runs_are_listed_and_told_as_the_fold_has_them() {
    let stand = Stand::new();
    let events = short();
    stand.stored(&events);
    let listed = get(stand.address(), "/api/runs").json();
    assert_eq!(listed["schema"], "dyno.runs/1");
    assert_eq!((&listed["runs"][0]["name"], &listed["runs"][0]["live"]), (&FIRST.into(), &false.into()));
    assert_eq!(listed["runs"][0]["outcome"], "complete");

    let report = fold(&events);
    for named in [FIRST, "last", "2026"] {
        let told = get(stand.address(), &format!("/api/runs/{named}")).json();
        assert_eq!((&told["schema"], &told["live"]), (&"dyno.report/1".into(), &false.into()));
        assert_eq!(told["run"]["name"], FIRST);
        assert_eq!(told["run"]["seed"], report.run.seed.to_string());
        assert_eq!(told["stages"], serde_json::to_value(&report.stages).unwrap());
        assert_eq!(told["findings"], serde_json::to_value(judge(&report)).unwrap());
        let times = told["timelines"][0]["load"]["t_s"].as_array().unwrap();
        assert_eq!(times.len(), report.timelines[0].load.t_s.len());
    }
}

#[test]
fn curves_are_thinned_and_cut_as_asked() {
    let stand = Stand::new();
    stand.stored(&Plan { rung_s: 60, hold_s: 120, ..Plan::default() }.events());
    let times = |query: &str| -> Vec<f64> {
        let told = get(stand.address(), &format!("/api/runs/last?{query}")).json();
        let timeline = &told["timelines"][0];
        for metric in timeline["metrics"].as_array().unwrap() {
            assert_eq!(metric["t_s"].as_array().unwrap().len(), metric["values"].as_array().unwrap().len());
        }
        timeline["load"]["t_s"].as_array().unwrap().iter().map(|t_s| t_s.as_f64().unwrap()).collect()
    };
    let all = times("");
    assert!(all.len() > 500 && times("points=100").len() <= 100);
    let part = times("from=100&to=160");
    assert!(part.len() > 30 && part.len() < all.len() / 4);
    // One point beyond each edge, so that a curve reaches it.
    let within = part.iter().filter(|t_s| (100.0..=160.0).contains(*t_s)).count();
    assert_eq!(part.len(), within + 2);
    assert_eq!(times("points=100&from=100&to=160"), part);
}

/// A question that cannot be understood is answered like any other that has no answer, with what would be right.
#[test]
fn a_wrong_parameter_is_told_with_what_would_be_right() {
    let stand = Stand::new();
    stand.stored(&short());
    let run = "/api/runs/last?";
    for (path, said) in [
        (&*format!("{run}points=abc"), ["`points` cannot be `abc`", "points=2000"]),
        (&format!("{run}points=-1"), ["`points` cannot be `-1`", "whole number"]),
        (&format!("{run}points=10&points=20"), ["`points` is given 2 times", "points=2000"]),
        (&format!("{run}from=x"), ["`from` cannot be `x`", "seconds since the run started"]),
        (&format!("{run}to=NaN"), ["`to` cannot be `NaN`", "to=60"]),
        (&format!("{run}from=5&to=1"), ["`from` (5) is after `to` (1)", "from=0&to=60"]),
        ("/api/runs/last/live?points=", ["`points` cannot be ``", "points=2000"]),
        ("/api/runs/%ff", ["no UTF-8", "/api/runs"]),
        ("/api/compare", ["nothing to compare", "side=RUN&side=RUN"]),
        ("/api/compare?side=last&base=a&base=b", ["`base` is given 2 times", "the others are compared"]),
        ("/api/compare?side=last&side=nowhere", ["nowhere", "a side is RUN"]),
    ] {
        let refused = get(stand.address(), path);
        assert_eq!(refused.header("content-type"), Some("application/json"), "{path}: {}", refused.body);
        let told: Value = serde_json::from_str(&refused.body).unwrap();
        let told = (refused.status, told["error"].as_str().unwrap());
        assert!(told.0 == 400 && said.iter().all(|words| told.1.contains(words)), "{path}: {told:?}");
    }
    assert_eq!(
        get(stand.address(), &format!("{run}points=1&to=1e9")).status,
        200,
        "less than is given is enough"
    );
}

#[test]
fn the_page_comes_without_a_report_and_with_its_policy() {
    let stand = Stand::new();
    let page = get(stand.address(), "/?run=anything&run=else");
    if !cfg!(feature = "page") {
        assert_eq!(page.status, 501);
        assert!(page.body.contains("without the HTML page"), "{}", page.body);
        return;
    }
    assert_eq!(page.status, 200);
    assert!(page.body.contains(r#"<script type="application/json" id="report"></script>"#));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("script-src 'sha256-") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(policy.contains("connect-src 'self'"), "the page may ask for runs: {policy}");
}

#[test]
fn every_answer_keeps_browsers_from_doing_anything_else_with_it() {
    let stand = Stand::new();
    for path in ["/", "/api/runs", "/api/runs/none", "/nowhere"] {
        let answer = get(stand.address(), path);
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{name} of {path}");
        }
        assert!(answer.header("content-security-policy").unwrap().contains("default-src 'none'"));
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
}

#[test]
fn a_run_that_is_not_there_is_told_from_a_store_that_is_not() {
    let stand = Stand::new();
    assert_eq!(get(stand.address(), "/api/runs/last").status, 404);
    stand.stored(&short());
    stand.stored(&short());
    assert_eq!(get(stand.address(), "/api/runs/2001-01-01-1").status, 404);
    let unclear = get(stand.address(), "/api/runs/2026");
    assert_eq!(unclear.status, 400);
    assert!(unclear.body.contains("2026-11-20-2"), "{}", unclear.body);

    let store = stand.file();
    let away = store.with_extension("away");
    fs::rename(&store, &away).unwrap();
    let missing = get(stand.address(), "/api/runs");
    assert_eq!(missing.status, 503);
    assert!(missing.body.contains("dyno.sqlite"), "{}", missing.body);
    assert!(!store.exists(), "a reader makes no store");
    fs::rename(&away, &store).unwrap();
    assert_eq!(get(stand.address(), "/api/runs").json()["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_store_that_was_replaced_is_not_mixed_up_with_the_old_one() {
    let stand = Stand::new();
    stand.stored(&short());
    let clients = |answer: &serde_json::Value| answer["stages"].as_array().unwrap().len();
    let before = clients(&get(stand.address(), "/api/runs/last").json());
    // The same name, the same number in its table, and another run.
    let other = Stand::new();
    other.stored(&Plan { ladder: vec![1, 2, 4, 8], rung_s: 2, hold_s: 2, ..Plan::default() }.events());
    Connection::open(other.file()).unwrap().pragma_update(None, "journal_mode", "DELETE").unwrap();
    for ending in ["-wal", "-shm", ""] {
        let mut file = stand.file().into_os_string();
        file.push(ending);
        let _ = fs::remove_file(file);
    }
    fs::copy(other.file(), stand.file()).unwrap();
    assert!(clients(&get(stand.address(), "/api/runs/last").json()) > before);
}

#[test]
fn a_run_that_was_changed_is_told_and_the_others_are_served() {
    let stand = Stand::new();
    let (changed, whole) = (stand.stored(&short()), stand.stored(&short()));
    let mut live = stand.begin();
    append(&mut live, &short()[..20]);
    let connection = Connection::open(stand.file()).unwrap();
    let one_more = "UPDATE event SET body = replace(body, '\"done\":', '\"done\":1') WHERE kind = 'interval'";
    assert!(connection.execute(&format!("{one_more} AND run_id IN (1, 3)"), []).unwrap() > 0);
    assert_eq!(connection.execute("UPDATE run SET summary = summary || ' ' WHERE id = 1", []).unwrap(), 1);
    for path in ["", "/live", "/series.csv"] {
        let refused = get(stand.address(), &format!("/api/runs/{changed}{path}"));
        assert_eq!(refused.status, 500, "{path}");
        assert!(
            refused.body.contains("is not as it was written") && refused.body.contains(&changed),
            "{path}"
        );
        assert_eq!(get(stand.address(), &format!("/api/runs/{whole}{path}")).status, 200, "{path}");
    }
    let compared = get(stand.address(), &format!("/api/compare?side={changed}&side={whole}"));
    assert_eq!(compared.status, 500, "{}", compared.body);
    let listed = get(stand.address(), "/api/runs").json();
    let damaged =
        |index: usize| (listed["runs"][index]["name"].as_str(), listed["runs"][index]["damaged"].as_bool());
    assert_eq!(damaged(1), (Some(&*whole), Some(false)));
    assert_eq!(damaged(2), (Some(&*changed), Some(true)));
    assert_eq!(get(stand.address(), "/metrics").status, 200);
}

#[test]
fn no_name_reaches_beyond_the_store() {
    let stand = Stand::new();
    stand.stored(&short());
    for name in [
        "../../../../etc/passwd",
        "..%2f..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/dyno.sqlite",
        "dyno.sqlite",
        "%00",
        "%ff%fe",
        "'%20OR%20'1'='1",
        "%25%5f",
        "*",
    ] {
        for path in [format!("/api/runs/{name}"), format!("/api/runs/{name}/live"), format!("/{name}")] {
            let answer = get(stand.address(), &path);
            assert!(matches!(answer.status, 400 | 404), "{path}: {}", answer.status);
            assert!(!answer.body.contains("root:"), "{path}");
        }
    }
    let huge = format!("X-Huge: {}", "x".repeat(1 << 20));
    assert_eq!(get_with(stand.address(), "/api/runs", &[&huge]).status, 431);
    assert_eq!(get(stand.address(), "/api/runs").status, 200, "and goes on");
}

#[test]
fn events_and_series_come_as_files_that_others_read() {
    let stand = Stand::new();
    let events = short();
    stand.stored(&events);
    let lines = get(stand.address(), "/api/runs/last/events");
    assert_eq!(lines.header("content-type"), Some("application/x-ndjson"));
    let read: Vec<Stamped> = lines.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read, events);
    let csv = get(stand.address(), "/api/runs/last/series.csv");
    assert!(csv.header("content-type").unwrap().starts_with("text/csv"));
    let mut rows = csv.body.split_terminator("\r\n");
    assert!(rows.next().unwrap().starts_with("target,second (s),clock (UTC),time (s),stage,"));
    assert!(rows.count() > 10);
    for path in ["/api/runs/none/events", "/api/runs/none/series.csv"] {
        assert_eq!(get(stand.address(), path).status, 404, "{path}");
    }
}

#[test]
fn runs_are_compared_as_the_command_does_it() {
    let stand = Stand::new();
    stand.stored(&short());
    stand.stored(&short());
    let store = Store::open(stand.file()).unwrap();
    let sides = ["2026-11-20-1".to_owned(), "2026-11-20-2".to_owned()];
    let expected = comparison::of_store(&store, &sides, Some(&sides[1])).unwrap();
    let told =
        get(stand.address(), "/api/compare?side=2026-11-20-1&side=2026-11-20-2&base=2026-11-20-2").json();
    assert_eq!(told, serde_json::from_str::<Value>(&serde_json::to_string(&expected).unwrap()).unwrap());
    assert_eq!(told["schema"], "dyno.comparison/1");
    for wrong in ["", "?side=last", "?side=none&side=last"] {
        let refused = get(stand.address(), &format!("/api/compare{wrong}"));
        assert_eq!(refused.status, 400, "{wrong}: {}", refused.body);
    }
}
