use std::process::Command;
use std::thread;
use std::time::Duration;

use dyno_target::connection::QueryError;
use dyno_target::{Environment, TargetSettings, interruption};

use crate::support::{Server, wait_for};

#[test]
fn rows_values_and_effects_come_back_over_tcp_and_socket() {
    let Some(server) = Server::shared() else { return };
    for local in [true, false] {
        let mut session = server.settings("user=plain", local).connect().unwrap();
        let rows = session
            .query("SELECT 1 AS one, NULL AS nothing, 'ä' AS text UNION ALL SELECT 2, '', ''")
            .unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(
            (rows[0].get("one"), rows[0].get("nothing"), rows[0].get("text")),
            (Some("1"), None, Some("ä"))
        );
        assert_eq!((rows[1].text(1), rows[1].text(9), rows[1].get("other")), (Some(""), None, None));
        let mixed = session.query("SELECT 1 AS a; SELECT 2 AS b").unwrap();
        assert_eq!((mixed[0].get("a"), mixed[1].get("b")), (Some("1"), Some("2")));
        let affected = "CREATE TEMP TABLE t (x int); INSERT INTO t SELECT generate_series(1, 10); DELETE FROM t WHERE x > 7";
        assert_eq!(session.execute(affected).unwrap(), 13);
        assert_eq!(session.query_value::<u32>("SELECT count(*) FROM t").unwrap(), Some(7));
        assert_eq!(session.query_value::<u32>("SELECT NULL").unwrap(), None);
        assert!(matches!(session.query_value::<u32>("SELECT 'x'"), Err(QueryError::Value { .. })));
        assert_eq!(session.wire().unwrap().parameter("application_name"), Some("dyno"));
        session.execute("SET application_name = 'changed'").unwrap();
        assert_eq!(session.wire().unwrap().parameter("application_name"), Some("changed"));
        assert_eq!(
            session.query_value("SELECT pg_backend_pid()").unwrap(),
            Some(session.wire().unwrap().process_id())
        );
        assert_eq!(session.tls_version(), None);
    }
}

#[test]
fn a_failed_statement_keeps_its_sqlstate_and_the_session() {
    let Some(server) = Server::shared() else { return };
    let mut session = server.tcp("user=plain");
    let error = session.query("SELECT 1; SELECT * FROM no_such_table").unwrap_err();
    assert_eq!(error.sqlstate(), Some("42P01"));
    assert!(error.to_string().contains("no_such_table"), "{error}");
    assert_eq!(session.query_value::<i32>("SELECT 7").unwrap(), Some(7));
}

#[test]
fn data_is_copied_in_and_out() {
    let Some(server) = Server::shared() else { return };
    let mut session = server.tcp("user=plain");
    session.execute("CREATE TEMP TABLE t (id int PRIMARY KEY, text text)").unwrap();
    let mut copy = session.copy_in("COPY t FROM STDIN").unwrap();
    for id in 0..50_000 {
        copy.send(format!("{id}\trow {id}\n").as_bytes()).unwrap();
    }
    assert_eq!(copy.finish().unwrap(), 50_000);
    let mut bytes = Vec::new();
    let rows = session
        .wire_mut()
        .unwrap()
        .copy_out("COPY (SELECT * FROM t ORDER BY id) TO STDOUT", |piece| bytes.extend_from_slice(piece));
    assert_eq!(rows.unwrap(), 50_000);
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.lines().count(), 50_000);
    assert_eq!(text.lines().last(), Some("49999\trow 49999"));
}

#[test]
fn a_copy_that_fails_or_is_given_up_leaves_no_rows_and_a_usable_session() {
    let Some(server) = Server::shared() else { return };
    let mut session = server.tcp("user=plain");
    session.execute("CREATE TEMP TABLE t (id int)").unwrap();
    let mut copy = session.copy_in("COPY t FROM STDIN").unwrap();
    copy.send(b"1\n").unwrap();
    drop(copy);
    let mut copy = session.copy_in("COPY t FROM STDIN").unwrap();
    copy.send(b"not a number\n").unwrap();
    assert_eq!(copy.finish().unwrap_err().sqlstate(), Some("22P02"));
    // A bad row at the beginning is noticed long before all is sent.
    let mut copy = session.copy_in("COPY t FROM STDIN").unwrap();
    let line = [b'x'; 64 * 1024];
    copy.send(b"bad\n").unwrap();
    let sent_until_noticed = (0..4096).find_map(|_| copy.send(&line).err());
    assert_eq!(sent_until_noticed.unwrap().sqlstate(), Some("22P02"));
    drop(copy);
    assert!(matches!(session.copy_in("SELECT 1"), Err(QueryError::NotACopy { .. })));
    assert_eq!(session.copy_in("COPY nowhere FROM STDIN").unwrap_err().sqlstate(), Some("42P01"));
    // COPY where nobody has data.
    assert_eq!(session.execute("COPY t FROM STDIN").unwrap_err().sqlstate(), Some("57014"));
    assert_eq!(session.query_value::<u32>("SELECT count(*) FROM t").unwrap(), Some(0));
}

