//! How a target is named: by a URL or a connection string, with a short name before it where there are several
//! (`pg=postgres://…`), or as a server of dyno's own (`old=embedded:postgres@16`).

use std::io;
use std::path::Path;

use dyno_target::settings::is_parameter;
use dyno_target::{files, is_driver_address};

use crate::failure::Failure;
use crate::plan::{NAMES, check_name, is_name_like};

const EMBEDDED: &str = "embedded";

/// A target as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) name: Option<String>,
    pub(crate) what: What,
}

/// What a target is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    /// A server of dyno's own: which binaries, where that is said.
    Embedded(Option<String>),
    /// A URL or a connection string.
    Url(String),
}

impl Named {
    /// Takes a target's name apart. Only what can be no connection string is a name: `host=/tmp` is none.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let text = text.trim();
        refuse_name_alone(text)?;
        let (name, rest) = split_name(text, |rest| embedded(rest).is_some() || is_address(rest));
        match name {
            Some(name) => check_name(name)?,
            None => refuse_odd_name(text)?,
        }
        let what = embedded(rest).unwrap_or_else(|| What::Url(rest.to_owned()));
        Ok(Self { name: name.map(str::to_owned), what })
    }
}

/// `NAME=REST`, where the rest is something that may follow a name.
pub(crate) fn split_name(text: &str, follows: impl Fn(&str) -> bool) -> (Option<&str>, &str) {
    match text.split_once('=') {
        Some((name, rest)) if is_name_like(name) && !is_parameter(name) && follows(rest.trim()) => {
            (Some(name), rest.trim())
        }
        _ => (None, text),
    }
}

/// Targets as a file has them, one on each line; empty lines and those that begin with `#` are passed over.
pub(crate) fn targets_in_file(path: &Path) -> Result<Vec<String>, Failure> {
    let failed = |source| Failure::read("targets from", path, &source);
    let text = files::read_to_string(path).map_err(failed)?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let targets: Vec<String> = lines.map(str::to_owned).collect();
    if targets.is_empty() {
        return Err(failed(io::Error::other("no line of it names a target")));
    }
    Ok(targets)
}

/// Refuses a name with nothing behind it, as a variable of the shell leaves it that is not set.
fn refuse_name_alone(text: &str) -> Result<(), Failure> {
    match text.split_once('=') {
        Some((name, "")) if is_name_like(name) && !is_parameter(name) => {
            Err(Failure::wrong(format!("--target {name}= names no database: write its URL behind the name")))
        }
        _ => Ok(()),
    }
}

/// Refuses what stands before a URL and can be neither a name nor a parameter.
fn refuse_odd_name(text: &str) -> Result<(), Failure> {
    match text.split_once('=') {
        Some((name, url))
            if !name.contains("://")
                && !is_driver_address(name.trim())
                && !is_parameter(name.trim())
                && is_address(url.trim()) =>
        {
            let what = format!("`{name}` is no name for a target: {NAMES}");
            Err(Failure::wrong(what))
        }
        _ => Ok(()),
    }
}

fn embedded(text: &str) -> Option<What> {
    match text.strip_prefix(EMBEDDED)? {
        "" => Some(What::Embedded(None)),
        rest => rest.strip_prefix(':').map(|server| What::Embedded(Some(server.to_owned()))),
    }
}

/// A URL, a file of an embedded library, or a connection string that begins with a parameter there is.
fn is_address(text: &str) -> bool {
    let scheme = text.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    });
    scheme
        || is_driver_address(text)
        || text.split_once('=').is_some_and(|(parameter, _)| is_parameter(parameter.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (Option<String>, String) {
        let Named { name, what } = Named::parse(text).unwrap();
        let what = match what {
            What::Embedded(server) => format!("embedded {}", server.unwrap_or_default()),
            What::Url(url) => url,
        };
        (name, what)
    }

    #[test]
    fn a_name_stands_before_what_can_follow_one() {
        for (text, name, what) in [
            ("pg=postgres://u:p@h/d?options=-c%20a=b", Some("pg"), "postgres://u:p@h/d?options=-c%20a=b"),
            ("my=mysql://h/d?ssl-mode=REQUIRED", Some("my"), "mysql://h/d?ssl-mode=REQUIRED"),
            ("old-1=host=/tmp dbname=bank", Some("old-1"), "host=/tmp dbname=bank"),
            ("a=embedded", Some("a"), "embedded "),
            ("a=embedded:postgres@17", Some("a"), "embedded postgres@17"),
            ("embedded:postgres@17", None, "embedded postgres@17"),
            ("s=sqlite:a.db?mode=ro", Some("s"), "sqlite:a.db?mode=ro"),
            ("sqlite:a.db?mode=ro", None, "sqlite:a.db?mode=ro"),
            ("duckdb:a.db?threads=1", None, "duckdb:a.db?threads=1"),
            ("adbc:driver?uri=grpc://h", None, "adbc:driver?uri=grpc://h"),
            ("postgres://h/d?a=b", None, "postgres://h/d?a=b"),
            ("host=/tmp dbname=bank", None, "host=/tmp dbname=bank"),
            ("dbname=postgres://h/d", None, "dbname=postgres://h/d"),
            // For libpq's words to be put right, nothing may be taken for a name that is a slip.
            ("hots=/tmp", None, "hots=/tmp"),
            ("pg=postgers://h/d", Some("pg"), "postgers://h/d"),
        ] {
            assert_eq!(parsed(text), (name.map(str::to_owned), what.to_owned()), "{text}");
        }
    }

    #[test]
    fn names_that_would_be_mistaken_are_refused() {
        assert!(Named::parse("driver=postgres://h/d").is_err());
        let odd = Named::parse("1st/db=postgres://u:pw@h/d").unwrap_err().to_string();
        assert!(odd.contains("`1st/db` is no name") && !odd.contains("pw"), "{odd}");
        assert!(Named::parse("a-name-much-too-long-for-a-column=postgres://h/d").is_err());
    }
}
