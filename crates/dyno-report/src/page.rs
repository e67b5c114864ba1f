//! The report as one HTML file that opens from disk without a network.
//!
//! The page itself is built from `web/` (see `build.rs`); here a report's JSON is put into it. Nothing is
//! computed or judged: what the page shows is what the document says. Text from a server or a user can stand
//! in the document, so nothing of it may ever be read as HTML or as script.

use std::borrow::Cow;
use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dyno_results::decimate::{self, Span};
use dyno_results::document::{Report, Timeline};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Number, Value};

use crate::text::visible_lines;

/// The page up to the place of the report, and after it.
#[cfg(feature = "page")]
const TEMPLATE: Option<[&str; 2]> = Some([
    include_str!(concat!(env!("OUT_DIR"), "/page-head.html")),
    include_str!(concat!(env!("OUT_DIR"), "/page-tail.html")),
]);
#[cfg(not(feature = "page"))]
const TEMPLATE: Option<[&str; 2]> = None;

/// Significant digits of the points of a curve: more than a screen can show, a third of the bytes.
const CURVE_DIGITS: usize = 5;
/// JSON that is longer is compressed in the file, bytes.
const PLAIN_MAX: usize = 300_000;
/// Rows of load of each target in a file, at most.
const LOAD_POINTS: usize = 1000;
/// Points of all curves of telemetry in a file together, and of each at least.
const METRIC_POINTS_ALL: usize = 20_000;
const METRIC_POINTS_MIN: usize = 100;
/// Decimals of a curve's times, seconds.
const TIME_DECIMALS: i32 = 3;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The feature `page` was off when this program was built.
    #[error(
        "this dyno was built without the HTML page (cargo feature `page`); build it with that feature, which \
         needs Node 20.19 or newer, or use --json"
    )]
    NotBuilt,
    #[error("the report could not be written as JSON for the page: {0}")]
    Json(#[from] serde_json::Error),
}

/// The whole page as one HTML document in UTF-8.
///
/// Figures are the document's own; only the points of curves over time are rounded.
///
/// # Errors
/// [`PageError::NotBuilt`] without the feature `page`.
pub fn render(report: &Report) -> Result<String, PageError> {
    let report = inline(report)?;
    let [head, tail] = TEMPLATE.ok_or(PageError::NotBuilt)?;
    Ok([head, report.as_str(), tail].concat())
}

/// The page without a report: it asks the server that it came from.
///
/// # Errors
/// [`PageError::NotBuilt`] without the feature `page`.
#[cfg(feature = "serve")]
pub(crate) fn shell() -> Result<String, PageError> {
    TEMPLATE.map(|parts| parts.concat()).ok_or(PageError::NotBuilt)
}

/// The content security policy that the page states in itself, for the header that says the same.
#[cfg(feature = "serve")]
pub(crate) fn security_policy() -> Option<&'static str> {
    let [head, _] = TEMPLATE?;
    let (_, rest) = head.split_once("http-equiv=\"Content-Security-Policy\" content=\"")?;
    Some(rest.split_once('"')?.0)
}

/// The document as the page draws it: curves are rounded, the seed is text.
pub(crate) fn document(report: &Report) -> Result<Value, serde_json::Error> {
    let mut document = serde_json::to_value(report)?;
    if let Some(timelines) = document.get_mut("timelines") {
        round_timelines(timelines);
    }
    keep_seed_exact(&mut document);
    make_visible(&mut document);
    Ok(document)
}

/// Makes characters visible that would reorder or hide others of the page, as on a terminal.
fn make_visible(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(visible) = visible_lines(text) {
                *text = visible;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(make_visible),
        Value::Object(fields) => fields.values_mut().for_each(make_visible),
        _ => {}
    }
}

