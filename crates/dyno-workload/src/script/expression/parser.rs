//! Parses expressions by precedence climbing, and compiles them as it goes. An error is found at the first token that
//! cannot follow what stands before it, as by pgbench, and no token is taken beyond that one.

use super::function::{Binary, Function, Integer, Lazy, Named, Number, Unary};
use super::program::{ARGUMENTS_MAX, Addition, Operation, Program};
use super::text::TextFunction;
use super::token::{Lexer, Operator, Precedence, Token};
use super::{ExpressionError, SYNTAX, UNKNOWN_FUNCTION};
use crate::script::variables::ELEMENTS_MAX;
use crate::script::{Language, Names, Value};

/// How deeply an expression may be nested: the parser calls itself, and must not end the program.
const DEPTH_MAX: u32 = 600;

/// There is no such element of an array, whatever the variables are.
const BEYOND: &str = "an array has elements 1 to 1024";

/// Whether this is a number that no element of an array has.
fn is_beyond(operations: &[Operation]) -> bool {
    matches!(operations, [Operation::Push(Value::Integer(index))] if !(1..=ELEMENTS_MAX).contains(index))
}

/// Parses the number of an element.
pub(in crate::script) fn parse_index(
    lexer: Lexer<'_, '_>,
    names: &mut Names,
) -> Result<Program, ExpressionError> {
    let program = parse(lexer, names)?;
    match is_beyond(program.operations()) {
        true => Err(ExpressionError { message: BEYOND, more: None, offset: 1 }),
        false => Ok(program),
    }
}

/// Parses an expression up to the end of its command, which is taken too, also behind an error.
pub(in crate::script) fn parse(
    mut lexer: Lexer<'_, '_>,
    names: &mut Names,
) -> Result<Program, ExpressionError> {
    let mut parser = Parser { lexer: &mut lexer, names, depth: 0, operations: Vec::new(), texts: Vec::new() };
    let failure = match parser.expression(None) {
        Ok(Token::EndOfCommand) => return Ok(parser.program()),
        Ok(_) => parser.syntax_error(),
        Err(failure) => failure,
    };
    // What is no token, further on in the command, takes the place of the error.
    Err(lexer.finish().unwrap_or(failure))
}

struct Parser<'p, 's, 'a> {
    lexer: &'p mut Lexer<'s, 'a>,
    names: &'p mut Names,
    /// How many expressions are being parsed, each within the one before.
    depth: u32,
    /// What is compiled so far. Jumps are relative, so that operations can be moved.
    operations: Vec<Operation>,
    /// The texts in it, one after the other.
    texts: Vec<u8>,
}

/// The token behind what was parsed and compiled.
type Parsed<'a> = Result<Token<'a>, ExpressionError>;

impl<'a> Parser<'_, '_, 'a> {
    fn program(self) -> Program {
        Program::new(self.operations, self.texts)
    }

    fn is_of_workload(&self) -> bool {
        self.lexer.language == Language::Workload
    }

