//! Prometheus's text format, read line by line: `name{label="value",…} 1.5 [timestamp]`. What is no such line is passed
//! over: comments, and whatever a later version of the format may add.

use std::borrow::Cow;

/// A value with its name and labels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ExposedSample<'a> {
    pub(super) name: &'a str,
    labels: Vec<(&'a str, Cow<'a, str>)>,
    /// May be no number or infinite.
    pub(super) value: f64,
}

impl ExposedSample<'_> {
    pub(super) fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_ref())
    }
}

/// The samples of a page whose names begin with `prefix`.
pub(super) fn samples<'a>(page: &'a str, prefix: &'a str) -> impl Iterator<Item = ExposedSample<'a>> {
    page.lines().map(str::trim_start).filter(move |line| line.starts_with(prefix)).filter_map(sample)
}

fn sample(line: &str) -> Option<ExposedSample<'_>> {
    let name_end = line.find(['{', ' ', '\t'])?;
    let (name, rest) = line.split_at(name_end);
    let rest = rest.trim_start();
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => labels(inside)?,
        None => (Vec::new(), rest),
    };
    // A timestamp may follow the value, or in OpenMetrics an exemplar.
    let value = number(rest.split_whitespace().next()?)?;
    Some(ExposedSample { name, labels, value })
}

/// The labels, and what follows their closing bracket.
#[expect(clippy::type_complexity, reason = "said once, here")]
fn labels(mut rest: &str) -> Option<(Vec<(&str, Cow<'_, str>)>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (name, after) = rest.split_once('=')?;
        let (value, after) = quoted(after.trim_start().strip_prefix('"')?)?;
        labels.push((name.trim_end(), value));
        rest = after;
    }
}

/// What stands before the closing quote, its escapes resolved, and what follows it.
fn quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let plain_end = text.find(['"', '\\'])?;
    if text[plain_end..].starts_with('"') {
        return Some((Cow::Borrowed(&text[..plain_end]), &text[plain_end + 1..]));
    }
    let mut value = text[..plain_end].to_owned();
    let mut characters = text[plain_end..].char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((Cow::Owned(value), &text[plain_end + at + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                escaped => value.push(escaped),
            },
            plain => value.push(plain),
        }
    }
    None
}

/// Go's words for what is no finite number are Rust's as well, in any case of letters.
fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_read_with_their_labels() {
        let page = "# HELP node_x what it is\n# TYPE node_x counter\n\
            node_x{cpu=\"0\",mode=\"idle\"} 9535.59\n\
            node_bare 1.7\n\
            node_exponent 1.07127960576e+11 1395066363000\n\
            \tnode_spaced { a = \"b\" , } 3\n\
            go_gc 5\n\
            node_exemplar{le=\"1\"} 17 # {trace_id=\"KOO5\"} 0.5\n";
        let read: Vec<ExposedSample<'_>> = samples(page, "node_").collect();
        let named: Vec<(&str, f64)> = read.iter().map(|sample| (sample.name, sample.value)).collect();
        assert_eq!(
            named,
            [
                ("node_x", 9535.59),
                ("node_bare", 1.7),
                ("node_exponent", 1.071_279_605_76e11),
                ("node_spaced", 3.0),
                ("node_exemplar", 17.0)
            ]
        );
        assert_eq!(
            (read[0].label("mode"), read[0].label("cpu"), read[0].label("x")),
            (Some("idle"), Some("0"), None)
        );
        assert_eq!(read[3].label("a"), Some("b"));
    }

    #[test]
    fn values_that_are_no_finite_numbers() {
        let value = |text: &str| samples(&format!("node_x {text}"), "node_").next().map(|it| it.value);
        assert!(value("NaN").is_some_and(f64::is_nan));
        assert_eq!((value("+Inf"), value("-Inf")), (Some(f64::INFINITY), Some(f64::NEG_INFINITY)));
        assert_eq!((value("twelve"), value("")), (None, None));
    }

    #[test]
    fn what_is_cut_off_is_passed_over() {
        for line in
            ["node_x{a=\"b", "node_x{a=\"b\\", "node_x{a", "node_x{", "node_x", "node_x{} ", "node_x{a=b} 1"]
        {
            assert_eq!(samples(line, "node_").count(), 0, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_label_comes_back(value in ".*", number: f64) {
            let escaped = value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
            // What else ends a line ends a sample; Go's exporter never writes it.
            prop_assume!(!value.contains('\r'));
            let page = format!("node_x{{a=\"{escaped}\",b=\"c\"}} {number:?}\n");
            let read: Vec<ExposedSample<'_>> = samples(&page, "node_").collect();
            prop_assert_eq!(read.len(), 1);
            prop_assert_eq!((read[0].label("a"), read[0].label("b")), (Some(value.as_str()), Some("c")));
            prop_assert!(read[0].value == number || number.is_nan());
        }

        #[test]
        fn no_text_breaks_it(text in ".*") {
            samples(&text, "").for_each(drop);
        }
    }
}
