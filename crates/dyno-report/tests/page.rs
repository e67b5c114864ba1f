//! The page of made-up runs, from their events. Each page is left in cargo's directory for tests' files, where
//! the browser test finds it (`DYNO_PAGE=… npm run test:page` in `web/`).
#![cfg(feature = "page")]

mod stream;

use std::error::Error;
use std::path::Path;

use dyno_report::page;
use dyno_results::fold::fold;
use serde_json::Value;

use self::stream::Plan;

/// What a page may weigh for a run of three minutes with two series.
const BYTES_MAX: usize = 400_000;

/// Renders, leaves the page on disk and gives back its size and the document in it.
fn rendered(name: &str, plan: &Plan) -> Result<(usize, Value), Box<dyn Error>> {
    let report = fold(&plan.events());
    let html = page::render(&report)?;
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.html")), &html)?;
    let (_, rest) = html
        .split_once(r#"<script type="application/json" id="report">"#)
        .ok_or("no place for the report")?;
    let (json, _) = rest.split_once("</script>").ok_or("the report does not end")?;
    Ok((html.len(), serde_json::from_str(json)?))
}

#[test]
fn a_run_of_three_minutes_stays_small() {
    let plan = Plan { rung_s: 10, hold_s: 30, ..Plan::default() };
    let (size, document) = rendered("page", &plan).unwrap();
    assert!(document["run"]["seconds"].as_f64().unwrap() >= 180.0);
    assert_eq!(document["series"].as_array().unwrap().len(), 2);
    assert!(size < BYTES_MAX, "{size} bytes");
}

#[test]
fn an_open_loop_with_errors_that_was_stopped() {
    let plan = Plan { rate_per_s: Some(5000.0), errors: true, stop_after_s: Some(70), ..Plan::default() };
    let (_, document) = rendered("page-open-loop", &plan).unwrap();
    assert_eq!(document["run"]["outcome"], "incomplete");
}

#[test]
fn texts_from_outside_stay_texts() {
    let intruder = "</script><script>alert(1)</script><!--";
    let plan = Plan { intruder: intruder.to_owned(), ..Plan::default() };
    let (_, document) = rendered("page-intruder", &plan).unwrap();
    assert!(document.to_string().contains(intruder));
}
