//! What a client asks of a driver, kept until it is done: the counterpart of the bytes that are sent to a server.

use std::ops::Range;

use crate::value::Value;

/// The place of a statement in its workload's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementId(pub u16);

/// What a session is to do.
#[derive(Debug, Clone, Copy)]
pub enum Operation<'a> {
    /// Text of one statement or several.
    Sql(&'a str),
    /// A statement that the session was opened with, and its values by the numbers of its parameters.
    Statement { id: StatementId, values: Values<'a> },
}

/// Operations in their order, in memory that is used again.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    calls: Vec<Call>,
    values: Vec<Stored>,
    /// The texts of values and statements, one after the other.
    text: Vec<u8>,
}

#[derive(Debug)]
enum Call {
    Sql(Range<usize>),
    Statement(StatementId, Range<usize>),
}

/// A [`Value`] whose text is elsewhere.
#[derive(Debug, Clone)]
enum Stored {
    Null,
    Integer(i64),
    Double(f64),
    Decimal(Range<usize>),
    Text(Range<usize>),
}

/// The values of a statement's parameters in the order of their numbers.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a> {
    stored: &'a [Stored],
    text: &'a [u8],
}

impl<'a> Values<'a> {
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Value<'a>> + use<'a> {
        let text = self.text;
        self.stored.iter().map(move |value| match value {
            Stored::Null => Value::Null,
            Stored::Integer(value) => Value::Integer(*value),
            Stored::Double(value) => Value::Double(*value),
            // Only text got in, so the alternative is never taken.
            Stored::Decimal(at) => Value::Decimal(str::from_utf8(&text[at.clone()]).unwrap_or_default()),
            Stored::Text(at) => Value::Text(&text[at.clone()]),
        })
    }
}

impl Calls {
    pub(crate) fn clear(&mut self) {
        self.calls.clear();
        self.values.clear();
        self.text.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Adds SQL, which `write` appends.
    pub(crate) fn sql(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let from = self.text.len();
        write(&mut self.text);
        self.calls.push(Call::Sql(from..self.text.len()));
    }

    /// Adds an execution of a statement.
    pub(crate) fn statement<'v>(&mut self, id: StatementId, values: impl Iterator<Item = Value<'v>>) {
        let from = self.values.len();
        for value in values {
            let stored = match value {
                Value::Null => Stored::Null,
                Value::Integer(value) => Stored::Integer(value),
                Value::Double(value) => Stored::Double(value),
                Value::Decimal(digits) => Stored::Decimal(self.keep(digits.as_bytes())),
                Value::Text(text) => Stored::Text(self.keep(text)),
            };
            self.values.push(stored);
        }
        self.calls.push(Call::Statement(id, from..self.values.len()));
    }

    /// Where a text is kept.
    fn keep(&mut self, text: &[u8]) -> Range<usize> {
        let at = self.text.len();
        self.text.extend_from_slice(text);
        at..self.text.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Operation<'_>> {
        self.calls.iter().map(|call| match call {
            // Only text got in, so the alternative is never taken.
            Call::Sql(at) => Operation::Sql(std::str::from_utf8(&self.text[at.clone()]).unwrap_or_default()),
            Call::Statement(id, at) => Operation::Statement {
                id: *id,
                values: Values { stored: &self.values[at.clone()], text: &self.text },
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_come_back_in_their_order_with_their_values() {
        let mut calls = Calls::default();
        for _ in 0..2 {
            calls.clear();
            calls.sql(|text| text.extend_from_slice(b"BEGIN"));
            let values = [
                Value::Integer(7),
                Value::Null,
                Value::Text(b"it's"),
                Value::Double(0.5),
                Value::Decimal("0.1234567890123456"),
            ];
            calls.statement(StatementId(3), values.into_iter());
            calls.statement(StatementId(4), [Value::Text(b"b")].into_iter());
            let shown: Vec<String> = calls
                .iter()
                .map(|operation| match operation {
                    Operation::Sql(sql) => sql.to_owned(),
                    Operation::Statement { id, values } => {
                        format!("{} {:?}", id.0, values.iter().collect::<Vec<_>>())
                    }
                })
                .collect();
            let first = format!("3 {values:?}");
            assert_eq!(shown, ["BEGIN".to_owned(), first, format!("4 {:?}", [Value::Text(b"b")])]);
        }
    }
}
