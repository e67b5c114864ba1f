//! One command line, run by every program in turn, and what must be the same.

use std::path::Path;

use crate::program::{Call, Program, Ran};
use crate::server::Database;
use crate::shape;

/// How closely what the programs print is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Lines {
    /// Word for word, but for measurements.
    Exact,
    /// The same in any order: several clients speak at once.
    AnyOrder,
    /// The same kinds of lines, each any number of times: time decides.
    Kinds,
    /// Something, or nothing.
    Any,
}

/// What the log of `-l` has.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LogKind {
    /// The files are no logs of transactions.
    Plain,
    Raw {
        lag: bool,
    },
    Aggregated,
}

/// What is compared of a run: names of parts, and the parts.
type Shape = Vec<(String, String)>;

/// A command line and what belongs to it.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    call: Call,
    /// SQL before each program's run.
    setup: String,
    /// A query, or several, whose rows must be the same behind it.
    contents: Option<String>,
    /// The oldest version that does as dyno does.
    since: u32,
    stderr: Lines,
    timed: bool,
    log: LogKind,
}

/// A case of a command line, in words that are separated by spaces.
pub(crate) fn case(arguments: &str) -> Case {
    Case {
        call: Call {
            arguments: arguments.split_whitespace().map(str::to_owned).collect(),
            ..Call::default()
        },
        setup: String::new(),
        contents: None,
        since: 0,
        stderr: Lines::Exact,
        timed: false,
        log: LogKind::Plain,
    }
}

/// A case of one script of few transactions, `-n -t 2 -f script`, and further arguments.
pub(crate) fn script(arguments: &str, text: &str) -> Case {
    case(&format!("-n -t 2 -f script {arguments}")).file("script", text)
}

impl Case {
    /// A further argument, which may have spaces in it.
    pub(crate) fn argument(mut self, word: &str) -> Self {
        self.call.arguments.push(word.to_owned());
        self
    }

    /// A file beside the program.
    pub(crate) fn file(mut self, name: &str, contents: impl AsRef<[u8]>) -> Self {
        self.call.files.push((name.to_owned(), contents.as_ref().to_owned()));
        self
    }

    pub(crate) fn stdin(mut self, text: &str) -> Self {
        self.call.stdin = text.as_bytes().to_owned();
        self
    }

