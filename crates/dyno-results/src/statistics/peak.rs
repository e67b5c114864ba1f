//! The peak of a ladder over clients: where it is, how sure that is, and whether the ladder has gone past it.
//!
//! The interval of a rung says how throughput varied within it, and nothing of what differs from one rung to the
//! next (a checkpoint, another tenant). No rung is therefore taken to be known better than [`UNCERTAINTY_MIN`]. One whose
//! interval says that it may as well have been half as fast says nothing, and is left out.

use super::saturation::LoadStep;
use crate::document::{Estimate, Peak};

/// Least half-width of a rung when rungs are compared, share of its mean.
pub const UNCERTAINTY_MIN: f64 = 0.01;
/// Half-width where a rung was too short to have one, share of its mean.
pub const UNCERTAINTY_UNKNOWN: f64 = 0.05;
/// A mean this much higher is taken for a rise even where wide intervals overlap: one rung too many costs seconds,
/// one too few costs the peak.
pub const RISE_MIN: f64 = 0.05;
/// Rungs without a rise after which throughput is taken to rise no more.
pub const FLAT_RUNGS: usize = 2;
/// What the clients must have grown by over these rungs: of a rung with two percent more of them no rise could be seen.
pub const FLAT_GROWTH: f64 = 1.25;

/// Why a peak counts as passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passed {
    /// A higher client count was slower, and the intervals do not overlap.
    ClearlySlower,
    /// Two further rungs brought no rise.
    NoFurtherRise,
}

/// The peak of a ladder: the rung with the highest mean of those that are known to within a factor of two. `None` without
/// such rungs.
///
/// Being the highest of several noisy means, the peak's own is a little too high on average, and has no interval; a hold
/// at the same client count says what is sustained.
pub fn peak(rungs: &[LoadStep]) -> Option<Peak> {
    let known = ascending(rungs);
    let best = highest(&known)?;
    let mut clients_indistinguishable: Vec<u32> =
        known.iter().filter(|rung| upper(rung) >= lower(best)).map(|rung| rung.clients).collect();
    clients_indistinguishable.dedup();
    let mut tried: Vec<u32> = rungs.iter().map(|rung| rung.clients).collect();
    tried.sort_unstable();
    tried.dedup();
    let throughput = if rungs.len() > 1 { best.throughput.without_interval() } else { best.throughput };
    let mut unknown = rungs.iter().filter(|rung| !rung.throughput.is_known_within_two());
    let maybe_higher = unknown.any(|rung| rung.throughput.mean > best.throughput.mean);
    Some(Peak {
        indistinguishable_from: in_ranges(&tried, &clients_indistinguishable, best.clients),
        stage: best.stage,
        clients: best.clients,
        throughput,
        clients_indistinguishable,
        passed: passed(&known).is_some() && !maybe_higher,
        rate_met: false,
    })
}

/// Of the client counts that were tried those that are `alike`, in ranges of neighbours: `1–4, 16`. The peak is named
/// nowhere, but for a range that goes on behind it.
fn in_ranges(tried: &[u32], alike: &[u32], peak: u32) -> Option<String> {
    let ranges: Vec<String> = tried
        .split(|clients| !alike.contains(clients))
        .filter_map(|range| {
            let range = range.strip_prefix(&[peak]).unwrap_or(range);
            let range = range.strip_suffix(&[peak]).unwrap_or(range);
            match range {
                [] => None,
                [only] => Some(only.to_string()),
                [first, .., last] => Some(format!("{first}–{last}")),
            }
        })
        .collect();
    (!ranges.is_empty()).then(|| ranges.join(", "))
}

/// The rungs that count, by their clients.
fn ascending(rungs: &[LoadStep]) -> Vec<LoadStep> {
    let known = rungs.iter().copied().filter(|rung| rung.throughput.is_known_within_two());
    let mut rungs: Vec<LoadStep> = known.collect();
    rungs.sort_by_key(|rung| (rung.clients, rung.stage));
    rungs
}

/// The first of the rungs with the highest mean.
fn highest(rungs: &[LoadStep]) -> Option<&LoadStep> {
    rungs.iter().reduce(|best, rung| if rung.throughput.mean > best.throughput.mean { rung } else { best })
}

/// Why the peak of the rungs so far counts as passed; `None` where throughput may still rise. The order does not matter;
/// rungs that were cut short are to be left out.
pub fn passed(rungs: &[LoadStep]) -> Option<Passed> {
    let rungs = ascending(rungs);
    let best = highest(&rungs)?;
    if rungs.iter().any(|rung| rung.clients > best.clients && upper(rung) < lower(best)) {
        return Some(Passed::ClearlySlower);
    }
    let flat_from = |rung: &LoadStep| {
        let mut further = rungs.iter().filter(|other| other.clients > rung.clients).peekable();
        let most = further.clone().map(|other| other.clients).max().unwrap_or(0);
        let grown = f64::from(most) >= FLAT_GROWTH * f64::from(rung.clients);
        let enough = further.clone().count() >= FLAT_RUNGS && grown;
        enough && further.all(|other| !rises(rung, other))
    };
    rungs.iter().any(flat_from).then_some(Passed::NoFurtherRise)
}

