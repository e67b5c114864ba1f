//! `sqlite:FILE?parameter=value`: which file, and how each session is set up.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::settings::TargetError;
use crate::settings::parameters::nearest;
use crate::settings::url::{decode, encode_query, malformed};

/// Stands before the name of the file, with a colon.
pub(super) const SCHEME: &str = "sqlite";
/// What a parameter takes that is no word.
const NUMBER: &str = "a whole number";
const SIZE: &str = "a whole number from 0 on";
const PAGE: &str = "a power of 2 from 512 to 65536";
/// Whether what a `PRAGMA` answers is the value that was asked for: words are answered as their numbers, but for a journal's mode.
pub(super) fn is_same(name: &str, asked: &str, answered: &str) -> bool {
    let words = PRAGMAS.iter().find(|(pragma, _)| *pragma == name).map_or("", |(_, words)| *words);
    let place = || words.split(", ").position(|word| word.eq_ignore_ascii_case(asked));
    asked.eq_ignore_ascii_case(answered)
        || match name {
            "foreign_keys" => answered == if asked.eq_ignore_ascii_case("on") { "1" } else { "0" },
            _ => place().is_some_and(|place| place.to_string() == answered),
        }
        || asked.parse::<i64>().is_ok_and(|number| number.to_string() == answered)
}

/// The parameters that are set on each session by a `PRAGMA` of the same name, and what they take: the library reads a word
/// that it does not know as another, and says nothing.
const PRAGMAS: [(&str, &str); 9] = [
    ("auto_vacuum", "none, full, incremental"),
    ("cache_size", NUMBER),
    ("foreign_keys", "on, off"),
    ("journal_mode", "delete, truncate, persist, memory, wal, off"),
    ("mmap_size", SIZE),
    ("page_size", PAGE),
    ("synchronous", "off, normal, full, extra"),
    ("temp_store", "default, file, memory"),
    ("wal_autocheckpoint", SIZE),
];
/// Those that are settled by the first write to a file, and later set without an effect or an error.
pub(super) const OF_NEW_FILE: [&str; 2] = ["auto_vacuum", "page_size"];
/// The others: how long a lock is waited for, in milliseconds, and whether the file may be written.
const BUSY_TIMEOUT: &str = "busy_timeout";
const MODE: &str = "mode";
/// How long a session waits for a lock where the target does not say.
const BUSY_TIMEOUT_DEFAULT: Duration = Duration::from_secs(5);

/// A database file, and how sessions on it are set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SqliteSettings {
    file: PathBuf,
    read_only: bool,
    busy_timeout: Duration,
    /// Those that the target names, in its order.
    pragmas: Vec<(&'static str, String)>,
    url: String,
}

impl SqliteSettings {
    /// Reads a target's name; `None` where it names no file of SQLite.
    ///
    /// # Errors
    /// Says what is wrong with the name.
    pub(super) fn parse(text: &str) -> Option<Result<Self, TargetError>> {
        let (_, rest) = text.split_once(':').filter(|(scheme, _)| scheme.eq_ignore_ascii_case(SCHEME))?;
        Some(Self::read(rest.strip_prefix("//").unwrap_or(rest)))
    }

