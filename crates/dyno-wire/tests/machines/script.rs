//! What a server says, message by message, to be fed to the machines.

/// Server messages, one after another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Script(pub(crate) Vec<u8>);

impl Script {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn message(mut self, tag: u8, body: &[u8]) -> Self {
        self.0.push(tag);
        self.0.extend_from_slice(&u32::try_from(body.len() + 4).unwrap().to_be_bytes());
        self.0.extend_from_slice(body);
        self
    }

    pub(crate) fn empty(self, tag: u8) -> Self {
        self.message(tag, &[])
    }

    pub(crate) fn complete(self, tag: &str) -> Self {
        self.message(b'C', &strings(&[tag]))
    }

    pub(crate) fn ready(self, status: u8) -> Self {
        self.message(b'Z', &[status])
    }

    pub(crate) fn row(self, values: &[Option<&[u8]>]) -> Self {
        let mut body = u16::try_from(values.len()).unwrap().to_be_bytes().to_vec();
        for value in values {
            let length = value.map_or(-1, |value| i32::try_from(value.len()).unwrap());
            body.extend_from_slice(&length.to_be_bytes());
            body.extend_from_slice(value.unwrap_or_default());
        }
        self.message(b'D', &body)
    }

    /// Columns of type text, by name.
    pub(crate) fn description(self, names: &[&str]) -> Self {
        let mut body = u16::try_from(names.len()).unwrap().to_be_bytes().to_vec();
        for name in names {
            body.extend_from_slice(&strings(&[name]));
            body.extend_from_slice(&0_u32.to_be_bytes());
            body.extend_from_slice(&0_u16.to_be_bytes());
            body.extend_from_slice(&25_u32.to_be_bytes());
            body.extend_from_slice(&(-1_i16).to_be_bytes());
            body.extend_from_slice(&(-1_i32).to_be_bytes());
            body.extend_from_slice(&0_u16.to_be_bytes());
        }
        self.message(b'T', &body)
    }

    /// An error (`E`) or a notice (`N`) with these fields.
    pub(crate) fn fields(self, tag: u8, fields: &[(u8, &str)]) -> Self {
        let mut body = Vec::new();
        for (code, value) in fields {
            body.push(*code);
            body.extend_from_slice(&strings(&[value]));
        }
        body.push(0);
        self.message(tag, &body)
    }

    pub(crate) fn error(self, code: &str, message: &str) -> Self {
        self.fields(b'E', &[(b'S', "FEHLER"), (b'V', "ERROR"), (b'C', code), (b'M', message)])
    }

    pub(crate) fn parameter(self, name: &str, value: &str) -> Self {
        self.message(b'S', &strings(&[name, value]))
    }

    pub(crate) fn notification(self, process_id: i32, channel: &str, payload: &str) -> Self {
        let mut body = process_id.to_be_bytes().to_vec();
        body.extend_from_slice(&strings(&[channel, payload]));
        self.message(b'A', &body)
    }

    /// CopyInResponse (`G`), CopyOutResponse (`H`) or CopyBothResponse (`W`) with text columns.
    pub(crate) fn copy(self, tag: u8, columns: u16) -> Self {
        let mut body = vec![0];
        body.extend_from_slice(&columns.to_be_bytes());
        body.extend_from_slice(&vec![0; 2 * usize::from(columns)]);
        self.message(tag, &body)
    }

    pub(crate) fn authentication(self, kind: u32, data: &[u8]) -> Self {
        let mut body = kind.to_be_bytes().to_vec();
        body.extend_from_slice(data);
        self.message(b'R', &body)
    }

    pub(crate) fn key(self, process_id: i32, secret_key: &[u8]) -> Self {
        let mut body = process_id.to_be_bytes().to_vec();
        body.extend_from_slice(secret_key);
        self.message(b'K', &body)
    }

    /// What follows a successful authentication.
    pub(crate) fn welcome(self) -> Self {
        self.authentication(0, &[])
            .parameter("server_version", "18.1")
            .parameter("client_encoding", "UTF8")
            .key(4711, &[1, 2, 3, 4])
            .ready(b'I')
    }
}

/// Strings, each ended by a NUL.
pub(crate) fn strings(texts: &[&str]) -> Vec<u8> {
    texts.iter().flat_map(|text| text.bytes().chain([0])).collect()
}
