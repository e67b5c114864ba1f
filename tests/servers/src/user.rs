//! Whom servers run as: PostgreSQL refuses to run as root.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use crate::command::succeed;

/// Uid and gid that a server runs as; `None` where the test itself is unprivileged.
pub type User = Option<(u32, u32)>;

/// `postgres` if there is such a user, else `nobody`, when this is root.
#[must_use]
pub fn unprivileged_user() -> User {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let find = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2).map_while(|number| number.parse().ok());
        Some((numbers.next()?, numbers.next()?))
    };
    find("postgres").or_else(|| find("nobody"))
}

/// Has a command run as `user`, in a directory that every user may enter.
pub fn become_user(command: &mut Command, user: User) {
    command.current_dir("/");
    if let Some((uid, gid)) = user {
        command.uid(uid).gid(gid);
    }
}

/// Makes a file or directory the property of the user that servers run as, which PostgreSQL demands of its keys.
pub fn give_to_server(path: &Path) {
    if let Some((uid, gid)) = unprivileged_user() {
        chown(path, Some(uid), Some(gid)).unwrap();
    }
}

/// Copies a directory, holes and all, and makes the copy the server's property.
pub(crate) fn copy_for_server(from: &Path, to: &Path) {
    succeed(Command::new("cp").args(["-r", "--preserve=mode", "--sparse=always"]).args([from, to]));
    give_all(to);
}

fn give_all(path: &Path) {
    give_to_server(path);
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            give_all(&entry.unwrap().path());
        }
    }
}
