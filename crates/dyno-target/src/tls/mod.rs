//! What `sslmode` and its files mean: from certificates, keys and roots on disk to a configuration that decides
//! whom to trust. Opens no connection.

mod common_name;
mod verifier;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{CertificateError, ClientConfig, OtherError, RootCertStore, SupportedProtocolVersion, version};

use verifier::{ServerCheck, Verifier};

use crate::files;

/// Whether TLS is used and what of the server's certificate is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SslMode {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

/// A protocol version that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TlsVersion {
    /// 1.0 and 1.1 too: they are never spoken, so as a lower limit they mean 1.2.
    Tls12,
    Tls13,
}

/// Whose signature on the server's certificate is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RootCertificates {
    /// None is named and the default file does not exist.
    None {
        looked_at: Option<PathBuf>,
    },
    File(PathBuf),
    /// The system's collection (`sslrootcert=system`).
    System,
}

/// The TLS part of a target's settings.
#[derive(Debug, Clone)]
pub(crate) struct TlsSettings {
    pub(crate) mode: SslMode,
    pub(crate) roots: RootCertificates,
    /// Client certificate, PEM, own certificate first; `None` where there is none.
    pub(crate) certificate: Option<PathBuf>,
    /// Its key, PEM, not encrypted.
    pub(crate) key: Option<PathBuf>,
    /// Refuse a key that others may read, as libpq does and MySQL's clients do not.
    pub(crate) checks_key_rights: bool,
    pub(crate) version_min: Option<TlsVersion>,
    pub(crate) version_max: Option<TlsVersion>,
}

/// A certificate or key on this machine that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsFileError {
    #[error("cannot read the {what} {}: {source}", .file.display())]
    Read { what: &'static str, file: PathBuf, source: io::Error },
    #[error("the {what} {} is not valid PEM: {reason}", .file.display())]
    Malformed { what: &'static str, file: PathBuf, reason: String },
    #[error(
        "sslmode={mode} needs root certificates, and {} does not exist: name them with sslrootcert=FILE, or sslrootcert=system",
        .looked_at.as_ref().map_or("~/.postgresql/root.crt".into(), |path| path.display().to_string())
    )]
    NoRoots { mode: &'static str, looked_at: Option<PathBuf> },
    #[error("the system has no root certificates{}; install ca-certificates or name a file (sslrootcert, ssl-ca)", .reason)]
    NoSystemRoots { reason: String },
    #[error("a client certificate {} is there but its key {} is not: name it (sslkey, ssl-key)", .certificate.display(), .key.display())]
    KeyMissing { certificate: PathBuf, key: PathBuf },
    #[error("the key {} must be readable by its owner only: run `chmod 0600` on it (0640 if root owns it)", .0.display())]
    KeyPermissions(PathBuf),
    #[error("the key {} belongs to another user: it must be yours or root's", .0.display())]
    KeyOwner(PathBuf),
    #[error("the key {} is encrypted; write it without a passphrase: openssl pkey -in … -out …", .0.display())]
    KeyEncrypted(PathBuf),
    #[error("the client certificate {} and the key {} cannot be used together: {source}", .certificate.display(), .key.display())]
    KeyDiffers { certificate: PathBuf, key: PathBuf, source: rustls::Error },
    #[error("ssl_min_protocol_version is above ssl_max_protocol_version")]
    VersionsCrossed,
    #[error("TLS cannot be set up: {0}")]
    Setup(#[from] rustls::Error),
}

impl SslMode {
    const NAMES: [(Self, &'static str); 5] = [
        (Self::Disable, "disable"),
        (Self::Prefer, "prefer"),
        (Self::Require, "require"),
        (Self::VerifyCa, "verify-ca"),
        (Self::VerifyFull, "verify-full"),
    ];

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(_, name)| *name == text).map(|(mode, _)| mode)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(mode, _)| *mode == self).map_or("", |(_, name)| name)
    }
}

impl TlsVersion {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "tlsv1" | "tlsv1.1" | "tlsv1.2" => Some(Self::Tls12),
            "tlsv1.3" => Some(Self::Tls13),
            _ => None,
        }
    }
}

