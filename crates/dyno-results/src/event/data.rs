//! The data of a workload on a server, and whether they are what they have to be.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The data of a workload on a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Data {
    /// The name of the system.
    pub target: String,
    /// The family of the workload, `tpcb`.
    pub workload: String,
    /// The scale; `None` if the workload has none, or it is unknown.
    pub scale: Option<f64>,
    /// The size of the whole database, bytes.
    pub database_bytes: Option<u64>,
    /// The server's own cache (`shared_buffers`, buffer pool), bytes.
    pub cache_bytes: Option<u64>,
    /// What other caches of the server may take, of which none holds all that is read: bytes by the name of the setting. Left
    /// out if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub caches: BTreeMap<String, u64>,
    /// The memory of the server's host, bytes.
    pub memory_bytes: Option<u64>,
    /// The tables of the workload.
    pub tables: Vec<Table>,
    /// What else stands on the server by which other tables may be changed (functions, views, triggers of the tables, names
    /// that a variable holds), if the tables are those whose names stand in a user's statements; `None` if the tables are the
    /// workload's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indirect: Option<Vec<String>>,
    /// What a user's statements set that affects durability; `None` if they set nothing of the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings_set: Option<SettingsSet>,
    /// Keys and indexes that were made with the data and were dropped since, `index lineitem_fk1 of lineitem`; left out if
    /// there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_indexes: Vec<String>,
    /// The series after which the data were read, in words; `None` if they were read before all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The phase of these series, from 0; `None` if the data were read before all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u32>,
}

impl Data {
    /// What all its tables take with their indexes, bytes; `None` where one is not known. The database may hold much else.
    pub fn bytes(&self) -> Option<u64> {
        let bytes = self.tables.iter().map(Table::bytes).sum::<Option<u64>>()?;
        (!self.tables.is_empty()).then_some(bytes)
    }

    /// The memory of the server's host, bytes, where the operating system can be taken to cache all its tables in it.
    pub(crate) fn caching_memory(&self) -> Option<u64> {
        const SHARE_CACHES: f64 = 0.8;
        let tables = self.bytes()? as f64;
        self.memory_bytes.filter(|memory| tables <= SHARE_CACHES * *memory as f64)
    }

    /// Whether both tell of the data of one workload on one target.
    pub fn is_of_same(&self, other: &Self) -> bool {
        self.target == other.target && self.workload == other.workload
    }
}

/// What statements set that affects durability, as far as the server's own settings do not say the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SettingsSet {
    /// As in the facts of the settings; left out if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crash_corrupts: Vec<String>,
    /// As in the facts of the settings; left out if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crash_loses_last: Vec<String>,
    /// Settings whose new value the text does not say, or whose effect is unknown; left out if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// A table of a workload.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: Option<u64>,
    /// Whether the rows were counted, and are not the server's estimate; left out if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rows_counted: bool,
    /// Its size without indexes, bytes.
    pub table_bytes: Option<u64>,
    /// The size of its indexes, bytes.
    pub index_bytes: Option<u64>,
    /// False if a crash empties the table (UNLOGGED); `None` if that is unknown.
    pub logged: Option<bool>,
    /// The first columns of its indexes, without the primary key; `None` if they are unknown.
    #[serde(default)]
    pub indexed: Option<Vec<String>>,
    /// Whether the planner has statistics of its rows; `None` if that is unknown, or if it has no rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analyzed: Option<bool>,
}

impl Table {
    /// Its size with its indexes, bytes. Where one of the two is not known, neither is the sum.
    pub fn bytes(&self) -> Option<u64> {
        Some(self.table_bytes? + self.index_bytes?)
    }
}

/// A step of the preparation that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrepareStep {
    /// The name of the system.
    pub target: String,
    /// The family of the workload, `tpcb`.
    pub workload: String,
    /// `drop`, `tables`, `data`, `vacuum`, `keys`, ….
    pub step: String,
    /// How long it took, seconds.
    pub seconds: f64,
    /// Rows that it wrote.
    pub rows: Option<u64>,
    /// Bytes that it sent.
    pub bytes: Option<u64>,
}

/// A check of the data of a workload, or of answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The name of the system.
    pub target: String,
    /// The workload.
    pub workload: String,
    /// The series whose queries' answers were checked; `None` for a check of the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    /// Its name, `four-sums-agree`.
    pub name: String,
    /// Whether it passed; `None` if it could not be made, and `detail` says why.
    pub passed: Option<bool>,
    /// What was expected.
    pub expected: Option<String>,
    /// What was found.
    pub found: Option<String>,
    /// One sentence for a reader.
    pub detail: String,
}
