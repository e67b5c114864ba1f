//! Statements, and how a client's request is put into protocol messages for each protocol mode.
//!
//! The engine does not read SQL: a statement is text with holes.

use dyno_wire::pg::execution::Execution;
use dyno_wire::pg::frontend;

pub use dyno_wire::pg::frontend::BindWriter;

use crate::workload::StatementId;

/// Most parameters a statement may have.
pub const PARAMETERS_MAX: usize = 32;

/// How statements travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// As text with the values in it, one Query message.
    Simple,
    /// Parsed, bound and executed each time.
    Extended,
    /// Parsed once per connection, before the clock starts; bound and executed each time.
    #[default]
    Prepared,
}

impl Protocol {
    /// `simple`, `extended` or `prepared`, as pgbench's `--protocol` has them.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Extended => "extended",
            Self::Prepared => "prepared",
        }
    }
}

/// A statement with parameters `$1`, `$2`, ….
#[derive(Debug, Clone)]
pub struct Statement {
    sql: Box<str>,
    /// The text cut at its parameters: what stands before each, with the parameter's index.
    pieces: Box<[(Box<str>, usize)]>,
    tail: Box<str>,
}

impl Statement {
    /// Takes SQL in which every `$` followed by a number is a parameter, even within quotes.
    #[must_use]
    pub fn new(sql: &str) -> Self {
        let mut pieces = Vec::new();
        let mut piece = String::new();
        let mut rest = sql;
        while let Some(at) = rest.find('$') {
            let digits = rest[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
            let end = at + 1 + digits;
            match rest[at + 1..end].parse::<usize>() {
                Ok(number @ 1..=PARAMETERS_MAX) => {
                    piece.push_str(&rest[..at]);
                    pieces.push((std::mem::take(&mut piece).into(), number - 1));
                }
                _ => piece.push_str(&rest[..end]),
            }
            rest = &rest[end..];
        }
        piece.push_str(rest);
        Self { sql: sql.into(), pieces: pieces.into(), tail: piece.into() }
    }

    #[must_use]
    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// Writes the text with the values in the place of the parameters.
    fn write_literal(&self, params: &[i64], text: &mut String) {
        let mut digits = itoa::Buffer::new();
        for (before, index) in &self.pieces {
            text.push_str(before);
            text.push_str(params.get(*index).map_or("NULL", |value| digits.format(*value)));
        }
        text.push_str(&self.tail);
    }
}

/// The name that statement `id` is prepared under on every connection.
#[must_use]
pub(crate) fn statement_name(id: u16) -> String {
    format!("s{id}")
}

/// The statements of a workload as the run's protocol mode needs them.
#[derive(Debug)]
pub(crate) struct Statements {
    protocol: Protocol,
    statements: Vec<(Statement, Execution)>,
}

impl Statements {
    pub(crate) fn new(protocol: Protocol, statements: &[Statement]) -> Self {
        let named =
            |(id, statement): (u16, &Statement)| (statement.clone(), Execution::new(&statement_name(id)));
        Self { protocol, statements: (0..).zip(statements).map(named).collect() }
    }

    /// Appends what a fresh connection must send before the clock starts; true if there is anything to send.
    pub(crate) fn write_preparation(&self, out: &mut Vec<u8>) -> bool {
        if self.protocol != Protocol::Prepared || self.statements.is_empty() {
            return false;
        }
        for ((statement, _), id) in self.statements.iter().zip(0..) {
            frontend::parse(out, &statement_name(id), statement.sql(), &[]);
        }
        frontend::sync(out);
        true
    }
}

/// What a client sends next: filled by [`Client::next`](crate::workload::Client::next), and sent in one go.
#[derive(Debug)]
pub struct Request<'a> {
    out: &'a mut Vec<u8>,
    statements: &'a Statements,
    text: &'a mut String,
    /// How many ReadyForQuery will answer it.
    syncs: u32,
    keeps_rows: bool,
}

