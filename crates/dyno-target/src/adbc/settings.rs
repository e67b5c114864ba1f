//! `duckdb:FILE?setting=value` and `adbc:DRIVER?option=value`: which library, which database, and what it is told when it is
//! opened.

use std::path::{Path, PathBuf};

use dyno_wire::endpoint::Password;
use dyno_wire::server_error::DriverError;

use super::Named;
use super::options::DatabaseOption;
use crate::settings::TargetError;
use crate::settings::url::{decode, encode_query, malformed};

/// The schemes.
pub(super) const DUCKDB: &str = "duckdb";
pub(super) const ANY: &str = "adbc";
/// The library of DuckDB, if the target does not name it.
pub(super) const LIBRARY_VARIABLE: &str = "DYNO_DUCKDB_LIBRARY";
/// Parameters that are no options of the database: the library, and the function in it that is called first.
const DRIVER: &str = "driver";
const ENTRYPOINT: &str = "entrypoint";

/// A database, and how it is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AdbcSettings {
    kind: &'static str,
    /// What the target calls the library: a file, or a name that is looked for.
    library: Option<String>,
    /// `None` where the library's name says it.
    entrypoint: Option<String>,
    /// DuckDB's; another database is named by an option.
    file: Option<PathBuf>,
    /// What the database is told, in the order in which the target says it.
    options: Vec<DatabaseOption>,
}

impl AdbcSettings {
    /// Reads a target's name; `None` where it names no file of DuckDB.
    pub(super) fn parse_duckdb(text: &str) -> Option<Named> {
        Some(Self::duckdb(behind(DUCKDB, text)?))
    }

    /// The same for `adbc:DRIVER`.
    pub(super) fn parse_any(text: &str) -> Option<Named> {
        Some(Self::any(behind(ANY, text)?))
    }

    fn duckdb(rest: &str) -> Named {
        let (file, parameters) = take_apart(rest)?;
        if file.is_empty() || file.starts_with(":memory:") {
            return Err(malformed(
                "name a file, duckdb:FILE: dyno verifies the data after the load, and a database in memory is gone by then \
                 (in memory: a file under /dev/shm)",
            ));
        }
        let mut settings = Self {
            kind: DUCKDB,
            library: None,
            entrypoint: Some("duckdb_adbc_init".to_owned()),
            file: Some(file.into()),
            options: Vec::new(),
        };
        for option in parameters {
            match option.name() {
                DRIVER => settings.library = Some(option.value().to_owned()),
                "path" | "uri" => {
                    return Err(TargetError::UnsupportedParameter {
                        name: "path",
                        why: "the file stands before the `?`",
                    });
                }
                // The library would take it for a setting that is set later, and say so much later.
                name if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') => {
                    return Err(TargetError::UnknownParameter { name: name.to_owned(), suggestion: None });
                }
                _ => settings.options.push(option),
            }
        }
        Ok(settings)
    }

    fn any(rest: &str) -> Named {
        let (library, mut options) = take_apart(rest)?;
        if library.is_empty() {
            return Err(malformed(
                "name a driver of ADBC: adbc:/path/to/library.so, or the name of its manifest",
            ));
        }
        let entrypoint = options.iter().position(|option| option.name() == ENTRYPOINT);
        let entrypoint = entrypoint.map(|place| options.remove(place).value().to_owned());
        Ok(Self { kind: ANY, library: Some(library), entrypoint, file: None, options })
    }

    pub(super) fn kind(&self) -> &'static str {
        self.kind
    }

    /// What the target calls the library.
    pub(super) fn library(&self) -> Option<&str> {
        self.library.as_deref()
    }

    pub(super) fn entrypoint(&self) -> Option<&[u8]> {
        self.entrypoint.as_deref().map(str::as_bytes)
    }

    /// DuckDB's file, from the root: a name with a colon may have a meaning of its own for the library.
    pub(super) fn file(&self) -> Option<PathBuf> {
        let file = self.file.as_deref()?;
        Some(std::path::absolute(file).unwrap_or_else(|_| file.to_owned()))
    }

    pub(super) fn options(&self) -> &[DatabaseOption] {
        &self.options
    }

    /// Where it is, as messages name it.
    pub(super) fn place(&self) -> String {
        match &self.file {
            Some(file) => file.display().to_string(),
            None => format!("{ANY}:{}", self.library.as_deref().unwrap_or_default()),
        }
    }

    pub(super) fn is_read_only(&self) -> bool {
        let read_only = |option: &DatabaseOption| {
            option.name() == "access_mode" && option.value().eq_ignore_ascii_case("read_only")
        };
        self.file.is_some() && self.options.iter().any(read_only)
    }

    /// The target as it can be named again, without what may be a secret.
    pub(super) fn url(&self) -> String {
        let place =
            self.file.as_deref().and_then(Path::to_str).or(self.library.as_deref()).unwrap_or_default();
        let library =
            self.library.as_deref().filter(|_| self.file.is_some()).map(|library| (DRIVER, library));
        let entrypoint =
            self.entrypoint.as_deref().filter(|_| self.file.is_none()).map(|it| (ENTRYPOINT, it));
        let own = library.into_iter().chain(entrypoint).map(|(name, value)| (name, value.to_owned()));
        let options = self.options.iter().filter_map(|option| Some((option.name(), self.shown(option)?)));
        let shown: Vec<String> = own
            .chain(options)
            .map(|(name, value)| format!("{}={}", encode_query(name), encode_query(&value)))
            .collect();
        let before = if shown.is_empty() { "" } else { "?" };
        format!("{}:{}{before}{}", self.kind, encode_query(place), shown.join("&"))
    }

    /// What may be shown of an option; `None` for nothing.
    fn shown(&self, option: &DatabaseOption) -> Option<String> {
        match self.file {
            Some(_) => option.shown_of_duckdb(),
            None => option.shown_of_any(),
        }
    }

    /// What is told to the database and not shown, in each form in which it may come up again.
    pub(super) fn passwords(&self) -> Vec<Password> {
        let hides = |option: &&DatabaseOption| self.shown(option).as_deref() != Some(option.value());
        self.options.iter().filter(hides).flat_map(DatabaseOption::secrets).collect()
    }

    /// The library may repeat in an error what it was told.
    pub(super) fn without_secrets(&self, mut error: DriverError) -> DriverError {
        let mut passwords = self.passwords();
        // The whole of one before what is a part of it.
        passwords.sort_by_key(|password| std::cmp::Reverse(password.reveal().len()));
        for password in passwords {
            error.message = error.message.replace(password.reveal(), "***");
        }
        error
    }
}

