//! Reading the small text files of the kernel. A file that is missing or unreadable is `None`.

use std::path::Path;

/// The file's text without surrounding white space; `None` if it is empty.
pub(super) fn text(path: impl AsRef<Path>) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The file's text as a number.
pub(super) fn number(path: impl AsRef<Path>) -> Option<u64> {
    text(path)?.parse().ok()
}