impl<'a> Request<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>, text: &'a mut String, statements: &'a Statements) -> Self {
        Self { out, statements, text, syncs: 0, keeps_rows: false }
    }

    /// Adds `sql` as it is, of one statement or several, in a simple query.
    pub fn query(&mut self, sql: &[u8]) {
        frontend::query(self.out, sql);
        self.syncs += 1;
    }

    /// Has the server make statement `name` from `sql`, its parameters' types undeclared. Answered with what
    /// [`sync`](Self::sync) closes, as are the other messages of the extended protocol.
    pub fn parse(&mut self, name: &str, sql: &[u8]) {
        frontend::parse(self.out, name, sql, &[]);
    }

    /// Binds the unnamed portal to statement `name` and the parameters that are then written.
    pub fn bind(&mut self, name: &str) -> BindWriter<'_> {
        BindWriter::new(self.out, "", name)
    }

    /// Asks what columns the bound statement has.
    pub fn describe(&mut self) {
        frontend::describe_portal(self.out, "");
    }

    /// Runs the bound statement.
    pub fn run(&mut self) {
        frontend::execute(self.out, "", 0);
    }

    /// Closes what was added since the last sync: the server answers it, and after an error goes on behind it.
    pub fn sync(&mut self) {
        frontend::sync(self.out);
        self.syncs += 1;
    }

    /// Hands the rows of the answer, their columns and the statements' ends to
    /// [`Client::reply`](crate::workload::Client::reply).
    pub fn keep_rows(&mut self) {
        self.keeps_rows = true;
    }

    /// Takes out what was added and is not to be sent yet.
    #[must_use]
    pub fn withdraw(&mut self) -> Withdrawn {
        let withdrawn = Withdrawn {
            out: self.out.clone(),
            syncs: std::mem::take(&mut self.syncs),
            keeps_rows: std::mem::take(&mut self.keeps_rows),
        };
        self.out.clear();
        withdrawn
    }

    /// Adds what was withdrawn earlier.
    pub fn resume(&mut self, withdrawn: &Withdrawn) {
        self.out.extend_from_slice(&withdrawn.out);
        self.syncs += withdrawn.syncs;
        self.keeps_rows |= withdrawn.keeps_rows;
    }

    /// Whether rows were asked for.
    pub(crate) fn keeps_rows(&self) -> bool {
        self.keeps_rows
    }

    /// Adds one execution of `statement` with `params` in the run's protocol mode.
    ///
    /// Values travel as text with undeclared types, as libpq's and pgbench's do. A statement that the workload
    /// did not list is left out, and the client will be told so by the empty request it sent.
    pub fn execute(&mut self, statement: StatementId, params: &[i64]) {
        let Some((statement, execution)) = self.statements.statements.get(usize::from(statement.0)) else {
            return;
        };
        match self.statements.protocol {
            Protocol::Simple => {
                self.text.clear();
                statement.write_literal(params, self.text);
                frontend::query(self.out, &*self.text);
            }
            Protocol::Extended => {
                frontend::parse(self.out, "", statement.sql(), &[]);
                bind_integers(self.out, "", params);
                frontend::execute(self.out, "", 0);
                frontend::sync(self.out);
            }
            Protocol::Prepared => execution.write(self.out, params),
        }
        self.syncs += 1;
    }

    /// How many answers the request will have.
    pub(crate) fn syncs(&self) -> u32 {
        self.syncs
    }
}

/// Messages that a client holds back, to send them with later ones.
#[derive(Debug, Default)]
pub struct Withdrawn {
    out: Vec<u8>,
    syncs: u32,
    keeps_rows: bool,
}

/// Binds the unnamed portal to integers in text form.
fn bind_integers(out: &mut Vec<u8>, statement: &str, params: &[i64]) {
    let mut bind = frontend::BindWriter::new(out, "", statement);
    for value in params {
        bind.integer(*value);
    }
    bind.finish();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(sql: &str, params: &[i64]) -> String {
        let mut text = String::new();
        Statement::new(sql).write_literal(params, &mut text);
        text
    }

    #[test]
    fn values_stand_where_the_parameters_stood() {
        assert_eq!(
            literal("UPDATE t SET a = a + $1 WHERE b = $2;", &[-5, 7]),
            "UPDATE t SET a = a + -5 WHERE b = 7;"
        );
        assert_eq!(literal("$2$1", &[1, 2]), "21");
        assert_eq!(literal("no parameter, 5$", &[]), "no parameter, 5$");
    }

    #[test]
    fn what_is_no_parameter_stays() {
        assert_eq!(literal("$0 $99 $x $", &[1]), "$0 $99 $x $");
        assert_eq!(literal("$1 $2", &[1]), "1 NULL");
    }
}
