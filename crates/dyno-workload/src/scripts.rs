//! A file of SQL as a workload: a script of pgbench's language, one transaction for each time through it, on whatever
//! tables it names.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dyno_engine::workload::Workload;
use dyno_results::sql_text::{Syntax, names_by_variables};
use dyno_target::connection::Connection;
use dyno_target::statements::UserStatement;

use crate::benchmark::{
    Baseline, Benchmark, BenchmarkError, DataSize, Dataset, Progress, Sending, Series, SeriesLoad, Site,
};
use crate::durable::{Durable, only_reads};
use crate::pgbench::bound::{BindError, BoundScripts, begins, pipeline};
use crate::pgbench::console::Console;
use crate::pgbench::effects::Effect;
use crate::pgbench::load::{LoadOptions, PgbenchLoad, WeightedScript};
use crate::pgbench::mix::Pauses;
use crate::script::{
    Command, Counters, ExpressionError, Kind, Language, Names, Numbers, Protocol, Script, ScriptError, Sql,
    Undefined, Variables, changing_name, compile, parse_with_text, quoted_variable, undefined,
};
use crate::statements::{statements, unclosed};

/// A script that was read from a file.
#[derive(Debug, Clone)]
pub struct SqlScript {
    /// Of its file.
    name: String,
    /// Of its transactions.
    transaction: String,
    text: String,
    /// Variables and their values, by name.
    defines: BTreeMap<String, String>,
    /// Those of them that no command uses.
    unused: Vec<String>,
    /// What stands for BEGIN.
    begin: Option<String>,
    /// Rows are locked where it says so by FOR UPDATE.
    locks_rows: bool,
    /// As it is read for the simple protocol. Much is asked of that, of each script whenever dyno starts.
    simple: Arc<(Script, Names)>,
}

/// Why a text is no script, or cannot be run as one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SqlScriptError {
    /// What pgbench would say of the text, with its line.
    #[error("{0} is no script: {1}")]
    Script(String, ScriptError),
    #[error(
        "{file}:{}: the variable :{} {}", .undefined.line, .undefined.name, what_to_do(.undefined)
    )]
    Undefined { file: String, undefined: Undefined },
    #[error(
        "{file}:{line}: :\"{name}\" is a name that each transaction may have otherwise, and a statement with parameters has one text: \
         run with --protocol simple, or give the name by -D {name}=VALUE alone"
    )]
    ChangingName { file: String, name: String, line: u32 },
    #[error(
        "{file}:{line}: :{name} stands where a table's name has to stand, and is sent as a parameter, which can only be a value: \
         write :\"{name}\", which is the name that -D {name}=VALUE gives, or run with --protocol simple"
    )]
    ParameterAsName { file: String, name: String, line: u32 },
    #[error(
        "{file}:{line}: {written} is to be a name, and on this target a variable is a value: write the name in the file, or give \
         :\"NAME\" its value by -D alone"
    )]
    ValueAsName { file: String, line: u32, written: String },
    #[error(
        "{file}:{line}: :{name} stands in quotes or a comment, where no value can be: join texts in SQL (:{name} || '…'), or leave \
         out the colon"
    )]
    InQuotes { file: String, line: u32, name: String },
    #[error("{file}:{line}: {what} begins here and does not end")]
    Unclosed { file: String, line: u32, what: &'static str },
    #[error("{file}:{line}: \\startpipeline is of PostgreSQL's protocol, which this target does not speak")]
    Pipeline { file: String, line: u32 },
}

impl From<ScriptError> for BenchmarkError {
    fn from(error: ScriptError) -> Self {
        Self::Wrong(Box::new(error))
    }
}

impl From<BindError> for BenchmarkError {
    fn from(error: BindError) -> Self {
        Self::Wrong(Box::new(error))
    }
}

/// The first variable of a script, read for the simple protocol, that stands for a table's name, and its line.
fn parameter_as_name(script: &Script, names: &Names) -> Option<(String, u32)> {
    script.commands.iter().find_map(|command| {
        let Kind::Sql(sql) = &command.kind else { return None };
        let text = sql.written(names, &Variables::default());
        let (at, name) = *names_by_variables(&text, Syntax::ANY).first()?;
        let further = text[..at].matches('\n').count() as u32;
        Some((name.to_owned(), command.line.saturating_add(further)))
    })
}

