//! A node_exporter's URL, understood.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{NodeExporter, NodeExporterError};
use crate::settings::url::decode;

pub(super) fn parse(text: &str) -> Result<NodeExporter, NodeExporterError> {
    let text = text.trim();
    // Without a scheme it is what most exporters speak.
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let scheme = scheme.to_ascii_lowercase();
    // A password may hold what should have been encoded, so the last `@` ends it.
    let (credentials, place) = match rest.rsplit_once('@') {
        Some((credentials, place)) => (Some(credentials), place),
        None => (None, rest),
    };
    let malformed = |why| {
        let hidden = if credentials.is_some() { "***@" } else { "" };
        NodeExporterError::NotAUrl { found: format!("{scheme}://{hidden}{place}"), why }
    };
    if !matches!(scheme.as_str(), "http" | "https") {
        return Err(malformed("it begins with http:// or https://"));
    }
    let (place, fragment) = match place.split_once('#') {
        Some((place, fragment)) => (place, Some(fragment)),
        None => (place, None),
    };
    let (host, path) = place.split_at(place.find(['/', '?']).unwrap_or(place.len()));
    check_host(host).map_err(malformed)?;
    let path = if path.is_empty() || path == "/" { "/metrics" } else { path };
    let request = format!("{scheme}://{host}{path}");
    if request.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(malformed("it holds white space"));
    }
    let devices = fragment.map(devices).transpose().map_err(malformed)?.unwrap_or_default();
    let shown = fragment.map_or_else(|| request.clone(), |fragment| format!("{request}#{fragment}"));
    let authorization = credentials.map(basic).transpose().map_err(malformed)?;
    Ok(NodeExporter { request, shown, authorization, devices })
}

/// `host`, `host:port`, `[::1]:port`.
fn check_host(host: &str) -> Result<(), &'static str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(bracketed) => {
            let (name, after) = bracketed.split_once(']').ok_or("the `]` of an IPv6 address is missing")?;
            (
                name,
                after
                    .strip_prefix(':')
                    .or((after.is_empty()).then_some(""))
                    .ok_or("after `]` only a port may follow")?,
            )
        }
        None => host.split_once(':').unwrap_or((host, "")),
    };
    if name.is_empty() {
        return Err("it names no host");
    }
    let is_port = port.is_empty() || port.parse::<u16>().is_ok_and(|port| port > 0);
    if is_port { Ok(()) } else { Err("its port is no number from 1 to 65535") }
}

/// `device=sda,sdb`
fn devices(fragment: &str) -> Result<Vec<String>, &'static str> {
    let names = fragment.strip_prefix("device=").ok_or("behind # only device=NAME may stand")?;
    let names: Vec<String> =
        names.split(',').map(|name| name.trim_start_matches("/dev/").to_owned()).collect();
    if names.iter().any(String::is_empty) { Err("device= names no disk") } else { Ok(names) }
}

/// The header of HTTP's basic authentication.
fn basic(credentials: &str) -> Result<String, &'static str> {
    const WRONG: &str = "user or password are not percent-encoded UTF-8";
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    let user = decode(user, "the user").map_err(|_| WRONG)?;
    let password = decode(password, "the password").map_err(|_| WRONG)?;
    Ok(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_written_is_what_exporters_mostly_have() {
        for (text, url) in [
            ("http://db:9100/metrics", "http://db:9100/metrics"),
            ("db:9100", "http://db:9100/metrics"),
            ("HTTPS://db/", "https://db/metrics"),
            ("http://[::1]:9100", "http://[::1]:9100/metrics"),
            ("http://db:9100/node?collect[]=cpu#device=sda", "http://db:9100/node?collect[]=cpu#device=sda"),
        ] {
            let exporter = NodeExporter::parse(text).unwrap();
            assert_eq!((exporter.url(), exporter.authorization.as_deref()), (url, None), "{text}");
        }
        let chosen = NodeExporter::parse("db:9100#device=/dev/sda,dm-0").unwrap();
        assert_eq!(
            (chosen.request.as_str(), chosen.devices),
            ("http://db:9100/metrics", vec!["sda".to_owned(), "dm-0".to_owned()])
        );
    }

    #[test]
    fn passwords_are_sent_and_never_shown() {
        let exporter = NodeExporter::parse("https://me:s%3Acr@t@db:9100/metrics").unwrap();
        assert_eq!(exporter.url(), "https://db:9100/metrics");
        assert_eq!(exporter.authorization.as_deref(), Some("Basic bWU6czpjckB0"));
        assert!(!format!("{exporter:?}").contains("bWU6"), "{exporter:?}");
        for wrong in [
            "ftp://me:secret@db",
            "http://me:secret@",
            "http://me:secret@db:0",
            "http://me:%zzsecret@db",
            "http://me:secret@db#disk=x",
        ] {
            let error = NodeExporter::parse(wrong).unwrap_err().to_string();
            assert!(!error.contains("secret") && error.contains("***@"), "{error}");
        }
        assert!(NodeExporter::parse("").is_err());
    }
}
