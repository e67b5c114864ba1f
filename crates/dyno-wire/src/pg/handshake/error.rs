//! Why a login failed.

use thiserror::Error;

use crate::link::LinkError;
use crate::pg::error::{PostgresError, ProtocolError, Tag};

/// Why no session came about. No variant holds a password.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum LoginError {
    /// The server said no: wrong password (28P01), no such database (3D000), too many clients (53300), ….
    #[error("the server refused the login: {0}")]
    Server(Box<PostgresError>),
    #[error(
        "the server does not offer TLS, but the connection must be encrypted; \
         enable ssl on the server or choose sslmode=prefer or disable"
    )]
    TlsRefused,
    #[error("the server answered the TLS request with an error; does it accept connections now?")]
    TlsRequestFailed,
    #[error("the server answered the TLS request with {answer} instead of 'S' or 'N'; is it PostgreSQL?")]
    TlsAnswer { answer: Tag },
    #[error(
        "{bytes} bytes came unencrypted with the server's answer to the TLS request; \
         somebody may be tampering with the connection"
    )]
    DataBeforeTls { bytes: usize },
    /// The server's certificate is not the one that the settings trust.
    #[error(
        "the server's TLS certificate was not accepted: {0}; check sslrootcert, sslmode and the host name"
    )]
    Certificate(rustls::CertificateError),
    #[error("the TLS handshake failed: {0}")]
    Tls(LinkError),
    #[error(
        "the server asks for a password ({method}) and none was given; put one into the URL, PGPASSWORD or .pgpass"
    )]
    PasswordMissing { method: &'static str },
    #[error(
        "the server asks for {method}, which is not supported; ask for scram-sha-256 or md5 in pg_hba.conf"
    )]
    UnsupportedMethod { method: String },
    #[error("channel binding is required, but {reason}")]
    ChannelBinding { reason: &'static str },
    #[error(
        "the server offers SCRAM-SHA-256-PLUS over an unencrypted connection, which only makes sense over TLS; \
         something between here and the server may have taken the encryption off"
    )]
    PlusWithoutTls,
    /// The exchange itself broke: a wrong nonce, a garbled message, an iteration count without bounds.
    #[error("SCRAM authentication failed: {reason}")]
    Scram { reason: String },
    /// The server could not show that it knows the password: it may be an impostor.
    #[error(
        "the server did not prove that it knows the password: {reason}; it may not be the server it claims to be"
    )]
    ServerNotVerified { reason: String },
    #[error("the server spoke before anything was asked of it; is it PostgreSQL?")]
    SpokeFirst,
    #[error(
        "the server speaks MySQL's protocol, not PostgreSQL's; use a mysql:// URL, or the PostgreSQL server's port"
    )]
    MySql,
    #[error("the server has sent more than {bytes} bytes and is not ready yet; is it PostgreSQL?")]
    TooMuch { bytes: usize },
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}

impl From<LinkError> for LoginError {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Tls(rustls::Error::InvalidCertificate(error)) => Self::Certificate(error),
            error => Self::Tls(error),
        }
    }
}
