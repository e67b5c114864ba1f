//! What the functions do with their arguments. Null makes null, but for `IS` and `debug`.

use super::Context;
use super::function::{Binary, Integer, Number, Ternary, Unary};
use crate::script::decimal::{DIGITS_MAX, Decimal};
use crate::script::random::{Prng, hash_fnv1a, hash_murmur2, permute};
use crate::script::value::TextRange;
use crate::script::{EvaluateError, Value, Variables};

/// A value or an error. The error is boxed because it is rare: so both fit into two registers.
pub(super) type Evaluated<T = Value> = Result<T, Box<EvaluateError>>;

pub(super) fn unary(function: Unary, value: Value, variables: &Variables) -> Evaluated {
    if value == Value::Null {
        return Ok(Value::Null);
    }
    Ok(match function {
        Unary::Not => Value::Boolean(logical(value)? == Some(false)),
        Unary::Abs => absolute(value, variables)?,
        Unary::Debug => value,
        Unary::SquareRoot => Value::Double(double(value, variables)?.sqrt()),
        Unary::NaturalLogarithm => Value::Double(double(value, variables)?.ln()),
        Unary::Exponential => Value::Double(double(value, variables)?.exp()),
        Unary::Integer => Value::Integer(integer(value, variables)?),
        Unary::Double => Value::Double(double(value, variables)?),
    })
}

/// The least integer has no counterpart and stays. A boolean has no absolute value; pgbench prints rubbish for it.
fn absolute(value: Value, variables: &Variables) -> Evaluated {
    match value {
        Value::Integer(value) => Ok(Value::Integer(value.wrapping_abs())),
        // Not `abs`, which would make a 0 of -0.
        Value::Double(value) => Ok(Value::Double(if value < 0.0 { -value } else { value })),
        // Its digits without the sign before them.
        Value::Decimal(range) => {
            let sign = u32::from(variables.text(range).starts_with(b"-"));
            Ok(Value::Decimal(TextRange { from: range.from + sign, ..range }))
        }
        _ => Err(Box::new(EvaluateError::Coerce { from: value.kind(), to: "number" })),
    }
}

/// By reference, because to copy values that have just been written is slow.
#[inline]
pub(super) fn binary(function: Binary, left: &Value, right: &Value, context: &mut Context<'_>) -> Evaluated {
    if let (Value::Integer(left), Value::Integer(right)) = (left, right) {
        return of_integers(function, *left, *right, context.random);
    }
    of_any(function, *left, *right, context)
}

/// With a right side that is known.
#[inline]
pub(super) fn with_integer(
    function: Number,
    left: &Value,
    right: i64,
    context: &mut Context<'_>,
) -> Evaluated {
    match left {
        Value::Integer(left) => number_of_integers(function, *left, right),
        left => of_any(Binary::Number(function), *left, Value::Integer(right), context),
    }
}

fn of_integers(function: Binary, left: i64, right: i64, random: &mut Prng) -> Evaluated {
    match function {
        Binary::Number(function) => number_of_integers(function, left, right),
        Binary::Integer(function) => integer_of_integers(function, left, right, random),
        Binary::Power => Ok(Value::Double((left as f64).powf(right as f64))),
        Binary::Is => Ok(Value::Boolean(left == right)),
    }
}

fn of_any(function: Binary, left: Value, right: Value, context: &mut Context<'_>) -> Evaluated {
    if function == Binary::Is {
        return Ok(Value::Boolean(left == right));
    }
    if left == Value::Null || right == Value::Null {
        return Ok(Value::Null);
    }
    let variables = &mut *context.variables;
    let is_double = |value| matches!(value, Value::Double(_));
    let is_decimal = |value| matches!(value, Value::Decimal(_));
    match function {
        Binary::Number(function) if is_double(left) || is_double(right) => {
            Ok(number_of_doubles(function, double(left, variables)?, double(right, variables)?))
        }
        Binary::Number(function) if is_decimal(left) || is_decimal(right) => {
            number_of_decimals(function, left, right, variables)
        }
        Binary::Power => Ok(Value::Double(double(left, variables)?.powf(double(right, variables)?))),
        _ => of_integers(function, integer(left, variables)?, integer(right, variables)?, context.random),
    }
}

