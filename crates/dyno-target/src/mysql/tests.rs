use std::fs;

use dyno_wire::endpoint::{Address, Tls, Wire};

use super::*;
use crate::settings::without_password;

fn nobody() -> Environment {
    Environment::empty().with_user("system")
}

fn parse(text: &str) -> MySqlSettings {
    MySqlSettings::parse(text, &nobody()).unwrap()
}

fn refusal(text: &str) -> String {
    MySqlSettings::parse(text, &nobody()).unwrap_err().to_string()
}

fn address(settings: &MySqlSettings) -> String {
    settings.endpoint().unwrap().address.to_string()
}

#[test]
fn everything_has_a_default() {
    let settings = parse("mysql://");
    assert_eq!((settings.user(), settings.database()), ("system", ""));
    assert_eq!(address(&settings), "127.0.0.1:3306");
    assert_eq!(settings.connect_timeout(), Some(Duration::from_secs(10)));
    assert_eq!(settings.url(), "mysql://system@localhost/");
}

#[test]
fn localhost_is_the_socket_if_it_is_there() {
    let socket = std::env::temp_dir().join(format!("dyno-mysql-socket-{}", std::process::id()));
    let text = socket.display().to_string();
    let environment = nobody().with_mysql_sockets(&["/nowhere/s", &text]);
    let at = |url: &str| address(&MySqlSettings::parse(url, &environment).unwrap());
    assert_eq!(at("mysql://localhost/"), "127.0.0.1:3306");
    fs::write(&socket, "").unwrap();
    assert_eq!(at("mysql://localhost/"), text);
    assert_eq!(at("mysql:///d"), text);
    assert_eq!(at("mysql://localhost/?port=3307"), text);
    assert_eq!(at("mysql://localhost/?protocol=tcp"), "127.0.0.1:3306");
    assert!(at("mysql://localhost:3307/").ends_with(":3307"));
    assert_eq!(at("mysql://127.0.0.1/"), "127.0.0.1:3306");
    fs::remove_file(&socket).unwrap();
}

#[test]
fn a_socket_that_is_named_is_taken_there_or_not() {
    for url in
        ["mysql:///d?socket=/nowhere/s", "mysql://localhost/d?Socket=/nowhere/s", "mysql://%2Fnowhere%2Fs/d"]
    {
        let settings = parse(url);
        assert_eq!(address(&settings), "/nowhere/s", "{url}");
        assert_eq!(settings.url(), "mysql://system@localhost/d?socket=/nowhere/s");
        let Wire::MySql(options) = settings.endpoint().unwrap().wire else { panic!("{url}") };
        assert!(options.unix_socket);
    }
}

#[test]
fn url_wins_over_environment_and_that_over_option_files() {
    let home = std::env::temp_dir().join(format!("dyno-mysql-home-{}", std::process::id()));
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join(".my.cnf"), "[client]\nuser=file\npassword=file\nhost=192.0.2.1\nport=1\n").unwrap();
    let environment = nobody().with_home(&home);
    let with = |environment: &Environment, url: &str| {
        let settings = MySqlSettings::parse(url, environment).unwrap();
        let password = settings.password.as_ref().map(|it| it.reveal().to_owned()).unwrap_or_default();
        format!("{}:{password}@{}", settings.user(), address(&settings))
    };
    assert_eq!(with(&environment, "mysql://"), "file:file@192.0.2.1:1");
    assert_eq!(with(&environment, "mysql://me:mine@192.0.2.9:9/"), "me:mine@192.0.2.9:9");
    assert_eq!(with(&environment, "mysql:///?socket=/s"), "file:file@/s");
    let environment = environment
        .with_variable("MYSQL_HOST", "192.0.2.2")
        .with_variable("MYSQL_TCP_PORT", "2")
        .with_variable("MYSQL_PWD", "variable")
        .with_variable("MYSQL_UNIX_PORT", "/variable");
    assert_eq!(with(&environment, "mysql://"), "file:variable@192.0.2.2:2");
    assert_eq!(with(&environment, "mysql://192.0.2.3"), "file:variable@192.0.2.3:2");
    // The socket is not there.
    assert_eq!(with(&environment, "mysql://localhost"), "file:variable@127.0.0.1:2");
    fs::remove_dir_all(&home).unwrap();
}

