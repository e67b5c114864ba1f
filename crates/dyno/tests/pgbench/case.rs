//! One command line, run by dyno and as the real program was recorded, and what must be the same.

use std::collections::BTreeMap;
use std::panic::Location;
use std::path::Path;

use dyno_test_servers::Recorded;
use serde::{Deserialize, Serialize};

use crate::program::{Call, Program, Ran};
use crate::server::Database;
use crate::{real, shape};

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

/// What is compared of a run, in lines.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Shape {
    /// `None`: ended by a signal.
    status: Option<i32>,
    stdout: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stderr: Vec<String>,
    /// By name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    files: BTreeMap<String, Vec<String>>,
    /// What the case asks the database for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    contents: Vec<String>,
}

/// A command line and what belongs to it.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    call: Call,
    /// SQL before each program's run.
    setup: String,
    /// A query, or several, whose rows must be the same behind it.
    contents: Option<String>,
    /// The oldest version of the real program that does as dyno does.
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
        let printed = |text: &str| shape::measured(&database.without_port(text));
        let (mut stdout, mut stderr) = (printed(&ran.stdout), printed(&ran.stderr));
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
            Lines::Any => if stderr.is_empty() { "" } else { "(in any words)\n" }.to_owned(),
        };
        let files = ran.files.iter().map(|(name, contents)| {
            let contents = match self.log {
                LogKind::Plain if self.timed => "(timed)\n".to_owned(),
                LogKind::Plain => contents.clone(),
                LogKind::Raw { lag } => shape::sorted(&shape::raw_log(contents, lag)),
                LogKind::Aggregated => shape::aggregated_log(contents) + "\n",
            };
            (name.clone(), lines(&contents))
        });
        Shape {
            status: ran.code,
            stdout: lines(&stdout),
            stderr: lines(&stderr),
            files: files.collect(),
            contents: self.contents.iter().flat_map(|sql| lines(&database.run(sql))).collect(),
        }
    }

    /// What the recording of it is found by: what can be read of it, and a checksum of all that it consists of.
    fn key(&self, database: &Database) -> String {
        let environment: String =
            self.call.environment.iter().map(|(name, value)| format!("{name}={value} ")).collect();
        let arguments = self.call.arguments.join(" ");
        // Many have the same files beside them, and use one.
        let used = self.call.files.iter().filter(|(name, _)| {
            self.call.arguments.iter().any(|word| word.split('@').next() == Some(name) || word == name)
        });
        let texts: Vec<_> =
            used.map(|(_, text)| text.as_slice()).chain([self.call.stdin.as_slice()]).collect();
        let texts = String::from_utf8_lossy(&texts.concat()).into_owned();
        let shown = |text: &str, most: usize| -> String {
            let more = if text.chars().nth(most).is_some() { "…" } else { "" };
            text.chars().take(most).collect::<String>() + more
        };
        format!(
            "{}: {environment}{} < {} #{:08x}",
            database.name(),
            shown(&arguments, 160),
            shown(&texts, 120),
            self.checksum()
        )
    }

    /// FNV-1a of all that makes the case, which is the same with every compiler.
    fn checksum(&self) -> u32 {
        let Case { call, setup, contents, .. } = self;
        let Call { arguments, environment, files, stdin } = call;
        let mut parts: Vec<&[u8]> = arguments.iter().map(String::as_bytes).collect();
        parts.extend(environment.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]));
        parts.extend(files.iter().flat_map(|(name, text)| [name.as_bytes(), text.as_slice()]));
        parts.extend([stdin, setup.as_bytes(), contents.as_deref().unwrap_or_default().as_bytes()]);
        let bytes = parts.into_iter().flat_map(|part| part.iter().chain(&[0]));
        bytes.fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
    }

    /// How dyno differs from the real program; empty if it does not.
    fn difference(&self, database: &Database, file: &Recorded, dyno: &Program) -> String {
        let shape = |program: &Program| self.shape(program, &self.run(program, database), database);
        let key = self.key(database);
        match real::of_file(file, database.version(), &key, self.since, shape) {
            Some(theirs) => {
                let ours = shape(dyno);
                let told = || format!("\n==== {key}\n-- dyno: {ours:#?}\n-- pgbench: {theirs:#?}\n");
                if ours == theirs { String::new() } else { told() }
            }
            None => String::new(),
        }
    }

    /// Whether it can run beside others: it lasts for a time, and has nothing to itself.
    fn can_be_beside_others(&self) -> bool {
        self.timed && self.setup.is_empty() && self.contents.is_none()
    }
}

/// The lines of a text; the end of the last one is told if it is missing.
pub(crate) fn lines(text: &str) -> Vec<String> {
    let (whole, missing) = match text.strip_suffix('\n') {
        Some(whole) => (whole, None),
        None if text.is_empty() => return Vec::new(),
        None => (text, Some("(no end of line)".to_owned())),
    };
    whole.split('\n').map(str::to_owned).chain(missing).collect()
}

/// Runs each case with dyno; the test fails with all that the real program did otherwise.
#[track_caller]
pub(crate) fn same(database: &Database, cases: impl IntoIterator<Item = Case>) {
    same_as(database, cases, &Program::dyno_alone());
}

/// The same with all that dyno does beside.
#[track_caller]
pub(crate) fn same_beside(database: &Database, cases: impl IntoIterator<Item = Case>) {
    same_as(database, cases, &Program::dyno());
}

/// The same for a dyno that is called otherwise.
#[track_caller]
pub(crate) fn same_as(database: &Database, cases: impl IntoIterator<Item = Case>, dyno: &Program) {
    let file = real::file(Location::caller());
    let (beside, alone): (Vec<_>, Vec<_>) = cases.into_iter().partition(Case::can_be_beside_others);
    let mut told: String = alone.iter().map(|case| case.difference(database, &file, dyno)).collect();
    told += &std::thread::scope(|scope| {
        let running: Vec<_> =
            beside.iter().map(|case| scope.spawn(|| case.difference(database, &file, dyno))).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect::<String>()
    });
    assert!(told.is_empty(), "{told}");
}
