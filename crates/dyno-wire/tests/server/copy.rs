//! COPY in and out, text and binary: the same bytes through our machines and through tokio-postgres.

use std::pin::pin;

use bytes::Bytes;
use dyno_wire::pg::frontend;
use futures_util::{SinkExt, TryStreamExt};

use crate::client::{Client, Reply, with_tokio};
use crate::postgres;

const DATA: &str =
    "SELECT g, CASE WHEN g % 5 <> 0 THEN repeat(chr(200 + g), g) END FROM generate_series(1, 700) g";

fn forms() -> [(&'static str, bool); 3] {
    [("(FORMAT text)", false), ("(FORMAT csv, HEADER)", false), ("(FORMAT binary)", true)]
}

#[test]
fn copying_out_gives_the_same_bytes() {
    let Some(server) = postgres::shared() else { return };
    let mut client = Client::superuser(server.address);
    with_tokio(server.address, async |tokio| {
        for (form, binary) in forms() {
            let sql = format!("COPY ({DATA}) TO STDOUT {form}");
            let ours = client.query(&sql);
            let stream = pin!(tokio.copy_out(&sql).await.unwrap());
            let theirs = stream.try_fold(Vec::new(), async |mut all, piece: Bytes| {
                all.extend_from_slice(&piece);
                Ok(all)
            });
            assert_eq!(ours.data, theirs.await.unwrap(), "{form}");
            assert_eq!(ours.copy_binary, Some(binary));
            assert_eq!((ours.totals.rows, ours.totals.affected), (700, 0));
        }
    });
}

#[test]
fn copying_in_takes_the_same_bytes() {
    let Some(server) = postgres::shared() else { return };
    let mut client = Client::superuser(server.address);
    with_tokio(server.address, async |tokio| {
        for (number, (form, binary)) in forms().into_iter().enumerate() {
            let data = client.query(&format!("COPY ({DATA}) TO STDOUT {form}")).data;
            let (ours, theirs) = (format!("copied_{number}"), format!("copied_{number}_tokio"));
            let create =
                |table: &str| format!("DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (i int, s text)");
            assert!(client.query(&format!("{};{}", create(&ours), create(&theirs))).errors.is_empty());

            let reply = copy_in(&mut client, &format!("COPY {ours} FROM STDIN {form}"), &data);
            assert_eq!((reply.copy_binary, reply.totals.affected), (Some(binary), 700));

            let mut sink = pin!(tokio.copy_in(&format!("COPY {theirs} FROM STDIN {form}")).await.unwrap());
            sink.send(Bytes::from(data)).await.unwrap();
            assert_eq!(sink.finish().await.unwrap(), 700);

            let differing = format!(
                "SELECT count(*) FROM (TABLE {ours} EXCEPT ALL TABLE {theirs}) d; \
                 SELECT count(*) FROM (TABLE {ours} EXCEPT ALL {DATA}) d; DROP TABLE {ours}, {theirs}"
            );
            assert_eq!(client.query(&differing).rows, [[Some("0".to_owned())], [Some("0".to_owned())]]);
        }
    });
}

fn copy_in(client: &mut Client, sql: &str, data: &[u8]) -> Reply {
    let mut reply = Reply::default();
    client.begin(1, |out| frontend::query(out, sql));
    client.until_copy_in(&mut reply);
    // Pieces that fall anywhere, not on rows.
    for piece in data.chunks(777) {
        client.send(|out| frontend::copy_data(out, piece));
    }
    client.send(frontend::copy_done);
    client.finish(&mut reply);
    reply
}

#[test]
fn copying_in_by_the_extended_protocol_needs_its_sync_at_the_end() {
    let Some(server) = postgres::shared() else { return };
    let mut client = Client::superuser(server.address);
    client.query("CREATE TEMP TABLE t (i int)");
    let mut reply = Reply::default();
    client.begin(1, |out| {
        frontend::parse(out, "", "COPY t FROM STDIN", &[]);
        frontend::bind(out, "", "", []);
        frontend::execute(out, "", 0);
        frontend::flush(out);
    });
    client.until_copy_in(&mut reply);
    client.send(|out| {
        frontend::copy_data(out, b"1\n2\n");
        frontend::copy_done(out);
        frontend::sync(out);
    });
    client.finish(&mut reply);
    assert_eq!(reply.totals.affected, 2);
}

#[test]
fn a_copy_may_be_given_up_or_fail() {
    let Some(server) = postgres::shared() else { return };
    let mut client = Client::superuser(server.address);
    client.query("CREATE TEMP TABLE t (i int)");
    let mut reply = Reply::default();
    client.begin(1, |out| frontend::query(out, "COPY t FROM STDIN"));
    client.until_copy_in(&mut reply);
    client.send(|out| frontend::copy_fail(out, "had enough"));
    client.finish(&mut reply);
    assert_eq!(reply.errors[0].code, "57014");
    assert!(reply.errors[0].message.contains("had enough"), "{:?}", reply.errors);

    let reply = copy_in(&mut client, "COPY t FROM STDIN", b"1\nnot a number\n3\n");
    assert_eq!(reply.errors[0].code, "22P02");
    assert_eq!(client.query("SELECT count(*) FROM t").rows, [[Some("0".to_owned())]]);
}
