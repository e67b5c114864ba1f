//! Who is refused, and where nothing is served at all.

use std::net::TcpListener;
use std::time::Duration;

use dyno_report::serve::{self, ServeError, ServeOptions};
use tempfile::TempDir;

use crate::http::{answer, get, get_with, request};
use crate::stand::{Stand, short};

const TOKEN: &str = "0123456789abcdef.~+/";

fn spawned(listen: &str, token: Option<&str>) -> Result<serve::Server, ServeError> {
    let directory = TempDir::new().unwrap();
    let mut options = ServeOptions::new(directory.path().join("dyno.sqlite"), listen);
    options.token = token.map(str::to_owned);
    serve::spawn(options)
}

#[test]
fn only_reading_is_answered() {
    let stand = Stand::new();
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
        let refused = answer(request(stand.address(), method, "/api/runs", &[]));
        assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD")), "{method}");
    }
    let head = answer(request(stand.address(), "HEAD", "/api/runs", &[]));
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[test]
fn a_name_of_elsewhere_that_points_here_is_not_answered_to() {
    let stand = Stand::new();
    for host in ["evil.example", "127.0.0.1.evil.example", ""] {
        let refused = get_with(stand.address(), "/api/runs", &[&format!("Host: {host}")]);
        assert!(matches!(refused.status, 400 | 403), "{host}: {}", refused.status);
        assert!(!refused.body.contains("dyno.runs/1"), "{host}");
    }
    for host in ["localhost", "localhost:7878", "127.0.0.1", "[::1]:1"] {
        assert_eq!(get_with(stand.address(), "/api/runs", &[&format!("Host: {host}")]).status, 200, "{host}");
    }
}

#[test]
fn a_request_with_two_hosts_is_refused() {
    let stand = Stand::new();
    for hosts in [["localhost", "evil.example"], ["evil.example", "localhost"], ["localhost", "localhost"]] {
        let lines = hosts.map(|host| format!("Host: {host}"));
        let answer = get_with(stand.address(), "/api/runs", &lines.each_ref().map(String::as_str));
        assert_eq!(answer.status, 400, "{hosts:?}");
    }
}

#[test]
fn another_sites_page_may_link_here_and_load_nothing() {
    let stand = Stand::new();
    let asked = |site: &str, mode: &str| {
        let lines = [format!("Sec-Fetch-Site: {site}"), format!("Sec-Fetch-Mode: {mode}")];
        get_with(stand.address(), "/api/runs", &lines.each_ref().map(String::as_str)).status
    };
    for site in ["cross-site", "same-site", "another-word"] {
        assert_eq!((asked(site, "no-cors"), asked(site, "cors")), (403, 403), "{site}");
    }
    assert_eq!(
        (asked("cross-site", "navigate"), asked("same-origin", "cors"), asked("none", "navigate")),
        (200, 200, 200)
    );
}

#[test]
fn where_a_token_is_given_it_is_needed() {
    let stand = Stand::with(|options| options.token = Some(TOKEN.to_owned()));
    stand.stored(&short());
    let shorter = &TOKEN[1..];
    for lines in [
        vec![],
        vec!["Authorization: Bearer".to_owned()],
        vec![format!("Authorization: Bearer {shorter}")],
        vec![format!("Authorization: Bearer {TOKEN}x")],
        vec![format!("Authorization: Basic {TOKEN}")],
        vec![format!("Cookie: token={TOKEN}")],
    ] {
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        for path in ["/", "/api/runs", "/api/runs/last/live", "/metrics", "/nowhere"] {
            let refused = get_with(stand.address(), path, &lines);
            assert_eq!(
                (refused.status, refused.header("www-authenticate")),
                (401, Some("Bearer")),
                "{lines:?}"
            );
        }
    }
    let bearer = format!("Authorization: Bearer {TOKEN}");
    assert_eq!(get_with(stand.address(), "/api/runs", &[&bearer]).status, 200);
}

#[test]
fn a_token_in_the_address_becomes_a_cookie() {
    let stand = Stand::with(|options| options.token = Some(TOKEN.to_owned()));
    let said = "0123456789abcdef.~%2B%2F";
    let welcome = get(stand.address(), &format!("/?run=a&token={said}&run=b"));
    assert_eq!((welcome.status, welcome.header("location")), (303, Some("/?run=a&run=b")));
    let cookie = welcome.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    assert!(!welcome.body.contains(TOKEN));
    let pair = cookie.split(';').next().unwrap();
    assert_eq!(get_with(stand.address(), "/api/runs", &[&format!("Cookie: other=1; {pair}")]).status, 200);
    let wrong = get(stand.address(), "/?token=guess");
    assert_eq!((wrong.status, wrong.header("set-cookie")), (401, None));
    let elsewhere = get(stand.address(), &format!("//evil.example/?token={said}"));
    assert!(!elsewhere.header("location").is_some_and(|location| location.starts_with("//")));
}

#[test]
fn an_address_that_others_reach_needs_a_token() {
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let refused = spawned(listen, None).unwrap_err();
        assert!(matches!(refused, ServeError::Open { .. }), "{refused}");
        assert!(refused.to_string().contains("token"), "{refused}");
    }
    let Ok(server) = spawned("0.0.0.0:0", Some(TOKEN)) else {
        println!("skipped: no address but loopback can be listened on here");
        return;
    };
    let address = ([127, 0, 0, 1], server.address().port()).into();
    assert_eq!(get_with(address, "/api/runs", &["Host: db.example"]).status, 401);
    let bearer = format!("Authorization: Bearer {TOKEN}");
    assert_ne!(get_with(address, "/api/runs", &["Host: db.example", &bearer]).status, 401);
    server.close(Duration::ZERO);
}

#[test]
fn a_token_that_cannot_travel_is_refused() {
    for token in ["", "two words", "semi;colon", "größe", "new\nline"] {
        let refused = spawned("127.0.0.1:0", Some(token)).unwrap_err();
        assert!(matches!(refused, ServeError::Token { .. }), "{token:?}: {refused}");
        assert!(token.is_empty() || !refused.to_string().contains(token), "{refused}");
    }
}

#[test]
fn a_port_that_is_taken_is_named_with_the_way_out() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let refused = spawned(&address.to_string(), None).unwrap_err().to_string();
    for word in [&address.port().to_string(), "taken", "127.0.0.1:0 takes a free one"] {
        assert!(refused.contains(word), "{word} in {refused}");
    }
}

#[test]
fn an_address_that_is_none_is_told() {
    for listen in ["", "7878", "localhost", "127.0.0.1:99999", "[::1"] {
        let refused = spawned(listen, None).unwrap_err();
        assert!(matches!(refused, ServeError::Address { .. }), "{listen}: {refused}");
    }
    // Not of this machine: kept for documents.
    let refused = spawned("192.0.2.1:7878", Some(TOKEN)).unwrap_err();
    assert!(matches!(refused, ServeError::Bind { .. }), "{refused}");
}
