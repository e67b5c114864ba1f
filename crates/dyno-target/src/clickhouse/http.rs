//! Requests to the server over HTTP, and what it means where none gets through.

use std::fmt;
use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dyno_wire::endpoint::Password;
use dyno_wire::server_error::DriverError;
use ureq::http::Response;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body};

use super::error::{CONNECTION_LOST, NO_CONNECTION, NOT_CLICKHOUSE, exception, shortened};
use super::settings::ClickHouseSettings;
use crate::tls::{certificate_reason, system_roots};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// More of a refusal is not read.
const REFUSAL_BYTES_MAX: u64 = 1 << 16;
/// Names the error of a request that was refused before anything of its answer was sent.
const EXCEPTION_CODE: &str = "X-ClickHouse-Exception-Code";

/// The server, and how one logs in to it.
#[derive(Clone)]
pub(super) struct Server {
    url: String,
    authorization: String,
    place: String,
    tls: bool,
    roots: Option<TlsConfig>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("place", &self.place).finish_non_exhaustive()
    }
}

/// A request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked<'a> {
    /// Of its URL, behind those of the target.
    pub(super) parameters: &'a str,
    /// Of the body.
    pub(super) encoding: Option<&'a str>,
    pub(super) body: &'a [u8],
    /// How long the whole answer may take.
    pub(super) limit: Option<Duration>,
}

impl Server {
    pub(super) fn new(settings: &ClickHouseSettings) -> Result<Self, DriverError> {
        let password = settings.password.as_ref().map_or("", Password::reveal);
        let login = STANDARD.encode(format!("{}:{password}", settings.user));
        Ok(Self {
            url: settings.request_url(),
            authorization: format!("Basic {login}"),
            place: settings.authority(),
            tls: settings.tls,
            roots: settings.tls.then(roots).transpose()?,
        })
    }

    /// Keeps one connection, for as long as nothing is asked for `idle`.
    pub(super) fn agent(&self, idle: Duration) -> Agent {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .max_redirects(0)
            .max_idle_age(idle)
            .max_idle_connections(1)
            .proxy(None)
            .user_agent(concat!("dyno/", env!("CARGO_PKG_VERSION")))
            .tls_config(self.roots.clone().unwrap_or_default());
        config.build().new_agent()
    }

    /// Sends a request; its answer where the server has begun one.
    pub(super) fn post(&self, agent: &Agent, asked: &Asked<'_>) -> Result<Response<Body>, DriverError> {
        let mut request = agent
            .post(format!("{}&{}", self.url, asked.parameters))
            .header("Authorization", &self.authorization)
            .content_type("text/plain; charset=utf-8");
        if let Some(encoding) = asked.encoding {
            request = request.header("Content-Encoding", encoding);
        }
        if asked.limit.is_some() {
            request = request.config().timeout_global(asked.limit).build();
        }
        let mut response = request.send(asked.body).map_err(|error| self.failed(&error))?;
        let refused = response.headers().contains_key(EXCEPTION_CODE);
        if response.status().is_success() && !refused {
            return Ok(response);
        }
        let mut said = Vec::new();
        // What can be read of it is all there is.
        let _ = response.body_mut().as_reader().take(REFUSAL_BYTES_MAX).read_to_end(&mut said);
        Err(self.refused(response.status().as_u16(), &String::from_utf8_lossy(&said)))
    }

    /// What the server says where it refuses a request.
    fn refused(&self, status: u16, said: &str) -> DriverError {
        if let Some(mut error) = exception(said) {
            error.message += match error.code {
                "AUTHENTICATION_FAILED" | "WRONG_PASSWORD" | "REQUIRED_PASSWORD" | "UNKNOWN_USER" => {
                    "; check the user and the password in the target's URL, CLICKHOUSE_USER and CLICKHOUSE_PASSWORD"
                }
                "UNKNOWN_DATABASE" => "; create it, or name another behind the host",
                "UNKNOWN_SETTING" => "; what follows the `?` of the target is sent as settings",
                _ => "",
            };
            return error;
        }
        if said.contains("clickhouse-client program") {
            return DriverError::new(
                NOT_CLICKHOUSE,
                format!(
                    "{} is the port of ClickHouse's native protocol: name {}",
                    self.place,
                    http_port(said)
                ),
            );
        }
        let advice = match status {
            401 | 403 => {
                "it lets this user not in: check user and password, and what is between dyno and the server"
            }
            502..=504 => "a proxy says that the server behind it does not answer",
            _ => "this is not how ClickHouse answers: check host and port",
        };
        DriverError::new(
            NOT_CLICKHOUSE,
            format!(
                "{} answers with HTTP status {status}: {advice}; it says: {}",
                self.place,
                shortened(said)
            ),
        )
    }

