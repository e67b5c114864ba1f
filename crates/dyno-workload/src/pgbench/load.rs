//! The load of a pgbench run: its scripts, what all clients share, and what they count.

use dyno_results::spec::Arrivals;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use dyno_engine::request::Statement;
use dyno_engine::schedule::Gaps;
use dyno_engine::workload::{Client, ClientIdentity, StatementId, TransactionType, Workload};

use super::bound::BoundScripts;
use super::client::ScriptClient;
use super::console::Console;
use super::effects::{Effect, EffectCount, OutcomeCounts, Outcomes};
use super::log::{LogEntry, LogError, LogOptions, TransactionLog};
use super::messages::Messages;
use super::mix::Pauses;
use super::tally::{Counts, Tally};
use crate::script::random::Prng;
use crate::script::seeds::{Seeds, choose};
use crate::script::{
    Command, Counters, Gset, Kind, Language, Names, Program, Protocol, Script, Slot, Sql, Value, Variables,
    sets,
};

/// A script and how often it is chosen.
#[derive(Debug, Clone)]
pub struct WeightedScript {
    pub script: Script,
    pub weight: u32,
    /// What a transaction does to the numbers of rows.
    pub effects: Vec<Effect>,
    /// What is counted within its transactions, over the variables at the end of the script.
    pub counts: Vec<Program>,
    /// Rows that its statements are to return, together.
    pub returns: Option<u64>,
    pub pauses: Pauses,
}

impl WeightedScript {
    pub fn new(script: Script, weight: u32) -> Self {
        Self {
            script,
            weight,
            effects: Vec::new(),
            counts: Vec::new(),
            returns: None,
            pauses: Pauses::default(),
        }
    }
}

/// What decides a run, beside its scripts.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadOptions {
    /// `-D`, in order; a later one of the same name counts.
    pub defines: Vec<(String, String)>,
    pub mode: Protocol,
    pub clients: u32,
    /// Never more than clients.
    pub threads: u32,
    pub random_seed: u64,
    /// `None`: no limit.
    pub tries_max: Option<u32>,
    pub latency_limit: Option<Duration>,
    /// `-R`: of all clients together, transactions a second.
    pub rate: Option<f64>,
    pub continue_on_error: bool,
    /// `-C`: each transaction has a connection of its own.
    pub connects_each: bool,
    pub exit_on_abort: bool,
    /// In that of workload files what cannot do what the script says ends its client: a statement with a variable that has no value,
    /// and one that the server does not prepare. pgbench sends both.
    pub language: Language,
    /// Scripts are dealt, each as often as its weight says, and not drawn.
    pub dealt: bool,
    pub failures_detailed: bool,
    pub verbose_errors: bool,
    /// `--debug`
    pub debug: bool,
    /// `-r`: time each command.
    pub time_commands: bool,
    pub log: Option<LogOptions>,
}

impl Default for LoadOptions {
    /// What a bare `pgbench` runs.
    fn default() -> Self {
        Self {
            defines: Vec::new(),
            mode: Protocol::Simple,
            clients: 1,
            threads: 1,
            random_seed: 0,
            tries_max: Some(1),
            latency_limit: None,
            rate: None,
            continue_on_error: false,
            connects_each: false,
            exit_on_abort: false,
            language: Language::Pgbench,
            dealt: false,
            failures_detailed: false,
            verbose_errors: false,
            debug: false,
            time_commands: false,
            log: None,
        }
    }
}

/// The load of a run; cheap to clone.
#[derive(Clone)]
pub struct PgbenchLoad(pub(super) Arc<PgbenchShared>);

/// What all clients share.
pub(super) struct PgbenchShared {
    pub(super) scripts: Vec<WeightedScript>,
    weights: Vec<i64>,
    pub(super) names: Names,
    pub(super) options: LoadOptions,
    pub(super) console: Console,
    /// Set when a client aborts and that is to end the run.
    stop: Arc<AtomicBool>,
    /// The first thread of which a client aborted.
    aborted_thread: OnceLock<u32>,
    pub(super) messages: Messages,
    variables: Variables,
    clients: Vec<Prng>,
    threads: Vec<ThreadShare>,
    types: Vec<String>,
    pub(super) bound: BoundScripts,
    /// What scripts of workload files are told; `None` for pgbench's.
    pub(super) told: Option<Told>,
    pub(super) clients_begun: AtomicU32,
    pub(super) has_pauses: bool,
}

