//! The compiled form of an expression: operations on a stack of values.

use super::evaluate::{self, Evaluated};
use super::function::{Binary, Integer, Number, Ternary, Unary};
use super::text::{self, TextFunction};
use crate::script::random::Prng;
use crate::script::{EvaluateError, Names, Slot, Value, Variables};

/// A compiled expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    operations: Box<[Operation]>,
    /// The texts in it, one after the other.
    texts: Box<[u8]>,
    /// How many values the stack holds at most.
    depth: usize,
}

/// A step. Operands are taken from the stack and the result is left on it; a jump counts the steps to leave out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Operation {
    Push(Value),
    Load(Slot),
    /// An integer between two, of which the first is not greater.
    Draw(i64, i64),
    /// Of what lies on top and a number that is known.
    With(Number, i64),
    Unary(Unary),
    Binary(Binary),
    Ternary(Ternary),
    Extremum {
        greatest: bool,
        count: u8,
    },
    /// The left side of AND: stays, and the right side is left out, unless it is true.
    And(usize),
    /// The left side of OR: stays, and the right side is left out, unless it is false.
    Or(usize),
    /// The right side of AND and OR: null or a boolean.
    Logical,
    /// Takes a condition and jumps if it does not hold.
    Unless(usize),
    Jump(usize),
    /// Evaluation ends here: a function was given more arguments than it may have.
    TooManyArguments,
    /// Evaluation ends here: the value is for a variable that cannot be.
    VariableName(Slot),
    Addition(Addition),
}

impl Operation {
    /// The value that it is without any operand, where that is known without an error.
    #[inline]
    fn operand(&self, context: &mut Context<'_>) -> Option<Value> {
        match *self {
            Self::Push(value) => Some(value),
            Self::Load(slot) => context.variables.known(slot),
            Self::Draw(low, high) => Some(Value::Integer(context.random.uniform(low, high))),
            _ => None,
        }
    }

    /// Whether it may leave out steps.
    fn may_jump(&self) -> bool {
        matches!(
            self,
            Self::And(_)
                | Self::Or(_)
                | Self::Unless(_)
                | Self::Jump(_)
                | Self::Addition(Addition::Select(_) | Addition::Coalesce(_))
        )
    }
}

/// A step of workload files alone: apart, so that they cost pgbench's nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Addition {
    /// A text of the program: where it begins and ends.
    Text(u32, u32),
    /// A function of so many arguments.
    Apply(TextFunction, u8),
    /// Takes a number, and goes on at that of the so many branches that follow.
    Select(u16),
    Branch(usize),
    /// Stays, and the rest is left out, unless it is null.
    Coalesce(usize),
    /// A condition, which is no text.
    Condition,
    /// Takes the number of an element.
    Element(Slot),
    /// The next number of a counter.
    Next(usize),
}

/// What an expression is evaluated with: one client's variables and random numbers.
pub struct Context<'a> {
    pub variables: &'a mut Variables,
    pub names: &'a Names,
    pub random: &'a mut Prng,
    /// Called with each value that the function `debug` is given.
    pub debug: &'a mut dyn FnMut(Value),
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("random", &self.random).finish_non_exhaustive()
    }
}

/// How many arguments a function may be given.
pub(super) const ARGUMENTS_MAX: usize = 16;

/// Stacks up to these sizes need no memory of their own. Most expressions are content with the smaller one, which is
/// the quicker to set up.
const SMALL_DEPTH: usize = 6;
const LARGE_DEPTH: usize = 32;

impl Program {
    /// From what the parser compiles, in which each operation finds its operands on the stack.
    pub(super) fn new(operations: Vec<Operation>, texts: Vec<u8>) -> Self {
        let (mut height, mut depth) = (0, 0);
        for operation in &operations {
            match operation {
                Operation::Push(_) | Operation::Load(_) | Operation::Draw(..) => height += 1,
                // What follows a jump begins without the value that is jumped with.
                Operation::Binary(_) | Operation::And(_) | Operation::Or(_) => height -= 1,
                Operation::Unless(_) | Operation::Jump(_) => height -= 1,
                Operation::Ternary(_) => height -= 2,
                Operation::Extremum { count, .. } => height -= usize::from(*count) - 1,
                Operation::Unary(_) | Operation::With(..) | Operation::Logical => {}
                Operation::TooManyArguments | Operation::VariableName(_) => {}
                Operation::Addition(Addition::Text(..) | Addition::Next(_)) => height += 1,
                Operation::Addition(Addition::Apply(_, count)) => height -= usize::from(*count) - 1,
                Operation::Addition(Addition::Select(_) | Addition::Coalesce(_)) => height -= 1,
                Operation::Addition(Addition::Branch(_) | Addition::Condition | Addition::Element(_)) => {}
            }
            depth = depth.max(height);
        }
        Self { operations: operations.into(), texts: texts.into(), depth }
    }

