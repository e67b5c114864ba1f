//! Parses expressions by precedence climbing. An error is found at the first token that cannot follow what stands before
//! it, as by pgbench, and no token is taken beyond that one.

use super::ExpressionError;
use super::fragment::{Branch, Fragment};
use super::function::{Binary, Function, Integer, Named, Number, Unary};
use super::program::{Operation, Program};
use super::token::{Lexer, LexicalError, Operator, Token};
use crate::script::{Names, Value};

/// How deeply an expression may be nested: the parser calls itself, and must not end the program.
const DEPTH_MAX: u32 = 600;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    Or,
    And,
    Not,
    Is,
    Comparison,
    Bits,
    Sum,
    Product,
    Sign,
}

enum ParseFailure<'a> {
    Syntax,
    Exhausted,
    Lexical(LexicalError<'a>),
    Function { message: &'static str, name: String },
}

impl<'a> From<LexicalError<'a>> for ParseFailure<'a> {
    fn from(error: LexicalError<'a>) -> Self {
        ParseFailure::Lexical(error)
    }
}

/// Parses an expression up to the end of its command, which is taken too, also behind an error.
pub(in crate::script) fn parse(
    mut lexer: Lexer<'_, '_>,
    names: &mut Names,
) -> Result<Program, ExpressionError> {
    let mut parser = Parser { lexer: &mut lexer, names, depth: 0 };
    let failure = match parser.expression(None) {
        Ok((expression, Token::EndOfCommand)) => return Ok(expression.finish()),
        Ok(_) => ParseFailure::Syntax,
        Err(failure) => failure,
    };
    let offset = lexer.offset();
    // What is no token, further on in the command, takes the place of the error.
    if let Some((error, offset)) = lexer.finish() {
        return Err(ExpressionError { message: error.message, more: Some(lossy(error.text)), offset });
    }
    let (message, more) = match failure {
        ParseFailure::Syntax => ("syntax error", None),
        ParseFailure::Exhausted => ("memory exhausted", None),
        ParseFailure::Lexical(error) => (error.message, Some(lossy(error.text))),
        ParseFailure::Function { message, name } => (message, Some(name)),
    };
    Err(ExpressionError { message, more, offset })
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

struct Parser<'p, 's, 'a> {
    lexer: &'p mut Lexer<'s, 'a>,
    names: &'p mut Names,
    /// How many expressions are being parsed, each within the one before.
    depth: u32,
}

/// An expression, and the token behind it.
type Parsed<'a> = Result<(Fragment, Token<'a>), ParseFailure<'a>>;

