//! Variables of a script, `:name`, that stand where a statement needs a name.

use super::{Piece, Syntax, is_of_word, readable_pieces};

/// Words behind which a table's name stands.
const BEFORE_TABLE: &[&str] = &["update", "into", "join", "table"];
/// Words with which a statement begins, or one in brackets: behind FROM in it stands a table. In the brackets of a function, as in
/// `extract(year FROM …)`, a value does.
const BEGINS_STATEMENT: &[&str] = &["select", "delete", "with", "copy", "truncate"];

/// The variables in the place of a table, `UPDATE :name`, `FROM s.:"name"`, each with the place of its colon.
pub fn names_by_variables(text: &str, syntax: Syntax) -> Vec<(usize, &str)> {
    let mut place = Place::default();
    let (mut found, mut at) = (Vec::new(), 0);
    for (piece, part) in readable_pieces(text, syntax) {
        match piece {
            Piece::Code => place.read(part, at, &mut found),
            Piece::Quoted => {
                let colon = std::mem::take(&mut place.colon);
                if let (Some(colon), true) = (colon, part.starts_with('"')) {
                    found.push((colon, part.trim_matches('"')));
                }
                place.word("");
            }
            Piece::Comment => {}
            Piece::Semicolon => place = Place::default(),
        }
        at += part.len();
    }
    found
}

/// Where in a statement the text stands.
#[derive(Debug, Default)]
struct Place {
    /// The last word or sign, and the one before it, in small letters.
    last: String,
    before: String,
    /// The first word of the statement.
    first: Option<String>,
    /// The first words of those in brackets that are open.
    open: Vec<Option<String>>,
    /// The colon of a variable whose name is to follow in quotes.
    colon: Option<usize>,
}

impl Place {
    fn read<'t>(&mut self, code: &'t str, offset: usize, found: &mut Vec<(usize, &'t str)>) {
        let mut at = 0;
        while let Some(sign) = code[at..].chars().next() {
            let word = |from: usize| {
                let rest = &code[from..];
                &rest[..rest.find(|c| !is_of_word(c)).unwrap_or(rest.len())]
            };
            self.colon = None;
            match sign {
                _ if is_of_word(sign) => {
                    self.word(word(at));
                    at += word(at).len();
                    continue;
                }
                ':' if code[at + 1..].starts_with(':') => {
                    self.word("::");
                    at += 2;
                    continue;
                }
                ':' if self.needs_name() => match word(at + 1) {
                    "" => self.colon = (at + 1 == code.len()).then_some(offset + at),
                    name => found.push((offset + at, name)),
                },
                '(' => self.open.push(None),
                ')' => drop(self.open.pop()),
                _ => {}
            }
            if !sign.is_whitespace() && self.colon.is_none() {
                self.sign(sign);
            }
            at += sign.len_utf8();
        }
    }

    fn needs_name(&self) -> bool {
        let first = self.open.last().unwrap_or(&self.first).as_deref().unwrap_or_default();
        match self.last.as_str() {
            "." => true,
            "from" => BEGINS_STATEMENT.contains(&first) && self.before != "distinct",
            last => BEFORE_TABLE.contains(&last),
        }
    }

    fn word(&mut self, word: &str) {
        let word = word.to_lowercase();
        self.open.last_mut().unwrap_or(&mut self.first).get_or_insert_with(|| word.clone());
        self.before = std::mem::replace(&mut self.last, word);
    }

    fn sign(&mut self, sign: char) {
        self.before = std::mem::replace(&mut self.last, sign.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::{Syntax, names_by_variables};

    #[test]
    fn a_variable_stands_for_a_name_behind_words_that_need_one() {
        for (text, expected) in [
            ("update :tab set v = :v", vec![(7, "tab")]),
            ("insert into s.:tab values (:v, 1.5)", vec![(14, "tab")]),
            ("select * from :\"tab\" where a = :a", vec![(14, "tab")]),
            (
                "with x as (delete from :tab returning 1) select * from x join :other using (a)",
                vec![(23, "tab"), (62, "other")],
            ),
            ("truncate table :tab; select 1 from :tab", vec![(15, "tab"), (35, "tab")]),
            ("select extract(year from :d), a is distinct from :b, substring(:x from :n)", vec![]),
            ("select a::text, ':t' from t -- from :t\nwhere a = :a and b in (:b) for update", vec![]),
            ("insert into t values (:v) on conflict (id) do update set v = :v", vec![]),
        ] {
            assert_eq!(names_by_variables(text, Syntax::ANY), expected, "{text}");
        }
    }
}
