use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::*;

/// A directory that goes with the test.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("dyno-option-files-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("home")).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn environment(&self) -> Environment {
        let system = self.0.join("system.cnf").display().to_string();
        Environment::empty()
            .with_home(self.0.join("home"))
            .with_variable("MYSQL_HOME", &self.0.join("mysql-home").display().to_string())
            .with_mysql_option_files(&[&system])
    }

    fn read(&self) -> OptionFiles {
        OptionFiles::read(&self.environment())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn get<'f>(files: &'f OptionFiles, names: &[&str]) -> Vec<Option<&'f str>> {
    names.iter().map(|name| files.parameters.get(name)).collect()
}

#[test]
fn later_files_and_later_lines_win() {
    let directory = Directory::new("order");
    directory.file("system.cnf", "[client]\nuser=system\nport=1\nhost=a\n[mysqld]\nuser=mysql\nport=9\n");
    directory.file("mysql-home/my.cnf", "[client]\nport=2\nhost=b\n");
    directory.file("home/.my.cnf", "[client]\nhost=c\n[mysql]\ndatabase=d\n[dyno]\nhost=e\n");
    let files = directory.read();
    let names = ["user", "port", "host", "database"];
    assert_eq!(get(&files, &names), [Some("system"), Some("2"), Some("e"), Some("d")]);
    assert!(files.warnings.is_empty(), "{:?}", files.warnings);
}

#[test]
fn files_include_others_in_their_place() {
    let directory = Directory::new("include");
    directory.file("conf.d/20.cnf", "[client]\nuser=twenty\nport=20\n");
    directory.file("conf.d/10.cnf", "[client]\nuser=ten\nhost=ten\n");
    directory.file("conf.d/30.conf", "[client]\nuser=other\n");
    directory.file("one.cnf", "[client]\nhost=one\n");
    let text = "[client]\nport=5\n!includedir conf.d\n!include one.cnf\n!include missing.cnf\nport=6\n";
    directory.file("system.cnf", text);
    let files = directory.read();
    assert_eq!(get(&files, &["user", "host", "port"]), [Some("twenty"), Some("one"), Some("6")]);
    assert!(files.warnings.is_empty(), "{:?}", files.warnings);
}

#[test]
fn a_file_that_includes_itself_ends() {
    let directory = Directory::new("circle");
    directory.file("system.cnf", "[client]\nuser=u\n!include system.cnf\n!includedir nowhere\n");
    let files = directory.read();
    assert_eq!(files.parameters.get("user"), Some("u"));
    assert!(files.warnings.iter().any(|it| it.contains("include each other")), "{:?}", files.warnings);
    assert!(files.warnings.iter().any(|it| it.contains("cannot read")), "{:?}", files.warnings);
}

#[test]
fn a_file_that_everybody_may_write_is_ignored_and_said() {
    let directory = Directory::new("writable");
    let path = directory.file("home/.my.cnf", "[client]\npassword=secret\n");
    for (mode, is_read) in [(0o600, true), (0o644, true), (0o664, true), (0o666, false), (0o602, false)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let files = directory.read();
        assert_eq!(files.parameters.get("password").is_some(), is_read, "{mode:o}");
        assert_eq!(files.warnings.is_empty(), is_read, "{mode:o}: {:?}", files.warnings);
    }
}

#[test]
fn what_is_not_understood_is_said_without_being_repeated() {
    let directory = Directory::new("malformed");
    let text = "password=SECRET1\n[client\n=SECRET2\n[client]\n!inklude SECRET3\nssl-crl=/a\n\
                loose-anything=SECRET4\nuser=u\n[dyno]\npasword=SECRET5\nlocal-infile=1\n";
    directory.file("home/.my.cnf", text);
    let files = directory.read();
    let said = files.warnings.join("\n");
    assert!(!said.contains("SECRET"), "{said}");
    for part in ["line 1:", "line 2:", "line 3:", "line 5:", "line 6: the connection", "called `pasword`"] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    assert_eq!(files.warnings.len(), 6, "{said}");
    assert_eq!(get(&files, &["user", "local-infile", "password"]), [Some("u"), Some("1"), None]);
}

#[test]
fn options_say_on_and_off_in_many_ways() {
    for (line, name, value) in [
        ("ssl", "ssl-mode", Some("REQUIRED")),
        ("skip-ssl", "ssl-mode", Some("DISABLED")),
        ("disable_ssl", "ssl-mode", Some("DISABLED")),
        ("ssl=0", "ssl-mode", Some("DISABLED")),
        ("loose-ssl_mode=VERIFY_CA", "ssl-mode", Some("VERIFY_CA")),
        ("ssl-verify-server-cert\nssl", "ssl-mode", Some("VERIFY_IDENTITY")),
        ("ssl-verify-server-cert=0", "ssl-mode", None),
        ("local-infile", "local-infile", Some("1")),
        ("enable-local-infile", "local-infile", Some("1")),
        ("skip_local_infile", "local-infile", Some("0")),
        ("password", "password", None),
        ("Socket = /a/b ", "socket", Some("/a/b")),
    ] {
        let directory = Directory::new("switches");
        directory.file("home/.my.cnf", &format!("[client]\n{line}\n"));
        let files = directory.read();
        assert_eq!(files.parameters.get(name), value, "{line}");
        assert!(files.warnings.is_empty(), "{line}: {:?}", files.warnings);
    }
}

#[test]
fn missing_files_say_nothing() {
    let files = OptionFiles::read(&Environment::empty().with_home(Path::new("/nowhere")));
    assert!(files.warnings.is_empty(), "{:?}", files.warnings);
}
