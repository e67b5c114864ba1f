//! Where the server runs: on this machine or elsewhere, and as which process.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use super::known;
use crate::connection::{Connection, QueryError};
use crate::host::process_parent;
use crate::inspect::ServerProcess;
use crate::inspect::place::{is_of_this_machine, over_bridge};

pub(super) fn server_process(connection: &mut Connection) -> Result<Option<ServerProcess>, QueryError> {
    let Some(pid) = main_process(connection)? else { return Ok(None) };
    let named: Option<String> = known(connection.query_value("SHOW data_directory"))?;
    // The server's working directory is its data directory.
    let data_directory = named
        .map(PathBuf::from)
        .or_else(|| fs::read_link(format!("/proc/{pid}/cwd")).ok())
        .filter(|it| it.exists());
    Ok(Some(ServerProcess { pid: Some(pid), data_directory }))
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
    Ok(ours.then(|| process_parent(pid)).flatten())
}

/// `None` where addresses do not tell.
pub(super) fn same_host(
    connection: &mut Connection,
    dialled: SocketAddr,
) -> Result<Option<bool>, QueryError> {
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
}
