//! Everything but queries: databases, sessions, statements, files, pipelines.

use dyno_test_servers::MysqlProduct;
use dyno_wire::my::execution::Execution;
use dyno_wire::my::frontend;
use dyno_wire::my::handshake::Options;
use dyno_wire::my::reply::Expect;

use crate::servers::{each, each_and_seekdb};

#[test]
fn quit_ends_the_connection() {
    each(|server| {
        assert!(server.root().quit());
    });
}

#[test]
fn the_status_follows_the_session() {
    each_and_seekdb(|server| {
        server.run("CREATE TABLE status (id int) ENGINE = InnoDB");
        let mut client = server.root();
        assert!(client.session.status.autocommit());
        let mut status = |sql: &str| client.query(sql).totals.status;
        assert!(!status("SET @a = 1").in_transaction());
        assert!(status("BEGIN").in_transaction());
        assert!(status("INSERT INTO status VALUES (1)").in_transaction());
        assert!(!status("COMMIT").in_transaction());
        assert!(!status("SET autocommit = 0").autocommit());
    });
}

#[test]
fn text_is_utf8mb4() {
    each(|server| {
        let mut client = server.root();
        assert_eq!(client.query("SELECT @@character_set_client").value(), "utf8mb4");
        assert_eq!(client.query("SELECT @@character_set_results").value(), "utf8mb4");
        assert_eq!(client.query("SELECT '🦀'").value(), "🦀");
    });
}

#[test]
fn affected_rows_may_be_those_found() {
    each(|server| {
        server.run("CREATE TABLE found (id int PRIMARY KEY)");
        server.run("INSERT INTO found VALUES (1), (2)");
        let mut affected =
            [true, false].map(|found_rows| server.root_with(Options { found_rows, ..Options::default() }));
        assert_eq!(affected[0].count("UPDATE found SET id = id").affected, 2);
        assert_eq!(affected[1].count("UPDATE found SET id = id").affected, 0);
    });
}

#[test]
fn prepared_statements_are_refused_and_closed() {
    each_and_seekdb(|server| {
        for deprecate_eof in [true, false] {
            let mut client = server.root_with(Options { deprecate_eof, ..Options::default() });
            let refused = client.exchange(Expect::Prepared, |out| frontend::stmt_prepare(out, "SELEC ?"));
            assert_eq!((refused.errors[0].number, refused.prepared), (1064, None));

            // Neither parameters nor columns, one of them, both.
            for (sql, parameters, columns) in
                [("SET @a = 1", 0, 0), ("SET @a = ?", 1, 0), ("SELECT 1, 2", 0, 2), ("SELECT ?, ?, 1", 2, 3)]
            {
                let prepared = client.prepare(sql);
                assert_eq!((prepared.parameters, prepared.columns), (parameters, columns), "{sql}");
                assert!(client.execute(prepared, |writer| writer.integer(1)).errors.is_empty(), "{sql}");
            }

            let prepared = client.prepare("SELECT hex(?)");
            assert_eq!(client.execute(prepared, |writer| writer.text(b"x")).value(), "78");

            client.send(|out| frontend::stmt_close(out, prepared.statement));
            assert_eq!(client.execute(prepared, |writer| writer.text(b"x")).errors[0].number, 1243);
        }
    });
}

#[test]
fn an_execution_made_beforehand_runs() {
    each(|server| {
        let mut client = server.root();
        for parameters in [0, 1, 8, 9, 40] {
            let sql = format!("SELECT concat_ws(','{})", ", ?".repeat(parameters));
            let values: Vec<i64> = (0..parameters as i64).map(|at| at * -1_000_000_007).collect();
            let prepared = client.prepare(if parameters == 0 { "SELECT ''" } else { &sql });
            let execution = Execution::new(prepared.parameters);
            let reply =
                client.exchange(Expect::Binary, |out| execution.write(out, prepared.statement, &values));
            let expected: Vec<_> = values.iter().map(i64::to_string).collect();
            assert_eq!(reply.value(), expected.join(","));
        }
    });
}

