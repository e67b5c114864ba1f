//! Packets: three bytes of length, a sequence number, the payload. What is longer than a packet can be goes on in
//! the next one; a packet that is not full ends it, if need be an empty one.

/// The length that says that the payload goes on in the next packet, and the most that one can hold.
pub const PAYLOAD_BYTES_MAX: usize = 0xff_ffff;

/// A packet's length and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub payload_bytes: usize,
    /// Counts the packets of one command and its reply, in both directions, from 0 and round again.
    pub sequence: u8,
}

impl Header {
    pub const BYTES: usize = 4;

    /// The header at the beginning of `buffer`; `None` if it is not there in full.
    #[inline]
    pub fn read(buffer: &[u8]) -> Option<Self> {
        let &[a, b, c, sequence] = buffer.first_chunk()?;
        Some(Self { payload_bytes: u32::from_le_bytes([a, b, c, 0]) as usize, sequence })
    }
}

/// One packet: its number and its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    pub sequence: u8,
    pub payload: &'a [u8],
}

/// The first packet of `buffer` and the bytes it takes there; `None` if it is not complete yet.
#[inline]
pub fn next_packet(buffer: &[u8]) -> Option<(Packet<'_>, usize)> {
    let Header { payload_bytes, sequence } = Header::read(buffer)?;
    let end = Header::BYTES + payload_bytes;
    Some((Packet { sequence, payload: buffer.get(Header::BYTES..end)? }, end))
}

/// Appends what `payload` writes as one packet, or as many as it takes, from number `sequence` on. Gives the
/// number after the last.
#[inline]
pub fn write(out: &mut Vec<u8>, sequence: u8, payload: impl FnOnce(&mut Vec<u8>)) -> u8 {
    let start = out.len();
    out.extend_from_slice(&[0; Header::BYTES]);
    payload(out);
    finish(out, start, sequence)
}

/// Completes the packet whose header was left empty at `start`.
#[inline]
pub(super) fn finish(out: &mut Vec<u8>, start: usize, sequence: u8) -> u8 {
    let payload_bytes = out.len() - start - Header::BYTES;
    if payload_bytes >= PAYLOAD_BYTES_MAX {
        return split(out, start, sequence);
    }
    write_header(&mut out[start..start + Header::BYTES], payload_bytes, sequence);
    sequence.wrapping_add(1)
}

#[cold]
fn split(out: &mut Vec<u8>, start: usize, mut sequence: u8) -> u8 {
    let payload = out.split_off(start + Header::BYTES);
    out.truncate(start);
    out.reserve(payload.len() + (payload.len() / PAYLOAD_BYTES_MAX + 1) * Header::BYTES);
    let full = payload.chunks_exact(PAYLOAD_BYTES_MAX);
    // Empty if the payload fills its last packet: only so does the server see the end.
    let last = full.remainder();
    for piece in full.chain([last]) {
        let mut header = [0; Header::BYTES];
        write_header(&mut header, piece.len(), sequence);
        out.extend_from_slice(&header);
        out.extend_from_slice(piece);
        sequence = sequence.wrapping_add(1);
    }
    sequence
}

fn write_header(header: &mut [u8], payload_bytes: usize, sequence: u8) {
    // At most 0xffffff by the callers' doing.
    header[..3].copy_from_slice(&(payload_bytes as u32).to_le_bytes()[..3]);
    header[3] = sequence;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(mut bytes: &[u8]) -> Vec<(u8, usize)> {
        let mut found = Vec::new();
        while let Some((packet, taken)) = next_packet(bytes) {
            found.push((packet.sequence, packet.payload.len()));
            bytes = &bytes[taken..];
        }
        assert!(bytes.is_empty());
        found
    }

    #[test]
    fn a_small_payload_is_one_packet() {
        let mut out = b"before".to_vec();
        assert_eq!(write(&mut out, 255, |out| out.extend_from_slice(b"abc")), 0);
        assert_eq!(out, b"before\x03\0\0\xffabc");
    }

    #[test]
    fn a_large_payload_is_split_and_ends_with_a_packet_that_is_not_full() {
        for (payload, expected) in [
            (PAYLOAD_BYTES_MAX - 1, vec![(7, PAYLOAD_BYTES_MAX - 1)]),
            (PAYLOAD_BYTES_MAX, vec![(7, PAYLOAD_BYTES_MAX), (8, 0)]),
            (PAYLOAD_BYTES_MAX * 2 + 5, vec![(7, PAYLOAD_BYTES_MAX), (8, PAYLOAD_BYTES_MAX), (9, 5)]),
        ] {
            let mut out = Vec::new();
            let next = write(&mut out, 7, |out| out.resize(out.len() + payload, b'x'));
            assert_eq!(packets(&out), expected);
            assert_eq!(usize::from(next), 7 + expected.len());
        }
    }
}
