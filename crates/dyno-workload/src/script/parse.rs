//! A whole script: its commands one after the other, and the jumps between them.

use super::meta::{Meta, Reader};
use super::source::Source;
use super::sql::PARAMETERS_MAX;
use super::statement::{Scanner, Stop};
use super::{Command, Gset, Kind, Language, Names, Protocol, Script, ScriptError, Sql, compile};

/// How much of an SQL command's first line is kept, bytes.
const FIRST_LINE_BYTES_MAX: usize = 127;

/// Parses a script in pgbench's language alone; `name` is what messages call it. Variables get their slots in `names`.
///
/// # Errors
/// What pgbench refuses too, with its message.
pub fn parse(name: &str, text: &[u8], mode: Protocol, names: &mut Names) -> Result<Script, ScriptError> {
    parse_in(Language::Pgbench, name, text, mode, names)
}

pub(super) fn parse_in(
    language: Language,
    name: &str,
    text: &[u8],
    mode: Protocol,
    names: &mut Names,
) -> Result<Script, ScriptError> {
    let mut source = Source::new(text);
    let mut scanner = Scanner::default();
    let mut commands = Vec::new();
    loop {
        let stretch = scanner.next(&mut source);
        if !stretch.text.is_empty() {
            let (sql, elements) = Sql::new(&stretch.text, mode, names)
                .ok_or_else(|| too_many(&String::from_utf8_lossy(&stretch.text)))?;
            let (first_line, line) = (first_line(&stretch.text), source.line(stretch.offset));
            // An element in SQL is a variable that is set just before.
            for slot in elements {
                let text = format!(":{}", String::from_utf8_lossy(names.bytes(slot)));
                let expression = compile(&text, names)
                    .map_err(|error| ScriptError(format!("{name}:{line}: {error}: {text}")))?;
                let (first_line, kind) = (first_line.clone(), Kind::Set { slot, expression });
                commands.push(Command { first_line, line, kind });
            }
            commands.push(Command { first_line, line, kind: Kind::Sql(sql) });
        }
        match stretch.stop {
            Stop::Semicolon => {}
            Stop::End => break,
            Stop::Backslash => match Reader::new(name, &mut source, names, language).read()? {
                None => {}
                Some(Meta::Command(command)) => commands.push(command),
                Some(Meta::Gset { prefix, every, line }) => {
                    let gset = Gset { prefix: String::from_utf8_lossy(&prefix).into_owned(), every };
                    attach_gset(name, line, &mut commands, gset)?;
                }
            },
        }
    }
    if commands.is_empty() {
        return Err(ScriptError(format!("empty command list for script \"{name}\"")));
    }
    link(name, &mut commands)?;
    Ok(Script { name: name.to_owned(), file: name.to_owned(), commands })
}

pub(super) fn too_many(text: &str) -> ScriptError {
    ScriptError(format!("statement has too many arguments (maximum is {PARAMETERS_MAX}): {text}"))
}

fn first_line(text: &[u8]) -> String {
    let text = &text[..text.len().min(FIRST_LINE_BYTES_MAX)];
    let end = text.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(text.len());
    String::from_utf8_lossy(&text[..end]).into_owned()
}

/// Gives `\gset` and `\aset` to the SQL command before them.
fn attach_gset(file: &str, line: u32, commands: &mut [Command], gset: Gset) -> Result<(), ScriptError> {
    let last = match commands.last_mut() {
        Some(Command { kind: Kind::Sql(sql), .. }) if sql.gset.is_none() => {
            sql.gset = Some(gset);
            return Ok(());
        }
        Some(Command { kind: Kind::Sql(_), .. }) | None => String::new(),
        Some(command) => format!(" ({})", command.first_line),
    };
    Err(ScriptError(format!("{file}:{line}: \\gset must follow an SQL command{last}")))
}

/// An `\if` or a `\for` without its end as yet.
#[derive(Debug, Default)]
struct Open {
    /// The index of the `\for`.
    turns: Option<usize>,
    /// The `\if` and the `\elif`s.
    conditions: Vec<usize>,
    otherwise: Option<usize>,
}

/// Checks how `\if` and the like are nested, and connects them.
fn link(file: &str, commands: &mut [Command]) -> Result<(), ScriptError> {
    let mut open: Vec<Open> = Vec::new();
    for index in 0..commands.len() {
        let refuse = |message: &str| Err(condition_error(file, index, message));
        match commands[index].kind {
            Kind::If { .. } => open.push(Open { conditions: vec![index], ..Open::default() }),
            Kind::For { .. } => open.push(Open { turns: Some(index), ..Open::default() }),
            Kind::EndFor { .. } => match open.pop().and_then(|open| open.turns) {
                None => return Err(turns_error(file, &commands[index], "\\endfor without matching \\for")),
                Some(begin) => connect_turns(commands, begin, index),
            },
            Kind::Elif { .. } => match open.last_mut().filter(|open| open.turns.is_none()) {
                None => return refuse("\\elif without matching \\if"),
                Some(Open { otherwise: Some(_), .. }) => return refuse("\\elif after \\else"),
                Some(branches) => branches.conditions.push(index),
            },
            Kind::Else { .. } => match open.last_mut().filter(|open| open.turns.is_none()) {
                None => return refuse("\\else without matching \\if"),
                Some(Open { otherwise: Some(_), .. }) => return refuse("\\else after \\else"),
                Some(branches) => branches.otherwise = Some(index),
            },
            Kind::Endif => match open.pop().filter(|open| open.turns.is_none()) {
                None => return refuse("\\endif without matching \\if"),
                Some(branches) => connect(commands, &branches, index),
            },
            _ => {}
        }
    }
    match open.last() {
        None => Ok(()),
        Some(Open { turns: Some(begin), .. }) => {
            Err(turns_error(file, &commands[*begin], "\\for without matching \\endfor"))
        }
        Some(_) => Err(condition_error(file, commands.len(), "\\if without matching \\endif")),
    }
}

fn condition_error(file: &str, index: usize, message: &str) -> ScriptError {
    ScriptError(format!("condition error in script \"{file}\" command {}: {message}", index + 1))
}

/// Of workload files alone, whose mistakes are told with their lines.
fn turns_error(file: &str, command: &Command, message: &str) -> ScriptError {
    ScriptError(format!("{file}:{}: {message}", command.line))
}

/// Has a `\for` and its `\endfor` know of each other.
fn connect_turns(commands: &mut [Command], begin_index: usize, end_index: usize) {
    let Kind::For { slot, end, .. } = &mut commands[begin_index].kind else { return };
    *end = end_index;
    commands[end_index].kind = Kind::EndFor { slot: *slot, begin: begin_index };
}

/// Fills in the jumps of an `\if` whose `\endif` is at `end_index`.
fn connect(commands: &mut [Command], branches: &Open, end_index: usize) {
    // Each condition is followed by the next one, the last one by the commands behind `\else`, or by the end.
    let last = branches.otherwise.map_or(end_index, |index| index + 1);
    let following = branches.conditions.iter().skip(1).copied().chain([last]);
    for (index, following) in branches.conditions.iter().zip(following) {
        match &mut commands[*index].kind {
            Kind::If { otherwise, .. } => *otherwise = following,
            Kind::Elif { otherwise, end, .. } => (*otherwise, *end) = (following, end_index),
            _ => {}
        }
    }
    if let Some(Kind::Else { end }) = branches.otherwise.map(|index| &mut commands[index].kind) {
        *end = end_index;
    }
}
