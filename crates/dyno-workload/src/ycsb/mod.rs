//! `ycsb`: the core workloads A to F of the Yahoo! Cloud Serving Benchmark and mixes of the user's own, on one table of keys and text fields. Keys, the
//! numbering of inserts and the distributions of requests are YCSB's, so that results can be compared. Opens no socket.

mod benchmark;
mod family;
mod inserts;
mod load;
mod options;
mod requests;
mod table;
mod updates;
mod verify;

pub use family::YcsbFamily;

use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;

use crate::benchmark::Series;
use crate::dataset::Terms;
use requests::Requests;

/// The workloads' family in events and on the command line.
pub const NAME: &str = "ycsb";
/// The table, and its key.
const TABLE: &str = "usertable";
const KEY: &str = "ycsb_key";

/// Of the messages.
pub(crate) static TERMS: Terms = Terms {
    family: NAME,
    grants: "SELECT, INSERT and UPDATE on usertable",
    instead: "name another database, made for this",
    locked: Some(TABLE),
    exists: None,
    room: "make room or take fewer records (--records)",
    rights: "connect as a user who may make, fill, alter and drop tables in this database",
};

/// What a transaction does; the type of the transaction has the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Operation {
    Read,
    Update,
    Insert,
    Scan,
    /// Counts as one operation, as with YCSB.
    ReadModifyWrite,
}

/// One of the core workloads, or a mix of the user's own.
#[derive(Debug, Clone, Copy)]
pub struct Mix {
    /// `ycsb/a`
    workload: &'static str,
    /// One line for a list.
    about: &'static str,
    /// Operations with their shares, which sum up to 1.
    shares: [(Operation, f64); 5],
    /// Which records are asked for.
    requests: Requests,
    /// Records of a scan, at least and at most.
    scan_length: [u32; 2],
}

/// The core workloads, and the one whose shares the user says.
const MIXES: [Mix; 7] = {
    use Operation::{Insert, Read, ReadModifyWrite, Scan, Update};
    use Requests::{Latest, Zipfian};
    [
        mix("ycsb/a", "half reads, half updates of one field", [(Read, 0.5), (Update, 0.5)], Zipfian),
        mix("ycsb/b", "95 % reads, 5 % updates of one field", [(Read, 0.95), (Update, 0.05)], Zipfian),
        mix("ycsb/c", "reads of a record by its key", [(Read, 1.0), (Update, 0.0)], Zipfian),
        mix(
            "ycsb/d",
            "95 % reads of the latest records, 5 % inserts",
            [(Read, 0.95), (Insert, 0.05)],
            Latest,
        ),
        mix(
            "ycsb/e",
            "95 % scans of up to 100 records, 5 % inserts",
            [(Scan, 0.95), (Insert, 0.05)],
            Zipfian,
        ),
        mix(
            "ycsb/f",
            "half reads, half reads with an update",
            [(Read, 0.5), (ReadModifyWrite, 0.5)],
            Zipfian,
        ),
        mix(
            OWN,
            "operations in shares of your own (--read-proportion, …)",
            [(Read, 0.0), (Update, 0.0)],
            Zipfian,
        ),
    ]
};

/// The mix whose shares the user says.
const OWN: &str = "ycsb/mix";

const fn mix(
    workload: &'static str,
    about: &'static str,
    [one, other]: [(Operation, f64); 2],
    requests: Requests,
) -> Mix {
    let none = (Operation::Read, 0.0);
    Mix { workload, about, shares: [one, other, none, none, none], requests, scan_length: [1, 100] }
}

impl Mix {
    fn series(self) -> Series {
        // The workload's name without its family.
        let name = self.workload.split_at(NAME.len() + 1).1;
        let writes = self.operations().any(|(it, _)| !matches!(it, Operation::Read | Operation::Scan));
        Series { name, workload: self.workload, writes, pass: None, fixed: None, pauses: Duration::ZERO }
    }

    /// Those that occur, with their shares; the transaction types have this order.
    fn operations(self) -> impl Iterator<Item = (Operation, f64)> {
        self.shares.into_iter().filter(|(_, share)| *share > 0.0)
    }

    /// The share of an operation.
    fn share(self, operation: Operation) -> f64 {
        self.operations().filter(|(it, _)| *it == operation).map(|(_, share)| share).sum()
    }

    fn updates(self) -> bool {
        self.share(Operation::Update) + self.share(Operation::ReadModifyWrite) > 0.0
    }

    /// `read`, `read-modify-write`
    fn types(self) -> Arc<[String]> {
        self.operations().map(|(operation, _)| operation.name()).collect()
    }
}

impl Operation {
    fn name(self) -> String {
        self.to_possible_value().map(|name| name.get_name().into()).unwrap_or_default()
    }
}
