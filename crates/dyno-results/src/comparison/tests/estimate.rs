//! How often the interval of a ratio holds the true one, and whether a difference is shown where there is one and only
//! there.

use super::*;
use crate::document::Estimate;
use crate::statistics::noise::Noise;

const TRIALS: u32 = 600;

fn repeated(values: &[f64]) -> SideFigure {
    SideFigure::of(&values.iter().map(|value| Some((*value, None))).collect::<Vec<_>>()).unwrap()
}

/// Runs that differ from one another by so much.
fn runs(noise: &mut Noise, level: f64, deviation: f64, runs: usize) -> SideFigure {
    repeated(&(0..runs).map(|_| level * (1.0 + deviation * noise.normal())).collect::<Vec<_>>())
}

/// Rounds of two sides that meet the same weather, each with a noise of its own.
fn rounds(noise: &mut Noise, truth: f64, weather: f64, own: f64, rounds: usize) -> (SideFigure, SideFigure) {
    let round = |noise: &mut Noise| {
        let both = 1000.0 * (weather * noise.normal()).exp();
        (both * (own * noise.normal()).exp(), truth * both * (own * noise.normal()).exp())
    };
    let (base, other): (Vec<f64>, Vec<f64>) = (0..rounds).map(|_| round(noise)).unzip();
    (repeated(&base), repeated(&other))
}

fn ratio(base: &SideFigure, other: &SideFigure, unit: BasisUnit) -> Ratio {
    Contrast::of(base, other, unit).unwrap().said(ALPHA, Better::Higher)
}

/// Share of ratios whose interval holds the true one, and share of those that show a difference.
fn simulate(truth: f64, unit: BasisUnit, mut pair: impl FnMut() -> (SideFigure, SideFigure)) -> (f64, f64) {
    let (mut held, mut shown) = (0, 0);
    for _ in 0..TRIALS {
        let (base, other) = pair();
        let ratio = ratio(&base, &other, unit);
        let [lowest, highest] = ratio.interval.unwrap();
        held += u32::from(lowest <= truth && truth <= highest);
        shown += u32::from(ratio.verdict != Verdict::NoDifferenceShown);
    }
    (f64::from(held) / f64::from(TRIALS), f64::from(shown) / f64::from(TRIALS))
}

#[test]
fn intervals_from_runs_hold_the_true_ratio() {
    for count in [2, 3, 4, 5, 10] {
        let mut noise = Noise::seeded(count as u64);
        let (held, _) = simulate(0.5, BasisUnit::Runs, || {
            (runs(&mut noise, 1000.0, 0.04, count), runs(&mut noise, 500.0, 0.04, count))
        });
        assert!((0.925..=0.99).contains(&held), "{count} runs each: {held}");
    }
}

#[test]
fn intervals_from_rounds_hold_the_true_ratio_whatever_the_weather() {
    for count in [2, 3, 5, 10] {
        let mut noise = Noise::seeded(count as u64);
        let (held, _) = simulate(1.25, BasisUnit::Pairs, || rounds(&mut noise, 1.25, 0.2, 0.03, count));
        assert!((0.93..=0.97).contains(&held), "{count} rounds: {held}");
    }
}

#[test]
fn rounds_show_what_the_weather_hides_from_runs() {
    let mut noise = Noise::seeded(1);
    let (_, pairs) = simulate(1.05, BasisUnit::Pairs, || rounds(&mut noise, 1.05, 0.08, 0.01, 3));
    let (_, unpaired) = simulate(1.05, BasisUnit::Runs, || rounds(&mut noise, 1.05, 0.08, 0.01, 3));
    assert!(pairs > 0.72 && unpaired < 0.05, "{pairs} by pairs, {unpaired} otherwise");
}

#[test]
fn no_difference_is_shown_between_a_thing_and_itself() {
    let mut noise = Noise::seeded(3);
    let (_, shown) =
        simulate(1.0, BasisUnit::Runs, || (runs(&mut noise, 1e4, 0.05, 5), runs(&mut noise, 1e4, 0.05, 5)));
    assert!(shown < 0.07, "{shown}");
    let (_, shown) = simulate(1.0, BasisUnit::Pairs, || rounds(&mut noise, 1.0, 0.08, 0.03, 5));
    assert!(shown < 0.07, "{shown}");
}

