//! Who may read: the method, the `Host` and the token of every request are looked at before anything else is, and every
//! answer gets the headers that keep a browser from doing anything else with it.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use percent_encoding::percent_decode_str;
use subtle::ConstantTimeEq as _;

use super::error::{ApiError, ServeError};

/// What every answer says, unless it says otherwise itself.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
];

/// What a reader must know. It has no `Debug`, and is compared in constant time.
#[derive(Clone)]
pub(super) struct AccessToken(String);

impl AccessToken {
    pub(super) fn new(text: String) -> Result<Self, ServeError> {
        if text.is_empty() {
            return Err(ServeError::Token { why: "is empty" });
        }
        // It travels in a header, in a cookie and in a URL.
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=!*".contains(&byte);
        if !text.bytes().all(plain) {
            return Err(ServeError::Token {
                why: "may hold letters and digits of ASCII and -._~+/=!* only: `openssl rand -hex 16` makes a good one",
            });
        }
        Ok(Self(text))
    }

    fn is(&self, said: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(said).into()
    }
}

/// The conditions on which requests are answered.
#[derive(Clone)]
pub(super) struct Gate {
    token: Option<AccessToken>,
    /// Whether requests must name this machine as the one they mean.
    loopback: bool,
    /// Cookies know no ports: two servers of one machine must not take each other's.
    cookie: String,
}

impl Gate {
    pub(super) fn new(address: SocketAddr, token: Option<AccessToken>) -> Self {
        Self { token, loopback: address.ip().is_loopback(), cookie: format!("dyno-{}", address.port()) }
    }
}

/// Lets through what may be answered.
pub(super) async fn guard(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let mut response = match gate.refusal(request.method(), request.uri(), request.headers()) {
        Some(refusal) => refusal,
        None => next.run(request).await,
    };
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

impl Gate {
    /// The answer to what is not let through.
    fn refusal(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Response> {
        if method != Method::GET && method != Method::HEAD {
            let error = ApiError::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "only GET and HEAD: nothing here can be changed",
            );
            return Some(([(header::ALLOW, "GET, HEAD")], error).into_response());
        }
        if headers.get_all(header::HOST).iter().nth(1).is_some() {
            // RFC 9112, 3.2: a proxy and this server could read different ones.
            let why = "a request has one Host header, and this one has several";
            return Some(ApiError::new(StatusCode::BAD_REQUEST, why).into_response());
        }
        if self.loopback && !names_loopback(uri, headers) {
            // A page from elsewhere can have its own host name point here (DNS rebinding), and would read along.
            let why = "this server answers to localhost, 127.0.0.1 and [::1] only";
            return Some(ApiError::new(StatusCode::FORBIDDEN, why).into_response());
        }
        if is_loaded_by_another_site(headers) {
            // It could not read the answer, but have a long run be read again and again beside a load.
            let why = "other sites may link here, and load nothing from here";
            return Some(ApiError::new(StatusCode::FORBIDDEN, why).into_response());
        }
        let token = self.token.as_ref()?;
        if let Some(said) = query_token(uri) {
            return Some(if token.is(&percent_decode_str(said).collect::<Vec<u8>>()) {
                self.welcome(token, uri)
            } else {
                unauthorized()
            });
        }
        if said_in_headers(headers, &self.cookie).any(|said| token.is(said)) {
            None
        } else {
            Some(unauthorized())
        }
    }

    /// Puts the token where it shows in no address bar, no history and no bookmark.
    fn welcome(&self, token: &AccessToken, uri: &Uri) -> Response {
        // `Strict` would be left at home by whoever follows a link from a chat or a wiki, the one with the token among
        // them. `Lax` goes with a link and with nothing that another page loads, and here nothing can be changed.
        let cookie = format!("{}={}; HttpOnly; SameSite=Lax; Path=/", self.cookie, token.0);
        let headers = [(header::LOCATION, without_token(uri)), (header::SET_COOKIE, cookie)];
        (StatusCode::SEE_OTHER, headers).into_response()
    }
}

fn unauthorized() -> Response {
    let why = "a token is needed: open the page once with ?token=… behind its address, or send Authorization: Bearer …";
    let error = ApiError::new(StatusCode::UNAUTHORIZED, why);
    ([(header::WWW_AUTHENTICATE, "Bearer")], error).into_response()
}

/// Whether the host that the request is for is this machine, by a name that no one else's DNS decides.
fn names_loopback(uri: &Uri, headers: &HeaderMap) -> bool {
    let said = match uri.authority() {
        Some(authority) => Some(authority.clone()),
        None => headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok())
            .and_then(|host| host.parse::<Authority>().ok()),
    };
    let Some(said) = said else { return false };
    let host = said.host().trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a browser says that a page from elsewhere asks, also from another port or name of this site (`same-site`), and not
/// somebody who followed a link.
fn is_loaded_by_another_site(headers: &HeaderMap) -> bool {
    let said = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    let is_own = matches!(said("sec-fetch-site"), None | Some(b"same-origin" | b"none"));
    !is_own && said("sec-fetch-mode") != Some(b"navigate")
}

/// Everything in the headers that may be a token.
fn said_in_headers<'a>(headers: &'a HeaderMap, cookie: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let bearers = headers.get_all(header::AUTHORIZATION).iter().filter_map(|value| {
        let (scheme, said) = value.as_bytes().split_at_checked(7)?;
        scheme.eq_ignore_ascii_case(b"Bearer ").then_some(said.trim_ascii())
    });
    let cookies = headers
        .get_all(header::COOKIE)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b';'))
        .filter_map(move |pair| pair.trim_ascii().strip_prefix(cookie.as_bytes())?.strip_prefix(b"="));
    bearers.chain(cookies)
}

