//! Where a run's scripts come from: builtin, files, standard input.

use std::io;

use dyno_target::files;
use dyno_target::statements::UserStatement;
use dyno_wire::libpq_text;
use dyno_workload::pgbench::load::WeightedScript;
use dyno_workload::script::{self, Names};
use serde_json::{Value, json};

use super::failed::PgbenchFailed;
use super::options::{RunOptions, ScriptChoice, ScriptSource};
use crate::front_end::stored_script;

/// Scripts that were read, in the order in which they were named.
pub(super) struct ReadScripts {
    pub(super) scripts: Vec<WeightedScript>,
    /// What is stored of each.
    pub(super) stored: Vec<Value>,
    /// What they send, unless the one script is a builtin of which all is known.
    pub(super) statements: Vec<UserStatement>,
    /// Whether all of them only read, by their words.
    pub(super) only_read: bool,
}

/// Reads and parses the scripts.
pub(super) fn read_scripts(options: &RunOptions, names: &mut Names) -> Result<ReadScripts, PgbenchFailed> {
    let mut statements = Vec::new();
    let given = &options.load.defines;
    let mut read = |choice: &ScriptChoice| {
        let (name, text) = read_source(&choice.source)?;
        let script = script::parse(&name, &text, options.load.mode, names)?;
        let given = given.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        statements.extend(script.statements(names, given));
        let mut stored = match choice.source {
            ScriptSource::Builtin(_) => json!({ "name": name }),
            ScriptSource::StandardInput | ScriptSource::File(_) => stored_script(&name, &text),
        };
        stored["weight"] = choice.weight.into();
        Ok((WeightedScript::new(script, choice.weight), stored))
    };
    let read = options.scripts.iter().map(&mut read).collect::<Result<Vec<_>, PgbenchFailed>>()?;
    let only_read = statements.iter().all(|statement| statement.only_reads);
    if let [ScriptChoice { source: ScriptSource::Builtin(_), .. }] = &*options.scripts {
        statements.clear();
    }
    let (scripts, stored) = read.into_iter().unzip();
    Ok(ReadScripts { scripts, stored, statements, only_read })
}

/// Name and text.
fn read_source(source: &ScriptSource) -> Result<(String, Vec<u8>), PgbenchFailed> {
    let failed = |doing: &str, name: &str, error: &io::Error| {
        PgbenchFailed::new(format!("could not {doing} file \"{name}\": {}", libpq_text::system(error)))
    };
    let (name, text) = match source {
        ScriptSource::Builtin(builtin) => (builtin.description.to_owned(), Ok(builtin.text.into())),
        ScriptSource::StandardInput => ("-".to_owned(), files::read_all(io::stdin().lock())),
        ScriptSource::File(path) => {
            let name = path.display().to_string();
            let file = std::fs::File::open(path).map_err(|error| failed("open", &name, &error))?;
            (name, files::read_all(file))
        }
    };
    match text {
        Ok(text) => Ok((name, text)),
        Err(error) => Err(failed("read", &name, &error)),
    }
}
