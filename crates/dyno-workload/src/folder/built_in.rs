//! The folders that come with dyno, in the program itself, and how one of them is written out as the start of a user's own.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::mistake::nearest;

/// The files of `workloads/NAME`.
macro_rules! folder {
    ($name:literal: $($file:literal),+) => {
        ($name, &[$(($file, include_str!(concat!("../../../../workloads/", $name, "/", $file)))),+])
    };
}

type Files = &'static [(&'static str, &'static str)];

/// The document of each that has one of its own.
const DOCUMENTS: [(&str, &str); 2] = [("tpcc", "docs/tpcc.md"), ("storage", "docs/storage.md")];

const FOLDERS: &[(&str, Files)] = &[
    folder!("tpcb": "workload.toml", "select-only.sql", "simple-update.sql", "tpcb-like.sql"),
    folder!(
        "tpcc": "workload.toml", "new_order.sql", "payment.sql", "order_status.sql", "delivery.sql", "stock_level.sql"
    ),
    folder!("events": "workload.toml", "join.sql", "ingest.sql"),
    folder!("storage": "workload.toml", "top-100.sql", "first-3.sql", "count-by-branch.sql", "point-read.sql", "updates.sql",
        "tpcb.sql"),
];

/// Each with the texts of its files.
pub(super) fn folders() -> impl Iterator<Item = (&'static str, BTreeMap<String, String>)> {
    let texts =
        |files: Files| files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
    FOLDERS.iter().map(move |(name, files)| (*name, texts(files)))
}

/// The document that says what the options of one do.
pub(super) fn document(name: &str) -> &'static str {
    let own = DOCUMENTS.iter().find(|(known, _)| *known == name);
    own.map_or("docs/workloads.md", |(_, document)| document)
}

/// Writes the files of a folder that comes with dyno into a directory, which is made. Returns their paths.
///
/// # Errors
/// There is no such folder, a file is there already, or cannot be written.
pub fn export(name: &str, into: &Path) -> Result<Vec<PathBuf>, ExportError> {
    let names = || FOLDERS.iter().map(|(name, _)| *name);
    let Some((_, files)) = FOLDERS.iter().find(|(known, _)| *known == name) else {
        return Err(ExportError::NoSuch {
            name: name.to_owned(),
            nearest: nearest(name, names()),
            known: names().collect::<Vec<_>>().join(", "),
        });
    };
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => ExportError::IsThere { path },
            _ => ExportError::Io { path, source },
        }
    };
    // Nothing is written where one of them is there.
    if let Some(path) =
        files.iter().map(|(file, _)| into.join(file)).find(|path| path.symlink_metadata().is_ok())
    {
        return Err(ExportError::IsThere { path });
    }
    fs::create_dir_all(into).map_err(failed(into))?;
    let write = |(file, text): &(&str, &str)| {
        let path = into.join(file);
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(failed(&path))?;
        file.write_all(text.as_bytes()).map_err(failed(&path))?;
        Ok(path)
    };
    files.iter().map(write).collect()
}

/// Why a folder cannot be written out.
#[derive(Debug, Error)]
pub enum ExportError {
    #[error("no workload {name:?} is a folder that comes with dyno{}; there are {known}", nearest.map(|it| format!(", did you mean {it}?")).unwrap_or_default())]
    NoSuch { name: String, nearest: Option<&'static str>, known: String },
    #[error("{} is there already, and is left as it is: name another directory", path.display())]
    IsThere { path: PathBuf },
    #[error("cannot write {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use dyno_target::product::Dialect;

    use super::*;
    use crate::folder::tables::context;
    use crate::folder::{Folder, built_in, read};
    use crate::script::Value;

    fn on_disk(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads").join(name)
    }

    #[test]
    fn every_folder_is_whole_and_has_no_mistake() {
        for (name, files) in folders() {
            assert_eq!(files, read(&on_disk(name)).unwrap(), "{name}");
            let folder = Folder::built_in(name, &files).unwrap();
            // Lists say the same of it before it is compiled.
            let family = built_in().find(|family| family.name() == name).unwrap();
            let listed: Vec<_> =
                family.workloads().into_iter().map(|(listed, _)| (listed.name, listed.about)).collect();
            let compiled: Vec<_> = folder
                .workloads
                .iter()
                .zip(&folder.mixes)
                .map(|(name, mix)| (*name, mix.about.as_str()))
                .collect();
            assert_eq!(listed, compiled);
            assert!(family.usual(serde_json::Map::new()).iter().all(|name| folder.workloads.contains(name)));
            let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document(name));
            assert!(document.is_file(), "{}", document.display());
        }
        let mut names: Vec<_> =
            fs::read_dir(on_disk("")).unwrap().map(|it| it.unwrap().file_name()).collect();
        names.sort();
        let mut known: Vec<&str> = FOLDERS.iter().map(|(name, _)| *name).collect();
        known.sort_unstable();
        assert_eq!(names, known);
    }

