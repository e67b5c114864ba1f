//! A command of the user's, run by a shell: in a process group of its own, so that all of it can be ended, and with the
//! last lines of what it says kept.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dyno_target::settings::is_secret;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::ioctl_fionread;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// Lines of what a command said that are kept, and letters of each.
const LINES: usize = 20;
const LINE_BYTES: usize = 500;
/// How often it is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(20);
/// How long a command that is to end may take until it is ended by force.
const GRACE: Duration = Duration::from_secs(2);
/// How long it is waited at most for the last words of a command that has ended: what it left running may go on to write.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The status of a command that was ended because nobody would have answered it.
const ASKED: &str = "a question at the terminal, which a hook cannot ask (`sudo -n` and `ssh -o BatchMode=yes` fail \
                     instead)";

/// How a command ended.
pub(super) struct CommandOutcome {
    pub(super) success: bool,
    /// `exit status 3`, `signal 15`
    pub(super) status: String,
    /// The last lines, of both outputs as they came; `None` where it said nothing.
    pub(super) said: Option<String>,
}

/// Runs `sh -c command` with `variables` in its environment and no secret, until it ends or `stop` is set: then it is
/// killed.
pub(super) fn run(
    command: &str,
    variables: &[(&'static str, String)],
    stop: &AtomicBool,
) -> io::Result<CommandOutcome> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).envs(variables.iter().map(|(name, value)| (name, value)));
    // What it prints is stored.
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_secret(&name.to_string_lossy())) {
        shell.env_remove(name);
    }
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = shell.spawn()?;
    let lines = Arc::new(Mutex::new(VecDeque::new()));
    let out = child.stdout.take().map(|out| Reader::start(out, Arc::clone(&lines)));
    let err = child.stderr.take().map(|err| Reader::start(err, Arc::clone(&lines)));
    let readers: Vec<Reader> = match out.into_iter().chain(err).collect() {
        Ok(readers) => readers,
        Err(error) => {
            // Nobody would hear it.
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            child.wait()?;
            return Err(error);
        }
    };
    let (status, asked) = wait(&mut child, stop)?;
    let ended = Instant::now();
    while !readers.iter().all(Reader::has_all) && ended.elapsed() < LAST_WORDS {
        std::thread::sleep(LOOK);
    }
    let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
    let said = lines.iter().cloned().collect::<Vec<String>>().join("\n");
    let shown = if asked { ASKED.to_owned() } else { shown(status) };
    Ok(CommandOutcome { success: status.success(), status: shown, said: (!said.is_empty()).then_some(said) })
}

/// The status, and whether it was ended because it wanted to read from the terminal.
fn wait(child: &mut Child, stop: &AtomicBool) -> io::Result<(ExitStatus, bool)> {
    let group = Pid::from_child(child);
    let mut asked: Option<Instant> = None;
    let mut at_terminal = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, at_terminal));
        }
        if is_stopped_by_terminal(group) {
            at_terminal = true;
            let _ = kill_process_group(group, Signal::KILL);
        }
        if stop.load(Ordering::Relaxed) {
            let signal = match asked {
                Some(since) if since.elapsed() >= GRACE => Some(Signal::KILL),
                Some(_) => None,
                None => Some(Signal::TERM),
            };
            if let Some(signal) = signal {
                // Its leader has not been waited for, so the group is still this one.
                let _ = kill_process_group(group, signal);
            }
            asked.get_or_insert_with(Instant::now);
        }
        std::thread::sleep(LOOK);
    }
}

/// Whether the terminal has stopped a command: one in the background that asks there for a password waits for ever.
fn is_stopped_by_terminal(leader: Pid) -> bool {
    let stopped = waitid(WaitId::Pid(leader), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG);
    let signal = stopped.ok().flatten().and_then(|status| status.stopping_signal());
    signal.is_some_and(|signal| [Signal::TTIN, Signal::TTOU].iter().any(|stop| stop.as_raw() == signal))
}

/// Reads one of a command's outputs, as long as anybody writes: so that nobody whom the command started meets a closed pipe.
struct Reader {
    thread: JoinHandle<()>,
    /// The same pipe, to look whether anything is in it.
    pipe: OwnedFd,
    /// Set while nothing that was taken out of the pipe is still to be kept.
    idle: Arc<AtomicBool>,
}

impl Reader {
    fn start(
        output: impl Read + AsFd + Send + 'static,
        lines: Arc<Mutex<VecDeque<String>>>,
    ) -> io::Result<Self> {
        let pipe = output.as_fd().try_clone_to_owned()?;
        let idle = Arc::new(AtomicBool::new(true));
        let busy = Arc::clone(&idle);
        let begin = move || read(BufReader::new(output), &lines, &busy);
        let thread = std::thread::Builder::new().spawn(begin)?;
        Ok(Self { thread, pipe, idle })
    }

