//! What became of a stretch of a run's seconds, packed: so that a long run is not read second by second again.
//!
//! Intervals and samples are nearly all of a stream, and take seconds to read of a day; the columns that they become are
//! read in a fraction of one. A block holds what they added to a fold since the block before. It is no second truth: it is
//! made from the events, counts only for who knows its [`FORMAT`], and may be thrown away.
//!
//! Layout: the length of the head (4 bytes, little-endian), the head (JSON), then numbers (8 bytes, little-endian) in the
//! order in which the head names them. No number of a fold is NaN, which stands for one that is not known.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Fold;
use super::stage::Sums;
use super::telemetry::{self, Telemetry};
use super::timeline::Timelines;
use crate::document::{LoadColumns, PoolLoad};
use crate::event::Interval;
use crate::statistics::throughput::Slice;

/// How far blocks of a fold have been made.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// Rows, by target.
    pub(super) loads: BTreeMap<(String, u32), usize>,
    /// Points of each column, by target and source.
    pub(super) streams: BTreeMap<(String, String), Vec<usize>>,
    /// Intervals and revision, by stage.
    pub(super) stages: BTreeMap<u32, (usize, u64)>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    last_ms: u64,
    loads: Vec<LoadHead>,
    streams: Vec<telemetry::Packed>,
    stages: Vec<StageHead>,
}

#[derive(Serialize, Deserialize)]
struct LoadHead {
    target: String,
    stream: u32,
    rows: usize,
    pooled: bool,
    /// Types and keys of what workloads count.
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    counts: Vec<(String, String)>,
    /// The names of the transactions that have columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    types: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct StageHead {
    id: u32,
    slices: usize,
    /// Counts of the workload's figure: as many, or none.
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    figure_counts: usize,
    /// The sums of all its intervals, as JSON by itself: of several blocks only the last need be understood.
    sums: String,
    /// Intervals that are in no sum yet, because those of other generators are still to come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    waiting: Vec<Interval>,
}

/// What blocks say of a stage.
#[derive(Default)]
struct StageParts {
    sums: String,
    waiting: Vec<Interval>,
    slices: Vec<Slice>,
    figure_counts: Vec<u64>,
}

/// Counted up wherever a block means something else than before: a test says when.
pub(crate) const FORMAT: i64 = 4;

impl Fold {
    /// What has come since `marks`, which are moved on.
    ///
    /// # Errors
    /// Only where JSON cannot be written.
    pub(crate) fn block(&self, marks: &mut Marks) -> serde_json::Result<Vec<u8>> {
        let mut numbers = Numbers::default();
        let head = Head {
            last_ms: self.last_ms,
            loads: self.timelines.pack(&mut marks.loads, &mut numbers),
            streams: self.telemetry.pack(&mut marks.streams, &mut numbers),
            stages: self.pack_stages(&mut marks.stages, &mut numbers)?,
        };
        let head = serde_json::to_vec(&head)?;
        let mut block = Vec::with_capacity(4 + head.len() + 8 * numbers.0.len());
        block.extend_from_slice(&u32::try_from(head.len()).unwrap_or(u32::MAX).to_le_bytes());
        block.extend_from_slice(&head);
        numbers.0.iter().for_each(|number| block.extend_from_slice(&number.to_le_bytes()));
        Ok(block)
    }

    fn pack_stages(
        &self,
        marks: &mut BTreeMap<u32, (usize, u64)>,
        numbers: &mut Numbers,
    ) -> serde_json::Result<Vec<StageHead>> {
        let mut packed = Vec::new();
        for (id, stage) in &self.stages {
            let (from, revision) =
                marks.insert(*id, (stage.slices().len(), stage.revision())).unwrap_or_default();
            if revision == stage.revision() {
                continue;
            }
            let slices = &stage.slices()[from..];
            numbers.extend(slices.iter().map(|slice| slice.count as f64));
            numbers.extend(slices.iter().map(|slice| slice.seconds));
            let figure_counts = stage.figure_counts().get(from..).unwrap_or_default();
            numbers.extend(figure_counts.iter().map(|count| *count as f64));
            packed.push(StageHead {
                id: *id,
                slices: slices.len(),
                figure_counts: figure_counts.len(),
                sums: serde_json::to_string(stage.sums())?,
                waiting: stage.waiting().cloned().collect(),
            });
        }
        Ok(packed)
    }

