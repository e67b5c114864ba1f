//! What a folder comes to, for its author: the SQL of its tables and transactions in each dialect, and the first rows.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use dyno_results::event::OwnCount;
use dyno_results::format::{grouped, latency_us, long};
use dyno_target::usual_dialects;

use super::benchmark::{FolderBenchmark, defines, numbers_of};
use super::tables::context;
use super::{Folder, Mistake, Mistakes};
use crate::script::Protocol;

/// Processors of the machine for which `fit` is shown.
const CPUS: u32 = 4;
const ROWS: u64 = 3;

/// Looks at a folder as far as that goes without a server, and shows what it comes to.
///
/// # Errors
/// Everything that is wrong with it.
pub fn check(name: &str, files: &BTreeMap<String, String>) -> Result<String, Mistakes> {
    // A command ends with what it shows.
    let folder: &'static Folder = Box::leak(Box::new(Folder::new(name, files)?));
    let failed = |why: String| Mistakes::from(Mistake::of_file(super::FILE, why));
    let values = FolderBenchmark::usual_values(folder, CPUS).map_err(|error| failed(error.to_string()))?;
    let rows = numbers_of(folder, &values).map_err(failed)?;
    folder.check_rows(&values, &rows)?;
    let counts = folder.counts(&values, &rows)?;
    let mut text = String::new();
    for (option, value) in folder.options.iter().zip(&values) {
        let suits = match option.default == "fit" {
            true => format!(", on a machine of {CPUS} processors: as much as suits it"),
            false => String::new(),
        };
        let choices: Vec<&str> = option.choices().collect();
        let choices = if choices.is_empty() { String::new() } else { format!(", of {}", choices.join(", ")) };
        let _ = writeln!(text, "--{} {}{suits}{choices}", option.long, option.shown(*value));
    }
    for (place, workload) in folder.workloads.iter().enumerate() {
        if let Some(why) = folder.not_compared(place) {
            let _ = writeln!(text, "{workload}: {why}");
        }
    }
    for transaction in &folder.transactions {
        for limit in &transaction.response_limits {
            let (name, most) = (transaction.name, latency_us(limit.limit_us));
            let _ = writeln!(text, "{}/{name}: p{} within {most}", folder.name, limit.percentile);
        }
        for (OwnCount { of, key, about }, _) in &transaction.counts {
            let _ = writeln!(text, "{}/{of}: counts {about} ({key})", folder.name);
        }
    }
    for (place, workload) in folder.workloads.iter().enumerate() {
        let Some(figure) = folder.figure(place, &values, 1).map_err(failed)? else { continue };
        let most = figure.at_most.map(|most| format!(", at most {} with one client", long(most)));
        let note = figure.note.map(|note| format!(" ({note})")).unwrap_or_default();
        let most = most.unwrap_or_default();
        let _ = writeln!(
            text,
            "{workload}: {} {} of {}{most}{note}",
            figure.about,
            figure.per.words(),
            figure.of
        );
    }
    let mut options = context(&folder.names, folder.seed, &folder.options, &values);
    let protocols = folder.runs_on.protocols();
    let runs_on = |dialect: &str| protocols.iter().any(|protocol| protocol.eq_ignore_ascii_case(dialect));
    for (dialect, sql) in usual_dialects().into_iter().filter(|(dialect, _)| runs_on(dialect)) {
        let _ = writeln!(text, "\n{dialect}");
        for (table, count) in folder.tables.iter().zip(&rows) {
            let indexes = table.indexes(&mut options).map_err(failed)?;
            let mut made = table.describe(&sql, (&folder.tables, &indexes), &rows, (*count, 0));
            table.narrow(&mut made, &mut options).map_err(failed)?;
            let steps =
                [made.before_load(&sql, ""), made.keys(&sql), made.indexes(&sql), made.references(&sql)];
            steps.iter().flatten().for_each(|statement| _ = writeln!(text, "  {statement}"));
        }
        for transaction in &folder.transactions {
            let script =
                transaction.of_dialect((dialect, Some(&sql)), &folder.files, &defines(folder, &values));
            let _ = writeln!(text, "  {}/{}", folder.name, transaction.name);
            for statement in script.iter().flat_map(|script| script.statements(Protocol::Prepared)) {
                let _ = writeln!(text, "    {}", statement.sql.replace('\n', "\n    "));
            }
        }
        for (workload, mix) in folder.workloads.iter().zip(&folder.mixes) {
            let Some(pass) = &mix.pass else { continue };
            let _ = writeln!(text, "  {workload}");
            for query in pass.sql(&defines(folder, &values)) {
                let _ = writeln!(text, "    {}", query.replace('\n', "\n    "));
            }
        }
    }
    for ((table, rows), count) in folder.tables.iter().zip(&rows).zip(counts) {
        let _ = writeln!(text, "\n{} ({} rows)", table.name, grouped(count));
        let first = folder.rows(table, &values, 1..=ROWS.min(*rows))?;
        first.iter().take(ROWS as usize).for_each(|(_, row)| _ = writeln!(text, "  {}", row.join("\t")));
    }
    Ok(text)
}
