//! The answers to what the server asks before it lets a user in, by the account's plugin. Which one that is the
//! server knows only once it has the user's name, so the first answer may be for nothing.

use super::Options;
use super::error::LoginError;
use super::public_key::PublicKey;
use super::scramble;
use crate::endpoint::{Login, Password};
use crate::my::backend::{Body, Text};
use crate::my::error::ProtocolError;

/// How a password is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plugin {
    CachingSha2,
    Native,
    Ed25519,
    Sha256,
    Clear,
}

impl Plugin {
    const ALL: [Self; 5] = [Self::CachingSha2, Self::Native, Self::Ed25519, Self::Sha256, Self::Clear];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::CachingSha2 => "caching_sha2_password",
            Self::Native => "mysql_native_password",
            Self::Ed25519 => "client_ed25519",
            Self::Sha256 => "sha256_password",
            Self::Clear => "mysql_clear_password",
        }
    }

    fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|plugin| plugin.name().as_bytes() == name)
    }
}

/// Follows an authentication exchange.
#[derive(Debug)]
pub(super) struct Authenticator {
    plugin: Plugin,
    challenge: Vec<u8>,
    /// Nobody between here and the server can read what is sent.
    confidential: bool,
    /// The password may go as it is to a plugin that wants it so.
    clear_allowed: bool,
    public_key_retrieval: bool,
    exchange: Exchange,
}

/// Where the exchange stands.
#[derive(Debug, PartialEq, Eq)]
enum Exchange {
    /// An answer was given; a verdict or another request may follow.
    Answered,
    /// The server's public key was asked for.
    KeyRequested,
    /// The password itself was sent; only the verdict may follow.
    PasswordSent,
}

/// Requests for a public key, by plugin.
const REQUEST_KEY_SHA256: u8 = 1;
const REQUEST_KEY_CACHING: u8 = 2;

impl Authenticator {
    /// Begins with the plugin that the greeting named, so that most logins need no switch.
    pub(super) fn new(greeted: Text<'_>, challenge: Vec<u8>, confidential: bool, options: Options) -> Self {
        // One that would show the password, or that needs a challenge of its own, has to be asked for by name.
        let first = match Plugin::named(greeted.0) {
            Some(plugin @ (Plugin::CachingSha2 | Plugin::Native)) => plugin,
            _ => Plugin::Native,
        };
        Self {
            plugin: first,
            challenge,
            confidential,
            clear_allowed: options.clear_password || options.unix_socket,
            public_key_retrieval: options.public_key_retrieval,
            exchange: Exchange::Answered,
        }
    }

    pub(super) fn plugin(&self) -> &'static str {
        self.plugin.name()
    }

    /// The answer that goes with the login request, and after a switch.
    pub(super) fn answer(&mut self, login: &Login) -> Result<Vec<u8>, LoginError> {
        self.exchange = Exchange::Answered;
        let password = password(login);
        let name = self.plugin.name();
        match self.plugin {
            Plugin::Native | Plugin::CachingSha2 if password.is_empty() => Ok(Vec::new()),
            Plugin::Native => Ok(scramble::native(password, &self.challenge)),
            Plugin::CachingSha2 => Ok(scramble::caching_sha2(password, &self.challenge)),
            Plugin::Ed25519 => Ok(scramble::ed25519(password, &self.challenge)),
            Plugin::Sha256 if password.is_empty() => Ok(vec![0]),
            Plugin::Sha256 if self.confidential => Ok(self.whole(password)),
            Plugin::Sha256 => self.request_key(REQUEST_KEY_SHA256),
            Plugin::Clear if !self.confidential => Err(LoginError::ClearPassword { plugin: name }),
            Plugin::Clear if self.clear_allowed => Ok(self.whole(password)),
            Plugin::Clear => Err(LoginError::ClearPasswordForbidden { plugin: name }),
        }
    }

    /// Changes to the plugin that the account uses; `payload` begins with 0xfe.
    pub(super) fn switch(&mut self, payload: &[u8], login: &Login) -> Result<Vec<u8>, LoginError> {
        let mut body = Body::new("an authentication switch", payload);
        body.u8()?;
        // MySQL before 4.1 knew no plugins, and a server that wants its way of hashing names none.
        let name = if payload.len() == 1 { b"mysql_old_password" } else { body.string()? };
        let Some(plugin) = Plugin::named(name) else { return Err(unsupported(name)) };
        let challenge = body.rest();
        self.plugin = plugin;
        self.challenge = match plugin {
            // Random bytes, of which the last may be a zero: nothing ends them.
            Plugin::Ed25519 => challenge,
            _ => challenge.strip_suffix(&[0]).unwrap_or(challenge),
        }
        .to_vec();
        self.answer(login)
    }

    /// Goes on with the plugin's own exchange; `data` is what followed the 0x01. Nothing to be sent is `None`.
    pub(super) fn more(&mut self, data: &[u8], login: &Login) -> Result<Option<Vec<u8>>, LoginError> {
        match (self.plugin, &self.exchange, data) {
            // The server had the password at hand and is content; its verdict follows.
            (Plugin::CachingSha2, Exchange::Answered, [3]) => Ok(None),
            (Plugin::CachingSha2, Exchange::Answered, [4]) if self.confidential => {
                Ok(Some(self.whole(password(login))))
            }
            (Plugin::CachingSha2, Exchange::Answered, [4]) => self.request_key(REQUEST_KEY_CACHING).map(Some),
            (_, Exchange::KeyRequested, pem) => {
                self.exchange = Exchange::PasswordSent;
                PublicKey::from_pem(pem)?.encrypt(&self.mixed(password(login))).map(Some)
            }
            _ => {
                let during = "another authentication exchange";
                Err(ProtocolError::Unexpected { first: 1, bytes: data.len() + 1, during }.into())
            }
        }
    }

    /// The password itself, as a C string.
    fn whole(&mut self, password: &[u8]) -> Vec<u8> {
        self.exchange = Exchange::PasswordSent;
        [password, &[0]].concat()
    }

    fn request_key(&mut self, request: u8) -> Result<Vec<u8>, LoginError> {
        if !self.public_key_retrieval {
            return Err(LoginError::PublicKeyForbidden { plugin: self.plugin.name() });
        }
        self.exchange = Exchange::KeyRequested;
        Ok(vec![request])
    }

    /// The password as a C string, mixed with the challenge: what is encrypted is good for this login only.
    fn mixed(&self, password: &[u8]) -> Vec<u8> {
        let ended = password.iter().chain(&[0]);
        if self.challenge.is_empty() {
            return ended.copied().collect();
        }
        ended.zip(self.challenge.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect()
    }
}

fn password(login: &Login) -> &[u8] {
    login.password.as_ref().map_or(&[], |password| Password::reveal(password).as_bytes())
}

fn unsupported(name: &[u8]) -> LoginError {
    let advice = match name {
        b"mysql_old_password" => "its hashes are from before MySQL 4.1 and are broken; set the password anew",
        b"auth_gssapi_client" | b"authentication_kerberos_client" | b"authentication_ldap_sasl_client" => {
            "give the account a password of the server's own"
        }
        _ => "choose an account with caching_sha2_password, mysql_native_password or ed25519",
    };
    LoginError::UnsupportedPlugin { plugin: String::from_utf8_lossy(name).into_owned(), advice }
}
