//! A server's main process and its children, as one.
//!
//! PostgreSQL has a process for each session, so there may be a thousand. What a process has used passes to its parent
//! when it ends and was waited for; the main process is read first, so a child that ends between the two readings is
//! missed once and never counted twice, and maxima keep the counters from stepping back until it is there again.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

use super::process::{Io, ProcessReader, Resident, Stat, run_ns};
use super::values::{HostValues, put};

/// Children that one reading looks at, of those that have run since they were last looked at: what they have read and
/// written, how their time divides, their memory. Each look is a file, which takes ten times as long as the clock.
const IO_LOOKS: usize = 64;
const TIME_LOOKS: usize = 25;
const MEMORY_LOOKS: usize = 25;

#[derive(Debug)]
pub(super) struct LocalServer {
    pid: u32,
    started_ticks: u64,
    tick_ns: u64,
    page_bytes: f64,
    used_max: Used,
    io: Looks<Option<Io>>,
    times: Looks<Stat>,
    memory: Looks<Resident>,
}

/// What all processes together have used since the server began.
#[derive(Debug, Clone, Copy, Default)]
struct Used {
    cpu_ns: u64,
    user_ticks: u64,
    system_ticks: u64,
    /// `None` where another user's processes hide it.
    io: Option<Io>,
}

impl LocalServer {
    pub(super) fn find(pid: u32, reader: &mut ProcessReader) -> Option<Self> {
        Some(Self {
            pid,
            started_ticks: reader.stat(pid)?.started_ticks,
            tick_ns: 1_000_000_000 / rustix::param::clock_ticks_per_second(),
            page_bytes: rustix::param::page_size() as f64,
            used_max: Used::default(),
            io: Looks::new(IO_LOOKS),
            times: Looks::new(TIME_LOOKS),
            memory: Looks::new(MEMORY_LOOKS),
        })
    }

    /// False once the server has ended.
    pub(super) fn read(&mut self, reader: &mut ProcessReader, values: &mut HostValues) -> bool {
        // One that nobody has waited for yet still stands in the table, with nothing left to read of it.
        let alive = |stat: &Stat| stat.started_ticks == self.started_ticks && !stat.zombie;
        let Some(main) = reader.stat(self.pid).filter(alive) else { return false };
        let main_io = reader.io(self.pid);
        let children = reader.children(self.pid);
        let run: BTreeMap<u32, u64> = children.iter().filter_map(|pid| Some((*pid, run_ns(*pid)?))).collect();
        if main_io.is_some() {
            self.io.renew(&run, |pid| Some(reader.io(pid)));
        }
        self.times.renew(&run, |pid| reader.stat(pid));
        self.memory.renew(&run, |pid| reader.resident(pid));
        let used = self.used(&main, main_io, run.values().sum());
        self.used_max = used.at_least(&self.used_max);
        self.put_used(values);
        put(values, "server_processes", Some(children.len() as f64 + 1.0));
        // A child that was not looked at yet has one, as those of PostgreSQL mostly have.
        let unseen = run.len().saturating_sub(self.times.len()) as u64;
        let threads = main.threads + self.times.iter().map(|stat| stat.threads).sum::<u64>() + unseen;
        put(values, "server_threads", Some(threads as f64));
        let own = reader.resident(self.pid).unwrap_or_default();
        put(values, "server_memory_bytes", Some(self.pages(own, run.len()) * self.page_bytes));
        true
    }

    /// Whether what the processes read and write is kept from this user.
    pub(super) fn hides_io(&self, reader: &mut ProcessReader) -> bool {
        reader.stat(self.pid).is_some() && reader.io(self.pid).is_none()
    }

    fn used(&self, main: &Stat, main_io: Option<Io>, children_ns: u64) -> Used {
        let sum = |of: fn(&Stat) -> u64| self.times.iter().map(of).sum::<u64>();
        Used {
            cpu_ns: main.ticks() * self.tick_ns + children_ns,
            user_ticks: main.user_ticks + main.children_user_ticks + sum(|stat| stat.user_ticks),
            system_ticks: main.system_ticks + main.children_system_ticks + sum(|stat| stat.system_ticks),
            io: main_io.map(|io| self.io.iter().filter_map(|io| *io).fold(io, Io::plus)),
        }
    }

