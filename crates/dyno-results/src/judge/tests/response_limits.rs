//! Response times that are longer than their workload allows.

use super::*;
use crate::event::FactValue;
use crate::fixture::mix_fixture;

#[test]
fn a_limit_that_was_not_kept_is_told_with_what_was_found() {
    let report = fold(&mix_fixture(500.0, 1).events);
    let words = ["in the hold of 10 s at 4 clients p90 of payment was 1.0 ms, over its limit of 500 µs"];
    must_find(&report, "response-limit", Severity::Doubt, &words);
    let finding = found(&report, "response-limit").unwrap();
    let facts = finding.facts.0.iter().map(|fact| match &fact.value {
        FactValue::Figure { value, .. } => format!("{} {value:.0}", fact.measure),
        FactValue::Name { text } => format!("{} {text}", fact.measure),
    });
    let expected = ["percentile 90", "transaction payment", "response_time 1000", "limit 500"];
    assert_eq!(facts.collect::<Vec<_>>(), expected);
    let quote = &report.judged(vec![finding]).quotes[0].text;
    assert!(quote.starts_with("1,740 new orders a minute ±0.3%, 50.0 TPS"), "{quote}");
    assert!(quote.ends_with("hold, with response times over their limits)"), "{quote}");
}

#[test]
fn limits_that_were_kept_are_no_finding() {
    must_be_silent(&fold(&mix_fixture(1100.0, 1).events), "response-limit");
}

#[test]
fn of_repeats_it_is_one_finding() {
    let words = ["found in 3 of 3 holds (all)"];
    must_find(&fold(&mix_fixture(500.0, 3).events), "response-limit", Severity::Doubt, &words);
}
