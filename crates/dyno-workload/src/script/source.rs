//! A script's text and how far it has been read.

use crate::c_numbers::is_space;

/// A script's text and how far it has been read.
#[derive(Debug, Clone)]
pub(super) struct Source<'a> {
    text: &'a [u8],
    offset: usize,
    /// Where lines were last counted, and the line there.
    counted: (usize, u32),
}

impl<'a> Source<'a> {
    /// A zero byte ends a script.
    pub(super) fn new(text: &'a [u8]) -> Self {
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        Self { text: &text[..end], offset: 0, counted: (0, 1) }
    }

    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        &self.text[self.offset..]
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.offset).copied()
    }

    pub(super) fn peek_at(&self, distance: usize) -> Option<u8> {
        self.text.get(self.offset + distance).copied()
    }

    /// Goes on by so many bytes, but not beyond the end.
    pub(super) fn advance(&mut self, count: usize) {
        self.offset = (self.offset + count).min(self.text.len());
    }

    pub(super) fn take_while(&mut self, mut test: impl FnMut(u8) -> bool) -> &'a [u8] {
        let start = self.offset;
        self.offset += self.rest().iter().take_while(|byte| test(**byte)).count();
        self.since(start)
    }

    pub(super) fn since(&self, start: usize) -> &'a [u8] {
        self.text.get(start..self.offset).unwrap_or_default()
    }

    /// Goes over blanks within a line; whether there were any.
    pub(super) fn skip_blank(&mut self) -> bool {
        !self.take_while(|byte| byte != b'\n' && is_space(byte)).is_empty()
    }

    /// Goes over a backslash at a line's end, which continues the line; whether there was one.
    pub(super) fn skip_continuation(&mut self) -> bool {
        let length = match self.rest() {
            [b'\\', b'\n', ..] => 2,
            [b'\\', b'\r', b'\n', ..] => 3,
            _ => return false,
        };
        self.advance(length);
        true
    }

    /// The line of an offset that is not before the one last asked for; 1-based.
    pub(super) fn line(&mut self, offset: usize) -> u32 {
        let (counted, line) = self.counted;
        let between = self.text.get(counted..offset).unwrap_or_default();
        let more = between.iter().filter(|byte| **byte == b'\n').count();
        self.counted = (offset.max(counted), line.saturating_add(u32::try_from(more).unwrap_or(u32::MAX)));
        self.counted.1
    }
}
