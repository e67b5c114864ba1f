//! With what the tables were made: what their mark says of a finished preparation.

use super::size::Size;
use crate::dataset::Marks;

/// The format is that of the tables and of their contents.
pub(super) const MARKS: Marks = Marks { beginning: "dyno events/", format: 1 };

/// What the tables were made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Recipe {
    pub size: Size,
    pub customer_index: bool,
}

impl Recipe {
    /// `rows=70000000 customers=700000 customer_index=no`
    pub(super) fn text(&self) -> String {
        let index = if self.customer_index { "yes" } else { "no" };
        format!("{} customer_index={index}", self.rows_text())
    }

    /// What decides over the rows to the byte: no index does.
    pub(super) fn of_rows(&self) -> String {
        MARKS.whole(&self.rows_text())
    }

    fn rows_text(&self) -> String {
        let Size { rows, customers } = self.size;
        format!("rows={rows} customers={customers}")
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let [rows, customers, index] = words[..] else { return None };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for customer_index in [false, true] {
            let recipe = Recipe { size: Size { rows: 70_000_000, customers: 700_000 }, customer_index };
            assert_eq!(Recipe::parse(&recipe.text()), Some(recipe));
            assert_eq!(recipe.of_rows(), "dyno events/1 rows=70000000 customers=700000");
        }
    }

    #[test]
    fn other_texts_are_no_recipes() {
        for text in [
            "",
            "rows=5",
            "rows=x customers=1 customer_index=no",
            "rows=5 customers=1 customer_index=perhaps",
            "rows=5 customers=1 customer_index=no and more",
        ] {
            assert_eq!(Recipe::parse(text), None, "{text:?}");
        }
    }
}
