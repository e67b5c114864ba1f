//! A client of a pgbench run: it goes through a script's commands one by one, evaluates what it can by itself, and
//! says what is to be sent. What comes of a failure stands in `outcome`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dyno_engine::clock;
use dyno_engine::error::SessionError;
use dyno_engine::request::Request;
use dyno_engine::workload::{
    Answer, Client, ClientIdentity, EndedTransaction, Reaction, Reply, StatementFailure, StatementId, Step,
    TransactionStatus, TransactionType,
};

use dyno_wire::libpq_text;

use super::debug::tell_value;
use super::effects::{Commit, OutcomeCounts};
use super::load::{PgbenchShared, ThreadCounts, Told};
use super::mix::Deck;
use super::row_sink::RowSink;
use super::sending::{Pipeline, Sent};
use super::shell;
use super::tally::{FailureKind, Tally};
use crate::script::random::Prng;
use crate::script::{
    Command, Context, EvaluateError, Kind, Language, Names, Operand, Program, Slot, Value, Variables,
    shell_command, sleep_us,
};

/// How many turns of `\for` a transaction may have.
pub(crate) const TURNS_MAX: u32 = 100_000;

/// One client.
pub(super) struct ScriptClient {
    pub(super) shared: Arc<PgbenchShared>,
    /// A second handle, lent out while commands are run: they are looked at while the client changes, and a clone each
    /// time would be a count that all threads write.
    lent: Option<Arc<PgbenchShared>>,
    pub(super) identity: ClientIdentity,
    pub(super) variables: Variables,
    pub(super) random: Prng,
    /// What `random` was when the transaction began: a further try draws the same.
    random_before: Prng,
    /// The transaction's script, and the command that is run or waited for.
    pub(super) script: usize,
    pub(super) command: usize,
    /// The command was come to by a jump, so that an `\elif` is to be evaluated.
    jumped: bool,
    /// A request was sent, or a sleep begun: the command is done when the client is asked again.
    waits: bool,
    /// What is done with the answer to that request.
    with_answer: WithAnswer,
    /// The script that the next transaction runs, where it was chosen already.
    chosen: Option<usize>,
    /// Which statements this connection has prepared, by their numbers.
    pub(super) prepared: Vec<bool>,
    /// The command whose statement the current request prepares, and runs none.
    pub(super) preparing: Option<usize>,
    /// The connection is there.
    pub(super) online: bool,
    /// The server began to copy to the client.
    copied: bool,
    /// Whether a transaction block was open behind the last answer.
    status: TransactionStatus,
    pub(super) pipeline: Option<Pipeline>,
    /// The turns of each `\for` that is under way: the number of the current one, and the last.
    turns: Vec<(i64, i64)>,
    pub(super) deck: Deck,
    /// Before the transaction.
    pause: Option<Duration>,
    pub(super) commit: Commit,
    /// What was counted within the last transaction of which anything is.
    pub(super) counted: Vec<u64>,
    /// Rows that the statements of the transaction have returned.
    pub(super) returned: u64,
    /// Turns so far of the transaction.
    turned: u32,
    /// The script has undone the transaction itself.
    pub(super) rolled_back: bool,
    pub(super) sent: Sent,
    pub(super) rows: RowSink,
    /// The command was begun before what it needs was prepared.
    pub(super) prepares_first: bool,
    /// When the command that is waited for was begun (`-r`).
    command_begun_ns: u64,
    /// What failed in the last try, until the transaction has ended.
    pub(super) failure: Option<FailureKind>,
    /// What is to be said when the transaction is tried again (`--verbose-errors`).
    pub(super) retried: Option<String>,
    /// Why the client cannot go on.
    pub(super) gave_up: Option<String>,
    /// Transactions so far, the skipped and the failed ones included.
    pub(super) transactions: u64,
    pub(super) text: Vec<u8>,
    pub(super) tallies: Vec<Arc<Tally>>,
    /// Those of the clients of its thread.
    pub(super) outcomes: Arc<OutcomeCounts>,
}

/// What is done with the answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WithAnswer {
    Nothing,
    /// `\gset`, or of `every` result `\aset`.
    Store {
        every: bool,
    },
    /// The script ends.
    End,
}

/// The client cannot go on; why was said on the console.
pub(super) struct Aborted {
    /// Why, with the place in the script.
    pub(super) why: String,
}

