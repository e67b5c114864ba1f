//! What dyno's store is told of a run: the command line without its passwords, and what it asks for.

use dyno_results::spec::Protocol;

use super::run::{SysbenchRun, load_threads};
use super::script::ScriptLoad;
use crate::front_end::LoadDescription;
use crate::secrets;

/// At the server of this URL.
pub(super) fn description(run: &SysbenchRun<'_>, url: String) -> LoadDescription {
    let (context, settings) = (run.context, &run.context.settings);
    let declared = context.options.declared();
    let options: serde_json::Map<_, _> = declared
        .iter()
        .filter(|declared| !is_secret(&declared.name))
        .map(|declared| {
            (declared.name.clone(), context.options.text(&declared.name).map(secrets::hidden).into())
        })
        .collect();
    LoadDescription {
        program: "sysbench",
        typed: context.typed.iter().map(|word| without_password(word)).collect(),
        target: super::short_name(run.database.mysql),
        url,
        series: run.series.clone(),
        workload: run.name.to_owned(),
        types: run.workload.types().to_vec(),
        seed: run.seed,
        threads: load_threads(settings),
        protocol: if run.database.prepared { Protocol::Prepared } else { Protocol::Simple },
        max_tries: None,
        warm_up: Some(settings.warmup),
        order: run.order(),
        only_reads: None,
        options: serde_json::json!({
            "test": run.series,
            "script": run.script.as_ref().map(ScriptLoad::stored),
            "options": options,
            "events": settings.events,
            "distribution": settings.distributions.default.name(),
        }),
    }
}

/// A script's own options may have passwords, too.
fn without_password(word: &str) -> String {
    match word.split_once('=') {
        Some((name, _)) if name.strip_prefix("--").is_some_and(is_secret) => {
            format!("{name}=***")
        }
        _ => secrets::hidden(word),
    }
}

/// Whether an option of this name holds a secret, by what users call such.
fn is_secret(name: &str) -> bool {
    name.to_ascii_lowercase().contains("pass") || secrets::is_secret(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_stored() {
        for (typed, stored) in [
            ("--mysql-password=secret", "--mysql-password=***"),
            ("--pgsql_password=", "--pgsql_password=***"),
            ("--my-Passphrase=x", "--my-Passphrase=***"),
            ("--threads=4", "--threads=4"),
            ("oltp_read_write", "oltp_read_write"),
            ("--pgsql-db=postgres://u:pw@h/d", "--pgsql-db=postgres://u:***@h/d"),
        ] {
            assert_eq!(without_password(typed), stored);
        }
    }
}
