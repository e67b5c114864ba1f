//! What becomes of a client's transactions: counted and logged, tried again, or the end of the client. The words are
//! pgbench's, because people look for them.

use std::fmt::Display;

use dyno_engine::error::SessionError;
use dyno_engine::workload::{EndedTransaction, Reaction, StatementFailure};
use dyno_wire::libpq_text;

use super::client::{Aborted, ScriptClient};
use super::load::WeightedScript;
use super::log::{LogEntry, Logged};
use super::tally::FailureKind;
use crate::script::{Command, EvaluateError, Kind, Language};

impl ScriptClient {
    /// The server refused a statement: is the transaction tried again, has it failed, or must the client give up?
    pub(super) fn react(&mut self, failure: &StatementFailure<'_>) -> Reaction {
        self.not_committed(failure.error.ends_session() || failure.error.leaves_commit_unknown());
        if let Some(command) = self.preparing.filter(|_| !failure.error.ends_session()) {
            if self.shared.options.language == Language::Pgbench {
                let text = self.text_of(failure);
                self.shared.console.error(&text);
                return Reaction::GoOn;
            }
            self.not_prepared(command);
            if !failure.cancelled && !failure.error.asks_for_retry() {
                let why = format!("the server does not prepare the statement: {}", failure.error);
                self.gave_up = Some(self.aborted(&why).why);
                self.shared.aborted(self.identity.thread);
                return Reaction::Abort;
            }
        }
        let kind = match failure.error.state().as_str() {
            "40001" => FailureKind::Serialization,
            "40P01" => FailureKind::Deadlock,
            _ if self.shared.options.language == Language::Workload && failure.error.asks_for_retry() => {
                FailureKind::Serialization
            }
            _ if self.shared.options.continue_on_error && !failure.error.ends_session() => FailureKind::Other,
            _ => {
                let text = self.text_of(failure);
                self.tell_aborted_query(self.query_number(failure.statements), text.trim_end());
                self.shared.aborted(self.identity.thread);
                return Reaction::Abort;
            }
        };
        if self.shared.options.verbose_errors {
            let text = self.text_of(failure);
            let Self { identity, command, script, .. } = self;
            let text = text.trim_end();
            self.shared.console.info(&format!(
                "client {} got an error in command {command} (SQL) of script {script}; {text}",
                identity.id
            ));
        }
        self.settled();
        let retry = kind != FailureKind::Other && failure.load_goes_on && self.may_retry(failure);
        if let Some(tally) = self.tallies.get(self.script) {
            tally.command_failed(self.command, retry);
        }
        if retry {
            self.retried = self.shared.options.verbose_errors.then(|| self.tries_text(failure));
            return Reaction::Retry;
        }
        // Like pgbench: a transaction that only the end of the time kept from another try is not counted.
        self.failure = (kind == FailureKind::Other || failure.load_goes_on).then_some(kind);
        if self.shared.options.verbose_errors && self.failure.is_some() {
            let text = format!("ends the failed transaction ({})", self.tries_text(failure));
            self.shared.console.info(&format!("client {} {text}", self.identity.id));
        }
        Reaction::Fail
    }

    /// What the server said, in libpq's words. Under contention most failures are tried again and never told of: this is
    /// for those that are.
    #[cold]
    fn text_of(&self, failure: &StatementFailure<'_>) -> String {
        let query = self.sent_text(failure.statements);
        libpq_text::server_error(failure.error, query.as_deref())
    }

    /// Whether `--max-tries` and `-L` leave room for another try.
    fn may_retry(&self, failure: &StatementFailure<'_>) -> bool {
        let tries_left = self.shared.options.tries_max.is_none_or(|max| failure.tries < max);
        let took_ns = u128::from(failure.now_ns.saturating_sub(failure.due_ns));
        tries_left && self.shared.options.latency_limit.is_none_or(|limit| took_ns <= limit.as_nanos())
    }

