//! `postgres://user:password@host:port,host:port/database?parameter=value`, as libpq reads it, and the way
//! back for display, which has no password. The form is the same with other schemes, which take it apart here too.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::error::TargetError;
use super::parameters::{POSTGRES, Parameters};

const CODED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const CODED_IN_QUERY: AsciiSet = CODED.remove(b'/').remove(b':').remove(b',').remove(b'=');

/// Splits a URL with a scheme of PostgreSQL; `None` for any other text.
pub(super) fn without_scheme(text: &str) -> Option<&str> {
    text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://"))
}

/// Reads what follows `postgres://`.
pub(super) fn parse(rest: &str) -> Result<Parameters, TargetError> {
    let parts = take_apart(rest)?;
    let mut parameters = Parameters::new(&POSTGRES);
    let place =
        [("user", parts.user), ("password", parts.password), ("host", parts.hosts), ("port", parts.ports)];
    for (name, value) in place {
        parameters.set(name, value)?;
    }
    parameters.set("dbname", parts.database)?;
    for (name, value) in parts.parameters {
        // What JDBC's URLs say; libpq takes it too.
        if name == "ssl" && value == "true" {
            parameters.set("sslmode", "require".to_owned())?;
        } else {
            parameters.set(&name, value)?;
        }
    }
    Ok(parameters)
}

/// The parts of a URL behind its scheme, decoded; empty where they are absent.
#[derive(Default)]
pub(crate) struct UrlParts {
    pub(crate) user: String,
    pub(crate) password: String,
    /// One host, or several with commas.
    pub(crate) hosts: String,
    /// As many ports with commas, each of which may be empty; nothing at all where every one is.
    pub(crate) ports: String,
    pub(crate) database: String,
    /// Names and values behind the `?`, in order.
    pub(crate) parameters: Vec<(String, String)>,
}

/// Takes apart what follows `scheme://`. Errors name the part and never repeat one that may hold a password.
pub(crate) fn take_apart(rest: &str) -> Result<UrlParts, TargetError> {
    let mut parts = UrlParts::default();
    let (front, query) = rest.split_once('?').map_or((rest, None), |(front, query)| (front, Some(query)));
    let (authority, path) = front.split_once('/').map_or((front, None), |(front, path)| (front, Some(path)));
    let hosts = match authority.rsplit_once('@') {
        Some((credentials, hosts)) => {
            let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
            parts.user = decode(user, "the user's name")?;
            parts.password = decode(password, "the password")?;
            hosts
        }
        None => authority,
    };
    (parts.hosts, parts.ports) = take_hosts_apart(hosts)?;
    if let Some(path) = path {
        if path.contains('@') {
            // The commonest cause by far, and taking it for a database's name would show part of a password.
            return Err(malformed("a `/` or `?` in the user's name or password is written %2F or %3F"));
        }
        parts.database = decode(path, "the database's name")?;
    }
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| malformed("a parameter after `?` is not of the form name=value"))?;
        parts.parameters.push((decode(name, "a parameter's name")?, decode(value, "a parameter's value")?));
    }
    Ok(parts)
}

pub(crate) fn malformed(what: impl Into<String>) -> TargetError {
    TargetError::Url { what: what.into() }
}

/// One `host[:port]` or several with commas, either part of which may be empty: the hosts and the ports.
fn take_hosts_apart(text: &str) -> Result<(String, String), TargetError> {
    if text.is_empty() {
        return Ok(Default::default());
    }
    let mut hosts = Vec::new();
    let mut ports = Vec::new();
    for entry in text.split(',') {
        let (host, port) = split_host(entry)?;
        if !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(malformed(
                "a port is not a number (a `/`, `@`, `:` or `?` in a password is written %2F, %40, %3A, %3F)",
            ));
        }
        let host = decode(host, "the host")?;
        if host.contains(',') {
            return Err(malformed("a host's name holds a comma"));
        }
        hosts.push(host);
        ports.push(port);
    }
    Ok((join(&hosts), join(&ports)))
}

/// Empty where every entry is, so that defaults apply.
fn join(entries: &[impl AsRef<str>]) -> String {
    if entries.iter().all(|entry| entry.as_ref().is_empty()) {
        return String::new();
    }
    entries.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(",")
}

/// The host without the brackets of an IPv6 address, and the port, empty where none is given.
fn split_host(entry: &str) -> Result<(&str, &str), TargetError> {
    let Some(bracketed) = entry.strip_prefix('[') else {
        return Ok(entry.split_once(':').unwrap_or((entry, "")));
    };
    let (host, after) =
        bracketed.split_once(']').ok_or_else(|| malformed("the `]` of an IPv6 address is missing"))?;
    match after.strip_prefix(':') {
        Some(port) => Ok((host, port)),
        None if after.is_empty() => Ok((host, "")),
        None => Err(malformed("after the `]` of an IPv6 address only `:port` may follow")),
    }
}

