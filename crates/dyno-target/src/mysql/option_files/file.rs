//! One option file: groups, options, comments, quotes, escapes and includes, as MySQL's own clients read them. A line
//! that cannot be understood is said and passed over.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::files;

/// How deep files may include others.
const DEPTH_MAX: usize = 10;

/// A line `name` or `name=value` within a group that is of interest.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OptionEntry {
    pub(super) group: String,
    pub(super) name: String,
    pub(super) value: Option<String>,
    /// File and line, for messages.
    pub(super) place: String,
}

/// The options of these groups, in order, with those of included files in between.
pub(super) fn read(path: &Path, groups: &[&str], warnings: &mut Vec<String>) -> Vec<OptionEntry> {
    let mut reader = Reader { groups, warnings, options: Vec::new() };
    reader.read(path, 0);
    reader.options
}

struct Reader<'r> {
    groups: &'r [&'r str],
    warnings: &'r mut Vec<String>,
    options: Vec<OptionEntry>,
}

impl Reader<'_> {
    fn read(&mut self, path: &Path, depth: usize) {
        let Some(text) = self.text(path) else { return };
        let mut group = None;
        for (index, line) in text.lines().enumerate() {
            let place = || format!("option file {}, line {}", path.display(), index + 1);
            match parse(line) {
                FileLine::Blank => {}
                FileLine::Group(name) => group = Some(name),
                FileLine::Include(file) => self.include(vec![resolved(path, file)], depth, &place()),
                FileLine::IncludeDirectory(directory) => {
                    let files = self.files_in(&resolved(path, directory), &place());
                    self.include(files, depth, &place());
                }
                FileLine::Option { name, value } => match group {
                    // A line before any group belongs to nobody.
                    None => self.warnings.push(format!("{}: it stands before any [group]", place())),
                    Some(group) if self.groups.contains(&group) => {
                        let (group, name) = (group.to_owned(), name.to_owned());
                        self.options.push(OptionEntry { group, name, value, place: place() });
                    }
                    Some(_) => {}
                },
                FileLine::Malformed(what) => self.warnings.push(format!("{}: {what}", place())),
            }
        }
    }

    /// The file's text; nothing, and a warning, for one that everybody may write to or that cannot be read.
    fn text(&mut self, path: &Path) -> Option<String> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return self.ignore(path, &error.to_string()),
        };
        if !metadata.is_file() {
            return self.ignore(path, "it is not a plain file");
        }
        if metadata.permissions().mode() & 0o002 != 0 {
            return self.ignore(path, "everybody may write to it; run `chmod o-w` on it");
        }
        match files::read(path) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) => self.ignore(path, &error.to_string()),
        }
    }

    fn ignore(&mut self, path: &Path, why: &str) -> Option<String> {
        self.warnings.push(format!("option file {} was ignored: {why}", path.display()));
        None
    }

    fn include(&mut self, files: Vec<PathBuf>, depth: usize, place: &str) {
        if depth == DEPTH_MAX {
            self.warnings.push(format!("{place}: files include each other more than {DEPTH_MAX} deep"));
            return;
        }
        for file in files {
            self.read(&file, depth + 1);
        }
    }

    /// The `.cnf` files in there, by name.
    fn files_in(&mut self, directory: &Path, place: &str) -> Vec<PathBuf> {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) => {
                self.warnings.push(format!("{place}: cannot read {}: {error}", directory.display()));
                return Vec::new();
            }
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let mut files: Vec<_> = paths.filter(|it| it.extension().is_some_and(|it| it == "cnf")).collect();
        files.sort();
        files
    }
}

/// A path as the file that names it means it.
fn resolved(file: &Path, named: &str) -> PathBuf {
    file.parent().map_or_else(|| PathBuf::from(named), |directory| directory.join(named))
}

