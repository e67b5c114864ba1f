use std::fs;
use std::path::PathBuf;

use dyno_wire::endpoint::Tls;
use proptest::prelude::*;

use super::*;
use crate::tls::TlsFileError;

fn environment() -> Environment {
    Environment::empty().with_user("osuser").with_socket_directories(&["/nowhere/a", "/nowhere/b"])
}

fn parse(text: &str) -> TargetSettings {
    TargetSettings::parse(text, &environment()).unwrap()
}

fn refused(text: &str) -> String {
    TargetSettings::parse(text, &environment()).unwrap_err().to_string()
}

/// A directory of its own, removed at the end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("dyno-settings-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join(".postgresql")).unwrap();
        Self(path)
    }

    fn write(&self, file: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.0.join(file);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn addresses(settings: &TargetSettings) -> Vec<String> {
    settings.endpoints().unwrap().iter().map(|it| it.address.to_string()).collect()
}

#[test]
fn nothing_named_is_the_local_server() {
    let settings = parse("");
    assert_eq!((settings.user(), settings.database()), ("osuser", "osuser"));
    assert_eq!(settings.url(), "postgres://osuser@/osuser");
    assert_eq!(addresses(&settings), ["/nowhere/a/.s.PGSQL.5432"]);
    assert!(matches!(settings.endpoint().unwrap().login.tls, Tls::Disable));
}

#[test]
fn the_first_directory_with_a_socket_is_taken() {
    let home = Directory::new("socket");
    home.write(".s.PGSQL.5444", "");
    let environment = environment()
        .with_socket_directories(&["/nowhere/a", home.0.to_str().unwrap()])
        .with_variable("PGPORT", "5444");
    let settings = TargetSettings::parse("", &environment).unwrap();
    assert_eq!(addresses(&settings), [format!("{}/.s.PGSQL.5444", home.0.display())]);
}

#[test]
fn urls_and_connection_strings_mean_the_same() {
    for (url, conninfo, shown) in [
        ("postgres://u@127.0.0.1:7/d", "host=127.0.0.1 port=7 user=u dbname=d", "postgres://u@127.0.0.1:7/d"),
        ("postgresql://u@[::1]/d", "host=::1 user=u dbname=d", "postgres://u@[::1]/d"),
        (
            "postgres:///d?host=/tmp&port=7",
            "host=/tmp port=7 dbname=d",
            "postgres://osuser@/d?host=/tmp&port=7",
        ),
        ("postgres://u@%2Ftmp/d", "host=/tmp user=u dbname=d", "postgres://u@/d?host=/tmp"),
        (
            "postgres://u@1.1.1.1,1.1.1.2:6/a%2Fb?sslmode=require&target_session_attrs=read-write",
            "host=1.1.1.1,1.1.1.2 port=,6 user=u dbname=a/b sslmode=require target_session_attrs=read-write",
            "postgres://u@1.1.1.1,1.1.1.2:6/a%2Fb?sslmode=require&target_session_attrs=read-write",
        ),
        (
            "postgres://u@db/d?hostaddr=10.0.0.1&options=-c%20x%3D1",
            "host=db hostaddr=10.0.0.1 user=u dbname=d options='-c x=1'",
            "postgres://u@db/d?hostaddr=10.0.0.1&options=-c%20x=1",
        ),
    ] {
        let (a, b) = (parse(url), parse(conninfo));
        assert_eq!(a.url(), shown);
        assert_eq!(b.url(), shown);
        assert_eq!(addresses(&a), addresses(&b));
        assert_eq!(parse(&a.url()).url(), shown, "a shown URL can be named again");
    }
}

#[test]
fn named_wins_over_service_over_environment_over_defaults() {
    let home = Directory::new("service");
    let file = home.write("services", "[mine]\nuser=from_service\ndbname=from_service\nport=6000\n");
    let environment = environment()
        .with_variable("PGSERVICEFILE", file.to_str().unwrap())
        .with_variable("PGUSER", "from_variable")
        .with_variable("PGHOST", "127.0.0.9")
        .with_variable("PGAPPNAME", "app")
        .with_variable("PGTZ", "UTC");
    let settings = TargetSettings::parse("service=mine dbname=named", &environment).unwrap();
    assert_eq!(settings.url(), "postgres://from_service@127.0.0.9:6000/named");
    let login = settings.endpoint().unwrap().login;
    assert!(login.parameters.contains(&("application_name".into(), "app".into())));
    assert!(login.parameters.contains(&("timezone".into(), "UTC".into())));
    let by_variable = environment.with_variable("PGSERVICE", "mine");
    assert_eq!(TargetSettings::parse("", &by_variable).unwrap().database(), "from_service");
    let missing = TargetSettings::parse("service=other", &by_variable).unwrap_err().to_string();
    assert!(missing.contains("`other`") && missing.contains("services"), "{missing}");
}

#[test]
fn the_system_service_file_is_read_after_the_users() {
    let system = Directory::new("sysconf");
    system.write("pg_service.conf", "[far]\nhost=10.9.8.7\n");
    let environment =
        environment().with_home("/nowhere").with_variable("PGSYSCONFDIR", system.0.to_str().unwrap());
    assert_eq!(addresses(&TargetSettings::parse("service=far", &environment).unwrap()), ["10.9.8.7:5432"]);
}

#[test]
fn passwords_come_from_the_file_for_each_host() {
    let home = Directory::new("pgpass");
    home.write(
        ".pgpass",
        "10.0.0.1:*:*:osuser:one\n10.0.0.2:6:d:osuser:two\nlocalhost:*:*:*:local\n/tmp:*:*:*:tmp\n",
    );
    let environment = environment().with_home(&home.0);
    let passwords = |text: &str| -> Vec<Option<String>> {
        let endpoints = TargetSettings::parse(text, &environment).unwrap().endpoints().unwrap();
        endpoints.iter().map(|it| it.login.password.as_ref().map(|it| it.reveal().to_owned())).collect()
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        passwords("host=10.0.0.1,10.0.0.2,10.0.0.3 port=5,6,7 dbname=d"),
        [some("one"), some("two"), None]
    );
    assert_eq!(passwords("dbname=d"), [some("local")]);
    assert_eq!(passwords("host=/nowhere/a"), [some("local")], "the default directory is called localhost");
    assert_eq!(passwords("host=/tmp"), [some("tmp")]);
    assert_eq!(passwords("host=/tmp password=named"), [some("named")]);
    let elsewhere = home.write("other", "*:*:*:*:elsewhere");
    assert_eq!(passwords(&format!("host=/x passfile={}", elsewhere.display())), [some("elsewhere")]);
}

#[test]
fn each_mistake_has_its_own_message() {
    for (text, part) in [
        ("postgres://h/d?sslmod=require", "did you mean `sslmode`"),
        ("postgress://h/d", "did you mean `postgres://`"),
        ("mysql://h/d", "mysql://"),
        ("mydatabase", "postgres://"),
        ("host=a port=0", "1 to 65535"),
        ("host=a port=x", "1 to 65535"),
        ("host=a,b port=1,2,3", "one for each host"),
        ("hostaddr=a", "numeric"),
        ("host=@abstract", "abstract"),
        ("sslmode=allow", "left open"),
        ("sslmode=on", "verify-full"),
        ("sslcrl=/x", "revocation"),
        ("sslrootcert=system sslmode=require", "verify-full"),
        ("sslnegotiation=direct", "sslnegotiation=postgres"),
        ("channel_binding=maybe", "require"),
        ("target_session_attrs=leader", "read-write"),
        ("connect_timeout=soon", "whole seconds"),
        ("service=nope", "`nope`"),
    ] {
        let message = refused(text);
        assert!(message.contains(part), "{text}: {message}");
    }
    assert!(matches!(TargetSettings::parse("", &Environment::empty()), Err(TargetError::NoUser)));
}

#[test]
fn an_unknown_host_is_said_by_name() {
    let error = parse("host=no-such-host.invalid").endpoints().unwrap_err();
    assert!(
        matches!(&error, TargetError::NameNotFound { host, .. } if host == "no-such-host.invalid"),
        "{error}"
    );
}

#[test]
fn verification_needs_roots_and_weaker_modes_do_not() {
    let error = parse("host=127.0.0.1 sslmode=verify-full").endpoints().unwrap_err();
    assert!(matches!(error, TargetError::TlsFile(TlsFileError::NoRoots { .. })), "{error}");
    for mode in ["prefer", "require"] {
        assert!(parse(&format!("host=127.0.0.1 sslmode={mode}")).endpoints().is_ok());
    }
    let missing =
        parse("host=127.0.0.1 sslmode=require sslrootcert=/nowhere/root.crt").endpoints().unwrap_err();
    assert!(matches!(missing, TargetError::TlsFile(TlsFileError::Read { .. })), "{missing}");
}

#[test]
fn timeouts_are_ten_seconds_unless_said() {
    assert_eq!(parse("").connect_timeout(), Some(Duration::from_secs(10)));
    assert_eq!(parse("connect_timeout=3").connect_timeout(), Some(Duration::from_secs(3)));
    assert_eq!(parse("connect_timeout=0").connect_timeout(), None);
}

#[test]
fn database_and_password_can_be_replaced() {
    let settings = parse("host=127.0.0.1,127.0.0.2 password=a")
        .with_password(&Password::new("b".into()))
        .with_database("other");
    for endpoint in settings.endpoints().unwrap() {
        assert_eq!(endpoint.login.password, Some(Password::new("b".into())));
        assert_eq!(endpoint.login.database, "other");
    }
}

#[test]
fn a_connection_string_as_the_database_replaces_what_came_before() {
    let settings = |database: &str| {
        let named =
            [("host", "/a"), ("port", "1"), ("dbname", database), ("fallback_application_name", "mine")];
        TargetSettings::from_parameters(&named, &Environment::empty().with_user("me")).unwrap()
    };
    for (database, url) in [
        ("bank", "postgres://me@/bank?host=/a&port=1"),
        ("", "postgres://me@/me?host=/a&port=1"),
        ("port=2 dbname=bank", "postgres://me@/bank?host=/a&port=2"),
        ("postgres://u@h/bank", "postgres://u@h:1/bank"),
    ] {
        assert_eq!(settings(database).url(), url, "{database}");
        assert!(settings(database).startup.contains(&("application_name".into(), "mine".into())));
    }
}

#[test]
fn endpoints_know_the_name_that_was_resolved() {
    let settings = parse("host=localhost,127.0.0.1,/tmp,x hostaddr=,,,127.0.0.2");
    let named: Vec<_> = settings.named_endpoints().unwrap().into_iter().map(|(name, _)| name).collect();
    assert!(named.contains(&Some("localhost")));
    assert!(named.ends_with(&[Some("127.0.0.1"), None, None]), "{named:?}");
}

#[test]
fn an_ignored_password_file_is_a_warning() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Directory::new("warning");
    let path = home.write(".pgpass", "*:*:*:*:p");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let settings = TargetSettings::parse("", &environment().with_home(&home.0)).unwrap();
    assert!(settings.warnings()[0].contains("chmod 0600"), "{:?}", settings.warnings());
}

