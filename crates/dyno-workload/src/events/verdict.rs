//! The invariants of the two tests, decided from what was counted before and after. Pure.

use crate::tpcb::grouped;

use super::census::Census;
use super::test::Test;

/// Of fewer joins than this for each that finds nothing, too many measured nothing.
const JOINS_PER_MISS_MIN: u64 = 20;

/// What clients were told in the course of a load, its drain included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Told {
    /// Transactions that were acknowledged.
    pub acknowledged: u64,
    /// Transactions whose connection was lost with something under way that may be durable.
    pub unknown: u64,
    /// Joins whose answer was not exactly one row.
    pub unanswered: u64,
}

/// What is there behind a load.
#[derive(Debug, Clone, Copy)]
pub(super) struct After {
    pub census: Census,
    /// New events whose action is none of the ten.
    pub strange_actions: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub name: &'static str,
    pub passed: bool,
    pub expected: String,
    pub found: String,
    pub detail: String,
}

/// Every check that applies to `test`.
pub(super) fn judge(test: Test, before: Census, after: After, told: Told) -> Vec<Verdict> {
    let change = Change { before, after: after.census, told };
    match test {
        Test::Ingest => vec![
            change.every_event(),
            change.foreign_key(),
            actions(after.strange_actions),
            change.customers(),
        ],
        Test::Join => vec![change.nothing(), change.foreign_key(), change.answers()],
    }
}

/// What a load changed.
struct Change {
    before: Census,
    after: Census,
    told: Told,
}

impl Change {
    /// Durability as the clients see it: what was acknowledged is there, and what is there was asked for.
    fn every_event(&self) -> Verdict {
        let Told { acknowledged, unknown, .. } = self.told;
        let low = self.before.events + acknowledged;
        let high = low + unknown;
        let found = self.after.events;
        let of_unknown = match unknown {
            0 => String::new(),
            unknown => format!(" ({} more of unknown outcome)", grouped(unknown)),
        };
        let told = format!(
            "{} events before, {} acknowledged{of_unknown}, {} there",
            grouped(self.before.events),
            grouped(acknowledged),
            grouped(found)
        );
        Verdict {
            name: "every-event-is-there",
            passed: (low..=high).contains(&found),
            expected: if unknown == 0 {
                grouped(low)
            } else {
                format!("{} to {}", grouped(low), grouped(high))
            },
            found: grouped(found),
            detail: match found {
                _ if found < low => format!("{told}: {} are lost", grouped(low - found)),
                _ if found > high => format!("{told}: {} too many", grouped(found - high)),
                _ => told,
            },
        }
    }

    fn foreign_key(&self) -> Verdict {
        let dangling = self.after.dangling;
        Verdict {
            name: "every-foreign-key-resolves",
            passed: dangling == 0,
            expected: "0".to_owned(),
            found: grouped(dangling),
            detail: match dangling {
                0 => format!("each of {} events is of a customer who is there", grouped(self.after.events)),
                dangling => format!(
                    "{} of {} events are of customers who are not there",
                    grouped(dangling),
                    grouped(self.after.events)
                ),
            },
        }
    }

    fn customers(&self) -> Verdict {
        let (before, after) = (self.before.customers, self.after.customers);
        Verdict {
            name: "customers-unchanged",
            passed: before == after,
            expected: grouped(before),
            found: grouped(after),
            detail: format!("{} customers before, {} after", grouped(before), grouped(after)),
        }
    }

    /// The load only read.
    fn nothing(&self) -> Verdict {
        let show = |census: Census| {
            let (events, customers) = (grouped(census.events), grouped(census.customers));
            format!("{events} events to id {}, {customers} customers", grouped(census.last_event))
        };
        let passed = self.before == self.after;
        Verdict {
            name: "nothing-changed",
            passed,
            expected: show(self.before),
            found: show(self.after),
            detail: match passed {
                true => "reading changed no row and no id".to_owned(),
                false => "the tables changed under a load that only reads".to_owned(),
            },
        }
    }

