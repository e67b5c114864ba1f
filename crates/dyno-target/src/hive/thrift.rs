//! Thrift's binary protocol: values as bytes and back. A reply has no length in front of it, so it is read value by value.

use std::io::{self, Read};

/// A value of any of Thrift's types.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    Bool(bool),
    Byte(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    Double(f64),
    Bytes(Vec<u8>),
    /// Fields with their numbers.
    Struct(Vec<(i16, Item)>),
    Map(Vec<(Item, Item)>),
    List(Vec<Item>),
}

/// Follows the last field of a struct.
const STOP: u8 = 0;
const STRUCT: u8 = 12;
const SET: u8 = 14;
/// Nobody nests deeper, and what would is no reply.
const DEPTH_MAX: u8 = 32;

/// Memory that a reply may take: its texts, and so much for each of its values, for one without a byte takes some too. Thousands of
/// rows of a usual answer take a hundredth.
const REPLY_BYTES_MAX: usize = 256 << 20;
const VALUE_BYTES: usize = size_of::<(i16, Item)>();

/// The first bytes of a message: the protocol's version and the message's type.
const VERSION: u32 = 0x8001_0000;
const CALL: u32 = 1;
const REPLY: u32 = 2;
const EXCEPTION: u32 = 3;

impl Item {
    pub(super) fn text(text: &str) -> Self {
        Self::Bytes(text.as_bytes().to_vec())
    }

    /// A field of a field of this struct, by their numbers.
    pub(super) fn at(&self, path: &[i16]) -> Option<&Self> {
        path.iter().try_fold(self, |item, number| match item {
            Self::Struct(fields) => fields.iter().find(|(it, _)| it == number).map(|(_, item)| item),
            _ => None,
        })
    }

    pub(super) fn number(&self, path: &[i16]) -> Option<i64> {
        match *self.at(path)? {
            Self::Byte(value) => Some(value.into()),
            Self::I16(value) => Some(value.into()),
            Self::I32(value) => Some(value.into()),
            Self::I64(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn string(&self, path: &[i16]) -> Option<String> {
        match self.at(path)? {
            Self::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        }
    }

    pub(super) fn list(&self, path: &[i16]) -> &[Self] {
        match self.at(path) {
            Some(Self::List(items)) => items,
            _ => &[],
        }
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Bool(_) => 2,
            Self::Byte(_) => 3,
            Self::Double(_) => 4,
            Self::I16(_) => 6,
            Self::I32(_) => 8,
            Self::I64(_) => 10,
            Self::Bytes(_) => 11,
            Self::Struct(_) => STRUCT,
            Self::Map(_) => 13,
            Self::List(_) => 15,
        }
    }

    fn write(&self, to: &mut Vec<u8>) {
        match self {
            Self::Bool(value) => to.push((*value).into()),
            Self::Byte(value) => to.extend(value.to_be_bytes()),
            Self::I16(value) => to.extend(value.to_be_bytes()),
            Self::I32(value) => to.extend(value.to_be_bytes()),
            Self::I64(value) => to.extend(value.to_be_bytes()),
            Self::Double(value) => to.extend(value.to_be_bytes()),
            Self::Bytes(bytes) => {
                to.extend(length(bytes.len()));
                to.extend_from_slice(bytes);
            }
            Self::Struct(fields) => {
                for (number, item) in fields {
                    to.push(item.kind());
                    to.extend(number.to_be_bytes());
                    item.write(to);
                }
                to.push(STOP);
            }
            Self::Map(entries) => {
                let kinds = entries.first().map_or([STOP; 2], |(key, value)| [key.kind(), value.kind()]);
                to.extend(kinds);
                to.extend(length(entries.len()));
                for (key, value) in entries {
                    key.write(to);
                    value.write(to);
                }
            }
            Self::List(items) => {
                to.push(items.first().map_or(STOP, Self::kind));
                to.extend(length(items.len()));
                items.iter().for_each(|item| item.write(to));
            }
        }
    }

    fn read(from: &mut Reply<'_>, kind: u8, depth: u8) -> io::Result<Self> {
        from.spend(VALUE_BYTES)?;
        if depth > DEPTH_MAX {
            return Err(malformed("a value is nested too deeply"));
        }
        let below = depth + 1;
        Ok(match kind {
            2 => Self::Bool(u8::from_be_bytes(from.bytes()?) != 0),
            3 => Self::Byte(i8::from_be_bytes(from.bytes()?)),
            4 => Self::Double(f64::from_be_bytes(from.bytes()?)),
            6 => Self::I16(i16::from_be_bytes(from.bytes()?)),
            8 => Self::I32(i32::from_be_bytes(from.bytes()?)),
            10 => Self::I64(i64::from_be_bytes(from.bytes()?)),
            11 => Self::Bytes(from.string()?),
            STRUCT => {
                let mut fields = Vec::new();
                loop {
                    let [kind] = from.bytes()?;
                    if kind == STOP {
                        break Self::Struct(fields);
                    }
                    let number = i16::from_be_bytes(from.bytes()?);
                    fields.push((number, Self::read(from, kind, below)?));
                }
            }
            13 => {
                let [key, value] = from.bytes()?;
                let count = u32::from_be_bytes(from.bytes()?);
                let entry = |_| Ok((Self::read(from, key, below)?, Self::read(from, value, below)?));
                Self::Map((0..count).map(entry).collect::<io::Result<_>>()?)
            }
            SET | 15 => {
                let [kind] = from.bytes()?;
                let count = u32::from_be_bytes(from.bytes()?);
                Self::List((0..count).map(|_| Self::read(from, kind, below)).collect::<io::Result<_>>()?)
            }
            other => return Err(malformed(&format!("a value has the unknown type {other}"))),
        })
    }
}

/// The message that calls a function with one argument, a struct.
pub(super) fn call(function: &str, sequence: i32, request: Item) -> Vec<u8> {
    let mut message = (VERSION | CALL).to_be_bytes().to_vec();
    Item::text(function).write(&mut message);
    message.extend(sequence.to_be_bytes());
    Item::Struct(vec![(1, request)]).write(&mut message);
    message
}

/// Reads what a call returned.
pub(super) fn reply(from: &mut dyn Read, sequence: i32) -> io::Result<Item> {
    let mut from = Reply::new(from);
    let begun = u32::from_be_bytes(from.bytes()?);
    if begun & 0xffff_0000 != VERSION {
        return Err(malformed("it does not begin as a reply of Thrift's binary protocol does"));
    }
    from.string()?;
    let number = i32::from_be_bytes(from.bytes()?);
    let result = Item::read(&mut from, STRUCT, 0)?;
    match begun & 0xff {
        REPLY if number == sequence => {}
        EXCEPTION => {
            let said = result.string(&[1]).unwrap_or_default();
            return Err(io::Error::other(format!("it does not know the call: {said}")));
        }
        _ => return Err(malformed("it is no reply to this call")),
    }
    result.at(&[0]).cloned().ok_or_else(|| malformed("a reply is empty"))
}

/// A reply that is being read, and the memory that it may still take.
struct Reply<'a> {
    from: &'a mut dyn Read,
    left: usize,
}

impl<'a> Reply<'a> {
    fn new(from: &'a mut dyn Read) -> Self {
        Self { from, left: REPLY_BYTES_MAX }
    }

