//! Why nothing is served, and why a request is not answered. It uses no other module of the server.

use std::io;
use std::net::SocketAddr;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use dyno_results::comparison::CompareError;
use dyno_results::store::StoreError;
use serde_json::json;

pub(super) const JSON: &str = "application/json";
/// Where `dyno serve` listens unless told otherwise.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:7878";
const DEFAULT_PORT: u16 = 7878;

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(
        "cannot listen on `{listen}`: {why}\n  write an address and a port, such as {DEFAULT_LISTEN} or [::1]:0"
    )]
    Address { listen: String, why: String },
    #[error(
        "{address} can be reached by other machines, and no token was given: everybody there could read every run\n  \
         set DYNO_TOKEN (or, of `dyno serve`, --token-file FILE), or listen on {DEFAULT_LISTEN}"
    )]
    Open { address: SocketAddr },
    #[error("the token {why}")]
    Token { why: &'static str },
    #[error(
        "port {} of {} is taken by another program{}\n  end it, or choose another port: {} takes a free one",
        address.port(),
        address.ip(),
        if address.port() == DEFAULT_PORT { ", perhaps another `dyno serve`" } else { "" },
        SocketAddr::new(address.ip(), 0)
    )]
    Taken { address: SocketAddr },
    #[error("cannot listen on {address}: {source}{}", advice(source))]
    Bind { address: SocketAddr, source: io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the server could not be started: {0}")]
    Start(#[source] io::Error),
}

/// What to do about an address that cannot be had.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "\n  ports below 1024 are the system's: choose a higher one",
        io::ErrorKind::AddrNotAvailable => {
            "\n  no network interface of this machine has this address (`ip address` lists them)"
        }
        _ => "",
    }
}

/// Runs what reads the store where it keeps nobody waiting.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work).await.map_err(ApiError::internal)
}

/// An answer that is none, as JSON: `{"error": "…"}`.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    pub(super) why: String,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self { status, why: why.into() }
    }

    pub(super) fn internal(why: impl std::error::Error) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, why.to_string())
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let status = match &error {
            StoreError::NoSuchRun { .. } | StoreError::TooFarBack { .. } | StoreError::NoRuns { .. } => {
                StatusCode::NOT_FOUND
            }
            StoreError::Ambiguous { .. } => StatusCode::BAD_REQUEST,
            StoreError::Locked { .. } | StoreError::Missing { .. } => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

impl From<CompareError> for ApiError {
    fn from(error: CompareError) -> Self {
        match error {
            CompareError::Store(error) => error.into(),
            other => Self::new(StatusCode::BAD_REQUEST, other.to_string()),
        }
    }
}

impl From<serde_json::Error> for ApiError {
    fn from(error: serde_json::Error) -> Self {
        Self::internal(error)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = json!({ "error": self.why }).to_string();
        (self.status, [(header::CONTENT_TYPE, JSON)], body).into_response()
    }
}
