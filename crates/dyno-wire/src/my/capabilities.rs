//! What client and server agree on at login ([`Capabilities`]), and the state of the session that comes with
//! every answer ([`StatusFlags`]).

use std::ops::{BitAnd, BitOr, Sub};

/// A set of protocol features. What is not named here is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities(pub u32);

impl Capabilities {
    /// The client is MySQL's own kind: MariaDB then sends no flags beyond these.
    pub const LONG_PASSWORD: Self = Self(1);
    /// Affected rows are those found, not those changed.
    pub const FOUND_ROWS: Self = Self(1 << 1);
    pub const LONG_FLAG: Self = Self(1 << 2);
    /// The login names a database.
    pub const CONNECT_WITH_DB: Self = Self(1 << 3);
    /// The client is willing to answer `LOAD DATA LOCAL INFILE`.
    pub const LOCAL_FILES: Self = Self(1 << 7);
    /// The protocol since 4.1; nothing older is spoken here.
    pub const PROTOCOL_41: Self = Self(1 << 9);
    pub const SSL: Self = Self(1 << 11);
    pub const TRANSACTIONS: Self = Self(1 << 13);
    /// Passwords since 4.1.
    pub const SECURE_CONNECTION: Self = Self(1 << 15);
    /// One query may hold several statements.
    pub const MULTI_STATEMENTS: Self = Self(1 << 16);
    pub const MULTI_RESULTS: Self = Self(1 << 17);
    /// Prepared statements too may have several results.
    pub const PS_MULTI_RESULTS: Self = Self(1 << 18);
    pub const PLUGIN_AUTH: Self = Self(1 << 19);
    pub const CONNECT_ATTRS: Self = Self(1 << 20);
    /// The answer of an authentication plugin may be longer than 255 bytes.
    pub const PLUGIN_AUTH_LENENC_DATA: Self = Self(1 << 21);
    /// Rows end with an OK packet, and columns with nothing, where EOF packets were before.
    pub const DEPRECATE_EOF: Self = Self(1 << 24);

    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Capabilities {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Capabilities {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Sub for Capabilities {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// The session's state, as the server last said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatusFlags(pub u16);

impl StatusFlags {
    const IN_TRANSACTION: u16 = 1;
    const AUTOCOMMIT: u16 = 1 << 1;
    const MORE_RESULTS: u16 = 1 << 3;

    pub fn in_transaction(self) -> bool {
        self.has(Self::IN_TRANSACTION)
    }

    pub fn autocommit(self) -> bool {
        self.has(Self::AUTOCOMMIT)
    }

    /// Another result of the same command follows.
    pub fn more_results(self) -> bool {
        self.has(Self::MORE_RESULTS)
    }

    fn has(self, flag: u16) -> bool {
        self.0 & flag != 0
    }
}
