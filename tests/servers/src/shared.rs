//! One server for many tests: of one process, or of a whole run of `./test`.
//!
//! `DYNO_TEST_RUN` names the directory of a run. There each server that is shared has a file that says where it is: the
//! first test that asks starts it, those of other processes find it, and it ends when the run does, however that ends:
//! the run holds the FIFO `alive` open for writing. Without a run, a server ends with the process that started it.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// What it takes to find a server and to end it from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Of its main process, in whose command line its directory stands.
    pub(crate) pid: u32,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// Goes with it.
    pub(crate) directory: PathBuf,
}

/// A server that can be shared.
pub(crate) trait Shareable: Sized {
    /// How it is set up. Servers with the same setup, as `Debug` prints it, are one.
    type Setup: Debug;

    /// The signal that ends it and all its processes, as `kill` calls it.
    const SIGNAL: &'static str;

    fn start(setup: &Self::Setup) -> Option<Self>;
    /// The server of another process of this run.
    fn attach(setup: &Self::Setup, place: Place) -> Self;
    fn place(&self) -> Place;
}

/// The servers that this process shares, by name; meant for a `static`, so that they last as long as the process.
#[derive(Debug)]
pub(crate) struct Shared<T>(Mutex<BTreeMap<String, Arc<Slot<T>>>>);

/// Has a lock of its own: who needs one server does not wait for the start of another.
type Slot<T> = Mutex<Option<Arc<T>>>;

impl<T: Shareable> Shared<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// The server of this setup; `None` where it cannot be started.
    pub(crate) fn get(&self, kind: &str, setup: &T::Setup) -> Option<Arc<T>> {
        let name = name(kind, setup);
        let slot = {
            let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(slots.entry(name.clone()).or_default())
        };
        let mut server = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if server.is_none() {
            let started = match std::env::var_os("DYNO_TEST_RUN") {
                Some(run) => of_run(Path::new(&run), &name, setup)?,
                None => {
                    let started = T::start(setup)?;
                    end_later::<T>(&started.place(), Stdio::piped());
                    started
                }
            };
            *server = Some(Arc::new(started));
        }
        server.clone()
    }
}

fn name(kind: &str, setup: &impl Debug) -> String {
    let mut hasher = DefaultHasher::new();
    format!("{setup:?}").hash(&mut hasher);
    format!("{kind}-{:016x}", hasher.finish())
}

/// Started by whoever asks first; the others wait meanwhile.
fn of_run<T: Shareable>(run: &Path, name: &str, setup: &T::Setup) -> Option<T> {
    let lock = File::create(run.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    let file = run.join(name);
    if let Ok(text) = fs::read_to_string(&file) {
        return Some(T::attach(setup, Place::read(&text)));
    }
    let server = T::start(setup)?;
    end_later::<T>(&server.place(), File::open(run.join("alive")).unwrap().into());
    fs::write(file, server.place().text()).unwrap();
    Some(server)
}

impl Place {
    fn text(&self) -> String {
        format!("{}\n{}\n{}\n", self.pid, self.address, self.directory.display())
    }

    fn read(text: &str) -> Self {
        let mut lines = text.lines();
        let mut line = || lines.next().unwrap();
        Self {
            pid: line().parse().unwrap(),
            address: line().parse().unwrap(),
            directory: PathBuf::from(line()),
        }
    }
}

/// Ends the server `$1` with the directory `$2` by the signal `$3` when standard input is closed. Nobody else's process
/// of the same number is touched.
const END: &str = r#"
read -r _
there() { grep -qsF -- "$2" "/proc/$1/cmdline"; }
there "$@" && kill -s "$3" "$1"
while there "$@"; do sleep 0.05; done
rm -rf -- "$2"
"#;

/// Nothing of a `static` is ever dropped: a shell ends the server and removes its directory. It is in a process group of
/// its own, so that Ctrl-C does not end it before.
fn end_later<T: Shareable>(place: &Place, until_closed: Stdio) {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", END, "end-server", &place.pid.to_string()]);
    command.arg(&place.directory).arg(T::SIGNAL).current_dir("/").process_group(0);
    command.stdin(until_closed).stdout(Stdio::null()).stderr(Stdio::null());
    // Its standard input is to stay open until the process ends.
    std::mem::forget(command.spawn().unwrap());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let place = Place {
            pid: 7,
            address: "127.0.0.1:5432".parse().unwrap(),
            directory: PathBuf::from("/tmp/dyno-test-x"),
        };
        assert_eq!(Place::read(&place.text()), place);
    }

    #[test]
    fn another_setup_is_another_server() {
        assert_eq!(name("postgres", &["a"]), name("postgres", &["a"]));
        assert_ne!(name("postgres", &["a"]), name("postgres", &["b"]));
    }
}
