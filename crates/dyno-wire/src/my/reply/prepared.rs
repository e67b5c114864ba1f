//! The reply to a prepare: the statement's number, descriptions of its parameters, those of its columns.

use super::{Phase, ReplyScanner, ReplySink, expect_eof, unexpected};
use crate::my::backend::{Column, Prepared};
use crate::my::capabilities::Capabilities;
use crate::my::error::ProtocolError;

impl ReplyScanner {
    pub(super) fn begin_prepared<S: ReplySink>(
        &mut self,
        payload: &[u8],
        sink: &mut S,
    ) -> Result<(), ProtocolError> {
        let prepared = Prepared::parse(payload)?;
        self.totals.statements = self.totals.statements.saturating_add(1);
        self.totals.warnings = self.totals.warnings.saturating_add(prepared.warnings.into());
        self.totals.results = self.totals.results.saturating_add(u32::from(prepared.columns > 0));
        self.prepared = Some(prepared);
        sink.prepared(prepared);
        match prepared.parameters {
            0 => self.begin_prepared_columns(),
            parameters => self.phase = Phase::Parameters(parameters),
        }
        Ok(())
    }

    fn begin_prepared_columns(&mut self) {
        match self.prepared.map_or(0, |prepared| prepared.columns) {
            0 => self.end_command(),
            columns => self.phase = Phase::PreparedColumns(columns),
        }
    }

    /// A packet of the answer to a prepare, after its first.
    #[cold]
    pub(super) fn prepared_packet<S: ReplySink>(
        &mut self,
        payload: &[u8],
        sink: &mut S,
    ) -> Result<(), ProtocolError> {
        let with_eof = !self.agreed.contains(Capabilities::DEPRECATE_EOF);
        match self.phase {
            Phase::Parameters(left) => {
                // Nothing is said of a parameter that the statement's text did not.
                Column::parse(payload)?;
                match left {
                    2.. => self.phase = Phase::Parameters(left - 1),
                    _ if with_eof => self.phase = Phase::ParametersEnd,
                    _ => self.begin_prepared_columns(),
                }
            }
            Phase::ParametersEnd => {
                expect_eof(payload)?;
                self.begin_prepared_columns();
            }
            Phase::PreparedColumns(left) => {
                let column = Column::parse(payload)?;
                if S::WANTS_ROWS {
                    sink.column(column);
                }
                match left {
                    2.. => self.phase = Phase::PreparedColumns(left - 1),
                    _ if with_eof => self.phase = Phase::PreparedColumnsEnd,
                    _ => self.end_command(),
                }
            }
            Phase::PreparedColumnsEnd => {
                expect_eof(payload)?;
                self.end_command();
            }
            _ => return Err(unexpected(payload, "the wait for a file")),
        }
        Ok(())
    }
}
