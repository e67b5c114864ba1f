//! The statements that a workload knows before its start, as the run's protocol mode and the server's protocol need
//! them. The engine does not read SQL: a statement is text with holes.

use std::fmt::Write as _;

use dyno_results::spec::Protocol;
use dyno_wire::my;
use dyno_wire::my::reply::Expect;
use dyno_wire::pg::execution::Execution;
use dyno_wire::pg::frontend;

use crate::calls::{Calls, StatementId};
use crate::prepared_statements::PreparedStatements;
use crate::value::{Value, execute_mysql, execute_postgres};

/// Most parameters a statement may have: both protocols count them in 16 bits.
pub const PARAMETERS_MAX: usize = u16::MAX as usize;

/// A statement with parameters `$1`, `$2`, …, whatever the server's protocol.
#[derive(Debug, Clone)]
pub struct Statement {
    sql: Box<str>,
    /// The text cut at its parameters: what stands before each, with the parameter's index.
    pieces: Box<[(Box<str>, usize)]>,
    tail: Box<str>,
    always_text: bool,
    /// Where it is written, for messages; empty where nobody would look.
    place: Box<str>,
    names_columns: bool,
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
        Self {
            sql: sql.into(),
            pieces: pieces.into(),
            tail: piece.into(),
            always_text: false,
            place: Box::default(),
            names_columns: false,
        }
    }

    /// Of what stands before each parameter, in their order, and behind the last: a `$` in it begins none.
    #[must_use]
    pub fn of_parts(before: Vec<String>, behind: &str) -> Self {
        let mut sql = String::new();
        for (text, number) in before.iter().zip(1..) {
            let _ = write!(sql, "{text}${number}");
        }
        let pieces = before.into_iter().map(String::into_boxed_str).zip(0..).collect();
        Self {
            sql: (sql + behind).into(),
            pieces,
            tail: behind.into(),
            always_text: false,
            place: Box::default(),
            names_columns: false,
        }
    }

    /// The same for a statement that is never prepared: MySQL prepares no `BEGIN`.
    #[must_use]
    pub fn text(sql: &str) -> Self {
        Self { always_text: true, ..Self::new(sql) }
    }

    /// The same, with the place where a user has written it: `buy.sql:3`.
    #[must_use]
    pub fn at(self, place: &str) -> Self {
        Self { place: place.into(), ..self }
    }

    pub fn place(&self) -> &str {
        &self.place
    }

    /// The same, whose answer has the names of its columns, as only PostgreSQL has to be asked for.
    #[must_use]
    pub fn with_columns(self) -> Self {
        Self { names_columns: true, ..self }
    }

    /// Whether it is never prepared.
    pub fn is_text(&self) -> bool {
        self.always_text
    }

    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// The statement with what `placeholder` appends for the parameter of each index, counted from 0.
    #[must_use]
    pub fn with_placeholders(&self, placeholder: impl Fn(&mut String, usize)) -> String {
        let mut sql = String::with_capacity(self.sql.len());
        for (before, index) in &self.pieces {
            sql.push_str(before);
            placeholder(&mut sql, *index);
        }
        sql + &self.tail
    }

    /// The statement with a `?` for each parameter, as MySQL prepares it.
    fn with_question_marks(&self) -> String {
        self.with_placeholders(|sql, _| sql.push('?'))
    }

    /// The highest number of a parameter.
    pub fn parameters(&self) -> usize {
        self.pieces.iter().map(|(_, index)| index + 1).max().unwrap_or(0)
    }

    /// Whether the parameters stand in the order of their numbers, each once.
    fn in_order(&self) -> bool {
        self.pieces.iter().zip(0..).all(|((_, index), place)| *index == place)
    }

    /// Appends the text with the values in the place of the parameters.
    fn write_literal<'v>(
        &self,
        value: impl Fn(usize) -> Option<Value<'v>>,
        backslashes: bool,
        text: &mut Vec<u8>,
    ) {
        for (before, index) in &self.pieces {
            text.extend_from_slice(before.as_bytes());
            value(*index).unwrap_or(Value::Null).write_literal(backslashes, text);
        }
        text.extend_from_slice(self.tail.as_bytes());
    }
}

