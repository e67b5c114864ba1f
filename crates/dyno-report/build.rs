//! Builds the report page (`web/`) with npm and leaves it in `OUT_DIR` as two halves, between which
//! `page::render` puts a report. Does nothing without the feature `page`, so that no Node is needed then.
//!
//! The sources are copied first: a build script must not write outside `OUT_DIR`, and npm would put
//! `node_modules` beside the sources.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// What the page's build reads. Nothing else of `web/` (tests, `node_modules`, `dist`) causes a rebuild.
const SOURCES: [&str; 6] =
    ["package.json", "package-lock.json", "tsconfig.json", "vite.config.ts", "index.html", "src"];

/// Stands in the built page where the report belongs; see `web/index.html`.
const MARKER: &str = "\"__DYNO_REPORT__\"";

const NODE_MAJOR_MIN: u32 = 20;

const WAY_OUT: &str = "install Node 20.19 or newer (with npm), or build with `--no-default-features`, \
     which leaves the HTML page out";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_PAGE").is_none() {
        return;
    }
    if let Err(error) = build_page() {
        println!("cargo::error=the report page could not be built: {error}");
        std::process::exit(1);
    }
}

fn build_page() -> Result<(), Box<dyn Error>> {
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let web = manifest.join("../../web");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let work = out.join("web");

    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", web.join(source).display());
    }
    check_node()?;
    copy_sources(&web, &work)?;
    install_packages(&work)?;
    npm(&work, &["run", "build"])?;

    let built = work.join("dist/index.html");
    let html = fs::read_to_string(&built).map_err(|error| format!("{}: {error}", built.display()))?;
    let (head, tail) = html.split_once(MARKER).ok_or("the built page has no place for the report")?;
    if tail.contains(MARKER) {
        return Err("the built page has more than one place for the report".into());
    }
    fs::write(out.join("page-head.html"), head)?;
    fs::write(out.join("page-tail.html"), tail)?;
    Ok(())
}

fn check_node() -> Result<(), Box<dyn Error>> {
    let output = Command::new("node")
        .arg("--version")
        .output()
        .map_err(|error| format!("`node --version` could not be run ({error}); {WAY_OUT}"))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let major: Option<u32> =
        version.strip_prefix('v').and_then(|rest| rest.split('.').next()).and_then(|part| part.parse().ok());
    match major {
        Some(major) if major >= NODE_MAJOR_MIN => Ok(()),
        _ => Err(format!("Node is too old ({version}); {WAY_OUT}").into()),
    }
}

/// Replaces the copied sources and keeps `node_modules`.
fn copy_sources(web: &Path, work: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(work)?;
    // A file that was removed from the sources must not live on in the copy.
    let copied = work.join("src");
    if copied.exists() {
        fs::remove_dir_all(&copied)?;
    }
    for source in SOURCES {
        copy(&web.join(source), &work.join(source))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    if !from.is_dir() {
        fs::copy(from, to).map_err(|error| format!("{}: {error}", from.display()))?;
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// `npm ci`, left out while the lock file is the one that was installed last.
fn install_packages(work: &Path) -> Result<(), Box<dyn Error>> {
    let lock = fs::read(work.join("package-lock.json"))?;
    let stamp = work.join("installed-lock.json");
    if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    // Packages' own install scripts are not needed for this build and are not run.
    npm(work, &["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"])?;
    fs::write(stamp, lock)?;
    Ok(())
}

fn npm(work: &Path, arguments: &[&str]) -> Result<(), Box<dyn Error>> {
    let output = Command::new("npm")
        .args(arguments)
        .current_dir(work)
        .output()
        .map_err(|error| format!("npm could not be run ({error}); {WAY_OUT}"))?;
    if output.status.success() {
        return Ok(());
    }
    // Cargo shows a build script's standard error in full when it fails.
    eprintln!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(format!("`npm {}` failed ({}), its output is below; {WAY_OUT}", arguments.join(" "), output.status)
        .into())
}