pub(crate) fn decode(text: &str, part: &str) -> Result<String, TargetError> {
    let is_code = |behind: &str| {
        behind.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !text.split('%').skip(1).all(is_code) {
        return Err(malformed(format!(
            "{part} holds a `%` without two hexadecimal digits; `%` is written %25"
        )));
    }
    if text.contains("%00") {
        return Err(malformed(format!("{part} holds %00")));
    }
    let decoded = percent_decode_str(text).decode_utf8();
    decoded
        .map(Cow::into_owned)
        .map_err(|_| malformed(format!("{part} is not UTF-8 once its % codes are decoded")))
}

/// `scheme://user@authority/database?name=value`.
pub(crate) fn written(
    scheme: &str,
    [user, authority, database]: [&str; 3],
    query: &[(&str, String)],
) -> String {
    let query: Vec<String> =
        query.iter().map(|(name, value)| format!("{name}={}", encode_query(value))).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{scheme}://{}@{authority}/{}{mark}{}", encode(user), encode(database), query.join("&"))
}

/// A host as a URL has it, an IPv6 address in brackets.
pub(crate) fn encode_host(name: &str) -> String {
    if name.contains(':') { format!("[{}]", name.replace('%', "%25")) } else { encode(name) }
}

/// Percent-encodes all but letters, digits and `-._~`.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, &CODED).to_string()
}

/// The same for a parameter's value, in which `/`, `:`, `,` and `=` need no code and read better without.
pub(crate) fn encode_query(text: &str) -> String {
    utf8_percent_encode(text, &CODED_IN_QUERY).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Parameters {
        parse(without_scheme(text).unwrap()).unwrap()
    }

    fn get<'a>(parameters: &'a Parameters, names: &[&str]) -> Vec<Option<&'a str>> {
        names.iter().map(|name| parameters.get(name)).collect()
    }

    const PLACE: &[&str] = &["user", "password", "host", "port", "dbname"];

    #[test]
    fn every_part() {
        let p = read("postgres://me:s%3Acret@db.example:5433/my%20db?sslmode=require&application_name=x%26y");
        assert_eq!(
            get(&p, PLACE),
            [Some("me"), Some("s:cret"), Some("db.example"), Some("5433"), Some("my db")]
        );
        assert_eq!(get(&p, &["sslmode", "application_name"]), [Some("require"), Some("x&y")]);
    }

    #[test]
    fn parts_may_be_absent() {
        for text in ["postgres://", "postgresql:///", "postgres://@", "postgres://:@:/"] {
            assert_eq!(get(&read(text), PLACE), [None; 5], "{text}");
        }
        assert_eq!(get(&read("postgres:///db"), PLACE), [None, None, None, None, Some("db")]);
        assert_eq!(get(&read("postgres://h?user=u"), PLACE), [Some("u"), None, Some("h"), None, None]);
    }

    #[test]
    fn addresses_sockets_and_several_hosts() {
        assert_eq!(
            get(&read("postgres://[::1]:6/d"), PLACE),
            [None, None, Some("::1"), Some("6"), Some("d")]
        );
        assert_eq!(get(&read("postgres://[fe80::1%25eth0]/"), PLACE)[2], Some("fe80::1%eth0"));
        assert_eq!(get(&read("postgres://%2Ftmp/db"), PLACE)[2], Some("/tmp"));
        assert_eq!(get(&read("postgres:///db?host=/tmp"), PLACE)[2], Some("/tmp"));
        let several = read("postgres://u@a:1,b,[::2]:3/d");
        assert_eq!(get(&several, &["host", "port"]), [Some("a,b,::2"), Some("1,,3")]);
    }

    #[test]
    fn malformed_urls_are_refused_without_repeating_the_password() {
        for text in [
            "u:SECRET%zz@h/d",
            "u:SECRET/x@h/d",
            "u:SECRET?x@h/d",
            "u:1234/SECRET@h/d",
            "u:SECRET%00@h",
            "h:SECRET/d",
            "[::1",
            "[::1]SECRET",
            "h/d?SECRET",
            "h/d?user=%FF",
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(!error.contains("SECRET"), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in r"([a-z%2F:/@?&=,\[\]é]{0,6}){0,6}|.*") {
            let _ = parse(&text);
        }

        #[test]
        fn any_text_comes_back_from_its_encoding(text in "[^\0]*") {
            prop_assert_eq!(decode(&encode(&text), "it").unwrap(), text);
        }
    }
}
