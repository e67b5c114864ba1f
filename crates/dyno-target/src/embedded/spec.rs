//! What a user may write to name an embedded server: `postgres`, `postgres@17`, `postgres@16.4`, or a directory
//! that holds the binaries. Parsing only: whether such a server can be had is decided in `find` and `fetch`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Which server to start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ServerSpec {
    /// `postgres`: the newest installed, else one that is fetched.
    #[default]
    Newest,
    /// `postgres@17` or `postgres@16.4`.
    Version(VersionSpec),
    /// A directory that holds `postgres` and `initdb`.
    Directory(PathBuf),
}

/// A major version, and perhaps a minor one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionSpec {
    pub major: u32,
    pub minor: Option<u32>,
}

/// The oldest major version that dyno starts: older ones are out of support and lack settings it relies on.
pub const OLDEST_MAJOR: u32 = 12;

/// Why a text names no server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error("there is no embedded server named `{name}`; did you mean `{nearest}`?")]
    UnknownProduct { name: String, nearest: String },
    #[error(
        "there is no embedded server named `{name}`; name `postgres`, `postgres@17` or a directory with binaries"
    )]
    Unknown { name: String },
    #[error(
        "`{version}` in `{text}` is no PostgreSQL version; write a major one as in `postgres@17`, or with its minor as in `postgres@16.4`"
    )]
    BadVersion { text: String, version: String },
    #[error("PostgreSQL {major} is too old: dyno starts {OLDEST_MAJOR} and later")]
    TooOld { major: u32 },
}

const PRODUCT: &str = "postgres";

impl FromStr for ServerSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        if text.contains('/') || text.starts_with('.') {
            return Ok(Self::Directory(PathBuf::from(text)));
        }
        let (name, version) = match text.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        if name != PRODUCT {
            return Err(unknown(name, version));
        }
        let Some(version) = version else { return Ok(Self::Newest) };
        let spec = VersionSpec::parse(version)
            .ok_or_else(|| SpecError::BadVersion { text: text.to_owned(), version: version.to_owned() })?;
        if spec.major < OLDEST_MAJOR {
            return Err(SpecError::TooOld { major: spec.major });
        }
        Ok(Self::Version(spec))
    }
}

impl fmt::Display for ServerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newest => f.write_str(PRODUCT),
            Self::Version(version) => write!(f, "{PRODUCT}@{version}"),
            Self::Directory(path) => path.display().fmt(f),
        }
    }
}

impl VersionSpec {
    /// `17` or `16.4`.
    fn parse(text: &str) -> Option<Self> {
        let (major, minor) = match text.split_once('.') {
            Some((major, minor)) => (major, Some(number(minor)?)),
            None => (text, None),
        };
        Some(Self { major: number(major)?, minor })
    }

    /// Whether `version` is one of those meant.
    pub fn matches(&self, version: &Version) -> bool {
        self.major == version.major && self.minor.is_none_or(|minor| version.minor == Some(minor))
    }
}

impl fmt::Display for VersionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.minor {
            Some(minor) => write!(f, "{}.{minor}", self.major),
            None => write!(f, "{}", self.major),
        }
    }
}

/// A server's version. A release that has no minor number yet (`19devel`, `19beta1`) sorts before all that have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: Option<u32>,
}

impl Version {
    /// Reads `15.18`, `15.18 (Debian 15.18-0+deb12u1)`, `19beta1`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let word = text.split_whitespace().next()?;
        let digits = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
        let (major, rest) = word.split_at(digits);
        let minor = rest
            .strip_prefix('.')
            .and_then(|minor| number(minor.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default()));
        Some(Self { major: number(major)?, minor })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        VersionSpec { major: self.major, minor: self.minor }.fmt(f)
    }
}

/// Digits and nothing else; `u32::from_str` would take a sign as well.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn unknown(name: &str, version: Option<&str>) -> SpecError {
    // Two slips in eight letters, or the other common names of the product.
    let near = strsim::damerau_levenshtein(&name.to_lowercase(), PRODUCT) <= 2
        || ["postgresql", "pg", "psql", "pgsql"].contains(&name.to_lowercase().as_str());
    if !near {
        return SpecError::Unknown { name: name.to_owned() };
    }
    let nearest = match version {
        Some(version) => format!("{PRODUCT}@{version}"),
        None => PRODUCT.to_owned(),
    };
    SpecError::UnknownProduct { name: name.to_owned(), nearest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_are_read_and_written_alike() {
        for text in ["postgres", "postgres@17", "postgres@16.4", "/usr/lib/postgresql/15/bin", "./bin"] {
            assert_eq!(text.parse::<ServerSpec>().unwrap().to_string(), text);
        }
        assert_eq!(
            "postgres@16.4".parse(),
            Ok(ServerSpec::Version(VersionSpec { major: 16, minor: Some(4) }))
        );
    }

    #[test]
    fn a_slip_is_answered_with_the_nearest_name() {
        let error = "postgers@17".parse::<ServerSpec>().unwrap_err();
        assert!(error.to_string().contains("did you mean `postgres@17`?"), "{error}");
        let error = "PostgreSQL".parse::<ServerSpec>().unwrap_err();
        assert!(error.to_string().contains("did you mean `postgres`?"), "{error}");
        assert!(matches!("mysql".parse::<ServerSpec>(), Err(SpecError::Unknown { .. })));
    }

    #[test]
    fn versions_that_are_none_are_refused() {
        for text in ["postgres@", "postgres@x", "postgres@17.", "postgres@+17", "postgres@16.4.1"] {
            assert!(matches!(text.parse::<ServerSpec>(), Err(SpecError::BadVersion { .. })), "{text}");
        }
        assert_eq!("postgres@9.6".parse::<ServerSpec>(), Err(SpecError::TooOld { major: 9 }));
    }

    #[test]
    fn server_versions_are_read_and_ordered() {
        let read = |text| Version::parse(text).unwrap();
        assert_eq!(read("15.18 (Debian 15.18-0+deb12u1)"), Version { major: 15, minor: Some(18) });
        assert_eq!(read("19beta1"), Version { major: 19, minor: None });
        assert_eq!(read("16.4.0").to_string(), "16.4");
        assert!(read("19devel") < read("19.0") && read("9.6") < read("18.1") && read("18.1") < read("18.10"));
        assert_eq!(Version::parse("(EnterpriseDB)"), None);
    }

    #[test]
    fn a_spec_without_a_minor_matches_every_minor() {
        let spec = |text| match text {
            "16" => VersionSpec { major: 16, minor: None },
            _ => VersionSpec { major: 16, minor: Some(4) },
        };
        let version = Version { major: 16, minor: Some(4) };
        assert!(spec("16").matches(&version) && spec("16.4").matches(&version));
        assert!(!spec("16.4").matches(&Version { major: 16, minor: Some(5) }));
        assert!(!spec("16").matches(&Version { major: 17, minor: Some(0) }));
    }
}
