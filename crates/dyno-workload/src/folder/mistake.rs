//! What is wrong with a folder, with file, line and column, and what would be right.

use std::fmt;
use std::ops::Range;

/// From this likeness on (Jaro-Winkler) a name may be meant.
const LIKENESS_MIN: f64 = 0.7;

/// Something wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    pub file: String,
    /// From 1; `None` where it is about the file as such.
    pub place: Option<(usize, usize)>,
    pub what: String,
}

/// Everything that is wrong with a folder; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Mistakes(pub Vec<Mistake>);

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, place, what } = self;
        match place {
            Some((line, column)) => write!(f, "{file}:{line}:{column}: {what}"),
            None => write!(f, "{file}: {what}"),
        }
    }
}

impl Mistake {
    pub(super) fn of_file(file: &str, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), place: None, what: what.into() }
    }
}

impl From<Mistake> for Mistakes {
    fn from(mistake: Mistake) -> Self {
        Self(vec![mistake])
    }
}

/// Line and column of a place in a text.
pub(super) fn place_of(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or_default();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}

/// Collects mistakes in the text of a file.
#[derive(Debug)]
pub(super) struct Notes<'a> {
    pub file: &'a str,
    pub text: &'a str,
    pub found: Vec<Mistake>,
}

impl Notes<'_> {
    /// Notes a mistake at a place of the text.
    pub(super) fn at(&mut self, span: Range<usize>, what: impl Into<String>) {
        let place = Some(place_of(self.text, span.start));
        self.found.push(Mistake { file: self.file.to_owned(), place, what: what.into() });
    }

    /// Notes that there is nothing of this name; `known` are those that there are.
    pub(super) fn unknown<'k>(
        &mut self,
        span: Range<usize>,
        what: &str,
        name: &str,
        known: impl Iterator<Item = &'k str>,
    ) {
        let instead = instead_of(name, known);
        self.at(span, format!("there is no {what} `{name}`{instead}"));
    }
}

/// What was meant by a name that there is not, or all that there are.
pub(super) fn instead_of<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> String {
    let known: Vec<&str> = known.collect();
    match (nearest(name, known.iter().copied()), known.as_slice()) {
        (Some(nearest), _) => format!("; did you mean `{nearest}`?"),
        (None, []) => String::new(),
        (None, known) => format!("; there are `{}`", known.join("`, `")),
    }
}

/// The name that was meant.
pub(super) fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let scored = known.map(|known| (strsim::jaro_winkler(name, known), known));
    scored
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(score, _)| *score > LIKENESS_MIN)
        .map(|(_, known)| known)
}

/// What a parser of TOML says, for whoever writes a file.
pub(super) fn in_words(message: &str) -> String {
    let message = message.trim_end();
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let of_type = ["invalid type: ", "invalid value: ", "invalid length "];
    let of_type = of_type.into_iter().find_map(|beginning| message.strip_prefix(beginning));
    match (quoted.as_slice(), of_type.and_then(|types| types.split_once(", expected "))) {
        ([name], _) if message.starts_with("missing field") => format!("the key `{name}` is missing"),
        ([name, known @ ..], _) if message.starts_with("unknown field") => {
            format!("there is no key `{name}` here{}", instead_of(name, known.iter().copied()))
        }
        (_, Some((found, wanted))) => {
            format!("{} has to stand here, and not {}", wanted_in_words(wanted), found_in_words(found))
        }
        _ if message.starts_with("string values must be quoted") => {
            "a text stands in quotes, and a number, true or false without".to_owned()
        }
        _ => message.to_owned(),
    }
}

fn wanted_in_words(wanted: &str) -> String {
    match wanted {
        "a string" => "a text in quotes",
        "a boolean" => "true or false",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number from 0 on",
        "i64" => "a whole number",
        "any valid TOML value" => "a number that 64 bits can hold",
        "f64" => "a number",
        "a sequence" => "a list in square brackets",
        "an array of length 2" => "a list of two texts in square brackets",
        "a map" => "a table of keys: { key = value }",
        wanted if wanted.starts_with("struct ") => "a table of keys: { key = value }",
        wanted => wanted,
    }
    .to_owned()
}

fn found_in_words(found: &str) -> String {
    let value = found.trim_start_matches(|letter: char| letter != '`' && letter != '"');
    // What is too large for it has its type behind it.
    let value = value.trim_end_matches(" as i128").trim_end_matches(" as u128").trim_matches('`');
    match found.split(' ').next() {
        Some("integer" | "floating") => format!("the number {value}"),
        Some("string") => format!("the text {value}"),
        Some("boolean") => value.to_owned(),
        Some("sequence") => "a list".to_owned(),
        Some("map") => "a table of keys".to_owned(),
        _ => format!("a list of {found}"),
    }
}
