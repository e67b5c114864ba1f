//! What of two sides may be tested, and one sentence on it beside the figures.

use super::document::{Basis, BasisUnit};
use super::side::{Member, Picked, Side};
use crate::document::{Report, StageResult};
use crate::event::StageKind;
use crate::format;
use crate::headline::Demand;
use crate::words::{command_line, list};

/// Stands in a stored command where a password stood.
const HIDDEN: &str = "***";

/// What is repeated of two sides, of which these stages speak.
pub(super) fn unit(base: &Picked<'_>, other: &Picked<'_>) -> BasisUnit {
    match pairs(base, other) {
        Some([paired, _]) if paired.repeats() > 1 => BasisUnit::Pairs,
        Some(_) => BasisUnit::Untested,
        None => of_runs(&runs(base), &runs(other)),
    }
}

/// The stages of two sides that are pairs; `None` where the sides are not of one run.
pub(super) fn pairs<'a>(base: &Picked<'a>, other: &Picked<'a>) -> Option<[Picked<'a>; 2]> {
    let ([(of_base, base)], [(of_other, other)]) = (base.0.as_slice(), other.0.as_slice()) else {
        return None;
    };
    if run(of_base) != run(of_other) {
        return None;
    }
    let counterpart = |one: &&'a StageResult| {
        let found = other.iter().find(|other| are_pair(of_base.report(), one, other))?;
        Some((*one, *found))
    };
    let (base, other) = base.iter().filter_map(counterpart).unzip();
    Some([Picked(vec![(of_base, base)]), Picked(vec![(of_other, other)])])
}

/// Whether both stages ran to their end, under the same load and at the same place of a phase in which systems take turns. Holds
/// may each be at the peak of their own system: how much each can do is the same question, and latencies are set aside elsewhere.
fn are_pair(report: &Report, one: &StageResult, other: &StageResult) -> bool {
    let phase = report.run.resolved.phases.get(one.stage.key.phase as usize);
    phase.is_none_or(|phase| !phase.together)
        && (one.complete && other.complete)
        && one.stage.key.is_counterpart(&other.stage.key)
        && one.stage.kind == other.stage.kind
        && (one.stage.kind == StageKind::Hold || Demand::of(&one.stage) == Demand::of(&other.stage))
}

fn runs<'a>(picked: &Picked<'a>) -> Vec<&'a str> {
    picked.0.iter().map(|(member, _)| run(member)).collect()
}

/// Of figures that are one of each run.
pub(super) fn unit_of_members(base: &Side, other: &Side) -> BasisUnit {
    let names =
        |side: &Side| -> Vec<String> { side.members.iter().map(|member| run(member).to_owned()).collect() };
    let (base, other) = (names(base), names(other));
    of_runs(&base, &other)
}

fn of_runs<T: PartialEq>(base: &[T], other: &[T]) -> BasisUnit {
    match base.len().min(other.len()) {
        0 | 1 => BasisUnit::Untested,
        _ if base == other => BasisUnit::Pairs,
        _ => BasisUnit::Runs,
    }
}

fn run(member: &Member) -> &str {
    &member.report().run.name
}

