//! Reads a packet's payload field by field, never past its end. Numbers are little-endian.

use crate::my::error::ProtocolError;

/// What of a payload is still to be read.
#[derive(Debug, Clone, Copy)]
pub(in crate::my) struct Body<'a> {
    /// The packet's name, for errors.
    packet: &'static str,
    bytes: usize,
    rest: &'a [u8],
}

impl<'a> Body<'a> {
    pub(in crate::my) fn new(packet: &'static str, payload: &'a [u8]) -> Self {
        Self { packet, bytes: payload.len(), rest: payload }
    }

    #[inline]
    pub(in crate::my) fn bytes(&mut self, count: usize) -> Result<&'a [u8], ProtocolError> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else { return Err(self.too_short()) };
        self.rest = rest;
        Ok(taken)
    }

    pub(in crate::my) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub(in crate::my) fn peek(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    pub(in crate::my) fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let Some((taken, rest)) = self.rest.split_first_chunk() else { return Err(self.too_short()) };
        self.rest = rest;
        Ok(*taken)
    }

    pub(in crate::my) fn u8(&mut self) -> Result<u8, ProtocolError> {
        self.array().map(|[byte]| byte)
    }

    pub(in crate::my) fn u16(&mut self) -> Result<u16, ProtocolError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(in crate::my) fn u32(&mut self) -> Result<u32, ProtocolError> {
        self.array().map(u32::from_le_bytes)
    }

    /// A number of one to nine bytes.
    #[inline]
    pub(in crate::my) fn lenenc_int(&mut self) -> Result<u64, ProtocolError> {
        match self.u8()? {
            small @ 0..=0xfa => Ok(u64::from(small)),
            0xfc => self.u16().map(u64::from),
            0xfd => self.array().map(|[a, b, c]| u64::from(u32::from_le_bytes([a, b, c, 0]))),
            0xfe => self.array().map(u64::from_le_bytes),
            _ => Err(self.malformed("a number begins with 0xfb or 0xff")),
        }
    }

    /// Bytes behind their length.
    #[inline]
    pub(in crate::my) fn lenenc_bytes(&mut self) -> Result<&'a [u8], ProtocolError> {
        let length = self.lenenc_int()?;
        // What does not fit an address does not fit the payload.
        self.bytes(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// A value of a text row: bytes behind their length, or NULL.
    #[inline]
    pub(in crate::my) fn text_value(&mut self) -> Result<Option<&'a [u8]>, ProtocolError> {
        if let Some((0xfb, rest)) = self.rest.split_first() {
            self.rest = rest;
            return Ok(None);
        }
        self.lenenc_bytes().map(Some)
    }

    /// A string, without the NUL that ends it.
    pub(in crate::my) fn string(&mut self) -> Result<&'a [u8], ProtocolError> {
        let Some(end) = memchr::memchr(0, self.rest) else {
            return Err(self.malformed("a string has no end"));
        };
        let text = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }

    /// A string that ends with a NUL or with the packet.
    pub(in crate::my) fn last_string(&mut self) -> &'a [u8] {
        let end = memchr::memchr(0, self.rest).unwrap_or(self.rest.len());
        let text = &self.rest[..end];
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        text
    }

    pub(in crate::my) fn end(&self) -> Result<(), ProtocolError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.malformed("bytes are left at its end")) }
    }

    #[cold]
    pub(in crate::my) fn malformed(&self, what: &'static str) -> ProtocolError {
        ProtocolError::Malformed { packet: self.packet, bytes: self.bytes, what }
    }

    #[cold]
    fn too_short(&self) -> ProtocolError {
        self.malformed("it ends within a field")
    }
}
