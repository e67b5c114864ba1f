//! Words put together: lists in a sentence, commands for a shell.

/// A command as it can be pasted into a shell.
pub(crate) fn command_line(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let quoted = |word: &String| match word.as_str() {
        bare if !bare.is_empty() && bare.chars().all(plain) => bare.to_owned(),
        other => format!("'{}'", other.replace('\'', r"'\''")),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Each once, in the order in which they first come.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for item in items {
        if !all.contains(&item) {
            all.push(item);
        }
    }
    all
}

/// What others said, a server for example, as a part of a sentence: without a full stop of its own.
pub(crate) fn clause(said: &str) -> &str {
    said.trim_end_matches([' ', '.'])
}

/// The first three of what may be many: `a; b; c; and 4 more`.
pub(crate) fn first_few(items: &[String]) -> String {
    let (named, others) = items.split_at(items.len().min(3));
    let more = if others.is_empty() { String::new() } else { format!("; and {} more", others.len()) };
    format!("{}{more}", named.join("; "))
}

/// `fsync, synchronous_commit and full_page_writes`
pub fn list<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_listed_and_words_are_quoted() {
        assert_eq!(["no room.", "no. ", "no 1.5", "no"].map(clause), ["no room", "no", "no 1.5", "no"]);
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(list(&["a"]), "a");
        let words =
            ["dyno", "run", "--target", "host=/tmp dbname=it's", "", "1..200", "a$b"].map(str::to_owned);
        assert_eq!(command_line(&words), r"dyno run --target 'host=/tmp dbname=it'\''s' '' 1..200 'a$b'");
    }
}
