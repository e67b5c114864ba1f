//! The connection parameters as MySQL's clients name their options. Case, dashes and underscores do not count.

use crate::settings::TargetError;
use crate::settings::parameters::Support::{Only, Refused, Used};
use crate::settings::parameters::{KnownParameter, KnownParameters, Parameters, known};

pub(super) static MYSQL: KnownParameters = KnownParameters { known: KNOWN, plain, other_names: OTHER_NAMES };

const NO_COMPRESSION: &str = "what is sent is never compressed";
const NO_REVOCATION: &str = "revocation lists are not checked";
const NO_CIPHERS: &str = "the ciphers of TLS cannot be chosen";
const NO: &[&str] = &["0", "off", "false", "no"];

const KNOWN: &[KnownParameter] = &[
    known("host", Some("MYSQL_HOST"), Used),
    known("port", Some("MYSQL_TCP_PORT"), Used),
    known("socket", Some("MYSQL_UNIX_PORT"), Used),
    known("protocol", None, Used),
    known("user", None, Used),
    known("password", Some("MYSQL_PWD"), Used),
    known("database", None, Used),
    known("connect-timeout", None, Used),
    known("local-infile", None, Used),
    known("program-name", None, Used),
    known("enable-cleartext-plugin", None, Used),
    known("get-server-public-key", None, Used),
    known("ssl-mode", None, Used),
    known("ssl-ca", None, Used),
    known("ssl-cert", None, Used),
    known("ssl-key", None, Used),
    known("tls-version", None, Used),
    known(
        "ssl-capath",
        None,
        Refused("certificates are read from one file; name it with ssl-ca, or say ssl-ca=system"),
    ),
    known("ssl-crl", None, Refused(NO_REVOCATION)),
    known("ssl-crlpath", None, Refused(NO_REVOCATION)),
    known("ssl-cipher", None, Refused(NO_CIPHERS)),
    known("tls-ciphersuites", None, Refused(NO_CIPHERS)),
    known(
        "server-public-key-path",
        None,
        Refused("the server is asked for its key; say ssl-mode=REQUIRED for safety"),
    ),
    known("compress", None, Only(NO, NO_COMPRESSION)),
    known("compression-algorithms", None, Only(&["uncompressed"], NO_COMPRESSION)),
    known(
        "default-character-set",
        None,
        Only(&["utf8mb4", "auto"], "the session's character set is utf8mb4"),
    ),
    known("charset", None, Only(&["utf8mb4"], "the session's character set is utf8mb4")),
];

/// Sets a parameter, also `ssl=true`, as JDBC's URLs and MariaDB's option files have it. That takes nothing back that was
/// asked for beyond.
pub(super) fn set(parameters: &mut Parameters, name: &str, value: String) -> Result<(), TargetError> {
    if plain(name) != SSL {
        return parameters.set(name, value);
    }
    if !boolean(SSL, &value)? {
        return parameters.set("ssl-mode", "DISABLED".to_owned());
    }
    match parameters.get("ssl-mode").map(plain).as_deref() {
        Some("verifyca" | "verifyidentity") => Ok(()),
        _ => parameters.set("ssl-mode", "REQUIRED".to_owned()),
    }
}

const SSL: &str = "ssl";

/// Whether dyno knows the name at all, supported or not.
pub(super) fn is_known(name: &str) -> bool {
    plain(name) == SSL || MYSQL.has(name)
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
        _ => Err(TargetError::invalid(name, value, "on or off")),
    }
}

/// What other drivers call some parameters.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_dashes_and_underscores_do_not_count() {
        for name in ["ssl-mode", "ssl_mode", "sslMode", "SSL-MODE", "sslmode"] {
            let mut parameters = Parameters::new(&MYSQL);
            set(&mut parameters, name, "REQUIRED".into()).unwrap();
            assert_eq!(parameters.get("ssl-mode"), Some("REQUIRED"), "{name}");
            set(&mut parameters, name, String::new()).unwrap();
            assert_eq!(parameters.get("ssl-mode"), None, "{name}");
        }
        let mut parameters = Parameters::new(&MYSQL);
        set(&mut parameters, "ssl", "true".into()).unwrap();
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
            let error = set(&mut Parameters::new(&MYSQL), wrong, "x".into()).unwrap_err();
            assert!(error.to_string().contains(&format!("did you mean `{right}`")), "{error}");
        }
    }

    #[test]
    fn what_is_not_supported_is_refused_and_says_why() {
        let error = set(&mut Parameters::new(&MYSQL), "ssl_crl", "/a".into()).unwrap_err();
        assert!(error.to_string().contains("revocation"), "{error}");
        assert!(set(&mut Parameters::new(&MYSQL), "compress", "0".into()).is_ok());
        assert!(set(&mut Parameters::new(&MYSQL), "compress", "1".into()).is_err());
    }
}
