//! Whether two values have the same elements in any order.

/// `separators` are those that may stand between the elements of a text; an empty one says that there is none.
pub(super) fn are_same(one: &str, other: &str, separators: &[String]) -> bool {
    if let [Some(one), Some(other)] = [one, other].map(bytes_of_shortened) {
        return one == other;
    }
    if let [Some(one), Some(other)] = [one, other].map(of_array) {
        return sorted(one) == sorted(other);
    }
    let is_used = |it: &&String| !it.is_empty() && (one.contains(it.as_str()) || other.contains(it.as_str()));
    let mut used = separators.iter().filter(is_used).peekable();
    if used.peek().is_some() {
        return used.any(|it| sorted(one.split(it.as_str())) == sorted(other.split(it.as_str())));
    }
    let same_letters = sorted(one.chars()) == sorted(other.chars());
    let words = |text: &'_ str| sorted(text.split(|c: char| !c.is_alphanumeric()).map(str::to_owned));
    same_letters && (separators.iter().any(String::is_empty) || words(one) == words(other))
}

fn sorted<T: Ord>(elements: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut elements: Vec<T> = elements.into_iter().collect();
    elements.sort_unstable();
    elements
}

/// How long a value was of which only the beginning is kept.
fn bytes_of_shortened(value: &str) -> Option<&str> {
    let (_, kept) = value.rsplit_once("… (")?;
    Some(kept.split_once(" bytes, hash ")?.0)
}

/// The elements of `{1,2}` and `[1, 2]`; `None` of what is no array.
fn of_array(text: &str) -> Option<Vec<&str>> {
    let inner = text.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
    let inner = inner.or_else(|| text.strip_prefix('[')?.strip_suffix(']'))?;
    let (mut found, mut begin, mut depth, mut quote) = (Vec::new(), 0, 0_usize, None);
    let mut letters = inner.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' if quote.is_some() => drop(letters.next()),
            _ if quote == Some(letter) => quote = None,
            _ if quote.is_some() => {}
            '"' => quote = Some(letter),
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                found.push(inner[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    found.push(inner[begin..].trim());
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_compared_whole() {
        let same = |one, other, separators: &[&str]| {
            are_same(one, other, &separators.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
        };
        for (one, other, separators) in [
            ("{12,21}", "{21,12}", &[][..]),
            ("[{\"a\":1,\"b\":2},3]", "[3,{\"a\":1,\"b\":2}]", &[]),
            ("{\"a,b\",c}", "{c,\"a,b\"}", &[]),
            ("ab; cd", "cd; ab", &["; "]),
            ("ab, cd", "cd, ab", &[]),
            ("xy", "yx", &[""]),
        ] {
            assert!(same(one, other, separators), "{one} {other}");
        }
        for (one, other, separators) in [
            ("{12,21}", "{11,22}", &[][..]),
            ("{12,21}", "{12,21,21}", &[]),
            ("{\"a,b\",c}", "{\"c,b\",a}", &[]),
            ("12,21", "11,22", &[","]),
            ("12-21", "11-22", &[]),
            ("12", "21", &[","]),
            ("{}", "{1}", &[]),
        ] {
            assert!(!same(one, other, separators), "{one} {other}");
        }
    }
}
