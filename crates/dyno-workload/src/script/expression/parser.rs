//! A shift-reduce parser for expressions.
//!
//! It keeps its own stack, for two reasons: what is nested deeply must not end the program; and where an error is found
//! depends on when a parser looks at the next token, in which this one is like pgbench's (LALR, made by bison).

use super::ExpressionError;
use super::fragment::{Branch, Fragment};
use super::function::{Binary, Function, Integer, Named, Number, Unary};
use super::program::{Operation, Program};
use super::token::{Lexer, LexicalError, Operator, Token};
use crate::script::{Names, Value};

/// What has been read and is not yet part of something larger.
#[derive(Debug)]
enum Symbol {
    Expression(Fragment),
    /// Behind an expression.
    Infix(Operator),
    Plus,
    Minus,
    Not,
    Invert,
    Open,
    Function(&'static Named),
    /// Arguments before a comma.
    Arguments(Vec<Fragment>),
    Comma,
    Case,
    When,
    Then,
    Branches(Vec<Branch>),
    Else,
}

/// How many symbols pgbench's parser has room for.
const SYMBOLS_MAX: usize = 9998;

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
    let mut parser = Parser { lexer: &mut lexer, names, symbols: Vec::new() };
    let failure = match parser.run() {
        Ok(program) => return Ok(program),
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
    symbols: Vec<Symbol>,
}

/// What a step of the parser asks for next.
enum Next<'a> {
    Operand(Token<'a>),
    Operator(Token<'a>),
    Done(Program),
}

impl<'a> Parser<'_, '_, 'a> {
    fn run(&mut self) -> Result<Program, ParseFailure<'a>> {
        let mut next = Next::Operand(self.lexer.next()?);
        loop {
            next = match next {
                Next::Operand(token) => self.operand(token)?,
                Next::Operator(token) => self.behind_operand(token)?,
                Next::Done(program) => return Ok(program),
            };
        }
    }

    fn push(&mut self, symbol: Symbol) -> Result<(), ParseFailure<'a>> {
        if self.symbols.len() >= SYMBOLS_MAX {
            return Err(ParseFailure::Exhausted);
        }
        self.symbols.push(symbol);
        Ok(())
    }

    /// Pushes a symbol behind which an operand must come.
    fn push_before_operand(&mut self, symbol: Symbol) -> Result<Next<'a>, ParseFailure<'a>> {
        self.push(symbol)?;
        Ok(Next::Operand(self.lexer.next()?))
    }

    fn push_expression(&mut self, expression: Fragment) -> Result<Next<'a>, ParseFailure<'a>> {
        self.push(Symbol::Expression(expression))?;
        Ok(Next::Operator(self.lexer.next()?))
    }

    /// Takes the beginning of an operand.
    fn operand(&mut self, token: Token<'a>) -> Result<Next<'a>, ParseFailure<'a>> {
        match token {
            Token::Null => self.push_expression(Fragment::value(Value::Null)),
            Token::Boolean(value) => self.push_expression(Fragment::value(Value::Boolean(value))),
            Token::Integer(value) => self.push_expression(Fragment::value(Value::Integer(value))),
            Token::Double(value) => self.push_expression(Fragment::value(Value::Double(value))),
            Token::IntegerEnd => match self.symbols.pop() {
                Some(Symbol::Minus) => self.push_expression(Fragment::value(Value::Integer(i64::MIN))),
                _ => Err(ParseFailure::Syntax),
            },
            Token::Variable(name) => {
                let slot = self.names.slot_of_bytes(name);
                self.push_expression(Fragment::variable(slot))
            }
            Token::Operator(Operator::Add) => self.push_before_operand(Symbol::Plus),
            Token::Operator(Operator::Subtract) => self.push_before_operand(Symbol::Minus),
            Token::Invert => self.push_before_operand(Symbol::Invert),
            Token::Not => self.push_before_operand(Symbol::Not),
            Token::Open => self.push_before_operand(Symbol::Open),
            Token::Function(name) => self.function(name),
            Token::Case => {
                self.push(Symbol::Case)?;
                match self.lexer.next()? {
                    Token::When => self.push_before_operand(Symbol::When),
                    _ => Err(ParseFailure::Syntax),
                }
            }
            _ => Err(ParseFailure::Syntax),
        }
    }

