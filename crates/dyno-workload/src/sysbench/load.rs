//! A test as a load: its statements, and its clients.

use std::sync::Arc;

use dyno_engine::request::Statement;
use dyno_engine::workload::{Client, ClientIdentity, StatementId, Workload};
use dyno_target::product::{AutoIncrement, Dialect};

use super::client::SysbenchClient;
use super::counters::Counters;
use super::failure::{IgnoredErrors, OnError};
use super::options::Options;
use super::plan::TransactionPlan;
use super::test::Test;
use super::unique::Unique;

/// One of the ten tests on tables that are there.
#[derive(Debug)]
pub struct Sysbench {
    pub(super) shared: Arc<SysbenchShared>,
    types: [String; 1],
    statements: Vec<Statement>,
    counters: Option<Arc<Counters>>,
}

/// What all clients of a load read.
#[derive(Debug)]
pub(super) struct SysbenchShared {
    pub(super) test: Test,
    pub(super) options: Options,
    pub(super) plan: TransactionPlan,
    /// The statements' texts by number with the placeholders of the server, for error messages.
    pub(super) texts: Vec<String>,
    /// BEGIN, where it travels as text.
    pub(super) begin: &'static str,
    pub(super) auto_increment: AutoIncrement,
    pub(super) unique: Arc<Unique>,
    pub(super) ignored: IgnoredErrors,
    pub(super) on_error: OnError,
    /// Among how many clients `select_random_…` divides the table.
    pub(super) segments: u32,
}

impl Sysbench {
    /// `dialect` is the server's. The options are to have passed [`Options::check`].
    pub fn new(test: Test, options: Options, dialect: &Dialect) -> Self {
        let begin = if test.writes() { dialect.begin_write } else { dialect.begin };
        let plan = TransactionPlan::new(test, &options, dialect.prepares_begin.then_some(begin));
        let texts = plan.texts(&options);
        Self {
            types: [test.name().to_owned()],
            statements: texts.iter().map(|text| Statement::new(text)).collect(),
            counters: None,
            shared: Arc::new(SysbenchShared {
                test,
                options,
                plan,
                texts: texts.iter().map(|text| shown(text, dialect.question_marks)).collect(),
                begin,
                auto_increment: dialect.auto_increment,
                unique: Unique::new(0),
                ignored: IgnoredErrors::usual(),
                on_error: OnError::Fail,
                segments: 1,
            }),
        }
    }

    /// Counts as sysbench does.
    #[must_use]
    pub fn with_counters(mut self, counters: Arc<Counters>) -> Self {
        self.counters = Some(counters);
        self
    }

    /// Errors that restart an event; [`IgnoredErrors::usual`] where this is not said.
    #[must_use]
    pub fn with_ignored_errors(self, ignored: IgnoredErrors) -> Self {
        self.with(|shared| shared.ignored = ignored)
    }

    /// What becomes of all other errors; [`OnError::Fail`] where this is not said.
    #[must_use]
    pub fn with_on_error(self, on_error: OnError) -> Self {
        self.with(|shared| shared.on_error = on_error)
    }

    /// Divides the table of `select_random_points` and `select_random_ranges` among so many clients, as sysbench divides
    /// it among its threads. Otherwise each client has all of it.
    #[must_use]
    pub fn with_segments(self, clients: u32) -> Self {
        self.with(|shared| shared.segments = clients.max(1))
    }

    /// Where the ids of `oltp_insert` come from without `auto_inc`: another seed hardly meets the ids of an earlier run.
    #[must_use]
    pub fn with_unique(self, unique: Arc<Unique>) -> Self {
        self.with(|shared| shared.unique = unique)
    }

    /// Before the first client is made nobody else holds it.
    fn with(mut self, change: impl FnOnce(&mut SysbenchShared)) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            change(shared);
        }
        self
    }

    pub fn test(&self) -> Test {
        self.shared.test
    }

    pub fn options(&self) -> &Options {
        &self.shared.options
    }
}

/// A statement as the server was told it, with `?` where the plan has `$1`.
fn shown(text: &str, question_marks: bool) -> String {
    if !question_marks {
        return text.to_owned();
    }
    let mut parts = text.split('$');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| shown + "?" + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

impl Workload for Sysbench {
    fn types(&self) -> &[String] {
        &self.types
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn recovery(&self) -> Option<StatementId> {
        let plan = &self.shared.plan;
        plan.is_transactional().then(|| StatementId(plan.rollback()))
    }

    fn client(&self, identity: ClientIdentity, seed: u64) -> Box<dyn Client> {
        let counters = self.counters.as_ref().map(|counters| counters.client(identity));
        Box::new(SysbenchClient::new(Arc::clone(&self.shared), identity.id, seed, counters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_show_statements_with_the_placeholders_of_the_server() {
        let text = "UPDATE sbtest1 SET c=$1 WHERE id=$12";
        assert_eq!(shown(text, true), "UPDATE sbtest1 SET c=? WHERE id=?");
        assert_eq!(shown(text, false), text);
        assert_eq!(shown("COMMIT", true), "COMMIT");
    }
}