/// The first text or comment of a script without its end, and its line.
fn unclosed_in(script: &Script, names: &Names) -> Option<(&'static str, u32)> {
    script.commands.iter().find_map(|command| {
        let Kind::Sql(sql) = &command.kind else { return None };
        let text = sql.written(names, &Variables::default());
        let (at, what) = unclosed(&text)?;
        let further = text[..at].matches('\n').count() as u32;
        Some((what, command.line.saturating_add(further)))
    })
}

fn what_to_do(Undefined { name, nearest, later, .. }: &Undefined) -> String {
    let nearest = nearest.as_ref().map(|other| format!(" (did you mean :{other}?)")).unwrap_or_default();
    if *later {
        return format!("is used before it gets a value{nearest}");
    }
    format!(
        "has no value{nearest}: set it with \\set {name} … above, or give it with -D {name}=VALUE; a colon that begins no \
         variable has a blank, a digit or a second colon behind it, or stands in quotes"
    )
}

impl SqlScript {
    /// Whether a workload's name is that of a file of SQL.
    pub fn is_named(workload: &str) -> bool {
        std::path::Path::new(workload)
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("sql"))
    }

    /// `values` are what its variables begin with, by name, beside those that pgbench sets itself.
    ///
    /// # Errors
    /// The text is no script, or a variable in it has no value where it is used.
    pub fn new(name: &str, text: &str, values: &BTreeMap<String, String>) -> Result<Self, SqlScriptError> {
        let mut names = Names::new();
        let script = parse_with_text(name, text, Protocol::Simple, &mut names, values)
            .map_err(|error| SqlScriptError::Script(name.to_owned(), error))?;
        let file = || name.to_owned();
        if let Some(undefined) = undefined(&script, &names, values.keys().map(String::as_str)) {
            return Err(SqlScriptError::Undefined { file: file(), undefined });
        }
        let unused = values.keys().filter(|name| names.find(name).is_none()).cloned().collect();
        Ok(Self {
            name: file(),
            transaction: file(),
            text: text.to_owned(),
            defines: values.clone(),
            unused,
            begin: None,
            locks_rows: true,
            simple: Arc::new((script, names)),
        })
    }

    /// As it is read for a protocol, with names that others may have, too.
    fn parsed_with(&self, protocol: Protocol, names: &mut Names) -> Result<Script, ScriptError> {
        let mut script = parse_with_text(&self.name, &self.text, protocol, names, &self.defines)?;
        self.change(&mut script, protocol);
        Ok(script)
    }

    fn change(&self, script: &mut Script, protocol: Protocol) {
        for command in &mut script.commands {
            let Kind::Sql(sql) = &mut command.kind else { continue };
            if let Some(begin) = self.begin.as_ref().filter(|_| begins(sql)) {
                *sql = Sql::plain(begin, protocol);
            }
            if !self.locks_rows {
                sql.lock_no_rows();
            }
        }
    }

    /// `is_as_pgbench`: on a target that is sent what pgbench sends.
    ///
    /// # Errors
    /// It cannot be sent in this protocol.
    pub fn check(&self, protocol: Protocol, is_as_pgbench: bool) -> Result<(), SqlScriptError> {
        let (script, names) = &*self.simple;
        if let Some((what, line)) = unclosed_in(script, names) {
            return Err(SqlScriptError::Unclosed { file: self.name.clone(), line, what });
        }
        if !is_as_pgbench {
            return self.check_bound(script, names);
        }
        if protocol == Protocol::Simple {
            return Ok(());
        }
        let file = self.name.clone();
        if let Some((name, line)) = changing_name(script, names) {
            return Err(SqlScriptError::ChangingName { file, name: name.to_owned(), line });
        }
        match parameter_as_name(script, names) {
            Some((name, line)) => Err(SqlScriptError::ParameterAsName { file, name, line }),
            None => Ok(()),
        }
    }

    /// Whether each variable is a value.
    fn check_bound(&self, script: &Script, names: &Names) -> Result<(), SqlScriptError> {
        let file = self.name.clone();
        if let Some(command) = pipeline(script) {
            return Err(SqlScriptError::Pipeline { file, line: command.line });
        }
        if let Some((name, line)) = changing_name(script, names) {
            return Err(SqlScriptError::ValueAsName { file, line, written: format!(":\"{name}\"") });
        }
        if let Some((name, line)) = parameter_as_name(script, names) {
            return Err(SqlScriptError::ValueAsName { file, line, written: format!(":{name}") });
        }
        match quoted_variable(script, names) {
            Some((name, line)) => Err(SqlScriptError::InQuotes { file, line, name: name.to_owned() }),
            None => Ok(()),
        }
    }

    /// The values that no command uses, by name.
    pub fn unused(&self) -> &[String] {
        &self.unused
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same under the name of its transactions.
    pub(crate) fn called(self, name: &str) -> Self {
        Self { transaction: name.to_owned(), ..self }
    }

    /// The first command that runs a program, and its line.
    pub(crate) fn shell_command(&self) -> Option<(&'static str, u32)> {
        self.commands().iter().find_map(|command| match command.kind {
            Kind::Shell { .. } => Some(("shell", command.line)),
            Kind::SetShell { .. } => Some(("setshell", command.line)),
            _ => None,
        })
    }

    /// The same with other words in the place of BEGIN, and without FOR UPDATE unless rows are locked.
    pub(crate) fn changed(self, begin: Option<String>, locks_rows: bool) -> Self {
        let (mut script, names) = (*self.simple).clone();
        let changed = Self { begin, locks_rows, ..self };
        changed.change(&mut script, Protocol::Simple);
        Self { simple: Arc::new((script, names)), ..changed }
    }

    /// Whether BEGIN is the first that it sends.
    pub(crate) fn begins(&self) -> bool {
        let sent = self.commands().iter().find_map(|command| match &command.kind {
            Kind::Sql(sql) => Some(sql),
            _ => None,
        });
        sent.is_some_and(begins)
    }

    pub(crate) fn commands(&self) -> &[Command] {
        &self.simple.0.commands
    }

    /// The names of what it counts by `next(NAME)`.
    pub(crate) fn counters(&self) -> &[Box<str>] {
        self.simple.1.counters()
    }

    /// Whether it uses or sets a variable of this name.
    pub(crate) fn names(&self, variable: &str) -> bool {
        self.simple.1.find(variable).is_some()
    }

    /// The first variable of an expression that has no value at a place.
    pub(crate) fn undefined_at(
        &self,
        place: Place,
        expression: &str,
    ) -> Result<Option<Undefined>, ExpressionError> {
        let (mut script, mut names) = (*self.simple).clone();
        let commits =
            |command: &Command| matches!(&command.kind, Kind::Sql(sql) if sql.durable != Durable::Nothing);
        let sent = script.commands.iter().rposition(commits).unwrap_or(script.commands.len());
        if place == Place::Commit {
            script.commands.truncate(sent);
        }
        let mut own = Names::new();
        compile(expression, &mut own)?;
        let answered = script.commands.iter().any(|command| matches!(command.kind, Kind::Sql(_)));
        let of_answer = ["returned", "affected"].into_iter().find(|name| own.find(name).is_some());
        if let Some(name) = of_answer.filter(|_| !answered) {
            return Ok(Some(Undefined { name: name.to_owned(), line: 0, nearest: None, later: true }));
        }
        let kind = Kind::Set { expression: compile(expression, &mut names)?, slot: names.slot("") };
        script.commands.push(Command { first_line: String::new(), line: 0, kind });
        Ok(undefined(&script, &names, self.defines.keys().map(String::as_str)))
    }

    /// Whether no answer to what it sends tells that a transaction is done.
    pub(crate) fn never_commits(&self) -> bool {
        let is_durable =
            |command: &Command| matches!(&command.kind, Kind::Sql(sql) if sql.durable != Durable::Nothing);
        !self.commands().iter().any(is_durable)
    }

    /// Whether anything in it ends a transaction.
    pub(crate) fn ends(&self) -> bool {
        let is_end = |text: &String| {
            let mut words = text.split_whitespace();
            let first = words.next().unwrap_or_default().trim_end_matches(';');
            // ROLLBACK TO goes back to a savepoint.
            !words.next().is_some_and(|word| word.eq_ignore_ascii_case("to"))
                && ["commit", "end", "rollback", "abort"].iter().any(|word| first.eq_ignore_ascii_case(word))
        };
        self.sent().iter().any(is_end)
            || self.commands().iter().any(|command| matches!(command.kind, Kind::Rollback))
    }

    /// Whether it may end a transaction by taking it back otherwise than by `\rollback`, which is known.
    pub(crate) fn rolls_back(&self) -> bool {
        let is_sql = |text: &String| {
            let words: Vec<String> = text.split_whitespace().take(2).map(str::to_ascii_lowercase).collect();
            let first = words.first().map_or("", |word| word.trim_end_matches(';'));
            matches!(first, "rollback" | "abort") && words.get(1).is_none_or(|word| word != "to")
        };
        self.sent().iter().any(is_sql)
    }

    /// Whether it writes in a transaction for each statement, so that what it has written stays where a later one fails.
    pub(crate) fn writes_in_steps(&self) -> bool {
        let sent = self.sent();
        let begins = |text: &String| {
            let first = text.split_whitespace().next().unwrap_or_default().trim_end_matches(';');
            ["begin", "start"].iter().any(|word| first.eq_ignore_ascii_case(word))
        };
        sent.len() > 1 && sent.iter().any(|text| !only_reads(text)) && !sent.first().is_some_and(begins)
    }

    /// Its statements.
    pub(crate) fn sent(&self) -> Vec<String> {
        let (script, names) = &*self.simple;
        let sql = script.commands.iter().filter_map(|command| match &command.kind {
            Kind::Sql(sql) => Some(sql.written(names, &Variables::default())),
            _ => None,
        });
        sql.flat_map(|text| statements(&text)).collect()
    }

    /// Whether it may change data, as far as its words tell: what a function does that it calls is not known.
    pub fn writes(&self) -> bool {
        self.sent().iter().any(|text| !only_reads(text))
    }

    /// What it sends, in this protocol.
    pub(crate) fn statements(&self, protocol: Protocol) -> Vec<UserStatement> {
        let given = self.defines.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let mut names = Names::new();
        let script = self.parsed_with(protocol, &mut names);
        script.map(|script| script.statements(&names, given)).unwrap_or_default()
    }

    /// The load of it, of which it is asked what is sent in this protocol.
    pub fn load(&self, protocol: Protocol) -> Box<dyn SeriesLoad> {
        let numbers = Numbers::default();
        // A counter goes on behind what `-D` says of its name.
        for (name, value) in &self.defines {
            numbers.set(name, value.parse().unwrap_or(0));
        }
        Box::new(ScriptLoad { script: self.clone(), protocol, numbers })
    }
}