    /// Up to an operator that does not bind tighter than `rule`, of which this is the right side.
    fn expression(&mut self, rule: Option<Precedence>) -> Parsed<'a> {
        let first = self.lexer.next()?;
        self.expression_from(first, rule)
    }

    fn expression_from(&mut self, first: Token<'a>, rule: Option<Precedence>) -> Parsed<'a> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.lexer.error("memory exhausted", None));
        }
        let start = self.operations.len();
        let mut next = self.operand(first)?;
        while let Token::Operator(operator) = next {
            let precedence = operator.precedence();
            if rule == Some(precedence) && !precedence.associates() {
                return Err(self.syntax_error());
            }
            if rule.is_some_and(|rule| precedence <= rule) {
                break;
            }
            next = self.behind(start, operator)?;
        }
        self.depth -= 1;
        Ok(next)
    }

    /// An operator and what belongs to it behind an expression, whose operations begin at `start`.
    fn behind(&mut self, start: usize, operator: Operator) -> Parsed<'a> {
        let middle = self.operations.len();
        let rule = Some(operator.precedence());
        match operator {
            Operator::IsNull => self.push_is(Value::Null, false),
            Operator::NotNull => self.push_is(Value::Null, true),
            Operator::Is => self.is()?,
            Operator::And | Operator::Or => {
                let jump = self.placeholder();
                let next = self.expression(rule)?;
                self.operations.push(Operation::Logical);
                self.fill(jump, if operator == Operator::And { Operation::And } else { Operation::Or });
                return Ok(next);
            }
            Operator::Infix(Binary::Number(function), Precedence::Comparison) => {
                let next = self.expression(rule)?;
                self.compare(function);
                return Ok(next);
            }
            Operator::Infix(function, _) => {
                let next = self.expression(rule)?;
                self.operations.push(Operation::Binary(function));
                return Ok(next);
            }
            Operator::Reversed(function) => {
                let next = self.expression(rule)?;
                // Also in the order of evaluation, which shows in random numbers.
                self.operations[start..].rotate_left(middle - start);
                self.compare(function);
                return Ok(next);
            }
            Operator::Concatenate => {
                let next = self.expression(rule)?;
                self.operations.push(Operation::Addition(Addition::Apply(TextFunction::Concatenate, 2)));
                return Ok(next);
            }
        }
        self.lexer.next()
    }

    fn compare(&mut self, function: Number) {
        self.operations.push(match self.is_of_workload() {
            true => Operation::Addition(Addition::Apply(TextFunction::Compare(function), 2)),
            false => Operation::Binary(Binary::Number(function)),
        });
    }

    /// Takes what stands behind IS.
    fn is(&mut self) -> Result<(), ExpressionError> {
        let mut token = self.lexer.next()?;
        let negated = token == Token::Not;
        if negated {
            token = self.lexer.next()?;
        }
        let Token::Constant(what @ (Value::Null | Value::Boolean(_))) = token else {
            return Err(self.syntax_error());
        };
        self.push_is(what, negated);
        Ok(())
    }

    fn push_is(&mut self, what: Value, negated: bool) {
        self.operations.extend([Operation::Push(what), Operation::Binary(Binary::Is)]);
        self.operations.extend(negated.then_some(Operation::Unary(Unary::Not)));
    }

    /// An operand of which this is the first token.
    fn operand(&mut self, token: Token<'a>) -> Parsed<'a> {
        let integer = |value| Operation::Push(Value::Integer(value));
        match token {
            Token::Constant(value) => self.operations.push(Operation::Push(value)),
            Token::Variable(name) if self.lexer.is_at_element() => {
                let array = self.names.slot_of_bytes(name);
                let open = self.lexer.next()?;
                self.expect(open, Token::OpenElement)?;
                let start = self.operations.len();
                let close = self.expression(None)?;
                self.expect(close, Token::CloseElement)?;
                if is_beyond(&self.operations[start..]) {
                    return Err(self.lexer.error(BEYOND, Some(name)));
                }
                self.operations.push(Operation::Addition(Addition::Element(array)));
            }
            Token::Variable(name) => self.operations.push(Operation::Load(self.names.slot_of_bytes(name))),
            Token::Text(text) => self.push_text(text),
            Token::Operator(Operator::ADD) => return self.expression(Some(Precedence::Sign)),
            Token::Operator(Operator::SUBTRACT) => match self.lexer.next()? {
                Token::IntegerEnd => self.operations.push(integer(i64::MIN)),
                first => {
                    self.operations.push(integer(0));
                    let next = self.expression_from(first, Some(Precedence::Sign))?;
                    self.operations.push(Operation::Binary(Binary::Number(Number::Subtract)));
                    return Ok(next);
                }
            },
            Token::Invert => {
                self.operations.push(integer(-1));
                let next = self.expression(Some(Precedence::Bits))?;
                self.operations.push(Operation::Binary(Binary::Integer(Integer::BitXor)));
                return Ok(next);
            }
            Token::Not => {
                let next = self.expression(Some(Precedence::Not))?;
                self.operations.push(Operation::Unary(Unary::Not));
                return Ok(next);
            }
            Token::Open => {
                let next = self.expression(None)?;
                self.expect(next, Token::Close)?;
            }
            Token::Function(name) => self.function(name)?,
            Token::Case => self.case()?,
            _ => return Err(self.syntax_error()),
        }
        self.lexer.next()
    }

    fn function(&mut self, name: &[u8]) -> Result<(), ExpressionError> {
        let Some(named) = Named::find(name, self.lexer.language) else {
            return Err(self.lexer.error(UNKNOWN_FUNCTION, Some(name)));
        };
        let open = self.lexer.next()?;
        self.expect(open, Token::Open)?;
        if named.function == Function::Next {
            let Token::Function(counter) = self.lexer.next()? else { return Err(self.syntax_error()) };
            let counter = self.names.counter(counter);
            self.operations.push(Operation::Addition(Addition::Next(counter)));
            let close = self.lexer.next()?;
            return self.expect(close, Token::Close);
        }
        if let Function::Lazy(lazy) = named.function {
            return self.lazy(named, lazy);
        }
        let mut count = 0;
        let mut kept = self.operations.len();
        let mut token = self.lexer.next()?;
        // The grammar takes no argument for a list too, behind which there may be a comma.
        if token == Token::Comma {
            token = self.lexer.next()?;
        } else if token == Token::Close {
            return self.call(named, 0);
        }
        loop {
            let behind = self.expression_from(token, None)?;
            count += 1;
            if count <= ARGUMENTS_MAX {
                kept = self.operations.len();
            }
            if behind != Token::Comma {
                self.expect(behind, Token::Close)?;
                self.operations.truncate(kept);
                return self.call(named, count);
            }
            token = self.lexer.next()?;
        }
    }

    /// Behind its arguments, of which there are as many operations as there may be arguments at most.
    fn call(&mut self, named: &Named, count: usize) -> Result<(), ExpressionError> {
        if let Some(message) = named.refuses(count) {
            return Err(self.lexer.error(message, Some(named.name.as_bytes())));
        }
        if named.lacks_seed(count) {
            self.operations.push(Operation::Load(self.names.slot("default_seed")));
        }
        if count > ARGUMENTS_MAX {
            self.operations.push(Operation::TooManyArguments);
        }
        self.operations.push(match named.function {
            Function::Pi => Operation::Push(Value::Double(std::f64::consts::PI)),
            Function::Unary(function) => Operation::Unary(function),
            Function::Binary(function) => Operation::Binary(function),
            Function::Ternary(function) => Operation::Ternary(function),
            Function::Text(function) => Operation::Addition(Addition::Apply(function, count as u8)),
            // Compiled where their arguments are read.
            Function::Lazy(_) | Function::Next => return Ok(()),
            Function::Extremum { greatest } => {
                Operation::Extremum { greatest, count: count.min(ARGUMENTS_MAX) as u8 }
            }
        });
        Ok(())
    }

    /// The arguments of a function that evaluates only some of them, behind the parenthesis.
    fn lazy(&mut self, named: &Named, lazy: Lazy) -> Result<(), ExpressionError> {
        let draw = self.operations.len();
        if lazy == Lazy::Pick {
            self.placeholder();
        }
        let mut starts = Vec::new();
        let mut ends = Vec::new();
        loop {
            starts.push(self.operations.len());
            let behind = self.expression(None)?;
            if behind != Token::Comma {
                self.expect(behind, Token::Close)?;
                break;
            }
            if lazy == Lazy::Coalesce {
                ends.push(self.placeholder());
            }
        }
        if let Some(message) = named.refuses(starts.len()) {
            return Err(self.lexer.error(message, Some(named.name.as_bytes())));
        }
        let coalesce = |skip| Operation::Addition(Addition::Coalesce(skip));
        match lazy {
            Lazy::Coalesce => ends.into_iter().for_each(|end| self.fill(end, coalesce)),
            Lazy::Choose => self.select(&starts[1..])?,
            Lazy::Pick => {
                self.operations[draw] = Operation::Draw(1, starts.len() as i64);
                self.select(&starts)?;
            }
        }
        Ok(())
    }

    /// Compiles the choice between branches, which begin at `starts` up to here: a table of jumps to each, and behind each, but
    /// the last, a jump behind all.
    fn select(&mut self, starts: &[usize]) -> Result<(), ExpressionError> {
        let Ok(count) = u16::try_from(starts.len()) else {
            return Err(self.lexer.error("too many arguments", None));
        };
        let mut branches: Vec<_> =
            starts.iter().rev().map(|start| self.operations.split_off(*start)).collect();
        branches.reverse();
        self.operations.push(Operation::Addition(Addition::Select(count)));
        let table = self.operations.len();
        for _ in &branches {
            self.placeholder();
        }
        let mut ends = Vec::new();
        for (at, branch) in branches.into_iter().enumerate() {
            self.fill(table + at, |skip| Operation::Addition(Addition::Branch(skip)));
            self.operations.extend(branch);
            if at + 1 < starts.len() {
                ends.push(self.placeholder());
            }
        }
        ends.into_iter().for_each(|end| self.fill(end, Operation::Jump));
        Ok(())
    }

    fn push_text(&mut self, text: &[u8]) {
        let from = self.texts.len() as u32;
        let mut rest = text;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\'') {
            // A doubled quote is one.
            self.texts.extend_from_slice(&rest[..=at]);
            rest = rest.get(at + 2..).unwrap_or_default();
        }
        self.texts.extend_from_slice(rest);
        self.operations.push(Operation::Addition(Addition::Text(from, self.texts.len() as u32)));
    }

    /// What stands behind CASE, up to END: for each branch its condition, a jump over the value, the value, and a jump
    /// behind everything.
    fn case(&mut self) -> Result<(), ExpressionError> {
        let mut ends = Vec::new();
        let mut token = self.lexer.next()?;
        while token == Token::When {
            let then = self.expression(None)?;
            self.expect(then, Token::Then)?;
            if self.is_of_workload() {
                self.operations.push(Operation::Addition(Addition::Condition));
            }
            let over = self.placeholder();
            token = self.expression(None)?;
            ends.push(self.placeholder());
            self.fill(over, Operation::Unless);
        }
        if token == Token::Else && !ends.is_empty() {
            token = self.expression(None)?;
        } else {
            self.operations.push(Operation::Push(Value::Null));
        }
        let none = ends.is_empty();
        ends.into_iter().for_each(|end| self.fill(end, Operation::Jump));
        if none { Err(self.syntax_error()) } else { self.expect(token, Token::End) }
    }

    /// A jump whose end is not known yet.
    fn placeholder(&mut self) -> usize {
        self.operations.push(Operation::Jump(0));
        self.operations.len() - 1
    }

    /// Has the operation at `place` jump to here.
    fn fill(&mut self, place: usize, operation: fn(usize) -> Operation) {
        self.operations[place] = operation(self.operations.len() - place - 1);
    }

    fn expect(&self, found: Token<'a>, wanted: Token<'a>) -> Result<(), ExpressionError> {
        if found == wanted { Ok(()) } else { Err(self.syntax_error()) }
    }

    fn syntax_error(&self) -> ExpressionError {
        self.lexer.error(SYNTAX, None)
    }
}
