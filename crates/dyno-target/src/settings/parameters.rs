//! Connection parameters by name: which exist, which of them dyno supports, and the values that were given. Knows
//! nothing of what the values mean. The names here are libpq's; MySQL's are beside its settings.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::environment::Environment;
use super::error::TargetError;

/// The parameters that one kind of database has.
#[derive(Debug)]
pub(crate) struct KnownParameters {
    pub(crate) known: &'static [KnownParameter],
    /// What of a name or a value counts.
    pub(crate) plain: fn(&str) -> String,
    /// What other drivers call some parameters, too unlike for a guess by spelling.
    pub(crate) other_names: &'static [(&'static str, &'static str)],
}

pub(crate) static POSTGRES: KnownParameters =
    KnownParameters { known: KNOWN, plain: str::to_owned, other_names: OTHER_NAMES };

/// What dyno makes of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Support {
    Used,
    /// Accepted: it changes nothing that could be measured.
    Accepted,
    /// Accepted with these values, which mean what dyno does anyway.
    Only(&'static [&'static str], &'static str),
    Refused(&'static str),
}

#[derive(Debug)]
pub(crate) struct KnownParameter {
    name: &'static str,
    variable: Option<&'static str>,
    support: Support,
}

pub(crate) const fn known(
    name: &'static str,
    variable: Option<&'static str>,
    support: Support,
) -> KnownParameter {
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

/// What other drivers call some parameters.
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

impl KnownParameters {
    fn find(&self, name: &str) -> Option<&'static KnownParameter> {
        let wanted = (self.plain)(name);
        self.known.iter().find(|known| (self.plain)(known.name) == wanted)
    }

    /// Whether there is a parameter of this name, supported or not.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn suggestion(&self, wrong: &str) -> Option<String> {
        let plain = (self.plain)(wrong).to_ascii_lowercase();
        match self.other_names.iter().find(|(other, _)| *other == plain) {
            Some((_, name)) => Some((*name).to_owned()),
            None => nearest(&plain, self.known.iter().map(|known| known.name)),
        }
    }
}

/// Values by parameter name. Prints names only: a value may be a password.
#[derive(Clone)]
pub(crate) struct Parameters {
    of: &'static KnownParameters,
    values: BTreeMap<&'static str, String>,
}

impl fmt::Debug for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

impl Parameters {
    pub(crate) fn new(of: &'static KnownParameters) -> Self {
        Self { of, values: BTreeMap::new() }
    }

    /// What the environment's variables say.
    pub(crate) fn from_environment(
        of: &'static KnownParameters,
        environment: &Environment,
    ) -> Result<Self, TargetError> {
        let mut parameters = Self::new(of);
        for known in of.known {
            if let Some(value) = known.variable.and_then(|variable| environment.variable(variable)) {
                parameters.set(known.name, value.to_owned())?;
            }
        }
        Ok(parameters)
    }

    /// Sets a parameter; a later value replaces an earlier one, and an empty one takes it back.
    pub(crate) fn set(&mut self, name: &str, value: String) -> Result<(), TargetError> {
        let Some(KnownParameter { name, support, .. }) = self.of.find(name) else {
            let suggestion = self.of.suggestion(name);
            return Err(TargetError::UnknownParameter { name: name.to_owned(), suggestion });
        };
        match support {
            _ if value.is_empty() => {
                self.values.remove(name);
            }
            Accepted => {}
            Used => {
                self.values.insert(name, value);
            }
            Only(values, _) if values.contains(&(self.of.plain)(&value).as_str()) => {}
            Only(_, why) | Refused(why) => return Err(TargetError::UnsupportedParameter { name, why }),
        }
        Ok(())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Fills in what is not set here from `fallback`.
    pub(crate) fn or(mut self, fallback: Self) -> Self {
        for (name, value) in fallback.values {
            self.values.entry(name).or_insert(value);
        }
        self
    }
}

/// The name that is spelled most like `wrong`, if any is near enough to have been meant.
pub(crate) fn nearest(wrong: &str, names: impl Iterator<Item = &'static str>) -> Option<String> {
    let wrong = wrong.to_ascii_lowercase();
    names
        .map(|name| (strsim::jaro_winkler(&wrong, name), name))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_owned())
}

/// A port; `otherwise` where none is given.
pub(crate) fn port(text: &str, otherwise: u16) -> Result<u16, TargetError> {
    match text.parse() {
        _ if text.is_empty() => Ok(otherwise),
        Ok(port) if port > 0 => Ok(port),
        _ => Err(TargetError::invalid("port", text, "a number from 1 to 65535")),
    }
}

/// libpq waits for ever; a benchmark that hangs on a silent address helps nobody.
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The time that the parameter `name` gives to connecting; `None` for as long as it takes.
pub(crate) fn connect_timeout(
    parameters: &Parameters,
    name: &'static str,
) -> Result<Option<Duration>, TargetError> {
    let Some(text) = parameters.get(name) else { return Ok(Some(DEFAULT_CONNECT_TIMEOUT)) };
    match text.trim().parse::<i32>() {
        Ok(seconds) => Ok(u64::try_from(seconds).ok().filter(|it| *it > 0).map(Duration::from_secs)),
        Err(_) => Err(TargetError::invalid(name, text, "whole seconds, 0 for no limit")),
    }
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
            let error = Parameters::new(&POSTGRES).set(wrong, "x".into()).unwrap_err();
            assert!(error.to_string().contains(&format!("`{right}`")), "{error}");
        }
    }

    #[test]
    fn what_is_not_supported_is_refused_and_says_why() {
        let error = Parameters::new(&POSTGRES).set("sslcrl", "/a".into()).unwrap_err();
        assert!(error.to_string().contains("revocation"), "{error}");
        assert!(Parameters::new(&POSTGRES).set("sslcrl", String::new()).is_ok());
        assert!(Parameters::new(&POSTGRES).set("gssencmode", "disable".into()).is_ok());
        assert!(Parameters::new(&POSTGRES).set("gssencmode", "require".into()).is_err());
    }

    #[test]
    fn earlier_sources_win() {
        let mut first = Parameters::new(&POSTGRES);
        first.set("user", "a".into()).unwrap();
        let environment = Environment::empty().with_variable("PGUSER", "b").with_variable("PGPORT", "7");
        let both = first.or(Parameters::from_environment(&POSTGRES, &environment).unwrap());
        assert_eq!((both.get("user"), both.get("port")), (Some("a"), Some("7")));
    }
}
