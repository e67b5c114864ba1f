//! The report as one HTML file that opens from disk without a network.
//!
//! The page itself is built from `web/` (see `build.rs`); here a report's JSON is put into it. Nothing is
//! computed or judged: what the page shows is what the document says. Text from a server or a user can stand
//! in the document, so nothing of it may ever be read as HTML or as script.

use dyno_results::document::Report;
use serde_json::{Number, Value};

#[cfg(feature = "page")]
mod template {
    /// The page up to the place of the report.
    pub(super) const HEAD: &str = include_str!(concat!(env!("OUT_DIR"), "/page-head.html"));
    /// The page after it.
    pub(super) const TAIL: &str = include_str!(concat!(env!("OUT_DIR"), "/page-tail.html"));
}

/// Significant digits of the points of a curve: more than a screen can show, a third of the bytes.
const CURVE_DIGITS: usize = 5;
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

/// True where this program can write the page at all.
#[must_use]
pub const fn is_built() -> bool {
    cfg!(feature = "page")
}

/// The whole page as one HTML document in UTF-8.
///
/// Figures are the document's own; only the points of curves over time are rounded.
///
/// # Errors
/// [`PageError::NotBuilt`] without the feature `page`.
#[cfg(feature = "page")]
pub fn render(report: &Report) -> Result<String, PageError> {
    let json = inline_json(report)?;
    Ok([template::HEAD, json.as_str(), template::TAIL].concat())
}

/// Says that the page was not built in.
///
/// # Errors
/// Always [`PageError::NotBuilt`]; or [`PageError::Json`] where the report could not have been written.
#[cfg(not(feature = "page"))]
pub fn render(report: &Report) -> Result<String, PageError> {
    inline_json(report)?;
    Err(PageError::NotBuilt)
}

/// The report's JSON in a form that can stand within a `<script type="application/json">`.
fn inline_json(report: &Report) -> Result<String, PageError> {
    let mut document = serde_json::to_value(report)?;
    round_curves(&mut document);
    keep_seed_exact(&mut document);
    // `<` occurs only within JSON strings, where the escape means the same. Without it no text can end the
    // script element, nor open a comment in it.
    Ok(serde_json::to_string(&document)?.replace('<', "\\u003c"))
}

/// A seed uses all 64 bits and JavaScript's numbers hold 53: it travels as text.
fn keep_seed_exact(document: &mut Value) {
    if let Some(seed) = document.pointer_mut("/run/seed") {
        *seed = Value::String(seed.to_string());
    }
}

fn round_curves(document: &mut Value) {
    let timelines = document.get_mut("timelines").and_then(Value::as_array_mut);
    for timeline in timelines.into_iter().flatten() {
        if let Some(load) = timeline.get_mut("load").and_then(Value::as_object_mut) {
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
    use dyno_results::document::{Load, Metric, Run, SCHEMA, Timeline};
    use dyno_results::event::{Notice, Outcome, Setting, Settings, Target};

    use super::*;

    const HOSTILE: &str = "</script><script>alert(1)</script><!-- \u{2028} \" \\ ]]> &lt; </SCRIPT >";

    fn report() -> Report {
        Report {
            schema: SCHEMA,
            run: Run {
                name: HOSTILE.to_owned(),
                dyno_version: "0.1.0".to_owned(),
                started_at: "2026-11-20T08:00:00Z".to_owned(),
                command: vec!["dyno".to_owned(), HOSTILE.to_owned()],
                scenario: serde_json::json!({ HOSTILE: HOSTILE }),
                seed: u64::MAX - 1,
                seconds: 1.0,
                outcome: Outcome::Complete,
                reason: None,
            },
            targets: vec![Target {
                name: HOSTILE.to_owned(),
                url: HOSTILE.to_owned(),
                product: Some(HOSTILE.to_owned()),
                version: None,
                version_text: None,
                tls: None,
                same_host: None,
                embedded: None,
                connections_max: None,
            }],
            hosts: vec![],
            settings: vec![Settings {
                target: HOSTILE.to_owned(),
                rows: vec![Setting {
                    name: HOSTILE.to_owned(),
                    value: HOSTILE.to_owned(),
                    unit: None,
                    default: None,
                    source: None,
                    changed: true,
                    durability: true,
                }],
            }],
            data: vec![],
            prepare: vec![],
            series: vec![],
            stages: vec![],
            timelines: vec![Timeline {
                target: HOSTILE.to_owned(),
                load: Load {
                    t_s: vec![0.500_049_9, 1.5],
                    stage: vec![1, 1],
                    clients: vec![8, 1_234_567],
                    tps: vec![84_912.345_678, 0.012_345_678],
                    failed_per_s: vec![0.0, 0.0],
                    p50_us: vec![Some(90.123_456), None],
                    ..Load::default()
                },
                metrics: vec![Metric {
                    source: "host".to_owned(),
                    key: "cpu_user_share".to_owned(),
                    unit: "share".to_owned(),
                    t_s: vec![1.0],
                    values: vec![Some(f64::NAN)],
                }],
            }],
            checks: vec![],
            findings: vec![],
            notices: vec![Notice { target: None, stage: None, text: HOSTILE.to_owned() }],
        }
    }

    #[test]
    fn no_text_can_leave_the_script_element() {
        let json = inline_json(&report()).unwrap();
        assert!(!json.contains('<'));

        let document: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(document["run"]["name"], HOSTILE);
        assert_eq!(document["run"]["scenario"][HOSTILE], HOSTILE);
        assert_eq!(document["targets"][0]["url"], HOSTILE);
        assert_eq!(document["settings"][0]["rows"][0]["value"], HOSTILE);
        assert_eq!(document["notices"][0]["text"], HOSTILE);
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
