//! The invariants of the two tests, decided from what was counted before and after. Pure.

use super::census::Census;
use super::test::Test;
use crate::benchmark::Done;
use crate::dataset::Verdict;
use dyno_results::format::grouped;

/// Of fewer joins than this for each that finds nothing, too many measured nothing.
const JOINS_PER_MISS_MIN: u64 = 20;

/// What is there behind a load.
#[derive(Debug, Clone, Copy)]
pub(super) struct After {
    pub census: Census,
    /// New events whose action is none of the ten.
    pub strange_actions: u64,
    /// Joins whose answer was not exactly one row.
    pub unanswered: u64,
}

/// Every check that applies to `test`.
pub(super) fn judge(test: Test, before: Census, after: After, done: Done) -> Vec<Verdict> {
    let change = Change { before, after, done };
    match test {
        Test::Ingest => {
            vec![change.every_event(), change.foreign_key(), change.actions(), change.customers()]
        }
        Test::Join => vec![change.nothing(), change.foreign_key(), change.answers()],
    }
}

/// What a load changed.
struct Change {
    before: Census,
    after: After,
    done: Done,
}

impl Change {
    fn every_event(&self) -> Verdict {
        let found = i128::from(self.after.census.events) - i128::from(self.before.events);
        Verdict::durable("every-event-is-there", "events", self.done.acknowledged, self.done.unknown, found)
    }

    fn foreign_key(&self) -> Verdict {
        let Census { dangling, events, .. } = self.after.census;
        let detail = match dangling {
            0 => format!("each of {} events is of a customer who is there", grouped(events)),
            _ => format!(
                "{} of {} events are of customers who are not there",
                grouped(dangling),
                grouped(events)
            ),
        };
        Verdict::none("every-foreign-key-resolves", dangling, detail)
    }

    fn actions(&self) -> Verdict {
        let detail = match self.after.strange_actions {
            0 => "every new event has one of the ten actions".to_owned(),
            strange => format!("{} new events have actions that no client sent", grouped(strange)),
        };
        Verdict::none("actions-are-the-ten", self.after.strange_actions, detail)
    }

    fn customers(&self) -> Verdict {
        let (before, after) = (self.before.customers, self.after.census.customers);
        let (expected, found) = (grouped(before), grouped(after));
        let detail = format!("{expected} customers before, {found} after");
        Verdict::new("customers-unchanged", before == after, expected, found, detail)
    }

    /// The load only read.
    fn nothing(&self) -> Verdict {
        let show = |census: Census| {
            let (events, customers) = (grouped(census.events), grouped(census.customers));
            format!("{events} events to id {}, {customers} customers", grouped(census.last_event))
        };
        let passed = self.before == self.after.census;
        let detail = match passed {
            true => "reading changed no row and no id",
            false => "the tables changed under a load that only reads",
        };
        let (expected, found) = (show(self.before), show(self.after.census));
        Verdict::new("nothing-changed", passed, expected, found, detail.to_owned())
    }

    /// Each join had its row, but for ids that the server gave to no event: an insert that fails takes its id with it.
    fn answers(&self) -> Verdict {
        let (acknowledged, unanswered) = (self.done.acknowledged, self.after.unanswered);
        let ids = self.before.last_event.max(1);
        let gaps = ids.saturating_sub(self.before.events);
        let expected = acknowledged as f64 * gaps as f64 / ids as f64;
        // Misses are draws of a rare event: five deviations beyond the mean come once in millions of loads. And where
        // many are to be expected, looking for nothing is what was measured.
        let by_chance = if gaps == 0 { 0 } else { (expected + 5.0 * expected.sqrt() + 5.0) as u64 };
        let most = by_chance.min(acknowledged / JOINS_PER_MISS_MIN);
        let mut detail = format!("{} of {} joins found no row", grouped(unanswered), grouped(acknowledged));
        if gaps > 0 {
            detail += &format!(
                "; {} of {} ids have no event, so about {} were to be expected",
                grouped(gaps),
                grouped(ids),
                grouped(expected.round() as u64)
            );
        }
        let allowed = if most == 0 { "0".to_owned() } else { format!("at most {}", grouped(most)) };
        Verdict::new("every-join-has-its-row", unanswered <= most, allowed, grouped(unanswered), detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: Census = Census { customers: 50, events: 1_000, last_event: 1_000, dangling: 0 };

    fn failed(test: Test, before: Census, after: After, done: Done) -> String {
        let verdicts = judge(test, before, after, done);
        let failed =
            verdicts.iter().filter(|verdict| verdict.passed == Some(false)).map(|verdict| &*verdict.name);
        failed.collect::<Vec<_>>().join(" ")
    }

    fn ingested(events: u64, done: Done) -> String {
        let census = Census { events, last_event: events, ..BEFORE };
        failed(Test::Ingest, BEFORE, After { census, strange_actions: 0, unanswered: 0 }, done)
    }

    #[test]
    fn events_grow_by_what_was_acknowledged() {
        let done = Done { acknowledged: 10, ..Done::default() };
        assert_eq!(ingested(1_010, done), "");
        assert_eq!([1_009, 1_011].map(|events| ingested(events, done)), ["every-event-is-there"; 2]);
        let done = Done { unknown: 2, ..done };
        assert_eq!([1_010, 1_012].map(|events| ingested(events, done)), [""; 2]);
        assert_eq!([1_009, 1_013].map(|events| ingested(events, done)), ["every-event-is-there"; 2]);
    }

    #[test]
    fn strange_rows_are_named() {
        let after = |census, strange_actions| After { census, strange_actions, unanswered: 0 };
        let of = |after| failed(Test::Ingest, BEFORE, after, Done::default());
        assert_eq!(of(after(Census { dangling: 1, ..BEFORE }, 0)), "every-foreign-key-resolves");
        assert_eq!(of(after(BEFORE, 1)), "actions-are-the-ten");
        assert_eq!(of(after(Census { customers: 49, ..BEFORE }, 0)), "customers-unchanged");
    }

    #[test]
    fn joins_change_nothing_and_miss_only_what_is_not_there() {
        let joined = |before: Census, after: Census, unanswered| {
            let done = Done { acknowledged: 10_000, ..Done::default() };
            failed(Test::Join, before, After { census: after, strange_actions: 0, unanswered }, done)
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