#[test]
fn names_of_the_tls_modes_are_taken_as_they_are_written() {
    for (text, mode) in [
        ("DISABLED", SslMode::Disable),
        ("preferred", SslMode::Prefer),
        ("Required", SslMode::Require),
        ("VERIFY_CA", SslMode::VerifyCa),
        ("verify-identity", SslMode::VerifyFull),
    ] {
        assert_eq!(parse(&format!("mysql://h/?ssl-mode={text}")).tls.mode, mode);
    }
    assert!(refusal("mysql://h/?ssl-mode=verify-full").contains("VERIFY_IDENTITY"));
    assert_eq!(parse("mysql://h").tls.mode, SslMode::Prefer);
    // As MySQL's clients have it.
    assert_eq!(parse("mysql://h/?ssl-ca=/a").tls.mode, SslMode::VerifyCa);
    assert_eq!(parse("mysql://h/?ssl-ca=/a").tls.roots, RootCertificates::File("/a".into()));
    let unchecked = parse("mysql://h/?ssl-ca=/a&ssl-mode=REQUIRED");
    assert_eq!(unchecked.tls.roots, RootCertificates::None { looked_at: None });
    assert_eq!(parse("mysql://h/?ssl-mode=VERIFY_CA").tls.roots, RootCertificates::System);
    let missing = parse("mysql://127.0.0.1/?ssl-ca=/nowhere/ca.pem").endpoints().unwrap_err().to_string();
    assert!(missing.contains("/nowhere/ca.pem"), "{missing}");
}

#[test]
fn a_socket_is_encrypted_only_where_that_was_asked_for() {
    let tls = |url: &str| parse(url).endpoint().unwrap().login.tls.clone();
    assert!(matches!(tls("mysql:///?socket=/s"), Tls::Disable));
    assert!(matches!(tls("mysql:///?socket=/s&ssl-mode=REQUIRED"), Tls::Require(_)));
    assert!(matches!(tls("mysql://127.0.0.1"), Tls::Prefer(_)));
    assert!(matches!(tls("mysql://127.0.0.1/?ssl=true"), Tls::Require(_)));
    assert!(matches!(tls("mysql://127.0.0.1/?ssl=false"), Tls::Disable));
}

#[test]
fn what_is_wrong_is_said() {
    for (url, part) in [
        ("mysql://h/?ssl-mod=x", "did you mean `ssl-mode`"),
        ("mysql://h:99999/", "1 to 65535"),
        ("mysql://h/?connect-timeout=x", "whole seconds"),
        ("mysql://h/?local-infile=maybe", "on or off"),
        ("mysql://h/?protocol=pipe", "TCP or SOCKET"),
        ("mysql://a,b/?port=1,2,3", "2 hosts are named but 3"),
        ("mysql://h/?ssl-cipher=x", "cannot be chosen"),
        ("postgres://h/", "mysql://"),
    ] {
        let said = refusal(url);
        assert!(said.contains(part), "{url}: {said}");
    }
}

#[test]
fn the_url_can_be_named_again_and_has_no_password() {
    for url in [
        "mysql://me:secret@db.example:3307/my%20db?ssl-mode=VERIFY_IDENTITY&ssl-ca=/a%20b",
        "mariadb://me:secret@[2001:db8::1]/d",
        "mysql://me:secret@localhost:3306/d?ssl-mode=DISABLED",
        "mysql://me:secret@localhost/d?port=3307",
        "mysql://me:secret@/d?socket=/tmp/a%26b",
        "mysql://me:secret@a:1,b/d",
    ] {
        let settings = parse(url);
        let shown = settings.url();
        assert!(!shown.contains("secret"), "{shown}");
        let again = parse(&shown);
        assert_eq!((again.url(), &again.hosts, again.tls.mode), (shown, &settings.hosts, settings.tls.mode));
        assert!(!format!("{settings:?}").contains("secret"));
        assert!(!without_password(url).contains("secret"));
    }
}

#[test]
fn options_of_sysbench_are_combined() {
    let from = |options: &[(&str, &str)]| MySqlSettings::from_options(options, &nobody()).unwrap();
    let settings = from(&[
        ("host", "192.0.2.1,192.0.2.2"),
        ("port", "4001,4002"),
        ("user", "sbtest"),
        ("password", ""),
        ("database", "sbtest"),
        ("ssl-mode", "DISABLED"),
    ]);
    let addresses: Vec<String> =
        settings.endpoints().unwrap().iter().map(|endpoint| endpoint.address.to_string()).collect();
    assert_eq!(addresses, ["192.0.2.1:4001", "192.0.2.1:4002", "192.0.2.2:4001", "192.0.2.2:4002"]);
    assert_eq!((settings.user(), settings.database()), ("sbtest", "sbtest"));
    assert_eq!(settings.endpoint().unwrap().login.password, None);
    // Sockets, where they are given, are all that is used.
    let sockets = from(&[("host", "h"), ("socket", "/a,/b")]).endpoints().unwrap();
    let addresses: Vec<_> = sockets.iter().map(|endpoint| endpoint.address.clone()).collect();
    assert_eq!(addresses, [Address::Unix("/a".into()), Address::Unix("/b".into())]);
    // As with sysbench a port does not turn localhost into TCP, but where there is no socket it is what is left.
    assert_eq!(address(&from(&[("host", "localhost"), ("port", "3307")])), "127.0.0.1:3307");
}
