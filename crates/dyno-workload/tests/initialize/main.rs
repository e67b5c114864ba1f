//! `pgbench -i`, and what pgbench does before a run, against the real program on a real server: both do the same, and
//! the databases, the statements that came to the server and the messages are compared.
//!
//! The reference is the installed pgbench, and that which `DYNO_PGBENCH18` names, if it is set. Where the machine has
//! no PostgreSQL, the tests say `skipped:` and return.

#[cfg(test)]
mod before;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod fingerprint;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod variants;