/// Where an expression is computed of what a transaction counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Where the last statement is sent that is, or ends, a transaction.
    Commit,
    End,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Commit => "sends its COMMIT, or its only statement",
            Self::End => "ends",
        })
    }
}

/// A script of a load, and what else is said of its transactions.
pub(crate) struct Part {
    pub script: SqlScript,
    pub weight: u32,
    /// Expressions over the script's variables, each with what it counts.
    pub effects: Vec<(usize, String)>,
    /// The same of what else is counted.
    pub counts: Vec<String>,
    /// See [`WeightedScript::returns`].
    pub returns: Option<u64>,
    pub pauses: Pauses,
}

impl Part {
    /// Alone; of its transactions nothing is known.
    fn of(script: SqlScript) -> Self {
        Self {
            script,
            weight: 1,
            effects: Vec::new(),
            counts: Vec::new(),
            returns: None,
            pauses: Pauses::default(),
        }
    }
}

/// The load of scripts, which begin with the same variables.
pub(crate) fn load_of(
    parts: &[Part],
    dealt: bool,
    numbers: &Numbers,
    sending: &Sending,
) -> Result<PgbenchLoad, BenchmarkError> {
    let Sending { protocol, dialect, threads, tries_max, seed, segment } = *sending;
    let read_for = if dialect.is_some() { Protocol::Simple } else { protocol };
    let mut names = Names::new();
    let mut weighted = Vec::new();
    for Part { script: own, weight, effects, counts, returns, pauses } in parts {
        let script = own.parsed_with(read_for, &mut names)?;
        let mut compiled =
            |text: &String| compile(text, &mut names).map_err(|error| BenchmarkError::Wrong(Box::new(error)));
        let effects = effects.iter().map(|(count, rows)| Ok(Effect { count: *count, rows: compiled(rows)? }));
        let effects = effects.collect::<Result<_, BenchmarkError>>()?;
        let counts = counts.iter().map(compiled).collect::<Result<_, _>>()?;
        let script = Script { name: own.transaction.clone(), ..script };
        weighted.push(WeightedScript {
            script,
            weight: *weight,
            effects,
            counts,
            returns: *returns,
            pauses: *pauses,
        });
    }
    let bound = match &dialect {
        Some(dialect) => {
            let writes = parts.iter().map(|part| part.script.writes());
            let all: Vec<_> = weighted.iter().map(|it| &it.script).zip(writes).collect();
            BoundScripts::new(&all, protocol, dialect)?
        }
        None => BoundScripts::default(),
    };
    let defines = parts.first().map(|part| part.script.defines.clone()).unwrap_or_default();
    let options = LoadOptions {
        defines: defines.into_iter().collect(),
        language: Language::Workload,
        mode: protocol,
        clients: CLIENTS,
        threads,
        random_seed: seed,
        tries_max: Some(tries_max),
        // A statement that fails is a transaction that failed, and its client goes on.
        continue_on_error: true,
        dealt,
        ..LoadOptions::default()
    };
    // The engine tells the errors of the load.
    let silent = Console::new(|_| (), Box::new(|_| String::new()));
    let counters = Counters::new(&names, numbers, segment);
    let Ok(load) = PgbenchLoad::new(weighted, (names, bound, counters), options, 1, Arc::default(), silent)
    else {
        unreachable!("it has no log that could not be opened")
    };
    Ok(load)
}

