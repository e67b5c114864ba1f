//! The statements that a session has prepared, by the numbers that a MySQL server gave them. On PostgreSQL the client
//! gives the names, and there is nothing to remember.

use std::collections::VecDeque;

use dyno_wire::my::backend::Prepared;

/// What a session has prepared. Empty, and without memory, on PostgreSQL.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// The workload's own, in the order in which they were prepared.
    fixed: Vec<Prepared>,
    /// Those that the client made on its way, by their handles.
    own: Vec<(u32, Prepared)>,
    /// Handles of which the server's answer is still due.
    awaited: VecDeque<u32>,
}

impl Made {
    #[inline]
    pub(crate) fn fixed(&self) -> &[Prepared] {
        &self.fixed
    }

    pub(crate) fn statement(&self, handle: u32) -> Option<Prepared> {
        self.own.iter().find(|(known, _)| *known == handle).map(|(_, prepared)| *prepared)
    }

    /// The name of a client's own statement where the client names them.
    pub(crate) fn name(&self, handle: u32) -> String {
        format!("d{handle}")
    }

    pub(crate) fn reserve_fixed(&mut self, count: usize) {
        self.fixed.reserve_exact(count);
    }

    pub(crate) fn await_statement(&mut self, handle: u32) {
        self.own.retain(|(known, _)| *known != handle);
        self.awaited.push_back(handle);
    }

    pub(crate) fn forget(&mut self, handle: u32) -> Option<Prepared> {
        let at = self.own.iter().position(|(known, _)| *known == handle)?;
        Some(self.own.swap_remove(at).1)
    }

    /// The server has prepared the next one.
    pub(crate) fn prepared(&mut self, prepared: Prepared) {
        match self.awaited.pop_front() {
            Some(handle) => self.own.push((handle, prepared)),
            None => self.fixed.push(prepared),
        }
    }

    /// The server has refused a statement; if one was to be prepared, that is it.
    pub(crate) fn refused(&mut self) {
        self.awaited.pop_front();
    }
}