    fn function(&mut self, name: &[u8]) -> Result<Next<'a>, ParseFailure<'a>> {
        let Some(named) = Named::find(name) else {
            return Err(ParseFailure::Function { message: "unexpected function name", name: lossy(name) });
        };
        self.push(Symbol::Function(named))?;
        if self.lexer.next()? != Token::Open {
            return Err(ParseFailure::Syntax);
        }
        self.push(Symbol::Open)?;
        match self.lexer.next()? {
            Token::Close => self.call(Vec::new()),
            // The grammar takes no argument for a list too, behind which there may be a comma.
            Token::Comma => {
                self.push(Symbol::Arguments(Vec::new()))?;
                self.push_before_operand(Symbol::Comma)
            }
            token => Ok(Next::Operand(token)),
        }
    }

    /// What to do with the expression on top of the stack, when this token is behind it.
    fn behind_operand(&mut self, token: Token<'a>) -> Result<Next<'a>, ParseFailure<'a>> {
        let Some(Symbol::Expression(expression)) = self.symbols.pop() else {
            return Err(ParseFailure::Syntax);
        };
        if let Some(of_rule) = self.symbols.last().and_then(Symbol::precedence) {
            match token {
                Token::Operator(operator) if operator.precedence() > of_rule => {
                    return self.shift(expression, operator);
                }
                Token::Operator(operator) if operator.precedence() == of_rule && !of_rule.associates() => {
                    return Err(ParseFailure::Syntax);
                }
                _ => {
                    let reduced = self.reduce(expression);
                    self.symbols.push(Symbol::Expression(reduced));
                    return Ok(Next::Operator(token));
                }
            }
        }
        match token {
            Token::Operator(operator) => self.shift(expression, operator),
            _ => self.close(expression, token),
        }
    }

    /// Takes an operator that belongs to the expression before it.
    fn shift(&mut self, expression: Fragment, operator: Operator) -> Result<Next<'a>, ParseFailure<'a>> {
        let null = Fragment::value(Value::Null);
        match operator {
            Operator::IsNull => self.push_expression(expression.binary(Binary::Is, null)),
            Operator::NotNull => self.push_expression(expression.binary(Binary::Is, null).unary(Unary::Not)),
            Operator::Is => self.is(expression),
            _ => {
                self.push(Symbol::Expression(expression))?;
                self.push_before_operand(Symbol::Infix(operator))
            }
        }
    }

    /// Takes what stands behind IS.
    fn is(&mut self, expression: Fragment) -> Result<Next<'a>, ParseFailure<'a>> {
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
        self.push_expression(if negated { is.unary(Unary::Not) } else { is })
    }

    /// Joins the expression with the operator before it, and with the expression before that.
    fn reduce(&mut self, right: Fragment) -> Fragment {
        let integer = |value| Fragment::value(Value::Integer(value));
        match self.symbols.pop() {
            Some(Symbol::Minus) => integer(0).binary(Binary::Number(Number::Subtract), right),
            Some(Symbol::Invert) => integer(-1).binary(Binary::Integer(Integer::BitXor), right),
            Some(Symbol::Not) => right.unary(Unary::Not),
            Some(Symbol::Infix(operator)) => match self.symbols.pop() {
                Some(Symbol::Expression(left)) => infix(operator, left, right),
                _ => right,
            },
            // Plus
            _ => right,
        }
    }

