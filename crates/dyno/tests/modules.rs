//! Modules of a crate stand on each other in one direction: a circle of them can be understood, and changed, only as a whole.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Modules = BTreeSet<Vec<String>>;

/// The top modules that names at a crate's root come from.
type Exported = BTreeMap<String, String>;

#[test]
fn modules_stand_on_each_other_in_one_direction() {
    let mut names: Vec<String> =
        fs::read_dir("..").unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    assert!(names.len() >= 7, "{names:?}");
    for name in names {
        let stands_on = stands_on(&Path::new("..").join(&name).join("src"));
        assert_eq!(circles(&stands_on), [[""; 0]; 0], "circles of {name}'s modules");
    }
}

/// Which top modules of a crate each of them names, itself left out.
fn stands_on(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let files: Vec<(Vec<String>, PathBuf)> =
        sources(source).into_iter().map(|path| (module(path.strip_prefix(source).unwrap()), path)).collect();
    let modules: Modules = files.iter().map(|(module, _)| module.clone()).collect();
    let root = fs::read_to_string(source.join("lib.rs")).unwrap();
    let exported = exported(&words(&root), &modules);
    let mut stands_on: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, path) in files {
        let Some(top) = module.first().filter(|top| !["lib", "main"].contains(&top.as_str())) else {
            continue;
        };
        let text = fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let named =
            paths(&words(text)).into_iter().filter_map(|path| top_of(&path, &module, &modules, &exported));
        stands_on.entry(top.clone()).or_default().extend(named.filter(|other| other != top));
    }
    stands_on
}

/// All files of sources, but those of tests.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| match path.is_dir() {
        true if path.ends_with("tests") => Vec::new(),
        true => sources(&path),
        false if path.ends_with("tests.rs") => Vec::new(),
        false => vec![path],
    };
    entries.flat_map(of).filter(|path| path.extension().is_some_and(|it| it == "rs")).collect()
}

/// `a/b/mod.rs` and `a/b.rs` are the module a::b.
fn module(path: &Path) -> Vec<String> {
    let mut parts: Vec<String> =
        path.with_extension("").iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    parts.pop_if(|last| last == "mod");
    parts
}

/// Names and signs of a text, without comments and what is in quotes.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if first == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("'\"'") {
            3
        } else if rest.starts_with("::") {
            2
        } else if is_name(first) {
            rest.find(|c| !is_name(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (word, behind) = rest.split_at(length);
        if !word.starts_with("//") && !word.starts_with('"') && !word.trim().is_empty() {
            words.push(word);
        }
        rest = behind;
    }
    words
}

/// The paths that begin with `crate` or `super`, those of a `use` with braces each for itself.
fn paths<'a>(words: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let begins = ["crate", "super"].contains(&words[at]) && words.get(at + 1) == Some(&"::");
        at = if begins { path(words, at, &mut Vec::new(), &mut found) } else { at + 1 };
    }
    found
}

/// Takes the path at `at`, which goes on from `before`; where it ends.
fn path<'a>(
    words: &[&'a str],
    mut at: usize,
    before: &mut Vec<&'a str>,
    found: &mut Vec<Vec<&'a str>>,
) -> usize {
    let length = before.len();
    loop {
        match words.get(at) {
            Some(&"{") => {
                at += 1;
                while words.get(at).is_some_and(|word| *word != "}") {
                    at = path(words, at, before, found).max(at + 1);
                    at += usize::from(words.get(at) == Some(&","));
                }
                at += 1;
                break;
            }
            Some(name) => before.push(name),
            None => break,
        }
        at += 1;
        if words.get(at) != Some(&"::") {
            found.push(before.clone());
            // `as` gives it another name.
            at += if words.get(at) == Some(&"as") { 2 } else { 0 };
            break;
        }
        at += 1;
    }
    before.truncate(length);
    at
}

