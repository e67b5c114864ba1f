//! The rows of fresh tables as COPY text, into a buffer of the caller's. One core makes some 50 million a second,
//! so that loading waits for the server alone.

use super::schema::{ACCOUNTS_PER_BRANCH, TELLERS_PER_BRANCH, Table};

/// The rows of one table that are still to be written.
#[derive(Debug)]
pub(crate) struct TpcbRows {
    table: Table,
    next: u64,
    last: u64,
}

impl TpcbRows {
    pub(crate) fn of(table: Table, scale: u32) -> Self {
        Self { table, next: 1, last: table.rows(scale) }
    }

    /// Replaces what is in `buffer` by further rows, until there are no more or the next might not fit into its
    /// capacity. Returns how many; 0 when all are written.
    pub(super) fn fill(&mut self, buffer: &mut Vec<u8>) -> u64 {
        /// Two numbers of 20 digits and the constant columns.
        const ROW_BYTES_MAX: usize = 64;
        buffer.clear();
        let first = self.next;
        let mut digits = itoa::Buffer::new();
        while self.next <= self.last && buffer.capacity() - buffer.len() >= ROW_BYTES_MAX {
            buffer.extend_from_slice(digits.format(self.next).as_bytes());
            match self.table {
                // pgbench leaves the filler of branches and tellers NULL …
                Table::Branches => buffer.extend_from_slice(b"\t0\t\\N\n"),
                Table::Tellers => {
                    buffer.push(b'\t');
                    buffer.extend_from_slice(digits.format(branch(self.next, TELLERS_PER_BRANCH)).as_bytes());
                    buffer.extend_from_slice(b"\t0\t\\N\n");
                }
                // … and that of accounts blank, which the server pads to its length.
                Table::Accounts => {
                    buffer.push(b'\t');
                    buffer
                        .extend_from_slice(digits.format(branch(self.next, ACCOUNTS_PER_BRANCH)).as_bytes());
                    buffer.extend_from_slice(b"\t0\t\n");
                }
                Table::History => {}
            }
            self.next += 1;
        }
        self.next - first
    }
}

/// The branch that row `number` (from 1) belongs to.
fn branch(number: u64, per_branch: u64) -> u64 {
    (number - 1) / per_branch + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(table: Table, scale: u32, capacity: usize) -> (u64, String) {
        let mut rows = TpcbRows::of(table, scale);
        let (mut buffer, mut text, mut count) = (Vec::with_capacity(capacity), Vec::new(), 0);
        loop {
            match rows.fill(&mut buffer) {
                0 => return (count, String::from_utf8(text).unwrap()),
                added => count += added,
            }
            assert!(buffer.len() <= capacity, "the buffer must not grow");
            text.extend_from_slice(&buffer);
        }
    }

    #[test]
    fn rows_are_those_of_pgbench() {
        assert_eq!(all(Table::Branches, 2, 100), (2, "1\t0\t\\N\n2\t0\t\\N\n".to_owned()));
        let (count, tellers) = all(Table::Tellers, 2, 100);
        assert_eq!(count, 20);
        assert!(
            tellers.starts_with("1\t1\t0\t\\N\n") && tellers.contains("\n10\t1\t0\t\\N\n11\t2\t0\t\\N\n")
        );
        let (count, accounts) = all(Table::Accounts, 2, 4096);
        assert_eq!(count, 200_000);
        assert!(accounts.contains("\n100000\t1\t0\t\n100001\t2\t0\t\n"));
        assert!(accounts.ends_with("\n200000\t2\t0\t\n"));
        assert_eq!(all(Table::History, 2, 100).0, 0);
    }

    #[test]
    fn the_buffer_size_does_not_change_the_rows() {
        assert_eq!(all(Table::Accounts, 1, 64), all(Table::Accounts, 1, 65_536));
    }
}
