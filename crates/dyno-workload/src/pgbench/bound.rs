//! How a script's SQL commands are sent where the server does not speak pgbench's protocol: as statements of the engine, whose values
//! are bound, or with `--protocol simple` literals that the engine quotes. A variable is a value, and never a part of the text.

use dyno_engine::request::{QueryKind, Request, Statement};
use dyno_engine::workload::{StatementId, Step};
use dyno_target::product::Dialect;

use super::client::{Aborted, ScriptClient};
use crate::script::{Command, Kind, Operand, Protocol, Script, Slot, Sql};
use crate::statements::statements;

/// Up to so many parameters are gathered where they are integers.
const INTEGERS_MAX: usize = 16;

/// How a command is sent.
#[derive(Debug)]
pub(super) enum Bound {
    Statement {
        id: StatementId,
        parameters: Box<[Slot]>,
    },
    /// As it is: what is not prepared, because it may make what later ones need.
    Text(Box<str>),
}

/// The commands of all scripts, by script and command; of no length where they are sent as pgbench does.
#[derive(Debug, Default)]
pub struct BoundScripts {
    commands: Vec<Vec<Option<Bound>>>,
    pub(super) statements: Vec<Statement>,
}

/// Why a script cannot be sent so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    #[error("{file}:{line}: there are no transactions on this target: leave {words} out")]
    NoTransactions { file: String, line: u32, words: String },
    #[error(
        "{file}:{line}: a message of several statements has variables, and this target prepares one statement at a time: write \
         ; instead of \\;, or run with --protocol simple"
    )]
    Several { file: String, line: u32 },
    #[error("{file}:{line}: the scripts have more than 65,535 statements")]
    TooMany { file: String, line: u32 },
}

/// What a statement that stands alone does to the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Begin,
    Commit,
    Rollback,
}

impl Block {
    fn of(sql: &str) -> Option<Self> {
        let words: Vec<String> = sql.split_whitespace().map(str::to_ascii_lowercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["begin"] | ["begin" | "start", "transaction"] | ["begin", "work"] => Some(Self::Begin),
            ["commit" | "end"] | ["commit" | "end", "transaction" | "work"] => Some(Self::Commit),
            ["rollback" | "abort"] | ["rollback" | "abort", "transaction" | "work"] => Some(Self::Rollback),
            _ => None,
        }
    }

    fn sql(self, writes: bool, dialect: &Dialect) -> &'static str {
        match self {
            Self::Begin if writes => dialect.begin_write,
            Self::Begin => dialect.begin,
            Self::Commit => "COMMIT",
            Self::Rollback => "ROLLBACK",
        }
    }
}

/// Whether a command begins a transaction and does nothing else.
pub(crate) fn begins(sql: &Sql) -> bool {
    let text = match sql.pieces.as_ref() {
        [] => String::from_utf8_lossy(&sql.text),
        [Operand::Text(text)] => String::from_utf8_lossy(text),
        _ => return false,
    };
    matches!(statements(&text).as_slice(), [only] if Block::of(only) == Some(Block::Begin))
}

impl BoundScripts {
    /// Scripts that were read for the simple protocol, with whether each may change data. What ends a failed transaction is the
    /// first of the statements.
    ///
    /// # Errors
    /// One cannot be sent on a target of this dialect.
    pub fn new(
        scripts: &[(&Script, bool)],
        protocol: Protocol,
        dialect: &Dialect,
    ) -> Result<Self, BindError> {
        let mut all = Self { commands: Vec::new(), statements: vec![recovery(dialect)] };
        for (script, writes) in scripts {
            let mut commands = Vec::new();
            for command in &script.commands {
                let place = || (script.file.clone(), command.line);
                commands.push(match &command.kind {
                    Kind::Rollback if dialect.begin.is_empty() => {
                        let (file, line) = place();
                        return Err(BindError::NoTransactions { file, line, words: "\\rollback".to_owned() });
                    }
                    Kind::Sql(sql) => Some(all.bound(sql, *writes, protocol, dialect, place)?),
                    _ => None,
                });
            }
            all.commands.push(commands);
        }
        Ok(all)
    }

    #[inline]
    pub(super) fn of(&self, script: usize, command: usize) -> Option<&Bound> {
        self.commands.get(script)?.get(command)?.as_ref()
    }

