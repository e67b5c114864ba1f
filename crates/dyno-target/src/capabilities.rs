//! What can be said of a target from its name alone, so that nobody above asks which product it is. A driver adds its own
//! here.

use dyno_results::sql_text::Syntax;

/// How a server writes the errors that it reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCodes {
    Numbers,
    /// Five letters or digits: `40P01`.
    SqlStates,
    /// `SQLITE_BUSY`
    Names,
}

/// What workloads require and not every kind of target has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// Several statements that are done together or not at all.
    Transactions,
    /// Keys that are unique, by which single rows are changed.
    Keys,
    /// Columns whose values the server counts up.
    NumberedRows,
    /// A type for dates, from which an interval can be taken.
    Dates,
}

impl std::fmt::Display for Feature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Transactions => "transactions",
            Self::Keys => "unique keys by which single rows are changed",
            Self::NumberedRows => "columns that number rows",
            Self::Dates => "arithmetic with dates",
        })
    }
}

/// What a kind of target is and can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The protocol's name, by which folders say what they run on.
    pub protocol: &'static str,
    pub features: &'static [Feature],
    /// The name of a target where the user gives it none.
    pub short_name: &'static str,
    pub error_codes: ErrorCodes,
    /// How its own client reads quotes and comments.
    pub syntax: Syntax,
    /// Whether statements can be sent with their parameters apart without being prepared first.
    pub extended_protocol: bool,
    /// Its name says that it is only read.
    pub read_only: bool,
    /// How a target without a database names one; `None` where each name has one.
    pub name_database: Option<&'static str>,
    /// Has a session's queries use up to `{workers}` further processes; `None` where that cannot be said.
    pub parallel_workers: Option<&'static str>,
}

impl Capabilities {
    const OF_SERVERS: &'static [Feature] =
        &[Feature::Transactions, Feature::Keys, Feature::NumberedRows, Feature::Dates];
    /// Of a server that dyno starts itself.
    pub const EMBEDDED: Self = Self::POSTGRESQL;
    pub const POSTGRESQL: Self = Self {
        error_codes: ErrorCodes::SqlStates,
        extended_protocol: true,
        features: Self::OF_SERVERS,
        parallel_workers: Some("SET max_parallel_workers_per_gather = {workers}"),
        ..Self::new("PostgreSQL", "pg", Syntax::POSTGRESQL)
    };
    pub const MYSQL: Self = Self {
        error_codes: ErrorCodes::Numbers,
        features: Self::OF_SERVERS,
        name_database: Some("mysql://user@host/DATABASE"),
        ..Self::new("MySQL", "my", Syntax::MYSQL)
    };

    /// Of a target that can do nothing beyond queries, and whose errors have names.
    pub(crate) const fn new(protocol: &'static str, short_name: &'static str, syntax: Syntax) -> Self {
        Self {
            protocol,
            features: &[],
            short_name,
            error_codes: ErrorCodes::Names,
            syntax,
            extended_protocol: false,
            read_only: false,
            name_database: None,
            parallel_workers: None,
        }
    }
}
