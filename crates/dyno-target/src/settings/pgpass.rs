//! The password file: `host:port:database:user:password`, one per line, `*` for any, `\` before a `:` or `\`.
//! It is read only when nobody else may read it.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use dyno_wire::endpoint::Password;

use crate::files;

/// A password file as read, or why it was passed over.
pub(super) struct PasswordFile {
    lines: String,
    /// Set where the file exists and was ignored.
    pub(super) warning: Option<String>,
}

impl PasswordFile {
    /// Reads the file. One that is missing holds nothing; one that others may read, or that is no file, or
    /// cannot be read, holds nothing and says so.
    pub(super) fn read(path: &Path) -> Self {
        let ignored = |why: String| Self {
            lines: String::new(),
            warning: Some(format!("password file {} was ignored: {why}", path.display())),
        };
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Self { lines: String::new(), warning: None };
            }
            Err(error) => return ignored(error.to_string()),
        };
        if !metadata.is_file() {
            return ignored("it is not a plain file".to_owned());
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            return ignored("others may read it; run `chmod 0600` on it".to_owned());
        }
        match files::read_to_string(path) {
            Ok(lines) => Self { lines, warning: None },
            Err(error) => ignored(error.to_string()),
        }
    }

    /// The password of the first line that fits.
    pub(super) fn find(&self, host: &str, port: u16, database: &str, user: &str) -> Option<Password> {
        let wanted = [host, &port.to_string(), database, user];
        self.lines.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
            let mut rest = line;
            for value in wanted {
                rest = match_field(rest, value)?;
            }
            let password = unescape(rest);
            (!password.is_empty()).then(|| Password::new(password))
        })
    }
}

/// What follows the field's `:` where the field is `*` or, unescaped, `value`.
fn match_field<'a>(line: &'a str, value: &str) -> Option<&'a str> {
    if let Some(rest) = line.strip_prefix("*:") {
        return Some(rest);
    }
    let mut escaped = false;
    let end = line.find(|c| {
        let ends = c == ':' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    let (field, rest) = line.split_at_checked(end)?;
    (unescape(field) == value).then(|| rest.strip_prefix(':')).flatten()
}

fn unescape(text: &str) -> String {
    let mut characters = text.chars();
    let mut plain = String::with_capacity(text.len());
    while let Some(character) = characters.next() {
        match character {
            '\\' => plain.extend(characters.next()),
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(lines: &str) -> PasswordFile {
        PasswordFile { lines: lines.to_owned(), warning: None }
    }

    fn find(lines: &str, host: &str, port: u16, database: &str, user: &str) -> Option<String> {
        file(lines).find(host, port, database, user).map(|it| it.reveal().to_owned())
    }

    #[test]
    fn the_first_line_that_fits_wins() {
        let lines = "#*:*:*:*:comment\n\nh:1:d:u:first\nh:*:*:u:second\n*:*:*:*:last";
        assert_eq!(find(lines, "h", 1, "d", "u").as_deref(), Some("first"));
        assert_eq!(find(lines, "h", 2, "d", "u").as_deref(), Some("second"));
        assert_eq!(find(lines, "x", 2, "d", "u").as_deref(), Some("last"));
        assert_eq!(find("h:1:d:u:p", "h", 1, "d", "other"), None);
        assert_eq!(find("h:1:d", "h", 1, "d", "u"), None);
    }

    #[test]
    fn escapes_in_fields_and_password() {
        assert_eq!(find(r"\:\:1:*:a\\b:*:p\:w\\x", "::1", 5, r"a\b", "u").as_deref(), Some(r"p:w\x"));
        assert_eq!(find("h:1:d:u:with:colons", "h", 1, "d", "u").as_deref(), Some("with:colons"));
    }

    #[test]
    fn a_file_that_others_may_read_is_ignored_and_said() {
        let path = std::env::temp_dir().join(format!("dyno-pgpass-{}", std::process::id()));
        fs::write(&path, "*:*:*:*:secret\n").unwrap();
        for (mode, read) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let file = PasswordFile::read(&path);
            assert_eq!(file.find("h", 1, "d", "u").is_some(), read, "{mode:o}");
            assert_eq!(file.warning.is_none(), read, "{mode:o}");
        }
        fs::remove_file(&path).unwrap();
        assert!(PasswordFile::read(&path).warning.is_none());
    }

    proptest! {
        #[test]
        fn never_panics(lines in ".*", host in ".*") {
            let _ = find(&lines, &host, 1, "d", "u");
        }

        #[test]
        fn any_password_comes_back(host in "[^\n\r]+", password in "[^\n\r]+") {
            let escape = |text: &str| text.replace('\\', r"\\").replace(':', r"\:");
            prop_assume!(!host.starts_with('#'));
            let line = format!("{}:5432:*:*:{}", escape(&host), escape(&password));
            prop_assert_eq!(find(&line, &host, 5432, "d", "u"), Some(password));
        }
    }
}
