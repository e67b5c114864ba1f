//! Two programs: a dyno whose load other processes generate, and such a process.

use std::process::ExitCode;

use dyno_test_generators::{campaign, process};

fn main() -> ExitCode {
    match std::env::var(campaign::GENERATORS) {
        Ok(count) => {
            let count = count.parse().unwrap_or(1);
            dbdyno::main_with(&move |prepare, _| campaign::Processes::prepare(&prepare, count))
        }
        Err(_) => process::run(),
    }
}