    fn put_used(&self, values: &mut HostValues) {
        let Used { cpu_ns, user_ticks, system_ticks, io } = self.used_max;
        let seconds = |ticks: u64| Some((ticks * self.tick_ns) as f64 * 1e-9);
        put(values, "server_cpu_seconds_total", Some(cpu_ns as f64 * 1e-9));
        put(values, "server_cpu_user_seconds_total", seconds(user_ticks));
        put(values, "server_cpu_system_seconds_total", seconds(system_ticks));
        put(values, "server_disk_read_bytes_total", io.map(|io| io.read_bytes as f64));
        put(values, "server_disk_write_bytes_total", io.map(|io| io.write_bytes as f64));
    }

    /// Shared memory is in every process's count, as far as that process touched it: of the shared pages the
    /// largest count is taken, and the private ones are added up. A process that was not looked at yet counts
    /// as much as the others do on average.
    fn pages(&self, own: Resident, children: usize) -> f64 {
        let private = self.memory.iter().map(|resident| resident.private_pages).sum::<u64>();
        let shared = self.memory.iter().map(|resident| resident.shared_pages).max().unwrap_or(0);
        let unseen_factor = children as f64 / self.memory.len().max(1) as f64;
        own.private_pages as f64 + private as f64 * unseen_factor + shared.max(own.shared_pages) as f64
    }
}

/// What was seen of children when they were last looked at.
#[derive(Debug)]
struct Looks<T> {
    /// With the time for which each had run then.
    seen: BTreeMap<u32, (u64, T)>,
    /// The last child that was looked at.
    cursor: u32,
    at_once: usize,
}

impl<T> Looks<T> {
    fn new(at_once: usize) -> Self {
        Self { seen: BTreeMap::new(), cursor: 0, at_once }
    }

    /// Forgets children that have ended, and looks in turn at some that have run since. `run` says for how long each has.
    fn renew(&mut self, run: &BTreeMap<u32, u64>, mut look: impl FnMut(u32) -> Option<T>) {
        self.seen.retain(|pid, _| run.contains_key(pid));
        let has_run = |pid: &u32, ns: &u64| self.seen.get(pid).is_none_or(|(seen_ns, _)| seen_ns != ns);
        let in_turn = run.range((Excluded(self.cursor), Unbounded)).chain(run.range(..=self.cursor));
        let due: Vec<(u32, u64)> = in_turn
            .filter(|(pid, ns)| has_run(pid, ns))
            .take(self.at_once)
            .map(|(pid, ns)| (*pid, *ns))
            .collect();
        for (pid, ns) in due {
            self.seen.extend(look(pid).map(|value| (pid, (ns, value))));
            self.cursor = pid;
        }
    }

    fn iter(&self) -> impl Iterator<Item = &T> {
        self.seen.values().map(|(_, value)| value)
    }

    fn len(&self) -> usize {
        self.seen.len()
    }
}

