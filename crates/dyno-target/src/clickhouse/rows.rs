//! Reading an answer in the format `TabSeparatedWithNamesAndTypes` while it arrives. An error that comes when the answer has
//! begun stands behind its rows: it is never taken for a row, nor the rows before it for all of them.

use std::io::{self, BufRead, Read as _};

use dyno_engine::driver::{RowSink, Value};
use dyno_results::answer::Kind;
use dyno_wire::server_error::DriverError;

use super::error::exception;

/// Stands in a line of its own between the rows and the error. A carriage return ends it, which no value has unescaped.
const MARK: &[u8] = b"__exception__\r\n";
/// What precedes the mark.
const BEFORE_MARK: &[u8] = b"\r\n";
/// Servers that know no mark write the error as the last line.
const UNMARKED: &[u8] = b"Code: ";
/// An error has less.
const ERROR_BYTES_MAX: u64 = 1 << 16;

/// A row, and the names or types of its columns, are read up to so many bytes.
const LINE_BYTES_MAX: u64 = 256 << 20;
const HEAD_BYTES_MAX: u64 = 16 << 20;

/// Why an answer has no end.
#[derive(Debug)]
pub(super) enum Unfinished {
    /// The server says why.
    Exception(DriverError),
    /// The connection broke.
    Broken(io::Error),
}

/// How a column's values are handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Integer,
    Double,
    Boolean,
    Text,
}

/// Hands on the rows of an answer; returns how many there were. `marks`: this server marks errors.
pub(super) fn read(mut answer: impl BufRead, marks: bool, rows: &mut dyn RowSink) -> Result<u64, Unfinished> {
    let mut line = Vec::new();
    if !next_line(&mut answer, &mut line, (marks, HEAD_BYTES_MAX), |_| true)? {
        return Ok(0);
    }
    let names = line.clone();
    let has_types = next_line(&mut answer, &mut line, (marks, HEAD_BYTES_MAX), |_| true)?;
    if !has_types || fields(&line).count() != fields(&names).count() || !fields(&line).all(is_type) {
        return Err(Unfinished::Exception(other_format()));
    }
    let types: Vec<String> = fields(&line).map(plain_type).collect();
    let forms: Vec<Form> = types.iter().map(|name| form(name)).collect();
    let wants_rows = rows.wants_rows();
    if wants_rows {
        hand_on_names(&names, rows);
        rows.kinds(&types.iter().map(|name| kind(name)).collect::<Vec<_>>());
    }
    // Where the only value of a row is text, it may read like an error.
    let is_no_row = |text: &[u8]| fields(text).count() != forms.len() || forms != [Form::Text];
    let mut count = 0;
    while next_line(&mut answer, &mut line, (marks, LINE_BYTES_MAX), is_no_row)? {
        if count == 0 {
            rows.arrived();
        }
        count += 1;
        if wants_rows {
            if fields(&line).take(forms.len() + 1).count() != forms.len() {
                return Err(Unfinished::Exception(other_format()));
            }
            hand_on(&mut line, &forms, rows);
        }
    }
    Ok(count)
}

/// Reads a line, without its end; false where there is none. `is_no_row` says of a line that reads like an error of a server
/// without marks whether it is no row; the last line of such a server is none anyway.
fn next_line(
    answer: &mut impl BufRead,
    line: &mut Vec<u8>,
    (marks, bytes_max): (bool, u64),
    is_no_row: impl Fn(&[u8]) -> bool,
) -> Result<bool, Unfinished> {
    loop {
        line.clear();
        let read = (&mut *answer).take(bytes_max).read_until(b'\n', line);
        if let Err(error) = read {
            // What arrived before the connection broke may say why it did.
            return Err(error_in(line).map_or(Unfinished::Broken(error), Unfinished::Exception));
        }
        if line.len() as u64 == bytes_max && !line.ends_with(b"\n") {
            return Err(Unfinished::Exception(too_long(bytes_max)));
        }
        match line.as_slice() {
            [] => return Ok(false),
            BEFORE_MARK => {}
            MARK => return Err(Unfinished::Exception(marked(answer))),
            _ => break,
        }
    }
    if !marks
        && line.starts_with(UNMARKED)
        && let Some(error) = error_in(line)
        && (is_no_row(without_end(line)) || answer.fill_buf().map_or(true, <[u8]>::is_empty))
    {
        return Err(Unfinished::Exception(error));
    }
    line.truncate(without_end(line).len());
    Ok(true)
}

