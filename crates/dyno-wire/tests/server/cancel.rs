//! Another connection's request stops a statement.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use dyno_wire::pg::frontend;
use dyno_wire::pg::handshake::Handshake;

use crate::client::{Client, Reply, login};
use crate::postgres;

#[test]
fn a_cancel_request_stops_the_statement() {
    let Some(server) = postgres::shared() else { return };
    let mut client = Client::superuser(server.address);
    let mut observer = Client::superuser(server.address);
    let process_id = client.session.process_id;
    client.begin(1, |out| frontend::query(out, "SELECT pg_sleep(600)"));
    wait_until_asleep(&mut observer, process_id);

    // With a wrong key nothing happens.
    cancel(server.address, process_id, vec![0; 4]);
    wait_until_asleep(&mut observer, process_id);

    cancel(server.address, process_id, client.session.secret_key.clone());
    let mut reply = Reply::default();
    client.finish(&mut reply);
    assert_eq!(reply.errors[0].code, "57014");
    assert_eq!(client.query("SELECT 1").rows.len(), 1);
}

/// Waits until that session is within `pg_sleep`: before, there would be nothing to cancel.
pub(crate) fn wait_until_asleep(observer: &mut Client, process_id: i32) {
    let sql = format!("SELECT wait_event FROM pg_stat_activity WHERE pid = {process_id}");
    while observer.query(&sql).rows != [[Some("PgSleep".to_owned())]] {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sends the request and waits until the server has taken it, which it shows by closing the connection.
fn cancel(address: SocketAddr, process_id: i32, secret_key: Vec<u8>) {
    let mut handshake = Handshake::for_cancel(Arc::new(login("postgres", None)), process_id, secret_key);
    let mut out = Vec::new();
    handshake.poll_output(&mut out);
    assert!(handshake.is_done());
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&out).unwrap();
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
}
