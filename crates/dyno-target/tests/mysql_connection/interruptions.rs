use std::thread;
use std::time::Duration;

use dyno_target::connection::QueryError;
use dyno_test_servers::MysqlProduct;

use crate::support::{each, endless, own, root, wait_for, wait_until_busy};

#[test]
fn a_statement_is_cancelled_from_another_thread() {
    each(|server| {
        let mut session = root(server);
        let (cancel, id, query) = (
            session.wire().unwrap().cancel_handle(),
            session.wire().unwrap().process_id(),
            endless(server.product()),
        );
        let waiting = thread::spawn(move || {
            let error = session.query(query).unwrap_err();
            (error, session.query_value::<u32>("SELECT 3").unwrap())
        });
        wait_until_busy(server, id);
        cancel.cancel().unwrap();
        let (error, after) = waiting.join().unwrap();
        assert_eq!((error.number(), after), (Some(1317), Some(3)), "{error}");
        // The session has ended by now, which harms nobody.
        cancel.cancel().unwrap();
    });
}

#[test]
fn a_session_is_closed_from_another_thread() {
    each(|server| {
        let mut session = root(server);
        let (closer, id, query) =
            (session.closer().unwrap(), session.wire().unwrap().process_id(), endless(server.product()));
        let waiting = thread::spawn(move || (session.query(query).unwrap_err(), session.is_broken()));
        wait_until_busy(server, id);
        closer.close();
        let (error, broken) = waiting.join().unwrap();
        assert!(matches!(error, QueryError::Lost { .. }) && broken, "{error}");
        // Nobody has told the server.
        let _ = root(server).execute(&format!("KILL {id}"));
    });
}

#[test]
fn a_silent_server_is_given_up() {
    each(|server| {
        let mut session = root(server);
        let id = session.wire().unwrap().process_id();
        session.set_answer_timeout(Duration::from_millis(200));
        let error = session.query("SELECT SLEEP(30)").unwrap_err();
        assert!(matches!(error, QueryError::TimedOut { .. }), "{error}");
        assert!(session.is_broken());
        let _ = root(server).execute(&format!("KILL {id}"));
    });
}

#[test]
fn a_session_that_is_killed_stays_ended() {
    each(|server| {
        let mut session = root(server);
        let mut admin = root(server);
        let id = session.wire().unwrap().process_id();
        admin.execute(&format!("KILL {id}")).unwrap();
        let alive = format!("SELECT count(*) FROM information_schema.processlist WHERE id = {id}");
        wait_for("the session to end", || admin.query_value::<u32>(&alive).unwrap() == Some(0));
        let error = session.query("SELECT 1").unwrap_err();
        assert!(session.is_broken(), "{error}");
        assert!(matches!(session.query("SELECT 1"), Err(QueryError::Broken)));
    });
}

#[test]
fn a_server_that_dies_in_mid_query_loses_the_session() {
    for &product in MysqlProduct::tested() {
        let Some(mut server) = own(product) else { continue };
        let mut session = root(&server);
        let id = session.wire().unwrap().process_id();
        let waiting = thread::spawn(move || (session.query(endless(product)).unwrap_err(), session));
        wait_until_busy(&server, id);
        server.kill();
        let (error, mut session) = waiting.join().unwrap();
        assert!(matches!(error, QueryError::Lost { .. }), "{error}");
        assert!(error.to_string().contains("the connection was lost"), "{error}");
        assert!(matches!(session.query("SELECT 1"), Err(QueryError::Broken)));
    }
}
