//! Why a node_exporter cannot be read. No message ever repeats a password.

/// What stands in the way. Each message ends in what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeExporterError {
    #[error(
        "a node_exporter is written http://host:9100/metrics or https://user:password@host:9100/metrics, not `{found}`: {why}"
    )]
    NotAUrl { found: String, why: &'static str },
    #[error(
        "the node_exporter at {url} cannot be reached: {reason}; check that it runs there and that the port is open to this host"
    )]
    Unreachable { url: String, reason: String },
    #[error(
        "TLS with the node_exporter at {url} failed: {reason}; SSL_CERT_FILE may name the authority of its certificate, and one that speaks no TLS is written http://"
    )]
    Tls { url: String, reason: String },
    #[error(
        "the node_exporter at {url} wants another user or password (HTTP status {status}): write https://user:password@host:9100/metrics"
    )]
    Unauthorized { url: String, status: u16 },
    #[error(
        "{url} answered with HTTP status {status}: check the path, which mostly is /metrics, and whether it is http or https"
    )]
    Status { url: String, status: u16 },
    #[error(
        "what {url} answers is no metrics of a node_exporter: it has no node_cpu_seconds_total, which node_exporter 0.16 \
         and later have; check port, path and version"
    )]
    NotANodeExporter { url: String },
    #[error("what {url} answers is larger than {limit_bytes} bytes: that is no node_exporter's page")]
    TooLarge { url: String, limit_bytes: u64 },
    #[error("the node_exporter at {url} knows no disk {device}: it has {known}")]
    NoSuchDevice { url: String, device: String, known: String },
    #[error("cannot start a thread: {reason}")]
    NoThread { reason: String },
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
}