/// Its rest is not read, so the connection is of no further use.
fn too_long(bytes_max: u64) -> DriverError {
    let message = format!(
        "a line of the answer has more than {} MiB, which is the most that dyno reads: leave values as long as that out of the query",
        bytes_max >> 20
    );
    DriverError::lost("TOO_LONG", message)
}

fn without_end(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

fn error_in(text: &[u8]) -> Option<DriverError> {
    exception(&String::from_utf8_lossy(text))
}

/// The error behind the mark: since 25.11 the answer's tag comes before it, and its length, the tag and the mark behind it.
fn marked(answer: &mut impl BufRead) -> DriverError {
    let mut rest = Vec::new();
    // The server breaks the connection off behind it.
    let _ = answer.take(ERROR_BYTES_MAX).read_to_end(&mut rest);
    let rest = String::from_utf8_lossy(&rest);
    let said = rest.find("Code: ").and_then(|at| rest.get(at..)).unwrap_or(&rest);
    let said = said.split("\r\n__exception__").next().unwrap_or(said);
    // `45 rwzhvnamhqcfyfbh`
    let said = said.rsplit_once('\n').map_or(said, |(said, _)| said);
    exception(said).unwrap_or_else(|| DriverError::new("DB::Exception", super::error::shortened(&rest)))
}

fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| *byte == b'\t')
}

/// All types begin so: `Nullable(Int64)`.
fn is_type(name: &[u8]) -> bool {
    name.first().is_some_and(u8::is_ascii_uppercase)
}

/// The query has a FORMAT of its own.
pub(super) fn other_format() -> DriverError {
    DriverError::new(
        "OTHER_FORMAT",
        "the answer is not in the format that dyno asks for (TabSeparatedWithNamesAndTypes): leave FORMAT out of the query",
    )
}

/// A type without what it may be wrapped in.
fn plain_type(name: &[u8]) -> String {
    let mut name = String::from_utf8_lossy(name).into_owned();
    for wrapper in ["LowCardinality(", "Nullable("] {
        if let Some(inner) = name.strip_prefix(wrapper).and_then(|it| it.strip_suffix(')')) {
            name = inner.to_owned();
        }
    }
    name
}

/// Integers without a sign are told apart by a letter.
fn with_sign(name: &str) -> &str {
    name.strip_prefix('U').filter(|rest| rest.starts_with("Int")).unwrap_or(name)
}

fn form(name: &str) -> Form {
    match with_sign(name) {
        "Int8" | "Int16" | "Int32" | "Int64" => Form::Integer,
        "Float32" | "Float64" => Form::Double,
        "Bool" => Form::Boolean,
        _ => Form::Text,
    }
}

/// Of what kind the values of a type are.
fn kind(name: &str) -> Kind {
    let word = name.split('(').next().unwrap_or(name);
    match with_sign(word) {
        "Int8" | "Int16" | "Int32" | "Int64" | "Int128" | "Int256" => Kind::Integer,
        "Float32" | "Float64" => Kind::Float,
        "Decimal" => Kind::Decimal,
        "Date" | "Date32" | "DateTime" | "DateTime64" => Kind::Timestamp,
        "Bool" => Kind::Boolean,
        "String" | "FixedString" | "Enum8" | "Enum16" | "UUID" => Kind::Text,
        "Array" => array_kind(name),
        _ => Kind::Unknown,
    }
}

/// By the type of its elements, which may be arrays.
fn array_kind(name: &str) -> Kind {
    let element = name.strip_prefix("Array(").and_then(|it| it.strip_suffix(')')).unwrap_or_default();
    match kind(&plain_type(element.as_bytes())) {
        element if element.is_number() || element == Kind::NumberArray => Kind::NumberArray,
        _ => Kind::Array,
    }
}

fn hand_on_names(line: &[u8], rows: &mut dyn RowSink) {
    let names: Vec<String> =
        fields(line).map(|name| String::from_utf8_lossy(&unescaped(name)).into_owned()).collect();
    rows.columns(&names.iter().map(String::as_str).collect::<Vec<_>>());
}

/// Takes the escapes out of the line itself, which they make shorter.
fn hand_on(line: &mut [u8], forms: &[Form], rows: &mut dyn RowSink) {
    let mut forms = forms.iter();
    let values: Vec<Value<'_>> = line
        .split_mut(|byte| *byte == b'\t')
        .map(|field| value(field, forms.next().copied().unwrap_or(Form::Text)))
        .collect();
    rows.row(&values);
}

