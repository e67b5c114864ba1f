//! `dyno serve`: the page and the API, until Ctrl-C.

use crate::cli::ServeArguments;
use crate::failure::Failure;

#[cfg(not(feature = "serve"))]
pub(crate) fn run(_: &ServeArguments) -> Result<u8, Failure> {
    Err(Failure::NotServed)
}

#[cfg(feature = "serve")]
pub(crate) fn run(arguments: &ServeArguments) -> Result<u8, Failure> {
    serving::run(arguments)
}

#[cfg(feature = "serve")]
mod serving {
    use std::sync::atomic::Ordering;
    use std::thread;
    use std::time::Duration;

    use dyno_report::serve::{self, ServeOptions};

    use super::{Failure, ServeArguments};
    use crate::command::print;
    use crate::{DONE, interrupt, place};

    /// Between two looks whether it is to end.
    const LOOK: Duration = Duration::from_millis(50);

    pub(super) fn run(arguments: &ServeArguments) -> Result<u8, Failure> {
        let store = match place::stored_path(&arguments.store) {
            // It is there with the first run.
            Err(Failure::NothingStored { path }) => path,
            store => store?,
        };
        let stop = interrupt::stop_flag();
        let options =
            ServeOptions { token: token(arguments)?, ..ServeOptions::new(store.clone(), &arguments.listen) };
        let server = serve::spawn(options)?;
        print(&format!("{} serves the runs of {}; Ctrl-C ends it\n", server.url(), store.display()))?;
        while !stop.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
        }
        server.close(Duration::ZERO);
        Ok(DONE)
    }

    fn token(arguments: &ServeArguments) -> Result<Option<String>, Failure> {
        if let Some(path) = &arguments.token_file {
            let text = dyno_target::files::read_to_string(path)
                .map_err(|source| Failure::read("the token from", path, &source))?;
            return Ok(Some(text.lines().next().unwrap_or_default().trim().to_owned()));
        }
        let environment = || std::env::var("DYNO_TOKEN").ok().filter(|token| !token.is_empty());
        Ok(arguments.token.clone().or_else(environment))
    }
}