    /// Takes in blocks of a run from its beginning, in their order. All other events up to where they end must have been
    /// taken in before. `None` where they make no sense: then this fold is of no use.
    pub(crate) fn add_blocks<'a>(&mut self, blocks: impl Iterator<Item = &'a [u8]>) -> Option<()> {
        let mut stages: BTreeMap<u32, StageParts> = BTreeMap::new();
        for block in blocks {
            let (length, rest) = block.split_first_chunk::<4>()?;
            let (head, numbers) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            let head: Head = serde_json::from_slice(head).ok()?;
            let mut numbers = Unpacked(numbers);
            self.last_ms = self.last_ms.max(head.last_ms);
            for load in head.loads {
                self.timelines.unpack(&load, &mut numbers)?;
            }
            for stream in head.streams {
                self.telemetry.unpack(stream, &mut numbers)?;
            }
            for StageHead { id, slices, figure_counts, sums: of_stage, waiting } in head.stages {
                let (counts, seconds) = (numbers.take(slices)?, numbers.take(slices)?);
                let known = stages.entry(id).or_default();
                (known.sums, known.waiting) = (of_stage, waiting);
                known.slices.extend(
                    counts.zip(seconds).map(|(count, seconds)| Slice { count: count as u64, seconds }),
                );
                known.figure_counts.extend(numbers.take(figure_counts)?.map(|count| count as u64));
            }
        }
        for (id, StageParts { sums, waiting, slices, figure_counts }) in stages {
            let sums: Sums = serde_json::from_str(&sums).ok()?;
            self.stages.get_mut(&id)?.restore(sums, &waiting, slices, figure_counts);
        }
        Some(())
    }
}

/// Numbers on their way into a block.
#[derive(Default)]
pub(super) struct Numbers(Vec<f64>);

impl Numbers {
    pub(super) fn extend(&mut self, numbers: impl Iterator<Item = f64>) {
        self.0.extend(numbers);
    }

    pub(super) fn extend_known(&mut self, numbers: &[Option<f64>]) {
        self.0.extend(numbers.iter().map(|number| number.unwrap_or(f64::NAN)));
    }
}

/// Numbers out of a block.
pub(super) struct Unpacked<'a>(&'a [u8]);

impl<'a> Unpacked<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<impl Iterator<Item = f64> + use<'a>> {
        let (numbers, rest) = self.0.split_at_checked(count.checked_mul(8)?)?;
        self.0 = rest;
        Some(numbers.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)))
    }

    pub(super) fn take_known(&mut self, count: usize) -> Option<impl Iterator<Item = Option<f64>> + use<'a>> {
        Some(self.take(count)?.map(|number| (!number.is_nan()).then_some(number)))
    }
}

impl Timelines {
    fn pack(&self, marks: &mut BTreeMap<(String, u32), usize>, numbers: &mut Numbers) -> Vec<LoadHead> {
        let mut heads = Vec::new();
        for (key, load) in self.loads() {
            let from = marks.insert(key.clone(), load.t_s.len()).unwrap_or_default();
            let rows = load.rows(from..load.t_s.len());
            if rows.t_s.is_empty() {
                continue;
            }
            numbers.extend(rows.t_s.iter().copied());
            numbers.extend(rows.stage.iter().copied().map(f64::from));
            numbers.extend(rows.clients.iter().copied().map(f64::from));
            rows.columns().for_each(|column| numbers.extend_known(column));
            heads.push(LoadHead {
                target: key.0.clone(),
                stream: key.1,
                rows: rows.t_s.len(),
                pooled: rows.pool.is_some(),
                counts: rows.counts.iter().map(|column| (column.of.clone(), column.key.clone())).collect(),
                types: rows.by_type.into_iter().map(|it| it.name).collect(),
            });
        }
        heads
    }

    fn unpack(&mut self, head: &LoadHead, numbers: &mut Unpacked<'_>) -> Option<()> {
        let load: &mut LoadColumns = self.load_mut(&head.target, head.stream);
        let before = load.t_s.len();
        load.t_s.extend(numbers.take(head.rows)?);
        load.stage.extend(numbers.take(head.rows)?.map(|id| id as u32));
        load.clients.extend(numbers.take(head.rows)?.map(|clients| clients as u32));
        if head.pooled {
            load.pool.get_or_insert_with(|| PoolLoad::unknown(before));
        }
        for (of, key) in &head.counts {
            load.count_mut(of, key, before);
        }
        for name in &head.types {
            load.type_mut(name, before);
        }
        for column in load.columns_mut() {
            column.extend(numbers.take_known(head.rows)?);
        }
        Some(())
    }
}

impl Telemetry {
    fn pack(
        &self,
        marks: &mut BTreeMap<(String, String), Vec<usize>>,
        numbers: &mut Numbers,
    ) -> Vec<telemetry::Packed> {
        let streams = self.streams();
        streams
            .filter_map(|(key, stream)| stream.pack(key, marks.entry(key.clone()).or_default(), numbers))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, Stamped};
    use crate::event::{Pool, StageKind, TypeInterval};
    use crate::fixture::{
        Fixture, FixtureStage, clean_fixture, divided, interval, mix_fixture, saturated_ladder,
    };
    use crate::fnv1a;

