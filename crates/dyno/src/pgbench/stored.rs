//! What dyno's store is told of a pgbench run before it begins: the command line, and what it asks for. Without the
//! values of `-D`, in which there may be passwords.

use dyno_target::Capabilities;
use serde_json::Value;

use super::options::{RunOptions, ScriptChoice, ScriptSource};
use crate::front_end::LoadDescription;
use crate::secrets;

/// The workload of scripts that are the user's own.
const WORKLOAD: &str = "pgbench";

/// The words behind the program's name, as they could be typed again but for what is hidden.
fn command_line(typed: Vec<String>, defines: &[(String, String)]) -> Vec<String> {
    let hidden = |word: String| {
        let definition = defines.iter().find(|(name, value)| word.ends_with(&format!("{name}={value}")));
        match definition {
            Some((_, value)) => format!("{}***", &word[..word.len() - value.len()]),
            None => secrets::hidden(&word),
        }
    };
    typed.into_iter().map(hidden).collect()
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
        typed: command_line(typed, &load.defines),
        target: Capabilities::POSTGRESQL.short_name,
        url: url.to_owned(),
        series,
        workload,
        types,
        seed: load.random_seed,
        threads: load.threads,
        protocol: load.mode,
        max_tries: load.tries_max,
        warm_up: None,
        order: options.order(),
        only_reads: None,
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
            (builtin.name.to_owned(), format!("tpcb/{}", builtin.name))
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
    let is_tpcb = names(options).1 == "tpcb/tpcb-like";
    u32::try_from(branches).ok().filter(|_| is_tpcb)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgbench::options::{self, Parsed};

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
            let typed: Vec<_> = typed.split(' ').map(str::to_owned).collect();
            let environment = |name: &str| std::env::var(name).ok();
            let parsed = options::parse(typed.iter().map(Into::into).collect(), &environment, &mut |_| {});
            let Ok(Parsed::Run(run)) = parsed else { panic!("{parsed:?}") };
            let words = command_line(typed, &run.load.defines);
            assert_eq!(words.join(" "), stored);
        }
    }
}