    fn read(rest: &str) -> Result<Self, TargetError> {
        let (file, query) = rest.split_once('?').unwrap_or((rest, ""));
        let file = decode(file, "the file's name")?;
        // As many slashes as one: two would begin the rest of a URL.
        let file = match file.strip_prefix('/') {
            Some(absolute) => format!("/{}", absolute.trim_start_matches('/')),
            None => file,
        };
        // The library would take `file:` for the beginning of a URI with parameters of its own.
        if file.is_empty() || file.starts_with(":memory:") || file.starts_with("file:") {
            return Err(malformed(
                "clients are sessions of their own on one file: name a file, sqlite:FILE (in memory: one under /dev/shm)",
            ));
        }
        let mut settings = Self {
            url: format!("{SCHEME}:{}", encode_query(&file)),
            file: file.into(),
            read_only: false,
            busy_timeout: BUSY_TIMEOUT_DEFAULT,
            pragmas: Vec::new(),
        };
        for (place, pair) in query.split('&').filter(|pair| !pair.is_empty()).enumerate() {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| malformed("a parameter after `?` is not of the form name=value"))?;
            let value = decode(value, "a parameter's value")?;
            settings.url += &format!("{}{name}={}", if place == 0 { '?' } else { '&' }, encode_query(&value));
            settings.set(name, value)?;
        }
        Ok(settings)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), TargetError> {
        let invalid = |name, value, expected| Err(TargetError::InvalidValue { name, value, expected });
        if name == MODE {
            self.read_only = match value.as_str() {
                "ro" => true,
                "rw" | "rwc" => false,
                _ => return invalid(MODE, value, "ro (only read) or rw"),
            };
        } else if name == BUSY_TIMEOUT {
            match value.parse::<u16>() {
                Ok(milliseconds) => self.busy_timeout = Duration::from_millis(milliseconds.into()),
                Err(_) => return invalid(BUSY_TIMEOUT, value, "milliseconds up to 65535, such as 5000"),
            }
        } else if let Some((pragma, expected)) = PRAGMAS.into_iter().find(|(pragma, _)| *pragma == name) {
            let is_right = match expected {
                NUMBER => value.parse::<i32>().is_ok(),
                SIZE => value.parse::<i64>().is_ok_and(|size| size >= 0),
                PAGE => value
                    .parse::<u32>()
                    .is_ok_and(|size| size.is_power_of_two() && (512..=65536).contains(&size)),
                words => words.split(", ").any(|word| value.eq_ignore_ascii_case(word)),
            };
            if !is_right {
                return invalid(pragma, value, expected);
            }
            self.pragmas.push((pragma, value));
        } else {
            let names = PRAGMAS.into_iter().map(|(pragma, _)| pragma);
            let suggestion = nearest(name, names.chain([BUSY_TIMEOUT, MODE]));
            return Err(TargetError::UnknownParameter { name: name.to_owned(), suggestion });
        }
        Ok(())
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// How long a session waits for a lock.
    pub(super) fn busy_timeout(&self) -> Duration {
        self.busy_timeout
    }

    /// What is set on each session, first what a file keeps from its first write on.
    pub(super) fn pragmas(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let (of_file, others): (Vec<_>, Vec<_>) =
            self.pragmas.iter().partition(|(name, _)| OF_NEW_FILE.contains(name));
        of_file.into_iter().chain(others).map(|(name, value)| (*name, value.as_str()))
    }

    /// The target as it can be named again.
    pub(super) fn url(&self) -> String {
        self.url.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SqliteSettings, TargetError> {
        SqliteSettings::parse(text).unwrap()
    }

    #[test]
    fn a_file_and_how_it_is_opened() {
        for (text, file) in [
            ("sqlite:bank.db", "bank.db"),
            ("SQLite:/var/lib/bank.db", "/var/lib/bank.db"),
            ("sqlite:///var/lib/bank.db", "/var/lib/bank.db"),
            ("sqlite:my%20bank%3F.db", "my bank?.db"),
        ] {
            let settings = parse(text).unwrap();
            assert_eq!(settings.file(), Path::new(file), "{text}");
            assert_eq!(parse(&settings.url()).unwrap(), settings, "{text}");
        }
        assert_eq!(parse("sqlite:////var/my bank.db").unwrap().url(), "sqlite:/var/my%20bank.db");
        let settings =
            parse("sqlite:a.db?journal_mode=wal&cache_size=-65536&busy_timeout=250&mode=ro").unwrap();
        assert_eq!(
            settings.pragmas().collect::<Vec<_>>(),
            [("journal_mode", "wal"), ("cache_size", "-65536")]
        );
        assert_eq!((settings.is_read_only(), settings.busy_timeout()), (true, Duration::from_millis(250)));
        assert_eq!(parse(&settings.url()).unwrap(), settings);
        assert!(SqliteSettings::parse("postgres://h/sqlite:").is_none());
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, said) in [
            ("sqlite:", "name a file"),
            ("sqlite::memory:", "name a file"),
            ("sqlite:file::memory:", "name a file"),
            ("sqlite:a.db?journalmode=wal", "did you mean `journal_mode`?"),
            ("sqlite:a.db?synchronous=off;DROP", "off, normal, full, extra"),
            ("sqlite:a.db?synchronous=sometimes", "off, normal, full, extra"),
            ("sqlite:a.db?cache_size=64MB", "a whole number"),
            ("sqlite:a.db?page_size=3", "a power of 2"),
            ("sqlite:a.db?page_size=131072", "from 512 to 65536"),
            ("sqlite:a.db?mmap_size=-1", "from 0 on"),
            ("sqlite:a.db?cache_size=nan", "a whole number"),
            ("sqlite:a.db?wal_autocheckpoint=0.5", "from 0 on"),
            ("sqlite:a.db?busy_timeout=5s", "milliseconds"),
            ("sqlite:a.db?mode=memory", "ro (only read)"),
            ("sqlite:a.db?wal", "name=value"),
            ("sqlite:a%zz.db", "%"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
