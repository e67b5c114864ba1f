//! Where a run's scripts come from: builtin, files, standard input.

use dyno_target::files;
use dyno_wire::pg::libpq_text;
use dyno_workload::pgbench::load::WeightedScript;
use dyno_workload::script::{self, Names};

use super::failed::PgbenchFailed;
use super::options::{RunOptions, ScriptChoice, ScriptSource};

/// Reads and parses the scripts, in the order in which they were named.
pub(super) fn read_scripts(
    options: &RunOptions,
    names: &mut Names,
) -> Result<Vec<WeightedScript>, PgbenchFailed> {
    let read = |choice: &ScriptChoice| {
        let (name, text) = match &choice.source {
            ScriptSource::Builtin(builtin) => {
                (builtin.description.to_owned(), builtin.text.as_bytes().to_vec())
            }
            ScriptSource::StandardInput => ("-".to_owned(), read_standard_input()?),
            ScriptSource::File(path) => {
                let name = path.display().to_string();
                let failed = |doing| {
                    let name = &name;
                    move |error| {
                        PgbenchFailed::new(format!(
                            "could not {doing} file \"{name}\": {}",
                            libpq_text::system(&error)
                        ))
                    }
                };
                let file = std::fs::File::open(path).map_err(failed("open"))?;
                let text = files::read_all(file).map_err(failed("read"))?;
                (name, text)
            }
        };
        let script = script::parse(&name, &text, options.protocol, names)?;
        Ok(WeightedScript { script, weight: choice.weight })
    };
    options.scripts.iter().map(read).collect()
}

fn read_standard_input() -> Result<Vec<u8>, PgbenchFailed> {
    files::read_all(std::io::stdin().lock()).map_err(|error| {
        PgbenchFailed::new(format!("could not read file \"-\": {}", libpq_text::system(&error)))
    })
}
