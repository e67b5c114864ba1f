//! A run as far as it got in sums that only grow, and in levels of this moment: for whoever reads them again and again, such as
//! Prometheus.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Fold;
use crate::event::{OwnCount, Pool, Stage, TypeInterval};
use crate::measure::GAUGES;

/// What a stage's intervals have come to.
#[derive(Debug)]
pub struct StageSums<'a> {
    pub stage: &'a Stage,
    /// All types together, the drain included.
    pub all: Cow<'a, TypeInterval>,
    pub reconnects: u64,
    pub skipped: u64,
    pub errors: &'a BTreeMap<String, u64>,
    /// What the workload itself counts, the drain included.
    pub counts: Vec<(&'a OwnCount, u64)>,
    /// `None` where the stage does not go on.
    pub now: Option<&'a StageLevels>,
}

/// A stage at the end of its last interval.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct StageLevels {
    pub clients: u32,
    pub backlog: u64,
    pub pool: Option<Pool>,
}

impl StageLevels {
    /// In the order of [`crate::measure::GAUGES`].
    pub fn gauges(&self) -> [Option<f64>; GAUGES.len()] {
        let Self { clients, backlog, pool } = self;
        let idle = |pool: &Pool| (f64::from(pool.connections) - pool.in_use_mean).max(0.0);
        let of_pool = |of: &dyn Fn(&Pool) -> f64| pool.as_ref().map(of);
        [
            Some(f64::from(*clients)),
            Some(*backlog as f64),
            of_pool(&|pool| pool.in_use_mean),
            of_pool(&idle),
            of_pool(&|pool| pool.waiting_mean),
        ]
    }
}

/// What is read under a key.
#[derive(Debug, Clone)]
pub struct ReadingSum {
    pub target: String,
    /// `host` or `database`, as in [`crate::event::Sample`].
    pub source: String,
    pub key: String,
    /// Of a counter the first reading and all that it has grown by since, so that it never goes back; of a gauge the last one.
    pub value: f64,
    /// When it was read last.
    pub at_ms: u64,
}

impl Fold {
    /// All stages in the order in which they began.
    pub fn stage_sums(&self) -> impl Iterator<Item = StageSums<'_>> {
        let is_lost = |stage: &Stage| self.told.lost.iter().any(|lost| lost.lost.target == stage.key.system);
        self.stages.values().map(move |stage| {
            let mut sums = stage.exposed();
            sums.now = sums.now.filter(|_| !is_lost(sums.stage));
            sums
        })
    }

    pub fn reading_sums(&self) -> Vec<ReadingSum> {
        self.telemetry.sums()
    }
}