fn query_token(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix("token="))
}

/// Where the request was for, on this server.
fn without_token(uri: &Uri) -> String {
    let rest: Vec<_> = uri
        .query()
        .unwrap_or("")
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.starts_with("token="))
        .collect();
    // `//elsewhere/` would be another server's address.
    let path = uri.path().trim_start_matches(['/', '\\']);
    if rest.is_empty() { format!("/{path}") } else { format!("/{path}?{}", rest.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_stays_on_this_server() {
        let back = |uri: &str| without_token(&uri.parse().unwrap());
        assert_eq!(back("/?token=abc"), "/");
        assert_eq!(back("/?run=a&token=abc&run=b"), "/?run=a&run=b");
        assert_eq!(back("//elsewhere.example/?token=abc"), "/elsewhere.example/");
    }

    #[test]
    fn only_names_of_this_machine_are_its_own() {
        let named = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            names_loopback(&Uri::from_static("/"), &headers)
        };
        for own in ["localhost:7878", "LOCALHOST", "127.0.0.1:1", "127.1.2.3", "[::1]:7878"] {
            assert!(named(own), "{own}");
        }
        for other in ["evil.example:7878", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", ""]
        {
            assert!(!named(other), "{other}");
        }
        assert!(!names_loopback(&Uri::from_static("/"), &HeaderMap::new()));
    }

    #[test]
    fn a_token_is_found_where_it_may_stand() {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, "bearer one".parse().unwrap());
        headers.append(header::COOKIE, "a=b; dyno-7878=two;dyno-78789=x".parse().unwrap());
        assert_eq!(said_in_headers(&headers, "dyno-7878").collect::<Vec<_>>(), [b"one", b"two"]);
        let token = AccessToken::new("one".to_owned()).ok().unwrap();
        assert!(token.is(b"one") && !token.is(b"on") && !token.is(b"") && !token.is(b"one "));
        for wrong in ["", "a b", "a;b"] {
            assert!(AccessToken::new(wrong.to_owned()).is_err(), "{wrong:?}");
        }
    }
}
