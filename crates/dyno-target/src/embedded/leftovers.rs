//! Cleaning up after a dyno that was killed: its server has ended by itself (see `postmaster`), its directory is
//! still there. Touches nothing that a dyno of this user did not make.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::directory::{Abandoned, PREFIX};
use super::user::RunAs;
use crate::host::process_start;

/// Removes the directories that ended runs have left in `base`, ending a server that still runs in one. Returns
/// those removed. One that cannot be removed is left for the next time.
pub(super) fn sweep(base: &Path, user: &RunAs) -> Vec<PathBuf> {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    let abandoned = ours.filter_map(|entry| Abandoned::claim(&entry.path(), user));
    abandoned
        .filter_map(|directory| {
            let path = directory.path.clone();
            let ended = end_server(&path.join("data"));
            (ended && directory.remove().is_ok()).then_some(path)
        })
        .collect()
}

/// Ends the server of a data directory. True if none runs there (any more).
fn end_server(data: &Path) -> bool {
    let Some(server) = Running::find(data) else { return true };
    // Its data is of no use to anybody, so it need not be written. The server itself takes up to five seconds
    // to end sessions that do not listen.
    [(Signal::QUIT, 8), (Signal::KILL, 2)].into_iter().any(|(signal, seconds)| {
        // If it has ended in between, waiting shows it.
        let _ = kill_process(server.pid, signal);
        // A stopped process heeds nothing else.
        let _ = kill_process(server.pid, Signal::CONT);
        server.ended_within(Duration::from_secs(seconds))
    })
}

/// A server's main process.
struct Running {
    pid: Pid,
    started_ticks: u64,
}

impl Running {
    /// The process that the lock file of the data directory names, if it is a `postgres` that works there.
    fn find(data: &Path) -> Option<Self> {
        let data = data.canonicalize().ok()?;
        let pid: u32 = fs::read_to_string(data.join("postmaster.pid")).ok()?.lines().next()?.parse().ok()?;
        let started_ticks = process_start(pid)?;
        let link = |name: &str| fs::read_link(format!("/proc/{pid}/{name}")).ok();
        // An upgrade may have replaced the program, which the kernel then shows as `postgres (deleted)`.
        let is_postgres = link("exe")?.file_name()?.to_str()?.starts_with("postgres");
        let works_there = link("cwd")? == data;
        let pid = Pid::from_raw(pid.try_into().ok()?)?;
        (is_postgres && works_there).then_some(Self { pid, started_ticks })
    }

    fn ended_within(&self, patience: Duration) -> bool {
        let started = Instant::now();
        loop {
            let pid = self.pid.as_raw_nonzero().get().cast_unsigned();
            if process_start(pid) != Some(self.started_ticks) {
                return true;
            }
            if started.elapsed() > patience {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