impl<'a> Parser<'_, '_, 'a> {
    /// Up to an operator that does not bind tighter than `rule`, of which this is the right side.
    fn expression(&mut self, rule: Option<Precedence>) -> Parsed<'a> {
        let first = self.lexer.next()?;
        self.expression_from(first, rule)
    }

    fn expression_from(&mut self, first: Token<'a>, rule: Option<Precedence>) -> Parsed<'a> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(ParseFailure::Exhausted);
        }
        let (mut left, mut next) = self.operand(first)?;
        while let Token::Operator(operator) = next {
            let precedence = operator.precedence();
            if rule == Some(precedence) && !precedence.associates() {
                return Err(ParseFailure::Syntax);
            }
            if rule.is_some_and(|rule| precedence <= rule) {
                break;
            }
            (left, next) = self.behind(left, operator)?;
        }
        self.depth -= 1;
        Ok((left, next))
    }

    /// An operator and what belongs to it behind an expression.
    fn behind(&mut self, left: Fragment, operator: Operator) -> Parsed<'a> {
        let null = Fragment::value(Value::Null);
        let joined = match operator {
            Operator::IsNull => left.binary(Binary::Is, null),
            Operator::NotNull => left.binary(Binary::Is, null).unary(Unary::Not),
            Operator::Is => self.is(left)?,
            _ => {
                let (right, next) = self.expression(Some(operator.precedence()))?;
                return Ok((infix(operator, left, right), next));
            }
        };
        Ok((joined, self.lexer.next()?))
    }

    /// Takes what stands behind IS.
    fn is(&mut self, expression: Fragment) -> Result<Fragment, ParseFailure<'a>> {
        let mut token = self.lexer.next()?;
        let negated = token == Token::Not;
        if negated {
            token = self.lexer.next()?;
        }
        let what = match token {
            Token::Null => Value::Null,
            Token::Boolean(value) => Value::Boolean(value),
            _ => return Err(ParseFailure::Syntax),
        };
        let is = expression.binary(Binary::Is, Fragment::value(what));
        Ok(if negated { is.unary(Unary::Not) } else { is })
    }

    /// An operand of which this is the first token.
    fn operand(&mut self, token: Token<'a>) -> Parsed<'a> {
        let integer = |value| Fragment::value(Value::Integer(value));
        let operand = match token {
            Token::Null => Fragment::value(Value::Null),
            Token::Boolean(value) => Fragment::value(Value::Boolean(value)),
            Token::Integer(value) => integer(value),
            Token::Double(value) => Fragment::value(Value::Double(value)),
            Token::Variable(name) => Fragment::variable(self.names.slot_of_bytes(name)),
            Token::Operator(Operator::Add) => return self.expression(Some(Precedence::Sign)),
            Token::Operator(Operator::Subtract) => match self.lexer.next()? {
                Token::IntegerEnd => integer(i64::MIN),
                first => {
                    let (right, next) = self.expression_from(first, Some(Precedence::Sign))?;
                    return Ok((integer(0).binary(Binary::Number(Number::Subtract), right), next));
                }
            },
            Token::Invert => {
                let (right, next) = self.expression(Some(Precedence::Bits))?;
                return Ok((integer(-1).binary(Binary::Integer(Integer::BitXor), right), next));
            }
            Token::Not => {
                let (right, next) = self.expression(Some(Precedence::Not))?;
                return Ok((right.unary(Unary::Not), next));
            }
            Token::Open => match self.expression(None)? {
                (inner, Token::Close) => inner,
                _ => return Err(ParseFailure::Syntax),
            },
            Token::Function(name) => self.function(name)?,
            Token::Case => self.case()?,
            _ => return Err(ParseFailure::Syntax),
        };
        Ok((operand, self.lexer.next()?))
    }

    fn function(&mut self, name: &[u8]) -> Result<Fragment, ParseFailure<'a>> {
        let Some(named) = Named::find(name) else {
            return Err(ParseFailure::Function { message: "unexpected function name", name: lossy(name) });
        };
        if self.lexer.next()? != Token::Open {
            return Err(ParseFailure::Syntax);
        }
        let mut arguments = Vec::new();
        let mut token = self.lexer.next()?;
        // The grammar takes no argument for a list too, behind which there may be a comma.
        if token == Token::Comma {
            token = self.lexer.next()?;
        } else if token == Token::Close {
            return self.call(named, arguments);
        }
        loop {
            let (argument, behind) = self.expression_from(token, None)?;
            arguments.push(argument);
            match behind {
                Token::Comma => token = self.lexer.next()?,
                Token::Close => return self.call(named, arguments),
                _ => return Err(ParseFailure::Syntax),
            }
        }
    }

    fn call(&mut self, named: &Named, mut arguments: Vec<Fragment>) -> Result<Fragment, ParseFailure<'a>> {
        if let Some(message) = named.refuses(arguments.len()) {
            return Err(ParseFailure::Function { message, name: named.name.to_owned() });
        }
        if named.lacks_seed(arguments.len()) {
            arguments.push(Fragment::variable(self.names.slot("default_seed")));
        }
        let operation = match named.function {
            Function::Pi => Operation::Push(Value::Double(std::f64::consts::PI)),
            Function::Unary(function) => Operation::Unary(function),
            Function::Binary(function) => Operation::Binary(function),
            Function::Ternary(function) => Operation::Ternary(function),
            Function::Extremum { greatest } => {
                // More than fit are refused when it comes to the call.
                Operation::Extremum { greatest, count: u8::try_from(arguments.len()).unwrap_or(u8::MAX) }
            }
        };
        Ok(Fragment::call(arguments, operation))
    }

    /// What stands behind CASE, up to END.
    fn case(&mut self) -> Result<Fragment, ParseFailure<'a>> {
        let mut branches = Vec::new();
        let mut token = self.lexer.next()?;
        while token == Token::When {
            let (condition, Token::Then) = self.expression(None)? else { return Err(ParseFailure::Syntax) };
            let (value, behind) = self.expression(None)?;
            branches.push(Branch { condition, value });
            token = behind;
        }
        match token {
            Token::End if !branches.is_empty() => Ok(Fragment::case(branches, Fragment::value(Value::Null))),
            Token::Else if !branches.is_empty() => match self.expression(None)? {
                (otherwise, Token::End) => Ok(Fragment::case(branches, otherwise)),
                _ => Err(ParseFailure::Syntax),
            },
            _ => Err(ParseFailure::Syntax),
        }
    }
}