impl ScriptClient {
    pub(super) fn new(
        shared: Arc<PgbenchShared>,
        identity: ClientIdentity,
        variables: Variables,
        random: Prng,
        ThreadCounts { tallies, outcomes }: ThreadCounts,
    ) -> Self {
        let prepared = vec![false; shared.messages.prepared];
        Self {
            lent: Some(Arc::clone(&shared)),
            shared,
            identity,
            variables,
            random,
            random_before: random,
            script: 0,
            command: 0,
            jumped: false,
            waits: false,
            with_answer: WithAnswer::Nothing,
            chosen: None,
            prepared,
            preparing: None,
            online: false,
            copied: false,
            status: TransactionStatus::Idle,
            pipeline: None,
            turns: Vec::new(),
            deck: Deck::default(),
            pause: None,
            commit: Commit::default(),
            counted: Vec::new(),
            returned: 0,
            turned: 0,
            rolled_back: false,
            sent: Sent::default(),
            rows: RowSink::default(),
            prepares_first: false,
            command_begun_ns: 0,
            failure: None,
            retried: None,
            gave_up: None,
            transactions: 0,
            text: Vec::new(),
            tallies,
            outcomes,
        }
    }

    #[inline]
    fn is_at_end(&self, shared: &PgbenchShared) -> bool {
        shared.scripts.get(self.script).is_some_and(|script| self.command >= script.script.commands.len())
    }

    /// Runs commands until something is to be sent or waited for, or the script ends.
    fn run(&mut self, shared: &PgbenchShared, request: &mut Request<'_>) -> Result<Step, Aborted> {
        let Some(script) = shared.scripts.get(self.script) else { return Ok(Step::Done) };
        let commands = &script.script.commands;
        while let Some(command) = commands.get(self.command) {
            if shared.options.time_commands && !std::mem::take(&mut self.prepares_first) {
                self.command_begun_ns = clock::now_ns();
            }
            let jumped = std::mem::take(&mut self.jumped);
            if shared.options.debug {
                self.tell_executing(command, jumped);
            }
            match &command.kind {
                Kind::Sql(sql) => {
                    self.with_answer = match &sql.gset {
                        Some(gset) => WithAnswer::Store { every: gset.every },
                        None => WithAnswer::Nothing,
                    };
                    if let Some(step) = self.send(shared, sql, request)? {
                        return Ok(step);
                    }
                }
                Kind::Sleep { amount, unit } => {
                    let us = sleep_us(amount, *unit, &self.variables, &shared.names);
                    let us = us.map_err(|error| self.meta_failed(command, &error))?;
                    if us > 0 {
                        return Ok(self.sleep(us, request));
                    }
                }
                Kind::StartPipeline => {
                    if let Some(step) = self.start_pipeline(shared, command, commands, request)? {
                        return Ok(step);
                    }
                }
                Kind::EndPipeline => {
                    self.with_answer = WithAnswer::Nothing;
                    return self.end_pipeline(command, request);
                }
                Kind::Rollback => {
                    self.with_answer = WithAnswer::End;
                    request.execute(StatementId(0), &[]);
                    return Ok(Step::Send);
                }
                Kind::Set { slot, expression } => {
                    let value = self.evaluate(expression, command)?;
                    self.variables.set(*slot, value);
                }
                kind => {
                    if let Some(next) = self.run_meta(kind, command, jumped, request)? {
                        self.finish_command();
                        (self.command, self.jumped) = (next, true);
                        continue;
                    }
                }
            }
            self.finish_command();
            self.command += 1;
        }
        self.end_of_script()
    }

    /// Runs a command that neither sends nor waits; where to go on, if that is not the next command.
    fn run_meta(
        &mut self,
        kind: &Kind,
        command: &Command,
        jumped: bool,
        request: &mut Request<'_>,
    ) -> Result<Option<usize>, Aborted> {
        match kind {
            Kind::Elif { end, .. } if !jumped => return Ok(Some(*end)),
            Kind::If { condition, otherwise } | Kind::Elif { condition, otherwise, .. } => {
                let value = self.evaluate(condition, command)?;
                return Ok((!value.holds()).then_some(*otherwise));
            }
            Kind::Else { end } => return Ok((!jumped).then_some(*end)),
            Kind::Shell { words } => {
                self.run_shell(words, None).map_err(|why| self.meta_failed(command, &why))?;
            }
            Kind::SetShell { slot, words } => {
                self.run_shell(words, Some(*slot)).map_err(|why| self.meta_failed(command, &why))?;
            }
            Kind::SyncPipeline => {
                if self.pipeline.is_none() {
                    return Err(self.abort_at(command, "not in pipeline mode"));
                }
                self.sent.syncs.push(self.sent.commands.len() as u32);
                request.sync();
            }
            Kind::Once { slot, expression } => {
                if !self.variables.is_set(*slot) {
                    let value = self.evaluate(expression, command)?;
                    self.variables.set(*slot, value);
                }
            }
            Kind::SetElement { array, index, expression } => {
                let index = self.integer(index, command)?;
                let value = self.evaluate(expression, command)?;
                let set = self.variables.set_element(*array, index, value);
                set.map_err(|error| self.expression_failed(command, &error))?;
            }
            Kind::For { slot, from, to, end } => {
                let range = (self.integer(from, command)?, self.integer(to, command)?);
                self.turns.push(range);
                self.variables.set(*slot, Value::Integer(range.0));
                // Without a turn it ends there at once.
                return Ok((range.0 > range.1).then_some(*end));
            }
            Kind::EndFor { slot, begin } => return self.next_turn(*slot, *begin, command),
            // Those of `run` itself.
            Kind::Sql(_) | Kind::Set { .. } | Kind::Sleep { .. } | Kind::Rollback => {}
            Kind::Endif | Kind::StartPipeline | Kind::EndPipeline => {}
        }
        Ok(None)
    }

