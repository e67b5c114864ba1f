//! The functions of the language; operators are functions too.

use super::OTHER_ARGUMENTS;
use super::text::TextFunction;
use crate::script::Language;

/// How many arguments a function takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arity {
    Exactly(usize),
    AtLeastOne,
    AtLeastTwo,
    /// So many, and a seed that is otherwise the variable `default_seed`.
    Seeded(usize),
}

/// What a function does, by how many values it is applied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Pi,
    Unary(Unary),
    Binary(Binary),
    Ternary(Ternary),
    /// `greatest`, or else `least`, of one and more.
    Extremum {
        greatest: bool,
    },
    Text(TextFunction),
    Lazy(Lazy),
    /// Of a counter that all clients share.
    Next,
}

/// What evaluates only some of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lazy {
    /// The one whose number stands before them.
    Choose,
    /// One of them, all as likely.
    Pick,
    /// The first that is not null.
    Coalesce,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unary {
    Not,
    Abs,
    Debug,
    SquareRoot,
    NaturalLogarithm,
    Exponential,
    Integer,
    Double,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binary {
    /// Of two integers, or of two doubles if one of them is one.
    Number(Number),
    /// Of two integers.
    Integer(Integer),
    Power,
    Is,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    Add,
    Subtract,
    Multiply,
    Divide,
    Equal,
    NotEqual,
    LessOrEqual,
    Less,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Integer {
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Random,
    HashFnv1a,
    HashMurmur2,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ternary {
    RandomGaussian,
    RandomExponential,
    RandomZipfian,
    Permute,
}

/// A function that scripts can call by name.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) name: &'static str,
    pub(super) arity: Arity,
    pub(super) function: Function,
}

const fn named(name: &'static str, arity: Arity, function: Function) -> Named {
    Named { name, arity, function }
}

const NAMED: &[Named] = &[
    named("abs", Arity::Exactly(1), Function::Unary(Unary::Abs)),
    named("least", Arity::AtLeastOne, Function::Extremum { greatest: false }),
    named("greatest", Arity::AtLeastOne, Function::Extremum { greatest: true }),
    named("debug", Arity::Exactly(1), Function::Unary(Unary::Debug)),
    named("pi", Arity::Exactly(0), Function::Pi),
    named("sqrt", Arity::Exactly(1), Function::Unary(Unary::SquareRoot)),
    named("ln", Arity::Exactly(1), Function::Unary(Unary::NaturalLogarithm)),
    named("exp", Arity::Exactly(1), Function::Unary(Unary::Exponential)),
    named("int", Arity::Exactly(1), Function::Unary(Unary::Integer)),
    named("double", Arity::Exactly(1), Function::Unary(Unary::Double)),
    named("mod", Arity::Exactly(2), Function::Binary(Binary::Integer(Integer::Modulo))),
    named("pow", Arity::Exactly(2), Function::Binary(Binary::Power)),
    named("power", Arity::Exactly(2), Function::Binary(Binary::Power)),
    named("random", Arity::Exactly(2), Function::Binary(Binary::Integer(Integer::Random))),
    named("random_gaussian", Arity::Exactly(3), Function::Ternary(Ternary::RandomGaussian)),
    named("random_exponential", Arity::Exactly(3), Function::Ternary(Ternary::RandomExponential)),
    named("random_zipfian", Arity::Exactly(3), Function::Ternary(Ternary::RandomZipfian)),
    named("hash", Arity::Seeded(1), Function::Binary(Binary::Integer(Integer::HashMurmur2))),
    named("hash_murmur2", Arity::Seeded(1), Function::Binary(Binary::Integer(Integer::HashMurmur2))),
    named("hash_fnv1a", Arity::Seeded(1), Function::Binary(Binary::Integer(Integer::HashFnv1a))),
    named("permute", Arity::Seeded(2), Function::Ternary(Ternary::Permute)),
];

/// Of workload files alone.
const OF_WORKLOADS: &[Named] = &[
    named("text", Arity::Exactly(2), Function::Text(TextFunction::Random)),
    named("digits", Arity::Exactly(1), Function::Text(TextFunction::Digits)),
    named("words", Arity::Exactly(1), Function::Text(TextFunction::Words)),
    named("substr", Arity::Exactly(3), Function::Text(TextFunction::Substring)),
    named("lpad", Arity::Exactly(3), Function::Text(TextFunction::PadLeft)),
    named("nullif", Arity::Exactly(2), Function::Text(TextFunction::NullIf)),
    named("decimal", Arity::Exactly(2), Function::Text(TextFunction::Decimal)),
    named("date", Arity::Exactly(2), Function::Text(TextFunction::Date)),
    named("timestamp", Arity::Exactly(2), Function::Text(TextFunction::Timestamp)),
    named("next", Arity::Exactly(1), Function::Next),
    named("choose", Arity::AtLeastTwo, Function::Lazy(Lazy::Choose)),
    named("pick", Arity::AtLeastOne, Function::Lazy(Lazy::Pick)),
    named("coalesce", Arity::AtLeastOne, Function::Lazy(Lazy::Coalesce)),
];

impl Named {
    /// The function of this name, in whatever case.
    pub(super) fn find(name: &[u8], language: Language) -> Option<&'static Named> {
        Self::all(language).find(|named| named.name.as_bytes().eq_ignore_ascii_case(name))
    }

    pub(super) fn all(language: Language) -> impl Iterator<Item = &'static Named> {
        let more = if language == Language::Workload { OF_WORKLOADS } else { &[] };
        NAMED.iter().chain(more)
    }

    /// How many arguments it takes, in words.
    pub(super) fn takes(&self) -> String {
        match self.arity {
            Arity::Exactly(1) => "1 argument".to_owned(),
            Arity::Exactly(count) => format!("{count} arguments"),
            Arity::AtLeastOne => "1 argument and more".to_owned(),
            Arity::AtLeastTwo => "2 arguments and more".to_owned(),
            Arity::Seeded(count) => format!("{count} or {} arguments", count + 1),
        }
    }

    /// What is wrong with so many arguments.
    pub(super) fn refuses(&self, count: usize) -> Option<&'static str> {
        match self.arity {
            Arity::Exactly(exactly) if count == exactly => None,
            Arity::Seeded(least) if count == least || count == least + 1 => None,
            Arity::AtLeastOne if count > 0 => None,
            Arity::AtLeastTwo if count > 1 => None,
            Arity::AtLeastOne => Some("at least one argument expected"),
            Arity::AtLeastTwo => Some("at least two arguments expected"),
            _ => Some(OTHER_ARGUMENTS),
        }
    }

    /// Whether the seed is to be added to so many arguments.
    pub(super) fn lacks_seed(&self, count: usize) -> bool {
        self.arity == Arity::Seeded(count)
    }
}