    pub(super) fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// A program that fails when it has computed the value, because that is for a variable that cannot be.
    pub(in crate::script) fn for_invalid_variable(self, slot: Slot) -> Self {
        self.ending_with(Operation::VariableName(slot))
    }

    /// The expression's value, which is an integer.
    ///
    /// # Errors
    /// See [`evaluate`](Self::evaluate); it is no number.
    pub fn integer(&self, context: &mut Context<'_>) -> Result<i64, EvaluateError> {
        let value = self.evaluate(context)?;
        evaluate::integer(value, context.variables).map_err(|error| *error)
    }

    /// A program that fails where its value is a text.
    pub(in crate::script) fn for_condition(self) -> Self {
        self.ending_with(Operation::Addition(Addition::Condition))
    }

    fn ending_with(self, operation: Operation) -> Self {
        let mut operations = self.operations.into_vec();
        operations.push(operation);
        Self { operations: operations.into(), ..self }
    }

    /// Whether its value is the same each time: it reads no variable, and draws nothing.
    pub(crate) fn is_constant(&self) -> bool {
        self.operations.iter().all(|operation| match operation {
            Operation::Load(_) | Operation::Draw(..) | Operation::VariableName(_) => false,
            Operation::Binary(Binary::Integer(Integer::Random)) => false,
            Operation::Ternary(ternary) => *ternary == Ternary::Permute,
            Operation::Addition(Addition::Element(_) | Addition::Next(_)) => false,
            Operation::Addition(Addition::Apply(function, _)) => !function.draws(),
            _ => true,
        })
    }

    /// The same with what is known before it runs computed: variables that stay as they are, and arithmetic with numbers.
    pub(crate) fn folded(&self, mut known: impl FnMut(Slot) -> Option<Value>) -> Self {
        // A jump counts the steps that it leaves out.
        if self.operations.iter().any(Operation::may_jump) {
            return self.clone();
        }
        let mut folded: Vec<Operation> = Vec::with_capacity(self.operations.len());
        for operation in &self.operations {
            let operation = match *operation {
                Operation::Load(slot) => known(slot).map_or(Operation::Load(slot), Operation::Push),
                other => other,
            };
            let numbers = folded.iter().rev().map_while(|operation| match operation {
                Operation::Push(Value::Integer(number)) => Some(*number),
                _ => None,
            });
            let numbers: Vec<i64> = numbers.take(2).collect();
            let (taken, operation) = match (operation, numbers.as_slice()) {
                (Operation::Binary(Binary::Number(number)), [right, left]) => {
                    match evaluate::number_of_integers(number, *left, *right) {
                        Ok(value) => (2, Operation::Push(value)),
                        Err(_) => (1, Operation::With(number, *right)),
                    }
                }
                (Operation::Binary(Binary::Number(number)), [right]) => (1, Operation::With(number, *right)),
                (Operation::Binary(Binary::Integer(Integer::Random)), [high, low])
                    if evaluate::check_range(*low, *high).is_ok() =>
                {
                    (2, Operation::Draw(*low, *high))
                }
                (operation, _) => (0, operation),
            };
            folded.truncate(folded.len() - taken);
            folded.push(operation);
        }
        Self { operations: folded.into(), ..self.clone() }
    }

    /// The variables that it reads, in the order of their places.
    pub(crate) fn reads(&self) -> impl Iterator<Item = Slot> {
        self.operations.iter().filter_map(|operation| match operation {
            Operation::Load(slot) | Operation::Addition(Addition::Element(slot)) => Some(*slot),
            _ => None,
        })
    }

    /// The number that it is, as it is written.
    pub(crate) fn number(&self) -> Option<i64> {
        match *self.operations {
            [Operation::Push(Value::Integer(number))] => Some(number),
            _ => None,
        }
    }