/// A server that says something to each row waits until that is read, and takes no more rows meanwhile.
#[test]
fn a_copy_listens_while_it_writes() {
    const ROWS: usize = 50_000;
    let Some(server) = Server::shared() else { return };
    // A socket, which holds little.
    let mut session = server.settings("user=plain", true).connect().unwrap();
    let talkative = "CREATE TEMP TABLE t (text text); \
                     CREATE FUNCTION pg_temp.repeat() RETURNS trigger LANGUAGE plpgsql AS \
                     $$BEGIN RAISE NOTICE '%', new.text; RETURN new; END$$; \
                     CREATE TRIGGER repeat BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION pg_temp.repeat()";
    session.execute(talkative).unwrap();
    let mut copy = session.copy_in("COPY t FROM STDIN").unwrap();
    let row = format!("{}\n", "x".repeat(200));
    (0..ROWS).for_each(|_| copy.send(row.as_bytes()).unwrap());
    assert_eq!(copy.finish().unwrap(), ROWS as u64);
    assert_eq!(session.query_value::<usize>("SELECT count(*) FROM t").unwrap(), Some(ROWS));
}

/// A process of its own, since the wish to stop is a process's; as a test of its own it does nothing.
#[test]
fn interrupted_session() {
    let Ok(target) = std::env::var("DYNO_TEST_INTERRUPTED") else { return };
    let connect = || TargetSettings::parse(&target, &Environment::empty()).unwrap().connect().unwrap();
    let (mut session, mut admin) = (connect(), connect());
    let pid = session.wire().unwrap().process_id();
    let waiting = thread::spawn(move || (session.query("SELECT pg_sleep(600)").unwrap_err(), session));
    let active =
        format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND wait_event = 'PgSleep'");
    wait_for("the sleep to begin", || admin.query_value::<u32>(&active).unwrap() == Some(1));
    interruption::request();
    let (error, mut session) = waiting.join().unwrap();
    assert!(matches!(error, QueryError::Interrupted), "{error}");
    let begun = session.query("SELECT 1");
    assert!(matches!(begun, Err(QueryError::Interrupted)), "{begun:?}");
    println!("nothing was begun");
}

#[test]
fn nothing_is_begun_once_the_user_wants_to_stop() {
    let Some(server) = Server::shared() else { return };
    let target =
        format!("host={} port={} dbname=postgres user=plain", server.directory.display(), server.port);
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["sessions::interrupted_session", "--exact", "--nocapture"])
        .env("DYNO_TEST_INTERRUPTED", target)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("nothing was begun"), "{output:?}");
}

/// Without that limit it would be waited for the sleep: other sessions are answered, and it is never given up.
#[test]
fn what_is_asked_within_a_time_is_given_up_after_it() {
    let Some(server) = Server::shared() else { return };
    let mut session = server.settings("user=plain", true).connect().unwrap();
    let asked = session.within(Duration::from_secs(60), |it| it.query_value::<u32>("SELECT 1"));
    assert_eq!(asked.unwrap(), Some(1));
    let asked = session.within(Duration::from_millis(100), |it| it.execute("SELECT pg_sleep(3600)"));
    assert!(matches!(asked, Err(QueryError::TimedOut { .. })), "{asked:?}");
    assert!(session.is_broken());
}

#[test]
fn a_statement_is_cancelled_from_another_thread() {
    let Some(server) = Server::shared() else { return };
    let mut session = server.tcp("user=plain");
    let (cancel, pid) = (session.wire().unwrap().cancel_handle(), session.wire().unwrap().process_id());
    let mut admin = server.admin();
    let waiting = thread::spawn(move || session.query("SELECT pg_sleep(60)").unwrap_err());
    let active = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND query LIKE '%pg_sleep%' AND state = 'active'"
    );
    wait_for("the sleep to begin", || admin.query_value::<u32>(&active).unwrap() == Some(1));
    cancel.cancel().unwrap();
    assert_eq!(waiting.join().unwrap().sqlstate(), Some("57014"));
}

#[test]
fn a_session_that_is_ended_says_why_and_stays_ended() {
    let Some(server) = Server::shared() else { return };
    let mut session = server.tcp("user=plain");
    let (mut admin, pid) = (server.admin(), session.wire().unwrap().process_id());
    admin.execute(&format!("SELECT pg_terminate_backend({pid})")).unwrap();
    let alive = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}");
    wait_for("the session to end", || admin.query_value::<u32>(&alive).unwrap() == Some(0));
    assert_eq!(session.query("SELECT 1").unwrap_err().sqlstate(), Some("57P01"));
    assert!(session.is_broken());
    assert!(matches!(session.query("SELECT 1"), Err(QueryError::Broken)));
}

#[test]
fn passwords_are_proved_by_scram_and_md5() {
    let Some(server) = Server::shared() else { return };
    for (user, word) in [("scram_user", "s:c/r@m?"), ("md5_user", "md5 word")] {
        let mut session = server.tcp(&format!("user={user} password='{word}'"));
        assert_eq!(session.query_value::<String>("SELECT session_user").unwrap().as_deref(), Some(user));
    }
    let url = format!("postgres://scram_user:s%3Ac%2Fr%40m%3F@127.0.0.1:{}/postgres", server.port);
    assert!(server.named(&url).connect().is_ok());
}

#[test]
fn options_and_the_first_suitable_of_several_hosts_are_used() {
    let Some(server) = Server::shared() else { return };
    let mut session = server.tcp("user=plain options='-c work_mem=3MB'");
    assert_eq!(session.query_value::<String>("SHOW work_mem").unwrap().as_deref(), Some("3MB"));
    let several = |attributes: &str| {
        server.named(&format!(
            "host=/nowhere,127.0.0.1 port=1,{} user=plain dbname=postgres target_session_attrs={attributes}",
            server.port
        ))
    };
    for attributes in ["any", "read-write", "primary", "prefer-standby"] {
        assert!(several(attributes).connect().is_ok(), "{attributes}");
    }
    let error = several("standby").endpoint().unwrap_err().to_string();
    assert!(error.contains("target_session_attrs=standby"), "{error}");
}