#[test]
fn ten_percent_are_shown_with_enough_runs() {
    let mut noise = Noise::seeded(4);
    let (_, shown) =
        simulate(1.1, BasisUnit::Runs, || (runs(&mut noise, 1e4, 0.02, 5), runs(&mut noise, 1.1e4, 0.02, 5)));
    assert!(shown > 0.9, "{shown}");
    let (_, shown) =
        simulate(1.1, BasisUnit::Runs, || (runs(&mut noise, 1e4, 0.02, 2), runs(&mut noise, 1.1e4, 0.02, 2)));
    assert!(shown < 0.5, "{shown}");
}

/// A table of a thing and itself, or of the first rows so many times as high.
fn table(noise: &mut Noise, primary: f64, different: usize, times: f64) -> Vec<FigureRow> {
    let draft = |row: usize| {
        let truth = if row == 0 {
            primary
        } else if row <= different {
            times
        } else {
            1.0
        };
        let (base, other) = rounds(noise, truth, 0.05, 0.02, 5);
        let contrast = Contrast::of(&base, &other, BasisUnit::Pairs);
        Draft {
            row: FigureRow::new("", "", Better::Higher, vec![base.cell(), other.cell()]),
            contrasts: vec![None, contrast],
            primary: row == 0,
        }
    };
    decide(vec![(0..20).map(draft).collect()]).remove(0)
}

fn said(row: &FigureRow) -> Verdict {
    row.cells[1].ratio.unwrap().verdict
}

#[test]
fn of_many_rows_that_do_not_differ_none_is_shown_in_95_of_100_tables() {
    let mut noise = Noise::seeded(5);
    let (mut primary, mut any) = (0, 0);
    for _ in 0..TRIALS {
        let rows = table(&mut noise, 1.0, 0, 1.0);
        primary += u32::from(said(&rows[0]) != Verdict::NoDifferenceShown);
        any += u32::from(rows[1..].iter().any(|row| said(row) != Verdict::NoDifferenceShown));
    }
    assert!(primary * 100 <= 7 * TRIALS, "{primary} of {TRIALS}");
    assert!(any * 100 <= 7 * TRIALS, "{any} of {TRIALS}");
}

#[test]
fn the_primary_row_is_tested_alone_and_verdicts_agree_with_intervals() {
    let mut noise = Noise::seeded(6);
    let (mut primary, mut others) = (0, 0);
    for _ in 0..200 {
        let rows = table(&mut noise, 1.06, 3, 1.4);
        primary += u32::from(said(&rows[0]) == Verdict::Better);
        others += rows[1..4].iter().filter(|row| said(row) == Verdict::Better).count();
        for row in &rows {
            let ratio = row.cells[1].ratio.unwrap();
            let [lowest, highest] = ratio.interval.unwrap();
            let alike = lowest <= 1.0 + LEAST_RELEVANT && highest >= 1.0 / (1.0 + LEAST_RELEVANT);
            assert_eq!(alike, said(row) == Verdict::NoDifferenceShown, "{ratio:?}");
        }
    }
    assert!(primary > 150 && others > 590, "{primary} of 200, {others} of 600");
}

#[test]
fn what_was_not_repeated_is_not_tested_however_well_its_seconds_know_it() {
    let spread = Spread::of_estimate(&Estimate {
        mean: 1000.0,
        half_width: Some(1.0),
        samples: 60,
        effective_samples: Some(60.0),
    });
    let single = |value: f64| SideFigure::of(&[Some((value, spread))]).unwrap();
    let far = ratio(&single(1000.0), &single(2000.0), BasisUnit::Untested);
    assert_eq!((far.value, far.interval, far.verdict), (2.0, None, Verdict::NotTested));
}

#[test]
fn a_figure_of_one_run_has_the_interval_of_its_report() {
    for share in [0.01, 0.69, 2.0] {
        let estimate = Estimate {
            mean: 500.0,
            half_width: Some(500.0 * share),
            samples: 30,
            effective_samples: Some(9.0),
        };
        let known = SideFigure::of(&[Some((500.0, Spread::of_estimate(&estimate)))]).unwrap();
        let [lowest, highest] = known.interval().unwrap();
        assert!(((highest - lowest) / 1000.0 - share).abs() < 1e-6, "{lowest} to {highest}");
    }
}

