//! What transactions of a workload file do to the numbers of rows, for verification: computed when the commit is sent, and counted
//! when its outcome is known. One whose outcome is not known may have been done, and one that was undone counts for nothing.

use dyno_engine::workload::Step;
use serde::{Deserialize, Serialize};

use super::client::{Aborted, ScriptClient};
use super::load::PgbenchShared;
use crate::script::{Context, EvaluateError, Program};
use crate::single_writer::Count;

/// So many rows for each transaction of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// Which count it adds to: that of a table, and whether rows are added or removed there.
    pub count: usize,
    /// Over the variables of the script.
    pub rows: Program,
}

/// Rows of all transactions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectCount {
    pub acknowledged: i64,
    /// Of transactions of which it is not known whether they, or all of them, were done.
    pub unknown: i64,
}

impl EffectCount {
    pub(crate) fn add(&mut self, other: &Self) {
        self.acknowledged += other.acknowledged;
        self.unknown += other.unknown;
    }
}

/// Transactions that have ended well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcomes {
    pub done: u64,
    /// Of those that are to return a number of rows, and were not undone.
    pub answers: u64,
    /// Of these, those that returned another.
    pub wrong_answers: u64,
}

impl Outcomes {
    pub(crate) fn add(&mut self, other: &Self) {
        self.done += other.done;
        self.answers += other.answers;
        self.wrong_answers += other.wrong_answers;
    }
}

/// What the clients of one thread add to: threads that wrote to the same line of a cache would wait for each other.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct OutcomeCounts {
    answers: Count,
    wrong_answers: Count,
    effects: Effects,
}

impl OutcomeCounts {
    pub(super) fn new<'e>(effects: impl Iterator<Item = &'e Effect>) -> Self {
        Self { effects: Effects::new(effects), ..Self::default() }
    }

    /// Without how many transactions are done.
    pub(super) fn read(&self) -> Outcomes {
        Outcomes { done: 0, answers: self.answers.get(), wrong_answers: self.wrong_answers.get() }
    }

    pub(super) fn add_effects(&self, sums: &mut Vec<EffectCount>) {
        let counts = self.effects.counts();
        sums.resize(sums.len().max(counts.len()), EffectCount::default());
        sums.iter_mut().zip(&counts).for_each(|(sum, count)| sum.add(count));
    }
}

/// Rows that were added and removed, by [`Effect::count`].
#[derive(Debug, Default)]
struct Effects(Vec<Pair>);

/// Of one table acknowledged rows, and those of unknown outcome.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Pair([Count; 2]);

impl Effects {
    fn new<'e>(effects: impl Iterator<Item = &'e Effect>) -> Self {
        let count = effects.map(|effect| effect.count + 1).max().unwrap_or(0);
        Self((0..count).map(|_| Default::default()).collect())
    }

    fn counts(&self) -> Vec<EffectCount> {
        let read = |Pair([acknowledged, unknown]): &Pair| EffectCount {
            acknowledged: acknowledged.get().cast_signed(),
            unknown: unknown.get().cast_signed(),
        };
        self.0.iter().map(read).collect()
    }
}

/// How far a client's commit has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    None,
    Sent,
    Answered,
}

/// The commit of a client's transaction; of a script with several that of the last, and then something was done before.
#[derive(Debug, Default)]
pub(super) struct Commit {
    stage: Stage,
    /// An earlier one of the transaction was answered.
    has_earlier: bool,
    /// What the transaction does, by its script's effects.
    rows: Vec<i64>,
    /// The same of one that is not sent yet.
    next: Vec<i64>,
}

impl Commit {
    /// Where what it does is to be noted before it is sent.
    pub(super) fn draft(&mut self) -> &mut Vec<i64> {
        self.next.clear();
        &mut self.next
    }

    /// It is about to be sent, and does what was noted.
    pub(super) fn sent(&mut self) {
        self.has_earlier |= self.stage == Stage::Answered;
        self.stage = Stage::Sent;
        std::mem::swap(&mut self.rows, &mut self.next);
    }

    pub(super) fn answered(&mut self) {
        if self.stage == Stage::Sent {
            self.stage = Stage::Answered;
        }
    }

    /// The transaction has ended well.
    fn ended(&mut self, of: &[Effect], counts: &Effects) {
        let is_done = self.stage == Stage::Answered;
        self.count(is_done.then_some(0), of, counts);
    }