    fn bound(
        &mut self,
        sql: &Sql,
        writes: bool,
        protocol: Protocol,
        dialect: &Dialect,
        place: impl Fn() -> (String, u32),
    ) -> Result<Bound, BindError> {
        let (parts, behind, parameters) = cut(sql);
        let text = parts.join("0") + if parts.is_empty() { "" } else { "0" } + &behind;
        let own = statements(&text);
        let bare = own.first().map_or("", String::as_str);
        if let Some(block) = Block::of(bare).filter(|_| own.len() == 1) {
            if dialect.begin.is_empty() {
                let (file, line) = place();
                return Err(BindError::NoTransactions { file, line, words: bare.to_owned() });
            }
            let sql = block.sql(writes, dialect);
            let statement = if dialect.prepares_begin { Statement::new(sql) } else { Statement::text(sql) };
            return self.statement(statement, Box::default(), place);
        }
        if parameters.is_empty() && sql.kind == QueryKind::Other {
            return Ok(Bound::Text(behind.into()));
        }
        if own.len() > 1 && protocol != Protocol::Simple {
            let (file, line) = place();
            return Err(BindError::Several { file, line });
        }
        let statement = Statement::of_parts(parts, &behind);
        let statement = if sql.gset.is_some() { statement.with_columns() } else { statement };
        self.statement(statement, parameters, place)
    }

    fn statement(
        &mut self,
        statement: Statement,
        parameters: Box<[Slot]>,
        place: impl Fn() -> (String, u32),
    ) -> Result<Bound, BindError> {
        let (file, line) = place();
        let Ok(number) = u16::try_from(self.statements.len()) else {
            return Err(BindError::TooMany { file, line });
        };
        self.statements.push(statement.at(&format!("{file}:{line}")));
        Ok(Bound::Statement { id: StatementId(number), parameters })
    }
}

/// Ends a failed transaction.
pub(super) fn recovery(dialect: &Dialect) -> Statement {
    if dialect.prepares_begin { Statement::new("ROLLBACK") } else { Statement::text("ROLLBACK") }
}

/// What stands before each variable and behind the last, without the semicolon at the end, and the variables.
fn cut(sql: &Sql) -> (Vec<String>, String, Box<[Slot]>) {
    let (mut parts, mut text, mut parameters) = (Vec::new(), String::new(), Vec::new());
    for piece in &sql.pieces {
        match piece {
            Operand::Text(piece) => text.push_str(&String::from_utf8_lossy(piece)),
            Operand::Variable(slot) | Operand::Quoted(slot, _) => {
                parts.push(std::mem::take(&mut text));
                parameters.push(*slot);
            }
        }
    }
    let behind = text.trim_end().trim_end_matches(';').to_owned();
    (parts, behind, parameters.into())
}

impl ScriptClient {
    /// Adds an SQL command that is bound to the request.
    #[inline]
    pub(super) fn send_bound(
        &mut self,
        bound: &Bound,
        sql: &Sql,
        request: &mut Request<'_>,
    ) -> Result<Step, Aborted> {
        match bound {
            Bound::Text(text) => request.query(text.as_bytes()),
            Bound::Statement { id, parameters } => {
                let mut integers = [0; INTEGERS_MAX];
                // Numbers alone are written quicker, into a message that is there already.
                let integers = match &sql.gset {
                    Some(_) => None,
                    None => self.variables.integers(parameters, &mut integers),
                };
                match integers {
                    Some(integers) => request.execute(*id, integers),
                    None => {
                        self.check_values(sql)?;
                        let value =
                            |index: usize| parameters.get(index).map(|slot| self.variables.bound(*slot));
                        request.execute_with(*id, value);
                    }
                }
            }
        }
        request.counts_as(sql.kind);
        if sql.gset.is_some() {
            self.rows.clear();
            request.keep_rows();
        }
        Ok(sql.durable.step(self.is_within()))
    }
}

/// The first command that has a part of PostgreSQL's protocol, as messages call it.
pub(crate) fn pipeline(script: &Script) -> Option<&Command> {
    script.commands.iter().find(|command| matches!(command.kind, Kind::StartPipeline))
}
