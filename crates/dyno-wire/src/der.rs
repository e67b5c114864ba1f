//! Elements of DER, as far as certificates and keys need them. What is malformed reads as absent.

pub const INTEGER: u8 = 0x02;
pub const BIT_STRING: u8 = 0x03;
pub const OBJECT_IDENTIFIER: u8 = 0x06;
pub const SEQUENCE: u8 = 0x30;
pub const SET: u8 = 0x31;
/// `[0]`, constructed: the first optional member of a sequence.
pub const FIRST_OPTIONAL: u8 = 0xa0;

/// Takes the element with this tag off the front and returns its content; `None`, and nothing is taken, where another
/// element stands there.
pub fn take<'a>(input: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (&[found, first], rest) = input.split_first_chunk()?;
    if found != tag {
        return None;
    }
    let (length, rest) = match first {
        short @ 0..=0x7f => (usize::from(short), rest),
        // Nothing that is read here needs more bytes of length.
        long @ 0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *input = rest;
    Some(content)
}