    /// Takes a token that ends an expression.
    fn close(&mut self, expression: Fragment, token: Token<'a>) -> Result<Next<'a>, ParseFailure<'a>> {
        match (self.symbols.last(), token) {
            (None, Token::EndOfCommand) => Ok(Next::Done(expression.finish())),
            (Some(Symbol::Open), Token::Close | Token::Comma) => self.close_parenthesis(expression, token),
            (Some(Symbol::Comma), Token::Close | Token::Comma) => {
                self.symbols.pop();
                let Some(Symbol::Arguments(mut arguments)) = self.symbols.pop() else {
                    return Err(ParseFailure::Syntax);
                };
                arguments.push(expression);
                self.go_on_with(arguments, token)
            }
            (Some(Symbol::When), Token::Then) => {
                self.push(Symbol::Expression(expression))?;
                self.push_before_operand(Symbol::Then)
            }
            (Some(Symbol::Then), Token::When | Token::Else | Token::End) => {
                let branches = self.branches(expression)?;
                match token {
                    Token::When => {
                        self.push(Symbol::Branches(branches))?;
                        self.push_before_operand(Symbol::When)
                    }
                    Token::Else => {
                        self.push(Symbol::Branches(branches))?;
                        self.push_before_operand(Symbol::Else)
                    }
                    _ => self.case(branches, Fragment::value(Value::Null)),
                }
            }
            (Some(Symbol::Else), Token::End) => {
                self.symbols.pop();
                match self.symbols.pop() {
                    Some(Symbol::Branches(branches)) => self.case(branches, expression),
                    _ => Err(ParseFailure::Syntax),
                }
            }
            _ => Err(ParseFailure::Syntax),
        }
    }

    /// Behind a parenthesis and one expression: a function's first argument, or an expression in parentheses.
    fn close_parenthesis(&mut self, first: Fragment, token: Token<'a>) -> Result<Next<'a>, ParseFailure<'a>> {
        let of_function = matches!(self.symbols.as_slice(), [.., Symbol::Function(_), Symbol::Open]);
        match token {
            _ if of_function => self.go_on_with(vec![first], token),
            Token::Close => {
                self.symbols.pop();
                self.push_expression(first)
            }
            _ => Err(ParseFailure::Syntax),
        }
    }

    /// Behind an argument: the next one, or the end of the call.
    fn go_on_with(
        &mut self,
        arguments: Vec<Fragment>,
        token: Token<'a>,
    ) -> Result<Next<'a>, ParseFailure<'a>> {
        if token == Token::Close {
            return self.call(arguments);
        }
        self.push(Symbol::Arguments(arguments))?;
        self.push_before_operand(Symbol::Comma)
    }

    /// A function and a parenthesis are on the stack, and the call is complete.
    fn call(&mut self, mut arguments: Vec<Fragment>) -> Result<Next<'a>, ParseFailure<'a>> {
        self.symbols.pop();
        let Some(Symbol::Function(named)) = self.symbols.pop() else { return Err(ParseFailure::Syntax) };
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
        self.push_expression(Fragment::call(arguments, operation))
    }

    /// WHEN, a condition and THEN are on the stack, and the value is complete: the branches with this one.
    fn branches(&mut self, value: Fragment) -> Result<Vec<Branch>, ParseFailure<'a>> {
        self.symbols.pop();
        let Some(Symbol::Expression(condition)) = self.symbols.pop() else {
            return Err(ParseFailure::Syntax);
        };
        self.symbols.pop();
        let mut branches = match self.symbols.pop() {
            Some(Symbol::Branches(branches)) => branches,
            Some(before) => {
                self.symbols.push(before);
                Vec::new()
            }
            None => return Err(ParseFailure::Syntax),
        };
        branches.push(Branch { condition, value });
        Ok(branches)
    }

    /// CASE is on the stack, and everything up to END has been taken.
    fn case(&mut self, branches: Vec<Branch>, otherwise: Fragment) -> Result<Next<'a>, ParseFailure<'a>> {
        self.symbols.pop();
        self.push_expression(Fragment::case(branches, otherwise))
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

impl Symbol {
    /// Of the rule that an expression behind this symbol completes.
    fn precedence(&self) -> Option<Precedence> {
        match self {
            Symbol::Infix(operator) => Some(operator.precedence()),
            Symbol::Plus | Symbol::Minus => Some(Precedence::Sign),
            Symbol::Not => Some(Precedence::Not),
            Symbol::Invert => Some(Precedence::Bits),
            _ => None,
        }
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
