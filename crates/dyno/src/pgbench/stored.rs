//! What dyno's store is told of a pgbench run before it begins: the command line, and what it asks for. Without the
//! values of `-D`, in which there may be passwords.

use dyno_target::Capabilities;
use dyno_workload::tpcb;
use serde_json::Value;

use super::options::{RunOptions, ScriptChoice, ScriptSource};
use crate::front_end::LoadDescription;
use crate::secrets;

/// The workload of scripts that are the user's own.
const WORKLOAD: &str = "pgbench";

/// pgbench's short options that take a value.
const WITH_VALUE: &str = "bcdDfFhIjLMpPRstTU";

/// The words behind the program's name, as they could be typed again but for what is hidden.
fn command_line(arguments: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut words = Vec::new();
    let mut is_definition = false;
    for word in arguments {
        if std::mem::take(&mut is_definition) {
            words.push(without_value(&word));
            continue;
        }
        let (option, value) = split_option(&word);
        is_definition = option.defines && value.is_empty();
        words.push(if option.defines {
            format!("{}{}", option.text, without_value(value))
        } else {
            secrets::hidden(&word)
        });
    }
    words
}

struct TypedOption<'a> {
    /// With all that stands before its value.
    text: &'a str,
    /// It is `-D` or `--define`.
    defines: bool,
}

/// An option and the value that stands in the same word.
fn split_option(word: &str) -> (TypedOption<'_>, &str) {
    if let Some(long) = word.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or_default();
        let defines = name.len() >= "def".len() && "define".starts_with(name);
        let end = "--".len() + name.len();
        let end = if word[end..].starts_with('=') { end + 1 } else { end };
        return (TypedOption { text: &word[..end], defines }, &word[end..]);
    }
    let with_value = word.char_indices().skip(1).find(|(_, letter)| WITH_VALUE.contains(*letter));
    match with_value.filter(|_| word.starts_with('-')) {
        Some((at, letter)) => {
            let end = at + letter.len_utf8();
            (TypedOption { text: &word[..end], defines: letter == 'D' }, &word[end..])
        }
        None => (TypedOption { text: word, defines: false }, ""),
    }
}

/// `NAME=***`; nothing stays nothing.
fn without_value(definition: &str) -> String {
    match definition.split_once('=') {
        Some((name, _)) => format!("{name}=***"),
        None => definition.to_owned(),
    }
}

/// What the store is told of the run. `scripts` are their names, and what is stored of each.
pub(super) fn description(
    options: &RunOptions,
    typed: Vec<String>,
    (types, scripts): (Vec<String>, Vec<Value>),
    url: &str,
) -> LoadDescription {
    let (series, workload) = names(options);
    let load = &options.load;
    LoadDescription {
        program: "pgbench",
        typed: command_line(typed),
        target: Capabilities::POSTGRESQL.short_name,
        url: url.to_owned(),
        series,
        workload,
        types,
        seed: load.random_seed,
        threads: load.threads,
        protocol: load.mode,
        max_tries: load.tries_max,
        contended_rows: None,
        warm_up: None,
        order: options.order(),
        transactions: None,
        options: serde_json::json!({
            "scripts": scripts,
            "variables": load.defines.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "latency_limit_ms": load.latency_limit.map(|limit| limit.as_secs_f64() * 1e3),
            "connect_per_transaction": load.connects_each,
            "continue_on_error": load.continue_on_error,
        }),
    }
}

/// What a run is called: its script's name, and the workload. A builtin script alone is dyno's own workload of that name,
/// with all that is known of it.
pub(super) fn names(options: &RunOptions) -> (String, String) {
    match &*options.scripts {
        [ScriptChoice { source: ScriptSource::Builtin(builtin), .. }] => {
            (builtin.name.to_owned(), format!("{}/{}", tpcb::NAME, builtin.name))
        }
        [ScriptChoice { source: ScriptSource::File(path), .. }] => {
            let name = path.file_name().unwrap_or(path.as_os_str());
            (name.to_string_lossy().into_owned(), WORKLOAD.to_owned())
        }
        [ScriptChoice { source: ScriptSource::StandardInput, .. }] => {
            ("stdin".to_owned(), WORKLOAD.to_owned())
        }
        scripts => (format!("{} scripts", scripts.len()), WORKLOAD.to_owned()),
    }
}

/// Branches, of which each transaction of TPC-B alone changes one.
pub(super) fn contended_rows(options: &RunOptions, branches: i64) -> Option<u32> {
    let is_tpcb = names(options).1 == tpcb::Script::TpcbLike.workload();
    u32::try_from(branches).ok().filter(|_| is_tpcb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_variables_are_not_stored() {
        for (typed, stored) in [
            ("-D a=secret -c 4", "-D a=*** -c 4"),
            ("-Da=secret", "-Da=***"),
            ("-nSDa=secret", "-nSDa=***"),
            ("--define a=secret", "--define a=***"),
            ("--define=a=secret", "--define=a=***"),
            ("--defi=a=secret bank", "--defi=a=*** bank"),
            ("-d postgres://u:pw@h/d", "-d postgres://u:***@h/d"),
            ("-ffile.sql@2 --debug -T5", "-ffile.sql@2 --debug -T5"),
            ("-fD.sql -c2", "-fD.sql -c2"),
        ] {
            let words = command_line(typed.split(' ').map(str::to_owned));
            assert_eq!(words.join(" "), stored);
        }
    }
}
