//! The service file: named sets of parameters, `[name]` and lines of `parameter=value`.

use std::io;
use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::error::TargetError;
use super::parameters::{POSTGRES, Parameters};
use crate::files;

/// Where Debian and others keep the system's service file when `PGSYSCONFDIR` does not say.
const SYSTEM_DIRECTORY: &str = "/etc/postgresql-common";

/// The parameters of a service, from the user's file (`PGSERVICEFILE`, `~/.pg_service.conf`) or else the
/// system's (`PGSYSCONFDIR/pg_service.conf`).
pub(super) fn read(service: &str, environment: &Environment) -> Result<Parameters, TargetError> {
    let mut looked_in = Vec::new();
    for file in files(environment) {
        let text = match files::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(TargetError::Read { file, source }),
        };
        if let Some(parameters) = find(&text, service, &file)? {
            return Ok(parameters);
        }
        looked_in.push(file);
    }
    Err(TargetError::ServiceMissing { service: service.to_owned(), files: looked_in })
}

fn files(environment: &Environment) -> Vec<PathBuf> {
    let user = match environment.variable("PGSERVICEFILE") {
        Some(file) => Some(PathBuf::from(file)),
        None => environment.home().map(|home| home.join(".pg_service.conf")),
    };
    let directory = environment.variable("PGSYSCONFDIR").unwrap_or(SYSTEM_DIRECTORY);
    user.into_iter().chain([Path::new(directory).join("pg_service.conf")]).collect()
}

fn find(text: &str, service: &str, file: &Path) -> Result<Option<Parameters>, TargetError> {
    let mut found: Option<Parameters> = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            if header.strip_suffix(']') == Some(service) {
                found = Some(Parameters::new(&POSTGRES));
            }
            continue;
        }
        let Some(parameters) = &mut found else { continue };
        let at = |what: String| TargetError::ServiceFile { file: file.to_owned(), line: index + 1, what };
        // Neither the line nor its value is repeated: it may be a password.
        let (name, value) =
            line.split_once('=').ok_or_else(|| at("expected parameter=value or [service]".into()))?;
        if name.trim() == "service" {
            return Err(at("a service cannot name another service".into()));
        }
        parameters.set(name.trim(), value.trim().to_owned()).map_err(|error| at(error.to_string()))?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# services\n[a]\nhost=ha\nport = 7\n\n[b]\nhost=hb\nhots=x\n[c]\nnonsense\n[a]\nhost=z\n";

    fn get(service: &str) -> Result<Option<Parameters>, TargetError> {
        find(TEXT, service, Path::new("f"))
    }

    #[test]
    fn only_the_named_section_counts() {
        let a = get("a").unwrap().unwrap();
        assert_eq!((a.get("host"), a.get("port")), (Some("ha"), Some("7")));
        assert!(get("other").unwrap().is_none());
    }

    #[test]
    fn errors_name_the_line() {
        let error = get("b").unwrap_err().to_string();
        assert!(error.contains("line 8") && error.contains("`host`"), "{error}");
        assert!(get("c").unwrap_err().to_string().contains("line 10"));
    }
}
