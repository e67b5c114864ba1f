//! Programs from Debian's archive, of whatever release, without installing anything: packages are downloaded with
//! those that they depend on, unpacked into one directory and run with the C library that came along. apt does this
//! with the machine's own mirror and keys but a state of its own, so the machine's packages are not touched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::command::attempt;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// What to get.
#[derive(Debug)]
pub(crate) struct Packages {
    /// The release to take them from.
    pub(crate) suite: &'static str,
    /// Taken with what they depend on.
    pub(crate) whole: &'static [&'static str],
    /// Taken alone, for the files in them.
    pub(crate) alone: &'static [&'static str],
}

impl Packages {
    /// Downloads and unpacks them.
    pub(crate) fn unpack(&self, into: &Path) -> Result<(), String> {
        let apt = Apt::new("deb [target=Packages", self.suite)?;
        if !self.whole.is_empty() {
            let install = ["install", "--yes", "--no-install-recommends", "--download-only"];
            attempt(apt.get(&install).args(self.whole))?;
        }
        if !self.alone.is_empty() {
            attempt(apt.get(&["download"]).args(self.alone))?;
        }
        for file in fs::read_dir(apt.archives()).unwrap().flatten().map(|entry| entry.path()) {
            if file.extension().is_some_and(|it| it == "deb") && !is_perl(&file) {
                attempt(Command::new("dpkg-deb").arg("-x").arg(&file).arg(into))?;
            }
        }
        Ok(())
    }
}

/// Downloads what the authors of a package published, and unpacks the `members` of it, patterns of paths, without the directory
/// that all of them are in.
pub(crate) fn unpack_source(suite: &str, package: &str, members: &[&str], into: &Path) -> Result<(), String> {
    let apt = Apt::new("deb-src [target=Sources", suite)?;
    let files = attempt(apt.get(&["source", "--print-uris"]).arg(package))?;
    let published = files.lines().find(|line| line.contains(".orig.tar."));
    let mut words = published.ok_or_else(|| format!("no sources of {package}"))?.split(' ');
    let (Some(uri), Some(name), _, Some(hash)) = (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(format!("apt names the sources of {package} in another way: {files}"));
    };
    let uri = uri.trim_matches('\'');
    let archive = apt.archives().join(name);
    let download = |uri: &str| {
        attempt(Command::new("/usr/lib/apt/apt-helper").args(["download-file", uri]).arg(&archive).arg(hash))
    };
    download(uri).or_else(|why| {
        let (_, path) = uri.split_once("/pool/main/").ok_or_else(|| why.clone())?;
        download(&format!("{}/pool/universe/{path}", mirror_of_ubuntu()?)).map_err(|_| why)
    })?;
    let mut unpack = Command::new("tar");
    unpack.args(["--no-same-owner", "--wildcards", "--strip-components=1", "-C"]).arg(into);
    attempt(unpack.arg("-xf").arg(&archive).args(members)).map(drop)
}

/// Ubuntu has the same archives of many packages: a mirror of Debian need not have those of sources. Where it is, debootstrap
/// knows.
fn mirror_of_ubuntu() -> Result<String, String> {
    let tree = tempfile::tempdir().map_err(|why| why.to_string())?;
    let debootstrap = Packages { suite: "bookworm", whole: &[], alone: &["debootstrap"] };
    debootstrap.unpack(tree.path())?;
    let script = fs::read_to_string(tree.path().join("usr/share/debootstrap/scripts/gutsy"));
    let script = script.map_err(|why| format!("debootstrap: {why}"))?;
    let mut named = script.lines().filter_map(|line| line.trim().strip_prefix("default_mirror "));
    // Those of old releases, and of other processors, have hosts of their own.
    named
        .find(|mirror| mirror.contains("//archive."))
        .map(str::to_owned)
        .ok_or_else(|| "debootstrap names no mirror of Ubuntu".to_owned())
}

/// Scripts around the servers want Perl; no test runs them.
fn is_perl(package: &Path) -> bool {
    let name = package.file_name().unwrap().to_string_lossy();
    name.starts_with("perl") || name.starts_with("libperl")
}

