//! The mark that dyno's tables carry in their comments: it tells them from a user's own tables of the same names, and a
//! finished preparation from one that was broken off.

const UNFINISHED: &str = "unfinished";

/// The marks of a family.
#[derive(Debug, PartialEq, Eq)]
pub struct Marks {
    /// `dyno events/`
    pub(crate) beginning: &'static str,
    /// Version of the tables and of their contents.
    pub(crate) format: u32,
}

/// What a table's comment says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Its preparation has not come to its end.
    Unfinished,
    /// With what it was made.
    Whole(String),
    /// Made by a dyno with other tables.
    OtherFormat,
}

impl Marks {
    /// The comment of tables that are being made.
    pub(crate) fn unfinished(&self) -> String {
        self.whole(UNFINISHED)
    }

    /// That of tables that were made so.
    pub(crate) fn whole(&self, recipe: &str) -> String {
        format!("{}{} {recipe}", self.beginning, self.format)
    }

    /// Reads a comment; `None` where it is none of the family's.
    pub(crate) fn parse(&self, comment: &str) -> Option<Mark> {
        let (format, recipe) = comment.strip_prefix(self.beginning)?.split_once(' ')?;
        Some(match recipe {
            _ if format.parse::<u32>().ok()? != self.format => Mark::OtherFormat,
            UNFINISHED => Mark::Unfinished,
            recipe => Mark::Whole(recipe.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_read_as_they_were_written() {
        let marks = Marks { beginning: "dyno events/", format: 2 };
        assert_eq!(marks.parse(&marks.unfinished()), Some(Mark::Unfinished));
        assert_eq!(marks.parse(&marks.whole("rows=7")), Some(Mark::Whole("rows=7".to_owned())));
        assert_eq!(marks.parse("dyno events/1 rows=7"), Some(Mark::OtherFormat));
        for other in ["", "dyno events", "dyno events/", "dyno events/2", "dyno events/x rows=7", "orders"] {
            assert_eq!(marks.parse(other), None, "{other}");
        }
    }
}
