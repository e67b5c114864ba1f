//! `mysql://user:password@host:port/database?parameter=value`: a URL of the same form as PostgreSQL's, with the names of
//! MySQL's options.

use super::parameters::{MYSQL, set};
use super::{SCHEMES, is_local};
use crate::settings::TargetError;
use crate::settings::parameters::Parameters;
use crate::settings::url::{malformed, take_apart};

/// Splits a URL with a scheme of MySQL's kind; `None` for any other text.
pub(super) fn without_scheme(text: &str) -> Option<&str> {
    SCHEMES.iter().find_map(|scheme| text.strip_prefix(scheme)?.strip_prefix("://"))
}

/// Reads what follows `mysql://`.
pub(super) fn parse(rest: &str) -> Result<Parameters, TargetError> {
    let parts = take_apart(rest)?;
    let mut parameters = Parameters::new(&MYSQL);
    // MySQL's own clients would take the socket, and have misled many by it: who writes a port means it.
    let mut places = parts.hosts.split(',').zip(parts.ports.split(','));
    if places.any(|(host, port)| is_local(host) && !port.is_empty()) {
        parameters.set("protocol", "TCP".to_owned())?;
    }
    let place = [
        ("user", parts.user),
        ("password", parts.password),
        ("host", parts.hosts),
        ("port", parts.ports),
        ("database", parts.database),
    ];
    for (name, value) in place {
        parameters.set(name, value)?;
    }
    for (name, value) in parts.parameters {
        set(&mut parameters, &name, value)?;
    }
    if parameters.get("socket").is_some() {
        if !parameters.get("host").unwrap_or_default().split(',').all(is_local) {
            return Err(malformed("a socket is on this machine: leave the host out, or the socket"));
        }
        if parameters.get("protocol").is_some_and(|protocol| !protocol.eq_ignore_ascii_case("socket")) {
            return Err(malformed(
                "a socket has no port and no other protocol: leave them out, or the socket",
            ));
        }
    }
    Ok(parameters)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str, names: &[&str]) -> Vec<Option<String>> {
        let parameters = parse(without_scheme(text).unwrap()).unwrap();
        names.iter().map(|name| parameters.get(name).map(str::to_owned)).collect()
    }

    fn some(values: &[&str]) -> Vec<Option<String>> {
        values.iter().map(|value| Some((*value).to_owned())).collect()
    }

    #[test]
    fn every_part() {
        let names = ["user", "password", "host", "port", "database", "ssl-mode", "ssl-ca"];
        let url = "mariadb://me:s%3Acret@db.example:3307/my%20db?sslMode=required&ssl_ca=/a%26b";
        let expected = some(&["me", "s:cret", "db.example", "3307", "my db", "required", "/a&b"]);
        assert_eq!(read(url, &names), expected);
        assert_eq!(read("mysql:///", &names), vec![None; names.len()]);
    }

    #[test]
    fn a_port_at_localhost_is_tcp() {
        for url in
            ["mysql://localhost:3307/", "mysql://:3307/d", "mysql://u@LOCALHOST:1", "mysql://h,localhost:1/"]
        {
            assert_eq!(read(url, &["protocol"]), some(&["TCP"]), "{url}");
        }
        for url in ["mysql://localhost/", "mysql://h:3307/", "mysql://localhost/?port=3307"] {
            assert_eq!(read(url, &["protocol"]), [None], "{url}");
        }
    }

    #[test]
    fn what_contradicts_itself_or_is_malformed_is_refused_without_the_password() {
        for text in [
            "u:SECRET@h/?socket=/s",
            "u:SECRET@localhost:3306/?socket=/s",
            "u:SECRET/x@h/d",
            "u:SECRET%zz@h/d",
            "h:SECRET/d",
            "h/d?SECRET",
            "h/d?pasword=SECRET",
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
    }
}
