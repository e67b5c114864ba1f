//! JSON for machines: what `--json` prints. The documents and their versions are described in `docs/json.md`.
//!
//! A number that is none (NaN, infinity) is written as `null`, as everything unknown is.

use std::io::{self, Write};

use serde::Serialize;

use crate::text::is_treacherous;

/// How JSON is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Indented, for a person or a diff.
    Pretty,
    /// On one line, for a pipe.
    Compact,
}

/// Why JSON could not be written.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// A defect of dyno: the document has a form that JSON has not.
    #[error("the report cannot be expressed as JSON: {0}")]
    Form(#[source] serde_json::Error),
    #[error("cannot write JSON: {0}")]
    Write(#[source] io::Error),
}

/// Writes a document, such as `document::Report`, and a newline.
///
/// Characters that a terminal would obey are written as escapes, which means the same to every JSON reader.
pub fn write<T: Serialize + ?Sized>(
    document: &T,
    layout: Layout,
    out: &mut (impl Write + ?Sized),
) -> Result<(), JsonError> {
    let text = match layout {
        Layout::Pretty => serde_json::to_string_pretty(document),
        Layout::Compact => serde_json::to_string(document),
    }
    .map_err(JsonError::Form)?;
    let text = escaped(text);
    out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n")).map_err(JsonError::Write)
}

/// Escapes what serde_json leaves as it is. Outside strings JSON has none of these characters but the newlines
/// of its layout.
fn escaped(text: String) -> String {
    let needs_escape = |character: char| character != '\n' && is_treacherous(character);
    if !text.chars().any(needs_escape) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 64);
    for character in text.chars() {
        if needs_escape(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(character);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written<T: Serialize>(document: &T, layout: Layout) -> String {
        let mut out = Vec::new();
        write(document, layout, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn unknown_is_null() {
        assert_eq!(written(&[Some(1.5), Some(f64::NAN), None], Layout::Compact), "[1.5,null,null]\n");
        assert_eq!(written(&[1], Layout::Pretty), "[\n  1\n]\n");
    }

    #[test]
    fn a_failing_writer_is_told() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::from(io::ErrorKind::StorageFull))
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        assert!(matches!(write(&1, Layout::Compact, &mut Full), Err(JsonError::Write(_))));
    }

    proptest! {
        #[test]
        fn any_text_survives_and_is_harmless(text in any::<String>(), tail in "[\u{1b}\u{9b}\u{202e}\u{e0041}\u{7f}]{0,3}") {
            let text = text + &tail;
            for layout in [Layout::Pretty, Layout::Compact] {
                let json = written(&[&text], layout);
                prop_assert!(!json.replace('\n', "").chars().any(is_treacherous));
                prop_assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), vec![text.clone()]);
            }
        }
    }
}
