//! `pgbench -i`, and what pgbench does before a run: on a real server, with the same in the end as the real program. The
//! databases, the statements that came to the server and the messages are compared.
//!
//! What pgbench 15 and 18 do is in `recorded`; they are run with `DYNO_TEST_REFERENCES`. Where the machine has no
//! PostgreSQL, the tests say `skipped:` and return.

#[cfg(test)]
mod before;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod fingerprint;
#[cfg(test)]
#[path = "../support/pgbench.rs"]
mod pgbench;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod variants;
