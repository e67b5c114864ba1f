//! Of which queries no two rows tie in the order of their LIMIT, as the catalog says before the first pass: then an answer with other
//! rows is another answer.

use dyno_results::answer::Ordered;
use dyno_target::catalog::{self, Names};
use dyno_workload::benchmark::NamedQuery;

use super::target_server::TargetServer;
use crate::failure::Failure;

/// Their names. What the catalog does not tell may tie, and so may a query of several statements, which may make its tables itself.
pub(super) fn without(server: &mut TargetServer, queries: &[NamedQuery]) -> Result<Vec<String>, Failure> {
    let ordered: Vec<(&NamedQuery, Ordered)> = queries
        .iter()
        .filter(|query| !query.several)
        .filter_map(|query| Some((query, Ordered::of(&query.sql)?)))
        .collect();
    if ordered.is_empty() {
        return Ok(Vec::new());
    }
    // A name without quotes is kept in small letters by some products.
    let names: Vec<String> =
        ordered.iter().flat_map(|(_, it)| [it.table.clone(), it.table.to_ascii_lowercase()]).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let keys = catalog::unique_keys(server.reconnect_if_broken()?, Names::These(&names)).unwrap_or_default();
    let has_no_ties = |ordered: &Ordered| {
        keys.iter()
            .any(|key| key.table.eq_ignore_ascii_case(&ordered.table) && ordered.includes(&key.columns))
    };
    Ok(ordered.into_iter().filter(|(_, it)| has_no_ties(it)).map(|(query, _)| query.name.clone()).collect())
}