fn number_of_decimals(function: Number, left: Value, right: Value, variables: &mut Variables) -> Evaluated {
    if function == Number::Divide {
        return Ok(number_of_doubles(function, double(left, variables)?, double(right, variables)?));
    }
    let (left, right) = (decimal(left, variables)?, decimal(right, variables)?);
    let order = left.order(right);
    let result = match function {
        Number::Add => left.add(right),
        Number::Subtract => left.subtract(right),
        Number::Multiply | Number::Divide => left.multiply(right),
        Number::Equal => return Ok(Value::Boolean(order.is_eq())),
        Number::NotEqual => return Ok(Value::Boolean(order.is_ne())),
        Number::LessOrEqual => return Ok(Value::Boolean(order.is_le())),
        Number::Less => return Ok(Value::Boolean(order.is_lt())),
    };
    Ok(variables.keep_decimal(result.ok_or_else(too_long)?))
}

pub(super) fn too_long() -> Box<EvaluateError> {
    Box::new(EvaluateError::Digits(DIGITS_MAX))
}

fn number_of_doubles(function: Number, left: f64, right: f64) -> Value {
    match function {
        Number::Add => Value::Double(left + right),
        Number::Subtract => Value::Double(left - right),
        Number::Multiply => Value::Double(left * right),
        Number::Divide => Value::Double(left / right),
        Number::Equal => Value::Boolean(left == right),
        Number::NotEqual => Value::Boolean(left != right),
        Number::LessOrEqual => Value::Boolean(left <= right),
        Number::Less => Value::Boolean(left < right),
    }
}

#[inline]
pub(super) fn number_of_integers(function: Number, left: i64, right: i64) -> Evaluated {
    let (result, name) = match function {
        Number::Add => (left.checked_add(right), "add"),
        Number::Subtract => (left.checked_sub(right), "sub"),
        Number::Multiply => (left.checked_mul(right), "mul"),
        Number::Divide if right == 0 => return Err(Box::new(EvaluateError::DivisionByZero)),
        Number::Divide => (left.checked_div(right), "div"),
        Number::Equal => return Ok(Value::Boolean(left == right)),
        Number::NotEqual => return Ok(Value::Boolean(left != right)),
        Number::LessOrEqual => return Ok(Value::Boolean(left <= right)),
        Number::Less => return Ok(Value::Boolean(left < right)),
    };
    result.map(Value::Integer).ok_or_else(|| Box::new(EvaluateError::Overflow(name)))
}

#[inline]
fn integer_of_integers(function: Integer, left: i64, right: i64, random: &mut Prng) -> Evaluated {
    Ok(Value::Integer(match function {
        Integer::Modulo if right == 0 => return Err(Box::new(EvaluateError::DivisionByZero)),
        // Only of the least integer and -1 is there none, and then it would be 0.
        Integer::Modulo => left.wrapping_rem(right),
        Integer::BitAnd => left & right,
        Integer::BitOr => left | right,
        Integer::BitXor => left ^ right,
        // By the lowest six bits, as the processor does it.
        Integer::ShiftLeft => left.wrapping_shl(right as u32),
        Integer::ShiftRight => left.wrapping_shr(right as u32),
        Integer::Random => {
            check_range(left, right)?;
            random.uniform(left, right)
        }
        Integer::HashFnv1a => hash_fnv1a(left, right),
        Integer::HashMurmur2 => hash_murmur2(left, right),
    }))
}

pub(super) fn ternary(function: Ternary, arguments: [Value; 3], context: &mut Context<'_>) -> Evaluated {
    if arguments.contains(&Value::Null) {
        return Ok(Value::Null);
    }
    let [first, second, third] = arguments;
    let variables = &*context.variables;
    let (first, second) = (integer(first, variables)?, integer(second, variables)?);
    if function == Ternary::Permute {
        let seed = integer(third, variables)?;
        if second <= 0 {
            return Err(Box::new(EvaluateError::PermuteSize));
        }
        return Ok(Value::Integer(permute(first, second, seed)));
    }
    check_range(first, second)?;
    distributed(function, first, second, double(third, variables)?, context.random)
}

fn distributed(function: Ternary, low: i64, high: i64, parameter: f64, random: &mut Prng) -> Evaluated {
    let value = match function {
        Ternary::RandomGaussian if parameter < 2.0 => {
            return Err(Box::new(EvaluateError::GaussianParameter(parameter)));
        }
        Ternary::RandomGaussian => random.gaussian(low, high, parameter),
        // With NaN, which pgbench lets through, the numbers would never be found.
        Ternary::RandomZipfian if !(1.001..=1000.0).contains(&parameter) => {
            return Err(Box::new(EvaluateError::ZipfianParameter(parameter)));
        }
        Ternary::RandomZipfian => random.zipfian(low, high, parameter),
        _ if parameter <= 0.0 => return Err(Box::new(EvaluateError::ExponentialParameter(parameter))),
        _ => random.exponential(low, high, parameter),
    };
    Ok(Value::Integer(value))
}