    /// Whether an integer is divided by a 0 that is written there, whenever it is evaluated.
    pub(crate) fn divides_by_zero(&self) -> bool {
        let divides = |operation: &Operation| {
            let (division, modulo) = (Binary::Number(Number::Divide), Binary::Integer(Integer::Modulo));
            matches!(operation, Operation::Binary(binary) if [division, modulo].contains(binary))
        };
        let is_zero = |operation: &Operation| *operation == Operation::Push(Value::Integer(0));
        let is_straight = !self.operations.iter().any(Operation::may_jump);
        // Of other numbers there is a quotient by 0.
        let is_integer = |operation: &Operation| {
            matches!(operation, Operation::Push(Value::Integer(_)) | Operation::Binary(Binary::Integer(_)))
        };
        let mut threes = self.operations.windows(3);
        is_straight && threes.any(|three| is_integer(&three[0]) && is_zero(&three[1]) && divides(&three[2]))
    }

    /// The expression's value. Allocates nothing, but for an error's text and for expressions that are nested more
    /// than 32 deep.
    ///
    /// # Errors
    /// What pgbench refuses too: an unset variable, an operand of the wrong type, an overflow, a division by zero.
    #[inline]
    pub fn evaluate(&self, context: &mut Context<'_>) -> Result<Value, EvaluateError> {
        // Those of the expression before are gone.
        context.variables.clear_texts();
        // What is a value by itself needs no stack.
        if let [only] = &*self.operations
            && let Some(value) = only.operand(context)
        {
            return Ok(value);
        }
        let evaluated = match self.depth {
            depth if depth <= SMALL_DEPTH => self.run(&mut [Value::Null; SMALL_DEPTH], context),
            depth if depth <= LARGE_DEPTH => self.run(&mut [Value::Null; LARGE_DEPTH], context),
            depth => self.run(&mut vec![Value::Null; depth], context),
        };
        evaluated.map_err(|error| *error)
    }

    /// The stack has room for `depth` values. The compiler sees to it that every operation finds its operands.
    fn run(&self, stack: &mut [Value], context: &mut Context<'_>) -> Evaluated {
        let mut top = 0;
        let mut next = 0;
        while let Some(operation) = self.operations.get(next) {
            next += 1;
            if let Some(value) = operation.operand(context) {
                stack[top] = value;
                top += 1;
                continue;
            }
            match *operation {
                // Those above; a variable of which nobody has asked for the value.
                Operation::Push(_) | Operation::Draw(..) => {}
                Operation::Load(slot) => {
                    stack[top] = context.variables.value(slot, context.names).map_err(Box::new)?;
                    top += 1;
                }
                Operation::With(number, right) => {
                    stack[top - 1] = evaluate::with_integer(number, &stack[top - 1], right, context)?;
                }
                Operation::Unary(Unary::Debug) => (context.debug)(stack[top - 1]),
                Operation::Unary(unary) => {
                    stack[top - 1] = evaluate::unary(unary, stack[top - 1], context.variables)?;
                }
                Operation::Binary(binary) => {
                    top -= 1;
                    stack[top - 1] = evaluate::binary(binary, &stack[top - 1], &stack[top], context)?;
                }
                Operation::Ternary(ternary) => {
                    top -= 2;
                    let arguments = [stack[top - 1], stack[top], stack[top + 1]];
                    stack[top - 1] = evaluate::ternary(ternary, arguments, context)?;
                }
                Operation::Extremum { greatest, count } => {
                    let first = top - usize::from(count);
                    stack[first] = evaluate::extremum(greatest, &stack[first..top], context.variables)?;
                    top = first + 1;
                }
                Operation::And(skip) => match evaluate::logical(stack[top - 1])? {
                    Some(true) => top -= 1,
                    _ => next += skip,
                },
                Operation::Or(skip) => match evaluate::logical(stack[top - 1])? {
                    Some(false) => top -= 1,
                    _ => next += skip,
                },
                Operation::Logical => {
                    evaluate::logical(stack[top - 1])?;
                }
                Operation::Unless(skip) => {
                    top -= 1;
                    if !stack[top].holds() {
                        next += skip;
                    }
                }
                Operation::Jump(skip) => next += skip,
                Operation::TooManyArguments => {
                    return Err(Box::new(EvaluateError::TooManyArguments(ARGUMENTS_MAX)));
                }
                Operation::VariableName(slot) => {
                    let name = context.names.name(slot).into();
                    return Err(Box::new(EvaluateError::VariableName { command: "set".into(), name }));
                }
                Operation::Addition(addition) => {
                    (top, next) = self.add(addition, stack, (top, next), context)?;
                }
            }
        }
        Ok(stack[0])
    }

