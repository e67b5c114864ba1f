//! PostgreSQL's main process, started by dyno itself and ended with it.
//!
//! If dyno is killed nobody is left to end the server, so the kernel is asked to: the process gets SIGQUIT when
//! its parent dies. For the kernel the parent is the *thread* that started it, so the server is started by a
//! thread of its own, which lives exactly as long as the server, or until dyno ends. A supervising process
//! would do the same with one more process to lose.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, getppid, kill_process, set_parent_process_death_signal,
    waitid,
};

use crate::interruption::{self, LOOK};

/// Time to roll back, write a checkpoint and end (PostgreSQL's "fast" shutdown).
const FAST: Duration = Duration::from_secs(15);
/// Time to end at once ("immediate"); PostgreSQL itself gives its sessions five seconds.
const IMMEDIATE: Duration = Duration::from_secs(8);
/// Time to end "fast", and then "immediate", where the user wants to stop, who waits neither for a long checkpoint of data
/// that go with the server nor for a server that hangs.
const INTERRUPTED: Duration = Duration::from_secs(1);

/// A running server process, ended when dropped.
#[derive(Debug)]
pub(super) struct Postmaster {
    pid: Pid,
    fate: Arc<Fate>,
    keeper: Option<JoinHandle<()>>,
}

/// How the process ended, once it has.
#[derive(Debug, Default)]
struct Fate {
    ended: Mutex<Option<io::Result<ExitStatus>>>,
    changed: Condvar,
}

impl Fate {
    fn lock(&self) -> MutexGuard<'_, Option<io::Result<ExitStatus>>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Postmaster {
    /// Starts `command` on a thread that stays with it.
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        end_with_dyno(&mut command, Signal::QUIT);
        let fate = Arc::new(Fate::default());
        let (sender, receiver) = mpsc::channel();
        let keepers_fate = Arc::clone(&fate);
        let keep = move || {
            let mut child = match command.spawn() {
                Ok(child) => child,
                Err(error) => return drop(sender.send(Err(error))),
            };
            let pid = Pid::from_child(&child);
            if sender.send(Ok(pid)).is_err() {
                return;
            }
            // The process stays a zombie until its end is told under the lock, so that `signal` can never reach
            // a later process of the same number.
            let until_ended = || waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
            while matches!(until_ended(), Err(rustix::io::Errno::INTR)) {}
            let mut ended = keepers_fate.lock();
            *ended = Some(child.wait());
            keepers_fate.changed.notify_all();
        };
        let keeper = std::thread::Builder::new().name("postgres".to_owned()).spawn(keep)?;
        let pid =
            receiver.recv().map_err(|_| io::Error::other("the thread that starts the server failed"))??;
        Ok(Self { pid, fate, keeper: Some(keeper) })
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// How it ended, if it has.
    pub(super) fn ended(&self) -> Option<String> {
        self.fate.lock().as_ref().map(|end| match end {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        })
    }

    /// Ends the server: fast, else at once, else by force. True once it has ended.
    pub(super) fn stop(&mut self) -> bool {
        let steps = [(Signal::INT, FAST), (Signal::QUIT, IMMEDIATE), (Signal::KILL, IMMEDIATE)];
        let ended = steps.into_iter().any(|(signal, timeout)| {
            self.signal(signal);
            // Of what is killed the end is near, and must be waited for.
            self.ended_within(timeout, signal != Signal::KILL)
        });
        if ended && let Some(keeper) = self.keeper.take() {
            // It has nothing left to do; a panic in it would have shown as a server that does not end.
            let _ = keeper.join();
        }
        ended
    }

    fn signal(&self, signal: Signal) {
        if self.fate.lock().is_none() {
            // It is ours and not waited for yet: the call can only fail if it is a zombie by now.
            let _ = kill_process(self.pid, signal);
        }
    }

    /// Whether it ends in time, of which there is less where the user wants to stop, or comes to want it meanwhile, and
    /// `hurries`.
    fn ended_within(&self, timeout: Duration, hurries: bool) -> bool {
        let began = Instant::now();
        let mut ended = self.fate.lock();
        loop {
            let hurried = hurries && interruption::is_requested();
            let timeout = if hurried { INTERRUPTED } else { timeout };
            let left = timeout.saturating_sub(began.elapsed());
            if ended.is_some() || left.is_zero() {
                return ended.is_some();
            }
            let waited = self.fate.changed.wait_timeout(ended, left.min(LOOK));
            ended = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Postmaster {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Asks the kernel to send `signal` to the process when the thread that starts it ends.
pub(super) fn end_with_dyno(command: &mut Command, signal: Signal) {
    let dyno = getpid();
    let ask = move || {
        set_parent_process_death_signal(Some(signal))?;
        // dyno may have died before the kernel was asked.
        if getppid() != Some(dyno) {
            return Err(io::Error::from(rustix::io::Errno::SRCH));
        }
        Ok(())
    };
    // SAFETY: between fork and exec only two system calls are made, on values that were copied before; nothing
    // is allocated and no lock is taken. It runs after the change of user, which would undo the request.
    unsafe {
        command.pre_exec(ask);
    }
}
