//! What users' statements set that bears on durability: `SET`, `set_config`, `PRAGMA`, `SETTINGS`.

use dyno_results::event::{Setting, SettingsSet};
use dyno_results::sql_text::{Piece, Syntax, pieces};

use super::UserStatement;
use crate::connection::{Connection, QueryError};
use crate::inspect::{self, SettingValues, recognise};

/// Words with which statements begin that set something.
const SETS: &[&str] = &["set", "pragma", "alter"];
/// Words behind which a statement of another kind sets something.
const SETS_WITHIN: &[&str] = &["set_config", "settings"];
/// Words before a name that is only read, or set back to what the server has.
const READS: &[&str] = &["show", "reset", "current_setting"];
/// Values that leave what the server has.
const AS_BEFORE: &[&str] = &["default", "null"];

/// What they set, and what follows from it beside the server's own settings; `None` where they set nothing of the kind.
pub(super) fn settings_said(
    connection: &mut Connection,
    statements: &[UserStatement],
) -> Result<Option<SettingsSet>, QueryError> {
    let settings = recognise(connection)?.durability;
    let said: Vec<Said> = statements.iter().flat_map(|statement| said(&statement.sql, settings)).collect();
    if said.is_empty() {
        return Ok(None);
    }
    let inspector = inspect::inspector(connection);
    let of_server = inspect::settings(connection, "")?;
    let mut set = SettingsSet::default();
    let judge = |rows: &[Setting], set: &mut SettingsSet| {
        let (facts, of_server) = ((inspector.facts)(&SettingValues(rows)), &of_server.facts);
        let corrupts = facts.crash_corrupts.into_iter().filter(|why| !of_server.crash_corrupts.contains(why));
        corrupts.for_each(|why| push_new(&mut set.crash_corrupts, why));
        let loses =
            facts.crash_loses_last.into_iter().filter(|why| !of_server.crash_loses_last.contains(why));
        loses.for_each(|why| push_new(&mut set.crash_loses_last, why));
    };
    // Some mean what they mean only beside another one.
    let mut together = of_server.rows.clone();
    for Said { name, value } in said {
        let mut rows = of_server.rows.clone();
        let row = rows.iter_mut().find(|row| row.durability && row.name == name);
        let (Some(row), Some(value)) = (row, value) else {
            push_new(&mut set.unknown, name.to_owned());
            continue;
        };
        let Some(value) = as_shown(&value, &row.value) else {
            push_new(&mut set.unknown, format!("{name} = {value}"));
            continue;
        };
        row.value.clone_from(&value);
        judge(&rows, &mut set);
        if let Some(row) = together.iter_mut().find(|row| row.durability && row.name == name) {
            row.value = value;
        }
    }
    judge(&together, &mut set);
    Ok(Some(set).filter(|set| *set != SettingsSet::default()))
}

fn push_new(all: &mut Vec<String>, one: String) {
    if !all.contains(&one) {
        all.push(one);
    }
}

/// A value as the server shows it, which shows this one now. Numbers in the place of words mean what each setting makes of them; only
/// of switches it is known.
fn as_shown(value: &str, shown: &str) -> Option<String> {
    if value.eq_ignore_ascii_case(shown) {
        return Some(shown.to_owned());
    }
    let value = value.to_lowercase();
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    Some(match (value.as_str(), is_number(shown)) {
        ("false" | "off" | "no", true) => "0".to_owned(),
        ("true" | "on" | "yes", true) => "1".to_owned(),
        ("false" | "no", false) => "off".to_owned(),
        ("true" | "yes", false) => "on".to_owned(),
        (value, shown_as_number) if is_number(value) != shown_as_number => return None,
        (value, _) => value.to_owned(),
    })
}

/// A setting that a statement names to set it.
#[derive(Debug, PartialEq, Eq)]
struct Said<'s> {
    name: &'s str,
    /// `None` where the text does not say it.
    value: Option<String>,
}

fn said<'s>(text: &str, settings: &[&'s str]) -> Vec<Said<'s>> {
    let readings = [false, true].map(|it| Syntax::ANY.with_backslashes(it));
    let mut found: Vec<Said<'s>> = Vec::new();
    for tokens in readings.into_iter().flat_map(|syntax| statements(text, syntax)) {
        let is_word = |token: &Token, words: &[&str]| words.contains(&token.text.as_str());
        let sets = tokens.first().is_some_and(|first| is_word(first, SETS))
            || tokens.iter().any(|token| is_word(token, SETS_WITHIN));
        for (at, token) in tokens.iter().enumerate() {
            let Some(&name) = settings.iter().find(|name| **name == token.text) else { continue };
            let mut before = tokens[..at].iter().rev().filter(|token| token.is_word());
            // One in quotes may be set by a function of the user's.
            let counts = (sets || token.is_quoted) && !before.next().is_some_and(|word| is_word(word, READS));
            if !counts {
                continue;
            }
            let value = value(&tokens[at + 1..]);
            if value.as_deref().is_some_and(|value| AS_BEFORE.contains(&value)) {
                continue;
            }
            let one = Said { name, value };
            if !found.contains(&one) {
                found.push(one);
            }
        }
    }
    found
}