fn infix(operator: Operator, left: Fragment, right: Fragment) -> Fragment {
    let number = Binary::Number;
    let integer = Binary::Integer;
    match operator {
        Operator::And => left.and(right),
        Operator::Or => left.or(right),
        Operator::Add => left.binary(number(Number::Add), right),
        Operator::Subtract => left.binary(number(Number::Subtract), right),
        Operator::Multiply => left.binary(number(Number::Multiply), right),
        Operator::Divide => left.binary(number(Number::Divide), right),
        Operator::Modulo => left.binary(integer(Integer::Modulo), right),
        Operator::Less => left.binary(number(Number::Less), right),
        Operator::LessOrEqual => left.binary(number(Number::LessOrEqual), right),
        // The other way round, also in the order of evaluation, which shows in random numbers.
        Operator::Greater => right.binary(number(Number::Less), left),
        Operator::GreaterOrEqual => right.binary(number(Number::LessOrEqual), left),
        Operator::Equal => left.binary(number(Number::Equal), right),
        Operator::NotEqual => left.binary(number(Number::NotEqual), right),
        Operator::BitAnd => left.binary(integer(Integer::BitAnd), right),
        Operator::BitOr => left.binary(integer(Integer::BitOr), right),
        Operator::BitXor => left.binary(integer(Integer::BitXor), right),
        Operator::ShiftLeft => left.binary(integer(Integer::ShiftLeft), right),
        Operator::ShiftRight => left.binary(integer(Integer::ShiftRight), right),
        // Never pushed: these are complete without a right side.
        Operator::Is | Operator::IsNull | Operator::NotNull => left,
    }
}

impl Operator {
    fn precedence(self) -> Precedence {
        match self {
            Operator::Or => Precedence::Or,
            Operator::And => Precedence::And,
            Operator::Is | Operator::IsNull | Operator::NotNull => Precedence::Is,
            Operator::Less | Operator::Greater | Operator::Equal => Precedence::Comparison,
            Operator::LessOrEqual | Operator::GreaterOrEqual | Operator::NotEqual => Precedence::Comparison,
            Operator::BitOr | Operator::BitXor | Operator::BitAnd => Precedence::Bits,
            Operator::ShiftLeft | Operator::ShiftRight => Precedence::Bits,
            Operator::Add | Operator::Subtract => Precedence::Sum,
            Operator::Multiply | Operator::Divide | Operator::Modulo => Precedence::Product,
        }
    }
}

impl Precedence {
    /// All infix operators associate to the left, but for those that do not at all.
    fn associates(self) -> bool {
        !matches!(self, Precedence::Is | Precedence::Comparison)
    }
}