    /// A ramp whose host is read, with all its counters.
    fn ramp() -> Fixture {
        let mut fixture = Fixture::started("2026-11-20-1");
        fixture.read("host", "cpus", 4.0);
        for (key, per_second) in [
            ("cpu_user_seconds_total", 2.5),
            ("cpu_idle_seconds_total", 1.5),
            ("disk_read_seconds_total", 0.1),
            ("disk_write_seconds_total", 0.2),
            ("disk_read_operations_total", 10.0),
            ("disk_write_operations_total", 20.0),
        ] {
            fixture.grow("host", key, per_second);
        }
        saturated_ladder(&mut fixture, |fixture, busy| fixture.read("host", "made_up_gauge_bytes", busy));
        fixture
    }

    /// A fold of the events of which blocks were made every so often, and the rest read one by one.
    fn through_blocks(events: &[Stamped], each: usize) -> Fold {
        let (mut writing, mut marks, mut blocks) = (Fold::new(), Marks::default(), Vec::new());
        let mut kept = 0;
        for (index, stamped) in events.iter().enumerate() {
            writing.add(stamped);
            if (index + 1) % each == 0 {
                blocks.push(writing.block(&mut marks).unwrap());
                kept = index + 1;
            }
        }
        let mut fold = Fold::new();
        let is_second = |event: &Event| matches!(event, Event::Interval(_) | Event::Sample(_));
        events[..kept]
            .iter()
            .filter(|stamped| !is_second(&stamped.event))
            .for_each(|stamped| fold.add(stamped));
        fold.add_blocks(blocks.iter().map(Vec::as_slice)).unwrap();
        events[kept..].iter().for_each(|stamped| fold.add(stamped));
        fold
    }

    fn same(events: &[Stamped]) {
        let json = |fold: &Fold| serde_json::to_string(&fold.report()).unwrap();
        let whole = super::super::fold(events);
        let sums = |fold: &Fold| {
            let counts = |all: &TypeInterval| all.counts().collect::<Vec<_>>();
            let levels = fold.stage_sums().map(|sums| format!("{:?} {:?}", counts(&sums.all), sums.now));
            (levels.collect::<Vec<_>>(), format!("{:?}", fold.reading_sums()))
        };
        let mut read = Fold::new();
        events.iter().for_each(|stamped| read.add(stamped));
        for each in [1, 3, 17, events.len()] {
            let fold = through_blocks(events, each);
            assert_eq!(json(&fold), serde_json::to_string(&whole).unwrap(), "a block of {each} events each");
            assert_eq!(sums(&fold), sums(&read), "a block of {each} events each");
        }
    }

    #[test]
    fn a_run_through_blocks_is_the_run() {
        same(&clean_fixture().events);
        same(&divided(&clean_fixture().events));
        same(&ramp().events);
        same(&mix_fixture(1000.0, 2).events);
        same(&divided(&mix_fixture(1000.0, 2).events));
    }

    /// Where this fails and the fixture is the same, blocks of before would be misread: count [`FORMAT`] up.
    #[test]
    fn a_block_is_what_its_format_says() {
        let (mut fold, mut marks) = (Fold::new(), Marks::default());
        ramp().events.iter().for_each(|stamped| fold.add(stamped));
        let block = fold.block(&mut marks).unwrap();
        let hash = fnv1a::mixed(fnv1a::START, block.iter().copied());
        assert_eq!((FORMAT, hash), (4, 1_809_893_368_011_454_547));
    }

    #[test]
    fn connections_that_are_shared_only_later_are_kept() {
        let mut fixture = Fixture::started("2026-11-20-1");
        for waiting in [None, Some(3.0)] {
            let load = FixtureStage::write(StageKind::Hold, 4, &[100, 0, 120]);
            let id = fixture.start_stage(&load);
            for (index, done) in load.tps.iter().enumerate() {
                let mut second = interval(&load, id, index, *done);
                second.pool = waiting.map(|waiting_mean| Pool { waiting_mean, ..Pool::default() });
                fixture.push(Event::Interval(second));
            }
            fixture.finish_stage(id, load.tps.len());
        }
        same(&fixture.events);
    }

    #[test]
    fn what_is_no_block_is_refused() {
        let events = clean_fixture().events;
        let (mut fold, mut marks) = (Fold::new(), Marks::default());
        events.iter().for_each(|stamped| fold.add(stamped));
        let block = fold.block(&mut marks).unwrap();
        let refused = |block: &[u8]| {
            let mut fold = Fold::new();
            events.iter().take(events.len()).for_each(|stamped| {
                if !matches!(stamped.event, Event::Interval(_) | Event::Sample(_)) {
                    fold.add(stamped);
                }
            });
            fold.add_blocks(std::iter::once(block)).is_none()
        };
        assert!(!refused(&block));
        for cut in [0, 3, 100, block.len() / 2, block.len() - 1] {
            assert!(refused(&block[..cut]), "cut at {cut}");
        }
        assert!(Fold::new().add_blocks(std::iter::once(block.as_slice())).is_none(), "without its stages");
    }
}
