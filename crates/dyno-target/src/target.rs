//! A target: what its name says decides of which kind it is.

use std::sync::Arc;
use std::time::Duration;

use dyno_engine::driver::Route;
use dyno_wire::endpoint::Password;

use crate::capabilities::Capabilities;
use crate::connection::{ConnectError, Connection};
use crate::drivers;
use crate::inspect::DriverTarget;
use crate::mysql::{self, MySqlSettings};
use crate::settings::parameters::nearest;
use crate::settings::{Environment, TargetError, TargetSettings, other_scheme};

/// What the user named, understood: who logs in to which database of which kind, where and how.
#[derive(Debug, Clone)]
pub enum Target {
    Postgres(TargetSettings),
    MySql(MySqlSettings),
    Driver(DriverTarget),
}

impl Target {
    /// Understands a target's name: `postgres://…`, `mysql://…`, `mariadb://…`, `sqlite:FILE`,
    /// `clickhouse://…`, `host=… dbname=…`, or nothing at
    /// all for the PostgreSQL that the environment names.
    ///
    /// # Errors
    /// Says what is wrong with the name, and never repeats a password.
    pub fn parse(text: &str, environment: &Environment) -> Result<Self, TargetError> {
        let text = text.trim();
        if let Some(target) = drivers::parse(text, environment) {
            return target.map(Self::Driver);
        }
        match other_scheme(text) {
            None => match TargetSettings::parse(text, environment) {
                // One word with `=` may be a path; what stands behind it is not repeated, as it may be a password.
                Err(TargetError::UnknownParameter { name, suggestion: None })
                    if text.starts_with(&format!("{name}=")) && !text.contains(char::is_whitespace) =>
                {
                    Err(TargetError::NotATarget { found: format!("{name}=…") })
                }
                settings => settings.map(Self::Postgres),
            },
            Some(scheme) if mysql::SCHEMES.contains(&scheme) => {
                MySqlSettings::parse(text, environment).map(Self::MySql)
            }
            Some(scheme) => {
                let suggestion = nearest(
                    scheme,
                    ["postgres", "postgresql", "mysql", "mariadb"].into_iter().chain(drivers::schemes()),
                );
                let scheme = scheme.chars().take(24).collect();
                Err(TargetError::UnknownScheme { scheme, suggestion })
            }
        }
    }

    pub fn capabilities(&self) -> Capabilities {
        match self {
            Self::Postgres(_) => Capabilities::POSTGRESQL,
            Self::MySql(_) => Capabilities::MYSQL,
            Self::Driver(target) => target.capabilities,
        }
    }

    /// Whether it is reached by MySQL's protocol.
    pub fn is_mysql(&self) -> bool {
        matches!(self, Self::MySql(_))
    }

    pub fn user(&self) -> &str {
        match self {
            Self::Postgres(settings) => settings.user(),
            Self::MySql(settings) => settings.user(),
            Self::Driver(_) => "",
        }
    }

    /// Empty where none is named, which only MySQL knows.
    pub fn database(&self) -> &str {
        match self {
            Self::Postgres(settings) => settings.database(),
            Self::MySql(settings) => settings.database(),
            Self::Driver(target) => &target.database,
        }
    }

    /// The same server and user, another database.
    #[must_use]
    pub fn with_database(self, database: &str) -> Self {
        match self {
            Self::Postgres(settings) => Self::Postgres(settings.with_database(database)),
            Self::MySql(settings) => Self::MySql(settings.with_database(database)),
            Self::Driver(target) => Self::Driver(target),
        }
    }

    /// The same with another password.
    #[must_use]
    pub fn with_password(self, password: &Password) -> Self {
        match self {
            Self::Postgres(settings) => Self::Postgres(settings.with_password(password)),
            Self::MySql(settings) => Self::MySql(settings.with_password(password)),
            Self::Driver(target) => Self::Driver(target),
        }
    }

    /// Every password that a server may be sent.
    pub fn passwords(&self) -> Vec<&Password> {
        match self {
            Self::Postgres(settings) => settings.passwords().collect(),
            Self::MySql(settings) => settings.password().into_iter().collect(),
            Self::Driver(target) => target.passwords.iter().collect(),
        }
    }

    /// How long connecting and logging in may take at each address; `None` for as long as it takes.
    pub fn connect_timeout(&self) -> Option<Duration> {
        match self {
            Self::Postgres(settings) => settings.connect_timeout(),
            Self::MySql(settings) => settings.connect_timeout(),
            Self::Driver(_) => None,
        }
    }

    /// What the user should know of and is no error: a file that was ignored.
    pub fn warnings(&self) -> &[String] {
        match self {
            Self::Postgres(settings) => settings.warnings(),
            Self::MySql(settings) => settings.warnings(),
            Self::Driver(_) => &[],
        }
    }

    /// The target as a URL that can be named again, without the password.
    pub fn url(&self) -> String {
        match self {
            Self::Postgres(settings) => settings.url(),
            Self::MySql(settings) => settings.url(),
            Self::Driver(target) => target.url.clone(),
        }
    }

    /// How sessions of it are opened: at the first address that accepts a connection and suits, else at the first.
    ///
    /// # Errors
    /// A host whose name is not known (unless another is), certificates or keys that cannot be used, and where none suits
    /// `target_session_attrs`.
    pub fn route(&self) -> Result<Route, TargetError> {
        match self {
            Self::Postgres(settings) => settings.endpoint().map(Route::Wire),
            Self::MySql(settings) => settings.endpoint().map(Route::Wire),
            Self::Driver(target) => Ok(Route::Driver(Arc::clone(&target.driver))),
        }
    }

    /// Opens a session by [`Target::route`] within the time for connecting.
    ///
    /// # Errors
    /// Says what stands in the way and what to do about it.
    pub fn connect(&self) -> Result<Connection, ConnectError> {
        Connection::open(&self.route()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Target, TargetError> {
        Target::parse(text, &Environment::empty().with_user("me"))
    }

    #[test]
    fn the_name_says_which_protocol() {
        for (text, is_mysql, url) in [
            ("mysql://h/d", true, "mysql://me@h/d"),
            (" mariadb://u@h:3307 ", true, "mysql://u@h:3307/"),
            ("postgres://h/d", false, "postgres://me@h/d"),
            ("postgresql://h/d", false, "postgres://me@h/d"),
            ("host=h dbname=d", false, "postgres://me@h/d"),
            ("host=h dbname=d options='-c a=b://c'", false, "postgres://me@h/d?options=-c%20a=b://c"),
            ("", false, "postgres://me@/me"),
            ("sqlite:bank.db?journal_mode=wal", false, "sqlite:bank.db?journal_mode=wal"),
        ] {
            let target = parse(text).unwrap();
            assert_eq!((target.is_mysql(), target.url().as_str()), (is_mysql, url), "{text}");
        }
        let other = parse("mysql://u:secret@h/d").unwrap().with_database("e");
        assert_eq!((other.database(), other.url().as_str()), ("e", "mysql://u@h/e"));
    }

    #[test]
    fn another_scheme_gets_the_nearest() {
        for (text, nearest) in
            [("mysq://h", "`mysql://`"), ("mariadbs://h", "`mariadb://`"), ("postgre://h", "`postgres")]
        {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(nearest), "{error}");
        }
        assert!(parse("http://u:secret@h/").is_err_and(|error| !error.to_string().contains("secret")));
        assert!(parse("nonsense").unwrap_err().to_string().contains("mysql://"));
    }
}
