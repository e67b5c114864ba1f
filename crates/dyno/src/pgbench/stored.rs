//! What dyno's store is told of a pgbench run before it begins: the command line, what it asks for, the stage. Without
//! passwords: the values of `-D` and the scripts' texts, in which there may be some, are left out.

use dyno_results::event::{Arrival, Distribution, Stage, StageKind};
use dyno_results::spec::{Clients, LoadSpec, Rate, RunSpec, StreamSpec, Time};
use dyno_workload::pgbench::load::WeightedScript;
use dyno_workload::tpcb;

use super::options::{Length, RunOptions, ScriptChoice, ScriptSource};
use crate::plan::NAME;
use crate::secrets;

/// The id of the run's one stage.
pub(super) const STAGE: u32 = 0;

/// The workload of scripts that are the user's own.
const WORKLOAD: &str = "pgbench";

/// pgbench's short options that take a value.
const WITH_VALUE: &str = "bcdDfFhIjLMpPRstTU";

/// The command line, as it could be typed again but for what is hidden.
pub(super) fn command_line(arguments: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut words = vec!["dyno".to_owned(), "pgbench".to_owned()];
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

/// What decides the run, as the store keeps it. Not the scripts' texts, nor the values of variables: there may be
/// passwords in them.
pub(super) fn specification(options: &RunOptions, scripts: &[WeightedScript]) -> RunSpec {
    let script = |script: &WeightedScript| {
        serde_json::json!({
            "name": script.script.name,
            "weight": script.weight,
            "commands": script.script.commands.len(),
        })
    };
    let mut load = LoadSpec {
        clients: Some(Clients::Ladder(vec![options.clients.get()])),
        rate: options.rate.map(|rate| Rate { start_per_s: rate, end_per_s: rate }),
        ..LoadSpec::default()
    };
    match options.length {
        Length::Transactions(count) => load.transactions = Some(count.get().into()),
        Length::Duration(duration) => load.duration = Some(Time(duration)),
    }
    let own = serde_json::json!({
        "scripts": scripts.iter().map(script).collect::<Vec<_>>(),
        "variables": options.variables.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        "latency_limit_ms": options.latency_limit.map(|limit| limit.as_secs_f64() * 1e3),
        "connect_per_transaction": options.reconnect,
        "continue_on_error": options.continue_on_error,
    });
    RunSpec {
        seed: Some(options.seed),
        threads: Some(options.threads.get()),
        ..RunSpec::of_front_end(
            "pgbench",
            own,
            StreamSpec {
                workload: Some(names(options).1),
                protocol: Some(options.protocol),
                max_tries: options.max_tries.map(Into::into),
                load,
                ..StreamSpec::default()
            },
        )
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

/// The stage as dyno's store has it.
pub(super) fn stage(options: &RunOptions, types: &[String]) -> Stage {
    let (series, workload) = names(options);
    let (planned_s, planned_transactions) = match options.length {
        Length::Duration(duration) => (Some(duration.as_secs_f64()), None),
        Length::Transactions(count) => {
            (None, Some(u64::from(count.get()) * u64::from(options.clients.get())))
        }
    };
    let arrival = match options.rate {
        None => Arrival::Closed { think_time_ms: 0.0 },
        Some(rate_per_s) => Arrival::Open { rate_per_s, distribution: Distribution::Poisson },
    };
    Stage {
        id: STAGE,
        target: NAME.to_owned(),
        series,
        stream: 0,
        round: 0,
        kind: StageKind::Hold,
        workload,
        clients: options.clients.get(),
        clients_end: None,
        connections: None,
        threads: options.threads.get(),
        protocol: options.protocol.name().to_owned(),
        arrival,
        rate_end_per_s: None,
        planned_s,
        planned_transactions,
        types: types.to_vec(),
    }
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
            assert_eq!(words.join(" "), format!("dyno pgbench {stored}"));
        }
    }
}
