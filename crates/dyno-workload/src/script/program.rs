//! The compiled form of an expression.

use super::random::Prng;
use super::{EvaluateError, Names, Value, Variables};

/// A compiled expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {}

/// What an expression is evaluated with: one client's variables and random numbers.
#[allow(missing_debug_implementations)]
pub struct Context<'a> {
    pub variables: &'a mut Variables,
    pub names: &'a Names,
    pub random: &'a mut Prng,
    /// Called with each value that the function `debug` is given.
    pub debug: &'a mut dyn FnMut(Value),
}

impl Program {
    /// The expression's value. Allocates nothing, but for an error's text.
    ///
    /// # Errors
    /// What pgbench refuses too: an unset variable, an operand of the wrong type, an overflow, a division by zero.
    pub fn evaluate(&self, _context: &mut Context<'_>) -> Result<Value, EvaluateError> {
        Ok(Value::Null)
    }

    /// As a condition of `\if` and `\elif`: a number is true if it is not 0, and null is false.
    ///
    /// # Errors
    /// As [`Program::evaluate`].
    pub fn holds(&self, context: &mut Context<'_>) -> Result<bool, EvaluateError> {
        Ok(match self.evaluate(context)? {
            Value::Null => false,
            Value::Boolean(value) => value,
            Value::Integer(value) => value != 0,
            Value::Double(value) => value != 0.0,
        })
    }
}
