//! The script language beside pgbench itself: the same scripts through both, the same values and messages.
//!
//! What pgbench 15 and 18 do is in `recorded`: no server is needed, and random expressions are always the same ones. With
//! `DYNO_TEST_REFERENCES` both are run, and compared with ours by many more random expressions; `DYNO_SCRIPT_SEED` repeats
//! those of a run.
//!
//! Known differences, all on purpose: at the end of a script without a newline pgbench reads a variable's name beyond its
//! text; it never ends when `random_zipfian` is given NaN, which is refused here; it makes a number of whatever is in
//! memory for `abs` of a boolean, which is refused here; and `\sleep` for more than 2147 s overflows there.

#[cfg(test)]
mod builtins;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod expressions;
#[cfg(test)]
mod generator;
#[cfg(test)]
#[path = "../support/pgbench.rs"]
mod pgbench;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod runner;
#[cfg(test)]
mod seeds;
#[cfg(test)]
mod statements;
#[cfg(test)]
mod texts;
