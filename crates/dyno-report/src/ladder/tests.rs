use super::*;

fn rung(clients: u32, tps: f64) -> DrawnRung {
    DrawnRung {
        clients,
        rate_per_s: None,
        tps: Some(tps),
        p50_us: Some(f64::from(clients) * 100.0),
        p99_us: Some(f64::from(clients) * 310.0),
        failed: 0,
        state: RungState::Measured,
        telling: false,
    }
}

fn rungs(count: u32) -> Vec<DrawnRung> {
    (0..count).map(|step| rung(1 << step, 13_300.0 * f64::from(step + 1))).collect()
}

const PLAIN: Paint = Paint { color: false };
const FOLD: Overflow = Overflow::Fold { blocks_max: 4 };

#[test]
fn a_ladder_that_fits_is_one_block() {
    assert_eq!(
        table(&rungs(4), 70, FOLD, PLAIN).blocks,
        [["clients      1      2      4      8", "TPS      13.3k  26.6k  39.9k  53.2k"]]
    );
}

#[test]
fn a_ladder_of_rates_tells_the_latency_of_each_step() {
    let at = |rung: DrawnRung| DrawnRung { rate_per_s: Some(rung.tps.unwrap()), ..rung };
    let rates: Vec<DrawnRung> = rungs(3).into_iter().map(at).collect();
    assert_eq!(
        table(&rates, 70, FOLD, PLAIN).blocks,
        [[
            "rate/s   13,300  26,600  39,900",
            "TPS       13.3k   26.6k   39.9k",
            "p50 µs      100     200     400",
            "p99 ms     0.31    0.62    1.24",
        ]]
    );
}

#[test]
fn a_long_ladder_folds_or_drops_its_first_rungs() {
    let folded = table(&rungs(7), 40, FOLD, PLAIN).blocks;
    assert_eq!(folded.len(), 2);
    assert_eq!(folded[1][0], "clients     16     32     64");
    let dropped = table(&rungs(7), 40, Overflow::DropFirst, PLAIN).blocks;
    assert_eq!(dropped, [["clients      8     16     32     64", "TPS      53.2k  66.5k  79.8k  93.1k"]]);
}

#[test]
fn a_ramp_of_many_steps_is_condensed_to_what_tells_most() {
    let mut ramp: Vec<DrawnRung> = (1..=200).map(|clients| rung(clients, 100.0)).collect();
    for telling in [57, 58, 91] {
        ramp[telling - 1].telling = true;
    }
    let drawn = table(&ramp, 70, Overflow::Fold { blocks_max: 3 }, PLAIN);
    assert_eq!((drawn.shown, drawn.all, drawn.blocks.len()), (27, 200, 3));
    let loads: Vec<u32> = drawn
        .blocks
        .iter()
        .flat_map(|block| block[0].split_whitespace().skip(1))
        .filter_map(|text| text.parse().ok())
        .collect();
    assert!(loads.is_sorted() && loads.len() == 27, "{loads:?}");
    for kept in [1, 57, 58, 91, 200] {
        assert!(loads.contains(&kept), "{kept} of {loads:?}");
    }
    assert!(loads.windows(2).all(|pair| pair[1] - pair[0] <= 10), "{loads:?}");
}

#[test]
fn failures_running_and_cut_rungs_are_told() {
    let mut rungs = rungs(3);
    rungs[0].failed = 12;
    rungs[1].state = RungState::CutShort;
    rungs[2].state = RungState::Running;
    rungs[2].tps = None;
    let rows = table(&rungs, 70, FOLD, PLAIN).blocks;
    assert_eq!(
        rows,
        [[
            "clients       1       2       4",
            "TPS       13.3k  26.6k*       …",
            "failed       12       0       0"
        ]]
    );
}

#[test]
fn targets_stand_under_the_same_loads() {
    let mut short = rungs(3);
    short.remove(1);
    short[1].failed = 7;
    let curves = [Curve { target: "pg", rungs: rungs(4) }, Curve { target: "my", rungs: short }];
    assert_eq!(
        side_by_side(&curves, &TargetNames::of(&[]), true, 70, FOLD, PLAIN).blocks,
        [[
            "clients        1      2      4      8",
            "TPS    pg  13.3k  26.6k  39.9k  53.2k",
            "TPS    my  13.3k         39.9k       ",
            "p99 ms pg   0.31   0.62   1.24   2.48",
            "p99 ms my   0.31          1.24       ",
            "failed pg      0      0      0      0",
            "failed my      0             7       "
        ]]
    );
}

#[test]
fn a_ramp_of_the_rate_is_over_rates() {
    let mut ramp = rungs(2);
    ramp[0].rate_per_s = Some(5_000.0);
    ramp[1].rate_per_s = Some(5_050.0);
    let rows = table(&ramp, 70, FOLD, PLAIN).blocks;
    assert_eq!(
        rows,
        [[
            "rate/s   5,000  5,050",
            "TPS      13.3k  26.6k",
            "p50 µs     100    200",
            "p99 µs     310    620"
        ]]
    );
}

#[test]
fn no_rungs_no_table() {
    assert!(table(&[], 70, FOLD, PLAIN).blocks.is_empty());
    assert!(table(&[], 70, Overflow::DropFirst, PLAIN).blocks.is_empty());
    assert!(side_by_side(&[], &TargetNames::of(&[]), true, 70, FOLD, PLAIN).blocks.is_empty());
}
