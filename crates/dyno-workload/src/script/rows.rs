//! Values of generated rows: each depends on the seed, the table, the column and the row alone, so that rows can be made in any
//! order, by any number of threads, and again.

use std::sync::Arc;

use dyno_results::fnv1a;

use super::random::Prng;
use super::{Context, Decimal, EvaluateError, Names, Program, Slot, TextRange, Value, Variables};

/// Odd, and not the step of the generator's own seeds, so that no row begins where another goes on.
const ROW_STEP: u64 = 0xD134_2543_DE82_EF95;

/// What the draws of a column begin with.
#[must_use]
pub fn column_seed(seed: u64, table: &str, column: &str) -> u64 {
    let name = [table, ".", column].into_iter().flat_map(str::bytes);
    Prng::seed(fnv1a::mixed(seed ^ fnv1a::START, name)).next_u64()
}

/// What the expressions of generated rows are evaluated with. Each thread has its own.
#[derive(Debug, Clone)]
pub struct RowContext {
    names: Arc<Names>,
    variables: Variables,
}

impl RowContext {
    /// All names of the expressions are known. `seed` is that of `hash` and `permute`.
    #[must_use]
    pub fn new(names: Arc<Names>, seed: u64) -> Self {
        let mut variables = Variables::new(&names);
        if let Some(slot) = names.find("default_seed") {
            variables.set(slot, Value::Integer(seed.cast_signed()));
        }
        Self { names, variables }
    }

    /// Sets a variable: an option, the number of the row, a value of the row that it belongs to. A text is the last one evaluated.
    #[inline]
    pub fn set(&mut self, slot: Slot, value: Value) {
        self.variables.set(slot, value);
    }

    pub fn set_text(&mut self, slot: Slot, text: &[u8]) {
        self.variables.set_text(slot, text);
    }

    /// A value of a row, of a column with this [`column_seed`].
    ///
    /// # Errors
    /// What cannot be computed.
    #[inline]
    pub fn evaluate(
        &mut self,
        program: &Program,
        column_seed: u64,
        row: u64,
    ) -> Result<Value, EvaluateError> {
        let mut random = Prng::seed(column_seed.wrapping_add(row.wrapping_mul(ROW_STEP)));
        program.evaluate(&mut Context {
            variables: &mut self.variables,
            names: &self.names,
            random: &mut random,
            debug: &mut |_| (),
        })
    }

    /// The text of the last value, where it is one, or its digits, where it is a decimal.
    #[must_use]
    pub fn text(&self, range: TextRange) -> &[u8] {
        self.variables.text(range)
    }

    /// The last value, where it is a decimal.
    pub(crate) fn decimal(&self, range: TextRange) -> Option<Decimal> {
        Decimal::read(self.variables.text(range))
    }

