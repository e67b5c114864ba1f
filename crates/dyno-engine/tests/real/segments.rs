//! Several engines as the generators of one load: each does its segment of the same order.

use dyno_engine::config::EngineConfig;
use dyno_results::event::Distribution;
use dyno_results::spec::{Arrivals, End, Segment, StageOrder};

use crate::bank::{Seen, closed, config, database, engine, for_ms, run};

/// Has so many generators run the same order, one after the other.
fn by_generators(
    count: u32,
    order: &StageOrder,
    config: impl Fn(u32) -> EngineConfig,
) -> Option<(Vec<Seen>, String)> {
    let database = database("CREATE TABLE seen (client int, number int)")?;
    let seen = (0..count).map(|at| {
        let config = EngineConfig { segment: Segment::new(at, count).unwrap(), ..config(at) };
        run(&mut engine(&database, &["INSERT INTO seen VALUES ($1, $2)"], config), order)
    });
    let seen: Vec<Seen> = seen.collect();
    Some((seen, database.psql("SELECT client, number, count(*) FROM seen GROUP BY 1, 2 ORDER BY 1, 2")))
}

#[test]
fn each_generator_has_clients_of_its_own_and_says_which_it_is() {
    let order = closed(7, End::TransactionsPerClient(3));
    let Some((_, by_one)) = by_generators(1, &order, |_| config(2)) else { return };
    assert_eq!(by_one.lines().count(), 21);
    // However many threads each has, and over a pool of connections, too.
    for connections in [None, Some(4)] {
        let config = |at| EngineConfig { connections, ..config(at + 1) };
        let Some((seen, by_three)) = by_generators(3, &order, config) else { return };
        assert_eq!(by_three, by_one, "{connections:?}");
        for (generator, (seen, clients)) in (0..).zip(seen.iter().zip([3, 2, 2])) {
            assert!(seen.outcome.complete, "{connections:?}");
            assert_eq!(seen.done(), clients * 3, "{connections:?}");
            assert!(seen.intervals.iter().all(|interval| interval.generator == generator));
        }
    }
}

#[test]
fn generators_share_a_number_of_transactions_and_a_rate() {
    let counted = StageOrder { transactions_max: Some(50), ..closed(6, for_ms(60_000)) };
    let Some((seen, _)) = by_generators(3, &counted, |_| config(2)) else { return };
    assert_eq!(seen.iter().map(Seen::done).collect::<Vec<_>>(), [17, 17, 16]);
    let arrivals =
        Arrivals::Open { rate_per_s: 90.0, rate_end_per_s: 90.0, distribution: Distribution::Constant };
    let open = StageOrder { arrivals, ..closed(6, for_ms(1_000)) };
    let Some((seen, _)) = by_generators(3, &open, |_| config(2)) else { return };
    assert_eq!(seen.iter().map(Seen::done).collect::<Vec<_>>(), [30, 30, 30]);
}
