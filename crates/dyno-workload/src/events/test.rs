//! The two tests: their names, and what can be said of each without looking at its statement.

/// A test of the family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Test {
    Join,
    Ingest,
}

impl Test {
    /// In the order in which the family runs them: reading first, while all targets hold the same rows.
    pub const ALL: [Self; 2] = [Self::Join, Self::Ingest];

    /// `join`: the series and the type of its transactions.
    pub fn name(self) -> &'static str {
        // The workload's name without its family.
        self.workload().split_at(super::NAME.len() + 1).1
    }

    /// The workload's full name, `events/join`.
    pub fn workload(self) -> &'static str {
        match self {
            Self::Join => "events/join",
            Self::Ingest => "events/ingest",
        }
    }

    /// One line for a list.
    pub fn about(self) -> &'static str {
        match self {
            Self::Join => "read: name, address and action of a random event, by a left join",
            Self::Ingest => "write: insert an event of a random customer",
        }
    }

    pub fn writes(self) -> bool {
        self == Self::Ingest
    }

    /// The only statement of a transaction.
    pub(super) fn sql(self) -> &'static str {
        match self {
            Self::Join => {
                "SELECT c.name, c.address, e.action FROM event e LEFT JOIN customer c ON c.id = e.customer_id \
                 WHERE e.id = $1"
            }
            Self::Ingest => "INSERT INTO event (customer_id, action) VALUES ($1, $2)",
        }
    }
}
