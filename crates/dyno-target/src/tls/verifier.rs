//! Decides whether a server's certificate is trusted. Chains, dates and signatures are webpki's work; what is
//! added is what PostgreSQL's own clients accept and webpki alone does not: no check at all, a check without
//! the name, a self-signed certificate that is itself among the roots, and a name in the subject only.
//!
//! The signature of the handshake is verified in every mode: channel binding rests on it.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::{common_name, is_an_authoritys_own};

/// How much of a certificate is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerCheck {
    Nothing,
    Chain,
    ChainAndName,
}

#[derive(Debug)]
pub(super) struct Verifier {
    roots: RootCertStore,
    /// The roots as they stand in the file.
    trusted: Vec<CertificateDer<'static>>,
    check: ServerCheck,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    pub(super) fn new(
        roots: RootCertStore,
        trusted: Vec<CertificateDer<'static>>,
        check: ServerCheck,
        algorithms: WebPkiSupportedAlgorithms,
    ) -> Self {
        Self { roots, trusted, check, algorithms }
    }

    fn verify_chain(
        &self,
        certificate: &CertificateDer<'_>,
        parsed: &ParsedCertificate<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        let algorithms = self.algorithms.all;
        match verify_server_cert_signed_by_trust_anchor(parsed, &self.roots, intermediates, now, algorithms) {
            // `openssl req -x509` makes a certificate that is its own authority; webpki takes none of those for
            // a server's. Dates were checked before this error arises.
            Err(Error::InvalidCertificate(CertificateError::Other(why)))
                if is_an_authoritys_own(&why)
                    && self.trusted.iter().any(|root| root.as_ref() == certificate.as_ref()) =>
            {
                Ok(())
            }
            result => result,
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.check != ServerCheck::Nothing {
            let parsed = ParsedCertificate::try_from(end_entity)?;
            self.verify_chain(end_entity, &parsed, intermediates, now)?;
            if self.check == ServerCheck::ChainAndName {
                verify_name(end_entity, &parsed, server_name)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The alternative names, or, in a certificate without any, the common name.
fn verify_name(
    certificate: &CertificateDer<'_>,
    parsed: &ParsedCertificate<'_>,
    server_name: &ServerName<'_>,
) -> Result<(), Error> {
    let error = match verify_server_name(parsed, server_name) {
        Ok(()) => return Ok(()),
        Err(error) => error,
    };
    let Error::InvalidCertificate(CertificateError::NotValidForNameContext { expected, presented }) = &error
    else {
        return Err(error);
    };
    if !presented.is_empty() {
        return Err(error);
    }
    let Some(common_name) = common_name::of_certificate(certificate.as_ref()) else { return Err(error) };
    if common_name::matches(&common_name, &server_name.to_str()) {
        return Ok(());
    }
    let presented = vec![common_name];
    Err(CertificateError::NotValidForNameContext { expected: expected.clone(), presented }.into())
}