/// What stands behind the scheme.
fn behind<'a>(scheme: &str, text: &'a str) -> Option<&'a str> {
    let (_, rest) = text.split_once(':').filter(|(found, _)| found.eq_ignore_ascii_case(scheme))?;
    Some(rest.strip_prefix("//").unwrap_or(rest))
}

/// What stands before the `?`, and the parameters behind it.
fn take_apart(rest: &str) -> Result<(String, Vec<DatabaseOption>), TargetError> {
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    // A path may have both signs.
    if !place.starts_with(['/', '.']) && place.split_once('@').is_some_and(|(login, _)| login.contains(':')) {
        return Err(malformed(
            "a file or a driver stands before the `?`, and no user, password or host: they are options behind it, \
             by the names that the driver gives them (adbc:DRIVER?NAME=VALUE&…)",
        ));
    }
    let mut parameters = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| malformed("a parameter after `?` is not of the form name=value"))?;
        parameters.push(DatabaseOption::new(
            decode(name, "a parameter's name")?,
            decode(value, "a parameter's value")?,
            value,
        ));
    }
    Ok((decode(place, "what stands behind the scheme")?, parameters))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn duckdb(text: &str) -> Named {
        AdbcSettings::parse_duckdb(text).unwrap()
    }

    #[test]
    fn a_file_and_its_settings() {
        let settings = duckdb("DuckDB:my%20data.db?threads=2&driver=/lib/duck.so&memory_limit=2GB").unwrap();
        assert_eq!((settings.place().as_str(), settings.library()), ("my data.db", Some("/lib/duck.so")));
        assert!(settings.file().unwrap().is_absolute() && !settings.is_read_only());
        let options: Vec<_> = settings.options().iter().map(|it| (it.name(), it.value())).collect();
        assert_eq!(options, [("threads", "2"), ("memory_limit", "2GB")]);
        let url = "duckdb:my%20data.db?driver=/lib/duck.so&threads=2&memory_limit=2GB";
        assert_eq!(settings.url(), url);
        assert_eq!(duckdb(url).unwrap(), settings);
        assert_eq!(duckdb("duckdb:///srv/a.db").unwrap().url(), "duckdb:/srv/a.db");
        assert!(duckdb("duckdb:a.db?access_mode=READ_ONLY").unwrap().is_read_only());
        assert!(AdbcSettings::parse_duckdb("sqlite:duckdb:").is_none());
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, said) in [
            ("duckdb:", "name a file"),
            ("duckdb::memory:", "name a file"),
            ("duckdb:a.db?threads", "name=value"),
            ("duckdb:a.db?path=b.db", "before the `?`"),
            ("duckdb:a.db?a b=1", "no connection parameter"),
            ("duckdb:a%zz.db", "%"),
            ("duckdb://me:pw@host/a.db", "no user, password or host"),
        ] {
            let error = duckdb(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        assert!(AdbcSettings::parse_any("adbc:?a=b").unwrap().is_err());
        let login =
            AdbcSettings::parse_any("adbc://me:hidden@host:1/d?a=b").unwrap().unwrap_err().to_string();
        assert!(login.contains("options behind it") && !login.contains("hidden"), "{login}");
        assert!(AdbcSettings::parse_any("adbc:/srv/a:b@c/lib.so").unwrap().is_ok());
    }

    #[test]
    fn what_may_be_a_secret_is_shown_nowhere() {
        let text = "adbc:/lib/driver.so?uri=postgresql%3A%2F%2Fme%3Ahidden1%40db%2Fd%3Fkey%3Dhidden2&password=hidden3\
                    &entrypoint=Start&adbc.flight.sql.authorization_header=Bearer%20hidden4&username=me\
                    &adbc.snowflake.sql.client_option.jwt_private_key_pkcs8_value=hidden5&tls_skip_verify=true";
        let settings = AdbcSettings::parse_any(text).unwrap().unwrap();
        assert_eq!(settings.place(), "adbc:/lib/driver.so");
        assert_eq!(settings.entrypoint(), Some(b"Start".as_slice()));
        let url =
            "adbc:/lib/driver.so?entrypoint=Start&uri=postgresql://db/d&username=me&tls_skip_verify=true";
        assert_eq!(settings.url(), url);
        assert!(!format!("{settings:?}").contains("hidden"), "{settings:?}");
        let error = DriverError::new(
            "Unauthenticated",
            "postgresql://me:hidden1@db/d?key=hidden2: hidden1, hidden3, Bearer hidden4, hidden4, hidden5, \
                      Bearer%20hidden4; true",
        );
        let said = settings.without_secrets(error).message;
        assert_eq!(said, "***: ***, ***, ***, ***, ***, ***; true");
    }
}