    /// `try 1/3, 12.000% of the maximum time of tries was used`
    fn tries_text(&self, failure: &StatementFailure<'_>) -> String {
        let mut text = format!("try {}", failure.tries);
        if let Some(max) = self.shared.options.tries_max {
            text.push_str(&format!("/{max}"));
        }
        if let Some(limit) = self.shared.options.latency_limit {
            let used = failure.now_ns.saturating_sub(failure.due_ns) as f64 / limit.as_nanos() as f64;
            text.push_str(&format!(", {:.3}% of the maximum time of tries was used", used * 100.0));
        }
        text
    }

    pub(super) fn tell_retry(&mut self) {
        if let Some(tries) = self.retried.take() {
            let text = format!("repeats the transaction after the error ({tries})");
            self.shared.console.info(&format!("client {} {text}", self.identity.id));
        }
    }

    /// Counts and logs a transaction that has ended.
    pub(super) fn count(&mut self, ended: &EndedTransaction) {
        // Of a workload file the engine tells the times.
        if self.shared.told.is_some() && ended.well {
            (self.failure, self.transactions) = (None, self.transactions + 1);
            if let Some(tally) = self.tallies.get(self.script) {
                tally.done_untimed(ended.tries);
            }
            return;
        }
        let latency_us = us(ended.due_ns, ended.ended_ns);
        let lag_us = us(ended.due_ns, ended.begun_ns);
        let what = match (ended.well, self.failure.take()) {
            (true, _) => {
                let late = self.shared.options.latency_limit;
                let late = late.is_some_and(|limit| latency_us > limit.as_nanos() as f64 / 1e3);
                if let Some(tally) = self.tallies.get(self.script) {
                    tally.done(
                        latency_us,
                        self.shared.options.rate.is_some().then_some(lag_us),
                        late,
                        ended.tries,
                    );
                }
                Logged::Done { latency_us, lag_us }
            }
            (false, Some(kind)) => {
                if let Some(tally) = self.tallies.get(self.script) {
                    tally.failed(kind, ended.tries);
                }
                Logged::Failed(kind)
            }
            (false, None) => return,
        };
        self.transactions += 1;
        if self.shared.options.log.is_some() {
            self.log(what, ended.tries, ended.ended_ns);
        }
    }

    /// Counts and logs a transaction that came too late to be begun.
    pub(super) fn count_skipped(&mut self, now_ns: u64) {
        self.choose();
        if let Some(tally) = self.tallies.get(self.script) {
            tally.skipped();
        }
        self.transactions += 1;
        if self.shared.options.log.is_some() {
            self.log(Logged::Skipped, 1, now_ns);
        }
    }

    fn log(&self, what: Logged, tries: u32, ended_ns: u64) {
        let (client, transaction, script) = (self.identity.id, self.transactions, self.script);
        let entry = LogEntry { client, transaction, script, tries, ended_ns, what };
        self.shared.write_log(self.identity.thread, &entry);
    }

    /// The connection broke, or could not be opened.
    pub(super) fn tell_lost(&mut self, error: &SessionError) {
        self.command = self.command_at_loss();
        let Self { identity, command, script, .. } = self;
        let console = &self.shared.console;
        match error {
            _ if !self.online => {
                console.connection_failed(error);
                console.error(&format!("client {} aborted while establishing connection", identity.id));
            }
            // The run is stopped, which is said once.
            SessionError::NotDrained => {}
            SessionError::CopyIn => console.error("COPY is not supported in pgbench, aborting"),
            SessionError::Server(error) => {
                let query = self.sent_text(0);
                let text = libpq_text::server_error(error, query.as_deref());
                self.tell_aborted_query(0, text.trim_end());
            }
            SessionError::Io { .. } | SessionError::Closed => console.error(&format!(
                "client {} aborted in command {command} (SQL) of script {script}; perhaps the backend died while \
                 processing",
                identity.id
            )),
            error => console.error(&format!("client {} aborted: {error}", identity.id)),
        }
    }

