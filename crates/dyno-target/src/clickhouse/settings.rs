//! `clickhouse://user:password@host:port/database?setting=value`: which server, who logs in, and the settings that go with each
//! request.

use dyno_wire::endpoint::Password;

use crate::settings::parameters::port;
use crate::settings::url::{encode, encode_host, encode_query, malformed, take_apart, written};
use crate::settings::{Environment, TargetError, is_secret, without_password};

/// Stands before `://`; the second speaks TLS.
pub(super) const SCHEME: &str = "clickhouse";
pub(super) const SCHEME_TLS: &str = "clickhouses";

const PORT: u16 = 8123;
const PORT_TLS: u16 = 8443;
/// Of other clients' URLs: whether TLS is spoken, and whether the certificate is checked.
const SECURE: &str = "secure";
const VERIFY: &str = "verify";
/// What `secure` and `verify` take.
const YES: [&str; 3] = ["1", "true", "yes"];
const NO: [&str; 3] = ["0", "false", "no"];
/// Parameters of a request that dyno sets itself, or that would break how it reads answers.
const RESERVED: [&str; 18] = [
    "query",
    "query_id",
    "database",
    "default_format",
    "session_id",
    "session_check",
    "session_timeout",
    "user",
    "compress",
    "decompress",
    "wait_end_of_query",
    "enable_http_compression",
    "extremes",
    "bool_true_representation",
    "bool_false_representation",
    "format_tsv_null_representation",
    "output_format_tsv_crlf_end_of_line",
    "output_format_decimal_trailing_zeros",
];

/// A server and a database on it, and how each session is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClickHouseSettings {
    pub(super) user: String,
    pub(super) password: Option<Password>,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) database: String,
    pub(super) tls: bool,
    /// Sent with each request, in the order of the target's name.
    pub(super) settings: Vec<(String, String)>,
}

impl ClickHouseSettings {
    /// Reads a target's name; `None` where it names no server of ClickHouse.
    ///
    /// # Errors
    /// Says what is wrong with the name, and never repeats a password.
    pub(super) fn parse(text: &str, environment: &Environment) -> Option<Result<Self, TargetError>> {
        let (scheme, rest) = text.split_once("://")?;
        let tls = scheme.eq_ignore_ascii_case(SCHEME_TLS);
        (tls || scheme.eq_ignore_ascii_case(SCHEME)).then(|| Self::read(rest, tls, environment))
    }

    fn read(rest: &str, mut tls: bool, environment: &Environment) -> Result<Self, TargetError> {
        let parts = take_apart(rest)?;
        if parts.hosts.contains(',') {
            return Err(malformed("a target of ClickHouse is one host: name each of several as a target"));
        }
        let mut settings = Vec::new();
        for (name, value) in parts.parameters {
            match name.as_str() {
                SECURE => tls = flag(SECURE, &value)?,
                VERIFY if flag(VERIFY, &value)? => {}
                VERIFY => return Err(TargetError::UnsupportedParameter { name: VERIFY, why: UNVERIFIED }),
                // Settings are shown.
                secret if is_secret(secret) || without_password(&value) != value => {
                    return Err(malformed(format!(
                        "the password stands before the `@`, or in CLICKHOUSE_PASSWORD, and no secret in `{secret}`"
                    )));
                }
                reserved if RESERVED.contains(&reserved) => {
                    return Err(malformed(format!("dyno itself sets `{reserved}` with each request")));
                }
                _ => settings.push((name, value)),
            }
        }
        let or = |given: String, variable: &str, otherwise: &str| match given.is_empty() {
            true => environment.variable(variable).unwrap_or(otherwise).to_owned(),
            false => given,
        };
        let password = or(parts.password, "CLICKHOUSE_PASSWORD", "");
        Ok(Self {
            user: or(parts.user, "CLICKHOUSE_USER", "default"),
            password: (!password.is_empty()).then(|| Password::new(password)),
            host: if parts.hosts.is_empty() { "localhost".to_owned() } else { parts.hosts },
            port: port(&parts.ports, if tls { PORT_TLS } else { PORT })?,
            database: if parts.database.is_empty() { "default".to_owned() } else { parts.database },
            tls,
            settings,
        })
    }

    /// `host:port`, an IPv6 address in brackets.
    pub(super) fn authority(&self) -> String {
        format!("{}:{}", encode_host(&self.host), self.port)
    }

