//! `tls-server-end-point` (RFC 5929): the hash of the server's certificate, by which SCRAM notices a man in the
//! middle of the TLS channel. Reads of a certificate only how it is signed; trust is decided by rustls.

use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use crate::der::{FIRST_OPTIONAL, OBJECT_IDENTIFIER, SEQUENCE, take};

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

/// 1.2.840.113549.1.1: PKCS #1; the last number says which algorithm.
const PKCS1: [u8; 8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
/// 1.2.840.10045.4: signatures of ANSI X9.62, ECDSA.
const ECDSA: [u8; 6] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
/// 2.16.840.1.101.3.4.2: hash algorithms of NIST.
const NIST_HASH: [u8; 8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];

/// Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm SEQUENCE { OID, parameters }, signature }
fn signature_hash(mut certificate: &[u8]) -> Option<Hash> {
    let mut members = take(&mut certificate, SEQUENCE)?;
    take(&mut members, SEQUENCE)?;
    let mut algorithm = take(&mut members, SEQUENCE)?;
    let oid = take(&mut algorithm, OBJECT_IDENTIFIER)?;
    if let Some(number) = oid.strip_prefix(&PKCS1) {
        return match number {
            // MD5 and SHA-1 are replaced by SHA-256, says RFC 5929.
            [4 | 5] => Some(Hash::Sha256),
            [10] => pss_hash(algorithm),
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
fn pss_hash(mut parameters: &[u8]) -> Option<Hash> {
    let mut parameters = take(&mut parameters, SEQUENCE)?;
    let Some(mut hash) = take(&mut parameters, FIRST_OPTIONAL) else { return Some(Hash::Sha256) };
    let oid = take(&mut take(&mut hash, SEQUENCE)?, OBJECT_IDENTIFIER)?;
    match oid.strip_prefix(&NIST_HASH) {
        Some([1]) => Some(Hash::Sha256),
        Some([2]) => Some(Hash::Sha384),
        Some([3]) => Some(Hash::Sha512),
        Some([4]) => Some(Hash::Sha224),
        Some(_) => None,
        None => Some(Hash::Sha256),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn der(tag: u8, content: &[u8]) -> Vec<u8> {
        let mut element = vec![tag];
        match u8::try_from(content.len()) {
            Ok(length) if length < 0x80 => element.push(length),
            _ => element.extend([0x82, (content.len() >> 8) as u8, content.len() as u8]),
        }
        element.extend_from_slice(content);
        element
    }

    /// As much of a certificate as is read here, signed with this algorithm.
    fn certificate(oid: &[u8], parameters: &[u8]) -> Vec<u8> {
        let to_be_signed = der(SEQUENCE, &[0; 300]);
        let algorithm = der(SEQUENCE, &[der(OBJECT_IDENTIFIER, oid), parameters.to_vec()].concat());
        der(SEQUENCE, &[to_be_signed, algorithm, der(0x03, &[0; 64])].concat())
    }

    fn pss(hash: &[u8]) -> Vec<u8> {
        let hash = der(SEQUENCE, &der(OBJECT_IDENTIFIER, hash));
        let parameters = der(SEQUENCE, &der(FIRST_OPTIONAL, &hash));
        certificate(&[&PKCS1[..], &[10]].concat(), &parameters)
    }

    #[test]
    fn the_hash_is_that_of_the_signature() {
        let pkcs1 = |last: u8| signature_hash(&certificate(&[&PKCS1[..], &[last]].concat(), &[5, 0]));
        let ecdsa = |last: &[u8]| signature_hash(&certificate(&[&ECDSA[..], last].concat(), &[]));
        assert_eq!([4, 5, 11].map(pkcs1), [Some(Hash::Sha256); 3]);
        assert_eq!([12, 13, 14].map(pkcs1), [Some(Hash::Sha384), Some(Hash::Sha512), Some(Hash::Sha224)]);
        assert_eq!(pkcs1(1), None);
        assert_eq!([&[1][..], &[3, 2]].map(ecdsa), [Some(Hash::Sha256); 2]);
        assert_eq!(
            [&[3, 1][..], &[3, 3], &[3, 4]].map(ecdsa),
            [Some(Hash::Sha224), Some(Hash::Sha384), Some(Hash::Sha512)]
        );
        let nist = |last: u8| signature_hash(&pss(&[&NIST_HASH[..], &[last]].concat()));
        assert_eq!(
            [1, 2, 3, 4].map(nist),
            [Some(Hash::Sha256), Some(Hash::Sha384), Some(Hash::Sha512), Some(Hash::Sha224)]
        );
        assert_eq!(nist(9), None);
        // PSS without parameters is PSS with SHA-1.
        let default = certificate(&[&PKCS1[..], &[10]].concat(), &der(SEQUENCE, &[]));
        assert_eq!(signature_hash(&default), Some(Hash::Sha256));
        // Ed25519 has no hash of its own.
        assert_eq!(signature_hash(&certificate(&[0x2b, 0x65, 0x70], &[])), None);
    }

    #[test]
    fn the_whole_certificate_is_hashed() {
        let certificate = certificate(&[&ECDSA[..], &[3, 3]].concat(), &[]);
        assert_eq!(end_point(&certificate), Some(Sha384::digest(&certificate).to_vec()));
    }

    #[test]
    fn a_certificate_cut_short_has_no_hash() {
        let whole = pss(&[&NIST_HASH[..], &[1]].concat());
        for end in 0..whole.len() {
            assert_eq!(signature_hash(&whole[..end]), None, "{end}");
        }
        for strange in [&[0x30, 0x80][..], &[0x30, 0x85, 1, 1, 1, 1, 1], &[0x30, 0xff], &[0x31, 0]] {
            assert_eq!(signature_hash(strange), None);
        }
    }
}
