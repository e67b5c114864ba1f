//! The script language beside pgbench itself: the same scripts through both, the same values and messages.
//!
//! The reference is the pgbench of the machine's PostgreSQL, and also the program that `DYNO_PGBENCH18` names.

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
