//! What a database is told when it is opened. Drivers have hundreds of options, and the name of one does not always say that its
//! value is a secret: only those that are known to be harmless are shown.

use dyno_wire::endpoint::Password;

use crate::settings::{is_secret_setting, without_password};

/// Shown, by the last part of their names (`adbc.snowflake.sql.account`).
const HARMLESS: [&str; 17] = [
    "uri",
    "url",
    "host",
    "port",
    "path",
    "username",
    "user",
    "account",
    "project_id",
    "dataset_id",
    "database",
    "db",
    "catalog",
    "schema",
    "db_schema",
    "warehouse",
    "role",
];
/// Values that are no secret, whatever they say.
const FLAGS: [&str; 2] = ["true", "false"];
/// What precedes a token in a header.
const HEADERS: [&str; 2] = ["Bearer ", "Basic "];

/// A name and a value. As long as nobody has looked at the name, the value may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DatabaseOption {
    name: String,
    value: Password,
    /// The value as the target's name has it, percent-encoded.
    typed: Password,
}

impl DatabaseOption {
    pub(super) fn new(name: String, value: String, typed: &str) -> Self {
        Self { name, value: Password::new(value), typed: Password::new(typed.to_owned()) }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn value(&self) -> &str {
        self.value.reveal()
    }

    /// What may be shown of it where it is a setting of DuckDB, all of which are known.
    pub(super) fn shown_of_duckdb(&self) -> Option<String> {
        (!is_secret_setting(&self.name)).then(|| without_password(self.value()))
    }

    /// The same of a driver that nobody knows.
    pub(super) fn shown_of_any(&self) -> Option<String> {
        let last = self.name.rsplit('.').next().unwrap_or_default();
        match self.value() {
            flag if FLAGS.contains(&flag) => Some(flag.to_owned()),
            value if HARMLESS.contains(&last) => place(value),
            _ => None,
        }
    }

    /// The value, and parts of it that say as much.
    pub(super) fn secrets(&self) -> Vec<Password> {
        let value = self.value();
        let token = HEADERS.iter().find_map(|header| value.strip_prefix(header));
        let parts = [Some(value), Some(self.typed.reveal()), token, password(value)];
        let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
        parts.map(|part| Password::new(part.to_owned())).collect()
    }
}

/// A value without user and parameters where it is a URL; `None` where it is of another form that may hold a password.
fn place(value: &str) -> Option<String> {
    let Some((scheme, rest)) = value.split_once("://") else {
        let is_plain = |c: char| !matches!(c, '@' | '=' | ';') && !c.is_whitespace();
        return value.chars().all(is_plain).then(|| value.to_owned());
    };
    let behind_user = rest.rsplit_once('@').map_or(rest, |(_, behind)| behind);
    // A parameter's value may have an `@` in it, and so may a password have a `?`.
    let is_clear = rest.strip_suffix(behind_user).is_some_and(|user| !user.contains(ENDS_PLACE));
    let place = behind_user.split(ENDS_PLACE).next().unwrap_or_default();
    is_clear.then(|| format!("{scheme}://{place}"))
}

const ENDS_PLACE: [char; 6] = ['?', '&', ';', '#', '=', ' '];

/// The password of `scheme://user:password@host`, or of the same without a scheme.
fn password(value: &str) -> Option<&str> {
    let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
    let (user, _) = rest.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_place_only_what_is_no_secret() {
        for (value, shown) in [
            ("grpc+tls://db1:31337", Some("grpc+tls://db1:31337")),
            ("postgresql://me:x@db/d", Some("postgresql://db/d")),
            ("sqlserver://db?password=x", Some("sqlserver://db")),
            ("sqlserver://db;password=x", Some("sqlserver://db")),
            ("scheme://u:a?b@h/d", None),
            ("scheme://h/d?token=a@b", None),
            ("me:x@account/db", None),
            ("host=h password=x", None),
            ("Driver={X};Pwd=x", None),
            ("/srv/data.db", Some("/srv/data.db")),
        ] {
            assert_eq!(place(value).as_deref(), shown, "{value}");
        }
    }

    #[test]
    fn a_name_that_nobody_knows_shows_nothing() {
        let shown = |name: &str| {
            DatabaseOption::new(name.to_owned(), "value".to_owned(), "value").shown_of_any().is_some()
        };
        assert!(shown("adbc.snowflake.sql.account") && shown("username"));
        for name in ["adbc.bigquery.sql.auth_credentials", "api", "adbc.flight.sql.rpc.call_header.x-api", ""]
        {
            assert!(!shown(name), "{name}");
        }
    }
}
