//! The load: each client draws what a transaction needs and plays its statements in pgbench's order.

use dyno_engine::request::{Request, Statement};
use dyno_engine::workload::{Answer, Client, ClientIdentity, StatementId, Step, TransactionType, Workload};
use dyno_target::product::Dialect;

use crate::random::Random;

use super::schema::{BEGINNING, Table};

/// The largest change of a balance, both ways (TPC-B goes to 999,999, pgbench to 5,000).
const DELTA_MAX: i64 = 5_000;
/// Most parameters of any statement here.
const PARAMETERS: usize = 4;

/// A built-in script of pgbench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Script {
    TpcbLike,
    SimpleUpdate,
    SelectOnly,
}

/// What a drawn value is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variable {
    Aid,
    Bid,
    Tid,
    Delta,
}

/// A statement of a script, its parameters in order, and whether it commits.
struct ScriptStatement {
    sql: &'static str,
    parameters: &'static [Variable],
    commits: bool,
}

const BEGIN: ScriptStatement = statement("BEGIN;", &[]);
const END: ScriptStatement = ScriptStatement { sql: "END;", parameters: &[], commits: true };
const UPDATE_ACCOUNT: ScriptStatement = statement(
    "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2;",
    &[Variable::Delta, Variable::Aid],
);
const SELECT_ACCOUNT: ScriptStatement =
    statement("SELECT abalance FROM pgbench_accounts WHERE aid = $1;", &[Variable::Aid]);
const UPDATE_TELLER: ScriptStatement = statement(
    "UPDATE pgbench_tellers SET tbalance = tbalance + $1 WHERE tid = $2;",
    &[Variable::Delta, Variable::Tid],
);
const UPDATE_BRANCH: ScriptStatement = statement(
    "UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2;",
    &[Variable::Delta, Variable::Bid],
);
const INSERT_HISTORY: ScriptStatement = statement(
    "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP);",
    &[Variable::Tid, Variable::Bid, Variable::Aid, Variable::Delta],
);

const fn statement(sql: &'static str, parameters: &'static [Variable]) -> ScriptStatement {
    ScriptStatement { sql, parameters, commits: false }
}

impl Script {
    pub const ALL: [Self; 3] = [Self::TpcbLike, Self::SimpleUpdate, Self::SelectOnly];

    /// The workload's full name, `tpcb/tpcb-like`.
    pub fn workload(self) -> &'static str {
        match self {
            Self::TpcbLike => "tpcb/tpcb-like",
            Self::SimpleUpdate => "tpcb/simple-update",
            Self::SelectOnly => "tpcb/select-only",
        }
    }

    /// pgbench's name for it, `tpcb-like`.
    pub fn name(self) -> &'static str {
        // The workload's name without its family.
        self.workload().split_at(super::NAME.len() + 1).1
    }

    /// One line for a list.
    pub fn about(self) -> &'static str {
        match self {
            Self::TpcbLike => {
                "write: move money on an account, a teller and a branch, and note it in the history"
            }
            Self::SimpleUpdate => "write: the same on the account and the history only, without hot rows",
            Self::SelectOnly => "read: one account by its key",
        }
    }

    pub fn writes(self) -> bool {
        self != Self::SelectOnly
    }

    fn statements(self) -> &'static [ScriptStatement] {
        match self {
            Self::TpcbLike => {
                &[BEGIN, UPDATE_ACCOUNT, SELECT_ACCOUNT, UPDATE_TELLER, UPDATE_BRANCH, INSERT_HISTORY, END]
            }
            Self::SimpleUpdate => &[BEGIN, UPDATE_ACCOUNT, SELECT_ACCOUNT, INSERT_HISTORY, END],
            Self::SelectOnly => &[SELECT_ACCOUNT],
        }
    }
}

/// A script on data of one scale.
#[derive(Debug)]
pub struct TpcB {
    script: Script,
    scale: u32,
    types: [String; 1],
    /// The script's lines in order, then `ROLLBACK` where the script opens a transaction.
    statements: Vec<Statement>,
}

impl TpcB {
    /// `scale` is the scale of the data that is there, `dialect` the server's.
    pub fn new(script: Script, scale: u32, dialect: &Dialect) -> Self {
        let begin = format!("{};", dialect.begin_write);
        let text = |statement: &ScriptStatement| match statement.sql {
            sql if sql == BEGIN.sql => begin.clone(),
            sql => sql.to_owned(),
        };
        let statements = script.statements().iter().map(text);
        let statements = statements.chain(script.writes().then(|| "ROLLBACK".to_owned()));
        let statements = statements.map(|sql| Statement::new(&sql)).collect();
        Self { script, scale, types: [script.name().to_owned()], statements }
    }

