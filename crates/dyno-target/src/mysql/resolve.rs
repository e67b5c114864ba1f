//! From parameters to settings: what is missing is filled in, and every value is checked.

use std::path::PathBuf;

use dyno_wire::endpoint::Password;
use dyno_wire::my::handshake;

use super::option_files::OptionFiles;
use super::parameters::{MYSQL, boolean, plain};
use super::{LOCALHOST, MySqlLocation, MySqlSettings, is_local};
use crate::settings::parameters::{Parameters, connect_timeout, port};
use crate::settings::{Environment, TargetError};
use crate::tls::{RootCertificates, SslMode, TlsSettings, TlsVersion};

pub(super) const DEFAULT_PORT: u16 = 3306;
const DEFAULT_PROGRAM_NAME: &str = "dyno";

const MODES: [(SslMode, &str); 5] = [
    (SslMode::Disable, "DISABLED"),
    (SslMode::Prefer, "PREFERRED"),
    (SslMode::Require, "REQUIRED"),
    (SslMode::VerifyCa, "VERIFY_CA"),
    (SslMode::VerifyFull, "VERIFY_IDENTITY"),
];

pub(super) fn mode_name(mode: SslMode) -> Option<&'static str> {
    MODES.into_iter().find(|(it, _)| *it == mode).map(|(_, name)| name)
}

/// What was named wins over the environment, and the environment over option files.
pub(super) fn named(named: Parameters, environment: &Environment) -> Result<MySqlSettings, TargetError> {
    let from_environment = Parameters::from_environment(&MYSQL, environment)?;
    let OptionFiles { parameters, warnings } = OptionFiles::read(environment);
    let inherited = from_environment.or(parameters);
    let places = Places::of(&named, &inherited, environment)?;
    let hosts = paired(&places)?;
    settings(&named.or(inherited), hosts, warnings, environment)
}

/// As sysbench does it, which reads no option files.
pub(super) fn given(given: &Parameters, environment: &Environment) -> Result<MySqlSettings, TargetError> {
    let mut inherited = Parameters::new(&MYSQL);
    if let Some(socket) = environment.variable("MYSQL_UNIX_PORT") {
        inherited.set("socket", socket.to_owned())?;
    }
    let places = Places::of(given, &inherited, environment)?;
    settings(given, combined(&places)?, Vec::new(), environment)
}

fn settings(
    parameters: &Parameters,
    hosts: Vec<MySqlLocation>,
    warnings: Vec<String>,
    environment: &Environment,
) -> Result<MySqlSettings, TargetError> {
    let user = parameters.get("user").or(environment.user()).ok_or(TargetError::NoUser)?.to_owned();
    Ok(MySqlSettings {
        hosts,
        user,
        password: parameters.get("password").map(|it| Password::new(it.to_owned())),
        database: parameters.get("database").unwrap_or_default().to_owned(),
        program_name: parameters.get("program-name").unwrap_or(DEFAULT_PROGRAM_NAME).to_owned(),
        tls: tls(parameters)?,
        options: options(parameters)?,
        connect_timeout: connect_timeout(parameters, "connect-timeout")?,
        warnings,
    })
}

/// What says where the server is.
struct Places<'p> {
    hosts: Vec<&'p str>,
    ports: Vec<u16>,
    /// Sockets that were named and must be there.
    sockets: Vec<&'p str>,
    /// Where the socket of `localhost` may be.
    local: Vec<PathBuf>,
    protocol: Protocol,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    /// A socket for `localhost`, else TCP.
    ByHost,
    Tcp,
    Socket,
}

impl<'p> Places<'p> {
    fn of(
        named: &'p Parameters,
        inherited: &'p Parameters,
        environment: &Environment,
    ) -> Result<Self, TargetError> {
        let list = |text: &'p str| text.split(',').map(str::trim).collect::<Vec<_>>();
        let sockets = named.get("socket").map(list).unwrap_or_default();
        // Who names a socket does not mean a host that stands in an option file.
        let inherited_host = inherited.get("host").filter(|_| sockets.is_empty());
        let ports = list(named.get("port").or(inherited.get("port")).unwrap_or_default());
        let local = match inherited.get("socket") {
            Some(socket) => vec![PathBuf::from(socket)],
            None => environment.mysql_sockets().to_vec(),
        };
        let protocol = match named.get("protocol") {
            Some(protocol) => Some(protocol),
            // Nor does who names a host or a socket mean what an option file says of another.
            None if named.get("host").is_some() || !sockets.is_empty() => None,
            None => inherited.get("protocol"),
        };
        Ok(Self {
            hosts: list(named.get("host").or(inherited_host).unwrap_or_default()),
            ports: ports.into_iter().map(|text| port(text, DEFAULT_PORT)).collect::<Result<_, _>>()?,
            sockets,
            local,
            protocol: protocol.map_or(Ok(Protocol::ByHost), Protocol::parse)?,
        })
    }

