//! What the rules make of a library in dyno's own process.

use super::{clean_report, must_be_silent, must_find};
use crate::event::Severity;

#[test]
fn a_library_in_the_process_takes_no_processors_from_itself() {
    let mut report = clean_report();
    report.targets[0].same_host = Some(true);
    report.targets[0].in_process = true;
    must_be_silent(&report, "shared-host");
    report.targets[0].in_process = false;
    must_find(&report, "shared-host", Severity::Doubt, &[]);
}
