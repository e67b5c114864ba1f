//! Processes that a test has not started itself, seen in /proc.

use std::fs;
use std::path::Path;

use crate::home::wait_until;

/// The main process of the PostgreSQL that works in `directory`, an embedded server's own.
pub(crate) fn postmaster(directory: &Path) -> u32 {
    let file = fs::read_to_string(directory.join("data/postmaster.pid")).unwrap();
    file.lines().next().unwrap().parse().unwrap()
}

/// The processes that `pid` has started.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let listed = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    listed.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

/// Waits until a process is gone.
pub(crate) fn wait_until_ended(pid: u32) {
    wait_until(&format!("process {pid} has ended"), || !lives(pid));
}

/// A process that has ended is a zombie until its parent waits for it.
pub(crate) fn lives(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with('Z'))
}
