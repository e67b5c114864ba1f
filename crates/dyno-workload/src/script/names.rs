//! The names of variables, interned: scripts and clients speak of a variable as a [`Slot`], the index of its name.
//!
//! All scripts of a run and the `-D` settings share one [`Names`], so that a slot means the same everywhere.

use std::collections::HashMap;

/// Which variable: the index of its name in [`Names`], and of its value in a client's variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(u32);

impl Slot {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The names of all variables that the scripts or the command line speak of.
#[derive(Debug, Default, Clone)]
pub struct Names {
    names: Vec<Name>,
    slots: HashMap<Box<[u8]>, Slot>,
    /// Those of arrays, and the counters that clients share: of workload files alone.
    arrays: Vec<Slot>,
    counters: Vec<Box<str>>,
}

/// Scripts may be in any encoding, so that a name need not be UTF-8.
#[derive(Debug, Clone)]
struct Name {
    bytes: Box<[u8]>,
    text: Box<str>,
}

impl Names {
    pub fn new() -> Self {
        Self::default()
    }

    /// The slot of this name; a new one if it was not known.
    pub fn slot(&mut self, name: &str) -> Slot {
        self.slot_of_bytes(name.as_bytes())
    }

    pub(super) fn slot_of_bytes(&mut self, name: &[u8]) -> Slot {
        if let Some(slot) = self.slots.get(name) {
            return *slot;
        }
        let slot = Slot(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        self.names.push(Name { bytes: name.into(), text: String::from_utf8_lossy(name).into() });
        self.slots.insert(name.into(), slot);
        slot
    }

    /// All that there are.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        (0..self.names.len() as u32).map(Slot)
    }

    pub fn find(&self, name: &str) -> Option<Slot> {
        self.slots.get(name.as_bytes()).copied()
    }

    /// From here on an element of it is one in SQL, too.
    pub(super) fn add_array(&mut self, slot: Slot) {
        if !self.arrays.contains(&slot) {
            self.arrays.push(slot);
        }
    }

    pub(super) fn is_array(&self, name: &[u8]) -> bool {
        self.slots.get(name).is_some_and(|slot| self.arrays.contains(slot))
    }

    /// The place of a counter; a new one if it was not known.
    pub(super) fn counter(&mut self, name: &[u8]) -> usize {
        let name = String::from_utf8_lossy(name);
        let known = self.counters.iter().position(|known| **known == name);
        // A variable of its name says behind which number it begins.
        self.slot(&name);
        known.unwrap_or_else(|| {
            self.counters.push(name.into());
            self.counters.len() - 1
        })
    }

    /// The counters of `next(NAME)`, by their places.
    pub fn counters(&self) -> &[Box<str>] {
        &self.counters
    }

    pub fn name(&self, slot: Slot) -> &str {
        self.names.get(slot.index()).map_or("", |name| &name.text)
    }

    /// The name as it stands in the script.
    pub(super) fn bytes(&self, slot: Slot) -> &[u8] {
        self.names.get(slot.index()).map_or(b"", |name| &name.bytes)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.names.len()
    }

    /// Whether a variable may be called so: letters, `_` and anything outside ASCII; digits, but not first.
    pub fn is_valid(name: &str) -> bool {
        is_valid_name(name.as_bytes())
    }
}

pub(super) fn is_valid_name(name: &[u8]) -> bool {
    name.split_first()
        .is_some_and(|(first, rest)| starts_name(*first) && rest.iter().all(|byte| continues_name(*byte)))
}

pub(super) fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii()
}

pub(super) fn continues_name(byte: u8) -> bool {
    starts_name(byte) || byte.is_ascii_digit()
}