/// A statement as it is sent.
#[derive(Debug)]
struct Sendable {
    statement: Statement,
    name: Box<str>,
    postgres: Execution,
    /// The place among a session's prepared statements.
    slot: usize,
    mysql: my::execution::Execution,
    in_order: bool,
    as_text: bool,
    /// See [`Statement::parameters`].
    parameters: usize,
}

/// For whom requests are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recipient {
    Postgres,
    MySql,
    /// Whether a backslash begins an escape in its strings.
    Driver {
        backslashes: bool,
    },
}

impl Recipient {
    /// Whether its protocol binds parameters without preparing the statement first.
    pub(crate) fn has_extended(self) -> bool {
        self == Self::Postgres
    }
}

/// The statements of a workload as the run's protocol mode needs them.
#[derive(Debug)]
pub(crate) struct Statements {
    protocol: Protocol,
    recipient: Recipient,
    statements: Vec<Sendable>,
    /// How many are prepared before the start.
    prepared: usize,
}

impl Statements {
    pub(crate) fn new(protocol: Protocol, recipient: Recipient, statements: &[Statement]) -> Self {
        let mut prepared = 0;
        let mut sendable = |(id, statement): (usize, &Statement)| {
            let name = format!("s{id}");
            let as_text = protocol == Protocol::Simple || statement.always_text;
            let slot = prepared;
            prepared += usize::from(!as_text && protocol == Protocol::Prepared);
            let is_parsed = protocol == Protocol::Extended;
            Sendable {
                postgres: Execution::new(
                    if is_parsed { "" } else { &name },
                    is_parsed.then_some(statement.sql().as_bytes()),
                    statement.names_columns,
                ),
                name: name.into(),
                slot,
                // At most PARAMETERS_MAX in number each, but a parameter may stand more than once.
                mysql: my::execution::Execution::new(statement.pieces.len().min(usize::from(u16::MAX)) as u16),
                in_order: statement.in_order(),
                parameters: statement.parameters(),
                statement: statement.clone(),
                as_text,
            }
        };
        let statements = statements.iter().enumerate().map(|(id, it)| sendable((id, it))).collect();
        Self { protocol, recipient, statements, prepared }
    }

    pub(crate) fn is_mysql(&self) -> bool {
        self.recipient == Recipient::MySql
    }

    /// The place of the statement that is the one of this number among those that are prepared.
    pub(crate) fn place_of_prepared(&self, slot: usize) -> &str {
        let prepared = |it: &&Sendable| !it.as_text && it.slot == slot;
        self.statements.iter().find(prepared).map_or("", |it| it.statement.place())
    }

    /// What a driver is to prepare, by the numbers of the statements.
    pub(crate) fn to_prepare(&self) -> Vec<Statement> {
        let prepares = |_: &&Sendable| self.protocol != Protocol::Simple;
        self.statements.iter().filter(prepares).map(|sendable| sendable.statement.clone()).collect()
    }

