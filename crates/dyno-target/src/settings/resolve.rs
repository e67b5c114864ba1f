//! From parameters to settings: what is missing is filled in, and every value is checked.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use dyno_wire::endpoint::{ChannelBinding, Password};

use super::environment::Environment;
use super::error::TargetError;
use super::parameters::{POSTGRES, Parameters, connect_timeout, port};
use super::pgpass::PasswordFile;
use super::{Host, PostgresLocation, SessionAttributes, TargetSettings, service};
use crate::tls::{RootCertificates, SslMode, TlsSettings, TlsVersion};

pub(super) const DEFAULT_PORT: u16 = 5432;
const DEFAULT_APPLICATION_NAME: &str = "dyno";

/// Variables that libpq turns into session settings by itself.
const SESSION_VARIABLES: [(&str, &str); 3] =
    [("PGDATESTYLE", "datestyle"), ("PGTZ", "timezone"), ("PGGEQO", "geqo")];

pub(super) fn resolve(
    named: Parameters,
    environment: &Environment,
    encoding: Encoding,
) -> Result<TargetSettings, TargetError> {
    let parameters = fill_in(named, environment)?;
    let user = parameters.get("user").or(environment.user()).ok_or(TargetError::NoUser)?.to_owned();
    let database = parameters.get("dbname").unwrap_or(&user).to_owned();
    let mut hosts = hosts(&parameters, environment)?;
    let warnings = fill_in_passwords(&mut hosts, &parameters, environment, &database, &user);
    Ok(TargetSettings {
        startup: startup(&parameters, environment, encoding),
        tls: tls(&parameters, environment)?,
        channel_binding: channel_binding(&parameters)?,
        session: session(&parameters)?,
        connect_timeout: connect_timeout(&parameters, "connect_timeout")?,
        hosts,
        user,
        database,
        warnings,
    })
}

/// What was named wins over the service, and the service over the environment.
fn fill_in(named: Parameters, environment: &Environment) -> Result<Parameters, TargetError> {
    let from_environment = Parameters::from_environment(&POSTGRES, environment)?;
    let service = named.get("service").or(from_environment.get("service")).map(str::to_owned);
    let named = match service {
        Some(service) => named.or(service::read(&service, environment)?),
        None => named,
    };
    Ok(named.or(from_environment))
}

fn hosts(parameters: &Parameters, environment: &Environment) -> Result<Vec<Host>, TargetError> {
    let split = |name| parameters.get(name).map(|list| list.split(',').map(str::trim).collect::<Vec<_>>());
    let names = split("host");
    let addresses = split("hostaddr");
    let count = names.as_ref().or(addresses.as_ref()).map_or(1, Vec::len);
    let check_count = |name, list: &Option<Vec<&str>>| match list {
        Some(list) if list.len() != count => {
            Err(TargetError::CountDiffers { name, count: list.len(), hosts: count })
        }
        _ => Ok(()),
    };
    check_count("hostaddr", &addresses)?;
    let ports = split("port").unwrap_or_else(|| vec![""]);
    if ports.len() != 1 {
        check_count("port", &Some(ports.clone()))?;
    }
    (0..count)
        .map(|index| {
            let name = names.as_ref().and_then(|it| it.get(index)).copied().unwrap_or_default();
            let address = addresses.as_ref().and_then(|it| it.get(index)).copied().unwrap_or_default();
            let text = if ports.len() == 1 { ports.first() } else { ports.get(index) };
            Ok(Host {
                place: place(name, address, environment)?,
                port: port(text.copied().unwrap_or_default(), DEFAULT_PORT)?,
                password: None,
            })
        })
        .collect()
}

fn place(name: &str, address: &str, environment: &Environment) -> Result<PostgresLocation, TargetError> {
    let invalid = |name, value: &str, expected| TargetError::invalid(name, value, expected);
    if !address.is_empty() {
        let address =
            address.parse().map_err(|_| invalid("hostaddr", address, "a numeric IPv4 or IPv6 address"))?;
        let name = (!name.is_empty()).then(|| name.to_owned());
        return Ok(PostgresLocation::Tcp { name, address: Some(address) });
    }
    if name.is_empty() {
        return Ok(PostgresLocation::Local(environment.socket_directories().to_vec()));
    }
    if name.starts_with('@') {
        return Err(invalid("host", name, "a host or a directory; abstract sockets are not supported"));
    }
    if name.starts_with('/') {
        return Ok(PostgresLocation::Socket(PathBuf::from(name)));
    }
    Ok(PostgresLocation::Tcp { name: Some(name.to_owned()), address: None })
}

/// The named password for every host, or what the password file has for each. Returns warnings.
fn fill_in_passwords(
    hosts: &mut [Host],
    parameters: &Parameters,
    environment: &Environment,
    database: &str,
    user: &str,
) -> Vec<String> {
    if let Some(password) = parameters.get("password") {
        for host in hosts {
            host.password = Some(Password::new(password.to_owned()));
        }
        return Vec::new();
    }
    let path = match parameters.get("passfile") {
        Some(path) => Some(PathBuf::from(path)),
        None => environment.home().map(|home| home.join(".pgpass")),
    };
    let Some(file) = path.as_deref().map(PasswordFile::read) else { return Vec::new() };
    for host in hosts {
        let name = name_in_password_file(&host.place, environment);
        host.password = file.find(&name, host.port, database, user);
    }
    file.warning.into_iter().collect()
}