/// Pieces of timelines, rounded as in [`document`].
pub(crate) fn timelines(timelines: &[Timeline<'_>]) -> Result<Value, serde_json::Error> {
    let mut timelines = serde_json::to_value(timelines)?;
    round_timelines(&mut timelines);
    make_visible(&mut timelines);
    Ok(timelines)
}

/// The report as it stands within a `<script type="application/json">`: JSON, or where that is long, the same JSON
/// compressed (zlib) in base64.
fn inline(report: &Report) -> Result<String, PageError> {
    let json = inline_json(report)?;
    if json.len() <= PLAIN_MAX {
        return Ok(json);
    }
    let mut compressed = ZlibEncoder::new(Vec::new(), Compression::best());
    let compressed = compressed.write_all(json.as_bytes()).and_then(|()| compressed.finish());
    // Memory takes everything; if it did not, the plain form would do.
    Ok(compressed.map_or(json, |bytes| STANDARD.encode(bytes)))
}

/// The report's JSON in a form that can stand within a script element.
fn inline_json(report: &Report) -> Result<String, PageError> {
    let mut document = document(&without_timelines(report))?;
    document["timelines"] = timelines(&thinned(&report.timelines))?;
    // `<` occurs only within JSON strings, where the escape means the same. Without it no text can end the
    // script element, nor open a comment in it.
    Ok(serde_json::to_string(&document)?.replace('<', "\\u003c"))
}

/// A copy of all but the timelines, which of a long run are hundreds of megabytes.
pub(crate) fn without_timelines(report: &Report) -> Report {
    Report {
        schema: report.schema,
        run: report.run.clone(),
        targets: report.targets.clone(),
        hosts: report.hosts.clone(),
        settings: report.settings.clone(),
        data: report.data.clone(),
        found: report.found.clone(),
        prepare: report.prepare.clone(),
        series: report.series.clone(),
        stages: report.stages.clone(),
        timelines: Vec::new(),
        sizes: report.sizes.clone(),
        checks: report.checks.clone(),
        answers: Vec::new(),
        query_failures: Vec::new(),
        plans: report.plans.clone(),
        hooks: report.hooks.clone(),
        lost: report.lost.clone(),
        not_done: report.not_done.clone(),
        data_after: Vec::new(),
        variants: report.variants.clone(),
        server_changes: report.server_changes.clone(),
        log_syncs: Vec::new(),
        findings: report.findings.clone(),
        quotes: report.quotes.clone(),
        notices: report.notices.clone(),
    }
}

/// The curves as a file has them: fine enough to be read, and small enough to be sent to somebody. `dyno serve` shows every
/// second.
fn thinned(timelines: &[Timeline<'_>]) -> Vec<Timeline<'static>> {
    let curves: usize = timelines.iter().map(|timeline| timeline.metrics.len()).sum();
    let points = (METRIC_POINTS_ALL / curves.max(1)).clamp(METRIC_POINTS_MIN, LOAD_POINTS);
    let thin = |timeline: &Timeline<'_>| Timeline {
        stream: timeline.stream,
        target: timeline.target.to_string().into(),
        load: Cow::Owned(decimate::load(&timeline.load, Span::ALL, LOAD_POINTS)),
        metrics: timeline.metrics.iter().map(|metric| decimate::metric(metric, Span::ALL, points)).collect(),
    };
    timelines.iter().map(thin).collect()
}

/// A seed uses all 64 bits and JavaScript's numbers hold 53: it travels as text.
fn keep_seed_exact(document: &mut Value) {
    if let Some(seed) = document.pointer_mut("/run/seed") {
        *seed = Value::String(seed.to_string());
    }
}

fn round_timelines(timelines: &mut Value) {
    for timeline in timelines.as_array_mut().into_iter().flatten() {
        if let Some(load) = timeline.get_mut("load").and_then(Value::as_object_mut) {
            if let Some(pool) = load.get_mut("pool").and_then(Value::as_object_mut) {
                pool.iter_mut().for_each(|(key, column)| round_column(key, column));
            }
            let types = load.get_mut("by_type").and_then(Value::as_array_mut);
            for of_type in types.into_iter().flatten().filter_map(Value::as_object_mut) {
                of_type.iter_mut().for_each(|(key, column)| round_column(key, column));
            }
            for (key, column) in load {
                round_column(key, column);
            }
        }
        let metrics = timeline.get_mut("metrics").and_then(Value::as_array_mut);
        for metric in metrics.into_iter().flatten() {
            for key in ["t_s", "values"] {
                if let Some(column) = metric.get_mut(key) {
                    round_column(key, column);
                }
            }
        }
    }
}

fn round_column(key: &str, column: &mut Value) {
    for value in column.as_array_mut().into_iter().flatten() {
        // Integers (stage ids, clients) are exact already.
        let Some(number) = value.as_f64().filter(|_| value.is_f64()) else { continue };
        *value = if key == "t_s" { rounded_time(number) } else { rounded(number) };
    }
}

fn rounded_time(seconds: f64) -> Value {
    let factor = 10_f64.powi(TIME_DECIMALS);
    shortest((seconds * factor).round() / factor)
}

fn rounded(number: f64) -> Value {
    let text = format!("{number:.*e}", CURVE_DIGITS - 1);
    shortest(text.parse().unwrap_or(number))
}

/// A whole number without its `.0`.
fn shortest(number: f64) -> Value {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT_MAX {
        return Value::Number(Number::from(number as i64));
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use dyno_results::document::{LoadColumns, Metric, Run, SCHEMA, Timeline};
    use std::io::Read as _;

    use dyno_results::event::{Notice, Outcome, Setting, SettingFacts, Settings, Target};
    use dyno_results::fold::fold;
    use dyno_results::spec::RunSpec;

    use super::*;
    use crate::stream::Plan;

    const HOSTILE: &str = "</script><script>alert(1)</script><!-- \u{2028} \" \\ ]]> &lt; </SCRIPT >";

    fn report() -> Report {
        Report {
            schema: SCHEMA,
            run: Run {
                name: HOSTILE.to_owned(),
                dyno_version: "0.1.0".to_owned(),
                started_at: "2026-11-20T08:00:00Z".to_owned(),
                command: vec!["dyno".to_owned(), HOSTILE.to_owned()],
                spec: RunSpec { about: Some(HOSTILE.to_owned()), ..RunSpec::default() },
                resolved: RunSpec::default(),
                seed: u64::MAX - 1,
                seconds: 1.0,
                outcome: Outcome::Complete,
                reason: None,
                targets_lost: false,
            },
            targets: vec![Target {
                name: HOSTILE.to_owned(),
                server: HOSTILE.to_owned(),
                url: HOSTILE.to_owned(),
                product: Some(HOSTILE.to_owned()),
                version: None,
                version_text: None,
                tls: None,
                same_host: None,
                embedded: None,
                connections_max: None,
                host_source: None,
                isolation: None,
                disk_kind: None,
                in_process: false,
            }],
            hosts: vec![],
            settings: vec![Settings {
                target: HOSTILE.into(),
                rows: vec![Setting {
                    name: HOSTILE.to_owned(),
                    value: HOSTILE.to_owned(),
                    unit: None,
                    default: None,
                    source: None,
                    changed: true,
                    durability: true,
                }],
                facts: SettingFacts { crash_corrupts: vec![HOSTILE.to_owned()], ..SettingFacts::default() },
            }],
            found: vec![],
            data: vec![],
            prepare: vec![],
            series: vec![],
            stages: vec![],
            timelines: vec![Timeline {
                stream: 0,
                target: HOSTILE.into(),
                load: Cow::Owned(LoadColumns {
                    t_s: vec![0.500_049_9, 1.5],
                    stage: vec![1, 1],
                    clients: vec![8, 1_234_567],
                    tps: vec![Some(84_912.345_678), Some(0.012_345_678)],
                    failed_per_s: vec![Some(0.0), Some(0.0)],
                    p50_us: vec![Some(90.123_456), None],
                    p90_us: vec![None, None],
                    p95_us: vec![None, None],
                    p99_us: vec![None, None],
                    p999_us: vec![None, None],
                    max_us: vec![None, None],
                    pool: None,
                    counts: vec![],
                    by_type: Vec::new(),
                }),
                metrics: vec![Metric {
                    source: "host".into(),
                    key: "cpu_user_share".into(),
                    unit: "share".into(),
                    t_s: vec![1.0].into(),
                    values: vec![Some(f64::NAN)].into(),
                }],
            }],
            sizes: vec![],
            hooks: vec![],
            lost: vec![],
            not_done: Vec::new(),
            data_after: Vec::new(),
            variants: None,
            server_changes: vec![],
            log_syncs: Vec::new(),
            checks: vec![],
            answers: vec![],
            query_failures: Vec::new(),
            plans: vec![],
            findings: vec![],
            quotes: Vec::new(),
            notices: vec![Notice { target: None, stage: None, text: HOSTILE.to_owned() }],
        }
    }

    #[test]
    fn characters_that_reorder_others_are_visible_in_the_page() {
        let mut document = serde_json::json!({"a": ["x\u{9b}\u{200f}y\nz", 1], "b": {"c": "\u{61c}é"}});
        make_visible(&mut document);
        assert_eq!(document, serde_json::json!({"a": ["x\\u{9b}\\u{200f}y\nz", 1], "b": {"c": "\\u{61c}é"}}));
    }

    #[test]
    fn no_text_can_leave_the_script_element() {
        let json = inline_json(&report()).unwrap();
        assert!(!json.contains('<'));
        let shown = &*visible_lines(HOSTILE);

        let document: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(document["run"]["name"], shown);
        assert_eq!(document["run"]["spec"]["about"], shown);
        assert_eq!(document["targets"][0]["url"], shown);
        assert_eq!(document["settings"][0]["rows"][0]["value"], shown);
        assert_eq!(document["notices"][0]["text"], shown);
    }

    #[test]
    fn curves_are_rounded_and_nothing_else_is() {
        let document: Value = serde_json::from_str(&inline_json(&report()).unwrap()).unwrap();
        let load = &document["timelines"][0]["load"];
        assert_eq!(load["t_s"], serde_json::json!([0.5, 1.5]));
        assert_eq!(load["tps"], serde_json::json!([84_912, 0.012_346]));
        assert_eq!(load["p50_us"], serde_json::json!([90.123, null]));
        assert_eq!(load["clients"], serde_json::json!([8, 1_234_567]));
        assert_eq!(document["timelines"][0]["metrics"][0]["values"], serde_json::json!([null]));
        assert_eq!(document["run"]["seed"], (u64::MAX - 1).to_string());
    }

    /// What a file may weigh, and what the page in it takes of that.
    const FILE_MAX: usize = 600_000;
    const PAGE_ALONE: usize = 200_000;

    /// A ramp over two targets, each with as much telemetry as a server gives.
    fn ramp() -> Report {
        let plan = Plan {
            two_targets: true,
            connections: Some(40),
            ladder: (1..=60).collect(),
            rung_s: 1,
            hold_s: 0,
            ..Plan::default()
        };
        let mut report = fold(&plan.events());
        let noise = |at: usize, key: usize| ((at * 7919 + key * 104_729) % 9973) as f64 * 1.37;
        for result in &mut report.stages {
            let at = result.stage.id as usize;
            result.resources =
                (0..80).map(|key| (format!("key_{key}_bytes_per_s"), noise(at, key))).collect();
        }
        for timeline in &mut report.timelines {
            timeline.metrics = (0..80)
                .map(|key| Metric {
                    source: "database".into(),
                    key: format!("key_{key}_bytes_per_s").into(),
                    unit: "bytes/s".into(),
                    t_s: (0..7200).map(|second| f64::from(second) + 0.123).collect(),
                    values: (0..7200).map(|second| Some(noise(second, key))).collect(),
                })
                .collect();
        }
        report
    }

    #[test]
    fn the_file_of_a_ramp_over_two_targets_can_be_sent_to_somebody() {
        let report = ramp();
        assert!(report.stages.len() >= 240);
        let text = inline(&report).unwrap();
        assert!(text.len() < FILE_MAX - PAGE_ALONE, "{} bytes", text.len());
        let compressed = STANDARD.decode(&text).unwrap();
        let mut json = String::new();
        flate2::read::ZlibDecoder::new(compressed.as_slice()).read_to_string(&mut json).unwrap();
        let document: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(document["stages"].as_array().unwrap().len(), report.stages.len());
        for (thinned, all) in document["timelines"].as_array().unwrap().iter().zip(&report.timelines) {
            let values = thinned["metrics"][3]["values"].as_array().unwrap();
            assert!((METRIC_POINTS_MIN..=LOAD_POINTS).contains(&values.len()));
            let greatest = |values: &mut dyn Iterator<Item = f64>| values.reduce(f64::max).unwrap();
            let kept = greatest(&mut values.iter().map(|value| value.as_f64().unwrap()));
            let was = greatest(&mut all.metrics[3].values.iter().copied().flatten());
            assert!((kept - was).abs() < was * 1e-4, "a spike stays");
        }
    }

    #[cfg(feature = "page")]
    #[test]
    fn the_page_holds_the_report_and_fetches_nothing() {
        let page = render(&report()).unwrap();
        let (_, rest) = page.split_once(r#"<script type="application/json" id="report">"#).unwrap();
        let (json, _) = rest.split_once("</script>").unwrap();
        let document: Value = serde_json::from_str(json).unwrap();
        assert_eq!(document["schema"], SCHEMA);
        assert!(page.contains("Content-Security-Policy"));
        for outside in [" src=", "href=\"http", "@import", "url(http"] {
            assert!(!page.contains(outside), "the page refers to something outside: {outside}");
        }
    }

    #[cfg(not(feature = "page"))]
    #[test]
    fn without_the_feature_the_error_says_so() {
        let error = render(&report()).unwrap_err();
        assert!(matches!(error, PageError::NotBuilt));
        assert!(error.to_string().contains("feature `page`"));
    }
}
