use dyno_target::connection::QueryError;
use dyno_test_servers::Mysql;

use crate::support::{WITH_INNODB, each, root, shared, strict, target, url};

const LOAD: &str = "LOAD DATA LOCAL INFILE 'dyno' INTO TABLE";

#[test]
fn data_is_loaded_from_memory() {
    each(|server| {
        let mut session = root(server);
        session.execute("DROP TABLE IF EXISTS loaded").unwrap();
        session.execute("CREATE TABLE loaded (id int PRIMARY KEY, text varchar(100))").unwrap();
        let mut load = session.load_local(&format!("{LOAD} loaded")).unwrap();
        // Pieces that do not fall on rows, and as many as take several flushes.
        let text: String = (0..50_000).map(|id| format!("{id}\trow {id}\n")).collect();
        for piece in text.as_bytes().chunks(1013) {
            load.send(piece).unwrap();
        }
        assert_eq!(load.finish().unwrap(), 50_000);
        let sums = session.query("SELECT count(*), sum(id), max(text) FROM loaded").unwrap();
        assert_eq!(
            (sums[0].text(0), sums[0].text(1), sums[0].text(2)),
            (Some("50000"), Some("1249975000"), Some("row 9999"))
        );
        session.execute("DROP TABLE loaded").unwrap();
    });
}

fn with_table(server: &Mysql, name: &str) -> dyno_target::Connection {
    let mut session = root(server);
    session.execute(&format!("DROP TABLE IF EXISTS {name}")).unwrap();
    session.execute(&format!("CREATE TABLE {name} (id int PRIMARY KEY)")).unwrap();
    session
}

#[test]
fn a_load_that_is_given_up_leaves_no_rows() {
    for server in WITH_INNODB.into_iter().filter_map(shared) {
        let mut session = with_table(&server, "given_up");
        let mut load = session.load_local(&format!("{LOAD} given_up")).unwrap();
        load.send(b"1\n2\n").unwrap();
        load.abort();
        assert!(session.is_broken());
        let mut admin = root(&server);
        let id = session.wire().unwrap().process_id();
        let alive = format!("SELECT count(*) FROM information_schema.processlist WHERE id = {id}");
        crate::support::wait_for("the session to end", || {
            admin.query_value::<u32>(&alive).unwrap() == Some(0)
        });
        assert_eq!(admin.query_value::<u32>("SELECT count(*) FROM given_up").unwrap(), Some(0));
    }
}

#[test]
fn rows_that_are_left_out_are_told() {
    for server in WITH_INNODB.into_iter().filter_map(shared) {
        let mut session = with_table(&server, "left_out");
        let mut load = session.load_local(&format!("{LOAD} left_out")).unwrap();
        load.send(b"1\n1\n2\n").unwrap();
        assert_eq!(load.finish().unwrap(), 2);
        let notices = session.take_notices();
        assert!(notices.iter().any(|it| it.contains("1062")), "{notices:?}");
        assert_eq!(session.load_local(&format!("{LOAD} nowhere")).unwrap_err().number(), Some(1146));
        assert!(matches!(session.load_local("SELECT 1"), Err(QueryError::NotALoad { .. })));
        assert_eq!(session.query_value::<u32>("SELECT count(*) FROM left_out").unwrap(), Some(2));
    }
}

#[test]
fn a_file_that_nobody_offers_is_refused() {
    for server in WITH_INNODB.into_iter().filter_map(shared) {
        let mut session = with_table(&server, "refused");
        let error = session.execute("LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE refused").unwrap_err();
        assert!(matches!(&error, QueryError::FileRefused { file, .. } if file == "/etc/passwd"), "{error}");
        assert_eq!(session.query_value::<u32>("SELECT count(*) FROM refused").unwrap(), Some(0));
    }
}

#[test]
fn a_server_or_client_that_allows_no_files_says_what_to_do() {
    let load = format!("{LOAD} forbidden");
    for server in WITH_INNODB.into_iter().filter_map(shared) {
        with_table(&server, "forbidden");
        let mut unwilling = target(&url(&server, "local-infile=0")).connect().unwrap();
        let error = unwilling.load_local(&load).unwrap_err();
        assert!(error.to_string().contains("local_infile = ON"), "{error}");
    }
    for server in strict() {
        with_table(&server, "forbidden");
        let error = root(&server).load_local(&load).unwrap_err();
        assert!([3948, 4166, 1148].contains(&error.number().unwrap()), "{error}");
        assert!(error.to_string().contains("local_infile = ON"), "{error}");
    }
}