    pub(crate) fn environment(mut self, name: &str, value: &str) -> Self {
        self.call.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn setup(mut self, sql: &str) -> Self {
        self.setup = sql.to_owned();
        self
    }

    pub(crate) fn contents(mut self, sql: &str) -> Self {
        self.contents = Some(sql.to_owned());
        self
    }

    /// Older versions than this did otherwise.
    pub(crate) fn since(mut self, version: u32) -> Self {
        self.since = version;
        self
    }

    pub(crate) fn any_order(mut self) -> Self {
        self.stderr = Lines::AnyOrder;
        self
    }

    /// How often something is told does not count.
    pub(crate) fn each_line_once(mut self) -> Self {
        self.stderr = Lines::Kinds;
        self
    }

    /// That there are messages counts, not what they say.
    pub(crate) fn in_any_words(mut self) -> Self {
        self.stderr = Lines::Any;
        self
    }

    /// Time decides how often things happen.
    pub(crate) fn timed(mut self) -> Self {
        (self.timed, self.stderr) = (true, Lines::Kinds);
        self
    }

    pub(crate) fn raw_log(mut self, lag: bool) -> Self {
        self.log = LogKind::Raw { lag };
        self
    }

    pub(crate) fn aggregated_log(mut self) -> Self {
        self.log = LogKind::Aggregated;
        self.timed()
    }

    /// Runs it with one program.
    pub(crate) fn run(&self, program: &Program, database: &Database) -> Ran {
        program.run(&self.prepare(database))
    }

    /// The same with a directory for dyno's store.
    pub(crate) fn run_with_store(&self, program: &Program, database: &Database, store: &Path) -> Ran {
        program.run_with_store(&self.prepare(database), store)
    }

    fn prepare(&self, database: &Database) -> Call {
        if !self.setup.is_empty() {
            database.run(&self.setup);
        }
        let mut call = self.call.clone();
        call.environment = database.environment();
        call.environment.extend(self.call.environment.iter().cloned());
        call
    }

    /// What is left when all that may differ is taken out.
    fn shape(&self, program: &Program, ran: &Ran, database: &Database) -> Shape {
        let (mut stdout, mut stderr) = (shape::measured(&ran.stdout), shape::measured(&ran.stderr));
        if program.version < 17 {
            stdout = shape::in_later_words(&stdout);
        }
        if self.timed {
            (stdout, stderr) = (shape::timed(&stdout), shape::timed(&stderr));
        }
        stderr = match self.stderr {
            Lines::Exact => stderr,
            Lines::AnyOrder => shape::sorted(&stderr),
            Lines::Kinds => shape::distinct(&stderr),
            Lines::Any => (!stderr.is_empty()).to_string(),
        };
        let code = ran.code.map_or("by signal".to_owned(), |code| code.to_string());
        let mut parts = vec![
            ("exit status".to_owned(), code),
            ("stdout".to_owned(), stdout),
            ("stderr".to_owned(), stderr),
        ];
        for (name, contents) in &ran.files {
            let contents = match self.log {
                LogKind::Plain => contents.clone(),
                LogKind::Raw { lag } => shape::sorted(&shape::raw_log(contents, lag)),
                LogKind::Aggregated => shape::aggregated_log(contents),
            };
            let contents =
                if self.timed && self.log == LogKind::Plain { "(timed)".to_owned() } else { contents };
            parts.push((format!("file {name}"), contents));
        }
        if let Some(sql) = &self.contents {
            parts.push(("contents".to_owned(), database.run(sql)));
        }
        parts
    }

    fn shapes(&self, programs: &[&Program], database: &Database) -> Vec<Shape> {
        let shape = |program: &&Program| {
            let ran = self.run(program, database);
            self.shape(program, &ran, database)
        };
        programs.iter().map(shape).collect()
    }

    /// The same for runs that last for a time, and leave nothing to be compared: all at once.
    fn shapes_at_once(&self, programs: &[&Program], database: &Database) -> Vec<Shape> {
        let call = self.prepare(database);
        let ran: Vec<_> = std::thread::scope(|scope| {
            let running: Vec<_> = programs.iter().map(|program| scope.spawn(|| program.run(&call))).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        programs.iter().zip(&ran).map(|(program, ran)| self.shape(program, ran, database)).collect()
    }

    /// How dyno differs from the real programs; empty if it does not.
    ///
    /// The real ones do not say the same each time, where their threads or a timeout race: what differs once is looked
    /// at again, and differs if it does three times.
    fn differences(&self, database: &Database, references: &[Program], dyno: &Program) -> String {
        let mut told = String::new();
        for attempt in 1..=3 {
            told = self.differences_once(database, references, dyno);
            if told.is_empty() {
                break;
            }
            println!("further attempt: {:?}, after {attempt}", self.call.arguments);
        }
        told
    }

    fn differences_once(&self, database: &Database, references: &[Program], dyno: &Program) -> String {
        let mut usable: Vec<_> = references.iter().filter(|program| program.version >= self.since).collect();
        // What protocols change, the newest alone knows best; to ask all of them takes its time.
        let protocol =
            ["extended", "prepared"].iter().any(|mode| self.call.arguments.iter().any(|word| word == mode));
        usable.truncate(if protocol { 1 } else { usable.len() });
        if usable.is_empty() {
            println!("skipped: no pgbench {}: {:?}", self.since, self.call.arguments);
            return String::new();
        }
        let programs: Vec<_> = std::iter::once(dyno).chain(usable).collect();
        let shapes = if self.timed && self.contents.is_none() {
            self.shapes_at_once(&programs, database)
        } else {
            self.shapes(&programs, database)
        };
        let [ours, theirs @ ..] = &shapes[..] else { return String::new() };
        let mut told = String::new();
        for (program, theirs) in programs[1..].iter().zip(theirs) {
            if theirs == ours {
                continue;
            }
            told += &format!("\n==== {:?} of version {}\n", self.call.arguments, program.version);
            told += &String::from_utf8_lossy(
                &self
                    .call
                    .files
                    .iter()
                    .flat_map(|(_, text)| text.iter().copied().chain(*b"\n"))
                    .take(600)
                    .collect::<Vec<_>>(),
            );
            for part in ours.iter().filter(|part| !theirs.contains(part)) {
                told += &format!("-- dyno, {}:\n{}\n", part.0, part.1);
            }
            for part in theirs.iter().filter(|part| !ours.contains(part)) {
                told += &format!("-- pgbench, {}:\n{}\n", part.0, part.1);
            }
        }
        told
    }
}

/// Runs each case with every program; the test fails with all that differs.
pub(crate) fn same(database: &Database, cases: impl IntoIterator<Item = Case>) {
    same_as(database, cases, &Program::dyno_alone());
}

/// The same with all that dyno does beside.
pub(crate) fn same_beside(database: &Database, cases: impl IntoIterator<Item = Case>) {
    same_as(database, cases, &Program::dyno());
}

/// The same for a dyno that is called otherwise.
pub(crate) fn same_as(database: &Database, cases: impl IntoIterator<Item = Case>, dyno: &Program) {
    let references = Program::references();
    let told: String = cases.into_iter().map(|case| case.differences(database, &references, dyno)).collect();
    assert!(told.is_empty(), "{told}");
}