    /// Each join had its row, but for ids that the server gave to no event: an insert that fails takes its id with it.
    fn answers(&self) -> Verdict {
        let Told { acknowledged, unanswered, .. } = self.told;
        let ids = self.before.last_event.max(1);
        let gaps = ids.saturating_sub(self.before.events);
        let expected = acknowledged as f64 * gaps as f64 / ids as f64;
        // Misses are draws of a rare event: five deviations beyond the mean come once in millions of loads. And where
        // many are to be expected, looking for nothing is what was measured.
        let by_chance = if gaps == 0 { 0 } else { (expected + 5.0 * expected.sqrt() + 5.0) as u64 };
        let most = by_chance.min(acknowledged / JOINS_PER_MISS_MIN);
        let found = format!("{} of {} joins found no row", grouped(unanswered), grouped(acknowledged));
        Verdict {
            name: "every-join-has-its-row",
            passed: unanswered <= most,
            expected: match most {
                0 => "0".to_owned(),
                most => format!("at most {}", grouped(most)),
            },
            found: grouped(unanswered),
            detail: match gaps {
                0 => found,
                gaps => format!(
                    "{found}; {} of {} ids have no event, so about {} were to be expected",
                    grouped(gaps),
                    grouped(ids),
                    grouped(expected.round() as u64)
                ),
            },
        }
    }
}

fn actions(strange: u64) -> Verdict {
    Verdict {
        name: "actions-are-the-ten",
        passed: strange == 0,
        expected: "0".to_owned(),
        found: grouped(strange),
        detail: match strange {
            0 => "every new event has one of the ten actions".to_owned(),
            strange => format!("{} new events have actions that no client sent", grouped(strange)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: Census = Census { customers: 50, events: 1_000, last_event: 1_000, dangling: 0 };

    fn failed(test: Test, before: Census, after: After, told: Told) -> String {
        let verdicts = judge(test, before, after, told);
        let failed = verdicts.iter().filter(|verdict| !verdict.passed).map(|verdict| verdict.name);
        failed.collect::<Vec<_>>().join(" ")
    }

    fn ingested(events: u64, told: Told) -> String {
        let census = Census { events, last_event: events, ..BEFORE };
        failed(Test::Ingest, BEFORE, After { census, strange_actions: 0 }, told)
    }

    #[test]
    fn events_grow_by_what_was_acknowledged() {
        let told = Told { acknowledged: 10, ..Told::default() };
        assert_eq!(ingested(1_010, told), "");
        assert_eq!([1_009, 1_011].map(|events| ingested(events, told)), ["every-event-is-there"; 2]);
        let told = Told { unknown: 2, ..told };
        assert_eq!([1_010, 1_012].map(|events| ingested(events, told)), [""; 2]);
        assert_eq!([1_009, 1_013].map(|events| ingested(events, told)), ["every-event-is-there"; 2]);
    }

    #[test]
    fn strange_rows_are_named() {
        let after = |census, strange_actions| After { census, strange_actions };
        let of = |after| failed(Test::Ingest, BEFORE, after, Told::default());
        assert_eq!(of(after(Census { dangling: 1, ..BEFORE }, 0)), "every-foreign-key-resolves");
        assert_eq!(of(after(BEFORE, 1)), "actions-are-the-ten");
        assert_eq!(of(after(Census { customers: 49, ..BEFORE }, 0)), "customers-unchanged");
    }

    #[test]
    fn joins_change_nothing_and_miss_only_what_is_not_there() {
        let joined = |before: Census, after: Census, unanswered| {
            let told = Told { acknowledged: 10_000, unanswered, ..Told::default() };
            failed(Test::Join, before, After { census: after, strange_actions: 0 }, told)
        };
        assert_eq!(joined(BEFORE, BEFORE, 0), "");
        assert_eq!(joined(BEFORE, BEFORE, 1), "every-join-has-its-row");
        assert_eq!(joined(BEFORE, Census { events: 999, ..BEFORE }, 0), "nothing-changed");
        // One id in a hundred has no event: a hundred misses are to be expected, 156 are too many.
        let gaps = Census { events: 990, ..BEFORE };
        assert_eq!([0, 100, 155].map(|missed| joined(gaps, gaps, missed)), [""; 3]);
        assert_eq!(joined(gaps, gaps, 156), "every-join-has-its-row");
        // Half of the ids have none: most of that load looked for nothing.
        let holes = Census { events: 500, ..BEFORE };
        assert_eq!(joined(holes, holes, 5_000), "every-join-has-its-row");
    }
}
