//! Reads a message's body field by field, never past its end.

use super::frame::Frame;
use crate::pg::error::ProtocolError;

/// What of a body is still to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Body<'a> {
    frame: Frame<'a>,
    rest: &'a [u8],
}

impl<'a> Body<'a> {
    pub(super) fn new(frame: Frame<'a>) -> Self {
        Self { frame, rest: frame.body }
    }

    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], ProtocolError> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else { return Err(self.too_short()) };
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let Some((taken, rest)) = self.rest.split_first_chunk() else { return Err(self.too_short()) };
        self.rest = rest;
        Ok(*taken)
    }

    pub(super) fn u8(&mut self) -> Result<u8, ProtocolError> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Result<u16, ProtocolError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, ProtocolError> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, ProtocolError> {
        self.array().map(i32::from_be_bytes)
    }

    /// A string, without the NUL that ends it.
    pub(super) fn string(&mut self) -> Result<&'a [u8], ProtocolError> {
        let Some(end) = memchr::memchr(0, self.rest) else {
            return Err(self.frame.malformed("a string has no end"));
        };
        let text = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }

    /// A value behind its length; −1 stands for NULL.
    pub(super) fn value(&mut self) -> Result<Option<&'a [u8]>, ProtocolError> {
        match self.i32()? {
            -1 => Ok(None),
            length => match usize::try_from(length) {
                Ok(length) => self.bytes(length).map(Some),
                Err(_) => Err(self.frame.malformed("a value has a negative length")),
            },
        }
    }

    pub(super) fn end(&self) -> Result<(), ProtocolError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.frame.malformed("bytes are left at its end")) }
    }

    #[cold]
    fn too_short(&self) -> ProtocolError {
        self.frame.malformed("it ends within a field")
    }
}