fn value(field: &mut [u8], form: Form) -> Value<'_> {
    if field == br"\N" {
        return Value::Null;
    }
    let number = |field: &[u8]| match form {
        Form::Integer => Some(Value::Integer(std::str::from_utf8(field).ok()?.parse().ok()?)),
        Form::Double => Some(Value::Double(std::str::from_utf8(field).ok()?.parse().ok()?)),
        Form::Boolean => Some(Value::boolean(field == b"true")),
        Form::Text => None,
    };
    if let Some(number) = number(field) {
        return number;
    }
    let length = unescape(field);
    Value::Text(field.get(..length).unwrap_or_default())
}

fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut field = field.to_vec();
    let length = unescape(&mut field);
    field.truncate(length);
    field
}

/// Writes a field without its escapes over itself; how long it is then.
fn unescape(field: &mut [u8]) -> usize {
    let Some(first) = field.iter().position(|byte| *byte == b'\\') else { return field.len() };
    let (mut from, mut to) = (first, first);
    while let Some(&byte) = field.get(from) {
        let escaped = (byte == b'\\').then(|| field.get(from + 1).copied()).flatten();
        let (plain, taken) = match escaped {
            Some(b'n') => (b'\n', 2),
            Some(b't') => (b'\t', 2),
            Some(b'r') => (b'\r', 2),
            Some(b'0') => (0, 2),
            Some(b'b') => (8, 2),
            Some(b'f') => (12, 2),
            Some(other) => (other, 2),
            None => (byte, 1),
        };
        field[to] = plain;
        (from, to) = (from + taken, to + 1);
    }
    to
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use dyno_wire::server_error::DriverErrorKind;
    use proptest::prelude::*;

    use super::*;

    #[derive(Default)]
    struct Seen(Vec<String>);

    impl RowSink for Seen {
        fn wants_rows(&self) -> bool {
            true
        }

        fn columns(&mut self, names: &[&str]) {
            self.0.push(format!("{names:?}"));
        }

        fn row(&mut self, values: &[Value<'_>]) {
            let shown = values.iter().map(|value| match value {
                Value::Text(text) => format!("{:?}", String::from_utf8_lossy(text)),
                other => format!("{other:?}"),
            });
            self.0.push(shown.collect::<Vec<_>>().join(" "));
        }
    }

    fn seen(answer: &[u8], marks: bool) -> (Vec<String>, Result<u64, String>) {
        let mut rows = Seen::default();
        // Of few bytes, so that lines fall on their borders.
        let read = read(BufReader::with_capacity(3, answer), marks, &mut rows);
        let read = read.map_err(|error| match error {
            Unfinished::Exception(error) => error.to_string(),
            Unfinished::Broken(error) => error.to_string(),
        });
        (rows.0, read)
    }

    #[test]
    fn values_come_back_as_they_were() {
        let answer = b"a\tb\\tc\td\te\nNullable(Int64)\tLowCardinality(Nullable(String))\tFloat64\tUInt64\n\
            -5\tx\\ty\\n\\\\N\\'\t1.5e3\t18446744073709551615\n\\N\t\\N\t-inf\t7\n0\t\\\\N\tnan\t0\n";
        let (rows, read) = seen(answer, true);
        assert_eq!(read, Ok(3));
        assert_eq!(
            rows,
            [
                r#"["a", "b\tc", "d", "e"]"#,
                r#"Integer(-5) "x\ty\n\\N'" Double(1500.0) "18446744073709551615""#,
                "Null Null Double(-inf) Integer(7)",
                r#"Integer(0) "\\N" Double(NaN) Integer(0)"#,
            ]
        );
        assert_eq!(seen(b"", true), (Vec::new(), Ok(0)));
        let (rows, _) = seen(b"a\tb\tc\nBool\tNullable(Bool)\tNullable(Bool)\ntrue\tfalse\t\\N\n", true);
        assert_eq!(rows[1], r#""t" "f" Null"#);
    }

    #[test]
    fn a_type_tells_the_kind_of_its_values() {
        for (name, expected) in [
            ("UUID", Kind::Text),
            ("Int128", Kind::Integer),
            ("UInt64", Kind::Integer),
            ("Decimal(9, 2)", Kind::Decimal),
            ("Array(UUID)", Kind::Array),
            ("Array(Array(Nullable(Decimal(9, 2))))", Kind::NumberArray),
            ("Bool", Kind::Boolean),
            ("IPv4", Kind::Unknown),
            ("UBool", Kind::Unknown),
        ] {
            assert_eq!(kind(name), expected, "{name}");
        }
    }

    #[test]
    fn an_error_behind_rows_is_an_error() {
        let rows = b"n\nUInt8\n1\n2\n";
        let said = "Code: 395. DB::Exception: Ouch. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO) (version 25.1)";
        let expected = Err("Ouch (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)".to_owned());
        for behind in [
            format!("\r\n__exception__\r\ntagtagtag\r\n{said}\n96 tagtagtag\r\n__exception__\r\n"),
            format!("\r\n__exception__\r\n{said}\n"),
            format!("__exception__\r\n{said}\n"),
        ] {
            assert_eq!(seen(&[&rows[..], behind.as_bytes()].concat(), true).1, expected, "{behind}");
        }
        let old = "Code: 395, e.displayText() = DB::Exception: Ouch, e.what() = DB::Exception";
        for behind in [said, old] {
            let answer = [&rows[..], behind.as_bytes(), b"\n"].concat();
            assert_eq!(seen(&answer, false).1, expected, "{behind}");
        }
        // Before the first row.
        assert_eq!(seen(format!("{old}\n").as_bytes(), false).1, expected);
    }

    #[test]
    fn an_answer_in_another_format_is_an_error() {
        for answer in [
            &b"{\n\t\"meta\":\n\t[\n\t\t{\n"[..],
            b"1\n",
            b"1\n2\n3\n",
            b"1\t2\n3\t4\n",
            b"1,2\n3,4\n",
            b"a\tb\nInt8\n1\n",
            b"{\"a\":1}\n{\"a\":2}\n",
        ] {
            let (rows, read) = seen(answer, true);
            assert!(rows.is_empty() && read.unwrap_err().contains("OTHER_FORMAT"), "{answer:?}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_given_up() {
        for (begun, most) in [("", 16), ("a\n", 16), ("a\nString\n", 256), ("a\nString\nx\n", 256)] {
            let answer = begun.as_bytes().chain(BufReader::new(io::repeat(b'x')));
            match read(answer, true, &mut ()) {
                Err(Unfinished::Exception(error)) => {
                    assert!(error.message.contains(&format!("more than {most} MiB")), "{error}");
                    assert_eq!(error.kind, DriverErrorKind::SessionLost);
                }
                other => panic!("{begun:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_row_has_as_many_values_as_there_are_columns() {
        for row in ["1", "1\t2\t3", "\t\t\t\t"] {
            let (rows, read) = seen(format!("a\tb\nInt8\tInt8\n1\t2\n{row}\n").as_bytes(), true);
            assert!(rows.len() == 2 && read.is_err(), "{row}: {rows:?}");
        }
    }

    #[test]
    fn text_that_reads_like_an_error_is_a_value() {
        let answer = b"s\nString\nCode: 60. DB::Exception: x\nb\n";
        for marks in [true, false] {
            assert_eq!(seen(answer, marks).1, Ok(2));
        }
        assert_eq!(seen(b"s\nString\n__exception__\n", true).1, Ok(1));
    }

    /// An answer with all that has a meaning in it, and an error behind it.
    const ANSWER: &[u8] = b"a\tb\nInt64\tNullable(String)\n1\tx\\ty\n2\t\\N\n\r\n__exception__\r\ntag\r\n\
        Code: 1. DB::Exception: No. (X)\n9 tag\r\n__exception__\r\n";

    proptest! {
        /// However the bytes arrive, they are read in the same way, and nothing panics.
        #[test]
        fn any_bytes_are_read_in_the_same_way_in_pieces(
            bytes in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..60),
                "[aI1\t\n\r\\\\N]{0,40}|Code: [0-9]{1,3}\\. DB::[a-z :.\n]{0,20}".prop_map(String::into_bytes),
            ],
            marks in any::<bool>(),
        ) {
            let mut rows = Seen::default();
            let whole = read(&bytes[..], marks, &mut rows).ok();
            let (in_pieces, read_in_pieces) = seen(&bytes, marks);
            prop_assert_eq!((rows.0, whole), (in_pieces, read_in_pieces.ok()));
        }

        /// An answer that breaks off or is garbled has no more rows, and hands on each with all of its values.
        #[test]
        fn a_garbled_answer_has_whole_rows(end in 0..ANSWER.len(), at in 0..ANSWER.len(), byte in any::<u8>()) {
            let mut answer = ANSWER[..end].to_vec();
            if let Some(garbled) = answer.get_mut(at) {
                *garbled = byte;
            }
            let (rows, read) = seen(&answer, true);
            prop_assert!(read.is_err() || read == Ok(rows.len().saturating_sub(1) as u64));
        }
    }
}
