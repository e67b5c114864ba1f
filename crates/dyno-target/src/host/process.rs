//! Processes as `/proc` shows them: times, memory, children.
//!
//! A server may have a thousand children and is read every second while the load runs, so files are read
//! into a buffer that is kept, with no call that is not needed.

use std::fs::File;
use std::io::Read;

/// What `/proc/PID/stat` says. Times are in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stat {
    /// Ended and not yet waited for.
    pub(crate) zombie: bool,
    pub(crate) parent: u32,
    pub(crate) user_ticks: u64,
    pub(crate) system_ticks: u64,
    /// Time of children that have ended and were waited for, and of theirs.
    pub(crate) children_user_ticks: u64,
    pub(crate) children_system_ticks: u64,
    pub(crate) threads: u64,
    /// Clock ticks from the machine's start to the process's; with the pid it names a process for good.
    pub(crate) started_ticks: u64,
}

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        // The second field is the command in parentheses and may hold anything, parentheses too.
        let (_, fields) = text.rsplit_once(") ")?;
        let fields: [&str; 20] = fields.split(' ').take(20).collect::<Vec<_>>().try_into().ok()?;
        let number = |index: usize| fields[index].parse::<u64>().ok();
        Some(Self {
            zombie: matches!(fields[0], "Z" | "X"),
            parent: fields[1].parse().ok()?,
            user_ticks: number(11)?,
            system_ticks: number(12)?,
            children_user_ticks: number(13)?,
            children_system_ticks: number(14)?,
            threads: number(17)?,
            started_ticks: number(19)?,
        })
    }

    pub(crate) fn ticks(&self) -> u64 {
        self.user_ticks + self.system_ticks + self.children_user_ticks + self.children_system_ticks
    }
}

/// Resident memory of a process, in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Resident {
    /// Its own alone.
    pub(super) private_pages: u64,
    /// Of files and of memory shared with others.
    pub(super) shared_pages: u64,
}

/// What a process, its threads, and its children that have ended and were waited for had from disks and gave to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Io {
    pub(super) read_bytes: u64,
    pub(super) write_bytes: u64,
}

impl Io {
    fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name))?.parse().ok();
        Some(Self { read_bytes: field("read_bytes: ")?, write_bytes: field("write_bytes: ")? })
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            read_bytes: self.read_bytes + other.read_bytes,
            write_bytes: self.write_bytes + other.write_bytes,
        }
    }
}

/// Room for every file but the list of children.
const FIRST_BYTES: usize = 4096;

/// Reads processes, keeping its buffers.
#[derive(Debug, Default)]
pub(crate) struct ProcessReader {
    text: Vec<u8>,
}

impl ProcessReader {
    /// `pid` is a number or `self`. `None` if there is no such process.
    pub(crate) fn stat(&mut self, pid: impl std::fmt::Display) -> Option<Stat> {
        Stat::parse(self.read_at_once(&format!("/proc/{pid}/stat"))?)
    }

    pub(super) fn resident(&mut self, pid: impl std::fmt::Display) -> Option<Resident> {
        let mut fields = self.read_at_once(&format!("/proc/{pid}/statm"))?.split(' ').skip(1);
        let mut pages = || fields.next()?.parse::<u64>().ok();
        let (resident, shared_pages) = (pages()?, pages()?);
        Some(Resident { private_pages: resident.saturating_sub(shared_pages), shared_pages })
    }

    /// `None` also where the process is another user's.
    pub(super) fn io(&mut self, pid: impl std::fmt::Display) -> Option<Io> {
        Io::parse(self.read_at_once(&format!("/proc/{pid}/io"))?)
    }

    /// The living children of a process that has one thread, as PostgreSQL's main process has.
    pub(super) fn children(&mut self, pid: u32) -> Vec<u32> {
        match self.read(&format!("/proc/{pid}/task/{pid}/children")) {
            Some(list) => list.split_whitespace().filter_map(|child| child.parse().ok()).collect(),
            None => self.children_by_search(pid),
        }
    }

    /// For kernels that do not list children: looks at every process.
    fn children_by_search(&mut self, pid: u32) -> Vec<u32> {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|other| self.stat(other).is_some_and(|stat| stat.parent == pid)).collect()
    }

    /// A file that is short, and comes whole with one call.
    fn read_at_once(&mut self, path: &str) -> Option<&str> {
        self.text.resize(FIRST_BYTES.max(self.text.len()), 0);
        let filled = File::open(path).ok()?.read(&mut self.text).ok()?;
        std::str::from_utf8(&self.text[..filled]).ok()
    }

    fn read(&mut self, path: &str) -> Option<&str> {
        let mut file = File::open(path).ok()?;
        self.text.resize(FIRST_BYTES.max(self.text.len()), 0);
        let mut filled = 0;
        loop {
            // A short read is no end: the list of children comes a page at a time.
            let read = file.read(&mut self.text[filled..]).ok()?;
            if read == 0 {
                break;
            }
            filled += read;
            if filled == self.text.len() {
                self.text.resize(self.text.len() * 2, 0);
            }
        }
        std::str::from_utf8(&self.text[..filled]).ok()
    }
}

/// Nanoseconds that all threads of a process have run, without children that have ended; `None` once it has ended.
///
/// This asks the process's clock. Reading a file of `/proc` takes ten times as long, which for hundreds of sessions
/// would be seen in what is measured.
pub(super) fn run_ns(pid: u32) -> Option<u64> {
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both calls only write to the place they are given, which outlives them.
    let known = unsafe {
        libc::clock_getcpuclockid(pid.cast_signed(), &raw mut clock) == 0
            && libc::clock_gettime(clock, &raw mut time) == 0
    };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    known.then_some(seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_whatever_the_command_is_called() {
        let line = "42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 500 600 70 8 20 0 1 0 123456 1 2 3";
        let stat = Stat::parse(line).unwrap();
        assert_eq!(
            stat,
            Stat {
                zombie: false,
                parent: 7,
                user_ticks: 500,
                system_ticks: 600,
                children_user_ticks: 70,
                children_system_ticks: 8,
                threads: 1,
                started_ticks: 123_456
            }
        );
        assert_eq!(stat.ticks(), 1178);
        assert_eq!(Stat::parse("42 (cut S 7"), None);
    }

    #[test]
    fn traffic_with_disks_is_told_from_what_the_cache_had() {
        let text = "rchar: 6976\nwchar: 9\nsyscr: 10\nsyscw: 0\nread_bytes: 4096\nwrite_bytes: 8192\n\
                    cancelled_write_bytes: 5\n";
        assert_eq!(Io::parse(text), Some(Io { read_bytes: 4096, write_bytes: 8192 }));
        assert_eq!(Io::parse(""), None);
    }

    #[test]
    fn children_are_found_by_either_way() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut reader = ProcessReader::default();
        assert!(reader.children_by_search(std::process::id()).contains(&child.id()));
        assert_eq!(reader.stat(child.id()).unwrap().parent, std::process::id());
        // Of the child the kernel may not have counted a page yet.
        assert!(reader.resident(std::process::id()).unwrap().shared_pages > 0);
        assert!(run_ns(child.id()).is_some_and(|ns| ns < 60_000_000_000));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((reader.stat(child.id()), run_ns(child.id())), (None, None));
    }
}
