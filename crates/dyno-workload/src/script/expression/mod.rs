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

use function::Named;
pub(super) use parser::{parse, parse_index};
pub use program::{Context, Program};
pub(super) use token::Lexer;

// In pgbench's words.
const UNKNOWN_FUNCTION: &str = "unexpected function name";
const OTHER_ARGUMENTS: &str = "unexpected number of arguments";
const SYNTAX: &str = "syntax error";

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

/// The names of all functions of workload files.
pub(crate) fn functions() -> impl Iterator<Item = &'static str> {
    Named::all(Language::Workload).map(|named| named.name)
}

/// An error in an expression: what is wrong, what about, and the offset at which it shows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", .more.as_ref().map(|more| format!(" ({more})")).unwrap_or_default())]
pub struct ExpressionError {
    pub(super) message: &'static str,
    /// A function's name, where the message is about one.
    pub(crate) more: Option<String>,
    /// In bytes: behind what is wrong.
    pub offset: usize,
}

impl ExpressionError {
    /// The same for whoever writes a workload file, of this expression.
    #[must_use]
    pub fn in_words(&self, text: &str) -> String {
        let name = self.more.as_deref().unwrap_or_default();
        match self.message {
            UNKNOWN_FUNCTION => format!("there is no function `{name}`"),
            OTHER_ARGUMENTS => {
                let takes = Named::find(name.as_bytes(), Language::Workload).map(Named::takes);
                format!("`{name}` takes {}", takes.unwrap_or_default())
            }
            SYNTAX => match text.get(self.offset..).map(str::trim) {
                None | Some("") => "an operand or a closing bracket is missing at the end".to_owned(),
                Some(rest) => {
                    format!("an operand, an operator or a bracket is missing or too many before `{rest}`")
                }
            },
            _ => self.to_string(),
        }
    }
}
