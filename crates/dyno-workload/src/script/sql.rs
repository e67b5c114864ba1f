//! An SQL command: its text cut at the variables, as a query is sent in each of the modes.

use super::{Names, Slot, Variables};

/// One SQL command: what is sent in one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Sql {
    /// How many statements `\;` joins in this command, at least 1: so many results come from the simple protocol.
    pub statements: u32,
    /// The text and the variables in it, for the simple protocol.
    pub pieces: Box<[Piece]>,
    /// The text with `$1`, `$2`… in place of the variables, for the extended protocol. Empty in simple mode.
    pub text: Box<[u8]>,
    /// The variables that `$1`, `$2`… stand for; each use has its own. Empty in simple mode.
    pub parameters: Box<[Slot]>,
    /// `\gset` or `\aset` after it.
    pub keep: Option<Keep>,
}

/// A stretch of an SQL command's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Text(Box<[u8]>),
    Variable(Slot),
}

/// What `\gset` and `\aset` do with the columns of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep {
    /// Stands before each column's name in the variable's name.
    pub prefix: String,
    /// `\aset`: of every statement's result. `\gset`: of the last one only, which must have one row.
    pub every: bool,
}

impl Sql {
    /// Appends the text with the variables' values in it. An unset variable stays as it is written: `:x`.
    pub fn write_simple(&self, variables: &Variables, names: &Names, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Variable(slot) => {
                    if !variables.write_text(*slot, out) {
                        out.push(b':');
                        out.extend_from_slice(names.name(*slot).as_bytes());
                    }
                }
            }
        }
    }
}
