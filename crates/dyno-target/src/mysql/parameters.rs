//! The connection parameters by name, as MySQL's clients name their options: which exist, which of them dyno supports,
//! and the values that were given. Case, dashes and underscores do not count. Knows nothing of what the values mean.

use std::collections::BTreeMap;
use std::fmt;

use crate::settings::TargetError;
use crate::settings::parameters::nearest;

/// What dyno makes of a parameter.
#[derive(Debug, Clone, Copy)]
enum Support {
    Used,
    /// Accepted with these values, which mean what dyno does anyway.
    Only(&'static [&'static str], &'static str),
    Refused(&'static str),
}

use Support::{Only, Refused, Used};

const NO_COMPRESSION: &str = "what is sent is never compressed";
const NO_REVOCATION: &str = "revocation lists are not checked";
const NO_CIPHERS: &str = "the ciphers of TLS cannot be chosen";
const NO: &[&str] = &["0", "off", "false", "no"];

const KNOWN: &[(&str, Support)] = &[
    ("host", Used),
    ("port", Used),
    ("socket", Used),
    ("protocol", Used),
    ("user", Used),
    ("password", Used),
    ("database", Used),
    ("connect-timeout", Used),
    ("local-infile", Used),
    ("program-name", Used),
    ("enable-cleartext-plugin", Used),
    ("get-server-public-key", Used),
    ("ssl-mode", Used),
    ("ssl-ca", Used),
    ("ssl-cert", Used),
    ("ssl-key", Used),
    ("tls-version", Used),
    ("ssl-capath", Refused("certificates are read from one file; name it with ssl-ca, or say ssl-ca=system")),
    ("ssl-crl", Refused(NO_REVOCATION)),
    ("ssl-crlpath", Refused(NO_REVOCATION)),
    ("ssl-cipher", Refused(NO_CIPHERS)),
    ("tls-ciphersuites", Refused(NO_CIPHERS)),
    ("server-public-key-path", Refused("the server is asked for its key; say ssl-mode=REQUIRED for safety")),
    ("compress", Only(NO, NO_COMPRESSION)),
    ("compression-algorithms", Only(&["uncompressed"], NO_COMPRESSION)),
    ("default-character-set", Only(&["utf8mb4", "auto"], "the session's character set is utf8mb4")),
    ("charset", Only(&["utf8mb4"], "the session's character set is utf8mb4")),
];

/// Values by parameter name. Prints names only: a value may be a password.
#[derive(Clone, Default)]
pub(super) struct MySqlParameters(BTreeMap<&'static str, String>);

impl fmt::Debug for MySqlParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl MySqlParameters {
    /// Sets a parameter; a later value replaces an earlier one, and an empty one takes it back.
    pub(super) fn set(&mut self, name: &str, value: String) -> Result<(), TargetError> {
        if plain(name) == "ssl" {
            return self.set_ssl(&value);
        }
        let Some((name, support)) = KNOWN.iter().find(|(known, _)| plain(known) == plain(name)) else {
            let suggestion = suggestion(name);
            return Err(TargetError::UnknownParameter { name: name.to_owned(), suggestion });
        };
        match support {
            _ if value.is_empty() => {
                self.0.remove(name);
            }
            Used => {
                self.0.insert(name, value);
            }
            Only(values, _) if values.contains(&value.to_ascii_lowercase().as_str()) => {}
            Only(_, why) | Refused(why) => return Err(TargetError::UnsupportedParameter { name, why }),
        }
        Ok(())
    }

    /// `ssl=true`, as JDBC's URLs and MariaDB's option files have it. It takes nothing back that was asked for beyond.
    fn set_ssl(&mut self, value: &str) -> Result<(), TargetError> {
        if !boolean("ssl", value)? {
            return self.set("ssl-mode", "DISABLED".to_owned());
        }
        match self.get("ssl-mode").map(plain).as_deref() {
            Some("verifyca" | "verifyidentity") => Ok(()),
            _ => self.set("ssl-mode", "REQUIRED".to_owned()),
        }
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

/// Whether dyno knows the name at all, supported or not.
pub(super) fn is_known(name: &str) -> bool {
    plain(name) == "ssl" || KNOWN.iter().any(|(known, _)| plain(known) == plain(name))
}

/// The name with all left out that does not count: `sslMode`, `ssl_mode` and `SSL-MODE` are the same.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}

/// What an option that is on or off says.
pub(super) fn boolean(name: &'static str, value: &str) -> Result<bool, TargetError> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "on" | "true" | "yes" => Ok(true),
        "0" | "off" | "false" | "no" => Ok(false),
        _ => Err(TargetError::InvalidValue { name, value: value.to_owned(), expected: "on or off" }),
    }
}

/// What other drivers call some parameters, too unlike for a guess by spelling.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("db", "database"),
    ("dbname", "database"),
    ("schema", "database"),
    ("username", "user"),
    ("pass", "password"),
    ("passwd", "password"),
    ("pwd", "password"),
    ("server", "host"),
    ("hostname", "host"),
    ("unixsocket", "socket"),
    ("tls", "ssl-mode"),
    ("usessl", "ssl-mode"),
    ("requiressl", "ssl-mode"),
    ("sslrootcert", "ssl-ca"),
    ("timeout", "connect-timeout"),
    ("allowpublickeyretrieval", "get-server-public-key"),
    ("allowloadlocalinfile", "local-infile"),
];

fn suggestion(wrong: &str) -> Option<String> {
    let plain = plain(wrong);
    match OTHER_NAMES.iter().find(|(other, _)| *other == plain) {
        Some((_, name)) => Some((*name).to_owned()),
        None => nearest(&wrong.replace('_', "-"), KNOWN.iter().map(|(name, _)| *name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_dashes_and_underscores_do_not_count() {
        for name in ["ssl-mode", "ssl_mode", "sslMode", "SSL-MODE", "sslmode"] {
            let mut parameters = MySqlParameters::default();
            parameters.set(name, "REQUIRED".into()).unwrap();
            assert_eq!(parameters.get("ssl-mode"), Some("REQUIRED"), "{name}");
            parameters.set(name, String::new()).unwrap();
            assert_eq!(parameters.get("ssl-mode"), None, "{name}");
        }
        let mut parameters = MySqlParameters::default();
        parameters.set("ssl", "true".into()).unwrap();
        assert_eq!(parameters.get("ssl-mode"), Some("REQUIRED"));
    }

    #[test]
    fn a_misspelled_parameter_gets_the_nearest_name() {
        for (wrong, right) in [
            ("ssl-mod", "ssl-mode"),
            ("sslrootcert", "ssl-ca"),
            ("usr", "user"),
            ("dbname", "database"),
            ("conect_timeout", "connect-timeout"),
            ("allowPublicKeyRetrieval", "get-server-public-key"),
        ] {
            let error = MySqlParameters::default().set(wrong, "x".into()).unwrap_err();
            assert!(error.to_string().contains(&format!("did you mean `{right}`")), "{error}");
        }
    }

    #[test]
    fn what_is_not_supported_is_refused_and_says_why() {
        let error = MySqlParameters::default().set("ssl_crl", "/a".into()).unwrap_err();
        assert!(error.to_string().contains("revocation"), "{error}");
        assert!(MySqlParameters::default().set("compress", "0".into()).is_ok());
        assert!(MySqlParameters::default().set("compress", "1".into()).is_err());
    }
}