struct ScriptLoad {
    script: SqlScript,
    protocol: Protocol,
    numbers: Numbers,
}

impl SeriesLoad for ScriptLoad {
    fn series(&self) -> Series {
        Series {
            name: NAME,
            workload: NAME,
            writes: self.script.writes(),
            pass: None,
            fixed: None,
            pauses: Duration::ZERO,
        }
    }

    fn workload(&self, sending: &Sending) -> Result<Arc<dyn Workload>, BenchmarkError> {
        Ok(Arc::new(load_of(&[Part::of(self.script.clone())], false, &self.numbers, sending)?))
    }

    fn user_statements(&self) -> Vec<UserStatement> {
        self.script.statements(self.protocol)
    }

    /// Nothing is known of its tables.
    fn baseline(&self, _connection: &mut Connection) -> Result<Option<Baseline>, BenchmarkError> {
        Ok(None)
    }
}

const NAME: &str = "script";
/// Clients whose random numbers are drawn before it is known how many there will be.
const CLIENTS: u32 = 16_384;

/// Scripts alone, on tables that are there or that they make themselves.
#[derive(Debug)]
pub struct ScriptsBenchmark;

impl Benchmark for ScriptsBenchmark {
    fn name(&self) -> &'static str {
        NAME
    }

    fn series(&self) -> Vec<Series> {
        Vec::new()
    }

    fn sizes_wanted(&self) -> Vec<DataSize> {
        Vec::new()
    }

    fn find(&self, _connection: &mut Connection) -> Result<Option<Dataset>, BenchmarkError> {
        // None of dyno's.
        Ok(Some(Dataset {
            tables: Vec::new(),
            scale: None,
            table_rows: None,
            expected: Vec::new(),
            recipe: None,
            counts: false,
            loads: Box::new(Vec::new),
        }))
    }

    fn missing(&self) -> BenchmarkError {
        unreachable!("what needs no data has it")
    }

    fn prepare(
        &self,
        _connection: &mut Connection,
        _site: &Site<'_>,
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<(), BenchmarkError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Protocol, SqlScript};

    #[test]
    fn a_script_says_by_its_words_whether_it_writes() {
        let script = |text: &str| SqlScript::new("x.sql", text, &BTreeMap::new());
        let writes = |text: &str| script(text).unwrap().writes();
        assert!(!writes("select count(*) from t;\nwith a as (select 1) select * from a;"));
        assert!(!writes("\\set id random(1, 10)\nSELECT * FROM t WHERE id = :id;"));
        assert!(writes("with gone as (delete from t returning *) select * from gone;"));
        assert!(writes("insert into t values (1);") && writes("vacuum t;"));
        assert!(script("\\set").is_err());
        assert!(SqlScript::is_named("./a/big.SQL") && !SqlScript::is_named("sql"));
    }

    #[test]
    fn a_script_with_a_variable_that_has_no_value_is_refused() {
        let read = |text: &str, given: &[&str]| {
            let values = given.iter().map(|name| ((*name).to_owned(), "5".to_owned())).collect();
            SqlScript::new("./x.sql", text, &values).map(|_| ()).map_err(|error| error.to_string())
        };
        let typo = read("\\set aid random(1, 9)\nUPDATE t SET v = v WHERE id = :aidd;", &[]).unwrap_err();
        assert!(
            typo.starts_with("./x.sql:2: the variable :aidd has no value (did you mean :aid?)"),
            "{typo}"
        );
        let unset = read("SELECT substring(v, 1, :len) FROM t;", &[]).unwrap_err();
        assert!(unset.contains("give it with -D len=VALUE") && !unset.contains("did you mean"), "{unset}");
        assert_eq!(read("SELECT substring(v, 1, :len) FROM t;", &["len"]), Ok(()));
        let late = read("SELECT :len;\n\\set len 1", &[]).unwrap_err();
        assert_eq!(late, "./x.sql:1: the variable :len is used before it gets a value");
        let quoted = read("\\set aid 1\nSELECT to_char(ts, 'HH24:MI'), 'is:aidd';", &[]).unwrap_err();
        assert!(quoted.starts_with("./x.sql:2: the variable :aidd") && quoted.contains(":aid?"), "{quoted}");
        assert_eq!(read("SELECT to_char(ts, 'HH24:MI:SS'), '{\"a\":true}'::json;", &[]), Ok(()));
        for quoted in ["SELECT 1,\n :'lan';", "SELECT\n * FROM :\"lan\";"] {
            assert_eq!(read(quoted, &["lan"]), Ok(()));
            let unset = read(quoted, &[]).unwrap_err();
            assert!(unset.starts_with("./x.sql:2: the variable :lan has no value"), "{unset}");
        }
        let values = ["len", "lenn"].map(|name| (name.to_owned(), "5".to_owned()));
        for used in ["SELECT :len;", "SELECT :'len';", "SELECT :\"len\";"] {
            let script = SqlScript::new("./x.sql", used, &BTreeMap::from(values.clone())).unwrap();
            assert_eq!(
                (script.unused(), script.check(Protocol::Prepared, true)),
                (&["lenn".to_owned()][..], Ok(()))
            );
        }
        let changing = "\\set len 1\nSELECT :\"len\";";
        let script = SqlScript::new("./x.sql", changing, &BTreeMap::new()).unwrap();
        assert_eq!(script.check(Protocol::Simple, true), Ok(()));
        let refused = script.check(Protocol::Extended, true).unwrap_err().to_string();
        assert!(
            refused.starts_with("./x.sql:2: :\"len\"") && refused.contains("--protocol simple"),
            "{refused}"
        );
        let given = BTreeMap::from([("tab".to_owned(), "ul".to_owned())]);
        for (text, line) in [
            ("UPDATE :tab SET v = v + 1;", 1),
            ("SELECT 1;\nINSERT INTO\n s.:tab VALUES (1);", 3),
            ("SELECT 1\nFROM :tab;", 2),
        ] {
            let script = SqlScript::new("./x.sql", text, &given).unwrap();
            assert_eq!(script.check(Protocol::Simple, true), Ok(()));
            let refused = script.check(Protocol::Prepared, true).unwrap_err().to_string();
            assert!(refused.starts_with(&format!("./x.sql:{line}: :tab stands")), "{refused}");
        }
        for text in ["UPDATE :\"tab\" SET v = 1;", "SELECT substring(:tab FROM 1);"] {
            let script = SqlScript::new("./x.sql", text, &given).unwrap();
            assert_eq!(script.check(Protocol::Prepared, true), Ok(()), "{text}");
        }
    }
}
