//! One server for many tests.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// What it takes to end a server from outside.
pub trait Ending {
    /// Of its main process, in whose command line its directory stands.
    fn pid(&self) -> u32;
    /// Goes with it.
    fn directory(&self) -> &Path;
    /// The signal that ends it and all its processes, as `kill` calls it.
    fn signal() -> &'static str;
}

/// A server that tests share which leave it as it is, or keep to objects of their own. Meant for a `static`: it is
/// started for the first test that asks, and ends with the process, however that ends.
#[derive(Debug)]
pub struct Shared<T>(Mutex<Option<Arc<T>>>);

impl<T: Ending> Shared<T> {
    /// Nothing is started yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// The server; `None` where `start` could start none.
    #[must_use]
    pub fn get(&self, start: impl FnOnce() -> Option<T>) -> Option<Arc<T>> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.is_none() {
            let server = start()?;
            bequeath(&server);
            *shared = Some(Arc::new(server));
        }
        shared.clone()
    }
}

impl<T: Ending> Default for Shared<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Sees to the server `$1` with the directory `$2` when the test process is gone, which closes standard input. Nobody
/// else's process of the same number is touched.
const UNDERTAKER: &str = r#"
read -r _
there() { grep -qsF -- "$2" "/proc/$1/cmdline"; }
there "$@" && kill -s "$3" "$1"
while there "$@"; do sleep 0.05; done
rm -rf -- "$2"
"#;

/// Nothing of a `static` is ever dropped: a shell ends the server and removes its directory. It is in a process group of
/// its own, so that Ctrl-C does not end it before.
fn bequeath<T: Ending>(server: &T) {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", UNDERTAKER, "undertaker", &server.pid().to_string()]);
    command.arg(server.directory()).arg(T::signal()).current_dir("/").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // Its standard input is to stay open until the process ends.
    std::mem::forget(command.spawn().unwrap());
}
