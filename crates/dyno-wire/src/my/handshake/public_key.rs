//! A password under the server's RSA public key (OAEP with SHA-1, RFC 8017), for logins without TLS.
//!
//! Only the public half of RSA is here, which has no secret to leak but the message, and that is padded at random.

use num_bigint::BigUint;
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject as _;
use sha1::{Digest, Sha1};

use super::error::LoginError;
use crate::der::{BIT_STRING, INTEGER, OBJECT_IDENTIFIER, SEQUENCE, take};

/// An RSA public key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PublicKey {
    modulus: BigUint,
    exponent: BigUint,
}

const HASH_BYTES: usize = 20;
/// No server makes keys beyond this, and a stranger must not make us calculate for minutes.
const MODULUS_BITS_MAX: u64 = 8192;

impl PublicKey {
    /// Reads what the server sends: a `BEGIN PUBLIC KEY` block.
    pub(super) fn from_pem(pem: &[u8]) -> Result<Self, LoginError> {
        let invalid = |what| LoginError::PublicKey { what };
        let info =
            SubjectPublicKeyInfoDer::from_pem_slice(pem).map_err(|_| invalid("it is not in PEM form"))?;
        let (modulus, exponent) = rsa_numbers(&info).ok_or_else(|| invalid("it is not an RSA key"))?;
        let key =
            Self { modulus: BigUint::from_bytes_be(modulus), exponent: BigUint::from_bytes_be(exponent) };
        if key.modulus.bits() > MODULUS_BITS_MAX || key.exponent.bits() > 64 {
            return Err(invalid("it is too large"));
        }
        // An even modulus is of no key, and none at all cannot be divided by.
        if !key.modulus.bit(0) || key.modulus_bytes() < 2 * HASH_BYTES + 2 {
            return Err(invalid("it is too small"));
        }
        Ok(key)
    }

    /// `message` for the owner of the key only.
    pub(super) fn encrypt(&self, message: &[u8]) -> Result<Vec<u8>, LoginError> {
        let mut seed = [0; HASH_BYTES];
        let provider = rustls::crypto::ring::default_provider();
        let no_random = |_| LoginError::Encryption { what: "the system gives no random numbers" };
        provider.secure_random.fill(&mut seed).map_err(no_random)?;
        self.encrypt_with(message, seed)
    }

    fn encrypt_with(&self, message: &[u8], mut seed: [u8; HASH_BYTES]) -> Result<Vec<u8>, LoginError> {
        let bytes = self.modulus_bytes();
        let room = bytes - 2 * HASH_BYTES - 2;
        let Some(padding) = room.checked_sub(message.len()) else {
            return Err(LoginError::Encryption { what: "it is too long for the server's key" });
        };
        // The hash of an empty label, zeroes, a one, the message.
        let mut block = Sha1::digest([]).to_vec();
        block.resize(HASH_BYTES + padding, 0);
        block.push(1);
        block.extend_from_slice(message);
        mask(&mut block, &seed);
        mask(&mut seed, &block);
        let padded = BigUint::from_bytes_be(&[&seed[..], &block].concat());
        let number = padded.modpow(&self.exponent, &self.modulus).to_bytes_be();
        let mut encrypted = vec![0; bytes.saturating_sub(number.len())];
        encrypted.extend_from_slice(&number);
        Ok(encrypted)
    }

    fn modulus_bytes(&self) -> usize {
        // At most 1024, by the limit above.
        self.modulus.bits().div_ceil(8) as usize
    }
}

/// Mixes `bytes` with a stream made from `seed` (MGF1).
fn mask(bytes: &mut [u8], seed: &[u8]) {
    for (counter, piece) in (0_u32..).zip(bytes.chunks_mut(HASH_BYTES)) {
        let stream = Sha1::new().chain_update(seed).chain_update(counter.to_be_bytes()).finalize();
        piece.iter_mut().zip(stream).for_each(|(byte, mask)| *byte ^= mask);
    }
}

/// The object identifier of RSA keys, 1.2.840.113549.1.1.1.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];

/// Modulus and exponent out of a SubjectPublicKeyInfo (RFC 5280, RFC 8017).
fn rsa_numbers(mut der: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut info = take(&mut der, SEQUENCE)?;
    if take(&mut take(&mut info, SEQUENCE)?, OBJECT_IDENTIFIER)? != RSA {
        return None;
    }
    let mut bits = take(&mut info, BIT_STRING)?.strip_prefix(&[0])?;
    let mut key = take(&mut bits, SEQUENCE)?;
    Some((take(&mut key, INTEGER)?, take(&mut key, INTEGER)?))
}
