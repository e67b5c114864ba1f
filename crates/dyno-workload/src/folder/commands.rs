//! What is wrong with the commands of a script whatever the values of its variables are: it would fail, or leave a transaction open, each
//! time that it is run.

use super::mistake::{Mistake, Notes};
use crate::pgbench::TURNS_MAX;
use crate::script::{Command, Kind, Program};
use crate::scripts::SqlScript;
use dyno_results::format::grouped;

/// Notes them with their lines.
pub(super) fn check(script: &SqlScript, notes: &mut Notes<'_>) {
    let commands = script.commands();
    let mut note = |line: u32, what: String| {
        let file = script.name().to_owned();
        notes.found.push(Mistake { file, place: Some((line as usize, 1)), what });
    };
    let mut conditions = 0;
    for command in commands {
        match command.kind {
            Kind::If { .. } => conditions += 1,
            Kind::Endif => conditions -= 1,
            _ => {}
        }
        // Behind a condition it is how a script says that something must not be.
        if conditions == 0 && command.kind.expressions().any(Program::divides_by_zero) {
            note(command.line, format!("{} divides by zero", command.first_line));
        }
    }
    if let Some((line, turns)) = too_many_turns(commands) {
        let most = grouped(u64::from(TURNS_MAX));
        note(line, format!("\\for has {} turns, and a transaction has at most {most}", grouped(turns)));
    }
    if script.begins() && !script.ends() {
        let begun = commands.iter().find(|command| matches!(command.kind, Kind::Sql(_)));
        note(
            begun.map_or(1, |command| command.line),
            "BEGIN has no COMMIT behind it: end the script with COMMIT, or leave BEGIN out".to_owned(),
        );
    }
}

/// The line of the first loop whose turns, and those of the loops around it, are too many; the numbers in it stand in the script.
fn too_many_turns(commands: &[Command]) -> Option<(u32, u64)> {
    let mut around: Vec<u64> = Vec::new();
    for command in commands {
        match &command.kind {
            Kind::For { from, to, .. } => {
                let own = from
                    .number()
                    .zip(to.number())
                    .map_or(1, |(from, to)| to.saturating_sub(from).saturating_add(1).max(0).unsigned_abs());
                let turns = around.last().copied().unwrap_or(1).saturating_mul(own);
                if turns > u64::from(TURNS_MAX) {
                    return Some((command.line, turns));
                }
                around.push(turns);
            }
            Kind::EndFor { .. } => _ = around.pop(),
            _ => {}
        }
    }
    None
}
