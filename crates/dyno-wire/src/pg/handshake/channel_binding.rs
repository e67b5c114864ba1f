//! `tls-server-end-point` (RFC 5929): the hash of the server's certificate, by which SCRAM notices a man in the
//! middle of the TLS channel. Reads of a certificate only how it is signed; trust is decided by rustls.

use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

/// The hash of a certificate in DER, by the hash of its signature; `None` if that has none (Ed25519) or if the
/// certificate cannot be read.
pub(super) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    Some(match signature_hash(certificate)? {
        Hash::Sha224 => Sha224::digest(certificate).to_vec(),
        Hash::Sha256 => Sha256::digest(certificate).to_vec(),
        Hash::Sha384 => Sha384::digest(certificate).to_vec(),
        Hash::Sha512 => Sha512::digest(certificate).to_vec(),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hash {
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;
/// `[0]`, constructed: the first optional member of a sequence.
const FIRST_OPTIONAL: u8 = 0xa0;

/// 1.2.840.113549.1.1: PKCS #1; the last number says which algorithm.
const PKCS1: [u8; 8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
/// 1.2.840.10045.4: signatures of ANSI X9.62, ECDSA.
const ECDSA: [u8; 6] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
/// 2.16.840.1.101.3.4.2: hash algorithms of NIST.
const NIST_HASH: [u8; 8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];

/// Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm SEQUENCE { OID, parameters }, signature }
fn signature_hash(certificate: &[u8]) -> Option<Hash> {
    let (certificate, _) = element(certificate, SEQUENCE)?;
    let (_, after) = element(certificate, SEQUENCE)?;
    let (algorithm, _) = element(after, SEQUENCE)?;
    let (oid, parameters) = element(algorithm, OBJECT_IDENTIFIER)?;
    if let Some(algorithm) = oid.strip_prefix(&PKCS1) {
        return match algorithm {
            // MD5 and SHA-1 are replaced by SHA-256, says RFC 5929.
            [4 | 5] => Some(Hash::Sha256),
            [10] => pss_hash(parameters),
            [11] => Some(Hash::Sha256),
            [12] => Some(Hash::Sha384),
            [13] => Some(Hash::Sha512),
            [14] => Some(Hash::Sha224),
            _ => None,
        };
    }
    match oid.strip_prefix(&ECDSA)? {
        [1] => Some(Hash::Sha256),
        [3, 1] => Some(Hash::Sha224),
        [3, 2] => Some(Hash::Sha256),
        [3, 3] => Some(Hash::Sha384),
        [3, 4] => Some(Hash::Sha512),
        _ => None,
    }
}

/// RSASSA-PSS names its hash in its parameters: SEQUENCE { [0] SEQUENCE { OID, … } OPTIONAL, … }; without it,
/// SHA-1.
fn pss_hash(parameters: &[u8]) -> Option<Hash> {
    let (parameters, _) = element(parameters, SEQUENCE)?;
    let Some((hash, _)) = element(parameters, FIRST_OPTIONAL) else { return Some(Hash::Sha256) };
    let (hash, _) = element(hash, SEQUENCE)?;
    let (oid, _) = element(hash, OBJECT_IDENTIFIER)?;
    match oid.strip_prefix(&NIST_HASH) {
        Some([1]) => Some(Hash::Sha256),
        Some([2]) => Some(Hash::Sha384),
        Some([3]) => Some(Hash::Sha512),
        Some([4]) => Some(Hash::Sha224),
        Some(_) => None,
        None => Some(Hash::Sha256),
    }
}

/// The content of the DER element at the start of `der`, if it has this tag, and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = der.split_first()?;
    if found != tag {
        return None;
    }
    let (&first, rest) = rest.split_first()?;
    if first < 0x80 {
        return rest.split_at_checked(usize::from(first));
    }
    let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
    if length.is_empty() || length.len() > 4 {
        return None;
    }
    let length = length.iter().fold(0_usize, |length, &byte| length << 8 | usize::from(byte));
    rest.split_at_checked(length)
}