#[derive(Debug, PartialEq, Eq)]
enum FileLine<'l> {
    Blank,
    Group(&'l str),
    Include(&'l str),
    IncludeDirectory(&'l str),
    Option { name: &'l str, value: Option<String> },
    Malformed(&'static str),
}

fn parse(line: &str) -> FileLine<'_> {
    let line = line.trim();
    if line.is_empty() || line.starts_with(['#', ';']) {
        return FileLine::Blank;
    }
    if let Some(directive) = line.strip_prefix('!') {
        return parse_directive(directive);
    }
    if let Some(rest) = line.strip_prefix('[') {
        return match rest.split_once(']') {
            Some((name, _)) => FileLine::Group(name.trim()),
            None => FileLine::Malformed("the `]` of a group is missing"),
        };
    }
    let line = without_comment(line);
    // Nothing of a malformed line is repeated: it may be a password.
    match line.split_once('=') {
        None => FileLine::Option { name: line.trim_end(), value: None },
        Some((name, _)) if name.trim().is_empty() => FileLine::Malformed("an option has no name"),
        Some((name, value)) => {
            FileLine::Option { name: name.trim_end(), value: Some(unescape(unquote(value.trim()))) }
        }
    }
}

fn parse_directive(text: &str) -> FileLine<'_> {
    let (directive, path) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    match (directive, path.trim()) {
        ("include" | "includedir", "") => FileLine::Malformed("it names nothing to include"),
        ("include", path) => FileLine::Include(path),
        ("includedir", path) => FileLine::IncludeDirectory(path),
        _ => FileLine::Malformed("only !include and !includedir are known"),
    }
}

/// Up to a `#` that is not in quotes.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in line.char_indices() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (_, Some(open)) if c == open && !escaped => quote = None,
            ('#', None) => return line.get(..at).unwrap_or_default(),
            _ => {}
        }
        escaped = quote.is_some() && c == '\\' && !escaped;
    }
    line
}

fn unquote(value: &str) -> &str {
    ['"', '\''].iter().find_map(|&quote| value.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(value)
}

/// A backslash before anything that it has no meaning for stands for itself.
fn unescape(value: &str) -> String {
    let mut plain = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(c) = characters.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match characters.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some('b') => plain.push('\u{8}'),
            Some('s') => plain.push(' '),
            Some(c @ ('"' | '\'' | '\\')) => plain.push(c),
            Some(other) => plain.extend(['\\', other]),
            None => plain.push('\\'),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(line: &str) -> Option<String> {
        match parse(line) {
            FileLine::Option { value, .. } => value,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_lose_quotes_comments_and_escapes() {
        for (line, expected) in [
            ("password=abc", "abc"),
            ("password = abc  ", "abc"),
            ("password=abc # why", "abc"),
            ("password=ab#c", "ab"),
            ("password=\"ab#c\"", "ab#c"),
            ("password='ab#c' # why", "ab#c"),
            ("password=\"a\\\"#b\"", "a\"#b"),
            ("password=a;b", "a;b"),
            (r"password=a\sb\\c\td", "a b\\c\td"),
            (r"password=a\qb\", r"a\qb\"),
            ("password='a b ", "'a b"),
            ("password=", ""),
            ("password=a=b", "a=b"),
        ] {
            assert_eq!(value(line).as_deref(), Some(expected), "{line}");
        }
        assert_eq!(parse("local-infile"), FileLine::Option { name: "local-infile", value: None });
        assert_eq!(parse("  skip-ssl # no"), FileLine::Option { name: "skip-ssl", value: None });
    }

    #[test]
    fn groups_comments_and_directives() {
        assert_eq!(parse(" [ client ] # it"), FileLine::Group("client"));
        for line in ["", "   ", "# x", ";x=y"] {
            assert_eq!(parse(line), FileLine::Blank);
        }
        assert_eq!(parse("!include /a b"), FileLine::Include("/a b"));
        assert_eq!(
            parse("!includedir  /etc/mysql/conf.d/"),
            FileLine::IncludeDirectory("/etc/mysql/conf.d/")
        );
        for line in ["!include", "!other x", "[client", "=x"] {
            assert!(matches!(parse(line), FileLine::Malformed(_)), "{line}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(line in r#"([a-z#;!='"\\\[\] é]{0,6}){0,6}|.*"#) {
            let _ = parse(&line);
        }

        #[test]
        fn any_password_comes_back(password in "[^\n\r]+") {
            let written: String = password.chars().flat_map(|c| match c {
                '\\' => vec!['\\', '\\'],
                '"' => vec!['\\', '"'],
                '\u{8}' => vec!['\\', 'b'],
                c => vec![c],
            }).collect();
            prop_assert_eq!(value(&format!("password=\"{written}\"")), Some(password));
        }
    }
}