pub(super) fn basis(sides: &[Side], base: usize, picks: &[Picked<'_>]) -> Basis {
    let of_base = picks.get(base);
    let others = picks.iter().enumerate().filter(|(side, picked)| *side != base && picked.repeats() > 0);
    let others: Vec<&Picked<'_>> = others.map(|(_, picked)| picked).collect();
    let units = others.iter().filter_map(|picked| Some(unit(of_base?, picked)));
    let unit = units.min().unwrap_or(BasisUnit::Untested);
    let paired = others.iter().filter_map(|picked| Some(pairs(of_base?, picked)?[0].repeats()));
    let rounds = paired.min().filter(|_| unit == BasisUnit::Pairs && is_one_run(picks));
    let repeats: Vec<u32> =
        picks.iter().map(|picked| u32::try_from(picked.repeats()).unwrap_or(u32::MAX)).collect();
    Basis { unit, text: text((unit, rounds), sides, picks), repeats, in_turn: rounds.is_some() }
}

fn text((unit, rounds): (BasisUnit, Option<usize>), sides: &[Side], picks: &[Picked<'_>]) -> String {
    const HOLDS: &str = "what they say holds for these servers on these machines";
    let runs = picks.iter().map(Picked::repeats).max().unwrap_or(0);
    match (unit, rounds) {
        (BasisUnit::Pairs, Some(rounds)) => {
            format!("{rounds} rounds in turn: ratios are the means of the rounds' ratios; {HOLDS}")
        }
        (BasisUnit::Pairs, None) => {
            format!("{runs} runs of all sides: ratios are the means of the runs' ratios; {HOLDS}")
        }
        (BasisUnit::Runs, _) => {
            format!("{}: ratios are those of their medians; {HOLDS}", counts(sides, picks))
        }
        (BasisUnit::Untested, _) => format!("not tested: {}{}", counts(sides, picks), test(sides, picks)),
    }
}

/// `one run each`, `a 3 runs and b 1 run`
fn counts(sides: &[Side], picks: &[Picked<'_>]) -> String {
    let one_run = is_one_run(picks);
    let of_side = |(side, picked): (&Side, &Picked<'_>)| {
        let noun = match (picked.repeats(), picked.0.len()) {
            (0, _) => return None,
            (stages, 1) if one_run => format::counted(stages as u64, "stage"),
            (1, _) => "1 run".to_owned(),
            (stages, 1) => format!("1 run of {stages} repeats"),
            (runs, _) => format!("{runs} runs"),
        };
        Some((side.name.clone(), noun))
    };
    let counts: Vec<(String, String)> = sides.iter().zip(picks).filter_map(of_side).collect();
    let together = one_run && picks.iter().any(|picked| picked.repeats() > 1);
    let turns = if together { " that did not take turns" } else { "" };
    match counts.first() {
        Some((_, count)) if counts.iter().all(|(_, other)| other == count) => match count.as_str() {
            "1 run" => "one run each".to_owned(),
            "1 stage" => "one stage each".to_owned(),
            several => format!("{several} each{turns}"),
        },
        _ => list(&counts.iter().map(|(side, count)| format!("{side} {count}")).collect::<Vec<_>>()),
    }
}

/// The command that would test it, where `dyno run` made the runs.
fn test(sides: &[Side], picks: &[Picked<'_>]) -> String {
    let in_rounds = is_one_run(picks) && picks.iter().flat_map(|picked| &picked.0).all(takes_rounds);
    let option = if in_rounds { "--repeat" } else { "--runs" };
    let compare = match (in_rounds, is_one_run(picks)) {
        (true, _) => String::new(),
        (false, true) => format!(", and compare {}", of_runs_of_all(sides, picks)),
        (false, false) => ", and compare A,A,… with B,B,…".to_owned(),
    };
    let mut commands: Vec<String> = Vec::new();
    let mut password = "";
    for (member, _) in picks.iter().flat_map(|picked| &picked.0) {
        let command = &member.report().run.command;
        let is_run = command.get(1).is_some_and(|word| !word.is_empty() && "run".starts_with(word.as_str()));
        if !is_run {
            return "; run each of them several times, in turn, and compare A,A,… with B,B,…".to_owned();
        }
        let mut words = Vec::new();
        let mut before = "";
        for word in without_repeats(command).into_iter().chain([option, "5"]) {
            // Of a target's URL without its password the rest can be typed again.
            let url = matches!(before, "--target" | "-t") || word.starts_with("--target=");
            let mut shown = if url { word.replace(":***@", "@") } else { word.to_owned() };
            if shown.contains(HIDDEN) {
                return format!(
                    "; to test it, type what was run again with {option} 5{compare}: passwords in it are not stored"
                );
            }
            if shown != word {
                password = " (its password in PGPASSWORD, MYSQL_PWD or a password file)";
            }
            // `last` is another run by now; this one was of the same plan.
            if before == "--rerun" {
                run(member).clone_into(&mut shown);
            } else if word.starts_with("--rerun=") {
                shown = format!("--rerun={}", run(member));
            }
            words.push(shown);
            before = word;
        }
        let line = command_line(&words);
        if !commands.contains(&line) {
            commands.push(line);
        }
    }
    match commands.as_slice() {
        [] => String::new(),
        [only] if !is_one_run(picks) => format!("; to test it, for each side: {only}{password}{compare}"),
        all => format!("; to test it: {}{password}{compare}", list(all)),
    }
}

/// Whether `--repeat` makes rounds in turn of it. A ramp without a hold refuses it, what is done once is not repeated, and
/// targets that are loaded together take no turns.
fn takes_rounds((member, stages): &(&Member, Vec<&StageResult>)) -> bool {
    let phases = &member.report().run.resolved.phases;
    let once = |result: &&StageResult| result.stage.fixed && !result.stage.pass;
    phases.iter().all(|phase| phase.repeat.is_some() && !phase.together) && !stages.iter().any(once)
}

/// `A:pg,B:pg,… with A:my,B:my,…`: runs that have all sides.
fn of_runs_of_all(sides: &[Side], picks: &[Picked<'_>]) -> String {
    let names = sides.iter().zip(picks).filter_map(|(side, picked)| {
        let (member, _) = picked.0.first()?;
        let series = side.series.as_ref().map(|series| format!("/{series}")).unwrap_or_default();
        let name = format!("{}{series}", member.target);
        Some(format!("A:{name},B:{name},…"))
    });
    names.collect::<Vec<_>>().join(" with ")
}

/// A command without what it says of repeats.
fn without_repeats(command: &[String]) -> Vec<&str> {
    let mut words = command.iter().map(String::as_str);
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match word {
            // Several runs have no page in one file.
            "--repeat" | "--runs" | "--html" | "--record" => drop(words.next()),
            _ if ["--repeat=", "--runs=", "--html=", "--record="]
                .iter()
                .any(|option| word.starts_with(option)) => {}
            _ => kept.push(word),
        }
    }
    kept
}

fn is_one_run(picks: &[Picked<'_>]) -> bool {
    let runs: Vec<&str> =
        picks.iter().flat_map(|picked| picked.0.iter().map(|(member, _)| run(member))).collect();
    runs.windows(2).all(|pair| pair[0] == pair[1])
}
