//! Reads a folder from the disk: `workload.toml`, and the scripts that it names.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _};
use std::path::{Component, Path, PathBuf};

use super::mistake::{Mistake, Mistakes, Notes, instead_of};
use super::transactions::{script_of, variant_names};
use super::{DIALECTS, FILE, FILE_BYTES_MAX, TRANSACTIONS_MAX, parse};

/// A workload's name that is a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The folder, as it is called from here on: `./shop`, `/home/me/shop`.
    pub folder: String,
    /// The name of one of its transactions, where the path goes on so.
    pub transaction: Option<String>,
}

impl Named {
    /// `./shop`, `./shop/join`
    #[must_use]
    pub fn workload(&self) -> String {
        match &self.transaction {
            Some(transaction) => format!("{}/{transaction}", self.folder),
            None => self.folder.clone(),
        }
    }
}

/// The folder with a `workload.toml` that a name stands for: that of the path, or its parent's; `None` where there is none.
#[must_use]
pub fn named(workload: &str) -> Option<Named> {
    // What cannot be looked at is told where it is read.
    let is_file = |path: PathBuf| match std::fs::metadata(path) {
        Ok(found) => found.is_file(),
        Err(error) => error.kind() == ErrorKind::PermissionDenied,
    };
    let is_workload = |path: &str| !path.is_empty() && is_file(Path::new(path).join(FILE));
    let whole = workload.strip_suffix(FILE).unwrap_or(workload);
    let path = match whole.trim_end_matches('/') {
        "" if whole.starts_with('/') => "/",
        "" => ".",
        path => path,
    };
    let called = |path: &str| match path {
        path if path.starts_with(['/', '.']) => path.to_owned(),
        path => format!("./{path}"),
    };
    if is_workload(path) {
        return Some(Named { folder: called(path), transaction: None });
    }
    let (parent, transaction) = path.rsplit_once('/')?;
    let transaction = Some(transaction.to_owned());
    is_workload(parent).then(|| Named { folder: called(parent), transaction })
}

/// The texts of `workload.toml` and of the scripts that it names, by their paths in the folder.
///
/// # Errors
/// A file cannot be read, is too large, or is not in the folder.
pub fn read(folder: &Path) -> Result<BTreeMap<String, String>, Mistakes> {
    let whole = folder.join(FILE);
    let text = check_within(folder, &whole, FILE).and_then(|()| read_file(&whole));
    let text = text.map_err(|why| Mistake::of_file(FILE, why))?;
    let file = parse(&text)?;
    let mut notes = Notes { file: FILE, text: &text, found: Vec::new() };
    let mut files = BTreeMap::new();
    let scripts: Vec<String> = file.transactions.iter().map(|transaction| script_of(transaction).0).collect();
    for transaction in file.transactions.iter().take(TRANSACTIONS_MAX) {
        let (script, span) = script_of(transaction);
        match read_within(folder, &script) {
            Ok(Some(text)) => _ = files.insert(script.clone(), text),
            // Who looks at the whole folder says so.
            Ok(None) => {}
            Err(why) => {
                notes.at(span, why);
                continue;
            }
        }
        for (_, variant) in variant_names(&script) {
            match read_within(folder, &variant) {
                Ok(Some(text)) => _ = files.insert(variant, text),
                Ok(None) => {}
                Err(why) => notes.at(span.clone(), why),
            }
        }
        for (stranger, dialect) in of_no_dialect(folder, &script) {
            if !scripts.contains(&stranger) {
                let instead = instead_of(&dialect, DIALECTS.into_iter());
                notes.at(
                    span.clone(),
                    format!("nothing reads `{stranger}`: there is no dialect `{dialect}`{instead}"),
                );
            }
        }
    }
    for query in file.passes.iter().take(TRANSACTIONS_MAX).flat_map(|pass| &pass.queries) {
        match read_within(folder, query.get_ref()) {
            Ok(Some(text)) => _ = files.insert(query.get_ref().clone(), text),
            Ok(None) => {}
            Err(why) => notes.at(query.span(), why),
        }
    }
    if !notes.found.is_empty() {
        return Err(Mistakes(notes.found));
    }
    files.insert(FILE.to_owned(), text);
    Ok(files)
}

/// Files that are called as if a dialect had a script of its own, and there is no such dialect, which is what follows.
fn of_no_dialect(folder: &Path, script: &str) -> Vec<(String, String)> {
    let (within, name) = script.rsplit_once('/').map_or(("", script), |(within, name)| (within, name));
    let stem = format!("{}.", name.strip_suffix(".sql").unwrap_or(name));
    let files = std::fs::read_dir(folder.join(within)).into_iter().flatten().flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    let dialects = names.filter_map(|name| {
        let dialect = name.strip_prefix(&stem)?.strip_suffix(".sql")?.to_owned();
        let path = if within.is_empty() { name } else { format!("{within}/{name}") };
        (!DIALECTS.contains(&dialect.as_str())).then_some((path, dialect))
    });
    let mut found: Vec<_> = dialects.collect();
    found.sort_unstable();
    found
}

/// The text of a file in the folder; `None` where there is none.
fn read_within(folder: &Path, file: &str) -> Result<Option<String>, String> {
    let path = Path::new(file);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_plain || !file.ends_with(".sql") {
        return Err(format!(
            "`{file}` is no script of the folder: it is the path of a file in it, and ends with .sql"
        ));
    }
    let whole = folder.join(path);
    if !whole.exists() {
        return Ok(None);
    }
    check_within(folder, &whole, file)?;
    read_file(&whole).map(Some)
}

/// A link may lead anywhere.
fn check_within(folder: &Path, whole: &Path, file: &str) -> Result<(), String> {
    let canonical = |path: &Path| -> Result<PathBuf, String> {
        path.canonicalize().map_err(|error| format!("cannot read `{}`: {error}", path.display()))
    };
    if canonical(whole)?.starts_with(canonical(folder)?) {
        Ok(())
    } else {
        Err(format!("`{file}` leads out of the folder"))
    }
}

fn read_file(path: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("cannot read `{}`: {error}", path.display());
    // To open a pipe would wait for somebody who writes into it.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(format!("`{}` is no file", path.display()));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(format!("`{}` is larger than {} KB", path.display(), FILE_BYTES_MAX / 1024));
    }
    String::from_utf8(bytes).map_err(|_| format!("`{}` is no text in UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn the_file_of_the_workload_is_a_file_in_the_folder() {
        let home = tempfile::tempdir().unwrap();
        let shop = home.path().join("shop");
        std::fs::create_dir(&shop).unwrap();
        std::fs::write(home.path().join("other.toml"), "about = \"x\"\n").unwrap();
        std::os::unix::fs::symlink("../other.toml", shop.join(FILE)).unwrap();
        let said = read(&shop).unwrap_err().to_string();
        assert_eq!(said, "workload.toml: `workload.toml` leads out of the folder");
        std::fs::remove_file(shop.join(FILE)).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(shop.join(FILE)).unwrap();
        let said = read(&shop).unwrap_err().to_string();
        assert!(said.ends_with("/shop/workload.toml` is no file"), "{said}");
    }
}
