//! The steps of an initialisation, as `-I` names them.

use thiserror::Error;

/// One step; in the order of [`Step::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    DropTables,
    CreateTables,
    ClientSideGenerate,
    ServerSideGenerate,
    Vacuum,
    PrimaryKeys,
    ForeignKeys,
}

impl Step {
    /// Each with its letter in `-I`, its name in the last line, where its time stands, and what is said when it begins.
    const ALL: [(Self, char, &'static str, &'static str); 7] = [
        (Self::DropTables, 'd', "drop tables", "dropping old tables...\n"),
        (Self::CreateTables, 't', "create tables", "creating tables...\n"),
        (Self::ClientSideGenerate, 'g', "client-side generate", "generating data (client-side)...\n"),
        (Self::ServerSideGenerate, 'G', "server-side generate", "generating data (server-side)...\n"),
        (Self::Vacuum, 'v', "vacuum", "vacuuming...\n"),
        (Self::PrimaryKeys, 'p', "primary keys", "creating primary keys...\n"),
        (Self::ForeignKeys, 'f', "foreign keys", "creating foreign keys...\n"),
    ];

    #[must_use]
    pub fn letter(self) -> char {
        Self::ALL[self as usize].1
    }

    pub(super) fn name(self) -> &'static str {
        Self::ALL[self as usize].2
    }

    pub(super) fn announcement(self) -> &'static str {
        Self::ALL[self as usize].3
    }
}

/// Steps in their order; a step may come more than once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps(Vec<Step>);

impl Steps {
    /// Reads what `-I` was given. A blank is no step.
    ///
    /// # Errors
    /// Nothing was given at all, or a character is no step.
    pub fn parse(letters: &str) -> Result<Self, StepsError> {
        if letters.is_empty() {
            return Err(StepsError::Empty);
        }
        let step = |letter| {
            let found = Step::ALL.into_iter().find(|(_, known, ..)| *known == letter);
            found.map(|(step, ..)| step).ok_or(StepsError::Unrecognized { letter })
        };
        letters.chars().filter(|letter| *letter != ' ').map(step).collect::<Result<_, _>>().map(Self)
    }

    /// As `-n` has them.
    #[must_use]
    pub fn without_vacuum(mut self) -> Self {
        self.0.retain(|step| *step != Step::Vacuum);
        self
    }

    /// As `--foreign-keys` has them: that step last, unless it is among them.
    #[must_use]
    pub fn with_foreign_keys(mut self) -> Self {
        if !self.0.contains(&Step::ForeignKeys) {
            self.0.push(Step::ForeignKeys);
        }
        self
    }

    pub fn iter(&self) -> impl Iterator<Item = Step> {
        self.0.iter().copied()
    }
}

impl Default for Steps {
    /// `dtgvp`.
    fn default() -> Self {
        Self(vec![
            Step::DropTables,
            Step::CreateTables,
            Step::ClientSideGenerate,
            Step::Vacuum,
            Step::PrimaryKeys,
        ])
    }
}

/// What `-I` was given is no list of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum StepsError {
    #[error("no initialization steps specified")]
    Empty,
    #[error("unrecognized initialization step \"{letter}\"")]
    Unrecognized { letter: char },
}

impl StepsError {
    /// What pgbench prints behind `pgbench: detail: `.
    #[must_use]
    pub fn detail(self) -> Option<&'static str> {
        match self {
            Self::Empty => None,
            Self::Unrecognized { .. } => Some("Allowed step characters are: \"dtgGvpf\"."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(steps: &Steps) -> String {
        steps.iter().map(Step::letter).collect()
    }

    #[test]
    fn steps_keep_their_order() {
        assert_eq!(letters(&Steps::parse("dtgGvpf").unwrap()), "dtgGvpf");
        assert_eq!(letters(&Steps::parse(" p dd ").unwrap()), "pdd");
        assert_eq!(letters(&Steps::parse(" ").unwrap()), "");
        assert_eq!(letters(&Steps::default()), "dtgvp");
    }

    #[test]
    fn options_change_the_steps() {
        assert_eq!(letters(&Steps::parse("vdvt").unwrap().without_vacuum()), "dt");
        assert_eq!(letters(&Steps::default().with_foreign_keys().with_foreign_keys()), "dtgvpf");
        assert_eq!(letters(&Steps::parse("dfp").unwrap().with_foreign_keys()), "dfp");
    }

    #[test]
    fn another_letter_is_no_step() {
        let error = Steps::parse("dx").unwrap_err();
        assert_eq!(error.to_string(), "unrecognized initialization step \"x\"");
        assert_eq!(error.detail(), Some("Allowed step characters are: \"dtgGvpf\"."));
        assert_eq!(Steps::parse("D"), Err(StepsError::Unrecognized { letter: 'D' }));
        assert_eq!(Steps::parse("").unwrap_err().to_string(), "no initialization steps specified");
    }
}
