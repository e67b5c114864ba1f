//! The files of a group, in either version's words. A text that says nothing known is `None`.

/// The value of a line `name value`.
pub(super) fn field(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    value.trim().parse().ok()
}

/// Time for which a quota held processes back, from `cpu.stat`.
pub(super) fn throttled_seconds(cpu_stat: &str) -> Option<f64> {
    let v2 = field(cpu_stat, "throttled_usec").map(|us| us as f64 / 1e6);
    v2.or_else(|| field(cpu_stat, "throttled_time").map(|ns| ns as f64 / 1e9))
}

/// What went to disks and came from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Traffic {
    pub(super) read: u64,
    pub(super) write: u64,
}

/// Bytes and operations from `io.stat` of version 2: `8:0 rbytes=1 wbytes=2 rios=3 wios=4 …`, added up over `devices`
/// (all, where none is named).
pub(super) fn io_stat(text: &str, devices: &[String]) -> (Traffic, Traffic) {
    let (mut bytes, mut operations) = (Traffic::default(), Traffic::default());
    for (_, counts) in of_devices(text, devices) {
        for (name, count) in counts.split(' ').filter_map(|field| field.split_once('=')) {
            let Ok(count) = count.parse::<u64>() else { continue };
            match name {
                "rbytes" => bytes.read += count,
                "wbytes" => bytes.write += count,
                "rios" => operations.read += count,
                "wios" => operations.write += count,
                _ => {}
            }
        }
    }
    (bytes, operations)
}

/// One of the files of version 1's `blkio`: `8:0 Read 1`, `8:0 Write 2`, …, `Total 3`.
pub(super) fn blkio(text: &str, devices: &[String]) -> Traffic {
    let mut traffic = Traffic::default();
    for (_, count) in of_devices(text, devices) {
        match count.split_once(' ').map(|(kind, count)| (kind, count.parse::<u64>())) {
            Some(("Read", Ok(count))) => traffic.read += count,
            Some(("Write", Ok(count))) => traffic.write += count,
            _ => {}
        }
    }
    traffic
}

/// The tightest limit for any of the devices: from `io.max` of version 2 by its name there (`wbps`), from a file of
/// version 1 where the number stands alone.
pub(super) fn io_limit(text: &str, name: &str, devices: &[String]) -> Option<u64> {
    let limit = |(_, limits): (&str, &str)| {
        let value = match limits.contains('=') {
            true => limits
                .split(' ')
                .find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
                .map(str::to_owned)?,
            false => limits.to_owned(),
        };
        // `max` is no number and no limit.
        value.parse::<u64>().ok()
    };
    of_devices(text, devices).filter_map(limit).min()
}

/// Number and rest of the lines that are about one of the devices.
fn of_devices<'a>(text: &'a str, devices: &[String]) -> impl Iterator<Item = (&'a str, &'a str)> {
    text.lines()
        .filter_map(|line| line.trim().split_once(' '))
        .filter(|(device, _)| device.contains(':'))
        .filter(move |(device, _)| devices.is_empty() || devices.iter().any(|wanted| wanted == device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttled_time_is_read_in_either_unit() {
        assert_eq!(throttled_seconds("usage_usec 7\nnr_throttled 3\nthrottled_usec 2500000"), Some(2.5));
        assert_eq!(throttled_seconds("nr_periods 0\nthrottled_time 1500000000"), Some(1.5));
        assert_eq!(throttled_seconds("nr_periods 0"), None);
        assert_eq!(field("nr_periods 12\nnr_throttled 3", "nr_throttled"), Some(3));
        assert_eq!(field("nr_periods 12", "nr"), None);
    }

    /// As a kernel 6.1 wrote it for a container with two disks.
    #[test]
    fn traffic_of_version_2() {
        let text = "254:16 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n\
                    254:0 rbytes=1000 wbytes=2000 rios=10 wios=20 dbytes=512 dios=1\n7:0 \n";
        let (bytes, operations) = io_stat(text, &[]);
        assert_eq!(
            (bytes, operations),
            (Traffic { read: 5096, write: 10192 }, Traffic { read: 11, write: 22 })
        );
        assert_eq!(io_stat(text, &["254:0".to_owned()]).0, Traffic { read: 1000, write: 2000 });
        assert_eq!(io_stat("", &[]).0, Traffic::default());
    }

    #[test]
    fn traffic_of_version_1() {
        let text = "254:0 Read 4096\n254:0 Write 8192\n254:0 Sync 12288\n254:0 Async 0\n254:0 Discard 0\n\
                    254:0 Total 12288\n7:0 Read 1\nTotal 12289";
        assert_eq!(blkio(text, &["254:0".to_owned()]), Traffic { read: 4096, write: 8192 });
        assert_eq!(blkio(text, &[]), Traffic { read: 4097, write: 8192 });
        assert_eq!(blkio("Total 0", &[]), Traffic::default());
    }

    #[test]
    fn limits_of_either_version() {
        let v2 = "254:0 rbps=max wbps=1048576 riops=max wiops=100\n254:16 rbps=5 wbps=7 riops=max wiops=max";
        let disk = ["254:0".to_owned()];
        assert_eq!(io_limit(v2, "wbps", &disk), Some(1_048_576));
        assert_eq!(io_limit(v2, "rbps", &disk), None);
        assert_eq!(io_limit(v2, "wbps", &[]), Some(7));
        assert_eq!(io_limit("254:0 2097152", "wbps", &disk), Some(2_097_152));
        assert_eq!(io_limit("", "wbps", &disk), None);
    }
}