    /// The target as it can be named again, without the password.
    pub(super) fn url(&self) -> String {
        let (scheme, port) = if self.tls { (SCHEME_TLS, PORT_TLS) } else { (SCHEME, PORT) };
        let authority = if self.port == port { encode_host(&self.host) } else { self.authority() };
        let settings: Vec<(&str, String)> =
            self.settings.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        written(scheme, [&self.user, &authority, &self.database], &settings)
    }

    /// Where requests go; further parameters may follow.
    pub(super) fn request_url(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        let database = encode(&self.database);
        let mut url = format!("{scheme}://{}/?database={database}", self.authority());
        for (name, value) in &self.settings {
            url += &format!("&{}={}", encode(name), encode_query(value).replace('=', "%3D"));
        }
        url
    }
}

const UNVERIFIED: &str = "a certificate that nobody checks protects from nobody: add its authority to the system's \
    certificates (SSL_CERT_FILE names a file of others), or use clickhouse:// without TLS";

fn flag(name: &'static str, value: &str) -> Result<bool, TargetError> {
    let is = |words: [&str; 3]| words.iter().any(|word| value.eq_ignore_ascii_case(word));
    match (is(YES), is(NO)) {
        (true, _) => Ok(true),
        (_, true) => Ok(false),
        _ => Err(TargetError::invalid(name, value, "1 or 0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ClickHouseSettings, TargetError> {
        let environment = Environment::empty().with_variable("CLICKHOUSE_PASSWORD", "of the environment");
        ClickHouseSettings::parse(text, &environment).unwrap()
    }

    #[test]
    fn a_server_and_what_goes_with_each_request() {
        for (text, url, request) in [
            (
                "clickhouse://",
                "clickhouse://default@localhost/default",
                "http://localhost:8123/?database=default",
            ),
            (
                "ClickHouse://me:s%2Fcret@[::1]:8124/my%20db?join_use_nulls=1&secure=0",
                "clickhouse://me@[::1]:8124/my%20db?join_use_nulls=1",
                "http://[::1]:8124/?database=my%20db&join_use_nulls=1",
            ),
            (
                "clickhouse://h?secure=1&verify=1&max_threads=2",
                "clickhouses://default@h/default?max_threads=2",
                "https://h:8443/?database=default&max_threads=2",
            ),
            ("clickhouses://h:9/d", "clickhouses://default@h:9/d", "https://h:9/?database=d"),
        ] {
            let settings = parse(text).unwrap();
            assert_eq!((settings.url().as_str(), settings.request_url().as_str()), (url, request), "{text}");
            assert_eq!(parse(&settings.url()).unwrap().url(), url);
            assert!(!format!("{settings:?}").contains("cret"));
        }
        let password = |text: &str| parse(text).unwrap().password.unwrap().reveal().to_owned();
        assert_eq!(password("clickhouse://me:s%2Fcret@h/"), "s/cret");
        assert_eq!(password("clickhouse://h/"), "of the environment");
        assert!(ClickHouseSettings::parse("http://h:8123/", &Environment::empty()).is_none());
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        for (text, said) in [
            ("clickhouse://u:SECRET@h?verify=0", "nobody checks"),
            ("clickhouse://u:SECRET@h?secure=maybe", "1 or 0"),
            ("clickhouse://u:SECRET@a,b/", "one host"),
            ("clickhouse://u:SECRET@h:0/", "1 to 65535"),
            ("clickhouse://u@h?password=SECRET", "CLICKHOUSE_PASSWORD"),
            ("clickhouse://u@h?Password=SECRET", "CLICKHOUSE_PASSWORD"),
            ("clickhouse://u@h?token=SECRET", "no secret in `token`"),
            ("clickhouse://u@h?apikey=SECRET", "no secret in `apikey`"),
            ("clickhouse://u@h?aws_access_key_id=SECRET", "no secret in `aws_access_key_id`"),
            ("clickhouse://u@h?at=http%3A%2F%2Fu%3ASECRET%40h", "no secret in `at`"),
            ("clickhouse://u:SECRET@h?format_tsv_null_representation=x", "dyno itself sets"),
            ("clickhouse://u:SECRET@h?output_format_tsv_crlf_end_of_line=1", "dyno itself sets"),
            ("clickhouse://u:SECRET@h?query_id=7", "query_id"),
            ("clickhouse://u:SECRET@h?max_threads", "name=value"),
            ("clickhouse://u:SEC/RET@h", "%2F"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains("SEC"), "{text}: {error}");
        }
    }
}
