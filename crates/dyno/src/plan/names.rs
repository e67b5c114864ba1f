//! What a target or a system may be called, and which known name an unknown one was meant to be.

use crate::failure::Failure;

/// Longest name of a target; it heads columns.
const NAME_LENGTH_MAX: usize = 24;
/// What the driver's own host is called where readings are told apart.
const DRIVER: &str = "driver";
/// What a name may be.
pub(crate) const NAMES: &str = "it takes letters, digits, `_`, `-` and `.`, and begins with a letter";

/// Refuses a name that could not be told from something else.
pub(crate) fn check_name(name: &str) -> Result<(), Failure> {
    let what = if !is_name_like(name) {
        format!("`{name}` is no name for a target: {NAMES}")
    } else if name.len() > NAME_LENGTH_MAX {
        format!("the target's name {name} is longer than {NAME_LENGTH_MAX} letters")
    } else if name == DRIVER {
        format!("a target cannot be called {DRIVER}: that is dyno's own host in a report")
    } else {
        return Ok(());
    };
    Err(Failure::wrong(what))
}

pub(crate) fn is_name_like(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// From "unknown field `sclae`, expected one of `scale`, …" the field that was meant; of a variant alike.
pub(crate) fn nearest_field(message: &str) -> Option<String> {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let is_unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    let (unknown, known) = quoted.split_first().filter(|_| is_unknown)?;
    known
        .iter()
        .map(|name| (strsim::jaro_winkler(unknown, name), *name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(score, _)| *score > 0.7)
        .map(|(_, name)| name.to_owned())
}