    /// The last value, for messages.
    #[must_use]
    pub fn shown(&self, value: Value) -> String {
        let mut text = Vec::new();
        match value {
            Value::Text(range) | Value::Decimal(range) => text.extend_from_slice(self.text(range)),
            value => value.write_text(&mut text),
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Language, compile};

    /// The value as text, or what is wrong.
    fn value_of(text: &str, row: u64) -> String {
        let mut names = Names::new();
        let program = match compile(text, &mut names) {
            Ok(program) => program,
            Err(error) => return format!("{error} at {}", error.offset),
        };
        let (number, name) = (names.slot("row"), names.slot("parent.name"));
        let mut context = RowContext::new(Arc::new(names), 7);
        context.set(number, Value::Integer(row as i64));
        context.set_text(name, "Zoë's".as_bytes());
        match context.evaluate(&program, column_seed(7, "t", "c"), row) {
            Ok(Value::Text(range)) => format!("'{}'", String::from_utf8_lossy(context.text(range))),
            Ok(Value::Decimal(range)) => String::from_utf8_lossy(context.text(range)).into_owned(),
            Ok(value) => {
                let mut out = Vec::new();
                value.write_text(&mut out);
                String::from_utf8(out).unwrap()
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn texts_are_made_and_compared() {
        for (text, expected) in [
            (":row", "5"),
            ("'it''s' || ' ' || :row || '.'", "'it's 5.'"),
            (":parent.name || '!'", "'Zoë's!'"),
            ("substr(:parent.name, 2, 2)", "'oë'"),
            ("substr('abc', 0, 2) || substr('abc', 3, 9) || substr('abc', 7, 1)", "'ac'"),
            ("lpad(:row, 3, '0') || lpad('äöü', 2, ' ') || lpad('a', 6, 'xyz')", "'005äöxyzxya'"),
            ("'a' < 'b' and 'b' >= 'b' and 'a' <> 'A' and not 'a' = 'b'", "true"),
            ("1 < 2.5 and 3 = 3", "true"),
            ("nullif('', '') is null and nullif('a', '') = 'a' and nullif(5, 6) = 5", "true"),
            ("coalesce(null, nullif(1, 1), 'c', 1 / 0)", "'c'"),
            ("coalesce(null, null)", "NULL"),
            ("choose(:row - 3, 1 / 0, 'two', 1 / 0)", "'two'"),
            ("choose(2, 1, choose(1, 'in', 'out'), 3) || '.'", "'in.'"),
            ("case when :row = 5 then 'five' else 'other' end", "'five'"),
            ("'a' || null", "NULL"),
            ("decimal(-5, 2)", "-0.05"),
            ("decimal(123456, 2) || ' ' || decimal(7, 0)", "'1234.56 7'"),
            ("date('2024-02-28', 2)", "'2024-03-01'"),
            ("timestamp('2023-12-31 23:59:58', 3)", "'2024-01-01 00:00:01'"),
            ("words(0)", "''"),
        ] {
            assert_eq!(value_of(text, 5), expected, "{text}");
        }
    }

    #[test]
    fn decimals_are_exact() {
        for (text, expected) in [
            ("decimal(1, 1) + decimal(2, 1)", "0.3"),
            ("decimal(30, 2) - :row", "-4.70"),
            ("-decimal(105, 2)", "-1.05"),
            ("3 * decimal(1234567890123456789, 2)", "37037036703703703.67"),
            ("decimal(123456789012345678, 2) * decimal(15, 2)", "185185183518518.5170"),
            ("decimal(10, 1) = 1 and decimal(10, 1) = decimal(100, 2) and decimal(1, 1) <> 0.2", "true"),
            ("decimal(9007199254740993, 0) = 9007199254740992", "false"),
            ("decimal(9007199254740993, 1) > decimal(9007199254740992, 1)", "true"),
            ("decimal(5, 1) + 0.25", "0.75"),
            ("decimal(70, 1) / 2", "3.5"),
            (
                "int(decimal(25, 1)) || ' ' || double(decimal(25, 1)) || ' ' || decimal(250, 2)",
                "'2 2.5 2.50'",
            ),
            (
                "sqrt(decimal(625, 2)) || ' ' || pow(decimal(15, 1), 2) || ' ' || mod(decimal(50, 1), 3)",
                "'2.5 2.25 2'",
            ),
            ("abs(decimal(-105, 2)) || ' ' || abs(decimal(105, 2))", "'1.05 1.05'"),
            (
                "greatest(decimal(105, 2), 1) || ' ' || least(decimal(105, 2), 1) || ' ' || least(decimal(5, 1), 0.1)",
                "'1.05 1 0.1'",
            ),
            ("case when decimal(0, 2) then 'yes' when decimal(1, 2) then 'no' end", "'no'"),
            ("nullif(decimal(0, 2), 0) is null and coalesce(null, decimal(1, 0)) = 1", "true"),
            ("decimal(5, 1) + null", "NULL"),
            ("lpad(decimal(5, 2), 6, '0')", "'000.05'"),
            ("decimal(5, 39)", "a decimal of more than 38 digits"),
            ("decimal(5, -1)", "a decimal of more than 38 digits"),
            (
                "decimal(9223372036854775807, 0) * decimal(9223372036854775807, 0) * 9",
                "a decimal of more than 38 digits",
            ),
            ("decimal(5, 1) + true", "cannot coerce boolean to decimal"),
            ("decimal(5, 1) and true", "cannot coerce decimal to boolean"),
            (
                "int(decimal(9223372036854775807, 0) + 1)",
                "value \"9223372036854775808\" is out of range for type bigint",
            ),
            ("'1.0' = decimal(1, 0)", "cannot coerce text to decimal"),
        ] {
            assert_eq!(value_of(text, 5), expected, "{text}");
        }
        assert_eq!(size_of::<Value>(), 16);
    }

    #[test]
    fn a_text_is_read_as_no_other_type() {
        for (text, expected) in [
            ("'5' + 1", "cannot coerce text to int"),
            ("'5' = 5", "cannot coerce text to int"),
            ("'true' and true", "cannot coerce text to boolean"),
            ("case when 'a' then 1 end", "cannot coerce text to boolean"),
            ("substr(5, 1, 1)", "cannot coerce int to text"),
            ("choose(4, 1, 2, 3)", "choose is given 4, and has 1 to 3"),
            ("text(5, 4)", "empty range given to random"),
            ("digits(-1)", "a text of -1 where 0 to 1048576 can be"),
            (
                "date('yesterday', 1)",
                "\"yesterday\" is no date such as 2024-02-29, and no time such as 2024-02-29 12:00:00",
            ),
            ("'a", "a text without its closing quote (a) at 2"),
            ("pick()", "syntax error at 6"),
            ("choose(1)", "at least two arguments expected (choose) at 9"),
            ("1\n+ 1", "an expression has one line at 2"),
        ] {
            assert_eq!(value_of(text, 5), expected, "{text}");
        }
    }

    #[test]
    fn a_value_depends_on_seed_table_column_and_row_alone() {
        let mut names = Names::new();
        let text = "text(8, 12) || '-' || digits(4) || ' ' || pick('a', 'b', 'c') || words(2)";
        let program = compile(text, &mut names).unwrap();
        let names = Arc::new(names);
        let values = |rows: &mut dyn Iterator<Item = u64>, seed: u64| -> Vec<(u64, Vec<u8>)> {
            let mut context = RowContext::new(Arc::clone(&names), 1);
            rows.map(|row| match context.evaluate(&program, seed, row) {
                Ok(Value::Text(range)) => (row, context.text(range).to_vec()),
                other => panic!("{other:?}"),
            })
            .collect()
        };
        let seed = column_seed(1, "t", "c");
        let forwards = values(&mut (0..300), seed);
        let mut backwards = values(&mut (0..300).rev(), seed);
        backwards.reverse();
        assert_eq!(forwards, backwards);
        let mut texts: Vec<_> = forwards.iter().map(|(_, text)| text).collect();
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), 300);
        for other in [column_seed(2, "t", "c"), column_seed(1, "u", "c"), column_seed(1, "t", "d")] {
            assert_ne!(values(&mut (0..3), other), forwards[..3]);
        }
        for (_, text) in &forwards {
            let text = str::from_utf8(text).unwrap();
            let (drawn, rest) = text.split_once('-').unwrap();
            assert!((8..=12).contains(&drawn.len()) && drawn.bytes().all(|it| it.is_ascii_alphanumeric()));
            assert!(rest[..4].bytes().all(|it| it.is_ascii_digit()) && "abc".contains(&rest[5..6]), "{text}");
        }
    }

    #[test]
    fn choices_are_as_likely() {
        let mut names = Names::new();
        let program = compile("pick(1, 2, 3, 4)", &mut names).unwrap();
        let mut context = RowContext::new(Arc::new(names), 1);
        let mut counts = [0; 4];
        for row in 0..40_000 {
            match context.evaluate(&program, column_seed(1, "t", "c"), row) {
                Ok(Value::Integer(value)) => counts[value as usize - 1] += 1,
                other => panic!("{other:?}"),
            }
        }
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
    }

    #[test]
    fn pgbench_has_none_of_it() {
        for text in ["'a'", "1 || 2", "text(1, 2)", "pick(1, 2)", "coalesce(1)", ":a.b"] {
            let script = format!("\\set x {text}\n");
            let parsed = |language| {
                let mode = crate::script::Protocol::Simple;
                crate::script::parse::parse_in(language, "-", script.as_bytes(), mode, &mut Names::new())
            };
            assert!(parsed(Language::Pgbench).is_err() && parsed(Language::Workload).is_ok(), "{text}");
        }
    }
}
