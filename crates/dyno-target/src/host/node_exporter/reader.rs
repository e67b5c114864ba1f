//! Fetching a node_exporter's page, over a connection that is kept.

use std::sync::Arc;
use std::time::Duration;

use dyno_results::event::Host;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, http};

use super::keys::{COLLECTORS, Page};
use super::{NodeExporter, NodeExporterError};
use crate::host::traffic::{Busiest, DISK_BUSY};
use crate::host::values::{HostValues, put};
use crate::tls::{reason, system_roots};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// A machine under full load may take its time.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Pages of large machines with every collector have a megabyte or two.
const PAGE_BYTES_MAX: u64 = 16 << 20;
const REDIRECTS_MAX: u32 = 3;

/// Reads one node_exporter again and again.
#[derive(Debug)]
pub(crate) struct NodeExporterReader {
    exporter: NodeExporter,
    agent: Agent,
    /// Whether only the collectors that are needed are asked for.
    narrowed: bool,
    page_bytes_max: u64,
    busiest: Busiest,
}

impl NodeExporterReader {
    /// # Errors
    /// This machine trusts no authority at all, for a URL of TLS.
    pub(crate) fn new(exporter: NodeExporter) -> Result<Self, NodeExporterError> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(ANSWER_TIMEOUT))
            .max_redirects(REDIRECTS_MAX)
            .proxy(None)
            .user_agent(concat!("dyno/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls(&exporter)?);
        let narrowed = !exporter.request.contains('?');
        Ok(Self {
            exporter,
            agent: config.build().new_agent(),
            narrowed,
            page_bytes_max: PAGE_BYTES_MAX,
            busiest: Busiest::default(),
        })
    }

    /// What it says of its machine; fails for disks that it does not have.
    pub(super) fn host(&mut self) -> Result<Host, NodeExporterError> {
        let text = self.page()?;
        let page = self.understood(&text)?;
        let known = page.disks();
        match self.exporter.devices.iter().find(|device| !known.contains(device.as_str())) {
            Some(device) => Err(NodeExporterError::NoSuchDevice {
                url: self.exporter.shown.clone(),
                device: device.clone(),
                known: known.into_iter().collect::<Vec<_>>().join(", "),
            }),
            None => Ok(page.host(&self.exporter.devices)),
        }
    }

    /// One reading.
    pub(crate) fn sample(&mut self) -> Result<HostValues, NodeExporterError> {
        let text = self.page()?;
        let page = self.understood(&text)?;
        let mut values = page.values(&self.exporter.devices);
        let busy_by_disk = page.busy_by_disk(&self.exporter.devices);
        put(&mut values, DISK_BUSY, self.busiest.total(busy_by_disk));
        Ok(values)
    }

    fn understood<'a>(&self, text: &'a str) -> Result<Page<'a>, NodeExporterError> {
        Page::read(text)
            .ok_or_else(|| NodeExporterError::NotANodeExporter { url: self.exporter.shown.clone() })
    }

    fn page(&mut self) -> Result<String, NodeExporterError> {
        let mut response = self.get()?;
        if self.narrowed && response.status() == http::StatusCode::BAD_REQUEST {
            // A collector that is switched off may not be asked for.
            self.narrowed = false;
            response = self.get()?;
        }
        let url = || self.exporter.shown.clone();
        match response.status().as_u16() {
            200 => {}
            status @ (401 | 403 | 407) => return Err(NodeExporterError::Unauthorized { url: url(), status }),
            status => return Err(NodeExporterError::Status { url: url(), status }),
        }
        let body = response.body_mut().with_config().limit(self.page_bytes_max);
        let body = body.lossy_utf8(true).read_to_string();
        body.map_err(|error| self.failed(&error))
    }

    fn get(&self) -> Result<http::Response<Body>, NodeExporterError> {
        let mut url = self.exporter.request.clone();
        if self.narrowed {
            let collectors: Vec<String> = COLLECTORS.iter().map(|name| format!("collect[]={name}")).collect();
            url = format!("{url}?{}", collectors.join("&"));
        }
        let mut request = self.agent.get(url);
        if let Some(value) = &self.exporter.authorization {
            request = request.header("Authorization", value);
        }
        request.call().map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &ureq::Error) -> NodeExporterError {
        let url = self.exporter.shown.clone();
        let unreachable = |reason: String| NodeExporterError::Unreachable { url: url.clone(), reason };
        match error {
            ureq::Error::BodyExceedsLimit(_) => {
                NodeExporterError::TooLarge { url, limit_bytes: self.page_bytes_max }
            }
            ureq::Error::Rustls(source) => NodeExporterError::Tls { url, reason: reason(source) },
            ureq::Error::Tls(reason) => NodeExporterError::Tls { url, reason: (*reason).to_owned() },
            ureq::Error::Io(source) => {
                match source.get_ref().and_then(|it| it.downcast_ref::<rustls::Error>()) {
                    Some(source) => NodeExporterError::Tls { url, reason: reason(source) },
                    None => unreachable(source.to_string()),
                }
            }
            ureq::Error::HostNotFound => unreachable("no host of that name is known".to_owned()),
            ureq::Error::Timeout(_) => {
                unreachable(format!("no answer within {} s", ANSWER_TIMEOUT.as_secs()))
            }
            other => unreachable(other.to_string()),
        }
    }
}

/// The system's authorities, which are read only where they are needed.
fn tls(exporter: &NodeExporter) -> Result<TlsConfig, NodeExporterError> {
    if !exporter.request.starts_with("https:") {
        return Ok(TlsConfig::default());
    }
    let roots = system_roots()
        .map_err(|error| NodeExporterError::Tls { url: exporter.shown.clone(), reason: error.to_string() })?;
    let roots: Vec<Certificate<'static>> =
        roots.iter().map(|root| Certificate::from_der(root).to_owned()).collect();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&roots))
        .unversioned_rustls_crypto_provider(provider)
        .build())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_page_without_end_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/metrics", listener.local_addr().unwrap());
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n");
            // Until the other side has had enough.
            while stream.write_all(b"node_cpu_seconds_total{cpu=\"0\"} 1\n").is_ok() {}
        });
        let reader = NodeExporterReader::new(NodeExporter::parse(&url).unwrap()).unwrap();
        // So few that no machine is too slow to get there in time.
        let mut reader = NodeExporterReader { page_bytes_max: 2000, ..reader };
        let error = reader.host().unwrap_err();
        assert!(matches!(error, NodeExporterError::TooLarge { limit_bytes: 2000, .. }), "{error}");
        drop(reader);
        serving.join().unwrap();
    }
}
