//! What is printed before a load begins: what it is to be.

use super::Context;

impl Context {
    /// What is printed before the threads begin.
    pub(super) fn print_banner(&self) {
        let Context { settings, console, .. } = self;
        console.notice("Running the test with following options:");
        console.notice(&format!("Number of threads: {}", settings.threads));
        if let Some(rate) = settings.rate {
            console.notice(&format!("Target transaction rate: {rate}/sec"));
        }
        if settings.report_interval_s != 0 {
            let seconds = settings.report_interval_s;
            console.notice(&format!("Report intermediate results every {seconds} second(s)"));
        }
        if !settings.checkpoints.is_empty() {
            let seconds: Vec<_> = settings.checkpoints.iter().map(|at| at.as_secs().to_string()).collect();
            console.notice(&format!("Report checkpoint(s) at {} seconds", seconds.join(", ")));
        }
        if settings.debug {
            console.notice("Debug mode enabled.\n");
        }
        if settings.validate {
            console.notice("Validation checks: on.\n");
        }
        match settings.seed {
            Some(seed) => {
                console.notice(&format!("Initializing random number generator from seed ({seed}).\n"));
            }
            None => console.notice("Initializing random number generator from current time\n"),
        }
        match settings.forced_shutdown.zip(settings.time) {
            Some((wait, time)) => {
                console.notice(&format!("Forcing shutdown in {} seconds\n", (time + wait).as_secs()));
            }
            None => console.notice(""),
        }
        console.notice("Initializing worker threads...\n");
    }
}
