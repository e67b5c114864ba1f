//! Why a login failed.

use thiserror::Error;

use crate::link::LinkError;
use crate::my::error::{MySqlError, ProtocolError};

/// Why no session came about. No variant holds a password.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum LoginError {
    /// The server said no: access denied (1045), unknown database (1049), host not allowed (1130), ….
    #[error("the server refused the login: {0}")]
    Server(Box<MySqlError>),
    /// No greeting could be given: too many connections (1040), host blocked (1129), ….
    #[error("the server refused the connection: {0}")]
    Unwelcome(Box<MySqlError>),
    #[error(
        "the server speaks PostgreSQL's protocol, not MySQL's; use a postgres:// URL, or the MySQL server's port"
    )]
    PostgreSql,
    #[error("the server does not speak MySQL's protocol, it began with {0}; is this the right port?")]
    NotMySql(String),
    #[error(
        "the server greeted only after it was given up; it may be overloaded, or looking up names (skip_name_resolve)"
    )]
    LateGreeting,
    #[error(
        "the server speaks version {version} of MySQL's protocol, and only version 10 is supported (MySQL 4.1 and later)"
    )]
    ProtocolVersion { version: u8 },
    #[error(
        "the server {version} lacks {what}, which every MySQL since 4.1 has; what is in between here and it?"
    )]
    Capability { version: String, what: &'static str },
    #[error(
        "the server does not offer TLS, but the connection must be encrypted; \
         give the server a certificate (ssl_cert, ssl_key) or choose ssl-mode=preferred or disabled"
    )]
    TlsRefused,
    #[error("{bytes} bytes came unencrypted before TLS began; somebody may be tampering with the connection")]
    DataBeforeTls { bytes: usize },
    /// The server's certificate is not the one that the settings trust.
    #[error("the server's TLS certificate was not accepted: {0}; check ssl-ca, ssl-mode and the host name")]
    Certificate(rustls::CertificateError),
    #[error("the TLS handshake failed: {0}")]
    Tls(LinkError),
    #[error("the account uses the authentication plugin {plugin}, which is not supported; {advice}")]
    UnsupportedPlugin { plugin: String, advice: &'static str },
    #[error(
        "the account asks for a second factor, which is not supported; choose an account with a password only"
    )]
    SecondFactor,
    #[error(
        "the server asks for the password in clear ({plugin}) over a connection that is not encrypted; \
         choose ssl-mode=required or stricter"
    )]
    ClearPassword { plugin: &'static str },
    #[error(
        "the server asks for the password as it is ({plugin}), which was not allowed; \
         allow it with enable-cleartext-plugin=on, and have the certificate checked with ssl-mode=VERIFY_IDENTITY"
    )]
    ClearPasswordForbidden { plugin: &'static str },
    #[error(
        "{plugin} needs the server's public key, and asking the server for it was not allowed; \
         choose ssl-mode=required, or allow it to be asked for"
    )]
    PublicKeyForbidden { plugin: &'static str },
    #[error("the server's public key cannot be used: {what}")]
    PublicKey { what: &'static str },
    #[error("the password cannot be encrypted: {what}; choose ssl-mode=required")]
    Encryption { what: &'static str },
    #[error("the server has sent more than {bytes} bytes and has not ended the login; is it MySQL?")]
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
