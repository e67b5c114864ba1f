//! The answers to what the server asks before it lets a user in: nothing (trust), a password in clear, its md5
//! hash, or SCRAM-SHA-256 with or without channel binding.

use std::borrow::Cow;
use std::fmt;

use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding as ScramBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};

use super::channel_binding::end_point;
use super::error::LoginError;
use crate::endpoint::{ChannelBinding, Login, Password};
use crate::link::Link;
use crate::pg::backend::Authentication;
use crate::pg::error::{ProtocolError, Tag};
use crate::pg::frontend;

/// Follows an authentication exchange.
#[derive(Default)]
pub(super) struct Authenticator {
    exchange: Exchange,
    /// The exchange was bound to the TLS channel.
    bound: bool,
}

/// Where the exchange stands.
#[derive(Default)]
enum Exchange {
    /// The server's first request.
    #[default]
    Open,
    /// A password was sent; only the verdict may follow.
    PasswordSent,
    /// The server's first SCRAM message.
    ScramFirst(Box<ScramSha256>),
    /// The server's last SCRAM message, which proves that it knows the password.
    ScramFinal(Box<ScramSha256>),
    /// The server has proved itself; only the verdict may follow.
    Verified,
}

impl Authenticator {
    /// Answers `request` into `out`; true once the server has let the user in.
    pub(super) fn handle(
        &mut self,
        request: Authentication<'_>,
        login: &Login,
        link: &Link,
        out: &mut Vec<u8>,
    ) -> Result<bool, LoginError> {
        match (request, std::mem::take(&mut self.exchange)) {
            (Authentication::Ok, exchange) => return self.accepted(&exchange, login).map(|()| true),
            (Authentication::CleartextPassword, Exchange::Open) => {
                frontend::password(out, unbound_password(login, "password")?);
                self.exchange = Exchange::PasswordSent;
            }
            (Authentication::Md5Password { salt }, Exchange::Open) => {
                let password = unbound_password(login, "md5")?;
                frontend::password(out, &md5_hash(login.user.as_bytes(), password.as_bytes(), salt));
                self.exchange = Exchange::PasswordSent;
            }
            (Authentication::Sasl { mechanisms }, Exchange::Open) => {
                self.exchange = Exchange::ScramFirst(self.scram(mechanisms, login, link, out)?);
            }
            (Authentication::SaslContinue(data), Exchange::ScramFirst(mut scram)) => {
                scram.update(data).map_err(|error| LoginError::Scram { reason: error.to_string() })?;
                frontend::sasl_response(out, scram.message());
                self.exchange = Exchange::ScramFinal(scram);
            }
            (Authentication::SaslFinal(data), Exchange::ScramFinal(mut scram)) => {
                let unverified =
                    |error: std::io::Error| LoginError::ServerNotVerified { reason: error.to_string() };
                scram.finish(data).map_err(unverified)?;
                self.exchange = Exchange::Verified;
            }
            (Authentication::Other(method), Exchange::Open) => {
                return Err(LoginError::UnsupportedMethod { method: method_name(method).into_owned() });
            }
            _ => return Err(out_of_order().into()),
        }
        Ok(false)
    }

    fn accepted(&self, exchange: &Exchange, login: &Login) -> Result<(), LoginError> {
        match exchange {
            // Without its proof anybody could play the server, whatever password we hold.
            Exchange::ScramFirst(_) | Exchange::ScramFinal(_) => {
                Err(LoginError::ServerNotVerified { reason: "it ended the SCRAM exchange early".to_owned() })
            }
            _ if login.channel_binding == ChannelBinding::Require && !self.bound => {
                Err(LoginError::ChannelBinding { reason: "the server let the user in without it" })
            }
            _ => Ok(()),
        }
    }

    /// Chooses a mechanism and begins the exchange.
    fn scram(
        &mut self,
        mechanisms: &[u8],
        login: &Login,
        link: &Link,
        out: &mut Vec<u8>,
    ) -> Result<Box<ScramSha256>, LoginError> {
        let offers =
            |wanted: &str| mechanisms.split(|&byte| byte == 0).any(|offer| offer == wanted.as_bytes());
        let plus = offers(SCRAM_SHA_256_PLUS);
        if plus && link.is_plain() {
            return Err(LoginError::PlusWithoutTls);
        }
        if !plus && !offers(SCRAM_SHA_256) {
            let offered = String::from_utf8_lossy(mechanisms).replace('\0', " ");
            return Err(LoginError::UnsupportedMethod {
                method: format!("SASL with {}", offered.trim_end()),
            });
        }
        let (mechanism, binding) = choose(plus, login.channel_binding, link)?;
        self.bound = mechanism == SCRAM_SHA_256_PLUS;
        if !self.bound && !offers(SCRAM_SHA_256) {
            return Err(LoginError::UnsupportedMethod { method: SCRAM_SHA_256_PLUS.to_owned() });
        }
        let scram = ScramSha256::new(password(login, "scram-sha-256")?.as_bytes(), binding);
        frontend::sasl_initial_response(out, mechanism, scram.message());
        Ok(Box::new(scram))
    }
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authenticator").field("bound", &self.bound).finish_non_exhaustive()
    }
}

/// The mechanism, and what the first SCRAM message says of channel binding: used (`p=`), possible but not
/// offered (`y`, by which the server notices if somebody removed its offer), or not possible here (`n`).
fn choose(
    plus: bool,
    wanted: ChannelBinding,
    link: &Link,
) -> Result<(&'static str, ScramBinding), LoginError> {
    let end_point = match (wanted, link) {
        (ChannelBinding::Disable, _) | (_, Link::Plain) => None,
        (_, Link::Tls(session)) => {
            session.peer_certificates().and_then(<[_]>::first).and_then(|certificate| end_point(certificate))
        }
    };
    match (end_point, plus) {
        (Some(hash), true) => Ok((SCRAM_SHA_256_PLUS, ScramBinding::tls_server_end_point(hash))),
        _ if wanted == ChannelBinding::Require => {
            Err(LoginError::ChannelBinding { reason: missing(plus, link) })
        }
        (Some(_), false) => Ok((SCRAM_SHA_256, ScramBinding::unrequested())),
        (None, _) => Ok((SCRAM_SHA_256, ScramBinding::unsupported())),
    }
}

fn missing(plus: bool, link: &Link) -> &'static str {
    match (link, plus) {
        (Link::Plain, _) => "the connection is not encrypted; choose sslmode=require or stricter",
        (_, false) => "the server does not offer it",
        (_, true) => "the server's certificate is signed in a way for which it is not defined",
    }
}

/// The password for a method that knows no channel binding; not even sent if that is required.
fn unbound_password<'l>(login: &'l Login, method: &'static str) -> Result<&'l str, LoginError> {
    if login.channel_binding == ChannelBinding::Require {
        return Err(LoginError::ChannelBinding {
            reason: "the server asks for the password in a way without it",
        });
    }
    password(login, method)
}

fn password<'l>(login: &'l Login, method: &'static str) -> Result<&'l str, LoginError> {
    login.password.as_ref().map(Password::reveal).ok_or(LoginError::PasswordMissing { method })
}

fn method_name(method: u32) -> Cow<'static, str> {
    Cow::Borrowed(match method {
        2 => "Kerberos 5",
        6 => "SCM credentials",
        7 | 8 => "GSSAPI",
        9 => "SSPI",
        other => return Cow::Owned(format!("authentication method {other}")),
    })
}

fn out_of_order() -> ProtocolError {
    ProtocolError::Unexpected { tag: Tag(b'R'), length: 8, during: "another authentication exchange" }
}
