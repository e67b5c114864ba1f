//! The connection parameters by name, as libpq names them: which exist, which of them dyno supports, and the
//! values that were given. Knows nothing of what the values mean.

use std::collections::BTreeMap;
use std::fmt;

use super::environment::Environment;
use super::error::TargetError;

/// What dyno makes of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Support {
    Used,
    /// Accepted: it changes nothing that could be measured.
    Accepted,
    /// Accepted with these values, which mean what dyno does anyway.
    Only(&'static [&'static str], &'static str),
    Refused(&'static str),
}

#[derive(Debug)]
struct KnownParameter {
    name: &'static str,
    variable: Option<&'static str>,
    support: Support,
}

const fn known(name: &'static str, variable: Option<&'static str>, support: Support) -> KnownParameter {
    KnownParameter { name, variable, support }
}

use Support::{Accepted, Only, Refused, Used};

const NO_KERBEROS: &str = "dyno does not speak Kerberos";
const NO_OAUTH: &str = "dyno does not speak OAuth";

const KNOWN: &[KnownParameter] = &[
    known("service", Some("PGSERVICE"), Used),
    known("host", Some("PGHOST"), Used),
    known("hostaddr", Some("PGHOSTADDR"), Used),
    known("port", Some("PGPORT"), Used),
    known("dbname", Some("PGDATABASE"), Used),
    known("user", Some("PGUSER"), Used),
    known("password", Some("PGPASSWORD"), Used),
    known("passfile", Some("PGPASSFILE"), Used),
    known("connect_timeout", Some("PGCONNECT_TIMEOUT"), Used),
    known("application_name", Some("PGAPPNAME"), Used),
    known("fallback_application_name", None, Used),
    known("options", Some("PGOPTIONS"), Used),
    known("client_encoding", Some("PGCLIENTENCODING"), Used),
    known("target_session_attrs", Some("PGTARGETSESSIONATTRS"), Used),
    known("channel_binding", Some("PGCHANNELBINDING"), Used),
    known("sslmode", Some("PGSSLMODE"), Used),
    known("sslrootcert", Some("PGSSLROOTCERT"), Used),
    known("sslcert", Some("PGSSLCERT"), Used),
    known("sslkey", Some("PGSSLKEY"), Used),
    known("ssl_min_protocol_version", Some("PGSSLMINPROTOCOLVERSION"), Used),
    known("ssl_max_protocol_version", Some("PGSSLMAXPROTOCOLVERSION"), Used),
    known(
        "sslnegotiation",
        Some("PGSSLNEGOTIATION"),
        Only(&["postgres"], "dyno asks for TLS the way every server understands (sslnegotiation=postgres)"),
    ),
    known("sslcrl", Some("PGSSLCRL"), Refused("revocation lists are not checked")),
    known("sslcrldir", Some("PGSSLCRLDIR"), Refused("revocation lists are not checked")),
    known("sslpassword", None, Refused("encrypted keys are not read; decrypt it with `openssl pkey`")),
    known(
        "sslcertmode",
        Some("PGSSLCERTMODE"),
        Only(&["allow"], "a client certificate is sent when there is one and the server asks for it"),
    ),
    known("sslsni", Some("PGSSLSNI"), Only(&["1"], "the server's name is always sent")),
    known("sslcompression", Some("PGSSLCOMPRESSION"), Only(&["0"], "TLS is never compressed")),
    known("requirepeer", Some("PGREQUIREPEER"), Refused("the owner of a socket is not checked")),
    known("require_auth", Some("PGREQUIREAUTH"), Refused("any method that the server asks for is used")),
    known(
        "load_balance_hosts",
        Some("PGLOADBALANCEHOSTS"),
        Only(&["disable"], "all load goes to one server; hosts are tried in order"),
    ),
    known("gssencmode", Some("PGGSSENCMODE"), Only(&["disable", "prefer"], NO_KERBEROS)),
    known("gsslib", Some("PGGSSLIB"), Refused(NO_KERBEROS)),
    known("gssdelegation", Some("PGGSSDELEGATION"), Only(&["0"], NO_KERBEROS)),
    known("krbsrvname", Some("PGKRBSRVNAME"), Refused(NO_KERBEROS)),
    known("oauth_issuer", None, Refused(NO_OAUTH)),
    known("oauth_client_id", None, Refused(NO_OAUTH)),
    known("oauth_client_secret", None, Refused(NO_OAUTH)),
    known("oauth_scope", None, Refused(NO_OAUTH)),
    known("replication", None, Only(&["false", "off", "no", "0"], "a load needs an ordinary session")),
    known("min_protocol_version", Some("PGMINPROTOCOLVERSION"), Only(&["3.0"], "dyno speaks protocol 3.0")),
    known(
        "max_protocol_version",
        Some("PGMAXPROTOCOLVERSION"),
        Only(&["3.0", "3.2", "latest"], "dyno speaks protocol 3.0"),
    ),
    known("keepalives", None, Accepted),
    known("keepalives_idle", None, Accepted),
    known("keepalives_interval", None, Accepted),
    known("keepalives_count", None, Accepted),
    known("tcp_user_timeout", None, Accepted),
];

