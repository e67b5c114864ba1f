//! What can be asked: the page, the list of runs, a run and what belongs to it. Documented in `docs/serve.md`.

use std::str::FromStr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts, Path, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use dyno_results::decimate::Span;
use dyno_results::store::StoreError;
use futures_util::stream;
use serde::Serialize;
use serde_json::json;

use super::cached_run::CurveView;
use super::error::{ApiError, JSON, blocking};
use super::gate::{self, Gate};
use super::run_cache::RunCache;
use super::{connection_limits, live};
use crate::openmetrics::{self, Exposition, Format};
use crate::page;

const POINTS_MIN: usize = 10;
/// Of a day with all its telemetry so many are a hundred megabytes already.
const POINTS_MAX: usize = 10_000;
/// Events that are read at a time where all are wanted.
const EVENTS_PAGE: u32 = 500;

type Shared = State<Arc<RunCache>>;

pub(super) fn router(run_cache: Arc<RunCache>, gate: Gate) -> Router {
    Router::new()
        .route("/", get(index))
        .route("/api/runs", get(runs))
        .route("/api/runs/{name}", get(run))
        .route("/api/runs/{name}/live", get(watch))
        .route("/api/runs/{name}/events", get(events))
        .route("/api/runs/{name}/series.csv", get(series))
        .route("/api/compare", get(compare))
        .route("/metrics", get(metrics))
        .fallback(|| async { ApiError::new(StatusCode::NOT_FOUND, "there is nothing here") })
        .with_state(run_cache)
        .layer(middleware::from_fn_with_state(gate, gate::guard))
        .layer(middleware::from_fn(connection_limits::noted))
}

/// The page; it asks for what it shows.
async fn index() -> Result<Response, ApiError> {
    let shell =
        page::shell().map_err(|error| ApiError::new(StatusCode::NOT_IMPLEMENTED, error.to_string()))?;
    let policy =
        format!("{}; frame-ancestors 'none'", page::security_policy().unwrap_or("default-src 'none'"));
    let policy = HeaderValue::try_from(policy).map_err(ApiError::internal)?;
    let headers: [(HeaderName, HeaderValue); 2] = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    Ok((headers, shell).into_response())
}

async fn runs(State(run_cache): Shared) -> Result<Response, ApiError> {
    let listed = blocking(move || run_cache.store()?.runs()).await??;
    json_answer(&json!({ "schema": "dyno.runs/1", "runs": listed }))
}

/// The name of a run, out of the path.
struct Name(String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let name = Path::<String>::from_request_parts(parts, state).await;
        name.map(|Path(name)| Self(name)).map_err(|_| {
            let path = parts.uri.path();
            let why =
                format!("`{path}` has a name that is no UTF-8: runs are named as `/api/runs` lists them");
            ApiError::new(StatusCode::BAD_REQUEST, why)
        })
    }
}

/// The parameters, each as often as it was given.
struct Parameters(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Parameters {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let pairs = Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        pairs.map(|Query(pairs)| Self(pairs)).map_err(|error| {
            let why = format!("the parameters cannot be read ({error}): write name=value&name=value");
            ApiError::new(StatusCode::BAD_REQUEST, why)
        })
    }
}

impl Parameters {
    /// All values of a parameter.
    fn all(&self, wanted: &str) -> Vec<String> {
        self.0.iter().filter(|(name, _)| name == wanted).map(|(_, value)| value.clone()).collect()
    }

    /// The value of a parameter that is given once at most. `what` says what it must be.
    fn one<T: FromStr>(&self, wanted: &str, what: &str) -> Result<Option<T>, ApiError> {
        let wrong = |why: String| ApiError::new(StatusCode::BAD_REQUEST, format!("{why}; it is {what}"));
        match self.all(wanted).as_slice() {
            [] => Ok(None),
            [text] => {
                let value = text.parse();
                value.map(Some).map_err(|_| wrong(format!("`{wanted}` cannot be `{text}`")))
            }
            several => Err(wrong(format!("`{wanted}` is given {} times", several.len()))),
        }
    }

    /// Which part of the curves, and how fine.
    fn view(&self) -> Result<CurveView, ApiError> {
        let points = self.one("points", "a whole number, such as points=2000")?;
        let [from, to] = ["from", "to"].map(|name| self.seconds(name));
        let span = Span { from_s: from?.unwrap_or(f64::NEG_INFINITY), to_s: to?.unwrap_or(f64::INFINITY) };
        if span.from_s > span.to_s {
            let why = format!(
                "`from` ({}) is after `to` ({}): the span is written from=0&to=60, in seconds since the run started",
                span.from_s, span.to_s
            );
            return Err(ApiError::new(StatusCode::BAD_REQUEST, why));
        }
        Ok(CurveView { span, points: points.unwrap_or(CurveView::POINTS).clamp(POINTS_MIN, POINTS_MAX) })
    }