    /// Adds an execution to what a driver is to do.
    #[inline]
    pub(crate) fn call<'v>(
        &self,
        calls: &mut Calls,
        id: StatementId,
        value: impl Fn(usize) -> Option<Value<'v>>,
    ) -> bool {
        let Some(Sendable { statement, parameters, .. }) = self.statements.get(usize::from(id.0)) else {
            return false;
        };
        if self.protocol == Protocol::Simple {
            let backslashes = self.recipient == Recipient::Driver { backslashes: true };
            calls.sql(|text| statement.write_literal(value, backslashes, text));
        } else {
            calls.statement(id, (0..*parameters).map(|index| value(index).unwrap_or(Value::Null)));
        }
        true
    }

    /// Notes how so many commands will be answered, where answers do not say themselves what they are.
    #[inline]
    pub(crate) fn expect(&self, expects: &mut Vec<Expect>, expect: Expect, answers: usize) {
        if self.is_mysql() {
            expects.extend(std::iter::repeat_n(expect, answers));
        }
    }

    pub(crate) fn is_for_driver(&self) -> bool {
        matches!(self.recipient, Recipient::Driver { .. })
    }

    /// Appends what has the server prepare a client's own statement under its handle.
    pub(crate) fn write_own_preparation(
        &self,
        out: &mut Vec<u8>,
        prepared: &mut PreparedStatements,
        handle: u32,
        sql: &[u8],
    ) {
        if self.is_mysql() {
            my::frontend::stmt_prepare(out, sql);
            prepared.await_statement(handle);
        } else {
            let mut digits = itoa::Buffer::new();
            let name = digits.format(handle);
            frontend::parse(out, name, sql, &[]);
            frontend::describe_statement(out, name);
            frontend::sync(out);
        }
    }

    /// Whether something is prepared under a handle, as far as that is known without the server.
    pub(crate) fn is_prepared(&self, prepared: &PreparedStatements, handle: u32) -> bool {
        !self.is_mysql() || prepared.statement(handle).is_some()
    }

    /// Appends an execution of a client's own statement; false where it is not prepared.
    pub(crate) fn write_own(
        &self,
        out: &mut Vec<u8>,
        prepared: &PreparedStatements,
        handle: u32,
        values: &[Value<'_>],
    ) -> bool {
        if !self.is_mysql() {
            execute_postgres(out, itoa::Buffer::new().format(handle), values.iter().copied());
            return true;
        }
        let Some(prepared) = prepared.statement(handle) else { return false };
        execute_mysql(out, prepared, values.iter().copied());
        true
    }

    /// Appends what has the server forget a client's own statement.
    pub(crate) fn write_own_end(&self, out: &mut Vec<u8>, prepared: &mut PreparedStatements, handle: u32) {
        if !self.is_mysql() {
            frontend::close_statement(out, itoa::Buffer::new().format(handle));
        } else if let Some(prepared) = prepared.forget(handle) {
            my::frontend::stmt_close(out, prepared.statement);
        }
    }

    /// Appends what a fresh connection must send before the clock starts, all in one go; how many answers it has.
    pub(crate) fn write_preparation(&self, out: &mut Vec<u8>) -> usize {
        for sendable in self.statements.iter().filter(|sendable| self.prepared > 0 && !sendable.as_text) {
            if self.is_mysql() {
                my::frontend::stmt_prepare(out, sendable.statement.with_question_marks());
            } else {
                frontend::parse(out, &sendable.name, sendable.statement.sql(), &[]);
            }
        }
        if self.is_mysql() || self.prepared == 0 {
            return self.prepared;
        }
        frontend::sync(out);
        1
    }

    /// Appends one execution; says how it will be answered. `None` for a statement that is not there. `integers`: its
    /// values, if all are such.
    #[inline]
    pub(crate) fn write<'v>(
        &self,
        out: &mut Vec<u8>,
        scratch: &mut Vec<u8>,
        id: StatementId,
        numbers: &[my::backend::Prepared],
        integers: Option<&[i64]>,
        value: impl Fn(usize) -> Option<Value<'v>>,
    ) -> Option<Expect> {
        let sendable = self.statements.get(usize::from(id.0))?;
        match integers {
            _ if sendable.as_text => Some(self.write_text(out, scratch, &sendable.statement, value)),
            Some(values) if !self.is_mysql() => {
                sendable.postgres.write(out, values);
                Some(Expect::Text)
            }
            Some(values) if self.is_mysql() && sendable.in_order => {
                sendable.mysql.write(out, numbers.get(sendable.slot)?.statement, values);
                Some(Expect::Binary)
            }
            _ => self.write_bound(out, sendable, numbers, value),
        }
    }

    fn write_text<'v>(
        &self,
        out: &mut Vec<u8>,
        scratch: &mut Vec<u8>,
        statement: &Statement,
        value: impl Fn(usize) -> Option<Value<'v>>,
    ) -> Expect {
        scratch.clear();
        statement.write_literal(value, self.is_mysql(), scratch);
        self.write_query(out, scratch);
        Expect::Text
    }

    /// Appends SQL as it is.
    pub(crate) fn write_query(&self, out: &mut Vec<u8>, sql: &[u8]) {
        if self.is_mysql() { my::frontend::query(out, sql) } else { frontend::query(out, sql) }
    }

    fn write_bound<'v>(
        &self,
        out: &mut Vec<u8>,
        sendable: &Sendable,
        numbers: &[my::backend::Prepared],
        value: impl Fn(usize) -> Option<Value<'v>>,
    ) -> Option<Expect> {
        if self.is_mysql() {
            let values =
                sendable.statement.pieces.iter().map(|(_, index)| value(*index).unwrap_or(Value::Null));
            execute_mysql(out, *numbers.get(sendable.slot)?, values);
            return Some(Expect::Binary);
        }
        sendable.postgres.write_with(out, sendable.parameters, true, |index, out| {
            value(index).is_some_and(|value| value.write_text(out))
        });
        Some(Expect::Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(sql: &str, params: &[i64]) -> String {
        let mut text = Vec::new();
        let value = |index: usize| params.get(index).copied().map(Value::Integer);
        Statement::new(sql).write_literal(value, false, &mut text);
        String::from_utf8(text).unwrap()
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
        assert_eq!(literal("$0 $70000 $x $", &[1]), "$0 $70000 $x $");
        assert_eq!(literal("$1 $2", &[1]), "1 NULL");
    }

    #[test]
    fn a_statement_of_parts_has_parameters_only_between_them() {
        let statement = Statement::of_parts(vec!["SELECT '$1', ".to_owned(), " + ".to_owned()], ";");
        assert_eq!((statement.sql(), statement.parameters()), ("SELECT '$1', $1 + $2;", 2));
        assert_eq!(statement.with_question_marks(), "SELECT '$1', ? + ?;");
    }

    #[test]
    fn mysql_sees_a_question_mark_for_each_parameter() {
        let statement = Statement::new("SELECT a FROM t WHERE b = $2 AND c = $1 AND d = $2");
        assert_eq!(statement.with_question_marks(), "SELECT a FROM t WHERE b = ? AND c = ? AND d = ?");
        assert!(!statement.in_order());
        assert!(Statement::new("$1, $2").in_order());
    }

    #[test]
    fn a_driver_gets_literals_as_it_reads_them() {
        for (backslashes, expected) in [(false, r"SELECT 'it''s \'"), (true, r"SELECT 'it''s \\'")] {
            let recipient = Recipient::Driver { backslashes };
            let statements = Statements::new(Protocol::Simple, recipient, &[Statement::new("SELECT $1")]);
            let mut calls = Calls::default();
            assert!(statements.call(&mut calls, StatementId(0), |_| Some(Value::Text(br"it's \"))));
            let Some(crate::driver::Operation::Sql(sql)) = calls.iter().next() else { panic!("no SQL") };
            assert_eq!(sql, expected);
        }
    }

    #[test]
    fn only_what_is_prepared_has_a_place_among_the_prepared() {
        let statements = [
            Statement::text("BEGIN"),
            Statement::new("SELECT $1"),
            Statement::text("COMMIT"),
            Statement::new("$1"),
        ];
        let prepared = Statements::new(Protocol::Prepared, Recipient::MySql, &statements);
        let slots: Vec<usize> = prepared.statements.iter().map(|it| it.slot).collect();
        assert_eq!((prepared.write_preparation(&mut Vec::new()), slots), (2, vec![0, 0, 1, 1]));
        let simple = Statements::new(Protocol::Simple, Recipient::MySql, &statements);
        assert_eq!(simple.write_preparation(&mut Vec::new()), 0);
    }
}