/// What a crate's root exports by `use` of its own modules.
fn exported(words: &[&str], modules: &Modules) -> Exported {
    let mut found = Vec::new();
    for at in (0..words.len()).filter(|at| words[*at] == "use") {
        path(words, at + 1, &mut Vec::new(), &mut found);
    }
    let own = found.iter().filter(|path| modules.iter().any(|module| module[0] == path[0]));
    let mut exported: Exported =
        own.map(|path| (path[path.len() - 1].to_owned(), path[0].to_owned())).collect();
    for renamed in words.windows(3).filter(|three| three[1] == "as") {
        if let Some(top) = exported.get(renamed[0]).cloned() {
            exported.insert(renamed[2].to_owned(), top);
        }
    }
    exported
}

/// The top module that a path in `module` leads to.
fn top_of(path: &[&str], module: &[String], modules: &Modules, exported: &Exported) -> Option<String> {
    let ups = path.iter().take_while(|word| **word == "super").count();
    let from = if path[0] == "crate" { &[] } else { &module[..module.len().saturating_sub(ups)] };
    let behind = &path[ups.max(usize::from(path[0] == "crate"))..];
    let top = from.first().cloned().or_else(|| behind.first().map(|word| (*word).to_owned()))?;
    if modules.iter().any(|module| module[0] == top) { Some(top) } else { exported.get(&top).cloned() }
}

/// Modules that each lead to each other, in order.
fn circles(stands_on: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<&str>> {
    let reached = |from: &str| {
        let mut reached = BTreeSet::new();
        let mut next: Vec<&str> = vec![from];
        while let Some(module) = next.pop() {
            for other in stands_on.get(module).into_iter().flatten() {
                if reached.insert(other.as_str()) {
                    next.push(other);
                }
            }
        }
        reached
    };
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        stands_on.keys().map(|name| (name.as_str(), reached(name))).collect();
    let with = |name: &str| -> Vec<&str> {
        let mutual = |other: &&&str| {
            reach[name].contains(**other) && reach.get(**other).is_some_and(|it| it.contains(name))
        };
        reach.keys().filter(mutual).copied().collect()
    };
    let all: BTreeSet<Vec<&str>> =
        reach.keys().map(|name| with(name)).filter(|circle| !circle.is_empty()).collect();
    all.into_iter().collect()
}

#[test]
fn paths_are_found_wherever_they_stand() {
    let text = r#"
        use crate::a::{self, b::C, d::{E as F, G}};
        // use crate::comment::X;
        pub(crate) fn f(x: super::h::I) -> crate::j::K { "crate::text::L"; '"'; crate::m(1) }
    "#;
    let found: Vec<String> = paths(&words(text)).iter().map(|path| path.join("::")).collect();
    let expected = [
        "crate::a::self",
        "crate::a::b::C",
        "crate::a::d::E",
        "crate::a::d::G",
        "super::h::I",
        "crate::j::K",
        "crate::m",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_name_at_the_root_is_of_the_module_that_has_it() {
    let modules: Modules = ["a", "b", "c"].map(|name| vec![name.to_owned()]).into();
    let root = words("mod a; mod b; pub use a::{C, D as E}; pub use other::F;");
    let exported = exported(&root, &modules);
    let of = |name: &str| top_of(&["crate", name], &["c".to_owned()], &modules, &exported);
    assert_eq!(
        ["C", "E", "b", "F"].map(of),
        [Some("a"), Some("a"), Some("b"), None].map(|it| it.map(str::to_owned))
    );
}

#[test]
fn a_circle_is_found_with_all_that_are_in_it() {
    let of = |edges: &[(&str, &str)]| {
        let mut stands_on: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (from, to) in edges {
            stands_on.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        circles(&stands_on).iter().map(|circle| circle.join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(of(&[("a", "b"), ("b", "c"), ("a", "c")]), [""; 0]);
    assert_eq!(
        of(&[("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("e", "f"), ("f", "e")]),
        ["a b c", "e f"]
    );
}
