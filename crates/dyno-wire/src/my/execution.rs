//! The execution of one prepared statement whose parameters are all integers, with all that is the same each time
//! written once: what a load generator sends most, at little more than the cost of its values.

use super::frontend::ExecuteWriter;
use super::packet::Header;

/// How to run a prepared statement, whatever number a session knows it by.
#[derive(Debug, Clone)]
pub struct Execution {
    /// The whole command but for the values: its length is always the same.
    head: Box<[u8]>,
    parameters: usize,
}

impl Execution {
    /// For a statement with this many parameters, as [`Prepared`](super::backend::Prepared) says.
    pub fn new(parameters: u16) -> Self {
        let mut head = Vec::new();
        let mut writer = ExecuteWriter::new(&mut head, 0, parameters);
        (0..parameters).for_each(|_| writer.integer(0));
        writer.finish();
        let parameters = usize::from(parameters);
        head.truncate(head.len() - parameters * VALUE_BYTES);
        Self { head: head.into(), parameters }
    }

    /// Appends one execution of the statement that the session knows by this number. Values that are missing are 0; those beyond the statement's count are left out.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>, statement: u32, values: &[i64]) {
        let number_at = out.len() + NUMBER_AT;
        let end = out.len() + self.head.len() + self.parameters * VALUE_BYTES;
        out.extend_from_slice(&self.head);
        out[number_at..number_at + size_of::<u32>()].copy_from_slice(&statement.to_le_bytes());
        for value in values.iter().take(self.parameters) {
            out.extend_from_slice(&value.to_le_bytes());
        }
        out.resize(end, 0);
    }
}

const VALUE_BYTES: usize = size_of::<i64>();
/// Behind the packet's header and the command.
const NUMBER_AT: usize = Header::BYTES + 1;