/// Whether `after` is higher than `before`: clearly, or by so much that it would be rash to say it is not.
fn rises(before: &LoadStep, after: &LoadStep) -> bool {
    lower(after) > upper(before) || after.throughput.mean > before.throughput.mean * (1.0 + RISE_MIN)
}

fn lower(rung: &LoadStep) -> f64 {
    rung.throughput.mean - uncertainty(&rung.throughput)
}

fn upper(rung: &LoadStep) -> f64 {
    rung.throughput.mean + uncertainty(&rung.throughput)
}

/// Half-width of a rung when it is compared.
pub(crate) fn uncertainty(estimate: &Estimate) -> f64 {
    match estimate.half_width {
        Some(half_width) => half_width.max(UNCERTAINTY_MIN * estimate.mean),
        None => UNCERTAINTY_UNKNOWN * estimate.mean,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rungs of clients, mean and half-width.
    fn ladder(rungs: &[(u32, f64, Option<f64>)]) -> Vec<LoadStep> {
        let rung = |(stage, (clients, mean, half_width)): (usize, &(u32, f64, Option<f64>))| LoadStep {
            stage: stage as u32,
            clients: *clients,
            throughput: Estimate {
                mean: *mean,
                half_width: *half_width,
                samples: 5,
                effective_samples: Some(5.0),
            },
            rate_per_s: None,
            p99_us: None,
            done: 0,
            failed: 0,
            processors: None,
        };
        rungs.iter().enumerate().map(rung).collect()
    }

    #[test]
    fn counts_that_are_as_good_stand_in_ranges_of_what_was_tried() {
        let tried = [1, 2, 4, 8, 16];
        let words = |alike: &[u32], peak| in_ranges(&tried, alike, peak);
        assert_eq!(words(&tried, 8).as_deref(), Some("1–16"));
        assert_eq!(words(&[1, 2, 8, 16], 8).as_deref(), Some("1–2, 16"));
        assert_eq!(words(&[1, 4, 8], 8).as_deref(), Some("1, 4"));
        assert_eq!(words(&[2, 8], 2).as_deref(), Some("8"));
        assert_eq!(words(&[8], 8), None);
    }

    #[test]
    fn a_rising_ladder_goes_on() {
        let rungs = ladder(&[(1, 100.0, Some(2.0)), (2, 190.0, Some(3.0)), (4, 350.0, Some(5.0))]);
        for tried in 1..=3 {
            assert_eq!(passed(&rungs[..tried]), None);
        }
        let peak = peak(&rungs).unwrap();
        assert_eq!((peak.clients, peak.passed), (4, false));
        assert_eq!(peak.clients_indistinguishable, [4]);
    }

    #[test]
    fn a_clearly_slower_rung_ends_the_ladder() {
        let rungs = ladder(&[(4, 350.0, Some(5.0)), (8, 400.0, Some(5.0)), (16, 370.0, Some(5.0))]);
        assert_eq!(passed(&rungs), Some(Passed::ClearlySlower));
        let peak = peak(&rungs).unwrap();
        assert_eq!((peak.stage, peak.clients, peak.passed), (1, 8, true));
    }

    #[test]
    fn a_rung_that_may_be_slower_does_not_end_it_but_two_do() {
        let rungs = ladder(&[(8, 400.0, Some(15.0)), (16, 390.0, Some(15.0)), (32, 395.0, Some(15.0))]);
        assert_eq!(passed(&rungs[..2]), None);
        assert_eq!(passed(&rungs), Some(Passed::NoFurtherRise));
        let peak = peak(&rungs).unwrap();
        assert_eq!(peak.clients_indistinguishable, [8, 16, 32]);
        assert_eq!(peak.indistinguishable_from.as_deref(), Some("16–32"));
    }

    #[test]
    fn a_plateau_that_creeps_up_within_its_noise_ends() {
        let rungs = ladder(&[(8, 400.0, Some(10.0)), (16, 405.0, Some(10.0)), (32, 409.0, Some(10.0))]);
        assert_eq!(passed(&rungs), Some(Passed::NoFurtherRise));
        let peak = peak(&rungs).unwrap();
        assert_eq!((peak.clients, peak.passed), (32, true));
    }

    #[test]
    fn a_rise_hidden_in_noise_goes_on() {
        let rungs = ladder(&[(1, 100.0, Some(45.0)), (2, 130.0, Some(60.0)), (4, 160.0, Some(60.0))]);
        assert_eq!(passed(&rungs), None);
    }

    #[test]
    fn the_best_of_several_has_no_interval_and_an_only_one_has_its_own() {
        let rungs = [(2, 42_500.0, Some(2210.0)), (4, 41_000.0, Some(900.0))];
        assert_eq!(peak(&ladder(&rungs)).unwrap().throughput.half_width, None);
        assert_eq!(peak(&ladder(&rungs[..1])).unwrap().throughput.half_width, Some(2210.0));
    }

    #[test]
    fn a_rung_that_is_not_known_within_a_factor_of_two_counts_for_nothing() {
        // It is as good as the peak by its interval alone, and would be one among `1–16`.
        let mut rungs = vec![(1, 842.0, Some(2493.0)), (2, 2600.0, Some(100.0)), (4, 2700.0, Some(100.0))];
        let found = peak(&ladder(&rungs)).unwrap();
        assert_eq!((found.clients, &found.clients_indistinguishable[..]), (4, &[2, 4][..]));
        assert_eq!(found.indistinguishable_from.as_deref(), Some("2"));
        // The highest mean of all, which may as well be half of it.
        rungs.push((8, 9000.0, Some(4600.0)));
        assert_eq!(peak(&ladder(&rungs)).unwrap().clients, 4);
        // The peak may be there, whatever the other rungs say.
        let slower = [&rungs[..], &[(16, 2000.0, Some(50.0))]].concat();
        assert_eq!(passed(&ladder(&slower)), Some(Passed::ClearlySlower));
        assert!(!peak(&ladder(&slower)).unwrap().passed);
        // It is no evidence that the peak was passed either, and stands between ranges of neighbours.
        rungs[3] = (8, 300.0, Some(200.0));
        assert!(!peak(&ladder(&rungs)).unwrap().passed);
        rungs.push((16, 2690.0, Some(100.0)));
        assert_eq!(peak(&ladder(&rungs)).unwrap().indistinguishable_from.as_deref(), Some("2, 16"));
        assert!(peak(&ladder(&rungs[..1])).is_none());
        assert_eq!(passed(&ladder(&rungs[..1])), None);
    }

    #[test]
    fn a_small_rise_that_is_clear_goes_on() {
        let rungs = ladder(&[(8, 400.0, Some(1.0)), (16, 410.0, Some(1.0)), (32, 419.0, Some(1.0))]);
        assert_eq!(passed(&rungs), None);
    }

    #[test]
    fn no_rung_is_taken_to_be_known_to_a_thousandth() {
        // Apart by half a percent, each "known" to a hundredth of one.
        let rungs = ladder(&[(8, 400.0, Some(0.04)), (16, 398.0, Some(0.04))]);
        assert_eq!(passed(&rungs), None);
        assert_eq!(peak(&rungs).unwrap().clients_indistinguishable, [8, 16]);
    }

    #[test]
    fn rungs_too_short_for_an_interval_still_passed() {
        let rungs = ladder(&[(1, 100.0, None), (2, 190.0, None), (4, 150.0, None)]);
        assert_eq!(passed(&rungs[..2]), None);
        assert_eq!(passed(&rungs), Some(Passed::ClearlySlower));
    }

    #[test]
    fn the_order_in_which_rungs_ran_plays_no_part() {
        let mut rungs = ladder(&[(4, 350.0, Some(5.0)), (16, 370.0, Some(5.0)), (8, 400.0, Some(5.0))]);
        let peak_as_ran = peak(&rungs).unwrap();
        rungs.reverse();
        assert_eq!(peak(&rungs).unwrap().clients, peak_as_ran.clients);
        assert_eq!(passed(&rungs), Some(Passed::ClearlySlower));
        assert!(peak(&[]).is_none());
        assert_eq!(passed(&[]), None);
    }

    #[test]
    fn rungs_a_client_apart_do_not_hide_a_rise() {
        // Each brings its two percent; the fifth of so many more shows it.
        let rungs: Vec<(u32, f64, Option<f64>)> =
            (50..=63).map(|clients| (clients, f64::from(clients) * 10.0, Some(20.0))).collect();
        for tried in 1..=rungs.len() {
            assert_eq!(passed(&ladder(&rungs[..tried])), None, "{tried}");
        }
        let flat: Vec<(u32, f64, Option<f64>)> =
            (50..=63).map(|clients| (clients, 500.0, Some(20.0))).collect();
        assert_eq!(passed(&ladder(&flat)), Some(Passed::NoFurtherRise));
    }

    #[test]
    fn a_dip_before_the_peak_does_not_end_the_ladder() {
        let rungs = ladder(&[(1, 100.0, Some(2.0)), (2, 80.0, Some(2.0)), (4, 200.0, Some(2.0))]);
        assert_eq!(passed(&rungs), None);
    }
}
