//! What dyno says beside what the other program says, as `--dyno` and the environment have it.

use std::io::IsTerminal as _;

/// What dyno says beside what the other program says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Extras {
    /// Nothing, and nothing is stored.
    Off,
    /// As `Brief` where standard error is a terminal. Elsewhere nothing: whoever reads a pipe or a file expects the other
    /// program's words alone.
    #[default]
    Usual,
    /// A few lines on standard error.
    Brief,
    /// The whole report on standard output, behind the other program's.
    Full,
}

/// What is none of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid value \"{value}\" of {of}: expecting \"off\", \"brief\" or \"full\"")]
pub(crate) struct ExtrasError {
    value: String,
    of: &'static str,
}

impl Extras {
    /// `of` is the option that has the value.
    pub(crate) fn named(value: &str, of: &'static str) -> Result<Self, ExtrasError> {
        match value {
            "off" => Ok(Self::Off),
            "brief" => Ok(Self::Brief),
            "full" => Ok(Self::Full),
            _ => Err(ExtrasError { value: value.to_owned(), of }),
        }
    }

    /// What the environment says where no option does.
    pub(crate) fn of_environment(
        variable: &'static str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ExtrasError> {
        match environment(variable).filter(|value| !value.is_empty()) {
            None => Ok(Self::default()),
            Some(value) => Self::named(&value, variable),
        }
    }

    /// What a bare `--dyno` makes of it.
    pub(crate) fn turned_on(self) -> Self {
        if self == Self::Full { self } else { Self::Brief }
    }

    /// Tells lines of dyno's own on standard error, if they are wanted there.
    pub(crate) fn tell(self, lines: &str) {
        let wanted = match self {
            Self::Off => false,
            Self::Usual => std::io::stderr().is_terminal(),
            Self::Brief | Self::Full => true,
        };
        if wanted {
            super::say(lines);
        }
    }
}
