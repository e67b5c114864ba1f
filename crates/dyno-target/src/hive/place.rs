//! Where the server runs. It does not say so itself; on this machine the kernel knows who listens at its port.

use std::fs;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;

use dyno_engine::driver::Driver;

use super::inspect::setting_value;
use crate::connection::{Connection, QueryError};
use crate::inspect::ServerProcess;
use crate::inspect::place::is_of_this_machine;

/// In the command lines of servers; a tunnel's has none of them.
const SERVERS: [&str; 2] = ["HiveThriftServer2", "HiveServer2"];

/// A port that is dialled here may lead elsewhere: only a process that is seen is certain.
pub(super) fn same_host(_: &mut Connection, dialled: SocketAddr) -> Result<Option<bool>, QueryError> {
    Ok(listener(dialled).map(|_| true))
}

pub(super) fn server_process(connection: &mut Connection) -> Result<Option<ServerProcess>, QueryError> {
    let server = connection.driver().and_then(Driver::server);
    let dialled = server.and_then(|server| server.to_socket_addrs().ok()?.next());
    let Some(pid) = dialled.and_then(listener) else { return Ok(None) };
    // `file:/srv/warehouse`
    let warehouse = setting_value(connection, "spark.sql.warehouse.dir")?;
    let directory = warehouse.and_then(|it| it.strip_prefix("file:").map(PathBuf::from));
    Ok(Some(ServerProcess { pid: Some(pid), data_directory: directory.filter(|it| it.exists()) }))
}

/// The process of a server that listens there, if that is on this machine and this user may see its files.
fn listener(dialled: SocketAddr) -> Option<u32> {
    if !is_of_this_machine(dialled.ip()) {
        return None;
    }
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| fs::read_to_string(table).unwrap_or_default());
    let sockets: Vec<PathBuf> = tables.iter().flat_map(|table| listening(table, dialled.port())).collect();
    let processes =
        fs::read_dir("/proc").ok()?.flatten().filter_map(|it| it.file_name().to_str()?.parse().ok());
    processes.into_iter().find(|pid: &u32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command);
        let mut files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        SERVERS.iter().any(|server| command.contains(server))
            && files.any(|file| fs::read_link(file.path()).is_ok_and(|it| sockets.contains(&it)))
    })
}

/// Sockets that listen at a port, by a table of the kernel, as the files of a process name them.
fn listening(table: &str, port: u16) -> impl Iterator<Item = PathBuf> {
    const LISTENS: &str = "0A";
    table.lines().skip(1).filter_map(move |line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (_, at) = fields.get(1)?.split_once(':')?;
        let is_it = *fields.get(3)? == LISTENS && u16::from_str_radix(at, 16) == Ok(port);
        is_it.then(|| PathBuf::from(format!("socket:[{}]", fields.get(9).copied().unwrap_or_default())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listening_socket_is_found_in_the_kernels_table() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:2710 00000000:0000 0A 00000000:00000000 00:00000000 00000000 104 0 11 1\n\
            1: 0100007F:2711 00000000:0000 0A 00000000:00000000 00:00000000 00000000 104 0 12 1\n\
            2: 0100007F:2710 0100007F:8301 01 00000000:00000000 00:00000000 00000000 104 0 13 1\n";
        assert_eq!(listening(table, 10_000).collect::<Vec<_>>(), [PathBuf::from("socket:[11]")]);
    }
}
