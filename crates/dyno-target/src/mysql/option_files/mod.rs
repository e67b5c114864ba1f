//! MySQL's option files: which are read, in which order, and what of them concerns a connection. A later value replaces
//! an earlier one. Options that dyno does not know belong to other programs and are passed over.

mod file;

use std::path::PathBuf;

use super::parameters::{MYSQL, is_known, plain, set};
use crate::settings::Environment;
use crate::settings::parameters::Parameters;

/// The groups that are read: those of every client, those of the client programs, and dyno's own.
const GROUPS: &[&str] = &["client", "client-server", "client-mariadb", "mysql", "mariadb-client", "dyno"];
const OWN_GROUP: &str = "dyno";

/// What the files say.
#[derive(Debug)]
pub(super) struct OptionFiles {
    pub(super) parameters: Parameters,
    /// What the user should know of and is no error: a file that was ignored, an option that is not supported.
    pub(super) warnings: Vec<String>,
}

impl OptionFiles {
    /// Reads the system's files, `$MYSQL_HOME/my.cnf` and `~/.my.cnf`. One that is missing says nothing.
    pub(super) fn read(environment: &Environment) -> Self {
        let mut files = Self { parameters: Parameters::new(&MYSQL), warnings: Vec::new() };
        for path in paths(environment) {
            let options = file::read(&path, GROUPS, &mut files.warnings);
            for option in options {
                files.take(option);
            }
        }
        files
    }

    fn take(&mut self, option: file::OptionEntry) {
        let file::OptionEntry { group, name, value, place } = option;
        let (name, value) = meaning(&name, value);
        if !is_known(&name) {
            if group == OWN_GROUP {
                self.warnings.push(format!("{place}: no connection parameter is called `{name}`"));
            }
            return;
        }
        if let Err(error) = set(&mut self.parameters, &name, value) {
            self.warnings.push(format!("{place}: {error}"));
        }
    }
}

fn paths(environment: &Environment) -> Vec<PathBuf> {
    let in_mysql_home =
        environment.variable("MYSQL_HOME").map(|directory| PathBuf::from(directory).join("my.cnf"));
    let in_home = environment.home().map(|home| home.join(".my.cnf"));
    environment.mysql_option_files().iter().cloned().chain(in_mysql_home).chain(in_home).collect()
}

/// An option as a parameter: without what only says how strictly it is meant, and on where it has no value.
fn meaning(name: &str, value: Option<String>) -> (String, String) {
    let name = name.strip_prefix("loose-").or(name.strip_prefix("loose_")).unwrap_or(name);
    // MariaDB's way to ask for the server's name.
    if plain(name) == "sslverifyservercert" && !matches!(value.as_deref(), Some("0" | "off" | "OFF")) {
        return ("ssl-mode".to_owned(), "VERIFY_IDENTITY".to_owned());
    }
    for (prefix, switched) in [("skip", "0"), ("disable", "0"), ("enable", "1")] {
        let rest = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix(['-', '_']));
        if let Some(rest) = rest {
            return (rest.to_owned(), switched.to_owned());
        }
    }
    let is_switch = ["ssl", "localinfile", "getserverpublickey", "compress"].contains(&plain(name).as_str());
    let value = value.unwrap_or_else(|| if is_switch { "1".to_owned() } else { String::new() });
    (name.to_owned(), value)
}

#[cfg(test)]
mod tests;
