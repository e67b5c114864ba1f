//! What goes wrong in a script: where, and in which of its functions.

use std::fmt;

/// An error that a script raised or met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LuaError {
    /// The function of the script that dyno had called: `init`, `event`, …; none while the script was read.
    pub hook: Option<String>,
    /// As the script's path was given.
    pub file: Option<String>,
    pub line: Option<u32>,
    /// All of what was said, behind file and line.
    pub message: String,
}

impl LuaError {
    /// Takes Lua's words apart: `script.lua:12: what went wrong`.
    pub(super) fn new(hook: Option<String>, text: &str) -> Self {
        match split_location(text) {
            Some((file, line, message)) => {
                Self { hook, file: Some(file.to_owned()), line: Some(line), message: message.to_owned() }
            }
            None => Self { hook, file: None, line: None, message: text.to_owned() },
        }
    }

    /// The script itself could not be read.
    #[must_use]
    pub fn unreadable(name: &str, error: &std::io::Error) -> Self {
        Self::new(None, &format!("cannot read the script {name}: {error}"))
    }

    pub(super) fn from_lua(hook: Option<&str>, error: &mlua::Error) -> Self {
        let text = match error {
            mlua::Error::RuntimeError(text) | mlua::Error::MemoryError(text) => text.clone(),
            error => error.to_string(),
        };
        // Behind the first line stands where in our own driver it came up.
        let text = text.split("\nstack traceback:").next().unwrap_or_default();
        Self::new(hook.map(str::to_owned), text)
    }
}

/// File, line and message of `file:line: message`.
fn split_location(text: &str) -> Option<(&str, u32, &str)> {
    let first_line = text.lines().next()?;
    let (colon, line, after) = first_line.match_indices(':').find_map(|(colon, _)| {
        let rest = &first_line[colon + 1..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let line = rest[..digits].parse().ok()?;
        rest[digits..].starts_with(": ").then_some((colon, line, colon + 1 + digits + 2))
    })?;
    (colon > 0).then(|| (&text[..colon], line, &text[after..]))
}

impl fmt::Display for LuaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(hook) = &self.hook {
            // sysbench names the function that calls event(), and people look for that.
            let hook = if hook == "event" { "thread_run" } else { hook };
            write!(f, "`{hook}' function failed: ")?;
        }
        if let (Some(file), Some(line)) = (&self.file, self.line) {
            write!(f, "{file}:{line}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for LuaError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_and_line_are_told_apart_from_the_message() {
        let error = LuaError::new(Some("event".to_owned()), "dir/a.lua:12: boom: 7: x");
        assert_eq!((error.file.as_deref(), error.line), (Some("dir/a.lua"), Some(12)));
        assert_eq!(error.message, "boom: 7: x");
        assert_eq!(error.to_string(), "`thread_run' function failed: dir/a.lua:12: boom: 7: x");
    }

    #[test]
    fn a_message_without_a_place_stays_whole() {
        for text in
            ["boom", ":3: boom", "12: boom", "SQL error, errno = 0, state = '42601': no", "", "a:b", "ä:1"]
        {
            let error = LuaError::new(None, text);
            assert_eq!((error.file, error.line, error.message.as_str()), (None, None, text));
        }
    }
}