impl TlsSettings {
    /// Reads the files and makes the configuration of every session to this target.
    pub(crate) fn client_config(&self) -> Result<ClientConfig, TlsFileError> {
        let provider = Arc::new(ring::default_provider());
        let verifier = self.verifier(&provider)?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&self.versions()?)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let Some(certificate) = &self.certificate else { return Ok(config.with_no_client_auth()) };
        let chain = read_certificates("client certificate", certificate)?;
        let key = self.key.as_ref().filter(|key| key.exists());
        let Some(key) = key else {
            let key = self.key.clone().unwrap_or_else(|| PathBuf::from("~/.postgresql/postgresql.key"));
            return Err(TlsFileError::KeyMissing { certificate: certificate.clone(), key });
        };
        if self.checks_key_rights {
            check_key_rights(key)?;
        }
        config.with_client_auth_cert(chain, read_key(key)?).map_err(|source| TlsFileError::KeyDiffers {
            certificate: certificate.clone(),
            key: key.clone(),
            source,
        })
    }

    fn versions(&self) -> Result<Vec<&'static SupportedProtocolVersion>, TlsFileError> {
        let min = self.version_min.unwrap_or(TlsVersion::Tls12);
        let max = self.version_max.unwrap_or(TlsVersion::Tls13);
        let all = [(TlsVersion::Tls13, &version::TLS13), (TlsVersion::Tls12, &version::TLS12)];
        let versions: Vec<_> =
            all.into_iter().filter(|(it, _)| (min..=max).contains(it)).map(|(_, it)| it).collect();
        if versions.is_empty() { Err(TlsFileError::VersionsCrossed) } else { Ok(versions) }
    }

    /// As in libpq, a root file that exists is used in the weaker modes too: they check then what `verify-ca`
    /// checks.
    fn verifier(&self, provider: &CryptoProvider) -> Result<Verifier, TlsFileError> {
        let algorithms = provider.signature_verification_algorithms;
        let (trusted, roots) = match &self.roots {
            RootCertificates::File(file) => {
                let trusted = read_certificates(ROOTS_WHAT, file)?;
                let roots = root_store(ROOTS_WHAT, file, &trusted)?;
                (trusted, roots)
            }
            RootCertificates::System => {
                let (trusted, mut roots) = (system_roots()?, RootCertStore::empty());
                roots.add_parsable_certificates(trusted.iter().cloned());
                (trusted, roots)
            }
            RootCertificates::None { .. } if matches!(self.mode, SslMode::Prefer | SslMode::Require) => {
                return Ok(Verifier::new(
                    RootCertStore::empty(),
                    Vec::new(),
                    ServerCheck::Nothing,
                    algorithms,
                ));
            }
            RootCertificates::None { looked_at } => {
                return Err(TlsFileError::NoRoots { mode: self.mode.name(), looked_at: looked_at.clone() });
            }
        };
        let check =
            if self.mode == SslMode::VerifyFull { ServerCheck::ChainAndName } else { ServerCheck::Chain };
        Ok(Verifier::new(roots, trusted, check, algorithms))
    }
}

/// Why a server's certificate or its words are refused, where only the system's certificates count.
pub(crate) fn reason(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(error) => certificate_reason(error),
        other => other.to_string(),
    }
}

/// Why a certificate is refused.
pub(crate) fn certificate_reason(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer => "no trusted authority has signed it".to_owned(),
        CertificateError::BadSignature => "its signature is not that of its authority".to_owned(),
        CertificateError::Other(other) if is_an_authoritys_own(other) => {
            "it is self-signed as an authority (CA:TRUE), and such a certificate is not accepted as a server's own: \
             let that authority sign another one for the server, or make it with -addext basicConstraints=CA:FALSE"
                .to_owned()
        }
        other => other.to_string(),
    }
}

