//! The script language beside pgbench itself: the same scripts through both, the same values and messages.
//!
//! The reference is the pgbench of the machine's PostgreSQL, and also the program that `DYNO_PGBENCH18` names.
//! Random scripts are the same in each run, unless `DYNO_SCRIPT_SEED` is another number, or `random`.
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
