//! Every message a server may send, decoded in place.

use std::borrow::Cow;
use std::fmt;

use super::body::Body;
use super::command_tag::CommandTag;
use super::fields::NoticeFields;
use super::frame::Frame;
use super::row::{DataRow, RowDescription};
use crate::pg::error::ProtocolError;

/// A message from the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    Authentication(Authentication<'a>),
    /// What a cancel request must name.
    BackendKeyData {
        process_id: i32,
        secret_key: &'a [u8],
    },
    BindComplete,
    CloseComplete,
    CommandComplete(CommandTag<'a>),
    CopyData(&'a [u8]),
    CopyDone,
    CopyInResponse(CopyResponse<'a>),
    CopyOutResponse(CopyResponse<'a>),
    DataRow(DataRow<'a>),
    EmptyQueryResponse,
    Error(NoticeFields<'a>),
    /// The server knows no newer protocol 3 than this minor version, and not the options named.
    NegotiateProtocolVersion {
        minor: i32,
        unknown_options: u32,
    },
    NoData,
    Notice(NoticeFields<'a>),
    Notification {
        process_id: i32,
        channel: Text<'a>,
        payload: Text<'a>,
    },
    /// A statement that was described has so many parameters.
    ParameterDescription {
        parameters: u16,
    },
    ParameterStatus {
        name: Text<'a>,
        value: Text<'a>,
    },
    ParseComplete,
    PortalSuspended,
    ReadyForQuery(TransactionStatus),
    RowDescription(RowDescription<'a>),
}

/// What the server asks for before it lets a user in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authentication<'a> {
    Ok,
    CleartextPassword,
    Md5Password {
        salt: [u8; 4],
    },
    /// The mechanisms offered, each ended by a NUL.
    Sasl {
        mechanisms: &'a [u8],
    },
    SaslContinue(&'a [u8]),
    SaslFinal(&'a [u8]),
    /// Kerberos, GSSAPI, SSPI and whatever may come, by number.
    Other(u32),
}

/// Where the session stands with regard to transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TransactionStatus {
    #[default]
    Idle,
    InTransaction,
    /// In a transaction that an error has ended but for its `ROLLBACK`.
    Failed,
}

/// The form of the data of a COPY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyResponse<'a> {
    /// Whether the data as a whole is binary.
    pub binary: bool,
    /// Each column's format (0 text, 1 binary) as a big-endian 16-bit word.
    formats: &'a [u8],
}

impl CopyResponse<'_> {
    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.formats.len() / 2
    }
}

impl<'a> Message<'a> {
    /// Decodes and checks one message.
    pub fn parse(frame: Frame<'a>) -> Result<Self, ProtocolError> {
        let mut body = Body::new(frame);
        let message = match frame.tag {
            b'1' => Self::ParseComplete,
            b'2' => Self::BindComplete,
            b'3' => Self::CloseComplete,
            b'A' => Self::Notification {
                process_id: body.i32()?,
                channel: Text(body.string()?),
                payload: Text(body.string()?),
            },
            b'C' => return CommandTag::parse(frame).map(Self::CommandComplete),
            b'D' => return DataRow::parse(frame).map(Self::DataRow),
            b'E' => return NoticeFields::parse(frame).map(Self::Error),
            b'G' => Self::CopyInResponse(copy_response(&mut body)?),
            b'H' => Self::CopyOutResponse(copy_response(&mut body)?),
            b'I' => Self::EmptyQueryResponse,
            b'K' => Self::BackendKeyData { process_id: body.i32()?, secret_key: body.rest() },
            b'N' => return NoticeFields::parse(frame).map(Self::Notice),
            b'R' => Self::Authentication(authentication(&mut body)?),
            b'S' => Self::ParameterStatus { name: Text(body.string()?), value: Text(body.string()?) },
            b'T' => return RowDescription::parse(frame).map(Self::RowDescription),
            b'Z' => Self::ReadyForQuery(TransactionStatus::parse(frame)?),
            b'c' => Self::CopyDone,
            b'd' => Self::CopyData(frame.body),
            b'n' => Self::NoData,
            b's' => Self::PortalSuspended,
            b't' => parameters(&mut body)?,
            b'v' => negotiation(&mut body)?,
            tag => return Err(super::length_error(tag, frame.length())),
        };
        if !matches!(message, Self::CopyData(_) | Self::ReadyForQuery(_)) {
            body.end()?;
        }
        Ok(message)
    }
}

/// Each with its type, which nobody needs.
fn parameters<'a>(body: &mut Body<'_>) -> Result<Message<'a>, ProtocolError> {
    let parameters = body.u16()?;
    for _ in 0..parameters {
        body.u32()?;
    }
    Ok(Message::ParameterDescription { parameters })
}

impl TransactionStatus {
    #[inline]
    pub(in crate::pg) fn parse(frame: Frame<'_>) -> Result<Self, ProtocolError> {
        match frame.body {
            b"I" => Ok(Self::Idle),
            b"T" => Ok(Self::InTransaction),
            b"E" => Ok(Self::Failed),
            _ => Err(frame.malformed("the transaction status is unknown")),
        }
    }
}

fn copy_response<'a>(body: &mut Body<'a>) -> Result<CopyResponse<'a>, ProtocolError> {
    let binary = body.u8()? != 0;
    let columns = body.u16()?;
    Ok(CopyResponse { binary, formats: body.bytes(2 * usize::from(columns))? })
}

fn authentication<'a>(body: &mut Body<'a>) -> Result<Authentication<'a>, ProtocolError> {
    Ok(match body.u32()? {
        0 => Authentication::Ok,
        3 => Authentication::CleartextPassword,
        5 => Authentication::Md5Password { salt: body.array()? },
        10 => Authentication::Sasl { mechanisms: body.rest() },
        11 => Authentication::SaslContinue(body.rest()),
        12 => Authentication::SaslFinal(body.rest()),
        method => {
            body.rest();
            Authentication::Other(method)
        }
    })
}

fn negotiation<'a>(body: &mut Body<'a>) -> Result<Message<'a>, ProtocolError> {
    let minor = body.i32()?;
    let unknown_options = body.u32()?;
    for _ in 0..unknown_options {
        body.string()?;
    }
    Ok(Message::NegotiateProtocolVersion { minor, unknown_options })
}

/// Text as the server sent it, in the session's encoding: UTF-8, but for what an unfinished login brings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Text<'a>(pub &'a [u8]);

impl<'a> Text<'a> {
    /// As a `str`, with replacement characters for what is not UTF-8; allocates only for those.
    pub fn lossy(self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.0)
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.lossy())
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.lossy(), f)
    }
}