    #[test]
    fn a_folder_is_written_out_once() {
        let home = tempfile::tempdir().unwrap();
        let into = home.path().join("new/mine");
        let said = export("event", &into).unwrap_err().to_string();
        assert!(said.contains("did you mean events?") && !into.exists(), "{said}");
        let paths = export("events", &into).unwrap();
        assert_eq!(paths.len(), 3);
        assert_eq!(read(&into).unwrap(), read(&on_disk("events")).unwrap());
        // One file of a user's is enough.
        fs::remove_file(into.join("workload.toml")).unwrap();
        fs::write(into.join("ingest.sql"), "mine").unwrap();
        let said = export("events", &into).unwrap_err().to_string();
        assert!(said.ends_with("is there already, and is left as it is: name another directory"), "{said}");
        assert!(!into.join("workload.toml").exists());
        assert_eq!(fs::read_to_string(into.join("ingest.sql")).unwrap(), "mine");
    }

    fn tpcb() -> Folder {
        let (name, files) = folders().find(|(name, _)| *name == "tpcb").unwrap();
        Folder::built_in(name, &files).unwrap()
    }

    #[test]
    fn a_scale_of_tpcb_that_suits_follows_the_processors() {
        let folder = tpcb();
        let suits = |cpus, quick| folder.options.suits(&folder.names, cpus, quick).unwrap().unwrap();
        assert_eq!([suits(2, false), suits(16, false), suits(128, false)], [50, 128, 200]);
        assert_eq!([suits(2, true), suits(8, true), suits(128, true)], [10, 16, 20]);
    }

    #[test]
    fn tables_of_tpcb_are_as_pgbench_makes_them() {
        let folder = tpcb();
        let create = |table: usize, scale: i64| {
            let values = vec![Value::Integer(scale)];
            let mut context = context(&folder.names, 0, &folder.options, &values);
            let (table, dialect) = (&folder.tables[table], Dialect::of_wire(false));
            let rows = table.numbers(&[], &mut context).unwrap();
            let mut made = table.describe(&dialect, (&folder.tables, &[]), &[], (rows, 0));
            table.narrow(&mut made, &mut context).unwrap();
            (rows, made.create(&dialect, ""))
        };
        let history = "CREATE TABLE pgbench_history (tid INTEGER, bid INTEGER, aid INTEGER, delta INTEGER, mtime TIMESTAMP, filler CHAR(22))";
        assert_eq!(create(0, 19_999), (0, history.to_owned()));
        assert!(create(0, 20_000).1.contains(" aid BIGINT, "));
        let accounts = |kind| {
            format!(
                "CREATE TABLE pgbench_accounts (aid {kind} NOT NULL, bid INTEGER, abalance INTEGER, filler CHAR(84)) \
                 WITH (fillfactor=100)"
            )
        };
        assert_eq!(create(2, 19_999), (1_999_900_000, accounts("INTEGER")));
        assert_eq!(create(2, 20_000), (2_000_000_000, accounts("BIGINT")));
        assert_eq!(create(2, 1_000_000).0, 100_000_000_000);
        let mut context = context(&folder.names, 0, &folder.options, &vec![Value::Integer(1_000_001)]);
        assert!(folder.tables[2].numbers(&[], &mut context).unwrap_err().contains("at most"));
    }
}
