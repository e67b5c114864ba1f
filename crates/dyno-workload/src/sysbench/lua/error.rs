//! What goes wrong in a script: where, and in which of its functions.

use std::fmt;

/// An error that a script raised or met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LuaError {
    /// The function of the script that dyno had called: `init`, `event`, …; none while the script was read.
    pub hook: Option<String>,
    /// In Lua's words, with the place: `script.lua:12: what went wrong`.
    pub message: String,
}

impl LuaError {
    pub(super) fn new(hook: Option<String>, message: impl Into<String>) -> Self {
        Self { hook, message: message.into() }
    }

    /// The script itself could not be read.
    pub fn unreadable(name: &str, error: &std::io::Error) -> Self {
        Self::new(None, format!("cannot read the script {name}: {error}"))
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

impl From<mlua::Error> for LuaError {
    fn from(error: mlua::Error) -> Self {
        Self::from_lua(None, &error)
    }
}

impl fmt::Display for LuaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(hook) = &self.hook {
            // sysbench names the function that calls event(), and people look for that.
            let hook = if hook == "event" { "thread_run" } else { hook };
            write!(f, "`{hook}' function failed: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for LuaError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_function_that_sysbench_names() {
        let error = LuaError::new(Some("event".to_owned()), "dir/a.lua:12: boom: 7: x");
        assert_eq!(error.to_string(), "`thread_run' function failed: dir/a.lua:12: boom: 7: x");
        assert_eq!(LuaError::new(None, "boom").to_string(), "boom");
    }
}
