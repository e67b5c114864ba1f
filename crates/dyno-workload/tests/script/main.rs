//! The script language beside pgbench itself: the same scripts through both, the same values and messages.
//!
//! The reference is the pgbench of the machine's PostgreSQL, and also the program that `DYNO_PGBENCH18` names.

mod expressions;
mod generator;
mod reference;
mod runner;
