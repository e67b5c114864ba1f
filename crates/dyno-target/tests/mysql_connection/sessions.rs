use dyno_target::connection::QueryError;

use crate::support::{each, root};

#[test]
fn rows_values_and_effects_come_back() {
    each(|server| {
        let mut session = root(server);
        let rows = session
            .query("SELECT 1 AS one, NULL AS nothing, 'ä' AS text UNION ALL SELECT 2, '', ''")
            .unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(
            (rows[0].get("one"), rows[0].get("nothing"), rows[0].get("text")),
            (Some("1"), None, Some("ä"))
        );
        assert_eq!((rows[1].text(1), rows[1].text(9), rows[1].get("other")), (Some(""), None, None));
        assert_eq!(session.query_value::<u32>("SELECT 6 * 7").unwrap(), Some(42));
        assert_eq!(session.query_value::<u32>("SELECT NULL").unwrap(), None);
        assert_eq!(session.query_value::<u32>("SELECT 1 FROM dual WHERE 1 = 0").unwrap(), None);
        assert!(matches!(session.query_value::<u32>("SELECT 'x'"), Err(QueryError::Value { .. })));
        session.execute("DROP TABLE IF EXISTS effects").unwrap();
        session.execute("CREATE TABLE effects (x int PRIMARY KEY, y int)").unwrap();
        assert_eq!(session.execute("INSERT INTO effects VALUES (1, 1), (2, 2), (3, 3)").unwrap(), 3);
        assert_eq!(session.execute("DELETE FROM effects WHERE x > 1").unwrap(), 2);
        session.execute("DROP TABLE effects").unwrap();
    });
}

#[test]
fn several_statements_are_one_query() {
    each(|server| {
        let mut session = root(server);
        let rows = session.query("SELECT 1 AS a; DO 0; SELECT 2 AS b, 3 AS c").unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].get("a"), rows[1].get("b"), rows[1].get("c")), (Some("1"), Some("2"), Some("3")));
        let error = session.query("SELECT 1; SELECT * FROM no_such_table; SELECT 2").unwrap_err();
        assert_eq!((error.number(), error.sqlstate()), (Some(1146), Some("42S02")), "{error}");
        assert!(error.to_string().contains("no_such_table"), "{error}");
        assert_eq!(session.query_value::<i32>("SELECT 7").unwrap(), Some(7));
    });
}

#[test]
fn a_session_knows_what_it_is() {
    each(|server| {
        let mut session = root(server);
        assert!(session.is_mysql());
        assert_eq!(
            session.query_value("SELECT CONNECTION_ID()").unwrap(),
            Some(session.wire().unwrap().process_id())
        );
        let version: String = session.query_value("SELECT VERSION()").unwrap().unwrap();
        let greeted = session.server_version().unwrap();
        let (version, greeted) = (version.split('-').next().unwrap(), greeted.trim_start_matches("5.5.5-"));
        assert!(greeted.starts_with(version), "{greeted} is not {version}");
        assert_eq!(session.wire().unwrap().parameter("server_version"), None);
        assert!(!session.is_broken());
    });
}

#[test]
fn warnings_of_the_last_statement_are_told_once() {
    each(|server| {
        let mut session = root(server);
        session.execute("DROP TABLE IF EXISTS no_such_table_at_all").unwrap();
        let notices = session.take_notices();
        assert!(notices.len() == 1 && notices[0].contains("no_such_table_at_all"), "{notices:?}");
        assert!(notices[0].ends_with('\n'), "{notices:?}");
        assert_eq!(session.take_notices(), [""; 0]);
        session.query("SELECT 1").unwrap();
        assert_eq!(session.take_notices(), [""; 0]);
    });
}