    /// The innermost `\for`, which is at `begin`, has had a turn.
    fn next_turn(&mut self, slot: Slot, begin: usize, command: &Command) -> Result<Option<usize>, Aborted> {
        let Some((turn, _)) = self.turns.last_mut().filter(|(turn, last)| turn < last) else {
            self.turns.pop();
            return Ok(None);
        };
        *turn += 1;
        self.variables.set(slot, Value::Integer(*turn));
        self.turned += 1;
        if self.turned > TURNS_MAX {
            return Err(self.expression_failed(command, &EvaluateError::Turns(TURNS_MAX)));
        }
        Ok(Some(begin + 1))
    }

    fn integer(&mut self, program: &Program, at: &Command) -> Result<i64, Aborted> {
        let Self { shared, variables, random, .. } = self;
        let mut context = Context { variables, names: &shared.names, random, debug: &mut |_| () };
        program.integer(&mut context).map_err(|error| self.expression_failed(at, &error))
    }

    #[inline]
    fn evaluate(&mut self, program: &Program, at: &Command) -> Result<Value, Aborted> {
        let Self { shared, variables, random, script, command, .. } = self;
        let mut debug = |value| tell_value(shared, *script, *command, value);
        let mut context = Context { variables, names: &shared.names, random, debug: &mut debug };
        program.evaluate(&mut context).map_err(|error| self.expression_failed(at, &error))
    }

    fn run_shell(&mut self, words: &[Operand], into: Option<Slot>) -> Result<(), String> {
        let names = &self.shared.names;
        self.text.clear();
        shell_command(words, &self.variables, names, &mut self.text).map_err(|error| error.to_string())?;
        let program = words.first().map(|word| word.written(names)).unwrap_or_default();
        let Some(slot) = into else {
            return shell::run(&self.text).map_err(|error| format!("{program}: {error}"));
        };
        let value = shell::read_integer(&self.text).map_err(|error| format!("{program}: {error}"))?;
        let name = names.name(slot);
        if !Names::is_valid(name) {
            return Err(format!("setshell: invalid variable name: \"{name}\""));
        }
        self.variables.set(slot, Value::Integer(i64::from(value)));
        Ok(())
    }

    fn sleep(&mut self, us: i64, request: &mut Request<'_>) -> Step {
        if let Some(pipeline) = &mut self.pipeline {
            pipeline.held = request.withdraw();
        }
        Step::Sleep(Duration::from_micros(us.unsigned_abs()))
    }

    /// The command that was sent or slept is done.
    fn resume(&mut self, answer: Option<&Answer>, request: &mut Request<'_>) -> Result<(), Aborted> {
        if !std::mem::take(&mut self.waits) {
            return Ok(());
        }
        match answer {
            // A sleep is over.
            None => {
                if let Some(pipeline) = &self.pipeline {
                    request.resume(&pipeline.held);
                }
            }
            Some(answer) => {
                self.status = answer.status;
                if self.preparing.take().is_some() {
                    return Ok(());
                }
                if self.shared.options.debug {
                    self.tell_doing("receiving");
                }
                if self.copied {
                    return Err(self.aborted("COPY is not supported in scripts"));
                }
                if let WithAnswer::Store { every } = self.with_answer {
                    self.store_result(every, answer)?;
                }
                if self.pipeline.as_ref().is_some_and(|pipeline| pipeline.ended) {
                    self.pipeline = None;
                }
                if let Some(told) = self.shared.told {
                    self.tell_script(told, answer);
                }
            }
        }
        self.finish_command();
        self.command += 1;
        Ok(())
    }