/// The variables that a script of a workload file has of itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told {
    /// Rows that the last statement has returned, and changed.
    pub(super) returned: Option<Slot>,
    pub(super) affected: Option<Slot>,
    /// How many there are.
    pub(super) clients: Option<Slot>,
}

impl Told {
    /// Whether no script reads any of them.
    #[inline]
    pub(super) fn is_silent(self) -> bool {
        matches!(self, Self { returned: None, affected: None, clients: None })
    }
}

/// What the clients of one thread share. Only that thread takes the lock while the load runs, so it never waits; and it
/// shares no cache line with what other threads write.
#[repr(align(128))]
struct ThreadShare {
    state: Mutex<ThreadState>,
    /// Made with the first client of the thread: a driver may have thousands of threads, and a script thousands of commands.
    counts: OnceLock<ThreadCounts>,
}

/// What the clients of one thread count.
#[derive(Clone)]
pub(super) struct ThreadCounts {
    /// By script.
    pub(super) tallies: Vec<Arc<Tally>>,
    pub(super) outcomes: Arc<OutcomeCounts>,
}

struct ThreadState {
    script_random: Prng,
    throttle_random: Prng,
    log: Option<TransactionLog>,
}

impl std::fmt::Debug for PgbenchLoad {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PgbenchLoad").field("types", &self.0.types).finish_non_exhaustive()
    }
}

impl PgbenchLoad {
    /// Draws the seeds and opens the logs. With `--exit-on-abort` a client that aborts sets `stop`.
    ///
    /// # Errors
    /// When a log cannot be opened.
    pub fn new(
        mut scripts: Vec<WeightedScript>,
        (mut names, mut bound, counters): (Names, BoundScripts, Counters),
        options: LoadOptions,
        scale: i64,
        stop: Arc<AtomicBool>,
        console: Console,
    ) -> Result<Self, LogError> {
        if bound.statements.is_empty() {
            bound.statements.push(Statement::new("ROLLBACK"));
        }
        let mut seeds = Seeds::new(options.random_seed);
        let clients = (0..options.clients).map(|_| seeds.client()).collect();
        let mut variables = initial_variables(&options, &mut names, scale, &mut seeds);
        variables.share(Arc::new(counters));
        fold(&mut scripts, &variables, &names);
        // A variable of the user's with such a name stays what it is.
        let is_set = |slot: Slot| {
            let commands = scripts.iter().flat_map(|script| &script.script.commands);
            commands.into_iter().any(|command| sets(&command.kind) == Some(slot))
                || options.defines.iter().any(|(name, _)| names.find(name) == Some(slot))
        };
        let [returned, affected, clients_slot] =
            ["returned", "affected", "clients"].map(|name| names.find(name).filter(|slot| !is_set(*slot)));
        let told = Told { returned, affected, clients: clients_slot };
        let told = (options.language == Language::Workload).then_some(told);
        let threads = (0..options.threads)
            .map(|thread| {
                let streams = seeds.thread();
                let log = TransactionLog::open(&options, thread, streams.sampling)?;
                Ok(ThreadShare {
                    state: Mutex::new(ThreadState {
                        script_random: streams.script,
                        throttle_random: streams.throttle,
                        log,
                    }),
                    counts: OnceLock::new(),
                })
            })
            .collect::<Result<_, LogError>>()?;
        Ok(Self(Arc::new(PgbenchShared {
            weights: scripts.iter().map(|script| i64::from(script.weight)).collect(),
            types: scripts.iter().map(|script| script.script.name.clone()).collect(),
            messages: Messages::new(&scripts, options.mode),
            has_pauses: scripts.iter().any(|script| script.pauses != Pauses::default()),
            scripts,
            names,
            options,
            console,
            stop,
            aborted_thread: OnceLock::new(),
            variables,
            clients,
            threads,
            bound,
            told,
            clients_begun: AtomicU32::new(0),
        })))
    }

