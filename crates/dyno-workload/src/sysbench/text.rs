//! Random strings from a template: `#` becomes a digit, `@` a letter from a to z, anything else stays.

use crate::random::Random;

/// Ten groups of eleven digits: the column `c`.
pub const C_TEMPLATE: &str = "###########-###########-###########-###########-###########-\
                              ###########-###########-###########-###########-###########";
/// Five of them: the column `pad`.
pub const PAD_TEMPLATE: &str = "###########-###########-###########-###########-###########";

/// Length of a value of `c` and of `pad`, bytes.
pub const C_BYTES: usize = C_TEMPLATE.len();
pub const PAD_BYTES: usize = PAD_TEMPLATE.len();

/// Decimal digits that 64 random bits are good for. What they favour is beyond the last of them.
const DIGITS_PER_DRAW: u32 = 18;
const DRAWN_BELOW: u64 = 10_u64.pow(DIGITS_PER_DRAW);

/// Appends a string made from `template`. Allocates only where `out` has no room.
#[inline]
pub fn append(template: &str, random: &mut Random, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(template.as_bytes());
    fill(random, &mut out[start..]);
}

/// Makes a string of a template, in place.
pub fn fill(random: &mut Random, text: &mut [u8]) {
    let (mut drawn, mut left) = (0, 0);
    for byte in text {
        match *byte {
            b'#' => {
                if left == 0 {
                    (drawn, left) = (random.below(DRAWN_BELOW), DIGITS_PER_DRAW);
                }
                *byte = b'0' + (drawn % 10) as u8;
                drawn /= 10;
                left -= 1;
            }
            b'@' => *byte = b'a' + random.below(26) as u8,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_as_long_as_the_columns_want() {
        assert_eq!((C_BYTES, PAD_BYTES), (119, 59));
        for (template, groups) in [(C_TEMPLATE, 10), (PAD_TEMPLATE, 5)] {
            let parts: Vec<&str> = template.split('-').collect();
            assert_eq!(parts, vec!["###########"; groups]);
        }
    }

    #[test]
    fn only_the_two_signs_are_replaced() {
        let mut random = Random::of_client(3, 0);
        let mut out = b"kept ".to_vec();
        append("a#b@-#é", &mut random, &mut out);
        let text = String::from_utf8(out).unwrap();
        let bytes = text.as_bytes();
        assert!(text.starts_with("kept a") && text.ends_with('é'), "{text}");
        assert!(bytes[6].is_ascii_digit() && bytes[8].is_ascii_lowercase() && bytes[10].is_ascii_digit());
        assert_eq!((bytes[7], bytes[9]), (b'b', b'-'));
    }

    /// Chi-squared of each place's digits, and of all letters.
    #[test]
    fn every_digit_and_letter_is_as_likely() {
        let mut random = Random::of_client(8, 0);
        let (mut digits, mut letters) = (vec![[0_u32; 10]; C_BYTES], [0_u32; 26]);
        let rounds = 20_000;
        let mut out = Vec::new();
        for _ in 0..rounds {
            out.clear();
            append(C_TEMPLATE, &mut random, &mut out);
            append("@", &mut random, &mut out);
            for (place, byte) in out[..C_BYTES].iter().enumerate().filter(|(_, byte)| **byte != b'-') {
                digits[place][usize::from(byte - b'0')] += 1;
            }
            letters[usize::from(out[C_BYTES] - b'a')] += 1;
        }
        let chi = |counts: &[u32]| {
            let expected = f64::from(rounds) / counts.len() as f64;
            counts.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum::<f64>()
        };
        // 9 and 25 degrees of freedom, p < 1e-6.
        let worst = digits.iter().filter(|place| place[0] > 0).map(|place| chi(place)).fold(0.0, f64::max);
        assert!(worst < 45.1, "{worst}");
        assert!(chi(&letters) < 75.3, "{letters:?}");
    }
}