    fn seconds(&self, name: &str) -> Result<Option<f64>, ApiError> {
        let seconds: Option<Seconds> =
            self.one(name, &format!("seconds since the run started, such as {name}=60"))?;
        Ok(seconds.map(|Seconds(seconds)| seconds))
    }
}

/// A number: what Rust reads as one beside, such as `NaN` and `inf`, is no time.
struct Seconds(f64);

impl FromStr for Seconds {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        text.parse().ok().filter(|seconds: &f64| seconds.is_finite()).map(Self).ok_or(())
    }
}

async fn run(
    State(run_cache): Shared,
    Name(name): Name,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    let view = parameters.view()?;
    let read = move || run_cache.read(&name, |cached| run_cache.document(cached, view));
    let document = blocking(read).await???;
    Ok(([(header::CONTENT_TYPE, JSON)], document).into_response())
}

async fn watch(
    State(run_cache): Shared,
    Name(name): Name,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    let body: Body = live::stream(run_cache, name, parameters.view()?).await?;
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], body).into_response())
}

/// The stream of events, one on each line, as it is stored.
async fn events(State(run_cache): Shared, Name(name): Name) -> Result<Response, ApiError> {
    let name = {
        let run_cache = Arc::clone(&run_cache);
        blocking(move || run_cache.store()?.find(&name)).await??
    };
    let body = Body::from_stream(stream::try_unfold(
        (run_cache, name, None),
        |(run_cache, name, after)| async move {
            let (from, run) = (Arc::clone(&run_cache), name.clone());
            let page = blocking(move || events_page(&from, &run, after)).await.and_then(|page| Ok(page?));
            page.map(|page| page.map(|(lines, last)| (lines, (run_cache, name, Some(last)))))
                .map_err(|error| error.why)
        },
    ));
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response())
}

/// Some of the lines, each page read by itself: a reader that takes its time must not keep the store's log open.
fn events_page(
    run_cache: &RunCache,
    name: &str,
    after: Option<u64>,
) -> Result<Option<(String, u64)>, StoreError> {
    let mut lines = String::new();
    let last = run_cache.store()?.read_raw(name, after, EVENTS_PAGE, |raw| lines.push_str(&raw.line()))?;
    Ok(last.map(|last| (lines, last)))
}

async fn series(State(run_cache): Shared, Name(name): Name) -> Result<Response, ApiError> {
    let read = move || run_cache.read(&name, |cached| run_cache.csv(cached));
    let csv = blocking(read).await???;
    Ok(([(header::CONTENT_TYPE, "text/csv; charset=utf-8; header=present")], csv).into_response())
}

/// `?side=A&side=B&base=A`; the first side is the base unless another is named.
async fn compare(State(run_cache): Shared, parameters: Parameters) -> Result<Response, ApiError> {
    let base: Option<String> = parameters.one("base", "the side to which the others are compared")?;
    let sides = parameters.all("side");
    if sides.is_empty() {
        let why = "nothing to compare is named: write side=RUN&side=RUN, or side=RUN:TARGET for one target of a run";
        return Err(ApiError::new(StatusCode::BAD_REQUEST, why));
    }
    let comparison = blocking(move || run_cache.comparison(sides, base)).await??;
    Ok(([(header::CONTENT_TYPE, JSON)], comparison).into_response())
}

/// The figures of all runs under way, for Prometheus.
async fn metrics(State(run_cache): Shared, headers: HeaderMap) -> Result<Response, ApiError> {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let format = Format::accepted(accept);
    let text = blocking(move || expose(&run_cache, format)).await??;
    Ok(([(header::CONTENT_TYPE, format.content_type())], text).into_response())
}

fn expose(run_cache: &RunCache, format: Format) -> Result<String, StoreError> {
    let store = run_cache.store()?;
    let runs = store.runs()?.into_iter().filter(|run| run.live);
    let mut exposition = Exposition::default();
    for run in runs {
        match run_cache.read(&run.name, |cached| exposition.add(cached.fold())) {
            // It could not start and was taken out again; or it is damaged, and the others are not.
            Ok(())
            | Err(
                StoreError::NoSuchRun { .. }
                | StoreError::EventChanged { .. }
                | StoreError::BlockChanged { .. },
            ) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(openmetrics::render(&exposition, format))
}

fn json_answer(document: &impl Serialize) -> Result<Response, ApiError> {
    let text = serde_json::to_string(document).map_err(ApiError::internal)?;
    Ok(([(header::CONTENT_TYPE, JSON)], text).into_response())
}
