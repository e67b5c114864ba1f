//! Where a load is run: how a target is named, reached, inspected and watched, and the servers that dyno starts
//! itself. Knows no workload, and opens no socket for the load: that is the engine's.

pub mod embedded;
pub mod host;
