//! What a server says, packet by packet, to be fed to the machines.

use dyno_wire::my::capabilities::Capabilities;

/// Server packets, one after another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) bytes: Vec<u8>,
    sequence: u8,
    /// Whether columns and rows end with EOF packets.
    eof: bool,
}

pub(crate) const AUTOCOMMIT: u16 = 2;
pub(crate) const MORE: u16 = 8 | AUTOCOMMIT;

impl Script {
    /// A reply, whose first packet has number 1.
    pub(crate) fn new(eof: bool) -> Self {
        Self { bytes: Vec::new(), sequence: 1, eof }
    }

    /// What the reply scanner has to be told for it.
    pub(crate) fn agreed(&self) -> Capabilities {
        if self.eof { Capabilities::default() } else { Capabilities::DEPRECATE_EOF }
    }

    /// The reply to another command of the same request.
    pub(crate) fn next_command(mut self) -> Self {
        self.sequence = 1;
        self
    }

    pub(crate) fn numbered(mut self, sequence: u8) -> Self {
        self.sequence = sequence;
        self
    }

    pub(crate) fn packet(mut self, payload: &[u8]) -> Self {
        self.bytes.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes()[..3]);
        self.bytes.push(self.sequence);
        self.bytes.extend_from_slice(payload);
        self.sequence = self.sequence.wrapping_add(1);
        self
    }

    pub(crate) fn ok(self, affected: u8, last_insert_id: u8, status: u16, warnings: u16, info: &str) -> Self {
        let mut payload = vec![0, affected, last_insert_id];
        payload.extend_from_slice(&status.to_le_bytes());
        payload.extend_from_slice(&warnings.to_le_bytes());
        if !info.is_empty() {
            payload.push(u8::try_from(info.len()).unwrap());
            payload.extend_from_slice(info.as_bytes());
        }
        self.packet(&payload)
    }

    pub(crate) fn error(self, number: u16, state: &str, message: &str) -> Self {
        let number = number.to_le_bytes();
        let state = if state.is_empty() { String::new() } else { format!("#{state}") };
        self.packet(&[&[0xff], &number[..], state.as_bytes(), message.as_bytes()].concat())
    }

    /// The end of columns, where there is one.
    pub(crate) fn columns_end(self) -> Self {
        if self.eof { self.packet(&[0xfe, 0, 0, 2, 0]) } else { self }
    }

    /// The end of rows.
    pub(crate) fn rows_end(self, status: u16, warnings: u16) -> Self {
        let (status, warnings) = (status.to_le_bytes(), warnings.to_le_bytes());
        if self.eof {
            self.packet(&[&[0xfe], &warnings[..], &status].concat())
        } else {
            self.packet(&[&[0xfe, 0, 0], &status[..], &warnings].concat())
        }
    }

    pub(crate) fn column(self, name: &str, column_type: u8, flags: u16) -> Self {
        let mut payload = b"\x03def\x04test\x01t\x01t".to_vec();
        for text in [name, name] {
            payload.push(u8::try_from(text.len()).unwrap());
            payload.extend_from_slice(text.as_bytes());
        }
        payload.extend_from_slice(&[12, 45, 0, 11, 0, 0, 0, column_type]);
        payload.extend_from_slice(&flags.to_le_bytes());
        payload.extend_from_slice(&[0, 0, 0]);
        self.packet(&payload)
    }

    /// The head of a result: columns by type.
    pub(crate) fn columns(self, types: &[u8]) -> Self {
        let head = self.packet(&[u8::try_from(types.len()).unwrap()]);
        types.iter().fold(head, |script, column_type| script.column("c", *column_type, 0)).columns_end()
    }

    pub(crate) fn text_row(self, values: &[Option<&[u8]>]) -> Self {
        let mut payload = Vec::new();
        for value in values {
            match value {
                None => payload.push(0xfb),
                Some(value) => {
                    payload.push(0xfc);
                    payload.extend_from_slice(&u16::try_from(value.len()).unwrap().to_le_bytes());
                    payload.extend_from_slice(value);
                }
            }
        }
        self.packet(&payload)
    }
}