    fn spend(&mut self, bytes: usize) -> io::Result<()> {
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or_else(|| {
            malformed(&format!("a reply takes more than {} MiB of memory", REPLY_BYTES_MAX >> 20))
        })?;
        Ok(())
    }

    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// As long as it says and no longer; memory is taken only for what arrives.
    fn string(&mut self) -> io::Result<Vec<u8>> {
        let count = i32::from_be_bytes(self.bytes()?);
        let count = usize::try_from(count).map_err(|_| malformed("a length is negative"))?;
        self.spend(count)?;
        let mut bytes = Vec::new();
        match (&mut *self.from).take(count as u64).read_to_end(&mut bytes)? == count {
            true => Ok(bytes),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Nothing that is sent is as long as 32 bits can say.
fn length(count: usize) -> [u8; 4] {
    u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes()
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// The message by which a server answers a call.
#[cfg(test)]
pub(super) fn answer(function: &str, sequence: i32, returned: Item) -> Vec<u8> {
    let mut message = (VERSION | REPLY).to_be_bytes().to_vec();
    Item::text(function).write(&mut message);
    message.extend(sequence.to_be_bytes());
    Item::Struct(vec![(0, returned)]).write(&mut message);
    message
}

/// The function that is called, and the number of the call.
#[cfg(test)]
pub(super) fn called(from: &mut dyn Read) -> io::Result<(String, i32)> {
    let mut from = Reply::new(from);
    let [_, _, _, _] = from.bytes()?;
    let function = String::from_utf8_lossy(&from.string()?).into_owned();
    let sequence = i32::from_be_bytes(from.bytes()?);
    Item::read(&mut from, STRUCT, 0)?;
    Ok((function, sequence))
}

#[cfg(test)]
mod tests {
    use dyno_engine::driver::{RowSink, Value};
    use proptest::prelude::*;

    use super::super::rows;
    use super::*;

    fn read(bytes: &[u8]) -> io::Result<Item> {
        Item::read(&mut Reply::new(&mut &*bytes), STRUCT, 0)
    }

    #[test]
    fn values_come_back_as_they_were() {
        let item = Item::Struct(vec![
            (1, Item::Bool(true)),
            (2, Item::Byte(-2)),
            (3, Item::I16(-300)),
            (4, Item::I32(70_000)),
            (5, Item::I64(-5_000_000_000)),
            (6, Item::Double(-0.5)),
            (7, Item::text("é")),
            (8, Item::Map(vec![(Item::text("k"), Item::I32(1))])),
            (9, Item::List(vec![Item::Struct(vec![(1, Item::I64(4))]), Item::Struct(Vec::new())])),
            (10, Item::List(Vec::new())),
        ]);
        let mut written = Vec::new();
        item.write(&mut written);
        assert_eq!(read(&written).unwrap(), item);
        assert_eq!((item.number(&[5]), item.string(&[7])), (Some(-5_000_000_000), Some("é".to_owned())));
        assert_eq!(item.list(&[9])[0].number(&[1]), Some(4));
        assert_eq!((item.number(&[7]), item.number(&[4, 1]), item.at(&[11])), (None, None, None));
        // What ends too early is no value.
        for end in 0..written.len() {
            assert!(read(&written[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        let mut message = call("GetInfo", 7, Item::Struct(Vec::new()));
        assert!(reply(&mut &*message, 7).is_err(), "a call");
        message[3] = 2;
        assert!(reply(&mut &*message, 7).is_err(), "no result");
        for junk in [&b"HTTP/1.1 400 Bad Request\r\n"[..], b"", &[0x80, 1, 0, 2, 0xff, 0xff, 0xff, 0xff]] {
            assert!(reply(&mut &*junk, 1).is_err());
        }
        let deep = [15, 0, 1].iter().chain([15, 0, 0, 0, 1].iter().cycle().take(5_000)).copied();
        assert!(read(&deep.collect::<Vec<u8>>()).unwrap_err().to_string().contains("deeply"));
        // A length that nothing follows takes no memory.
        assert!(read(&[11, 0, 1, 0x7f, 0xff, 0xff, 0xff]).is_err());
        assert!(read(&[15, 0, 1, 8, 0xff, 0xff, 0xff, 0xff]).is_err());
    }

    /// However little of it is sent for each value: a struct without fields is a single byte, and a list of lists five.
    #[test]
    fn a_reply_takes_memory_up_to_a_limit() {
        let count = u32::MAX.to_be_bytes();
        let list_of = |kind: u8| [&[15, 0, 1, kind][..], &count].concat();
        for (begun, each) in [
            (list_of(STRUCT), vec![STOP]),
            (list_of(15), vec![2, 0, 0, 0, 0]),
            (list_of(11), vec![0, 0, 0, 1, b'x']),
            (list_of(10), vec![0; 8]),
            ([&[13, 0, 1, 3, 3][..], &count].concat(), vec![0, 0]),
            // A struct with fields without an end.
            (Vec::new(), vec![2, 0, 1, 1]),
        ] {
            let begun = begun.as_slice();
            let mut endless = begun.chain(io::BufReader::new(Endless(each, 0)));
            let error = Item::read(&mut Reply { from: &mut endless, left: 1 << 20 }, STRUCT, 0).unwrap_err();
            assert!(error.to_string().contains("more than 256 MiB"), "{begun:?}: {error}");
        }
        let long = [&[11, 0, 1][..], &i32::MAX.to_be_bytes()].concat();
        assert!(read(&long).unwrap_err().to_string().contains("more than 256 MiB"));
    }

    /// The same bytes again and again.
    struct Endless(Vec<u8>, usize);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let from = self.0.iter().cycle().skip(self.1 % self.0.len());
            buffer.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            self.1 += buffer.len();
            Ok(buffer.len())
        }
    }

    struct Any;

    impl RowSink for Any {
        fn wants_rows(&self) -> bool {
            true
        }

        fn columns(&mut self, _: &[&str]) {}

        fn row(&mut self, _: &[Value<'_>]) {}
    }

    /// A reply with rows.
    fn rows_replied() -> Vec<u8> {
        let column = |kind, values| {
            let typed = vec![(1, Item::List(values)), (2, Item::text("\u{1}"))];
            Item::Struct(vec![(kind, Item::Struct(typed))])
        };
        let columns = vec![
            column(5, vec![Item::I64(1), Item::I64(2)]),
            column(7, vec![Item::text("x"), Item::text("é")]),
        ];
        let set = Item::Struct(vec![(1, Item::I64(0)), (3, Item::List(columns))]);
        answer("FetchResults", 7, Item::Struct(vec![(3, set)]))
    }

    /// What becomes of a reply: its rows, or an error.
    fn rows_of(message: &[u8]) -> Option<usize> {
        let reply = reply(&mut &*message, 7).ok()?;
        rows::hand_on_names(&reply, &mut Any);
        rows::hand_on(&reply, &mut Any).ok()
    }

    #[test]
    fn a_reply_that_ends_too_early_has_no_rows() {
        let message = rows_replied();
        assert_eq!(rows_of(&message), Some(2));
        for end in 0..message.len() {
            assert_eq!(rows_of(&message[..end]), None, "{end}");
        }
    }

    proptest! {
        #[test]
        fn a_garbled_reply_is_a_reply_or_an_error(at in 0..rows_replied().len(), bytes in any::<[u8; 2]>()) {
            let mut message = rows_replied();
            for (old, new) in message[at..].iter_mut().zip(bytes) {
                *old = new;
            }
            prop_assert!(rows_of(&message).is_none_or(|rows| rows <= 2));
        }

        #[test]
        fn any_bytes_are_a_value_or_an_error(bytes in proptest::collection::vec(prop_oneof![0..16_u8, any::<u8>()], 0..80)) {
            if let Ok(item) = read(&bytes) {
                let _ = (rows::hand_on(&item, &mut Any), item.string(&[1, 5]));
            }
        }
    }
}