    /// A step of workload files; how high the stack is behind it, and the step that follows.
    #[inline(never)]
    fn add(
        &self,
        addition: Addition,
        stack: &mut [Value],
        (top, next): (usize, usize),
        context: &mut Context<'_>,
    ) -> Evaluated<(usize, usize)> {
        match addition {
            Addition::Text(from, to) => {
                let text = self.texts.get(from as usize..to as usize).unwrap_or_default();
                stack[top] = context.variables.keep_text(|out| out.extend_from_slice(text));
                return Ok((top + 1, next));
            }
            Addition::Apply(function, count) => {
                let first = top - usize::from(count);
                stack[first] = text::apply(function, &stack[first..top], context)?;
                return Ok((first + 1, next));
            }
            Addition::Select(count) => {
                let index = evaluate::integer(stack[top - 1], context.variables)?;
                if !(1..=i64::from(count)).contains(&index) {
                    return Err(Box::new(EvaluateError::Choice { index, count }));
                }
                // There a jump to the branch stands.
                let at = next + index as usize - 1;
                let skip = match self.operations.get(at) {
                    Some(Operation::Addition(Addition::Branch(skip))) => skip + 1,
                    _ => 0,
                };
                return Ok((top - 1, at + skip));
            }
            Addition::Branch(skip) => return Ok((top, next + skip)),
            Addition::Coalesce(skip) if stack[top - 1] != Value::Null => return Ok((top, next + skip)),
            Addition::Coalesce(_) => return Ok((top - 1, next)),
            Addition::Element(array) => {
                let index = evaluate::integer(stack[top - 1], context.variables)?;
                let element = context.variables.element(array, index, context.names);
                stack[top - 1] = element.map_err(Box::new)?;
            }
            Addition::Next(counter) => {
                stack[top] = context.variables.take_next(counter, context.names).map_err(Box::new)?;
                return Ok((top + 1, next));
            }
            Addition::Condition => stack[top - 1] = text::condition(stack[top - 1], context.variables)?,
        }
        Ok((top, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::compile;

    /// What an expression yields, with its text, and where the random numbers go on.
    fn evaluated(program: &Program, names: &Names, row: i64) -> (String, Prng) {
        let mut variables = Variables::new(names);
        for (name, value) in [("row", row), ("scale", 3)] {
            names.find(name).into_iter().for_each(|slot| variables.set(slot, Value::Integer(value)));
        }
        let mut random = Prng::seed(row.unsigned_abs());
        let mut context =
            Context { variables: &mut variables, names, random: &mut random, debug: &mut |_| () };
        let value = program.evaluate(&mut context);
        let shown = match value {
            Ok(Value::Text(range) | Value::Decimal(range)) => {
                String::from_utf8_lossy(variables.text(range)).into_owned()
            }
            value => format!("{value:?}"),
        };
        (shown, random)
    }

    #[test]
    fn what_is_folded_has_the_same_values_errors_and_draws() {
        for (text, operations) in [
            ("random(1, 100000 * :scale)", 1),
            ("random(1, :scale) + random(1, 2)", 3),
            ("(:row - 1) / 100000 + 1", 4),
            ("2 - :row", 3),
            ("random(:row, 5)", 3),
            ("random(5, 1 + 1)", 3),
            ("random(-9223372036854775807, 9223372036854775807)", 3),
            ("random(-9223372036854775807 * 2, 1)", 4),
            (":row / 0", 2),
            ("1 / 0 + 1", 3),
            ("9223372036854775807 + :scale", 2),
            ("(:row + 0.5) * 2", 4),
            ("null + 1", 2),
            ("true + 1", 2),
            ("'a' + 1", 2),
            ("abs(:row - 7) * -3", 4),
            ("greatest(1, 2 + 3, :row)", 4),
            ("decimal(5, 1) + 1", 4),
            ("'a' || (1 + 1) || :row", 5),
            ("random_gaussian(1, 10 * :scale, 2.5)", 4),
        ] {
            let mut names = Names::new();
            let program = compile(text, &mut names).unwrap();
            let scale = names.find("scale");
            let folded = program.folded(|slot| (Some(slot) == scale).then_some(Value::Integer(3)));
            assert_eq!(folded.operations.len(), operations, "{text}: {:?}", folded.operations);
            for row in 1..6 {
                assert_eq!(evaluated(&folded, &names, row), evaluated(&program, &names, row), "{text}");
            }
        }
    }
}