    /// The same on tables whose names have another beginning, on any product.
    #[must_use]
    pub(crate) fn on_tables(mut self, beginning: &str, dialect: &Dialect) -> Self {
        for statement in &mut self.statements {
            let sql = statement.sql().trim_end_matches(';').replace(BEGINNING, beginning);
            let sql = if sql == "END" { "COMMIT".to_owned() } else { sql };
            let is_block = sql == dialect.begin_write || sql == "COMMIT" || sql == "ROLLBACK";
            let prepares = dialect.prepares_begin || !is_block;
            *statement = if prepares { Statement::new(&sql) } else { Statement::text(&sql) };
        }
        self
    }

    pub fn script(&self) -> Script {
        self.script
    }

    fn make_client(&self, id: u32, seed: u64) -> TpcBClient {
        TpcBClient {
            script: self.script,
            accounts: Table::Accounts.rows(self.scale) as i64,
            tellers: Table::Tellers.rows(self.scale) as i64,
            branches: Table::Branches.rows(self.scale) as i64,
            random: Random::of_client(seed, id),
            draws: [0; 4],
            statement: 0,
        }
    }
}

impl Workload for TpcB {
    fn types(&self) -> &[String] {
        &self.types
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn recovery(&self) -> Option<StatementId> {
        self.script.writes().then_some(StatementId(self.script.statements().len() as u16))
    }

    fn client(&self, identity: ClientIdentity, seed: u64) -> Box<dyn Client> {
        Box::new(self.make_client(identity.id, seed))
    }
}

/// One virtual client.
#[derive(Debug)]
struct TpcBClient {
    script: Script,
    accounts: i64,
    tellers: i64,
    branches: i64,
    random: Random,
    /// The transaction's values, indexed by [`Variable`].
    draws: [i64; 4],
    /// The line that is sent next.
    statement: usize,
}

impl Client for TpcBClient {
    fn begin(&mut self) -> TransactionType {
        // In pgbench's order, and only what the script declares.
        self.draws[Variable::Aid as usize] = self.random.between(1, self.accounts);
        if self.script.writes() {
            self.draws[Variable::Bid as usize] = self.random.between(1, self.branches);
            self.draws[Variable::Tid as usize] = self.random.between(1, self.tellers);
            self.draws[Variable::Delta as usize] = self.random.between(-DELTA_MAX, DELTA_MAX);
        }
        self.statement = 0;
        TransactionType(0)
    }

    fn begin_again(&mut self) {
        self.statement = 0;
    }

    fn next(&mut self, _answer: Option<&Answer>, request: &mut Request<'_>) -> Step {
        let Some(statement) = self.script.statements().get(self.statement) else { return Step::Done };
        let mut values = [0; PARAMETERS];
        for (value, variable) in values.iter_mut().zip(statement.parameters) {
            *value = self.draws[*variable as usize];
        }
        request.execute(StatementId(self.statement as u16), &values[..statement.parameters.len()]);
        self.statement += 1;
        if statement.commits { Step::SendCommit } else { Step::Send }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(script: Script, scale: u32, id: u32) -> TpcBClient {
        let workload = TpcB::new(script, scale, &Dialect::of_wire(false));
        workload.make_client(id, 11)
    }

    #[test]
    fn draws_stay_within_the_scale() {
        let mut client = client(Script::TpcbLike, 3, 0);
        let mut seen = [(i64::MAX, i64::MIN); 4];
        for _ in 0..100_000 {
            client.begin();
            for (range, draw) in seen.iter_mut().zip(client.draws) {
                *range = (range.0.min(draw), range.1.max(draw));
            }
        }
        let [aid, bid, tid, delta] = seen;
        assert!(aid.0 >= 1 && aid.1 <= 300_000 && aid.1 > 299_000, "{aid:?}");
        assert_eq!([bid, tid, delta], [(1, 3), (1, 30), (-5000, 5000)]);
    }

    #[test]
    fn a_further_try_keeps_the_draws() {
        let mut client = client(Script::TpcbLike, 1000, 5);
        client.begin();
        let draws = client.draws;
        client.statement = 4;
        client.begin_again();
        assert_eq!((client.draws, client.statement), (draws, 0));
        client.begin();
        assert_ne!(client.draws, draws);
    }

    #[test]
    fn the_last_statement_is_the_recovery() {
        for script in Script::ALL {
            let workload = TpcB::new(script, 1, &Dialect::of_wire(false));
            let recovery =
                workload.recovery().map(|id| workload.statements()[usize::from(id.0)].sql().to_owned());
            assert_eq!(recovery.as_deref(), script.writes().then_some("ROLLBACK"));
        }
    }
}
