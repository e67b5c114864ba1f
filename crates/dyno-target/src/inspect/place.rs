//! Where the server runs, as far as this machine tells.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};

/// The server on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerProcess {
    /// Its main process; `None` where that is dyno's own.
    pub pid: Option<u32>,
    /// `None` where this user may not know.
    pub data_directory: Option<PathBuf>,
}

/// Only an address of this machine can be bound.
pub(crate) fn is_of_this_machine(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

/// Whether the way there leads over a bridge of this machine, behind which its own containers live.
pub(crate) fn over_bridge(address: IpAddr) -> bool {
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
