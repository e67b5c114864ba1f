//! Where the server runs. What it says of itself (`hostname`, `port`, `pid_file`) may be another machine's or an earlier
//! start's; what the kernel knows of the two ends of dyno's own connection is certain.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use dyno_wire::endpoint::Address;

use super::known;
use crate::connection::{Connection, QueryError, WireConnection};
use crate::inspect::ServerProcess;
use crate::inspect::place::{is_of_this_machine, over_bridge};

/// Programs that are servers, and no proxies.
const PROGRAMS: &[&str] = &["mysqld", "mariadbd", "observer", "seekdb", "tidb-server"];

/// The process that holds the server's end of this connection, where that is on this machine and can be seen.
pub(super) fn server_process(connection: &mut Connection) -> Result<Option<ServerProcess>, QueryError> {
    let pid = match connection.endpoint().map(|endpoint| endpoint.address.clone()) {
        None => None,
        Some(Address::Unix(_)) => {
            connection.wire().and_then(WireConnection::peer_process_id).filter(|pid| is_server(*pid))
        }
        Some(Address::Tcp(dialled)) => client_end(connection)?
            .and_then(|client| server_end(dialled.port(), client))
            .and_then(Socket::owner),
    };
    let Some(pid) = pid else { return Ok(None) };
    let named: Option<String> = known(connection.query_value("SELECT @@datadir"))?;
    // The server's working directory is its data directory, or what that is relative to.
    let works_in = fs::read_link(format!("/proc/{pid}/cwd")).ok();
    let data_directory = match (named.map(PathBuf::from), works_in) {
        (Some(named), _) if named.is_absolute() => Some(named),
        (Some(named), Some(works_in)) => Some(works_in.join(named)),
        (_, works_in) => works_in,
    };
    Ok(Some(ServerProcess { pid: Some(pid), data_directory: data_directory.filter(|it| it.exists()) }))
}

pub(super) fn same_host(
    connection: &mut Connection,
    dialled: SocketAddr,
) -> Result<Option<bool>, QueryError> {
    let client = client_end(connection)?;
    if client.is_some_and(|client| server_end(dialled.port(), client).is_some()) {
        return Ok(Some(true));
    }
    let seen_from = client.and_then(|client| client.address);
    Ok(judge(is_of_this_machine(dialled.ip()), seen_from.map(is_ours), over_bridge(dialled.ip())))
}

fn is_ours(address: IpAddr) -> bool {
    !address.is_loopback() && is_of_this_machine(address)
}

/// Where no socket of this machine is the server's end: `seen_as_ours` says whether the server sees its client under
/// an address of this machine.
fn judge(dialled_here: bool, seen_as_ours: Option<bool>, over_bridge: bool) -> Option<bool> {
    match (dialled_here, seen_as_ours) {
        // A tunnel or a container, unless the server does not say.
        (true, Some(_)) => None,
        (true, None) => Some(true),
        (false, Some(true)) if !over_bridge => Some(false),
        (false, _) => None,
    }
}

/// This connection's end as the server sees it. The address may be a name there, which says nothing here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ClientEnd {
    address: Option<IpAddr>,
    port: u16,
}

fn client_end(connection: &mut Connection) -> Result<Option<ClientEnd>, QueryError> {
    let Some(id) = known(connection.query_value::<String>("SELECT connection_id()"))? else {
        return Ok(None);
    };
    let sessions = known(connection.query("SHOW PROCESSLIST").map(Some))?.unwrap_or_default();
    let mine = sessions.iter().find(|row| row.text(0) == Some(&id));
    Ok(mine.and_then(|row| row.text(2)).and_then(parse_client))
}

/// `127.0.0.1:51234`, `localhost:51234`, `::1:51234`.
fn parse_client(text: &str) -> Option<ClientEnd> {
    let (host, port) = text.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Some(ClientEnd { address: host.parse().ok().map(canonical), port: port.parse().ok()? })
}

/// An IPv4 client of an IPv6 socket is the same client.
fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

/// A socket of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Socket {
    inode: u64,
    uid: u32,
}

fn server_end(port: u16, client: ClientEnd) -> Option<Socket> {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .find_map(|table| find_socket(&table, port, client))
}

/// The established socket at the server's port whose peer is the client, in a table of the kernel.
fn find_socket(table: &str, port: u16, client: ClientEnd) -> Option<Socket> {
    const ESTABLISHED: &str = "01";
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let local = parse_end(fields.get(1)?)?;
        let remote = parse_end(fields.get(2)?)?;
        let is_it = *fields.get(3)? == ESTABLISHED
            && local.port == port
            && remote.port == client.port
            && (client.address.is_none() || client.address == remote.address);
        is_it.then_some(Socket { uid: fields.get(7)?.parse().ok()?, inode: fields.get(9)?.parse().ok()? })
    })
}

