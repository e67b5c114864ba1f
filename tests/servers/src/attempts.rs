//! Checks that time can spoil.

use std::panic::{AssertUnwindSafe, catch_unwind};

const ATTEMPTS: u32 = 3;

/// Runs a check, and if it fails runs it again, three times in all: a line `further attempt: …` tells of each.
///
/// Only for checks in which a failure may be the fault of neither: where the output of another program is compared whose
/// own threads race, or where a load must be met in its course. What is wrong is wrong each time, and fails here, too.
///
/// # Panics
///
/// As the last attempt does.
pub fn in_some_attempt<T>(what: &str, mut check: impl FnMut() -> T) -> T {
    for attempt in 1..ATTEMPTS {
        if let Ok(value) = catch_unwind(AssertUnwindSafe(&mut check)) {
            return value;
        }
        println!("further attempt: {what}, after {attempt}");
    }
    check()
}

#[cfg(test)]
mod tests {
    use super::in_some_attempt;

    #[test]
    fn one_good_attempt_is_enough_and_three_bad_ones_fail() {
        let mut count = 0;
        in_some_attempt("a test", || {
            count += 1;
            assert!(count == 3, "not yet");
        });
        assert_eq!(count, 3);
        let never = std::panic::catch_unwind(|| in_some_attempt("a test", || panic!("never")));
        assert_eq!(never.unwrap_err().downcast_ref(), Some(&"never"));
    }
}