/// What stands behind `=`, `TO`, a comma or in brackets, unless it is an expression.
fn value(behind: &[Token]) -> Option<String> {
    let [sign, value, rest @ ..] = behind else { return None };
    let gives = matches!(sign.text.as_str(), "=" | "to" | "," | "(");
    let ends = rest.first().is_none_or(|next| next.is_word() || matches!(next.text.as_str(), "," | ")"));
    (gives && value.is_word() && ends).then(|| value.text.clone())
}

/// A word in small letters, or a sign.
#[derive(Debug)]
struct Token {
    text: String,
    is_quoted: bool,
}

impl Token {
    fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphanumeric() || c == '_')
    }
}

/// The tokens of each statement, without comments but for those that MySQL reads.
fn statements(text: &str, syntax: Syntax) -> Vec<Vec<Token>> {
    let mut all = vec![Vec::new()];
    for (piece, text) in pieces(text, syntax) {
        match piece {
            Piece::Semicolon => all.push(Vec::new()),
            Piece::Comment => {
                let Some(code) = text.strip_prefix("/*!") else { continue };
                let code = code.trim_start_matches(|c: char| c.is_ascii_digit()).trim_end_matches("*/");
                all.extend(statements(code, syntax));
                all.push(Vec::new());
            }
            Piece::Code | Piece::Quoted => {
                let tokens = tokens(text, piece == Piece::Quoted);
                if let Some(last) = all.last_mut() {
                    last.extend(tokens);
                }
            }
        }
    }
    all
}

fn tokens(text: &str, is_quoted: bool) -> Vec<Token> {
    let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
        let length = if length == 0 { first.len_utf8() } else { length };
        let (token, behind) = rest.split_at(length);
        rest = behind;
        if !first.is_whitespace() && !matches!(first, '\'' | '"' | '`') {
            found.push(Token { text: token.to_lowercase(), is_quoted });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{as_shown, said};

    #[test]
    fn what_is_set_is_read_with_its_value() {
        let found = |text: &str| {
            let all = said(text, &["synchronous_commit", "synchronous", "async_insert"]);
            let all = all.iter().map(|one| format!("{} {}", one.name, one.value.as_deref().unwrap_or("?")));
            all.collect::<Vec<_>>().join(", ")
        };
        for (text, expected) in [
            ("set synchronous_commit = off", "synchronous_commit off"),
            ("SET LOCAL synchronous_commit TO 'Off'", "synchronous_commit off"),
            ("begin; set session synchronous_commit=local; commit", "synchronous_commit local"),
            ("SELECT set_config('synchronous_commit', 'off', true)", "synchronous_commit off"),
            ("select set_config('synchronous_commit', $1, true)", "synchronous_commit ?"),
            ("select set_config('synchronous_commit', :v, true)", "synchronous_commit ?"),
            ("select set_config('synchronous_commit', 'o' || 'ff', true)", "synchronous_commit ?"),
            ("select set_config('synchronous_commit', lower('OFF'), true)", "synchronous_commit ?"),
            ("select relax('synchronous_commit')", "synchronous_commit ?"),
            ("alter role me set synchronous_commit = off", "synchronous_commit off"),
            ("/*!50000 SET synchronous_commit = off */", "synchronous_commit off"),
            ("pragma synchronous(normal)", "synchronous normal"),
            ("pragma main.synchronous = 1", "synchronous 1"),
            ("insert into t settings x = 1, async_insert = 1 values (1)", "async_insert 1"),
            ("set synchronous_commit = default; reset synchronous_commit", ""),
            ("show synchronous_commit; select current_setting('synchronous_commit')", ""),
            ("update t set synchronous = 1 -- set synchronous_commit = off", ""),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn a_value_is_read_as_the_server_shows_it() {
        for (value, shown, expected) in [
            ("OFF", "on", Some("off")),
            ("on", "ON", Some("ON")),
            ("false", "on", Some("off")),
            ("local", "on", Some("local")),
            ("false", "1", Some("0")),
            ("2", "1", Some("2")),
            ("1", "full", None),
            ("normal", "2", None),
        ] {
            assert_eq!(as_shown(value, shown).as_deref(), expected, "{value}");
        }
    }
}