/// `0100007F:33F5`: the address in words of 32 bits as the machine stores them, the port as a number.
fn parse_end(text: &str) -> Option<ClientEnd> {
    let (address, port) = text.split_once(':')?;
    let words = address.len() / 8;
    let word = |index: usize| u32::from_str_radix(address.get(index * 8..index * 8 + 8)?, 16).ok();
    let address = match words {
        1 => IpAddr::V4(Ipv4Addr::from(word(0)?.to_ne_bytes())),
        4 => {
            let mut bytes = [0; 16];
            for (index, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(index)?.to_ne_bytes());
            }
            canonical(IpAddr::V6(Ipv6Addr::from(bytes)))
        }
        _ => return None,
    };
    Some(ClientEnd { address: Some(address), port: u16::from_str_radix(port, 16).ok()? })
}

impl Socket {
    /// The server that holds it. Whose files another user's process has open may be hidden; then it is the only server
    /// of the socket's user, or nobody knows.
    fn owner(self) -> Option<u32> {
        let servers: Vec<u32> = processes().filter(|pid| is_server(*pid)).collect();
        if let Some(pid) = servers.iter().find(|pid| self.is_held_by(**pid) == Some(true)) {
            return Some(*pid);
        }
        let mut of_user = servers.iter().filter(|pid| {
            self.is_held_by(**pid).is_none() && fs::metadata(proc(**pid)).is_ok_and(|it| it.uid() == self.uid)
        });
        let only = of_user.next()?;
        of_user.next().is_none().then_some(*only)
    }

    fn is_held_by(self, pid: u32) -> Option<bool> {
        let wanted = format!("socket:[{}]", self.inode);
        let files = fs::read_dir(proc(pid).join("fd")).ok()?;
        Some(files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|it| it == Path::new(&wanted))))
    }
}

fn proc(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}"))
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether a server's program is what the process runs, itself or through a loader.
fn is_server(pid: u32) -> bool {
    let command = fs::read(proc(pid).join("cmdline")).unwrap_or_default();
    command.split(|byte| *byte == 0).any(|argument| {
        let name = argument.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        PROGRAMS.iter().any(|program| program.as_bytes() == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_is_read_from_the_process_list() {
        let at = |text: &str| parse_client(text).map(|end| (end.address.map(|it| it.to_string()), end.port));
        assert_eq!(at("127.0.0.1:51234"), Some((Some("127.0.0.1".to_owned()), 51234)));
        assert_eq!(at("::ffff:127.0.0.1:51234"), Some((Some("127.0.0.1".to_owned()), 51234)));
        assert_eq!(at("::1:51234"), Some((Some("::1".to_owned()), 51234)));
        assert_eq!(at("driver.lan:51234"), Some((None, 51234)));
        assert_eq!(at("localhost"), None);
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn the_servers_end_is_found_in_the_kernels_table() {
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
        let row = |local: &str, remote: &str, state: &str, inode: u64| {
            format!(
                "   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000   104        0 {inode} 1\n"
            )
        };
        // 127.0.0.1:13301 and its client 127.0.0.1:33536.
        let (server, client) = ("0100007F:33F5", "0100007F:8300");
        let table = head.to_owned()
            + &row("00000000:33F5", "00000000:0000", "0A", 1)
            + &row(client, server, "01", 2)
            + &row(server, "0100007F:8301", "01", 3)
            + &row(server, client, "01", 4);
        let end = |text| parse_client(text).unwrap();
        assert_eq!(find_socket(&table, 13301, end("127.0.0.1:33536")), Some(Socket { inode: 4, uid: 104 }));
        assert_eq!(find_socket(&table, 13301, end("somewhere:33536")), Some(Socket { inode: 4, uid: 104 }));
        assert_eq!(find_socket(&table, 13301, end("10.0.0.1:33536")), None);
        assert_eq!(find_socket(&table, 3306, end("127.0.0.1:33536")), None);

        let mapped = "0000000000000000FFFF00000100007F";
        let table = head.to_owned() + &row(&format!("{mapped}:33F5"), &format!("{mapped}:8300"), "01", 5);
        assert_eq!(find_socket(&table, 13301, end("127.0.0.1:33536")), Some(Socket { inode: 5, uid: 104 }));
    }

    #[test]
    fn a_place_is_judged_only_as_far_as_addresses_tell() {
        assert_eq!(judge(true, Some(false), false), None, "a tunnel, or a container");
        assert_eq!(judge(true, None, false), Some(true));
        assert_eq!(judge(false, Some(true), false), Some(false));
        assert_eq!(judge(false, Some(true), true), None, "a container of this machine");
        assert_eq!(judge(false, Some(false), false), None, "a proxy between");
        assert_eq!(judge(false, None, false), None);
    }
}