/// Values by parameter name. Prints names only: a value may be a password.
#[derive(Clone, Default)]
pub(super) struct PostgresParameters(BTreeMap<&'static str, String>);

impl fmt::Debug for PostgresParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl PostgresParameters {
    /// What the `PG*` variables say, but for `PGSERVICE`'s own values.
    pub(super) fn from_environment(environment: &Environment) -> Result<Self, TargetError> {
        let mut parameters = Self::default();
        for known in KNOWN {
            if let Some(value) = known.variable.and_then(|variable| environment.variable(variable)) {
                parameters.set(known.name, value.to_owned())?;
            }
        }
        Ok(parameters)
    }

    /// Sets a parameter; a later value replaces an earlier one, as in libpq.
    pub(super) fn set(&mut self, name: &str, value: String) -> Result<(), TargetError> {
        let Some(known) = KNOWN.iter().find(|known| known.name == name) else {
            let suggestion = nearest(name, KNOWN.iter().map(|known| known.name));
            return Err(TargetError::UnknownParameter { name: name.to_owned(), suggestion });
        };
        match known.support {
            Accepted => {}
            // An empty value means "not set" everywhere in libpq.
            Used | Refused(_) | Only(..) if value.is_empty() => {
                self.0.remove(known.name);
            }
            Used => {
                self.0.insert(known.name, value);
            }
            Only(values, _) if values.contains(&value.as_str()) => {}
            Only(_, why) | Refused(why) => {
                return Err(TargetError::UnsupportedParameter { name: known.name, why });
            }
        }
        Ok(())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Fills in what is not set here from `fallback`.
    pub(super) fn or(mut self, fallback: Self) -> Self {
        for (name, value) in fallback.0 {
            self.0.entry(name).or_insert(value);
        }
        self
    }
}

/// What other drivers call some parameters, too unlike for a guess by spelling.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("database", "dbname"),
    ("db", "dbname"),
    ("username", "user"),
    ("pass", "password"),
    ("pwd", "password"),
    ("server", "host"),
    ("ssl", "sslmode"),
    ("tls", "sslmode"),
    ("timeout", "connect_timeout"),
];

/// Whether there is a parameter of this name.
pub(super) fn is_known(name: &str) -> bool {
    KNOWN.iter().any(|known| known.name == name)
}

/// The name that is spelled most like `wrong`, if any is near enough to have been meant.
pub(crate) fn nearest(wrong: &str, names: impl Iterator<Item = &'static str>) -> Option<String> {
    let wrong = wrong.to_ascii_lowercase();
    if let Some((_, name)) = OTHER_NAMES.iter().find(|(other, _)| *other == wrong) {
        return Some((*name).to_owned());
    }
    names
        .map(|name| (strsim::jaro_winkler(&wrong, name), name))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_parameter_gets_the_nearest_name() {
        for (wrong, right) in [
            ("sslmod", "sslmode"),
            ("usr", "user"),
            ("database", "dbname"),
            ("conect_timeout", "connect_timeout"),
            ("PORT", "port"),
        ] {
            let error = PostgresParameters::default().set(wrong, "x".into()).unwrap_err();
            assert!(error.to_string().contains(&format!("`{right}`")), "{error}");
        }
    }

    #[test]
    fn what_is_not_supported_is_refused_and_says_why() {
        let error = PostgresParameters::default().set("sslcrl", "/a".into()).unwrap_err();
        assert!(error.to_string().contains("revocation"), "{error}");
        assert!(PostgresParameters::default().set("sslcrl", String::new()).is_ok());
        assert!(PostgresParameters::default().set("gssencmode", "disable".into()).is_ok());
        assert!(PostgresParameters::default().set("gssencmode", "require".into()).is_err());
    }

    #[test]
    fn earlier_sources_win() {
        let mut first = PostgresParameters::default();
        first.set("user", "a".into()).unwrap();
        let environment = Environment::empty().with_variable("PGUSER", "b").with_variable("PGPORT", "7");
        let both = first.or(PostgresParameters::from_environment(&environment).unwrap());
        assert_eq!((both.get("user"), both.get("port")), (Some("a"), Some("7")));
    }
}
