//! How many times as fast the queries of a workload are on one target as on another, by the medians of their passes. Pure.

use crate::document::{Passes, QueryRatio, QueryTimes, SpeedUp};
use crate::statistics::geometric_mean::GeometricMean;
use crate::words::distinct;

impl SpeedUp {
    /// `own` against a base of this name, without the queries whose answers `differ` besides. `None` where the times are of
    /// another load.
    pub(crate) fn of(
        own: &Passes,
        (name, base): (&str, &Passes),
        differ: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        if own.clients != base.clients || own.fixed || base.fixed {
            return None;
        }
        let names = distinct(base.queries.iter().chain(&own.queries).map(|query| &query.query));
        let (mut ratios, mut without) = (Vec::new(), Vec::new());
        for query in names.into_iter().cloned() {
            let medians = median(base, &query).zip(median(own, &query));
            match medians.filter(|_| !differ(&query)) {
                Some((base, own)) => ratios.push(QueryRatio { query, ratio: base / own }),
                None => without.push(query),
            }
        }
        let known = GeometricMean::of(&ratios.iter().map(|of| of.ratio).collect::<Vec<_>>());
        Some(Self {
            base: name.to_owned(),
            mean: known.map(|known| known.mean),
            interval: known.and_then(|known| known.interval()),
            ratios,
            without,
        })
    }
}

/// Seconds of a query; `None` where it has none, and where its answer is not to be relied on.
fn median(passes: &Passes, query: &str) -> Option<f64> {
    let counts = |it: &&QueryTimes| it.query == query && it.differs.is_none();
    passes.queries.iter().find(counts)?.median_s.filter(|time| *time > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::AnswerCounts;

    /// Passes over queries with these medians; a name that ends in `!` has an answer that differs.
    fn passes(medians: &[(&str, Option<f64>)]) -> Passes {
        let query = |(name, median_s): &(&str, Option<f64>)| QueryTimes {
            query: name.trim_end_matches('!').to_owned(),
            times_s: vec![*median_s],
            first_row_s: None,
            median_s: *median_s,
            failure: None,
            over_limit: false,
            rows: None,
            validated: None,
            compared: false,
            differs: name.ends_with('!').then(String::new),
            varies: None,
        };
        Passes {
            stages: vec![1],
            seconds: vec![None],
            queries: medians.iter().map(query).collect(),
            total_s: None,
            geometric_mean_s: None,
            total_half_width_s: None,
            geometric_mean_half_width_s: None,
            qph_half_width: None,
            qph: None,
            answers: AnswerCounts::default(),
            clients: 1,
            fixed: false,
            speed_ups: Vec::new(),
        }
    }

    fn of(own: &[(&str, Option<f64>)], base: &[(&str, Option<f64>)]) -> SpeedUp {
        SpeedUp::of(&passes(own), ("base", &passes(base)), |query| query == "x").unwrap()
    }

    #[test]
    fn ratios_are_of_queries_that_ran_on_both_and_whose_answers_agree() {
        let base = [
            ("a", Some(8.0)),
            ("b", Some(2.0)),
            ("c", None),
            ("d", Some(1.0)),
            ("e!", Some(1.0)),
            ("x", Some(1.0)),
        ];
        let own = [
            ("x", Some(1.0)),
            ("f", Some(1.0)),
            ("e", Some(1.0)),
            ("b", Some(4.0)),
            ("d!", Some(1.0)),
            ("c", Some(1.0)),
            ("a", Some(1.0)),
        ];
        let found = of(&own, &base);
        let ratios: Vec<(&str, f64)> = found.ratios.iter().map(|of| (of.query.as_str(), of.ratio)).collect();
        assert_eq!(ratios, [("a", 8.0), ("b", 0.5)]);
        assert_eq!(found.without, ["c", "d", "e", "x", "f"]);
        assert!((found.mean.unwrap() - 2.0).abs() < 1e-12, "{found:?}");
        let [low, high] = found.interval.unwrap();
        assert!(low < 2.0 && (low * high - 4.0).abs() < 1e-9, "{found:?}");
        // The other way round it is the same.
        let back = of(&base, &own);
        assert!(
            (back.mean.unwrap() - 0.5).abs() < 1e-12 && back.without == ["x", "f", "e", "d", "c"],
            "{back:?}"
        );
    }

    #[test]
    fn times_of_other_loads_have_no_ratio() {
        let one = passes(&[("a", Some(2.0))]);
        let others = [Passes { clients: 2, ..one.clone() }, Passes { fixed: true, ..one.clone() }];
        for other in &others {
            for (own, base) in [(&one, other), (other, &one)] {
                assert_eq!(SpeedUp::of(own, ("base", base), |_| false), None);
            }
        }
    }

    #[test]
    fn nothing_has_no_mean_and_one_query_no_interval() {
        let one = of(&[("a", Some(2.0))], &[("a", Some(2.0))]);
        assert_eq!((one.mean, one.interval), (Some(1.0), None));
        let none = of(&[("a", Some(2.0))], &[("a", None)]);
        assert_eq!((none.mean, none.without), (None, vec!["a".to_owned()]));
    }
}
