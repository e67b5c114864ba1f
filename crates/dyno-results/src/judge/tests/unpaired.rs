//! Streams that did not run at the same time.

use super::*;
use crate::spec::{PhaseSpec, StreamSpec, Time};

/// `write` with a rung and a hold of 10 s each, and `read` with stages that begin so many seconds later than those.
fn streams(of_read: &[(f64, u64)]) -> Report {
    let mut fixture = Fixture::started("2026-11-20-1");
    for kind in [StageKind::WarmUp, StageKind::Ladder, StageKind::Hold] {
        fixture.play(&FixtureStage::write(kind, 8, &[1000; 10]));
    }
    for (_, seconds) in of_read {
        fixture.play(&FixtureStage::read(StageKind::Hold, 1, &vec![1000; *seconds as usize]));
    }
    for stamped in &mut fixture.events {
        if let Event::StageStarted(stage) = &mut stamped.event {
            (stage.key.phase, stage.key.stream) = (0, u32::from(stage.series == "read"));
        }
    }
    fixture.finish();
    let mut report = fold(&fixture.events);
    let begin = report.stages[1].start_s;
    for (result, (later, _)) in report.stages.iter_mut().skip(3).zip(of_read) {
        result.start_s = begin + later;
    }
    let stream = |name: &str, clients: &str| {
        let mut stream = StreamSpec { name: Some(name.to_owned()), ..StreamSpec::default() };
        stream.load.clients = Some(clients.parse().unwrap());
        stream
    };
    let streams = vec![stream("write", "4,8"), stream("read", "1")];
    report.run.resolved.phases = vec![PhaseSpec { streams, ..PhaseSpec::default() }];
    report
}

fn told(report: &Report) -> Vec<(String, String)> {
    let found = judge(report).into_iter().filter(|finding| finding.code == "unpaired");
    found.map(|finding| (finding.subject.series.unwrap(), finding.evidence)).collect()
}

#[test]
fn streams_that_run_together_are_not_told_of() {
    assert_eq!(told(&streams(&[(0.02, 10), (10.05, 10)])), []);
    // In one stage for the time of two; and one that accompanies runs on while the other drains.
    assert_eq!(told(&streams(&[(0.0, 30)])), []);
    let mut alone = streams(&[]);
    alone.run.resolved.phases[0].streams.truncate(1);
    assert_eq!(told(&alone), []);
}

#[test]
fn a_stream_that_ran_alone_for_a_part_is_told_of() {
    let words = |count, seconds| {
        format!(
            "in {count} of 2 stages of write, another stream did not run for the whole time: read ran for {seconds} of the hold of 10 s at 8 clients"
        )
    };
    let of = |report: &Report| told(report).pop();
    assert_eq!(of(&streams(&[(0.0, 10)])), Some(("write".to_owned(), words(1, "0 s"))));
    assert_eq!(of(&streams(&[])), Some(("write".to_owned(), words(2, "0 s"))));
    assert_eq!(of(&streams(&[(0.0, 18)])), Some(("write".to_owned(), words(1, "8 s"))));
    // Both have an end of their own: each is told of what the other did not accompany.
    let mut both = streams(&[(0.0, 10)]);
    both.run.resolved.phases[0].streams[1].load.duration = Some(Time(std::time::Duration::from_secs(10)));
    both.stages[3].start_s -= 5.0;
    let series: Vec<_> = told(&both).into_iter().map(|(series, _)| series).collect();
    assert_eq!(series, ["write"], "the warm-up was beside read");
    // What was cut short is told of as such.
    let mut cut = streams(&[(0.0, 10)]);
    cut.stages[2].complete = false;
    assert_eq!(told(&cut), []);
}
