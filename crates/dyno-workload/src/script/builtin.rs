//! The scripts of pgbench that come with the program: those of the workload `tpcb`.

/// A script that comes with the program.
#[derive(Debug, PartialEq, Eq)]
pub struct Builtin {
    pub name: &'static str,
    pub description: &'static str,
    pub text: &'static str,
}

/// In the order in which they are listed.
pub const ALL: &[Builtin] = &[
    Builtin {
        name: "tpcb-like",
        description: "<builtin: TPC-B (sort of)>",
        text: include_str!("../../../../workloads/tpcb/tpcb-like.sql"),
    },
    Builtin {
        name: "simple-update",
        description: "<builtin: simple update>",
        text: include_str!("../../../../workloads/tpcb/simple-update.sql"),
    },
    Builtin {
        name: "select-only",
        description: "<builtin: select only>",
        text: include_str!("../../../../workloads/tpcb/select-only.sql"),
    },
];

/// Displays as the message that pgbench prints.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    #[error("no builtin script found for name \"{0}\"")]
    Unknown(String),
    #[error("ambiguous builtin name: {count} builtin scripts found for prefix \"{prefix}\"")]
    Ambiguous { prefix: String, count: usize },
}

/// The builtin script whose name begins so.
///
/// # Errors
/// When there is none, or more than one.
pub fn find(prefix: &str) -> Result<&'static Builtin, FindError> {
    let mut found = ALL.iter().filter(|builtin| builtin.name.starts_with(prefix));
    match (found.next(), found.count()) {
        (None, _) => Err(FindError::Unknown(prefix.to_owned())),
        (Some(builtin), 0) => Ok(builtin),
        (Some(_), more) => Err(FindError::Ambiguous { prefix: prefix.to_owned(), count: more + 1 }),
    }
}