/// `least` and `greatest`: of doubles if there is one among them, or else of decimals if there is one of these.
pub(super) fn extremum(greatest: bool, arguments: &[Value], variables: &mut Variables) -> Evaluated {
    if arguments.contains(&Value::Null) {
        return Ok(Value::Null);
    }
    if arguments.iter().any(|value| matches!(value, Value::Double(_))) {
        // Not `min` and `max`: which of NaN and a number remains depends on their order.
        let better = |best: f64, next: f64| match greatest {
            true if best > next => best,
            false if best < next => best,
            _ => next,
        };
        let found = reduce(arguments, |value| double(value, variables), better)?;
        Ok(found.map_or(Value::Null, Value::Double))
    } else if arguments.iter().any(|value| matches!(value, Value::Decimal(_))) {
        let better =
            |best: Decimal, next: Decimal| if next.order(best).is_gt() == greatest { next } else { best };
        let found = reduce(arguments, |value| decimal(value, variables), better)?;
        Ok(found.map_or(Value::Null, |found| variables.keep_decimal(found)))
    } else {
        let better = if greatest { i64::max } else { i64::min };
        let found = reduce(arguments, |value| integer(value, variables), better)?;
        Ok(found.map_or(Value::Null, Value::Integer))
    }
}

fn reduce<T>(
    arguments: &[Value],
    coerce: impl Fn(Value) -> Evaluated<T>,
    better: impl Fn(T, T) -> T,
) -> Evaluated<Option<T>> {
    arguments.iter().try_fold(None, |best, value| {
        let value = coerce(*value)?;
        Ok(Some(match best {
            Some(best) => better(best, value),
            None => value,
        }))
    })
}

/// A side of AND and OR: a boolean, or `None` for null.
pub(super) fn logical(value: Value) -> Evaluated<Option<bool>> {
    match value {
        Value::Null => Ok(None),
        Value::Boolean(value) => Ok(Some(value)),
        _ => Err(Box::new(EvaluateError::Coerce { from: value.kind(), to: "boolean" })),
    }
}

/// The span of a random range must fit into 63 bits.
#[inline]
pub(super) fn check_range(low: i64, high: i64) -> Evaluated<()> {
    if low > high {
        return Err(Box::new(EvaluateError::EmptyRange));
    }
    let count = high.checked_sub(low).and_then(|span| span.checked_add(1));
    count.map(|_| ()).ok_or_else(|| Box::new(EvaluateError::LargeRange))
}

fn double(value: Value, variables: &Variables) -> Evaluated<f64> {
    match value {
        Value::Double(value) => Ok(value),
        Value::Integer(value) => Ok(value as f64),
        Value::Decimal(range) => {
            let digits = str::from_utf8(variables.text(range)).ok();
            digits.and_then(|digits| digits.parse().ok()).ok_or_else(too_long)
        }
        _ => Err(Box::new(EvaluateError::Coerce { from: value.kind(), to: "double" })),
    }
}

pub(super) fn decimal(value: Value, variables: &Variables) -> Evaluated<Decimal> {
    match value {
        Value::Integer(value) => Decimal::new(value.into(), 0).ok_or_else(too_long),
        Value::Decimal(range) => Decimal::read(variables.text(range)).ok_or_else(too_long),
        _ => Err(Box::new(EvaluateError::Coerce { from: value.kind(), to: "decimal" })),
    }
}

/// What is none is rounded, and halves to the even integer.
pub(super) fn integer(value: Value, variables: &Variables) -> Evaluated<i64> {
    const END: f64 = 9_223_372_036_854_775_808.0;
    match value {
        Value::Integer(value) => Ok(value),
        Value::Double(value) => {
            let rounded = value.round_ties_even();
            let fits = (-END..END).contains(&rounded);
            if fits { Ok(rounded as i64) } else { Err(Box::new(EvaluateError::DoubleToInteger(rounded))) }
        }
        Value::Decimal(range) => {
            let shown = || String::from_utf8_lossy(variables.text(range)).into();
            let rounded = decimal(value, variables)?.integer();
            rounded.ok_or_else(|| Box::new(EvaluateError::OutOfRange(shown())))
        }
        _ => Err(Box::new(EvaluateError::Coerce { from: value.kind(), to: "int" })),
    }
}
