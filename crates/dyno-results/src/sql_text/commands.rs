//! Commands that a product's own client carries out, and sends no server.

use super::{Piece, Syntax, behind_comments, readable_pieces, statements};

/// What a client takes for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commands {
    /// A backslash outside quotes and comments; on MySQL `\N` is NULL.
    pub backslash: bool,
    /// What begins with it where a statement would begin.
    pub sign: Option<char>,
    /// These words, where a statement would begin.
    pub words: &'static [&'static str],
}

impl Commands {
    pub const NONE: Self = Self { backslash: false, sign: None, words: &[] };
    /// psql; clickhouse-client.
    pub const BACKSLASH: Self = Self { backslash: true, ..Self::NONE };
    /// The shells of SQLite and DuckDB.
    pub const POINT: Self = Self { sign: Some('.'), ..Self::NONE };
    /// mysql, mariadb. Of its words those that the server knows (`USE`, `HELP`) are left out.
    pub const MYSQL: Self = Self {
        backslash: true,
        sign: None,
        words: &[
            "charset",
            "clear",
            "connect",
            "delimiter",
            "edit",
            "ego",
            "exit",
            "go",
            "nopager",
            "notee",
            "nowarning",
            "pager",
            "print",
            "prompt",
            "quit",
            "rehash",
            "resetconnection",
            "source",
            "status",
            "system",
            "tee",
            "warnings",
        ],
    };
    /// beeline, spark-sql.
    pub const SPARK: Self = Self { backslash: false, sign: Some('!'), words: &["exit", "quit", "source"] };
}

/// The first command in a text that the product's own client would carry out: where it begins, and its line from there on.
pub fn client_command(text: &str, syntax: Syntax) -> Option<(usize, &str)> {
    let commands = syntax.commands;
    let place = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    let begins = statements(text, syntax).into_iter().map(|statement| behind_comments(statement, syntax));
    let is_command = |statement: &&str| {
        let word =
            statement.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
        commands.sign.is_some_and(|sign| statement.starts_with(sign))
            || commands.words.iter().any(|known| word.eq_ignore_ascii_case(known))
    };
    let first = begins.filter(is_command).map(place).min();
    let code = readable_pieces(text, syntax).into_iter().filter(|(piece, _)| *piece == Piece::Code);
    let backslash = |code: &str| {
        let mut found = code.match_indices('\\').map(|(at, _)| at);
        found.find(|at| !(syntax.backslashes && code[at + 1..].starts_with('N'))).map(|at| place(code) + at)
    };
    let backslash = code.filter(|_| commands.backslash).find_map(|(_, code)| backslash(code));
    let at = first.into_iter().chain(backslash).min()?;
    Some((at, text[at..].lines().next().unwrap_or_default().trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_carries_out_is_found_and_what_a_server_reads_is_not() {
        let sqlite = Syntax::SQLITE;
        for (syntax, text, found) in [
            (Syntax::POSTGRESQL, "select 1;\n\\set x 1\nselect 2;", Some((10, "\\set x 1"))),
            (Syntax::POSTGRESQL, "\\copy t from 'x.csv'", Some((0, "\\copy t from 'x.csv'"))),
            (Syntax::POSTGRESQL, "select 1 \\gset", Some((9, "\\gset"))),
            (Syntax::MYSQL, "-- why\nDELIMITER //\nselect 1 //", Some((7, "DELIMITER //"))),
            (Syntax::MYSQL, "select 1;\nsource x.sql", Some((10, "source x.sql"))),
            (Syntax::MYSQL, "select 1\\G", Some((8, "\\G"))),
            (sqlite, "/* x */ .mode csv\r\nselect 1", Some((8, ".mode csv"))),
            (Syntax { commands: &Commands::SPARK, ..sqlite }, "!connect x", Some((0, "!connect x"))),
            // Of another client, or of none.
            (Syntax::POSTGRESQL, "select E'\\'x', '\\d', $$\\d$$ -- \\d\n/* \\d */", None),
            (Syntax::POSTGRESQL, "source x", None),
            (Syntax::MYSQL, "select \\N, source, 'a\\'b' from status; use d; delimiters", None),
            (Syntax::MYSQL, "create procedure p() begin select 1; end", None),
            (sqlite, "select\n.5, '\\d'", None),
            (Syntax::ANY, "\\d; .mode; source x", None),
        ] {
            assert_eq!(client_command(text, syntax), found, "{text}");
        }
    }
}