    /// A try has failed. `is_lost`: with the connection, so that the server may have done what it has not answered.
    fn failed(&mut self, is_lost: bool, of: &[Effect], counts: &Effects) {
        let may_be_done = match self.stage {
            Stage::None => false,
            Stage::Sent => is_lost || self.has_earlier,
            Stage::Answered => true,
        };
        self.count(may_be_done.then_some(1), of, counts);
    }

    #[inline]
    fn count(&mut self, place: Option<usize>, of: &[Effect], counts: &Effects) {
        if let Some(place) = place {
            for (effect, rows) in of.iter().zip(&self.rows) {
                if let Some(count) = counts.0.get(effect.count) {
                    count.0[place].add(rows.cast_unsigned());
                }
            }
        }
        (self.stage, self.has_earlier) = (Stage::None, false);
    }
}

impl ScriptClient {
    /// Where the transaction may be done with what is sent, notes what it does.
    pub(super) fn note_commit(&mut self, shared: &PgbenchShared, step: Step) -> Result<Step, Aborted> {
        let Some(script) = shared.scripts.get(self.script).filter(|it| !it.effects.is_empty()) else {
            return Ok(step);
        };
        let Self { commit, variables, random, .. } = self;
        let rows = commit.draft();
        let mut context = Context { variables, names: &shared.names, random, debug: &mut |_| () };
        let noted = script.effects.iter().try_for_each(|effect| -> Result<(), EvaluateError> {
            rows.push(effect.rows.integer(&mut context)?);
            Ok(())
        });
        let why = match noted {
            Ok(()) if rows.iter().all(|rows| *rows >= 0) => {
                commit.sent();
                return Ok(step);
            }
            Ok(()) => "fewer than no rows".to_owned(),
            Err(error) => error.to_string(),
        };
        Err(self.abort(&format!("what the transaction adds and removes: {why}")))
    }

    /// A try has failed, with the connection or not; or the client was stopped, and is not asked any more.
    #[inline]
    pub(super) fn not_committed(&mut self, is_lost: bool) {
        if self.commit.stage == Stage::None {
            return;
        }
        let effects = self.shared.scripts.get(self.script).map_or(&[][..], |script| &script.effects);
        self.commit.failed(is_lost, effects, &self.outcomes.effects);
    }

    /// A transaction of a workload file has ended well.
    #[inline]
    pub(super) fn note_end(&mut self) {
        let Some(script) = self.shared.scripts.get(self.script) else { return };
        if let Some(rows) = script.returns.filter(|_| !self.rolled_back) {
            self.outcomes.answers.add(1);
            if rows != self.returned {
                self.outcomes.wrong_answers.add(1);
            }
        }
        self.commit.ended(&script.effects, &self.outcomes.effects);
    }
}

impl Drop for ScriptClient {
    fn drop(&mut self) {
        self.not_committed(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Names, compile};

    /// What is counted of one row after these events of a transaction: `s`ent, `a`nswered, `e`nded, `f`ailed, `l`ost.
    fn counted(events: &str) -> (i64, i64) {
        let effect = Effect { count: 0, rows: compile("1", &mut Names::new()).unwrap() };
        let effects = Effects::new(std::iter::once(&effect));
        let of = std::slice::from_ref(&effect);
        let mut commit = Commit::default();
        for event in events.chars() {
            match event {
                's' => {
                    commit.draft().push(1);
                    commit.sent();
                }
                'a' => commit.answered(),
                'e' => commit.ended(of, &effects),
                'f' => commit.failed(false, of, &effects),
                _ => commit.failed(true, of, &effects),
            }
        }
        let count = effects.counts()[0];
        (count.acknowledged, count.unknown)
    }

    #[test]
    fn only_what_is_known_to_be_done_is_acknowledged() {
        for (events, expected) in [
            ("sae", (1, 0)),
            // Read only, or undone.
            ("e", (0, 0)),
            ("f", (0, 0)),
            ("l", (0, 0)),
            // Refused, and then tried again.
            ("sf", (0, 0)),
            ("sfsae", (1, 0)),
            ("sl", (0, 1)),
            // What follows the commit fails.
            ("saf", (0, 1)),
            ("sal", (0, 1)),
            // Of several commits.
            ("sasae", (1, 0)),
            ("sasf", (0, 1)),
            ("slsaesae", (2, 1)),
        ] {
            assert_eq!(counted(events), expected, "{events}");
        }
    }
}
