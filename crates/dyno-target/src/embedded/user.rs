//! Who the server runs as. PostgreSQL refuses to run as root, so root hands it to an unprivileged user; anybody
//! else runs it as himself.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::settings::is_secret;

/// The user that owns the server's directory and runs its programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunAs {
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) name: String,
    /// True where dyno is root and must become this user.
    pub(super) switch: bool,
}

impl RunAs {
    /// The present user; for root `postgres` if there is one, else `nobody`.
    pub(super) fn choose() -> Self {
        let uid = rustix::process::geteuid().as_raw();
        let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        if uid != 0 {
            let name = name_of(&accounts, uid).unwrap_or_else(|| uid.to_string());
            return Self { uid, gid: rustix::process::getegid().as_raw(), name, switch: false };
        }
        ["postgres", "nobody"].iter().find_map(|name| account(&accounts, name)).unwrap_or_else(|| {
            // The number that Linux gives to nobody, for images without an account file.
            Self { uid: 65534, gid: 65534, name: "nobody".to_owned(), switch: true }
        })
    }

    /// A command that runs `program` as this user, with no other group than the user's own.
    ///
    /// It is its own process group, so that a Ctrl-C in the terminal reaches dyno alone, which then ends the
    /// server in its own time. Of the environment, what would steer PostgreSQL is taken out, and every secret.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        // The directory dyno was started in may be closed to the other user.
        command.current_dir("/").stdin(Stdio::null()).process_group(0);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let steers = text.starts_with("PG") || text.starts_with("LC_");
            if steers || text == "LANG" || text == "LANGUAGE" || is_secret(&text) {
                command.env_remove(&name);
            }
        }
        if self.switch {
            // The standard library drops the supplementary groups when root sets a user.
            command.uid(self.uid).gid(self.gid);
        }
        command
    }
}

/// An account by name, from the text of `/etc/passwd`; never root's.
fn account(accounts: &str, name: &str) -> Option<RunAs> {
    let mut fields = accounts
        .lines()
        .map(|line| line.split(':'))
        .find_map(|mut fields| (fields.next() == Some(name)).then_some(fields))?;
    let uid = fields.nth(1)?.parse().ok().filter(|uid| *uid != 0)?;
    let gid = fields.next()?.parse().ok()?;
    Some(RunAs { uid, gid, name: name.to_owned(), switch: true })
}

fn name_of(accounts: &str, uid: u32) -> Option<String> {
    let uid = uid.to_string();
    let line = accounts.lines().find(|line| line.split(':').nth(2) == Some(&uid))?;
    line.split(':').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNTS: &str = "root:x:0:0:root:/root:/bin/bash\n\
        postgres:x:101:104:PostgreSQL administrator,,,:/var/lib/postgresql:/bin/bash\n\
        toor:x:0:0::/:/bin/sh\n";

    #[test]
    fn accounts_are_found_by_name_and_number() {
        let postgres = account(ACCOUNTS, "postgres").unwrap();
        assert_eq!((postgres.uid, postgres.gid, postgres.switch), (101, 104, true));
        assert_eq!(account(ACCOUNTS, "nobody"), None);
        assert_eq!(account(ACCOUNTS, "toor"), None, "another name of root is no help");
        assert_eq!(name_of(ACCOUNTS, 101).as_deref(), Some("postgres"));
    }

    #[test]
    fn nobody_runs_it_as_root() {
        assert_ne!(RunAs::choose().uid, 0);
    }
}