#[test]
fn commands_may_be_sent_ahead() {
    each(|server| {
        server.run("CREATE TABLE ahead (id int PRIMARY KEY)");
        for deprecate_eof in [true, false] {
            let mut client = server.root_with(Options { deprecate_eof, ..Options::default() });
            let prepared = client.prepare("SELECT ? * 2");
            let expects =
                [Expect::Text, Expect::Text, Expect::Binary, Expect::Prepared, Expect::Text, Expect::Text];
            let reply = client.pipeline(&expects, |out| {
                frontend::query(out, "INSERT INTO ahead VALUES (1), (2)");
                frontend::query(out, "SELECT nothing");
                Execution::new(1).write(out, prepared.statement, &[21]);
                frontend::stmt_prepare(out, "SELECT ?, ?");
                frontend::query(out, "SELECT 1; SELECT 2");
                frontend::query(out, "DELETE FROM ahead");
            });
            assert_eq!((reply.totals.statements, reply.totals.affected, reply.totals.rows), (6, 4, 3));
            assert_eq!(reply.errors.len(), 1);
            assert_eq!(reply.texts().concat(), ["42", "1", "2"].map(|text| Some(text.to_owned())));
            assert_eq!(reply.prepared.unwrap().parameters, 2);
        }
    });
}

const LOAD: &str = "LOAD DATA LOCAL INFILE '/nowhere/is this' INTO TABLE ";

#[test]
fn a_local_file_is_streamed() {
    each(|server| {
        server.run("CREATE TABLE loaded (id int PRIMARY KEY, v varchar(20))");
        let mut client = server.root_with(Options { local_infile: true, ..Options::default() });
        let reply = client.load(&format!("{LOAD} loaded"), &[b"1\ta\n2", b"", b"\tb\n3\tc\n"]);
        assert_eq!(reply.file.as_deref(), Some("/nowhere/is this"));
        assert!(reply.errors.is_empty(), "{}: {reply:?}", server.product());
        assert_eq!((reply.totals.affected, reply.totals.warnings), (3, 0), "{reply:?}");
        // OceanBase replaces what is there already.
        if !server.is(MysqlProduct::SeekDb) {
            let reply = client.load(&format!("{LOAD} loaded"), &[b"3\ttwice\n4\td\n"]);
            assert_eq!((reply.totals.affected, reply.totals.warnings), (1, 1), "{reply:?}");
            assert!(reply.infos[0].starts_with("Records: 2  Deleted: 0  Skipped: 1"), "{:?}", reply.infos);
        }

        let lines: String = (10..30_000).map(|id| format!("{id}\tline {id}\n")).collect();
        let pieces: Vec<_> = lines.as_bytes().chunks(9_999).collect();
        let reply = client.load(&format!("{LOAD} loaded"), &pieces);
        assert_eq!(reply.errors, [], "{}", server.product());
        assert_eq!(reply.totals.affected, 29_990);
        assert_eq!(client.query("SELECT v FROM loaded WHERE id = 29999").value(), "line 29999");
        // A piece larger than a packet, for which OceanBase wants more time than it gives itself.
        if !server.is(MysqlProduct::SeekDb) {
            server.run("DELETE FROM loaded");
            let line = [&b"9\t"[..], &b"x".repeat(1_000), b"\n"].concat();
            let reply = client.load(&format!("{LOAD} loaded"), &[&line.repeat(20_000)]);
            assert_eq!(reply.errors, []);
            assert_eq!(client.query("SELECT count(*) FROM loaded").value(), "1");
        }
    });
}

#[test]
fn a_local_file_is_refused() {
    each(|server| {
        server.run("CREATE TABLE unloaded (id int PRIMARY KEY)");
        let mut client = server.root_with(Options { local_infile: true, ..Options::default() });
        let reply = client.load(&format!("{LOAD} unloaded"), &[]);
        assert_eq!((reply.totals.affected, reply.errors.len()), (0, 0));
        // The table, not the file: the server knows before it asks.
        assert_eq!(client.load(&format!("{LOAD} none"), &[]).errors[0].number, 1146);
        assert_eq!(client.query("SELECT 1").value(), "1");
        // One that did not say at login that it could.
        let reply = server.root().query(format!("{LOAD} unloaded"));
        let number = reply.errors[0].number;
        assert!(matches!(number, 1148 | 3948 | 4166), "{}: {:?}", server.product(), reply.errors);
    });
}

#[test]
fn a_session_that_is_killed_says_so_or_ends() {
    each(|server| {
        let mut victim = server.root();
        let id = victim.session.connection_id;
        assert_eq!(victim.query("SELECT connection_id()").value(), id.to_string());
        let mut killer = server.root();
        assert!(killer.query(format!("KILL QUERY {id}")).errors.is_empty());
        // MariaDB interrupts what the session does next.
        let next = victim.query("SELECT 1");
        assert!(next.errors.iter().all(|error| error.number == 1317), "{next:?}");
        assert!(killer.query(format!("KILL {id}")).errors.is_empty());
        // Nothing, or an error.
        let words = victim.last_words();
        assert!(words.is_empty() || words[4] == 0xff, "{}: {}", server.product(), words.escape_ascii());
    });
}