proptest! {
    #[test]
    fn parsing_never_panics(text in r"(postgres://)?([a-z%2F:/@?&=,\[\]' é]{0,6}){0,6}|.*") {
        let _ = TargetSettings::parse(&text, &environment());
    }

    /// Whatever the password is and wherever it stands, no output holds it.
    #[test]
    fn the_password_is_never_shown(tail in "[ -~]{0,12}", host in "[a-z]{1,5}", form in 0..4) {
        let password = format!("SECRET{tail}");
        let encoded = super::url::encode(&password);
        let quoted = password.replace('\\', r"\\").replace('\'', r"\'");
        let text = match form {
            0 => format!("postgres://u:{encoded}@{host}/d"),
            1 => format!("postgres://u@{host}/d?password={encoded}"),
            2 => format!("host={host} user=u password='{quoted}'"),
            // As people do type it: not encoded.
            _ => format!("postgres://u:{password}@{host}/d"),
        };
        prop_assert!(!without_password(&text).contains("SECRET"));
        match TargetSettings::parse(&text, &environment()) {
            Ok(settings) => {
                prop_assert!(!settings.url().contains("SECRET"), "{}", settings.url());
                let debug = format!("{settings:?}");
                prop_assert!(!debug.contains("SECRET"));
                if form < 3 {
                    let kept = |host: &Host| host.password == Some(Password::new(password.clone()));
                    prop_assert!(settings.hosts.iter().all(kept));
                }
            }
            Err(error) => {
                let shown = format!("{error} {error:?}");
                prop_assert!(form == 3 && !shown.contains("SECRET"), "{}", shown);
            }
        }
    }

    #[test]
    fn a_shown_url_names_the_same_again(user in "[^\0]{1,8}", database in "[^\0]{1,8}", port in 1u16.., socket in "/[^\0,]{0,8}") {
        prop_assume!(socket.trim() == socket);
        let place = super::url::encode(&socket);
        let (user, database) = (super::url::encode(&user), super::url::encode(&database));
        let first = parse(&format!("postgres://{user}@{place}:{port}/{database}"));
        let again = parse(&first.url());
        prop_assert_eq!(again.url(), first.url());
        prop_assert_eq!(again.user(), first.user());
        prop_assert_eq!(again.database(), first.database());
    }
}