#[test]
fn a_side_of_several_runs_is_their_median() {
    let three = repeated(&[120.0, 100.0, 101.0]);
    assert_eq!((three.value, three.repeats), (101.0, 3));
    assert_eq!(repeated(&[100.0, 104.0]).value, 102.0);
    assert_eq!(SideFigure::of(&[]), None);
    // Three runs that agree to the last digit.
    let alike = repeated(&[7.0; 3]);
    for unit in [BasisUnit::Runs, BasisUnit::Pairs] {
        let said = ratio(&alike, &alike, unit);
        assert_eq!((said.interval, said.verdict), (Some([1.0, 1.0]), Verdict::NoDifferenceShown));
    }
}

#[test]
fn the_direction_is_known() {
    let verdict = |other: f64, better| {
        let contrast =
            Contrast::of(&repeated(&[100.0; 2]), &repeated(&[other; 2]), BasisUnit::Pairs).unwrap();
        contrast.said(ALPHA, better).verdict
    };
    assert_eq!(verdict(200.0, Better::Higher), Verdict::Better);
    assert_eq!(verdict(200.0, Better::Lower), Verdict::Worse);
    assert_eq!(verdict(50.0, Better::Lower), Verdict::Better);
    assert_eq!(verdict(50.0, Better::Higher), Verdict::Worse);
    assert_eq!(verdict(50.0, Better::Neither), Verdict::Lower);
    assert_eq!(verdict(200.0, Better::Neither), Verdict::Higher);
}

#[test]
fn nothing_has_no_ratio_and_a_round_that_lacks_a_figure_is_no_pair() {
    assert_eq!(Contrast::of(&repeated(&[0.0]), &repeated(&[3.0]), BasisUnit::Untested), None);
    assert_eq!(Contrast::of(&repeated(&[3.0]), &repeated(&[0.0]), BasisUnit::Untested), None);
    let lacking = SideFigure::of(&[Some((3.0, None)), None, Some((3.0, None))]).unwrap();
    for unit in [BasisUnit::Runs, BasisUnit::Pairs] {
        let without = ratio(&repeated(&[2.0; 3]), &lacking, unit);
        assert_eq!((without.value, without.interval, without.verdict), (1.5, None, Verdict::NoInterval));
    }
}

#[test]
fn a_figure_that_does_not_scatter_has_a_least_relevant_difference() {
    let verdict = |base: &SideFigure, other: &SideFigure, unit| ratio(base, other, unit).verdict;
    for unit in [BasisUnit::Runs, BasisUnit::Pairs] {
        // The same log for each transaction, but for the last digit of a quotient.
        let wal = [8000.0, 7999.999999999999, 8000.0];
        assert_eq!(verdict(&repeated(&[8000.0; 3]), &repeated(&wal), unit), Verdict::NoDifferenceShown);
        let off = |by: f64| repeated(&[8000.0 * by; 3]);
        assert_eq!(verdict(&off(1.0), &off(1.0049), unit), Verdict::NoDifferenceShown);
        assert_eq!(verdict(&off(1.0), &off(1.0051), unit), Verdict::Better);
        assert_eq!(verdict(&off(1.0), &off(0.99), unit), Verdict::Worse);
        // A tick of a clock that has ticked fifty times is one percent of each.
        let ticks = |count: f64| SideFigure { resolution: 0.2, ..repeated(&[0.2 * count; 3]) };
        assert_eq!(verdict(&ticks(50.0), &ticks(51.0), unit), Verdict::NoDifferenceShown);
        assert_eq!(verdict(&ticks(50.0), &ticks(60.0), unit), Verdict::Better);
    }
}

#[test]
fn a_small_difference_is_not_shown_by_small_scatter_among_other_rows_either() {
    let mut noise = Noise::seeded(3);
    let (_, shown) = simulate(1.003, BasisUnit::Runs, || {
        (runs(&mut noise, 1000.0, 0.0002, 5), runs(&mut noise, 1003.0, 0.0002, 5))
    });
    assert!(shown < 0.01, "{shown}");
}
