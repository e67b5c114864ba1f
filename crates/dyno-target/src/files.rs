//! Files that a user names: read whole, up to a limit, so that a device or the wrong file does not fill the memory; and those
//! beside a database's.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Far more than a script, a scenario, a certificate or a file of passwords has.
const BYTES_MAX: u64 = 16 << 20;

/// What the file holds.
///
/// # Errors
/// What the system said, and that it is too large to be what it is taken for.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    read_all(File::open(path)?)
}

/// The same of a file that must be text.
///
/// # Errors
/// As [`read`], and where it is not UTF-8.
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8"))
}

/// What is left of a file that is open.
///
/// # Errors
/// As [`read`].
pub fn read_all(file: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        let limit = format!("it has more than {} MiB", BYTES_MAX >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, limit));
    }
    Ok(bytes)
}

/// A database's file as it was named, and those beside it whose names are its own with these endings: beside the file itself, where
/// it was named by a link.
pub(crate) fn with_beside(file: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let real = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let beside = endings.iter().map(|ending| {
        let mut name = real.clone().into_os_string();
        name.push(ending);
        name.into()
    });
    std::iter::once(file.to_owned()).chain(beside).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_never_ends_is_refused() {
        let error = super::read("/dev/zero").unwrap_err();
        assert!(error.to_string().contains("more than 16 MiB"), "{error}");
        assert_eq!(super::read_to_string("/dev/null").unwrap(), "");
    }
}
