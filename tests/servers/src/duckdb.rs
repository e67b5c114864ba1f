//! DuckDB's library, from a package of npm: any npm can fetch it, since nothing of it is run.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::cache::keep;
use crate::command::attempt;

const VERSION: &str = "1.5.6-r.1";
const OLD_VERSION: &str = "1.4.5-r.1";

/// The file of DuckDB's library; `None`, and a line that says so, where it cannot be had.
#[must_use]
pub fn duckdb_library() -> Option<PathBuf> {
    told(VERSION)
}

/// The same of version 1.4.5, which dyno refuses.
#[must_use]
pub fn old_duckdb_library() -> Option<PathBuf> {
    told(OLD_VERSION)
}

fn told(version: &str) -> Option<PathBuf> {
    match get(version) {
        Ok(library) => Some(library),
        Err(why) => {
            println!("skipped: no library of DuckDB {version}: {why}");
            None
        }
    }
}

fn get(version: &str) -> Result<PathBuf, String> {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => return Err(format!("there is none for {other}")),
    };
    let kept = keep(&format!("duckdb-{version}"), |directory| {
        let package = format!("@duckdb/node-bindings-linux-{architecture}@{version}");
        attempt(Command::new("npm").args(["pack", "--silent", &package]).current_dir(directory))?;
        let files = fs::read_dir(directory).map_err(|why| why.to_string())?;
        for archive in files.flatten().map(|entry| entry.path()) {
            attempt(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(directory))?;
            fs::remove_file(archive).map_err(|why| why.to_string())?;
        }
        Ok(())
    })?;
    Ok(kept.join("package/libduckdb.so"))
}
