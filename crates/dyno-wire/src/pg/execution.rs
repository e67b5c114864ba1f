//! Bind, Execute and Sync of one prepared statement, with all that is the same each time written once: what a
//! load generator sends most, at little more than the cost of its values.

use super::frontend;

/// Bytes of a Bind message behind its parameters: no result formats, so text.
const RESULT_FORMATS: [u8; 2] = [0; 2];

/// How to run a named statement through the unnamed portal, all rows, text in and out.
#[derive(Debug, Clone)]
pub struct Execution {
    /// Bind up to its count of parameters; the length in it is still open.
    head: Box<[u8]>,
    /// Behind the parameters: the rest of Bind, Execute, Sync.
    tail: Box<[u8]>,
}

impl Execution {
    /// For the statement that was prepared as `statement`.
    pub fn new(statement: &str) -> Self {
        let mut head = Vec::new();
        frontend::BindWriter::new(&mut head, "", statement).finish();
        // Without the count of parameters and the result formats, which come last.
        head.truncate(head.len() - 2 - RESULT_FORMATS.len());
        let mut tail = RESULT_FORMATS.to_vec();
        frontend::execute(&mut tail, "", 0);
        frontend::sync(&mut tail);
        Self { head: head.into(), tail: tail.into() }
    }

    /// Appends one execution with `values` in text form, answered by one `ReadyForQuery`. At most 65,535 values.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>, values: &[i64]) {
        let start = out.len();
        out.extend_from_slice(&self.head);
        out.extend_from_slice(&u16::try_from(values.len()).unwrap_or(u16::MAX).to_be_bytes());
        let mut digits = itoa::Buffer::new();
        for value in values {
            let text = digits.format(*value).as_bytes();
            // A number has at most twenty characters.
            out.extend_from_slice(&(text.len() as u32).to_be_bytes());
            out.extend_from_slice(text);
        }
        // The tag is not part of the length, and of the tail only the result formats are Bind's.
        let length = (out.len() - start - 1 + RESULT_FORMATS.len()) as u32;
        out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&self.tail);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_writes_what_the_single_messages_are(
            name in "[a-z0-9_]{0,20}", values in prop::collection::vec(any::<i64>(), 0..20)
        ) {
            let mut single = b"before".to_vec();
            let mut bind = frontend::BindWriter::new(&mut single, "", &name);
            values.iter().for_each(|value| bind.integer(*value));
            bind.finish();
            frontend::execute(&mut single, "", 0);
            frontend::sync(&mut single);
            let mut together = b"before".to_vec();
            Execution::new(&name).write(&mut together, &values);
            prop_assert_eq!(together, single);
        }
    }
}