    fn tell_aborted_query(&self, query: u32, text: &str) {
        let Self { identity, command, script, .. } = self;
        let text = format!(
            "client {} script {script} aborted in command {command} query {query}: {text}",
            identity.id
        );
        self.shared.console.error(&text);
    }

    #[cold]
    pub(super) fn abort(&self, why: &str) -> Aborted {
        self.shared.console.error(&format!("client {} aborted: {why}", self.identity.id));
        self.aborted(why)
    }

    /// The client's end at the command that it stands at.
    #[cold]
    pub(super) fn aborted(&self, why: &str) -> Aborted {
        Aborted { why: format!("{}: {why}", self.place_of_command()) }
    }

    /// File and line of the command that it stands at.
    pub(super) fn place_of_command(&self) -> String {
        let Some(WeightedScript { script, .. }) = self.shared.scripts.get(self.script) else {
            return String::new();
        };
        match script.commands.get(self.command) {
            Some(command) => format!("{}:{}", script.file, command.line),
            None => script.file.clone(),
        }
    }

    /// The answer to a query is not what the script wants.
    #[cold]
    pub(super) fn abort_query(&self, query: u32, why: &str) -> Aborted {
        let Self { identity, command, script, .. } = self;
        let text = format!("client {} script {script} command {command} query {query}: {why}", identity.id);
        self.shared.console.error(&text);
        self.aborted(why)
    }

    /// `\gset` or `\aset`: a column has a name that no variable can have.
    #[cold]
    pub(super) fn abort_storing(&self, command: &str, query: u32, name: &str) -> Aborted {
        self.shared.console.error(&format!("{command}: invalid variable name: \"{name}\""));
        self.abort_query(query, &format!("error storing into variable {name}"))
    }

    /// A command is not allowed where it stands.
    #[cold]
    pub(super) fn abort_at(&self, command: &Command, why: &str) -> Aborted {
        self.abort_named(meta_name(&command.kind), why)
    }

    #[cold]
    pub(super) fn abort_named(&self, name: &str, why: &str) -> Aborted {
        let Self { identity, command, script, .. } = self;
        let text =
            format!("client {} aborted in command {command} ({name}) of script {script}; {why}", identity.id);
        self.shared.console.error(&text);
        self.aborted(why)
    }

    #[cold]
    pub(super) fn expression_failed(&self, command: &Command, error: &EvaluateError) -> Aborted {
        let text = error.to_string();
        // Some failures pgbench leaves without a word.
        if !text.is_empty() {
            self.shared.console.error(&text);
        }
        self.abort_at(command, "evaluation of meta-command failed");
        let shown = if text.is_empty() { "a variable is empty, and no value" } else { &text };
        self.aborted(&format!("\\{}: {shown}", meta_name(&command.kind)))
    }

    #[cold]
    pub(super) fn meta_failed(&self, command: &Command, error: &dyn Display) -> Aborted {
        self.shared.console.error(&error.to_string());
        self.abort_at(command, "execution of meta-command failed");
        self.aborted(&format!("\\{}: {error}", meta_name(&command.kind)))
    }
}

/// A meta-command's name without its backslash.
fn meta_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Sql(_) => "SQL",
        Kind::Set { .. } => "set",
        Kind::If { .. } => "if",
        Kind::Elif { .. } => "elif",
        Kind::Else { .. } => "else",
        Kind::Endif => "endif",
        Kind::Sleep { .. } => "sleep",
        Kind::SetShell { .. } => "setshell",
        Kind::Shell { .. } => "shell",
        Kind::StartPipeline => "startpipeline",
        Kind::SyncPipeline => "syncpipeline",
        Kind::EndPipeline => "endpipeline",
        Kind::Once { .. } => "once",
        Kind::SetElement { .. } => "set",
        Kind::For { .. } => "for",
        Kind::EndFor { .. } => "endfor",
        Kind::Rollback => "rollback",
    }
}

fn us(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 / 1e3
}
