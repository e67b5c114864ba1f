//! How a client sends its SQL commands: in which protocol, prepared or not, one by one or in a pipeline.

use dyno_engine::request::{Request, Withdrawn};
use dyno_engine::workload::Step;

use super::client::{Aborted, ScriptClient};
use super::load::PgbenchShared;
use super::messages::Message;
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
    pub(super) fn send(
        &mut self,
        shared: &PgbenchShared,
        sql: &Sql,
        request: &mut Request<'_>,
    ) -> Result<Option<Step>, Aborted> {
        if let Some(bound) = shared.bound.of(self.script, self.command) {
            return self.send_bound(bound, sql, request).map(Some);
        }
        let message = shared.messages.of(self.script, self.command);
        if let Some(message) = message
            && self.prepares(message, self.command, sql, request)?
        {
            return Ok(Some(Step::Send));
        }
        if shared.options.language == Language::Workload {
            request.counts_as(sql.kind);
        }
        if shared.options.debug {
            self.tell_sending(sql);
        }
        let in_pipeline = self.pipeline.is_some();
        if in_pipeline {
            self.sent.commands.push(self.command);
        }
        if let Some(gset) = &sql.gset {
            if in_pipeline {
                let name = if gset.every { "aset" } else { "gset" };
                return Err(self.abort_named(name, &format!("\\{name} is not allowed in pipeline mode")));
            }
            self.rows.clear();
            request.keep_rows();
        }
        match message {
            Some(message) => self.write_extended(message, sql, !in_pipeline, request)?,
            None => {
                self.check_values(sql)?;
                self.text.clear();
                sql.write_simple(&self.variables, &shared.names, &mut self.text);
                request.query(&self.text);
            }
        }
        Ok((!in_pipeline).then(|| sql.durable.step(self.is_within())))
    }

    #[inline]
    fn write_extended(
        &mut self,
        message: &Message,
        sql: &Sql,
        syncs: bool,
        request: &mut Request<'_>,
    ) -> Result<(), Aborted> {
        let variables = &self.variables;
        let is_workload = self.shared.options.language == Language::Workload;
        let mut is_none = false;
        request.run(&message.execution, sql.parameters.len(), syncs, |place, out| {
            let is_text = variables.write_parameter(sql.parameters[place], is_workload, out);
            is_none |= !is_text;
            is_text
        });
        if is_none { self.check_values(sql) } else { Ok(()) }
    }

    /// In the language of workload files a variable without a value is never sent.
    pub(super) fn check_values(&self, sql: &Sql) -> Result<(), Aborted> {
        if self.shared.options.language == Language::Workload
            && let Some(slot) = sql.first_unset(&self.variables)
        {
            let name = self.shared.names.name(slot);
            return Err(self.abort(&format!("the variable {name} has no value here")));
        }
        Ok(())
    }

    /// Puts what prepares a command's statement into the request, unless this connection has it already. It is a
    /// request of its own: should it be refused, the script goes on, and what runs the statement is refused, too.
    #[inline]
    fn prepares(
        &mut self,
        message: &Message,
        command: usize,
        sql: &Sql,
        request: &mut Request<'_>,
    ) -> Result<bool, Aborted> {
        match self.prepared.get(message.number) {
            Some(false) => self.prepare(message, command, sql, request).map(|()| true),
            Some(true) | None => Ok(false),
        }
    }

    #[cold]
    fn prepare(
        &mut self,
        message: &Message,
        command: usize,
        sql: &Sql,
        request: &mut Request<'_>,
    ) -> Result<(), Aborted> {
        // In a pipeline what comes before it may give the values.
        if command == self.command {
            self.check_values(sql)?;
        }
        if self.shared.options.debug {
            self.tell_doing(&format!("preparing {}", message.name));
        }
        self.prepared[message.number] = true;
        request.parse(&message.name, &sql.text);
        request.sync();
        (self.preparing, self.prepares_first) = (Some(command), true);
        Ok(())
    }

    /// The server has refused to prepare a command's statement, which is the command that fails.
    pub(super) fn not_prepared(&mut self, command: usize) {
        self.command = command;
        if let Some(message) = self.shared.messages.of(self.script, command)
            && let Some(prepared) = self.prepared.get_mut(message.number)
        {
            *prepared = false;
        }
    }

    pub(super) fn start_pipeline(
        &mut self,
        shared: &PgbenchShared,
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
                && let Some(message) = shared.messages.of(self.script, index)
                && self.prepares(message, index, sql, request)?
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
