//! What stands for a password on the wire: hashes mixed with the server's challenge, so that each is good for one
//! login only. An empty password is answered with nothing; that is the callers' business.

use curve25519_dalek::{EdwardsPoint, Scalar};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

/// `mysql_native_password`: SHA1(p) xor SHA1(challenge, SHA1(SHA1(p))).
pub(super) fn native(password: &[u8], challenge: &[u8]) -> Vec<u8> {
    let once = Sha1::digest(password);
    let stored = Sha1::digest(once);
    let mask = Sha1::new().chain_update(challenge).chain_update(stored).finalize();
    once.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect()
}

/// `caching_sha2_password`: SHA256(p) xor SHA256(SHA256(SHA256(p)), challenge).
pub(super) fn caching_sha2(password: &[u8], challenge: &[u8]) -> Vec<u8> {
    let once = Sha256::digest(password);
    let stored = Sha256::digest(once);
    let mask = Sha256::new().chain_update(stored).chain_update(challenge).finalize();
    once.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect()
}

/// MariaDB's `client_ed25519`: the challenge signed as in RFC 8032, but with the password's own hash in place of
/// that of a 32-byte key, which is why no ready-made signer will do.
pub(super) fn ed25519(password: &[u8], challenge: &[u8]) -> Vec<u8> {
    let expanded: [u8; 64] = Sha512::digest(password).into();
    let (mut secret, prefix) = ([0; 32], &expanded[32..]);
    secret.copy_from_slice(&expanded[..32]);
    let secret = Scalar::from_bytes_mod_order(curve25519_dalek::scalar::clamp_integer(secret));
    let public = EdwardsPoint::mul_base(&secret).compress();

    let nonce = wide(Sha512::new().chain_update(prefix).chain_update(challenge));
    let commitment = EdwardsPoint::mul_base(&nonce).compress();
    let hash = Sha512::new().chain_update(commitment.as_bytes()).chain_update(public.as_bytes());
    let response = nonce + wide(hash.chain_update(challenge)) * secret;
    [commitment.to_bytes(), response.to_bytes()].concat()
}

fn wide(hash: Sha512) -> Scalar {
    Scalar::from_bytes_mod_order_wide(&hash.finalize().into())
}