impl Used {
    /// Each counter, or what it was before where that was more.
    fn at_least(self, before: &Self) -> Self {
        let io = match (self.io, before.io) {
            (Some(now), Some(before)) => Some(Io {
                read_bytes: now.read_bytes.max(before.read_bytes),
                write_bytes: now.write_bytes.max(before.write_bytes),
            }),
            (now, _) => now,
        };
        Self {
            cpu_ns: self.cpu_ns.max(before.cpu_ns),
            user_ticks: self.user_ticks.max(before.user_ticks),
            system_ticks: self.system_ticks.max(before.system_ticks),
            io,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

    use super::{BTreeMap, Looks};
    use crate::host::Sampler;

    /// A shell that runs the line it is given in a child that ends, and then says so.
    struct Shell {
        process: Child,
        input: ChildStdin,
        output: BufReader<ChildStdout>,
    }

    impl Shell {
        fn start() -> Self {
            let mut process = Command::new("sh")
                .args(["-c", "while read -r line; do (eval \"$line\"); echo done; done"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let input = process.stdin.take().unwrap();
            let output = BufReader::new(process.stdout.take().unwrap());
            Self { process, input, output }
        }

        fn run(&mut self, line: &str) {
            writeln!(self.input, "{line}").unwrap();
            self.output.read_line(&mut String::new()).unwrap();
        }

        fn end(mut self) {
            self.process.kill().unwrap();
            self.process.wait().unwrap();
        }
    }

    #[test]
    fn children_are_looked_at_in_turn_once_they_have_run() {
        let mut looks = Looks::new(2);
        let mut run: BTreeMap<u32, u64> = [(1, 10), (2, 10), (3, 10)].into();
        let mut look = |run: &BTreeMap<u32, u64>| {
            let mut asked = Vec::new();
            looks.renew(run, |pid| {
                asked.push(pid);
                Some(pid)
            });
            (asked, looks.len())
        };
        assert_eq!(look(&run), (vec![1, 2], 2));
        assert_eq!(look(&run), (vec![3], 3));
        assert_eq!(look(&run), (vec![], 3), "none has run since");
        run.values_mut().for_each(|ns| *ns += 1);
        assert_eq!(look(&run), (vec![1, 2], 3));
        run.remove(&1);
        assert_eq!(look(&run), (vec![3], 2), "the first has ended");
    }

    /// The time of a child that has ended must stay in the sum: a child burns CPU and ends between two samples.
    #[test]
    fn time_of_ended_children_is_kept() {
        let mut shell = Shell::start();
        let mut sampler = Sampler::new(Some(shell.process.id()), None);
        let before = sampler.sample();
        for _ in 0..2 {
            shell.run("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
        }
        let after = sampler.sample();
        for key in ["server_cpu_seconds_total", "server_cpu_user_seconds_total"] {
            assert!(after[key] > before[key], "{key}: {before:?} {after:?}");
        }
        assert!(after["server_memory_bytes"] > 0.0);
        assert_eq!((after["server_processes"], after["server_threads"]), (1.0, 1.0));
        shell.end();
        assert!(!sampler.sample().contains_key("server_cpu_seconds_total"));
    }

    /// What a child wrote must stay in the sum as well, and nothing may step back when it ends.
    #[test]
    fn what_children_wrote_is_kept_when_they_end() {
        const WRITTEN: f64 = 4.0 * 1048576.0;
        // Of a filesystem without a disk the kernel counts nothing.
        let directory = std::path::Path::new("/var/tmp");
        if crate::host::Disk::under(directory).and_then(|disk| disk.device).is_none() {
            return println!("skipped: no disk lies under /var/tmp");
        }
        let file = directory.join(format!("dyno-written-{}", std::process::id()));
        let mut shell = Shell::start();
        let mut sampler = Sampler::new(Some(shell.process.id()), None);
        let Some(before) = sampler.sample().get("server_disk_write_bytes_total").copied() else {
            return println!("skipped: /proc/PID/io is hidden here");
        };
        let mut last = before;
        for _ in 0..3 {
            shell
                .run(&format!("dd if=/dev/zero of={0} bs=1M count=4 conv=fsync 2>/dev/null", file.display()));
            let now = sampler.sample()["server_disk_write_bytes_total"];
            assert!(now >= last + WRITTEN, "{last} {now}");
            last = now;
            std::fs::remove_file(&file).unwrap();
        }
        shell.end();
    }

    #[test]
    fn living_children_are_counted() {
        // They end when their input does.
        let mut parent = Command::new("sh")
            .args(["-c", "exec 3<&0; cat <&3 & cat <&3 & cat <&3 & echo; wait"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(parent.stdout.take().unwrap());
        output.read_line(&mut String::new()).unwrap();
        let values = Sampler::new(Some(parent.id()), None).sample();
        assert_eq!((values["server_processes"], values["server_threads"]), (4.0, 4.0));
        drop(parent.stdin.take());
        parent.wait().unwrap();
    }
}
