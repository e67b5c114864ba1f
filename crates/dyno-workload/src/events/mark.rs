//! The mark that dyno's tables carry in their comments: it tells them from a user's own tables of the same names, and a
//! finished preparation from one that was broken off.

use super::size::Size;

/// Version of the tables and of their contents.
pub(super) const FORMAT: u32 = 1;

const BEGINNING: &str = "dyno events/";
const UNFINISHED: &str = "unfinished";

/// What a table's comment says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// Its preparation has not come to its end.
    Unfinished,
    Whole(Recipe),
    /// Made by a dyno with other tables.
    OtherFormat,
}

/// What the tables were made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Recipe {
    pub size: Size,
    pub customer_index: bool,
}

impl Recipe {
    /// `dyno events/1 rows=70000000 customers=700000 customer_index=no`
    pub(super) fn text(&self) -> String {
        let index = if self.customer_index { "yes" } else { "no" };
        format!("{} customer_index={index}", self.of_rows())
    }

    /// What decides over the rows to the byte: no index does.
    pub(super) fn of_rows(&self) -> String {
        let Size { rows, customers } = self.size;
        format!("{BEGINNING}{FORMAT} rows={rows} customers={customers}")
    }

    fn parse(words: &[&str]) -> Option<Self> {
        let [rows, customers, index] = words else { return None };
        Some(Self {
            size: Size {
                rows: rows.strip_prefix("rows=")?.parse().ok()?,
                customers: customers.strip_prefix("customers=")?.parse().ok()?,
            },
            customer_index: match index.strip_prefix("customer_index=")? {
                "yes" => true,
                "no" => false,
                _ => return None,
            },
        })
    }
}

impl Mark {
    /// The comment of tables that are being made.
    pub(super) fn unfinished() -> String {
        format!("{BEGINNING}{FORMAT} {UNFINISHED}")
    }

    /// Reads a comment; `None` where it is none of dyno's.
    pub(super) fn parse(comment: &str) -> Option<Self> {
        let mut words = comment.strip_prefix(BEGINNING)?.split(' ');
        if words.next()?.parse::<u32>().ok()? != FORMAT {
            return Some(Self::OtherFormat);
        }
        match words.collect::<Vec<_>>().as_slice() {
            [UNFINISHED] => Some(Self::Unfinished),
            recipe => Recipe::parse(recipe).map(Self::Whole),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for customer_index in [false, true] {
            let recipe = Recipe { size: Size { rows: 70_000_000, customers: 700_000 }, customer_index };
            assert_eq!(Mark::parse(&recipe.text()), Some(Mark::Whole(recipe)));
        }
        assert_eq!(Mark::parse(&Mark::unfinished()), Some(Mark::Unfinished));
        assert_eq!(Mark::parse("dyno events/2 anything at all"), Some(Mark::OtherFormat));
    }

    #[test]
    fn other_comments_are_no_marks() {
        for comment in [
            "",
            "our customers, see dyno events/1",
            "dyno events/",
            "dyno events/1",
            "dyno events/1 rows=5",
            "dyno events/1 rows=x customers=1 customer_index=no",
            "dyno events/1 rows=5 customers=1 customer_index=perhaps",
            "dyno events/1 rows=5 customers=1 customer_index=no and more",
        ] {
            assert_eq!(Mark::parse(comment), None, "{comment:?}");
        }
    }
}
