use proptest::prelude::*;

use super::*;

fn view<'a>(t_s: &'a [f64], values: &'a [Option<f64>]) -> Metric<'a> {
    Metric {
        source: "host".into(),
        key: "cpu_user_share".into(),
        unit: "share".into(),
        t_s: t_s.into(),
        values: values.into(),
    }
}

/// A load of one row a second; a stage's number and what it did in its seconds.
fn made(stages: &[(u32, Vec<f64>)]) -> LoadColumns {
    let mut load = LoadColumns::default();
    for (stage, tps) in stages {
        for tps in tps {
            load.t_s.push(load.t_s.len() as f64);
            load.stage.push(*stage);
            load.clients.push(*stage);
            load.tps.push(Some(*tps));
            load.failed_per_s.push(Some(0.0));
            let LoadColumns { p50_us, p90_us, p95_us, p99_us, p999_us, max_us, .. } = &mut load;
            for column in [p50_us, p90_us, p95_us, p99_us, p999_us, max_us] {
                column.push((*tps > 0.0).then(|| 1e6 / tps));
            }
        }
    }
    load
}

#[test]
fn a_spike_of_one_second_in_a_day_stays() {
    let t_s: Vec<f64> = (0..86_400).map(f64::from).collect();
    let values: Vec<_> = (0..86_400).map(|second| Some(if second == 70_001 { 9.0 } else { 1.0 })).collect();
    let thinned = metric(&view(&t_s, &values), Span::ALL, 2000);
    assert!(thinned.t_s.len() <= 2000);
    assert_eq!(thinned.values.iter().filter(|value| **value == Some(9.0)).count(), 1);
    let at = thinned.values.iter().position(|value| *value == Some(9.0)).unwrap();
    assert!((thinned.t_s[at] - 70_001.0).abs() < 100.0, "{}", thinned.t_s[at]);
    let near = Span { from_s: 70_000.0, to_s: 70_002.0 };
    assert_eq!(
        *metric(&view(&t_s, &values), near, 2000).t_s,
        [69_999.0, 70_000.0, 70_001.0, 70_002.0, 70_003.0]
    );
}

#[test]
fn a_gap_stays_a_gap() {
    let t_s: Vec<f64> = (0..500).chain(800..1300).map(f64::from).collect();
    let values: Vec<_> = t_s.iter().map(|t_s| (!(100.0..103.0).contains(t_s)).then_some(t_s % 7.0)).collect();
    let thinned = metric(&view(&t_s, &values), Span::ALL, 100);
    assert!(thinned.t_s.len() <= 100);
    assert!(thinned.t_s.windows(2).any(|pair| pair == [499.0, 800.0]), "{:?}", thinned.t_s);
    let unknown: Vec<_> = thinned
        .t_s
        .iter()
        .zip(thinned.values.iter())
        .filter(|(_, value)| value.is_none())
        .map(|(t_s, _)| *t_s)
        .collect();
    assert_eq!(unknown, [100.0, 102.0]);
}

#[test]
fn bounds_of_stages_stay() {
    let stages: Vec<_> = (1..=20).map(|stage| (stage, vec![f64::from(stage); 60])).collect();
    let all = made(&stages);
    let thinned = load(&all, Span::ALL, 100);
    assert!(thinned.t_s.len() <= 100);
    for stage in 1..=20 {
        let times = |load: &LoadColumns| -> Vec<f64> {
            load.t_s.iter().zip(&load.stage).filter(|(_, of)| **of == stage).map(|(t_s, _)| *t_s).collect()
        };
        let (before, after) = (times(&all), times(&thinned));
        assert_eq!((before.first(), before.last()), (after.first(), after.last()), "stage {stage}");
    }
    for (stage, tps) in thinned.stage.iter().zip(&thinned.tps) {
        assert_eq!(*tps, Some(f64::from(*stage)), "no second counts for another stage");
    }
}

fn extreme(values: &[Option<f64>], of: fn(f64, f64) -> f64) -> Option<f64> {
    values.iter().copied().flatten().reduce(of)
}

proptest! {
    #[test]
    fn a_thinned_metric_fits_and_keeps_its_extremes(
        steps in prop::collection::vec((0.1_f64..3.0, prop::option::weighted(0.9, -1e9_f64..1e9)), 0..600),
        points in 2_usize..80,
    ) {
        let mut now_s = 0.0;
        let (t_s, values): (Vec<f64>, Vec<Option<f64>>) =
            steps.into_iter().map(|(step_s, value)| { now_s += step_s; (now_s, value) }).unzip();
        let thinned = metric(&view(&t_s, &values), Span::ALL, points);
        prop_assert!(thinned.t_s.len() <= points);
        prop_assert_eq!(thinned.t_s.len(), thinned.values.len());
        prop_assert_eq!(extreme(&thinned.values, f64::min), extreme(&values, f64::min));
        prop_assert_eq!(extreme(&thinned.values, f64::max), extreme(&values, f64::max));
        prop_assert_eq!((thinned.t_s.first(), thinned.t_s.last()), (t_s.first(), t_s.last()));
        prop_assert!(thinned.t_s.is_sorted());
        prop_assert!(thinned.t_s.iter().all(|t_s_kept| t_s.contains(t_s_kept)));
        prop_assert!(thinned.values.iter().all(|value| values.contains(value)));
    }

    #[test]
    fn a_thinned_load_fits_and_keeps_its_extremes(
        stages in prop::collection::vec(prop::collection::vec(0.0_f64..1e6, 1..40), 1..30),
        points in 2_usize..200,
        from_s in -10.0_f64..300.0,
        width_s in 0.0_f64..900.0,
    ) {
        let stages: Vec<_> = (1..).zip(stages).collect();
        let all = made(&stages);
        let span = Span { from_s, to_s: from_s + width_s };
        let kept = all.rows(span.rows(&all.t_s));
        let thinned = load(&all, span, points);
        prop_assert!(thinned.t_s.len() <= points);
        prop_assert_eq!(extreme(&thinned.tps, f64::max), extreme(&kept.tps, f64::max));
        prop_assert_eq!(extreme(&thinned.max_us, f64::max), extreme(&kept.max_us, f64::max));
        for column in [&thinned.p50_us, &thinned.p90_us, &thinned.p99_us, &thinned.p999_us, &thinned.max_us] {
            prop_assert_eq!(column.len(), thinned.t_s.len());
        }
        prop_assert_eq!(thinned.stage.len(), thinned.t_s.len());
        prop_assert!(thinned.t_s.is_sorted());
    }
}
