//! What keeps a semicolon from ending a statement: brackets, and the body of a function, a procedure, a trigger, an event or a block.

/// What `CREATE` makes that may have a body with statements of its own.
const WITH_BODY: [&str; 5] = ["function", "procedure", "trigger", "event", "package"];
/// Behind END they belong to it.
const ENDED: [&str; 5] = ["if", "loop", "repeat", "while", "for"];

/// How far a statement was read.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// Words so far, in small letters: the first two, and the last.
    first: [String; 2],
    last: String,
    count: usize,
    brackets: usize,
    has_body: bool,
    /// Blocks that have begun and not ended.
    open: usize,
}

impl Block {
    pub(super) fn is_open(&self) -> bool {
        self.brackets > 0 || self.open > 0
    }

    pub(super) fn read(&mut self, code: &str) {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        for part in code.split_inclusive(|c: char| !is_part(c)) {
            let word = part.trim_end_matches(|c: char| !is_part(c));
            if !word.is_empty() {
                self.word(&word.to_ascii_lowercase());
            }
            match part.chars().next_back() {
                Some('(') => self.brackets += 1,
                Some(')') => self.brackets = self.brackets.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Reads a word in small letters; an empty one stands for what is none.
    pub(super) fn word(&mut self, word: &str) {
        let is_atomic = self.first == ["begin", "not"] && self.count == 2 && word == "atomic";
        self.has_body |= is_atomic || (self.first[0] == "create" && WITH_BODY.contains(&word));
        match word {
            _ if is_atomic => self.open = 1,
            _ if !self.has_body => {}
            "begin" => self.open += 1,
            "case" if self.last != "end" => self.open += 1,
            "end" => self.open = self.open.saturating_sub(1),
            // It was the end of none that is counted.
            ended if self.last == "end" && ENDED.contains(&ended) => self.open += 1,
            _ => {}
        }
        if let Some(first) = self.first.get_mut(self.count) {
            word.clone_into(first);
        }
        word.clone_into(&mut self.last);
        self.count += 1;
    }
}
