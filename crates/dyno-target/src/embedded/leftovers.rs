//! Cleaning up after a dyno that was killed: its server has ended by itself (see `postmaster`), its directory is
//! still there. Touches nothing that a dyno of this user did not make: as root it works in directories of a user
//! who may put anything there, so it follows no link and signals no process of anybody else.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::directory::{Abandoned, PREFIX, open_file};
use super::user::RunAs;

/// Removes the directories that ended runs have left in `base`, ending a server that still runs in one. Returns
/// those removed. One that cannot be removed is left for the next time.
pub(super) fn sweep(base: &Path, user: &RunAs) -> Vec<PathBuf> {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    let abandoned = ours.filter_map(|entry| Abandoned::claim(&entry.path(), user));
    abandoned
        .filter_map(|directory| {
            let path = directory.path.clone();
            let ended = find_server(&directory).is_none_or(|server| end(&server));
            (ended && directory.remove().is_ok()).then_some(path)
        })
        .collect()
}

/// The process that the lock file of the data directory names, if it is a `postgres` that works there and runs as
/// the directory's owner.
fn find_server(directory: &Abandoned) -> Option<OwnedFd> {
    const LINE_BYTES_MAX: u64 = 32;
    let data = directory.data().ok()?;
    let lock_file = open_file(&data, "postmaster.pid", OFlags::RDONLY, directory.uid).ok()?;
    let mut line = Vec::new();
    BufReader::new(lock_file.take(LINE_BYTES_MAX)).read_until(b'\n', &mut line).ok()?;
    let pid: i32 = str::from_utf8(&line).ok()?.trim().parse().ok()?;
    // Looked at only when it is held: a later process of the same number is not.
    let process = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
    let facts = PathBuf::from(format!("/proc/{pid}"));
    let runs_as_owner = fs::metadata(&facts).ok()?.uid() == directory.uid;
    // An upgrade may have replaced the program, which the kernel then shows as `postgres (deleted)`.
    let program = fs::read_link(facts.join("exe")).ok()?;
    let is_postgres = program.file_name()?.to_str()?.starts_with("postgres");
    let (works_in, data) = (fs::metadata(facts.join("cwd")).ok()?, data.metadata().ok()?);
    let works_there = (works_in.dev(), works_in.ino()) == (data.dev(), data.ino());
    (runs_as_owner && is_postgres && works_there).then_some(process)
}

/// Ends a server; true once it has ended.
fn end(server: &OwnedFd) -> bool {
    // Its data is of no use to anybody, so it need not be written. The server itself takes up to five seconds
    // to end sessions that do not listen.
    [(Signal::QUIT, 8), (Signal::KILL, 2)].into_iter().any(|(signal, seconds)| {
        // If it has ended in between, waiting shows it.
        let _ = pidfd_send_signal(server, signal);
        // A stopped process heeds nothing else.
        let _ = pidfd_send_signal(server, Signal::CONT);
        let timeout = Timespec { tv_sec: seconds, tv_nsec: 0 };
        let mut ended = [PollFd::new(server, PollFlags::IN)];
        retry_on_intr(|| poll(&mut ended, Some(&timeout))).is_ok_and(|ready| ready > 0)
    })
}

#[cfg(test)]
mod tests {
    use dyno_test_servers::copy_program;

    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    /// Leftovers of a dyno that has ended, and processes that look like their servers.
    struct Scene {
        base: PathBuf,
        user: RunAs,
        processes: Vec<Child>,
    }

    impl Scene {
        fn new(name: &str) -> Self {
            let base = PathBuf::from("/var/tmp").join(format!("dynotest-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&base);
            fs::create_dir(&base).unwrap();
            copy_program(Path::new("/bin/sleep"), &base.join("postgres"));
            Self { base, user: RunAs::choose(), processes: Vec::new() }
        }

        /// A directory of `uid`, made anew.
        fn directory(&self, name: &str, uid: u32) -> PathBuf {
            let path = self.base.join(name);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
            chown(&path, Some(uid), None).unwrap();
            path
        }

        fn leftover(&self, name: &str) -> PathBuf {
            let path = self.directory(name, self.user.uid);
            fs::write(path.join("owner"), format!("pid {}\nstarted_ticks 0\n", std::process::id())).unwrap();
            path
        }

        /// A process named `postgres` of user `uid` that works in `data`, whose lock file names it.
        fn server(&mut self, data: &Path, uid: u32) {
            let mut command = Command::new(self.base.join("postgres"));
            command.arg("600").current_dir(data);
            if self.user.switch {
                command.uid(uid);
            }
            let process = command.spawn().unwrap();
            self.name_in(data, process.id());
            self.processes.push(process);
        }

        fn name_in(&self, data: &Path, pid: u32) {
            let lock_file = data.join("postmaster.pid");
            fs::write(&lock_file, format!("{pid}\n{}\n", data.display())).unwrap();
            chown(&lock_file, Some(self.user.uid), None).unwrap();
        }

        /// Sweeps; whether the last process lives on.
        fn spares(&mut self) -> bool {
            sweep(&self.base, &self.user);
            self.processes.last_mut().unwrap().try_wait().unwrap().is_none()
        }
    }

    impl Drop for Scene {
        fn drop(&mut self) {
            for process in &mut self.processes {
                let _ = process.kill();
                let _ = process.wait();
            }
            let _ = fs::remove_dir_all(&self.base);
        }
    }

    #[test]
    fn a_server_is_ended_where_it_works_and_never_through_a_link() {
        let mut scene = Scene::new("sweep-link");
        let uid = scene.user.uid;
        let elsewhere = scene.directory("elsewhere", uid);
        scene.server(&elsewhere, uid);
        let pid = scene.processes[0].id();

        let linked = scene.leftover("dyno-1-link");
        symlink(&elsewhere, linked.join("data")).unwrap();
        assert!(scene.spares(), "the data directory is a link");
        assert!(!linked.exists() && elsewhere.exists());

        let linked = scene.leftover("dyno-1-file");
        fs::create_dir(linked.join("data")).unwrap();
        symlink(elsewhere.join("postmaster.pid"), linked.join("data/postmaster.pid")).unwrap();
        assert!(scene.spares(), "the lock file is a link");

        let named = scene.leftover("dyno-1-named");
        fs::create_dir(named.join("data")).unwrap();
        scene.name_in(&named.join("data"), pid);
        assert!(scene.spares(), "the process works elsewhere");

        let left = scene.leftover("dyno-1-left");
        let data = scene.directory("dyno-1-left/data", uid);
        scene.server(&data, uid);
        assert!(!scene.spares(), "it is the leftover's own server");
        assert!(!left.exists() && elsewhere.exists());
    }

    #[test]
    fn the_owners_of_directory_mark_and_process_must_agree() {
        let mut scene = Scene::new("sweep-owner");
        if !scene.user.switch {
            println!("skipped: needs root");
            return;
        }
        let (uid, another) = (scene.user.uid, scene.user.uid + 1);
        let left = scene.leftover("dyno-1-process");
        let data = scene.directory("data", another);
        scene.server(&data, another);
        fs::rename(data, left.join("data")).unwrap();
        assert!(scene.spares(), "the process is another user's");
        assert!(!left.exists());

        let mark = scene.leftover("dyno-1-mark");
        chown(mark.join("owner"), Some(uid), None).unwrap();
        let data = scene.directory("dyno-1-mark/data", uid);
        scene.server(&data, uid);
        assert!(scene.spares(), "the server's user wrote the mark");
        assert!(mark.exists());
    }
}