    /// Whether all that was written until now is kept.
    fn has_all(&self) -> bool {
        // The pipe first: whoever takes something out of it is not idle.
        let is_empty = || ioctl_fionread(&self.pipe).is_ok_and(|left| left == 0);
        self.thread.is_finished() || (is_empty() && self.idle.load(Ordering::SeqCst))
    }
}

fn read(mut output: BufReader<impl Read + AsFd>, lines: &Mutex<VecDeque<String>>, idle: &AtomicBool) {
    let mut line = Vec::new();
    loop {
        if output.buffer().is_empty() {
            // Half a line is kept when the rest of it comes, or the end.
            idle.store(line.is_empty(), Ordering::SeqCst);
            let mut readable = [PollFd::new(output.get_ref(), PollFlags::IN)];
            // Where it cannot be waited here, it is in reading.
            let _ = poll(&mut readable, None);
            idle.store(false, Ordering::SeqCst);
        }
        let (taken, ended) = match output.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok([]) | Err(_) => return keep(&line, lines),
            Ok(bytes) => {
                let room = LINE_BYTES - line.len();
                let piece = &bytes[..bytes.len().min(room)];
                let end = piece.iter().position(|byte| *byte == b'\n');
                line.extend_from_slice(&piece[..end.unwrap_or(piece.len())]);
                (end.map_or(piece.len(), |end| end + 1), end.is_some())
            }
        };
        output.consume(taken);
        if ended || line.len() == LINE_BYTES {
            keep(&line, lines);
            line.clear();
        }
    }
}

fn keep(line: &[u8], lines: &Mutex<VecDeque<String>>) {
    let text = String::from_utf8_lossy(line).trim_end().to_owned();
    if text.is_empty() {
        return;
    }
    let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
    if lines.len() == LINES {
        lines.pop_front();
    }
    lines.push_back(text);
}

fn shown(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(command: &str) -> CommandOutcome {
        run(command, &[("DYNO_TARGET", "pg".to_owned())], &AtomicBool::new(false)).unwrap()
    }

    #[test]
    fn a_command_says_its_last_lines_and_how_it_ended() {
        let ended = ran("echo on $DYNO_TARGET; echo oops >&2; exit 3");
        let said = ended.said.unwrap();
        assert!(said.contains("on pg") && said.contains("oops"), "{said}");
        assert_eq!((ended.success, ended.status.as_str()), (false, "exit status 3"));
        let long = ran("seq 1000").said.unwrap();
        assert_eq!((long.lines().count(), long.lines().last()), (LINES, Some("1000")));
        assert_eq!(ran("printf 'half a line'").said.as_deref(), Some("half a line"));
        let wide = ran("printf '%01200d\\n' 7").said.unwrap();
        assert_eq!(wide.lines().map(str::len).collect::<Vec<_>>(), [LINE_BYTES, LINE_BYTES, 200]);
        assert!(ran("true").said.is_none());
        assert_eq!(ran("kill -9 $$").status, "signal 9");
    }

    #[test]
    fn what_a_command_leaves_running_is_not_waited_for() {
        let ended = ran("sleep 30 & echo $!");
        assert!(ended.success);
        let left: i32 = ended.said.unwrap().trim().parse().unwrap();
        rustix::process::kill_process(Pid::from_raw(left).unwrap(), Signal::KILL).unwrap();
    }

    #[test]
    fn a_command_ends_when_the_run_is_to_stop_with_all_that_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("child");
        let begun =
            format!("trap '' TERM; sleep 1000 & echo $! > {0}.new; mv {0}.new {0}; wait", file.display());
        let stop = AtomicBool::new(false);
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| {
                until("the command runs", || file.exists());
                stop.store(true, Ordering::Relaxed);
            });
            run(&begun, &[], &stop).unwrap()
        });
        assert!(!ended.success);
        let child: u32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        // One that has ended is a zombie until somebody waits for it.
        until("the child of the shell is gone", || {
            let stat = std::fs::read_to_string(format!("/proc/{child}/stat"));
            stat.is_ok_and(|stat| stat.contains(") Z "))
                || !std::path::Path::new(&format!("/proc/{child}")).exists()
        });
    }

    fn until(what: &str, mut so: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !so() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it did not come to this: {what}");
            std::thread::sleep(LOOK);
        }
    }
}
