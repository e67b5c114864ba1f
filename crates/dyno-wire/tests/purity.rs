//! The crate is sans-IO: its sources name no socket, clock, thread or file, and none of its dependencies is made
//! for them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

/// Parts of `std` that have no place in a protocol machine. `std::net` and `std::os` are looked at more closely,
/// since addresses are only data.
const FORBIDDEN: &[&str] = &[
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "ToSocketAddrs",
    "UnixStream",
    "UnixListener",
    "UnixDatagram",
    "std::os",
    "std::fs",
    "std::thread",
    "std::time",
    "std::process",
    "std::env",
    "Instant",
    "SystemTime",
    "io::stdin",
    "io::stdout",
    "io::stderr",
    "println!",
    "thread_local!",
];

/// Crates that exist to open sockets, wait or start threads.
const FORBIDDEN_CRATES: &[&str] =
    &["tokio", "mio", "socket2", "rustix", "polling", "async-io", "async-std", "smol", "nix", "io-uring"];

#[test]
fn the_sources_name_no_socket_clock_thread_or_file() {
    let mut files = 0;
    let mut found = Vec::new();
    // Tests run in the directory of their crate. The path of the build may be that of another checkout.
    let mut directories = vec![PathBuf::from("src")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            files += 1;
            let text = fs::read_to_string(&path).unwrap();
            for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
                found.extend(
                    FORBIDDEN
                        .iter()
                        .filter(|name| line.contains(**name))
                        .map(|_| format!("{}: {}", path.display(), line.trim())),
                );
            }
        }
    }
    assert!(files > 10, "only {files} sources found");
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn no_dependency_is_made_for_sockets_clocks_or_threads() {
    let crates = normal_dependencies();
    assert!(crates.contains("rustls"), "{crates:?}");
    let found: Vec<_> = FORBIDDEN_CRATES.iter().filter(|name| crates.contains(**name)).collect();
    assert_eq!(found, Vec::<&&str>::new());
}

/// Names of all crates that this one is built on, on this platform and without its tests.
fn normal_dependencies() -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let host = String::from_utf8(rustc.stdout).unwrap();
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked", "--offline", "--filter-platform", host])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let name = |id: &Value| packages.iter().find(|package| package["id"] == *id).unwrap()["name"].clone();
    let own = packages.iter().find(|package| package["name"] == env!("CARGO_PKG_NAME")).unwrap();

    let mut seen = BTreeSet::new();
    let mut open = vec![own["id"].clone()];
    while let Some(id) = open.pop() {
        let node = nodes.iter().find(|node| node["id"] == id).unwrap();
        for dependency in node["deps"].as_array().unwrap() {
            let kinds = dependency["dep_kinds"].as_array().unwrap();
            let normal = kinds.iter().any(|kind| kind["kind"].is_null());
            if normal && seen.insert(name(&dependency["pkg"]).as_str().unwrap().to_owned()) {
                open.push(dependency["pkg"].clone());
            }
        }
    }
    seen
}