/// The local default socket is called `localhost` there.
fn name_in_password_file(place: &PostgresLocation, environment: &Environment) -> String {
    match place {
        PostgresLocation::Tcp { name: Some(name), .. } => name.clone(),
        PostgresLocation::Tcp { address: Some(address), .. } => address.to_string(),
        PostgresLocation::Socket(directory) if !environment.socket_directories().contains(directory) => {
            directory.display().to_string()
        }
        PostgresLocation::Local(_) | PostgresLocation::Socket(_) | PostgresLocation::Tcp { .. } => {
            "localhost".to_owned()
        }
    }
}

/// The client's encoding where none is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// What dyno writes by itself.
    Utf8,
    /// The server is told none: for programs that pass on bytes whose encoding they do not know.
    OfDatabase,
}

fn startup(parameters: &Parameters, environment: &Environment, encoding: Encoding) -> Vec<(String, String)> {
    let application_name = parameters
        .get("application_name")
        .or(parameters.get("fallback_application_name"))
        .unwrap_or(DEFAULT_APPLICATION_NAME);
    let encoding = match (parameters.get("client_encoding"), encoding) {
        (None, Encoding::OfDatabase) => "",
        (None, Encoding::Utf8) | (Some("auto"), _) => "UTF8",
        (Some(encoding), _) => encoding,
    };
    let mut startup = vec![
        ("application_name".to_owned(), application_name.to_owned()),
        ("client_encoding".to_owned(), encoding.to_owned()),
    ];
    startup.extend(parameters.get("options").map(|options| ("options".to_owned(), options.to_owned())));
    for (variable, setting) in SESSION_VARIABLES {
        startup.extend(environment.variable(variable).map(|value| (setting.to_owned(), value.to_owned())));
    }
    startup
}

fn tls(parameters: &Parameters, environment: &Environment) -> Result<TlsSettings, TargetError> {
    let in_home = |file: &str| environment.home().map(|home| home.join(".postgresql").join(file));
    let existing = |file: &str| in_home(file).filter(|path| path.exists());
    let roots = match parameters.get("sslrootcert") {
        Some("system") => RootCertificates::System,
        Some(file) => RootCertificates::File(PathBuf::from(file)),
        None => match in_home("root.crt") {
            Some(file) if file.exists() => RootCertificates::File(file),
            looked_at => RootCertificates::None { looked_at },
        },
    };
    let mode = ssl_mode(parameters.get("sslmode"), &roots)?;
    let version = |name| {
        parameters
            .get(name)
            .map(|text| TlsVersion::parse(text).ok_or(text))
            .transpose()
            .map_err(|text| TargetError::invalid(name, text, "TLSv1.2 or TLSv1.3"))
    };
    let key = parameters.get("sslkey");
    if key.is_some_and(|key| key.contains(':') && !Path::new(key).exists()) {
        return Err(TargetError::UnsupportedParameter {
            name: "sslkey",
            why: "keys in hardware (engine:key) are not reached; name a file",
        });
    }
    Ok(TlsSettings {
        mode,
        roots,
        certificate: parameters.get("sslcert").map(PathBuf::from).or_else(|| existing("postgresql.crt")),
        key: key.map(PathBuf::from).or_else(|| in_home("postgresql.key")),
        checks_key_rights: true,
        version_min: version("ssl_min_protocol_version")?,
        version_max: version("ssl_max_protocol_version")?,
    })
}

fn ssl_mode(text: Option<&str>, roots: &RootCertificates) -> Result<SslMode, TargetError> {
    let system = matches!(roots, RootCertificates::System);
    let mode = match text {
        // As libpq: who trusts the system's many authorities must at least check the name.
        None if system => SslMode::VerifyFull,
        None => SslMode::Prefer,
        Some("allow") => {
            return Err(TargetError::UnsupportedParameter {
                name: "sslmode",
                why: "with `allow` it is left open whether TLS is measured; say disable, prefer or require",
            });
        }
        Some(text) => SslMode::parse(text).ok_or_else(|| {
            TargetError::invalid("sslmode", text, "disable, prefer, require, verify-ca or verify-full")
        })?,
    };
    if system && !matches!(mode, SslMode::VerifyFull | SslMode::Disable) {
        return Err(TargetError::invalid(
            "sslmode",
            mode.name(),
            "verify-full with sslrootcert=system, since anyone can get a certificate of these roots",
        ));
    }
    Ok(mode)
}

fn channel_binding(parameters: &Parameters) -> Result<ChannelBinding, TargetError> {
    match parameters.get("channel_binding") {
        None | Some("prefer") => Ok(ChannelBinding::Prefer),
        Some("disable") => Ok(ChannelBinding::Disable),
        Some("require") => Ok(ChannelBinding::Require),
        Some(other) => Err(TargetError::invalid("channel_binding", other, "disable, prefer or require")),
    }
}

fn session(parameters: &Parameters) -> Result<SessionAttributes, TargetError> {
    let Some(text) = parameters.get("target_session_attrs") else { return Ok(SessionAttributes::Any) };
    SessionAttributes::ALL.into_iter().find(|it| it.name() == text).ok_or_else(|| {
        TargetError::invalid(
            "target_session_attrs",
            text,
            "any, read-write, read-only, primary, standby or prefer-standby",
        )
    })
}

impl PostgresLocation {
    /// The name that a certificate must hold: the host as named, or its address.
    pub(super) fn server_name(&self) -> Option<String> {
        match self {
            Self::Tcp { name: Some(name), .. } => Some(name.clone()),
            Self::Tcp { address, .. } => address.as_ref().map(IpAddr::to_string),
            Self::Local(_) | Self::Socket(_) => None,
        }
    }
}
