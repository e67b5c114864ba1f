//! The machine that dyno runs on: what it is (`facts`) and what it is doing (`Sampler`).
//!
//! Everything is read from `/proc` and `/sys`. What cannot be read is left out, never guessed; nothing here
//! writes, and nothing here starts a process. Only `file_cache` changes anything, when it is asked to.

mod cgroup;
mod cpu;
mod disk;
mod facts;
mod file_cache;
mod machine;
mod node_exporter;
mod process;
mod sample;
mod server;
mod source;
mod traffic;
mod values;

pub use disk::{Disk, free_bytes};
pub use facts::facts;
pub use file_cache::{Dropped, drop_file_cache};
pub(crate) use node_exporter::NodeExporterReader;
pub use node_exporter::{NodeExporter, NodeExporterError};
pub use sample::Sampler;

/// The process that started another and lives; not the machine's first, which takes in orphans.
pub(crate) fn process_parent(pid: &str) -> Option<u32> {
    process::ProcessReader::default().stat(pid).map(|stat| stat.parent).filter(|parent| *parent > 1)
}

/// Clock ticks from the start of the machine to that of a living process; a zombie has ended and is none.
pub(crate) fn process_start(pid: u32) -> Option<u64> {
    process::ProcessReader::default().stat(pid).filter(|stat| !stat.zombie).map(|stat| stat.started_ticks)
}
