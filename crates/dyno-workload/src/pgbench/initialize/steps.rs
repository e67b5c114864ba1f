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

    /// What a plain `-i` does: `dtgvp`.
    pub(super) const USUAL: [Self; 5] =
        [Self::DropTables, Self::CreateTables, Self::ClientSideGenerate, Self::Vacuum, Self::PrimaryKeys];

    /// Reads what `-I` was given, in which a step may come more than once. A blank is no step.
    ///
    /// # Errors
    /// Nothing was given at all, or a character is no step.
    pub fn parse_all(letters: &str) -> Result<Vec<Self>, StepsError> {
        if letters.is_empty() {
            return Err(StepsError::Empty);
        }
        let step = |letter| {
            let found = Self::ALL.into_iter().find(|(_, known, ..)| *known == letter);
            found.map(|(step, ..)| step).ok_or(StepsError::Unrecognized { letter })
        };
        letters.chars().filter(|letter| *letter != ' ').map(step).collect()
    }

    pub(super) fn name(self) -> &'static str {
        Self::ALL[self as usize].2
    }

    pub(super) fn announcement(self) -> &'static str {
        Self::ALL[self as usize].3
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

    fn letters(steps: &[Step]) -> String {
        steps.iter().map(|step| Step::ALL[*step as usize].1).collect()
    }

    #[test]
    fn steps_keep_their_order() {
        assert_eq!(letters(&Step::parse_all("dtgGvpf").unwrap()), "dtgGvpf");
        assert_eq!(letters(&Step::parse_all(" p dd ").unwrap()), "pdd");
        assert_eq!(letters(&Step::parse_all(" ").unwrap()), "");
        assert_eq!(letters(&Step::USUAL), "dtgvp");
    }

    #[test]
    fn another_letter_is_no_step() {
        let error = Step::parse_all("dx").unwrap_err();
        assert_eq!(error.to_string(), "unrecognized initialization step \"x\"");
        assert_eq!(error.detail(), Some("Allowed step characters are: \"dtgGvpf\"."));
        assert_eq!(Step::parse_all("D"), Err(StepsError::Unrecognized { letter: 'D' }));
        assert_eq!(Step::parse_all("").unwrap_err().to_string(), "no initialization steps specified");
    }
}