    /// `\gset` and `\aset`: the rows have come.
    fn store_result(&mut self, every: bool, answer: &Answer) -> Result<(), Aborted> {
        if let Some((query, name)) = self.rows.take_refused() {
            return Err(self.abort_storing("aset", query, &name));
        }
        let query = answer.statements.saturating_sub(1);
        let language = self.shared.options.language;
        let has_none = language == Language::Workload && self.rows.last_rows() == 0;
        if !every && self.rows.last_rows() != 1 && !has_none {
            let why = format!("expected one row, got {}", self.rows.last_rows());
            return Err(self.abort_query(query, &why));
        }
        if every {
            // Each result was stored as it ended.
            return Ok(());
        }
        let stored = self.rows.store(language, &mut self.variables).map_err(str::to_owned);
        stored.map_err(|name| self.abort_storing("gset", query, &name))
    }

    /// Sets what the script of a workload file is told of each answer; a `\rollback` ends it.
    fn tell_script(&mut self, told: Told, answer: &Answer) {
        self.commit.answered();
        self.returned += answer.rows;
        for (slot, count) in [(told.returned, answer.rows), (told.affected, answer.affected)] {
            if let Some(slot) = slot {
                self.variables.set(slot, Value::Integer(count.cast_signed()));
            }
        }
        if self.with_answer == WithAnswer::End {
            self.command = self.shared.scripts.get(self.script).map_or(0, |it| it.script.commands.len());
            self.rolled_back = true;
        }
    }

    fn finish_command(&mut self) {
        if self.shared.options.time_commands
            && let Some(tally) = self.tallies.get(self.script)
        {
            let took_ns = clock::now_ns().saturating_sub(self.command_begun_ns);
            tally.command_ran(self.command, took_ns as f64 / 1e3);
        }
    }

    fn end_of_script(&mut self) -> Result<Step, Aborted> {
        if self.pipeline.is_some() {
            return Err(self.abort("end of script reached with pipeline open"));
        }
        if self.status != TransactionStatus::Idle {
            let aborted = self.abort("end of script reached without completing the last transaction");
            if self.shared.options.language == Language::Workload {
                return Err(aborted);
            }
            // pgbench counts it all the same.
            return Ok(self.done_and_aborted(aborted));
        }
        if self.rolled_back {
            return Ok(Step::RolledBack);
        }
        Ok(self.note_counts().map_or_else(|aborted| self.done_and_aborted(aborted), |()| Step::Done))
    }

    /// What the transaction did stays, and no other follows.
    fn done_and_aborted(&mut self, Aborted { why }: Aborted) -> Step {
        self.gave_up = Some(why);
        self.shared.aborted(self.identity.thread);
        Step::DoneAndAbort
    }
}

impl Client for ScriptClient {
    fn begin(&mut self) -> TransactionType {
        self.not_committed(true);
        let before = (self.transactions > 0).then_some(self.script);
        self.choose();
        self.chosen = None;
        if self.shared.has_pauses {
            self.pause = self.pause_before(before);
        }
        self.random_before = self.random;
        self.failure = None;
        self.restart();
        if let Some(told) = self.shared.told {
            self.tell_beginning(told);
        }
        if self.shared.options.debug {
            let name = self.shared.scripts.get(self.script).map_or("", |script| &script.script.name);
            self.shared.console.info(&format!("client {} executing script \"{name}\"", self.identity.id));
        }
        TransactionType(self.script as u16)
    }

    fn begin_again(&mut self) {
        self.tell_retry();
        self.random = self.random_before;
        self.failure = None;
        self.restart();
    }

    fn next(&mut self, answer: Option<&Answer>, request: &mut Request<'_>) -> Step {
        if let Some(pause) = self.pause.take() {
            return Step::Pause(pause);
        }
        let Some(shared) = self.lent.take() else { return Step::Abort };
        let ran = self.resume(answer, request).and_then(|()| {
            // The clock need not be read again where nothing stands behind the last statement.
            if answer.is_some() && self.is_at_end(&shared) {
                request.took_no_time();
            }
            self.run(&shared, request)
        });
        let ran = match ran {
            Ok(step @ Step::SendCommit) => self.note_commit(&shared, step),
            ran => ran,
        };
        self.lent = Some(shared);
        self.waits = matches!(ran, Ok(Step::Send | Step::SendCommit | Step::Sleep(_)));
        ran.unwrap_or_else(|Aborted { why }| {
            self.gave_up = Some(why);
            self.shared.aborted(self.identity.thread);
            Step::Abort
        })
    }

