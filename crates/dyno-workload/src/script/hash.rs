//! The functions `hash_fnv1a`, `hash_murmur2` and `permute`.

use dyno_results::fnv1a;

use super::random::Prng;

/// FNV-1a over the value's eight bytes, lowest first.
pub fn hash_fnv1a(value: i64, seed: i64) -> i64 {
    fnv1a::mixed(fnv1a::START ^ seed as u64, value.to_le_bytes()) as i64
}

/// MurmurHash2, its 64-bit variant, over the value's eight bytes.
pub fn hash_murmur2(value: i64, seed: i64) -> i64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    const SHIFT: u32 = 47;
    let mut key = (value as u64).wrapping_mul(MULTIPLIER);
    key = (key ^ key >> SHIFT).wrapping_mul(MULTIPLIER);
    let mut hash = seed as u64 ^ MULTIPLIER.wrapping_mul(8);
    hash = (hash ^ key).wrapping_mul(MULTIPLIER);
    hash = (hash ^ hash >> SHIFT).wrapping_mul(MULTIPLIER);
    (hash ^ hash >> SHIFT) as i64
}

/// Where `value` (modulo `size`) goes in the permutation of 0..`size` that `seed` stands for.
pub fn permute(value: i64, size: i64, seed: i64) -> i64 {
    const ROUNDS: usize = 6;
    if size < 2 {
        return 0;
    }
    let mut random = Prng::seed(seed as u64);
    let size = size as u64;
    let bits = size.ilog2();
    let mut place = value as u64 % size;
    for _ in 0..ROUNDS {
        // Each half, counted from its own end, has a power of two of places; together they cover them all.
        place = stir(bits, place, &mut random);
        place = size - 1 - stir(bits, size - 1 - place, &mut random);
        // The sum stays below twice the size, which is below 2^64.
        place = (place + random.range(0, size - 1)) % size;
    }
    place as i64
}

/// Permutes the places below 2^bits, and leaves the others. Takes two random numbers in any case.
fn stir(bits: u32, place: u64, random: &mut Prng) -> u64 {
    let mask = (1 << bits) - 1;
    // Odd, so that multiplying modulo a power of two is a bijection.
    let factor = (random.next_u64() & mask) | 1;
    let flip = random.next_u64() & mask;
    if place > mask {
        return place;
    }
    let stirred = (place.wrapping_mul(factor) ^ flip) & mask;
    (stirred << 1 & mask) | stirred >> (bits - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_hits_every_place_once() {
        for size in 1..70 {
            let mut places: Vec<_> = (0..size).map(|value| permute(value, size, 17)).collect();
            places.sort_unstable();
            assert_eq!(places, (0..size).collect::<Vec<_>>());
        }
    }

    /// Values that pgbench's own tests have.
    #[test]
    fn hashes_are_known() {
        assert_eq!(hash_fnv1a(10, 5432), -7_793_829_335_365_542_153);
        assert_eq!(hash_murmur2(10, 5432), -5_817_877_081_768_721_676);
    }
}
