//! Bind, Execute and Sync of one statement, with all that is the same each time written once: what a load generator sends
//! most, at little more than the cost of its values.

use super::frontend;

/// Bytes of a Bind message behind its parameters: no result formats, so text.
const RESULT_FORMATS: [u8; 2] = [0; 2];
/// How long a Sync is, which comes last.
const SYNC_BYTES: usize = 5;

/// How to run a statement through the unnamed portal, all rows, text in and out.
#[derive(Debug, Clone)]
pub struct Execution {
    /// Bind up to its count of parameters, behind a Parse where the statement is not prepared; Bind's length is still open.
    head: Box<[u8]>,
    /// Where Bind begins in it.
    bind_at: usize,
    /// Behind the parameters: the rest of Bind, Describe where it was asked for, Execute, Sync.
    tail: Box<[u8]>,
}

impl Execution {
    /// For the statement that was prepared as `statement`, or is parsed each time from `sql`. `describes`: the answer is to name
    /// the columns.
    pub fn new(statement: &str, sql: Option<&[u8]>, describes: bool) -> Self {
        let mut head = Vec::new();
        if let Some(sql) = sql {
            frontend::parse(&mut head, statement, sql, &[]);
        }
        let bind_at = head.len();
        frontend::BindWriter::new(&mut head, "", statement).finish();
        // Without the count of parameters and the result formats, which come last.
        head.truncate(head.len() - 2 - RESULT_FORMATS.len());
        let mut tail = RESULT_FORMATS.to_vec();
        if describes {
            frontend::describe_portal(&mut tail, "");
        }
        frontend::execute(&mut tail, "", 0);
        frontend::sync(&mut tail);
        Self { head: head.into(), bind_at, tail: tail.into() }
    }

    /// Appends one execution with `values` in text form, answered by one `ReadyForQuery`. At most 65,535 values.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>, values: &[i64]) {
        self.write_with(out, values.len(), true, |place, out| {
            out.extend_from_slice(itoa::Buffer::new().format(values[place]).as_bytes());
            true
        });
    }

    /// The same with as many parameters as `value` appends the texts of; NULL where it returns false. Unless it `syncs`, the
    /// answer comes with that of a later Sync.
    #[inline]
    pub fn write_with(
        &self,
        out: &mut Vec<u8>,
        parameters: usize,
        syncs: bool,
        mut value: impl FnMut(usize, &mut Vec<u8>) -> bool,
    ) {
        let bind_at = out.len() + self.bind_at;
        out.extend_from_slice(&self.head);
        out.extend_from_slice(&u16::try_from(parameters).unwrap_or(u16::MAX).to_be_bytes());
        for place in 0..parameters {
            frontend::parameter(out, |out| value(place, out));
        }
        // The tag is not part of the length, and of the tail only the result formats are Bind's.
        let length = frontend::length(out.len() - bind_at - 1 + RESULT_FORMATS.len());
        out[bind_at + 1..bind_at + 5].copy_from_slice(&length.to_be_bytes());
        let unsent = if syncs { 0 } else { SYNC_BYTES };
        out.extend_from_slice(&self.tail[..self.tail.len() - unsent]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_writes_what_the_single_messages_are(
            name in "[a-z0-9_]{0,20}",
            sql in prop::option::of("[a-z0-9$ ]{0,60}"),
            describes in any::<bool>(),
            syncs in any::<bool>(),
            values in prop::collection::vec(any::<i64>(), 0..20)
        ) {
            let mut single = b"before".to_vec();
            if let Some(sql) = &sql {
                frontend::parse(&mut single, &name, sql, &[]);
            }
            let mut bind = frontend::BindWriter::new(&mut single, "", &name);
            // Each third is NULL.
            let is_null = |place: usize| place % 3 == 2;
            values.iter().enumerate().for_each(|(place, value)| match is_null(place) {
                true => bind.null(),
                false => bind.integer(*value),
            });
            bind.finish();
            if describes {
                frontend::describe_portal(&mut single, "");
            }
            frontend::execute(&mut single, "", 0);
            if syncs {
                frontend::sync(&mut single);
            }
            let execution = Execution::new(&name, sql.as_deref().map(str::as_bytes), describes);
            let mut together = b"before".to_vec();
            execution.write_with(&mut together, values.len(), syncs, |place, out| {
                out.extend_from_slice(values[place].to_string().as_bytes());
                !is_null(place)
            });
            prop_assert_eq!(&together, &single);
            let not_null: Vec<i64> = values.iter().copied().take(2).collect();
            if syncs && values.len() == not_null.len() {
                together.truncate(b"before".len());
                execution.write(&mut together, &not_null);
                prop_assert_eq!(together, single);
            }
        }
    }
}
