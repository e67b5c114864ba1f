//! `hive2://user:password@host:port/database?auth=nosasl&setting=value`: which server, who logs in, and the settings that each
//! session begins with.

use dyno_wire::endpoint::Password;

use crate::settings::parameters::port;
use crate::settings::url::{encode_host, malformed, take_apart, written};
use crate::settings::{Environment, TargetError, is_secret_setting};

/// Stands before `://`.
pub(super) const SCHEME: &str = "hive2";

const PORT: u16 = 10000;
/// Who the server's own clients are where nobody says.
const USER: &str = "anonymous";
const DATABASE: &str = "default";
const AUTH: &str = "auth";
const PLAIN: &str = "plain";
const NOSASL: &str = "nosasl";

/// How a session logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Auth {
    /// By SASL PLAIN: a name and a password.
    Plain,
    /// Not at all: `hive.server2.authentication=NOSASL`.
    None,
}

/// A server and a database on it, and how each session is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HiveSettings {
    pub(super) user: String,
    pub(super) password: Option<Password>,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) database: String,
    pub(super) auth: Auth,
    /// In the order of the target's name.
    pub(super) settings: Vec<(String, String)>,
}

impl HiveSettings {
    /// Reads a target's name; `None` where it names no server of this kind.
    ///
    /// # Errors
    /// Says what is wrong with the name, and never repeats a password.
    pub(super) fn parse(text: &str, _: &Environment) -> Option<Result<Self, TargetError>> {
        let (scheme, rest) = text.split_once("://")?;
        scheme.eq_ignore_ascii_case(SCHEME).then(|| Self::read(rest))
    }

    fn read(rest: &str) -> Result<Self, TargetError> {
        let parts = take_apart(rest)?;
        if parts.hosts.contains(',') {
            return Err(malformed("a target of HiveServer2 is one host: name each of several as a target"));
        }
        let (mut auth, mut settings) = (Auth::Plain, Vec::new());
        for (name, value) in parts.parameters {
            match name.as_str() {
                AUTH if value.eq_ignore_ascii_case(NOSASL) => auth = Auth::None,
                AUTH if value.eq_ignore_ascii_case(PLAIN) => auth = Auth::Plain,
                AUTH => return Err(TargetError::invalid(AUTH, &value, "plain or nosasl")),
                // Settings are shown.
                secret if is_secret_setting(secret) => {
                    return Err(malformed(format!(
                        "the password stands before the `@`, and no secret in `{secret}`"
                    )));
                }
                _ => settings.push((name, value)),
            }
        }
        let or = |given: String, otherwise: &str| if given.is_empty() { otherwise.to_owned() } else { given };
        Ok(Self {
            user: or(parts.user, USER),
            password: (!parts.password.is_empty()).then(|| Password::new(parts.password)),
            host: or(parts.hosts, "localhost"),
            port: port(&parts.ports, PORT)?,
            database: or(parts.database, DATABASE),
            auth,
            settings,
        })
    }

    /// `host:port`, an IPv6 address in brackets.
    pub(super) fn authority(&self) -> String {
        format!("{}:{}", encode_host(&self.host), self.port)
    }

    /// The target as it can be named again, without the password.
    pub(super) fn url(&self) -> String {
        let authority = if self.port == PORT { encode_host(&self.host) } else { self.authority() };
        let auth = (self.auth == Auth::None).then(|| (AUTH, NOSASL.to_owned()));
        let settings = self.settings.iter().map(|(name, value)| (name.as_str(), value.clone()));
        let parameters: Vec<(&str, String)> = auth.into_iter().chain(settings).collect();
        written(SCHEME, [&self.user, &authority, &self.database], &parameters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<HiveSettings, TargetError> {
        HiveSettings::parse(text, &Environment::empty()).unwrap()
    }

    #[test]
    fn a_server_and_what_each_session_begins_with() {
        for (text, url) in [
            ("hive2://", "hive2://anonymous@localhost/default"),
            (
                "Hive2://me:s%2Fcret@[::1]:10001/bench?spark.sql.ansi.enabled=false&auth=noSasl",
                "hive2://me@[::1]:10001/bench?auth=nosasl&spark.sql.ansi.enabled=false",
            ),
            ("hive2://h:10000?auth=plain", "hive2://anonymous@h/default"),
        ] {
            let settings = parse(text).unwrap();
            assert_eq!(settings.url(), url, "{text}");
            assert_eq!(parse(url).unwrap().url(), url);
            assert!(!format!("{settings:?}").contains("cret"));
        }
        assert_eq!(parse("hive2://me:s%2Fcret@h").unwrap().password.unwrap().reveal(), "s/cret");
        assert!(HiveSettings::parse("hive://h", &Environment::empty()).is_none());
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        for (text, said) in [
            ("hive2://u:SECRET@h?auth=kerberos", "plain or nosasl"),
            ("hive2://u:SECRET@a,b/", "one host"),
            ("hive2://u:SECRET@h:0/", "1 to 65535"),
            ("hive2://u@h?password=SECRET", "before the `@`"),
            ("hive2://u@h?spark.hadoop.fs.azure.account.key.x=SECRET", "no secret in"),
            ("hive2://u:SEC/RET@h", "%2F"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains("SEC"), "{text}: {error}");
        }
    }
}