    /// What was counted so far, by script.
    pub fn counts_by_script(&self) -> Vec<Counts> {
        let mut scripts = vec![Counts::default(); self.0.scripts.len()];
        for thread in &self.0.threads {
            for (sum, tally) in
                scripts.iter_mut().zip(thread.counts.get().into_iter().flat_map(|counts| &counts.tallies))
            {
                sum.merge(&tally.read());
            }
        }
        scripts
    }

    /// What was counted so far, of all scripts.
    pub fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        self.counts_by_script().iter().for_each(|script| sum.merge_script(script));
        sum
    }

    /// What transactions have done to the numbers of rows, by [`Effect::count`].
    pub fn effects(&self) -> Vec<EffectCount> {
        let mut sums = Vec::new();
        self.0.outcomes().for_each(|outcomes| outcomes.add_effects(&mut sums));
        sums
    }

    /// What transactions came to that have ended well, beside that.
    pub fn outcomes(&self) -> Outcomes {
        let mut sum = Outcomes { done: self.counts().done, ..Outcomes::default() };
        self.0.outcomes().for_each(|outcomes| sum.add(&outcomes.read()));
        sum
    }

    /// The first thread of which a client aborted.
    pub fn aborted_thread(&self) -> Option<u32> {
        self.0.aborted_thread.get().copied()
    }

    pub fn scripts(&self) -> &[WeightedScript] {
        &self.0.scripts
    }

    /// The load begins: intervals of the logs count from here.
    pub fn start_logs(&self, now_ns: u64) {
        for thread in &self.0.threads {
            if let Some(log) = &mut lock(&thread.state).log {
                log.start(now_ns);
            }
        }
    }

    /// Writes what the logs still hold.
    ///
    /// # Errors
    /// The first failure to write one, now or earlier.
    pub fn finish_logs(&self) -> Result<(), LogError> {
        let finished = self.0.threads.iter().map(|thread| match &mut lock(&thread.state).log {
            Some(log) => log.finish(),
            None => Ok(()),
        });
        finished.fold(Ok(()), Result::and)
    }
}

fn lock(state: &Mutex<ThreadState>) -> MutexGuard<'_, ThreadState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Computes once what is the same in each transaction: what follows from variables that no command sets.
fn fold(scripts: &mut [WeightedScript], variables: &Variables, names: &Names) {
    let commands = || scripts.iter().flat_map(|script| &script.script.commands);
    // Which variables the columns of an answer set is known when it comes.
    let is_gset = |command: &Command| matches!(&command.kind, Kind::Sql(Sql { gset: Some(_), .. }));
    let has_gset = commands().any(is_gset);
    let set: BTreeSet<Slot> = commands().filter_map(|command| sets(&command.kind)).collect();
    // What is spelled is read when it is first needed.
    let mut variables = variables.clone();
    let mut known = |slot: Slot| match variables.value(slot, names) {
        Ok(value @ Value::Integer(_)) if !has_gset && !set.contains(&slot) => Some(value),
        _ => None,
    };
    for command in scripts.iter_mut().flat_map(|script| &mut script.script.commands) {
        if let Kind::Set { expression, .. } = &mut command.kind {
            *expression = expression.folded(&mut known);
        }
    }
}

/// The variables that every client begins with: `-D` first, and where those are silent, what pgbench sets itself.
fn initial_variables(options: &LoadOptions, names: &mut Names, scale: i64, seeds: &mut Seeds) -> Variables {
    // Of client_id only the slot: each client sets its own.
    let [scale_slot, random_seed, default_seed, _] =
        ["scale", "random_seed", "default_seed", "client_id"].map(|name| names.slot(name));
    let defines: Vec<_> = options.defines.iter().map(|(name, value)| (names.slot(name), value)).collect();
    let mut variables = Variables::new(names);
    variables.set(scale_slot, Value::Integer(scale));
    variables.set(random_seed, Value::Integer(options.random_seed.cast_signed()));
    for (slot, value) in defines {
        match options.language {
            Language::Pgbench => variables.set_spelling(slot, value),
            Language::Workload => variables.set_given(slot, value),
        }
    }
    let defined = |name: &str| options.defines.iter().any(|(defined, _)| defined == name);
    if !defined("default_seed") {
        variables.set(default_seed, Value::Integer(seeds.default_seed()));
    }
    variables
}

