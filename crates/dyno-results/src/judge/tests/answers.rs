//! What is found of the passes over a query set.

use super::*;
use crate::document::Series;
use crate::event::{Answer, Check, QueryAnswer};
use crate::passes;

fn answer(target: &str, value: &str) -> Answer {
    let answer = QueryAnswer {
        query: "only".to_owned(),
        sql: "SELECT 1".to_owned(),
        rows: vec![vec![value.to_owned()]],
        count: 1,
        digest: value.to_owned(),
        ..QueryAnswer::default()
    };
    Answer { target: target.to_owned(), series: "queries".to_owned(), answer }
}

/// Passes over one query on targets, with these answers.
fn run(targets: &[&'static str], passes: usize, answers: Vec<Answer>) -> Report {
    let mut fixture = Fixture::started("2026-11-20-1");
    for target in targets.iter().copied() {
        fixture.target = target;
        for _ in 0..passes {
            let load = FixtureStage {
                series: "queries",
                workload: "tpch/queries",
                ..FixtureStage::read(StageKind::Hold, 1, &[1])
            };
            fixture.play(&load);
        }
    }
    answers.into_iter().for_each(|answer| fixture.push(Event::Answer(answer)));
    fixture.finish();
    for stamped in &mut fixture.events {
        if let Event::StageStarted(stage) = &mut stamped.event {
            stage.pass = true;
        }
    }
    fold(&fixture.events)
}

#[test]
fn a_query_that_ended_well_in_no_pass_is_not_done() {
    let with = |change: &dyn Fn(&mut crate::event::Stage)| {
        let mut fixture = Fixture::started("2026-11-20-1");
        for _ in 0..2 {
            let load = FixtureStage { series: "queries", ..FixtureStage::read(StageKind::Hold, 1, &[1]) };
            fixture.play(&load);
        }
        for stamped in &mut fixture.events {
            if let Event::StageStarted(stage) = &mut stamped.event {
                stage.types = vec!["only".to_owned(), "other".to_owned()];
                change(stage);
            }
        }
        fold(&fixture.events)
    };
    let missing = Some("other of queries never ended well on pg".to_owned());
    let mut report = with(&|stage| stage.pass = true);
    assert_eq!(passes::not_done(&report), missing);
    let mut timed = with(&|stage| stage.query_set = true);
    assert_eq!(passes::not_done(&timed), None, "a time ended the load before");
    assert_eq!(passes::not_done(&with(&|_| ())), None, "types of transactions are no queries");
    assert_eq!(passes::not_done(&with(&|stage| (stage.pass, stage.fixed) = (true, true))), None);
    let failure = |over_limit| QueryFailure {
        target: "pg".to_owned(),
        series: "queries".to_owned(),
        query: "other".to_owned(),
        said: "cancelled".to_owned(),
        over_limit,
    };
    timed.query_failures.push(failure(false));
    assert_eq!(passes::not_done(&timed), missing, "it failed");
    report.query_failures.push(failure(true));
    assert_eq!(passes::not_done(&report), None, "it ran until the time limit");
    // Where nothing ended well, that is what is told.
    report.query_failures.clear();
    report.stages.iter_mut().for_each(|result| result.totals.done_with_drain = 0);
    assert_eq!(passes::not_done(&report), None);
}

#[test]
fn two_passes_are_apart_and_their_median_is_not_known() {
    let mut fixture = Fixture::started("2026-11-20-1");
    for service_us in [1_000_000, 2_000_000] {
        let load = FixtureStage { series: "queries", ..FixtureStage::read(StageKind::Hold, 1, &[1]) };
        fixture.play(&FixtureStage { service_us, ..load });
    }
    for stamped in &mut fixture.events {
        if let Event::StageStarted(stage) = &mut stamped.event {
            stage.pass = true;
        }
    }
    let report = fold(&fixture.events);
    let apart = ["2 passes took 1.0 s and 2.0 s: they are 67% of their mean apart"];
    must_find(&report, "noisy", Severity::Doubt, &apart);
    let few = ["the times are of 2 passes: how well their median is known cannot be said"];
    must_find(&report, "too-few-repeats", Severity::Doubt, &few);
}

#[test]
fn an_answer_that_another_target_does_not_have_is_found() {
    let report = run(&["pg", "my"], 3, vec![answer("pg", "12.50"), answer("my", "12.51")]);
    for code in ["answer-differs", "not-validated", "too-few-repeats", "noisy"] {
        must_be_silent(&report, code);
    }
    let passes = report.series[0].passes.as_ref().unwrap();
    assert_eq!(
        (passes.stages.len(), passes.queries[0].times_s.len(), passes.total_s.is_some()),
        (3, 3, true)
    );
    let [against] = passes.speed_ups.as_slice() else { panic!("{passes:?}") };
    assert_eq!((against.base.as_str(), against.mean, against.ratios.len()), ("my", Some(1.0), 1));
    // Which of two is right is not known.
    let report = run(&["pg", "my"], 3, vec![answer("pg", "12.5"), answer("my", "13.5")]);
    let evidence = [
        "pg: only: the answer is not that of my: row 1 is (12.5) instead of (13.5)",
        "my: only: the answer is not that of pg: row 1 is (13.5) instead of (12.5)",
    ];
    assert_eq!(differing(&report), evidence);
    let against = &report.series[0].passes.as_ref().unwrap().speed_ups[0];
    assert_eq!((against.mean, against.without.as_slice()), (None, ["only".to_owned()].as_slice()));
    let alone = run(&["pg"], 1, Vec::new());
    assert!(alone.series[0].passes.as_ref().unwrap().speed_ups.is_empty());
}

/// What is said of targets whose answers differ. The others have theirs in common.
fn differing(report: &Report) -> Vec<String> {
    let differing = judge(report).into_iter().filter(|finding| finding.code == "answer-differs");
    let said = |finding: Finding| format!("{}: {}", finding.subject.target.unwrap(), finding.evidence);
    let differing: Vec<String> = differing.map(said).collect();
    let alike = report.series.iter().filter(|series| series.passes.as_ref().unwrap().answers.alike == 1);
    assert_eq!(alike.count() + differing.len(), report.series.len());
    differing
}

/// The passes of [`run`] behind updates, of which each target has done so many.
fn run_after_updates(updates: &[(&'static str, u64)], answers: Vec<Answer>) -> Report {
    let mut fixture = Fixture::started("2026-11-20-1");
    for (target, done) in updates {
        fixture.target = target;
        if *done > 0 {
            let load = FixtureStage {
                series: "updates",
                workload: "storage/updates",
                ..FixtureStage::write(StageKind::Hold, 1, std::slice::from_ref(done))
            };
            fixture.play(&load);
        }
        let load = FixtureStage {
            series: "queries",
            workload: "storage/queries-after",
            ..FixtureStage::read(StageKind::Hold, 1, &[1])
        };
        fixture.play(&load);
    }
    answers.into_iter().for_each(|answer| fixture.push(Event::Answer(answer)));
    fixture.finish();
    for stamped in &mut fixture.events {
        if let Event::StageStarted(stage) = &mut stamped.event {
            (stage.pass, stage.fixed) = (stage.series == "queries", true);
        }
    }
    fold(&fixture.events)
}

#[test]
fn only_those_are_compared_that_did_the_same_work_before() {
    let answers = || vec![answer("heap", "1"), answer("hash", "1"), answer("columnar", "2")];
    let differing = |updates: [u64; 3]| {
        let targets = ["heap", "hash", "columnar"];
        let updates: Vec<_> = targets.into_iter().zip(updates).collect();
        let report = run_after_updates(&updates, answers());
        let found = judge(&report).into_iter().filter(|it| it.code == "answer-differs");
        found.filter_map(|finding| finding.subject.target).collect::<Vec<_>>()
    };
    assert_eq!(differing([100, 100, 100]), ["columnar"]);
    assert_eq!(differing([0, 0, 0]), ["columnar"]);
    // It cannot update, or could not update all.
    assert_eq!(differing([100, 100, 0]), [""; 0]);
    assert_eq!(differing([100, 100, 50]), [""; 0]);
    // The others are still compared with each other.
    let report = run_after_updates(
        &[("heap", 100), ("hash", 100), ("columnar", 0)],
        vec![answer("heap", "1"), answer("hash", "3"), answer("columnar", "2")],
    );
    let found = judge(&report).into_iter().filter(|it| it.code == "answer-differs");
    let found: Vec<_> = found.filter_map(|finding| finding.subject.target).collect();
    assert_eq!(found, ["heap", "hash"]);
    // Of the one without a counterpart it is said why.
    let told = |report: &Report, target: &str| {
        let mut found = judge(report).into_iter().filter(|it| it.code == "not-validated");
        found.find(|it| it.subject.target.as_deref() == Some(target)).map(|it| it.evidence)
    };
    let why = "not with those of heap and hash: the data differ, because other work was done on them before";
    assert!(told(&report, "columnar").unwrap().ends_with(why), "{:?}", told(&report, "columnar"));
    assert_eq!(told(&report, "heap"), None);
    let two = run_after_updates(
        &[("heap", 100), ("columnar", 50)],
        vec![answer("heap", "1"), answer("columnar", "1")],
    );
    let why = "not with those of columnar: the data differ, because other work was done on them before";
    assert!(told(&two, "heap").unwrap().ends_with(why), "{:?}", told(&two, "heap"));
    let alone = run_after_updates(&[("heap", 100)], vec![answer("heap", "1")]);
    assert!(!told(&alone, "heap").unwrap().contains("the data differ"));
}

#[test]
fn answers_behind_a_load_that_writes_are_not_compared() {
    let run = |only_reads| {
        let mut fixture = Fixture::started("2026-11-20-1");
        for target in ["heap", "hash"] {
            fixture.target = target;
            let load = FixtureStage { series: "mix", ..FixtureStage::write(StageKind::Hold, 4, &[20; 5]) };
            fixture.play(&load);
            let (series, workload) = ("queries", "./shop/queries");
            fixture.play(&FixtureStage { series, workload, ..FixtureStage::read(StageKind::Hold, 1, &[1]) });
        }
        [answer("heap", "1"), answer("hash", "2")].into_iter().for_each(|it| fixture.push(Event::Answer(it)));
        fixture.finish();
        for stamped in &mut fixture.events {
            if let Event::StageStarted(stage) = &mut stamped.event {
                stage.pass = stage.series == "queries";
                stage.only_reads = Some(stage.pass || only_reads);
            }
        }
        fold(&fixture.events)
    };
    let told = |report: &Report, code: &str| -> Vec<String> {
        judge(report).into_iter().filter(|it| it.code == code).map(|it| it.evidence).collect()
    };
    assert_eq!(told(&run(true), "answer-differs").len(), 2);
    let behind = run(false);
    assert_eq!(told(&behind, "answer-differs"), [""; 0]);
    let why = "not with those of hash: a load that writes ran before or beside, and leaves no two with the same data";
    assert!(told(&behind, "not-validated")[0].ends_with(why), "{:?}", told(&behind, "not-validated"));
}

#[test]
fn of_several_targets_those_differ_that_have_not_the_answer_of_most() {
    let differing = |values: &[&str]| {
        let targets = &["a", "b", "c", "d"][..values.len()];
        let answers = targets.iter().zip(values).map(|(target, value)| answer(target, value)).collect();
        let said = differing(&run(targets, 3, answers));
        said.iter().filter_map(|said| said.get(..1)).collect::<String>()
    };
    assert_eq!(differing(&["1", "1", "1"]), "");
    assert_eq!(differing(&["2", "1", "1"]), "a");
    assert_eq!(differing(&["1", "2", "1"]), "b");
    assert_eq!(differing(&["1", "2", "3"]), "abc");
    assert_eq!(differing(&["1", "1", "2", "2"]), "abcd");
}

#[test]
fn an_answer_that_is_right_is_never_the_one_that_differs() {
    let right = |target: &str, value: &str| {
        let mut right = answer(target, value);
        right.answer.validated = Some(true);
        right
    };
    let targets_that_differ = |answers: Vec<Answer>| {
        let targets = &["a", "b", "c"][..answers.len()];
        let found = judge(&run(targets, 3, answers)).into_iter().filter(|it| it.code == "answer-differs");
        found.filter_map(|finding| finding.subject.target).collect::<String>()
    };
    assert_eq!(targets_that_differ(vec![right("a", "1"), answer("b", "2")]), "b");
    // Nor are those right that are the most.
    assert_eq!(targets_that_differ(vec![answer("a", "2"), right("b", "1"), answer("c", "2")]), "ac");
    // Numbers that are right may differ by more than those of two targets may.
    assert_eq!(targets_that_differ(vec![right("a", "1"), right("b", "2"), answer("c", "2")]), "");
    let mut changed = right("a", "1");
    changed.answer.changed = 1;
    assert_eq!(targets_that_differ(vec![changed]), "a");
}

#[test]
fn an_answer_that_differs_in_what_its_text_leaves_open_is_a_note() {
    let answers = |sql: &str, one: &str, other: &str| {
        [("pg", one), ("my", other)].map(|(target, value)| {
            let mut answer = answer(target, value);
            answer.answer.sql = sql.to_owned();
            answer
        })
    };
    let report = run(&["pg", "my"], 3, answers("SELECT a FROM t LIMIT 1", "a", "b").to_vec());
    must_be_silent(&report, "answer-differs");
    let passes = report.series[0].passes.as_ref().unwrap();
    assert_eq!(passes.queries[0].varies.as_deref(), Some("its LIMIT has no ORDER BY"));
    assert_eq!((passes.answers.differ, passes.speed_ups[0].mean), (0, Some(1.0)));
    let found: Vec<Finding> = judge(&report).into_iter().filter(|it| it.code == "answer-varies").collect();
    assert_eq!((found.len(), found[0].severity), (2, Severity::Note));
    assert!(found[0].evidence.ends_with("only: its LIMIT has no ORDER BY"), "{}", found[0].evidence);
    // The text determines it.
    let report = run(&["pg", "my"], 3, answers("SELECT a FROM t ORDER BY a LIMIT 1", "a", "b").to_vec());
    must_be_silent(&report, "answer-varies");
    assert!(judge(&report).iter().any(|it| it.code == "answer-differs"));
}

#[test]
fn an_answer_that_is_wrong_or_changes_is_found() {
    let mut wrong = answer("pg", "1");
    (wrong.answer.validated, wrong.answer.wrong) = (Some(false), Some("it has 1 rows instead of 4".into()));
    must_find(
        &run(&["pg"], 3, vec![wrong]),
        "answer-differs",
        Severity::Invalid,
        &["not that of the specification: it has 1"],
    );
    let mut other = answer("pg", "1");
    (other.answer.recorded, other.answer.wrong) = (true, Some("row 1 is (1) instead of (2)".into()));
    must_find(
        &run(&["pg"], 3, vec![other]),
        "answer-differs",
        Severity::Invalid,
        &["not the recorded one: row 1 is (1) instead of (2)"],
    );
    let mut changed = answer("pg", "1");
    changed.answer.changed = 2;
    must_find(&run(&["pg"], 3, vec![changed]), "answer-differs", Severity::Invalid, &["2 later answers"]);
}

#[test]
fn answers_that_nobody_compared_and_few_passes_are_told() {
    must_find(
        &run(&["pg"], 1, vec![answer("pg", "1")]),
        "too-few-repeats",
        Severity::Doubt,
        &["are of 1 pass:"],
    );
    must_find(
        &run(&["pg"], 2, vec![answer("pg", "1")]),
        "too-few-repeats",
        Severity::Doubt,
        &["of 2 passes:"],
    );
    must_find(&run(&["pg"], 3, Vec::new()), "not-validated", Severity::Note, &["no answer was compared"]);
    let mut valid = answer("pg", "1");
    valid.answer.validated = Some(true);
    must_be_silent(&run(&["pg"], 3, vec![valid]), "not-validated");
}

/// The comparison with recorded answers.
fn recorded_check(passed: Option<bool>, detail: &str) -> Check {
    Check {
        target: "pg".to_owned(),
        workload: "tpch/queries".to_owned(),
        series: None,
        name: crate::answer::AS_RECORDED.to_owned(),
        passed,
        expected: None,
        found: None,
        detail: detail.to_owned(),
    }
}

#[test]
fn a_check_of_answers_is_no_check_of_data() {
    let with_check = |passed, detail: &str, answer: Answer| {
        let mut report = run(&["pg"], 3, vec![answer]);
        report.checks.push(recorded_check(passed, detail));
        must_be_silent(&report, "data-check-failed");
        must_be_silent(&report, "data-check-not-made");
        report
    };
    let mut wrong = answer("pg", "1");
    (wrong.answer.recorded, wrong.answer.wrong) = (true, Some("row 1 is (1) instead of (2)".into()));
    let report = with_check(Some(false), "0 of 1 answers are as recorded", wrong);
    must_find(&report, "answer-differs", Severity::Invalid, &["only: the answer is not the recorded one"]);
    let report = with_check(Some(false), "1 of the queries returned none", answer("pg", "1"));
    must_find(&report, "answer-differs", Severity::Invalid, &["1 of the queries returned none"]);
    let report = with_check(None, "none of the recorded answers is to these queries", answer("pg", "1"));
    must_find(
        &report,
        "not-validated",
        Severity::Note,
        &["none of the recorded answers", "no answer was compared"],
    );
}

#[test]
fn a_check_of_one_stream_says_nothing_of_another_of_its_workload() {
    let series_that_differ = |checked: Option<&str>| {
        let mut report = run(&["pg"], 3, vec![answer("pg", "1")]);
        let other = Series { name: "other".to_owned(), ..report.series[0].clone() };
        report.series.push(other);
        let check = recorded_check(Some(false), "1 of the queries returned none");
        report.checks.push(Check { series: checked.map(str::to_owned), ..check });
        let found = judge(&report).into_iter().filter(|finding| finding.code == "answer-differs");
        found.map(|finding| finding.subject.series.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(series_that_differ(Some("queries")), ["queries"]);
    assert_eq!(series_that_differ(Some("other")), ["other"]);
    // Nothing more is known in a run of an earlier version.
    assert_eq!(series_that_differ(None), ["queries", "other"]);
}

#[test]
fn a_check_of_answers_is_one_of_data_where_there_are_no_passes() {
    let without_passes = |passed, detail: &str| {
        let mut report = run(&["pg"], 3, vec![answer("pg", "1")]);
        report.series[0].passes = None;
        let check = recorded_check(passed, detail);
        report.checks.push(Check { series: Some("queries".to_owned()), ..check });
        report
    };
    let report = without_passes(Some(false), "0 of 1 answers are as recorded");
    must_find(&report, "data-check-failed", Severity::Invalid, &["as-recorded: 0 of 1 answers"]);
    let report = without_passes(None, "none of the recorded answers is to these queries");
    must_find(&report, "data-check-not-made", Severity::Doubt, &["as-recorded: none of the recorded"]);
}