/// Whether a server shows the certificate of an authority as its own.
fn is_an_authoritys_own(error: &OtherError) -> bool {
    matches!(error.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

/// The system's authorities, or those of the file that the variable names: one that cannot be used is no reason to look elsewhere.
pub(crate) fn system_roots() -> Result<Vec<CertificateDer<'static>>, TlsFileError> {
    if let Some(file) = std::env::var_os(ROOTS_VARIABLE) {
        let file = PathBuf::from(file);
        root_store(ROOTS_VARIABLE_WHAT, &file, &read_certificates(ROOTS_VARIABLE_WHAT, &file)?)?;
    }
    let found = rustls_native_certs::load_native_certs();
    let directories = std::env::var_os(DIRECTORIES_VARIABLE);
    let is_of_use = || RootCertStore::empty().add_parsable_certificates(found.certs.iter().cloned()).0 > 0;
    if let Some(directories) = directories.filter(|_| !is_of_use())
        && let Some(error) = why_no_roots(&directories)
    {
        return Err(error);
    }
    if found.certs.is_empty() {
        let reason = found.errors.first().map_or_else(String::new, |error| format!(" ({error})"));
        return Err(TlsFileError::NoSystemRoots { reason });
    }
    Ok(found.certs)
}

/// What is wrong with the first of these directories, of which none has a root certificate that can be used; `None` where none is named.
fn why_no_roots(directories: &OsStr) -> Option<TlsFileError> {
    let directory = std::env::split_paths(directories).find(|directory| !directory.as_os_str().is_empty())?;
    let wrong = |source| TlsFileError::Read { what: DIRECTORIES_WHAT, file: directory.clone(), source };
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(source) => return Some(wrong(source)),
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort_unstable();
    let of_file = |file: &PathBuf| {
        let certificates = read_certificates(DIRECTORY_FILE_WHAT, file);
        certificates.and_then(|it| root_store(DIRECTORY_FILE_WHAT, file, &it)).err()
    };
    let nothing = || wrong(io::Error::other("it has no file with root certificates"));
    Some(files.iter().find_map(of_file).unwrap_or_else(nothing))
}

/// The certificates of a file as roots; at least one must be of use.
fn root_store(
    what: &'static str,
    file: &Path,
    certificates: &[CertificateDer<'static>],
) -> Result<RootCertStore, TlsFileError> {
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates.iter().cloned());
    if added == 0 {
        let reason = "none of its certificates can be used as a root (X.509 version 3 is needed)".to_owned();
        return Err(TlsFileError::Malformed { what, file: file.to_owned(), reason });
    }
    Ok(roots)
}

fn read_certificates(what: &'static str, file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsFileError> {
    let pem =
        files::read(file).map_err(|source| TlsFileError::Read { what, file: file.to_owned(), source })?;
    let malformed = |reason| TlsFileError::Malformed { what, file: file.to_owned(), reason };
    let certificates = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| malformed(error.to_string()))?;
    if certificates.is_empty() {
        return Err(malformed("it holds no certificate".to_owned()));
    }
    Ok(certificates)
}

/// Names a file of trusted certificates instead of the system's.
const ROOTS_VARIABLE: &str = "SSL_CERT_FILE";
const ROOTS_VARIABLE_WHAT: &str = "file of root certificates that SSL_CERT_FILE names";
/// Names directories of them.
const DIRECTORIES_VARIABLE: &str = "SSL_CERT_DIR";
const DIRECTORIES_WHAT: &str = "directory of root certificates that SSL_CERT_DIR names,";
const DIRECTORY_FILE_WHAT: &str = "file of root certificates in the directory that SSL_CERT_DIR names,";
const ROOTS_WHAT: &str = "root certificate";
const KEY: &str = "key";

/// Only its owner may read a key; one of root's may be readable by its group, as libpq allows.
fn check_key_rights(file: &Path) -> Result<(), TlsFileError> {
    let read = |source| TlsFileError::Read { what: KEY, file: file.to_owned(), source };
    let metadata = fs::metadata(file).map_err(read)?;
    let ours = rustix::process::geteuid().as_raw();
    if ![0, ours].contains(&metadata.uid()) {
        return Err(TlsFileError::KeyOwner(file.to_owned()));
    }
    let forbidden = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    if metadata.mode() & forbidden != 0 {
        return Err(TlsFileError::KeyPermissions(file.to_owned()));
    }
    Ok(())
}

fn read_key(file: &Path) -> Result<PrivateKeyDer<'static>, TlsFileError> {
    let pem = files::read(file).map_err(|source| TlsFileError::Read {
        what: KEY,
        file: file.to_owned(),
        source,
    })?;
    if pem.windows(9).any(|window| window == b"ENCRYPTED") {
        return Err(TlsFileError::KeyEncrypted(file.to_owned()));
    }
    PrivateKeyDer::from_pem_slice(&pem).map_err(|error| TlsFileError::Malformed {
        what: KEY,
        file: file.to_owned(),
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authoritys_own_certificate_is_told_by_the_type_of_the_error() {
        let reason = |error: OtherError| certificate_reason(&CertificateError::Other(error));
        let own = reason(OtherError(Arc::new(webpki::Error::CaUsedAsEndEntity)));
        assert!(own.starts_with("it is self-signed as an authority"), "{own}");
        for other in [
            OtherError(Arc::new(webpki::Error::EndEntityUsedAsCa)),
            OtherError(Arc::new(io::Error::other("CaUsedAsEndEntity"))),
        ] {
            let said = reason(other);
            assert!(!said.contains("self-signed"), "{said}");
        }
    }
}