    fn place(&self, host: &str, port: u16) -> MySqlLocation {
        if host.starts_with('/') {
            return MySqlLocation::Socket(PathBuf::from(host));
        }
        match self.protocol {
            Protocol::ByHost if is_local(host) => MySqlLocation::Local { sockets: self.local.clone(), port },
            Protocol::Socket => {
                let existing = self.local.iter().find(|socket| socket.exists());
                MySqlLocation::Socket(existing.or(self.local.first()).cloned().unwrap_or_default())
            }
            Protocol::ByHost | Protocol::Tcp => {
                let name = if host.is_empty() { LOCALHOST } else { host };
                MySqlLocation::Tcp { name: name.to_owned(), port }
            }
        }
    }
}

impl Protocol {
    fn parse(text: &str) -> Result<Self, TargetError> {
        match text.to_ascii_lowercase().as_str() {
            "tcp" => Ok(Self::Tcp),
            "socket" => Ok(Self::Socket),
            _ => Err(TargetError::invalid("protocol", text, "TCP or SOCKET")),
        }
    }
}

/// Each host with its port, or with the one that is for all.
fn paired(places: &Places<'_>) -> Result<Vec<MySqlLocation>, TargetError> {
    if !places.sockets.is_empty() {
        return Ok(sockets(places));
    }
    let (hosts, ports) = (places.hosts.len(), places.ports.len());
    if ports != 1 && ports != hosts {
        return Err(TargetError::CountDiffers { name: "port", count: ports, hosts });
    }
    let ports = places.ports.iter().cycle();
    Ok(places.hosts.iter().zip(ports).map(|(host, port)| places.place(host, *port)).collect())
}

/// Each host with each port.
fn combined(places: &Places<'_>) -> Result<Vec<MySqlLocation>, TargetError> {
    if !places.sockets.is_empty() {
        return Ok(sockets(places));
    }
    let at = |host: &&str| places.ports.iter().map(|port| places.place(host, *port)).collect::<Vec<_>>();
    Ok(places.hosts.iter().flat_map(at).collect())
}

fn sockets(places: &Places<'_>) -> Vec<MySqlLocation> {
    places.sockets.iter().map(|socket| MySqlLocation::Socket(PathBuf::from(socket))).collect()
}

fn tls(parameters: &Parameters) -> Result<TlsSettings, TargetError> {
    let authority = parameters.get("ssl-ca");
    let mode = ssl_mode(parameters.get("ssl-mode"), authority.is_some())?;
    let roots = match authority {
        // As MySQL: a certificate is only looked at where that was asked for.
        _ if matches!(mode, SslMode::Disable | SslMode::Prefer | SslMode::Require) => {
            RootCertificates::None { looked_at: None }
        }
        None | Some("system") => RootCertificates::System,
        Some(file) => RootCertificates::File(PathBuf::from(file)),
    };
    let (version_min, version_max) = tls_versions(parameters.get("tls-version"))?;
    let certificate = parameters.get("ssl-cert").map(PathBuf::from);
    Ok(TlsSettings {
        mode,
        roots,
        // MySQL's clients take both from one file where only one is named.
        key: parameters.get("ssl-key").map(PathBuf::from).or_else(|| certificate.clone()),
        certificate: certificate.or_else(|| parameters.get("ssl-key").map(PathBuf::from)),
        checks_key_rights: false,
        version_min,
        version_max,
    })
}

fn ssl_mode(text: Option<&str>, has_authority: bool) -> Result<SslMode, TargetError> {
    match text {
        // Why else would it be named?
        None if has_authority => Ok(SslMode::VerifyCa),
        None => Ok(SslMode::Prefer),
        Some(text) => {
            MODES.into_iter().find(|(_, name)| plain(name) == plain(text)).map(|(mode, _)| mode).ok_or_else(
                || {
                    TargetError::invalid(
                        "ssl-mode",
                        text,
                        "DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY",
                    )
                },
            )
        }
    }
}

/// The lowest and the highest of a list of versions.
fn tls_versions(text: Option<&str>) -> Result<(Option<TlsVersion>, Option<TlsVersion>), TargetError> {
    let Some(text) = text else { return Ok((None, None)) };
    let parsed: Option<Vec<TlsVersion>> =
        text.split(',').map(|version| TlsVersion::parse(version.trim())).collect();
    let versions = parsed
        .ok_or_else(|| TargetError::invalid("tls-version", text, "TLSv1.2, TLSv1.3 or both with a comma"))?;
    Ok((versions.iter().min().copied(), versions.iter().max().copied()))
}

fn options(parameters: &Parameters) -> Result<handshake::Options, TargetError> {
    let switch = |name, otherwise| parameters.get(name).map_or(Ok(otherwise), |value| boolean(name, value));
    Ok(handshake::Options {
        // Harmless, as only what dyno itself has asked for is ever answered.
        local_infile: switch("local-infile", true)?,
        clear_password: switch("enable-cleartext-plugin", false)?,
        public_key_retrieval: switch("get-server-public-key", true)?,
        ..handshake::Options::default()
    })
}
