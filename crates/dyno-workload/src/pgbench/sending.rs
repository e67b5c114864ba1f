//! How a client sends its SQL commands: in which protocol, prepared or not, one by one or in a pipeline.

use dyno_engine::request::{Request, Withdrawn};
use dyno_engine::workload::Step;

use super::client::{Aborted, ScriptClient};
use crate::script::{Command, Kind, Language, Protocol, Sql};

/// A pipeline that the script has started.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    /// What was to be sent when the script slept.
    pub(super) held: Withdrawn,
    /// It was ended; its answer is waited for.
    pub(super) ended: bool,
}

/// What the current pipeline, or the last one, has sent.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// The command of each statement.
    pub(super) commands: Vec<usize>,
    /// Points of synchronisation: statements before each.
    pub(super) syncs: Vec<u32>,
}

impl ScriptClient {
    /// Adds an SQL command to the request. In a pipeline the script goes on at once.
    pub(super) fn send(&mut self, sql: &Sql, request: &mut Request<'_>) -> Result<Option<Step>, Aborted> {
        if self.shared.options.language == Language::Workload {
            if let Some(slot) = sql.first_unset(&self.variables) {
                let name = self.shared.names.name(slot);
                return Err(self.abort(&format!("the variable {name} has no value here")));
            }
            if let Some(step) = self.send_bound(sql, request) {
                return step;
            }
        }
        if self.prepares(self.command, sql, request) {
            return Ok(Some(Step::Send));
        }
        if self.shared.options.language == Language::Workload {
            request.counts_as(sql.kind);
        }
        if self.shared.options.debug {
            self.tell_sending(sql);
        }
        if self.pipeline.is_some() {
            self.sent.commands.push(self.command);
            if let Some(gset) = &sql.gset {
                let name = if gset.every { "aset" } else { "gset" };
                return Err(self.abort_named(name, &format!("\\{name} is not allowed in pipeline mode")));
            }
            self.write_extended(sql, request);
            return Ok(None);
        }
        if sql.gset.is_some() {
            self.rows.clear();
            request.keep_rows();
        }
        if self.shared.options.mode == Protocol::Simple {
            self.text.clear();
            sql.write_simple(&self.variables, &self.shared.names, &mut self.text);
            request.query(&self.text);
        } else {
            self.write_extended(sql, request);
            request.sync();
        }
        Ok(Some(sql.durable.step(self.is_within())))
    }

    fn write_extended(&mut self, sql: &Sql, request: &mut Request<'_>) {
        let name = self.shared.statement_name(self.script, self.command);
        if name.is_empty() {
            request.parse(name, &sql.text);
        }
        let mut bind = request.bind(name);
        for slot in &sql.parameters {
            let is_null = self.shared.options.language == Language::Workload && self.variables.is_null(*slot);
            bind.text_with(|out| !is_null && self.variables.write_text(*slot, out));
        }
        bind.finish();
        if sql.gset.is_some() {
            request.describe();
        }
        request.run();
    }

    /// Puts what prepares a command's statement into the request, unless this connection has it already. It is a
    /// request of its own: should it be refused, the script goes on, and what runs the statement is refused, too.
    fn prepares(&mut self, command: usize, sql: &Sql, request: &mut Request<'_>) -> bool {
        let prepared = self.prepared.get_mut(self.script).and_then(|script| script.get_mut(command));
        let Some(prepared) = prepared.filter(|prepared| !**prepared) else { return false };
        *prepared = true;
        let name = self.shared.statement_name(self.script, command);
        if self.shared.options.debug {
            self.tell_doing(&format!("preparing {name}"));
        }
        request.parse(name, &sql.text);
        request.sync();
        (self.preparing, self.prepares_first) = (Some(command), true);
        true
    }

    /// The server has refused to prepare a command's statement, which is the command that fails.
    pub(super) fn not_prepared(&mut self, command: usize) {
        self.command = command;
        if let Some(prepared) = self.prepared.get_mut(self.script).and_then(|script| script.get_mut(command))
        {
            *prepared = false;
        }
    }

    pub(super) fn start_pipeline(
        &mut self,
        command: &Command,
        commands: &[Command],
        request: &mut Request<'_>,
    ) -> Result<Option<Step>, Aborted> {
        if self.shared.options.mode == Protocol::Simple {
            return Err(self.abort_at(command, "cannot use pipeline mode with the simple query protocol"));
        }
        if self.pipeline.is_some() {
            return Err(self.abort_at(command, "already in pipeline mode"));
        }
        // What a pipeline runs is prepared before it.
        let inside = commands.iter().enumerate().skip(self.command);
        for (index, command) in inside.take_while(|(_, command)| !matches!(command.kind, Kind::EndPipeline)) {
            if let Kind::Sql(sql) = &command.kind
                && self.prepares(index, sql, request)
            {
                return Ok(Some(Step::Send));
            }
        }
        self.pipeline = Some(Pipeline::default());
        self.sent.commands.clear();
        self.sent.syncs.clear();
        Ok(None)
    }

    pub(super) fn end_pipeline(
        &mut self,
        command: &Command,
        request: &mut Request<'_>,
    ) -> Result<Step, Aborted> {
        let Some(pipeline) = &mut self.pipeline else {
            return Err(self.abort_at(command, "not in pipeline mode"));
        };
        pipeline.ended = true;
        request.sync();
        let script = self.shared.scripts.get(self.script);
        let sent = self.sent.commands.iter().filter_map(|at| script?.script.commands.get(*at));
        let durable = sent.filter_map(|command| match &command.kind {
            Kind::Sql(sql) => Some(sql.durable),
            _ => None,
        });
        Ok(durable.max().unwrap_or_default().step(self.is_within()))
    }

    /// The text of the statement that failed, as it was sent, with `before` of the same request answered before it.
    pub(super) fn sent_text(&self, before: u32) -> Option<String> {
        let script = self.shared.scripts.get(self.script)?;
        let in_pipeline = self.pipeline.as_ref().and_then(|_| self.sent.commands.get(before as usize));
        let command = self.preparing.or(in_pipeline.copied()).unwrap_or(self.command);
        let Kind::Sql(sql) = &script.script.commands.get(command)?.kind else { return None };
        Some(self.shown(sql))
    }

    /// A statement as it is sent.
    pub(super) fn shown(&self, sql: &Sql) -> String {
        if self.shared.options.mode != Protocol::Simple {
            return String::from_utf8_lossy(&sql.text).into_owned();
        }
        let mut text = Vec::new();
        sql.write_simple(&self.variables, &self.shared.names, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The number that pgbench gives to the result of a statement that failed with `before` answered before it. In a
    /// pipeline it counts from the last statement, and points of synchronisation count, too.
    pub(super) fn query_number(&self, before: u32) -> u32 {
        match self.pipeline {
            Some(_) => self.sent.syncs.iter().filter(|at| **at == before).count() as u32,
            None => before,
        }
    }
}
