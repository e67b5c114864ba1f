//! Variables that a script uses and nothing before the place gives a value: pgbench sends them as NULL or as they are written,
//! so that a letter too many measures a transaction that touches nothing.

use super::{Kind, Names, Operand, Program, Script, Slot, Sql};

/// What every client begins with, whatever the script sets: pgbench's, and those of workload files.
pub(super) const SET_BY_PGBENCH: [&str; 7] =
    ["client_id", "scale", "random_seed", "default_seed", "clients", "returned", "affected"];
/// From this likeness on (Jaro-Winkler) a name may be meant.
const LIKENESS_MIN: f64 = 0.8;

/// The first use of a variable that has no value there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undefined {
    pub name: String,
    /// Line of the file, from 1.
    pub line: u32,
    /// A variable that has a value there, and a name that is like it.
    pub nearest: Option<String>,
    /// It gets a value further down.
    pub later: bool,
}

/// The first variable in a script that was parsed for the simple protocol which has no value where it is used: neither
/// `given` (`-D`) nor set by any command before it. A command that only some ways through the script come to counts as
/// well, and `\gset` for every name with its prefix, because its columns are not known before it runs.
pub fn undefined<'a>(
    script: &Script,
    names: &Names,
    given: impl IntoIterator<Item = &'a str>,
) -> Option<Undefined> {
    let given = given.into_iter().chain(SET_BY_PGBENCH);
    let mut known =
        Known { slots: given.filter_map(|name| names.find(name)).collect(), prefixes: Vec::new() };
    for (index, command) in script.commands.iter().enumerate() {
        let uses = uses(&command.kind);
        if let Some((slot, further)) = uses.into_iter().find(|(slot, _)| !known.has(*slot, names)) {
            let name = names.name(slot);
            let later = script.commands[index..].iter().any(|command| sets(&command.kind) == Some(slot));
            let nearest = nearest(name, known.slots.iter().map(|slot| names.name(*slot)));
            let line = command.line.saturating_add(further);
            return Some(Undefined { name: name.to_owned(), line, nearest, later });
        }
        known.slots.extend(sets(&command.kind));
        if let Kind::Sql(Sql { gset: Some(gset), .. }) = &command.kind {
            known.prefixes.push(&gset.prefix);
        }
    }
    None
}

/// What has a value at a place of the script.
struct Known<'a> {
    slots: Vec<Slot>,
    /// Of `\gset` and `\aset`.
    prefixes: Vec<&'a str>,
}

impl Known<'_> {
    fn has(&self, slot: Slot, names: &Names) -> bool {
        self.slots.contains(&slot) || self.prefixes.iter().any(|prefix| names.name(slot).starts_with(prefix))
    }
}

/// The variables that a command uses, each with the number of lines between the command's beginning and it.
fn uses(kind: &Kind) -> Vec<(Slot, u32)> {
    match kind {
        Kind::Sql(sql) => in_operands(&sql.pieces),
        Kind::Sleep { amount, .. } => in_operands(std::slice::from_ref(amount)),
        Kind::SetShell { words, .. } | Kind::Shell { words } => in_operands(words),
        kind => kind.expressions().flat_map(Program::reads).map(|slot| (slot, 0)).collect(),
    }
}

pub(super) fn in_operands(operands: &[Operand]) -> Vec<(Slot, u32)> {
    let (mut lines, mut found) = (0, Vec::new());
    for operand in operands {
        match operand {
            Operand::Text(text) => lines += text.iter().filter(|byte| **byte == b'\n').count() as u32,
            Operand::Variable(slot) | Operand::Quoted(slot, _) => found.push((*slot, lines)),
        }
    }
    found
}

/// The variable that a command sets, beside those of `\gset`.
pub(crate) fn sets(kind: &Kind) -> Option<Slot> {
    match kind {
        Kind::Set { slot, .. } | Kind::SetShell { slot, .. } => Some(*slot),
        Kind::Once { slot, .. } | Kind::SetElement { array: slot, .. } | Kind::For { slot, .. } => {
            Some(*slot)
        }
        _ => None,
    }
}

pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let scored = known.map(|other| (strsim::jaro_winkler(name, other), other));
    let best = scored.filter(|(score, _)| *score >= LIKENESS_MIN).max_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(_, other)| other.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Protocol, parse};

    fn found(text: &str, given: &[&str]) -> Option<(String, u32, Option<String>)> {
        let mut names = Names::new();
        let script = parse("x.sql", text.as_bytes(), Protocol::Simple, &mut names).unwrap();
        undefined(&script, &names, given.iter().copied()).map(|it| (it.name, it.line, it.nearest))
    }

    #[test]
    fn a_use_without_a_value_is_found_with_its_line_and_the_nearest_name() {
        let text = "-- accounts\n\\set aid random(1, 10)\n\nSELECT 1,\n  2\nWHERE a = :aidd;\n";
        assert_eq!(found(text, &[]), Some(("aidd".to_owned(), 6, Some("aid".to_owned()))));
        let in_each = [
            ("\\set b :nothing + 1\nSELECT :b;", 1),
            ("SELECT 1;\n\\if :nothing > 1\nSELECT 2;\n\\endif", 2),
            ("SELECT 1;\n\\if 1\n\\elif :nothing\nSELECT 2;\n\\endif", 3),
            ("SELECT 1;\n\\sleep :nothing ms\n", 2),
            ("\\setshell a echo :nothing\n", 1),
            ("SELECT 1 \\; SELECT\n :nothing;", 2),
        ];
        for (text, line) in in_each {
            assert_eq!(found(text, &[]), Some(("nothing".to_owned(), line, None)), "{text}");
            assert_eq!(found(text, &["nothing"]), None, "{text}");
        }
    }

    #[test]
    fn a_value_counts_from_where_it_is_given() {
        let before = "SELECT :x;\n\\set x 1\n";
        let mut names = Names::new();
        let script = parse("x.sql", before.as_bytes(), Protocol::Simple, &mut names).unwrap();
        assert!(undefined(&script, &names, []).unwrap().later);
        for text in [
            "SELECT :scale, :client_id, :random_seed, :default_seed;",
            "\\if :scale > 1\n\\set x 1\n\\endif\nSELECT :x;",
            "\\setshell x echo 1\nSELECT :x;",
            "SELECT 1 AS x \\gset\nSELECT :x, :any;",
            "SELECT 1 AS x \\aset of_\nSELECT :of_x;",
            "SELECT a::int, '12:30:00', a[1:2], '{\"a\": 1}', 'x' || ':' || :scale;",
        ] {
            assert_eq!(found(text, &[]), None, "{text}");
        }
        let behind = "SELECT 1 AS x \\gset of_\nSELECT :x;";
        assert_eq!(found(behind, &[]).map(|it| it.1), Some(2));
    }
}
