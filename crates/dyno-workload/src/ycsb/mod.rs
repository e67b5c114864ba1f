//! `ycsb`: the core workloads A to F of the Yahoo! Cloud Serving Benchmark, on one table of keys and text fields. Keys, the
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

/// One of the core workloads.
#[derive(Debug, Clone, Copy)]
pub struct Mix {
    /// `ycsb/a`
    workload: &'static str,
    /// One line for a list.
    about: &'static str,
    /// Two operations; the first has so many percent.
    operations: [Operation; 2],
    percent: u64,
    /// Which records are asked for where the user does not say.
    requests: Requests,
}

const MIXES: [Mix; 6] = {
    use Operation::{Insert, Read, ReadModifyWrite, Scan, Update};
    use Requests::{Latest, Zipfian};
    [
        mix("ycsb/a", "half reads, half updates of one field", [Read, Update], 50, Zipfian),
        mix("ycsb/b", "95 % reads, 5 % updates of one field", [Read, Update], 95, Zipfian),
        mix("ycsb/c", "reads of a record by its key", [Read, Update], 100, Zipfian),
        mix("ycsb/d", "95 % reads of the latest records, 5 % inserts", [Read, Insert], 95, Latest),
        mix("ycsb/e", "95 % scans of up to 100 records, 5 % inserts", [Scan, Insert], 95, Zipfian),
        mix("ycsb/f", "half reads, half reads with an update", [Read, ReadModifyWrite], 50, Zipfian),
    ]
};

const fn mix(
    workload: &'static str,
    about: &'static str,
    operations: [Operation; 2],
    percent: u64,
    requests: Requests,
) -> Mix {
    Mix { workload, about, operations, percent, requests }
}

impl Mix {
    fn series(self) -> Series {
        // The workload's name without its family.
        let name = self.workload.split_at(NAME.len() + 1).1;
        Series { name, workload: self.workload, writes: self.percent < 100, pass: None, fixed: None }
    }

    fn updates(self) -> bool {
        let updates = |it: &Operation| matches!(it, Operation::Update | Operation::ReadModifyWrite);
        self.percent < 100 && self.operations.iter().any(updates)
    }

    /// `read`, `read-modify-write`
    fn types(self) -> Arc<[String]> {
        let operations = self.operations.iter().take(1 + usize::from(self.percent < 100));
        operations.filter_map(Operation::to_possible_value).map(|name| name.get_name().into()).collect()
    }
}
