//! Expressions: what stands behind `\set`, `\if` and `\elif`.
//!
//! [`token`] cuts the text, [`parser`] compiles while it parses, and [`program`] runs the result on a small stack.

mod evaluate;
mod function;
mod parser;
mod program;
mod text;
mod token;

use super::{Language, Names};
pub(super) use parser::parse;
pub use program::{Context, Program};
pub(super) use token::Lexer;

/// Compiles an expression of a workload file that stands by itself. Variables get their slots in `names`.
///
/// # Errors
/// What is wrong with it, and where.
pub fn compile(text: &str, names: &mut Names) -> Result<Program, ExpressionError> {
    let mut source = super::source::Source::new(text.as_bytes());
    let program = parse(Lexer::new(&mut source, Language::Workload), names)?;
    if source.rest().is_empty() && !text.contains('\0') {
        return Ok(program);
    }
    Err(ExpressionError { message: "an expression has one line", more: None, offset: source.offset() })
}

/// An error in an expression: what is wrong, what about, and the offset at which it shows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", .more.as_ref().map(|more| format!(" ({more})")).unwrap_or_default())]
pub struct ExpressionError {
    pub(super) message: &'static str,
    pub(super) more: Option<String>,
    /// In bytes: behind what is wrong.
    pub offset: usize,
}
