//! The script language of `dyno pgbench`: what pgbench 18 accepts, and nothing else. Workload files have more: see [`Language`].
//!
//! [`parse`] turns a script's text into commands whose expressions are compiled and whose variables are slots, so that
//! a client runs them without allocation. Pure: nothing here sends, waits or prints; messages are returned.

pub mod builtin;
mod counters;
mod decimal;
mod error;
mod expression;
mod hash;
mod meta;
mod names;
mod operand;
mod parse;
mod quoted;
pub mod random;
mod rows;
pub mod seeds;
mod source;
mod sql;
mod statement;
mod undefined;
mod value;
mod variables;

pub use counters::{Counters, Numbers};
pub(crate) use decimal::Decimal;
pub use dyno_results::spec::Protocol;
pub use error::{EvaluateError, ScriptError};
pub(crate) use expression::functions;
pub use expression::{Context, ExpressionError, Program, compile};
pub use names::{Names, Slot};
pub use operand::{Operand, Quote, SleepUnit, shell_command, sleep_us};
pub use parse::parse;
pub use quoted::{changing_name, parse_with_text, quoted_variable};
pub use rows::{RowContext, column_seed};
pub use sql::{Gset, Sql};
pub(crate) use undefined::sets;
pub use undefined::{Undefined, undefined};
pub use value::{TextRange, Value};
pub use variables::Variables;
pub(crate) use variables::spells_a_value;

use dyno_target::statements::UserStatement;

use crate::durable::only_reads;

/// What a text may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// What pgbench takes.
    Pgbench,
    /// That, and what workload files have beyond it: texts, exact decimals, `pick`, `coalesce` and
    /// their like.
    Workload,
}

/// A script, ready to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    pub name: String,
    /// Where it is written.
    pub file: String,
    /// In the script's order, one for each of pgbench's: their indices appear in messages and in `-r`.
    pub commands: Vec<Command>,
}

impl Script {
    /// What may reach a server: its SQL, statement by statement, and the command lines for the shell. The variables that `given`
    /// (`-D`) gives a value and no command another have it.
    pub fn statements<'g>(
        &self,
        names: &Names,
        given: impl IntoIterator<Item = (&'g str, &'g str)>,
    ) -> Vec<UserStatement> {
        let mut constants = Variables::new(names);
        for (name, value) in given.into_iter().filter(|(name, _)| !self.may_set(name, names)) {
            if let Some(slot) = names.find(name) {
                constants.set_spelling(slot, value);
            }
        }
        let statement = |command: &Command| match &command.kind {
            Kind::Sql(sql) => {
                let sql = sql.written(names, &constants);
                Some(UserStatement { only_reads: only_reads(&sql), sql })
            }
            Kind::SetShell { words, .. } | Kind::Shell { words } => {
                let words: Vec<_> = words.iter().map(|word| word.written(names)).collect();
                Some(UserStatement { only_reads: false, sql: words.join(" ") })
            }
            _ => None,
        };
        self.commands.iter().filter_map(statement).collect()
    }

    /// Whether a command may give a variable a value: the columns of a result are not known before.
    fn may_set(&self, name: &str, names: &Names) -> bool {
        self.commands.iter().any(|command| match &command.kind {
            Kind::Sql(Sql { gset: Some(gset), .. }) => name.starts_with(&gset.prefix),
            kind => undefined::sets(kind).is_some_and(|slot| names.name(slot) == name),
        })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// The command's first line as `-r` prints it.
    pub first_line: String,
    /// The line of the file in which it begins, from 1.
    pub line: u32,
    pub kind: Kind,
}

impl Kind {
    /// The expressions in it.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Program> {
        let (one, other) = match self {
            Self::Set { expression: one, .. }
            | Self::Once { expression: one, .. }
            | Self::If { condition: one, .. }
            | Self::Elif { condition: one, .. } => (Some(one), None),
            Self::SetElement { index: one, expression: other, .. }
            | Self::For { from: one, to: other, .. } => (Some(one), Some(other)),
            _ => (None, None),
        };
        one.into_iter().chain(other)
    }
}

/// What a command does. Jumps are indices into [`Script::commands`].
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Sql(Sql),
    Set {
        slot: Slot,
        expression: Program,
    },
    /// If the condition does not hold, the next command is `otherwise`. Where that is an [`Kind::Elif`], its condition
    /// is to be evaluated; it is never an [`Kind::Else`], but the command behind that.
    If {
        condition: Program,
        otherwise: usize,
    },
    /// Come to by a jump: as [`Kind::If`]. Come to from the command before it, the branch taken ends here: the next
    /// command is `end`.
    Elif {
        condition: Program,
        otherwise: usize,
        end: usize,
    },
    /// Come to from the command before it: the next command is `end`, the index of the `\endif`.
    Else {
        end: usize,
    },
    Endif,
    /// See [`sleep_us`].
    Sleep {
        amount: Operand,
        unit: SleepUnit,
    },
    /// See [`shell_command`]; the first line of its output is the variable's new value, an integer.
    SetShell {
        slot: Slot,
        words: Vec<Operand>,
    },
    Shell {
        words: Vec<Operand>,
    },
    StartPipeline,
    SyncPipeline,
    EndPipeline,
    /// Sets a variable that has no value yet: what a client keeps from one transaction to the next.
    Once {
        slot: Slot,
        expression: Program,
    },
    SetElement {
        array: Slot,
        index: Program,
        expression: Program,
    },
    /// Up to `end`, the index of the `\\endfor`, with each number of a range.
    For {
        slot: Slot,
        from: Program,
        to: Program,
        end: usize,
    },
    EndFor {
        slot: Slot,
        /// The index of the `\\for`.
        begin: usize,
    },
    /// The transaction ends here, and what it did is undone.
    Rollback,
}
