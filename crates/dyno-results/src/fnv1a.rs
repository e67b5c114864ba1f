//! FNV-1a with 64 bits (Fowler, Noll, Vo): a digest that is the same on every machine and in every version.

/// Of no bytes.
pub const START: u64 = 0xcbf2_9ce4_8422_2325;
/// What each byte multiplies with.
pub const PRIME: u64 = 0x0000_0100_0000_01b3;

/// The digest that follows `hash` behind these bytes.
pub fn mixed(hash: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}
