//! Where the server runs: on this machine or elsewhere, and as which process.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};

use dyno_wire::endpoint::Address;

use super::{known, mysql, speaks_mysql};
use crate::connection::{Connection, QueryError};

/// The server on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerProcess {
    /// Its main process.
    pub pid: u32,
    /// `None` where this user may not know.
    pub data_directory: Option<PathBuf>,
}

/// The server's main process, where it is certain that it runs on this machine and can be seen.
///
/// # Errors
/// The session was lost.
pub fn server_process(connection: &mut Connection) -> Result<Option<ServerProcess>, QueryError> {
    connection.briefly(find_process)
}

fn find_process(connection: &mut Connection) -> Result<Option<ServerProcess>, QueryError> {
    if speaks_mysql(connection) {
        return mysql::server_process(connection);
    }
    let Some(pid) = main_process(connection)? else { return Ok(None) };
    let named: Option<String> = known(connection.query_value("SHOW data_directory"))?;
    // The server's working directory is its data directory.
    let data_directory = named
        .map(PathBuf::from)
        .or_else(|| fs::read_link(format!("/proc/{pid}/cwd")).ok())
        .filter(|it| it.exists());
    Ok(Some(ServerProcess { pid, data_directory }))
}

/// The parent of the process that serves this session, if that process is the one seen here under its number: it
/// names the session's user, database and client in its title.
fn main_process(connection: &mut Connection) -> Result<Option<u32>, QueryError> {
    let sql = "SELECT pg_backend_pid() AS pid, inet_client_port() AS port,
                      session_user AS user_name, current_database() AS database";
    let Some(row) = known(connection.query(sql).map(Some))?.and_then(|rows| rows.into_iter().next()) else {
        return Ok(None);
    };
    let (Some(pid), Some(user), Some(database)) = (row.get("pid"), row.get("user_name"), row.get("database"))
    else {
        return Ok(None);
    };
    let client = row.get("port").map_or_else(|| "[local]".to_owned(), |port| format!("({port})"));
    let Ok(title) = fs::read(format!("/proc/{pid}/cmdline")) else { return Ok(None) };
    let title = String::from_utf8_lossy(&title);
    let ours = title.starts_with("postgres:")
        && title.contains(&format!(" {user} {database} "))
        && title.contains(&client);
    Ok(ours.then(|| parent(pid)).flatten())
}

fn parent(pid: &str) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything; the state and the parent follow it.
    let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
    (parent > 1).then_some(parent)
}

/// Whether server and driver share a machine; `None` where addresses do not tell.
pub(super) fn same_host(connection: &mut Connection) -> Result<Option<bool>, QueryError> {
    let Some(Address::Tcp(dialled)) = connection.endpoint().map(|endpoint| endpoint.address.clone()) else {
        return Ok(Some(true));
    };
    if speaks_mysql(connection) {
        return mysql::same_host(connection, dialled);
    }
    if main_process(connection)?.is_some() {
        return Ok(Some(true));
    }
    let reported: Option<String> = known(connection.query_value("SELECT host(inet_server_addr())"))?;
    let reported = reported.and_then(|text| text.parse::<IpAddr>().ok());
    Ok(judge(dialled.ip(), reported))
}

fn judge(dialled: IpAddr, reported: Option<IpAddr>) -> Option<bool> {
    let here = is_of_this_machine(dialled);
    match reported {
        Some(reported) if is_of_this_machine(reported) && (here || !reported.is_loopback()) => Some(true),
        // Dialled here and served under another address: a container, or a tunnel to anywhere.
        Some(_) if here => None,
        // A server behind a tunnel or proxy that sees its client on its own loopback.
        Some(reported) if reported.is_loopback() => None,
        Some(_) if over_bridge(dialled) => None,
        Some(_) => Some(false),
        None => here.then_some(true),
    }
}

/// Only an address of this machine can be bound.
pub(super) fn is_of_this_machine(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

/// Whether the way there leads over a bridge of this machine, behind which its own containers live.
pub(super) fn over_bridge(address: IpAddr) -> bool {
    let IpAddr::V4(address) = address else { return false };
    let Ok(routes) = fs::read_to_string("/proc/net/route") else { return false };
    interface_to(address, &routes)
        .is_some_and(|name| Path::new("/sys/class/net").join(name).join("bridge").exists())
}

/// The interface of the narrowest route to an address, from the kernel's table (hexadecimal, network order as
/// the machine stores it).
fn interface_to(address: Ipv4Addr, routes: &str) -> Option<&str> {
    let address = u32::from_ne_bytes(address.octets());
    routes
        .lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let number = |index: usize| u32::from_str_radix(fields.get(index)?, 16).ok();
            let (destination, mask) = (number(1)?, number(7)?);
            (address & mask == destination).then_some((mask.count_ones(), *fields.first()?))
        })
        .max_by_key(|(width, _)| *width)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_are_judged_only_as_far_as_they_tell() {
        let (here, elsewhere, container) = (ip("127.0.0.1"), ip("203.0.113.7"), ip("203.0.113.8"));
        assert_eq!(judge(here, Some(here)), Some(true));
        assert_eq!(judge(here, None), Some(true));
        assert_eq!(judge(here, Some(container)), None, "a container or a tunnel");
        assert_eq!(judge(elsewhere, Some(elsewhere)), Some(false));
        assert_eq!(judge(elsewhere, Some(here)), None, "a proxy beside the server");
        assert_eq!(judge(elsewhere, None), None);
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn the_narrowest_route_wins() {
        let routes = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n\
            eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
            docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n";
        assert_eq!(interface_to(Ipv4Addr::new(172, 17, 0, 2), routes), Some("docker0"));
        assert_eq!(interface_to(Ipv4Addr::new(8, 8, 8, 8), routes), Some("eth0"));
    }
}
