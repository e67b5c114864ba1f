//! Expressions: what stands behind `\set`, `\if` and `\elif`.
//!
//! [`token`] cuts the text, [`parser`] compiles while it parses, and [`program`] runs the result on a small stack.

mod evaluate;
mod function;
mod parser;
mod program;
mod token;

pub(super) use parser::parse;
pub use program::{Context, Program};
pub(super) use token::Lexer;

/// An error in an expression: what is wrong, what about, and the offset at which it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExpressionError {
    pub(super) message: &'static str,
    pub(super) more: Option<String>,
    pub(super) offset: usize,
}