/// apt with one source and an empty record of what is installed.
#[derive(Debug)]
struct Apt(TempDir);

impl Apt {
    /// With the lists of a release. `kind` begins the line of its source.
    fn new(kind: &str, suite: &str) -> Result<Self, String> {
        let directory = tempfile::Builder::new().prefix("dyno-apt-").tempdir().unwrap();
        let source = format!("{kind} signed-by={KEYRING}] {} {suite} main\n", mirror()?);
        fs::write(directory.path().join("sources.list"), source).unwrap();
        fs::write(directory.path().join("status"), "").unwrap();
        for name in ["state/lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        let apt = Self(directory);
        attempt(&mut apt.get(&["update"]))?;
        Ok(apt)
    }

    fn archives(&self) -> PathBuf {
        self.0.path().join("cache/archives")
    }

    fn get(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("apt-get");
        for (name, value) in [
            ("Dir::Etc::sourcelist", "sources.list"),
            ("Dir::Etc::sourceparts", "none"),
            ("Dir::Etc::preferences", "none"),
            ("Dir::Etc::preferencesparts", "none"),
            ("Dir::State", "state"),
            ("Dir::State::status", "status"),
            ("Dir::Cache", "cache"),
        ] {
            command.arg("-o").arg(format!("{name}={}", self.0.path().join(value).display()));
        }
        // The directory is ours alone, so root must not become `_apt` for the downloads.
        for option in [
            "APT::Sandbox::User=root",
            "APT::Immediate-Configure=false",
            "Acquire::Languages=none",
            "Acquire::Retries=3",
            "APT::Update::Error-Mode=any",
        ] {
            command.args(["-o", option]);
        }
        command.arg("--quiet").args(arguments).current_dir(self.archives()).env("LC_ALL", "C");
        command
    }
}

/// The mirror of Debian that this machine's own packages come from.
fn mirror() -> Result<String, String> {
    let system = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let field = |name: &str| {
        let line = system.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.map(|value| value.trim_matches('"').to_owned())
    };
    if field("ID").is_none_or(|id| id != "debian") {
        return Err("this is no Debian".to_owned());
    }
    let codename = field("VERSION_CODENAME").unwrap_or_default();
    let sources = attempt(Command::new("apt-get").args([
        "indextargets",
        "--format",
        "$(COMPONENT) $(RELEASE) $(REPO_URI)",
        "Created-By: Packages",
    ]))?;
    let archives: Vec<_> = sources
        .lines()
        .filter_map(|line| line.strip_prefix("main ")?.split_once(' '))
        .filter(|(release, _)| !release.contains('-'))
        .collect();
    let (_, mirror) = archives
        .iter()
        .find(|(release, _)| *release == codename)
        .or_else(|| archives.first())
        .ok_or("apt's sources name no mirror of Debian")?;
    Ok(mirror.trim_end_matches('/').to_owned())
}

/// What was unpacked.
#[derive(Debug, Clone)]
pub(crate) struct Tree(PathBuf);

impl Tree {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self(root)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A directory or file in the libraries of this machine's kind.
    pub(crate) fn library(&self, name: &str) -> PathBuf {
        self.0.join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH)).join(name)
    }

    /// A program of the tree, with no environment of the caller's.
    pub(crate) fn program(&self, name: &str) -> Command {
        let program = self.0.join(name);
        // Before directories were merged, the C library lay apart from the others.
        let early = self.0.join(format!("lib/{}-linux-gnu", std::env::consts::ARCH));
        let mut command = Command::new(self.loader());
        command.arg("--library-path").arg(format!("{}:{}", self.library("").display(), early.display()));
        command.arg("--argv0").arg(&program).arg(&program);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C");
        command
    }

    fn loader(&self) -> PathBuf {
        let files = ["lib64", "usr/lib64", "lib", "usr/lib"]
            .iter()
            .filter_map(|name| fs::read_dir(self.path(name)).ok());
        let mut names = files.flatten().flatten().map(|entry| entry.path());
        let is_loader = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("ld-linux-");
        names.find(is_loader).unwrap_or_else(|| panic!("no ld-linux in {}", self.0.display()))
    }
}