impl PgbenchShared {
    fn outcomes(&self) -> impl Iterator<Item = &OutcomeCounts> {
        self.threads.iter().filter_map(|thread| thread.counts.get()).map(|counts| &*counts.outcomes)
    }

    /// `\gset` or `\aset` of an SQL command.
    pub(super) fn gset(&self, script: usize, command: usize) -> Option<&Gset> {
        match &self.scripts.get(script)?.script.commands.get(command)?.kind {
            Kind::Sql(sql) => sql.gset.as_ref(),
            _ => None,
        }
    }

    /// Chooses the next transaction's script as pgbench would.
    pub(super) fn choose_script(&self, thread: u32) -> usize {
        match (&*self.weights, self.threads.get(thread as usize)) {
            ([] | [_], _) | (_, None) => 0,
            (weights, Some(share)) => choose(weights, &mut lock(&share.state).script_random),
        }
    }

    pub(super) fn write_log(&self, thread: u32, entry: &LogEntry) {
        if let Some(share) = self.threads.get(thread as usize)
            && let Some(log) = &mut lock(&share.state).log
        {
            log.write(entry);
        }
    }

    /// A client cannot go on.
    pub(super) fn aborted(&self, thread: u32) {
        // Only the first is told.
        let _ = self.aborted_thread.set(thread);
        if self.options.exit_on_abort {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Workload for PgbenchLoad {
    fn types(&self) -> &[String] {
        &self.0.types
    }

    fn counts(&self, TransactionType(script): TransactionType) -> usize {
        self.0.scripts.get(usize::from(script)).map_or(0, |script| script.counts.len())
    }

    fn statements(&self) -> &[Statement] {
        &self.0.bound.statements
    }

    fn recovery(&self) -> Option<StatementId> {
        Some(StatementId(0))
    }

    fn timed_from_begin(&self) -> bool {
        !self.0.has_pauses
    }

    fn gaps(&self, thread: u32, arrivals: &Arrivals) -> Option<Gaps> {
        let Arrivals::Open { rate_per_s, .. } = arrivals else { return None };
        let mean_us = 1e6 / rate_per_s * self.0.threads.len() as f64;
        let mut random = lock(&self.0.threads.get(thread as usize)?.state).throttle_random;
        // In whole microseconds, as pgbench has them.
        Some(Box::new(move || random.poisson(mean_us) as f64 / mean_us))
    }

    fn client(&self, identity: ClientIdentity, _seed: u64) -> Box<dyn Client> {
        let shared = &self.0;
        shared.clients_begun.fetch_max(identity.id.saturating_add(1), Ordering::Relaxed);
        let mut variables = shared.variables.clone();
        if let Some(slot) = shared.names.find("client_id").filter(|slot| !variables.is_set(*slot)) {
            variables.set(slot, Value::Integer(i64::from(identity.id)));
        }
        // Of more clients than were expected each has a seed of its own all the same.
        let further = || (u64::from(identity.id) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let random = shared.clients.get(identity.id as usize).copied();
        let random = random.unwrap_or_else(|| Prng::seed(shared.options.random_seed ^ further()));
        let tally = |script: &WeightedScript| Arc::new(Tally::new(script.script.commands.len()));
        let made = || ThreadCounts {
            tallies: shared.scripts.iter().map(tally).collect(),
            outcomes: Arc::new(OutcomeCounts::new(shared.scripts.iter().flat_map(|it| &it.effects))),
        };
        let share = shared.threads.get(identity.thread as usize);
        let counts = share.map_or_else(made, |share| share.counts.get_or_init(made).clone());
        Box::new(ScriptClient::new(Arc::clone(shared), identity, variables, random, counts))
    }
}