    /// Why nothing, or not all, came back.
    pub(super) fn failed(&self, error: &ureq::Error) -> DriverError {
        let place = &self.place;
        let (code, message) = match error {
            ureq::Error::HostNotFound => (
                NO_CONNECTION,
                format!("the host of {place} is not known: check its spelling and the name server"),
            ),
            ureq::Error::Timeout(_) => {
                // A server without TLS may wait for the end of what it takes for a request.
                let tls = if self.tls { ", whether it speaks TLS at this port (8443)" } else { "" };
                (
                    NO_CONNECTION,
                    format!(
                        "{place} did not answer in time: check host and firewall{tls}, and whether the server is overloaded"
                    ),
                )
            }
            ureq::Error::Io(source) if source.kind() == std::io::ErrorKind::ConnectionRefused => (
                NO_CONNECTION,
                format!(
                    "no server listens at {place} (connection refused): start it, or check host and port (8123, with TLS 8443)"
                ),
            ),
            ureq::Error::Rustls(source) => (NO_CONNECTION, self.tls_failed(source)),
            ureq::Error::Io(source) => {
                match source.get_ref().and_then(|it| it.downcast_ref::<rustls::Error>()) {
                    Some(source) => (NO_CONNECTION, self.tls_failed(source)),
                    None => (CONNECTION_LOST, self.broken(&source.to_string())),
                }
            }
            other => (CONNECTION_LOST, self.broken(&other.to_string())),
        };
        DriverError::lost(code, message)
    }

    /// The connection broke under an answer.
    pub(super) fn broken(&self, reason: &str) -> String {
        let advice = match self.tls {
            true => "look into the server's log",
            false => {
                "look into the server's log; a port that speaks TLS wants a target that begins with clickhouses://"
            }
        };
        format!("{} broke the connection off: {reason}; {advice}", self.place)
    }

    /// The session has closed its connection itself.
    pub(super) fn given_up(&self) -> String {
        format!(
            "{} did not stop a query when it was asked to, so the connection was closed: look whether the server answers, \
             and whether this user may run KILL QUERY",
            self.place
        )
    }

    fn tls_failed(&self, error: &rustls::Error) -> String {
        let place = &self.place;
        match error {
            rustls::Error::InvalidMessage(_) => format!(
                "{place} does not speak TLS: name the port that does (8443), or do without (clickhouse://, no secure=1)"
            ),
            rustls::Error::InvalidCertificate(error) => format!(
                "the certificate of {place} is not accepted: {}; add its authority to the system's certificates \
                 (SSL_CERT_FILE names a file of others), and name the host as the certificate does",
                certificate_reason(error)
            ),
            other => format!("TLS with {place} failed: {other}"),
        }
    }
}

/// The system's authorities.
fn roots() -> Result<TlsConfig, DriverError> {
    let roots = system_roots().map_err(|error| DriverError::new(NO_CONNECTION, error.to_string()))?;
    let roots: Vec<Certificate<'static>> =
        roots.iter().map(|root| Certificate::from_der(root).to_owned()).collect();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&roots))
        .unversioned_rustls_crypto_provider(provider)
        .build())
}

/// The native port names the other one: `You must use port 8123 for HTTP.`
fn http_port(said: &str) -> String {
    let digits = said.split("use port ").nth(1).map(|rest| rest.chars().take_while(char::is_ascii_digit));
    match digits.map(String::from_iter).filter(|digits: &String| !digits.is_empty()) {
        Some(port) => format!("the port of HTTP, {port}"),
        None => "the port of HTTP (8123, with TLS 8443)".to_owned(),
    }
}
