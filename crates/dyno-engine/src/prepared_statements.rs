//! The statements that a session has prepared, by the numbers that a MySQL server gave them. On PostgreSQL the client
//! gives the names, and there is nothing to remember.

use std::collections::VecDeque;

use dyno_wire::my::backend::Prepared;

/// What a session has prepared. Empty, and without memory, on PostgreSQL.
#[derive(Debug, Default)]
pub(crate) struct PreparedStatements {
    /// The workload's own, in the order in which they were prepared.
    fixed: Vec<Prepared>,
    /// Those that the client made on its way, in the order of their handles.
    own: Vec<(u32, Prepared)>,
    /// Handles of which the server's answer is still due.
    awaited: VecDeque<u32>,
    /// How many of the workload's own were prepared before the first that the server refused.
    refused_behind: Option<usize>,
}

impl PreparedStatements {
    #[inline]
    pub(crate) fn fixed(&self) -> &[Prepared] {
        &self.fixed
    }

    pub(crate) fn statement(&self, handle: u32) -> Option<Prepared> {
        self.place(handle).ok().map(|place| self.own[place].1)
    }

    /// Where a handle stands, or would.
    fn place(&self, handle: u32) -> Result<usize, usize> {
        self.own.binary_search_by_key(&handle, |(known, _)| *known)
    }

    pub(crate) fn await_statement(&mut self, handle: u32) {
        self.forget(handle);
        self.awaited.push_back(handle);
    }

    pub(crate) fn forget(&mut self, handle: u32) -> Option<Prepared> {
        let place = self.place(handle).ok()?;
        Some(self.own.remove(place).1)
    }

    /// The server has prepared the next one.
    pub(crate) fn prepared(&mut self, prepared: Prepared) {
        match self.awaited.pop_front() {
            Some(handle) => match self.place(handle) {
                Ok(place) => self.own[place].1 = prepared,
                Err(place) => self.own.insert(place, (handle, prepared)),
            },
            None => self.fixed.push(prepared),
        }
    }

    /// The server has refused a statement; if one was to be prepared, that is it.
    pub(crate) fn refused(&mut self) {
        if self.awaited.pop_front().is_none() {
            self.refused_behind.get_or_insert(self.fixed.len());
        }
    }

    pub(crate) fn refused_behind(&self) -> Option<usize> {
        self.refused_behind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(statement: u32) -> Prepared {
        Prepared { statement, parameters: 0, columns: 0, warnings: 0 }
    }

    fn numbers(prepared_statements: &PreparedStatements, handles: [u32; 4]) -> [Option<u32>; 4] {
        handles.map(|handle| prepared_statements.statement(handle).map(|prepared| prepared.statement))
    }

    #[test]
    fn statements_are_found_by_their_handles_whatever_the_order() {
        let mut prepared_statements = PreparedStatements::default();
        prepared_statements.prepared(prepared(100));
        for (handle, statement) in [(9, 101), (2, 102), (5, 103)] {
            prepared_statements.await_statement(handle);
            prepared_statements.prepared(prepared(statement));
        }
        assert_eq!(prepared_statements.fixed().len(), 1);
        assert_eq!(numbers(&prepared_statements, [2, 5, 9, 1]), [Some(102), Some(103), Some(101), None]);
        // Made anew, forgotten, and refused.
        prepared_statements.await_statement(5);
        assert_eq!(prepared_statements.statement(5), None);
        prepared_statements.prepared(prepared(104));
        assert_eq!(prepared_statements.forget(9), Some(prepared(101)));
        prepared_statements.await_statement(2);
        prepared_statements.refused();
        assert_eq!(numbers(&prepared_statements, [2, 5, 9, 1]), [None, Some(104), None, None]);
    }
}