    fn connected(&mut self, took_ns: u64) {
        (self.status, self.online) = (TransactionStatus::Idle, true);
        self.prepared.fill(false);
        if let Some(tally) = self.tallies.first() {
            tally.connected(took_ns as f64 / 1e3);
        }
    }

    fn reply(&mut self, part: Reply<'_>) {
        match part {
            Reply::Notice(notice) => self.shared.console.raw(&libpq_text::notice(notice, None)),
            Reply::CopyOut => {
                if !std::mem::replace(&mut self.copied, true) {
                    self.shared.console.error("COPY is not supported in pgbench, aborting");
                }
            }
            Reply::Rows(_) => self.rows.begin_result(),
            Reply::Column(name) => {
                let Some(gset) = self.shared.gset(self.script, self.command) else { return };
                self.rows.column(&gset.prefix, name, &self.shared.names);
            }
            Reply::Kind(kind) => self.rows.kind(kind),
            Reply::Row(row) => self.rows.row(&row),
            Reply::Complete => {
                self.rows.complete();
                if self.shared.gset(self.script, self.command).is_some_and(|gset| gset.every)
                    && self.rows.last_rows() > 0
                {
                    self.rows.store_every(self.shared.options.language, &mut self.variables);
                }
            }
        }
    }

    fn failed(&mut self, failure: &StatementFailure<'_>) -> Reaction {
        self.react(failure)
    }

    fn place(&self) -> Option<Box<str>> {
        (self.shared.options.language == Language::Workload).then(|| self.place_of_command().into())
    }

    fn gave_up(&mut self) -> Option<String> {
        self.gave_up.take()
    }

    fn lost(&mut self, error: &SessionError) {
        self.not_committed(true);
        self.tell_lost(error);
        self.shared.aborted(self.identity.thread);
    }

    fn ended(&mut self, ended: &EndedTransaction) {
        self.count(ended);
        if self.shared.told.is_some() {
            match ended.well {
                true => self.note_end(),
                false => self.not_committed(false),
            }
        }
        // Between two transactions it stands at none of the commands.
        self.command = 0;
        self.online = !self.shared.options.connects_each;
    }

    fn add_counts(&mut self, counts: &mut [u64]) {
        counts.iter_mut().zip(&self.counted).for_each(|(sum, count)| *sum += count);
    }

    fn skipped(&mut self, _due_ns: u64, now_ns: u64) {
        self.count_skipped(now_ns);
    }
}

impl ScriptClient {
    /// At the script's first command.
    fn restart(&mut self) {
        (self.command, self.jumped, self.waits, self.pipeline) = (0, false, false, None);
        self.preparing = None;
        self.turns.clear();
        (self.turned, self.returned, self.rolled_back) = (0, 0, false);
    }

    /// Sets what the script of a workload file knows at its beginning.
    #[inline]
    fn tell_beginning(&mut self, told: Told) {
        if told.is_silent() {
            return;
        }
        let clients = self.shared.clients_begun.load(Ordering::Relaxed);
        for (slot, count) in [(told.returned, 0), (told.affected, 0), (told.clients, i64::from(clients))] {
            if let Some(slot) = slot {
                self.variables.set(slot, Value::Integer(count));
            }
        }
    }

    /// Chooses the next transaction's script, once.
    pub(super) fn choose(&mut self) {
        if self.chosen.is_none() {
            self.script = self.next_script();
            self.chosen = Some(self.script);
        }
    }

    /// The command to which the loss of a connection belongs: it is noticed by the next one that uses it.
    pub(super) fn command_at_loss(&self) -> usize {
        let commands = self.shared.scripts.get(self.script).map_or(&[][..], |script| &script.script.commands);
        let sleeps = matches!(commands.get(self.command).map(|it| &it.kind), Some(Kind::Sleep { .. }));
        let next = commands.iter().skip(self.command).position(|it| matches!(it.kind, Kind::Sql(_)));
        match next {
            Some(further) if sleeps => self.command + further,
            _ => self.command,
        }
    }

    /// Whether a transaction block was open behind the last answer.
    pub(super) fn is_within(&self) -> bool {
        self.status != TransactionStatus::Idle
    }

    /// After a failure that the client survives: no transaction block will be open, nor a pipeline.
    pub(super) fn settled(&mut self) {
        (self.status, self.pipeline, self.waits) = (TransactionStatus::Idle, None, false);
    }
}
