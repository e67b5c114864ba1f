//! What the data take on disk, and how long it took to make them.

use super::basis::unit_of_members;
use super::document::{Better, DataComparison};
use super::estimate::{SideFigure, decide};
use super::sections::{draft, is_told};
use super::side::{Member, Side};
use crate::event::Data;
use crate::words::distinct;

/// Servers give their files room by pages, the largest of which have so many bytes.
const PAGE_BYTES: f64 = 16_384.0;
/// What the time of a preparation is told to.
const STEP_S: f64 = 0.001;

/// One table for each family of workloads that the base and another side have data of.
pub(super) fn compare(sides: &[Side], base: usize) -> Vec<DataComparison> {
    let of_base = sides.get(base).into_iter().flat_map(|side| &side.members);
    let families = of_base.flat_map(|member| member.report().data.iter().map(|data| family(&data.workload)));
    let families = distinct(families);
    families.into_iter().filter_map(|family| of_family(sides, base, family)).collect()
}

/// `tpcb` of `tpcb/select-only`: workloads of a family share their data.
pub(super) fn family(workload: &str) -> &str {
    workload.split('/').next().unwrap_or(workload)
}

fn of_family(sides: &[Side], base: usize, family: &str) -> Option<DataComparison> {
    type OfMember = fn(&Member, &str) -> Option<f64>;
    let known = |figure: OfMember, resolution: OfMember| -> Vec<Option<SideFigure>> {
        let side = |side: &Side| {
            let figures = side.members.iter().map(|member| Some((figure(member, family)?, None)));
            let known = SideFigure::of(&figures.collect::<Vec<_>>())?;
            let resolutions = side.members.iter().filter_map(|member| resolution(member, family));
            Some(SideFigure { resolution: resolutions.fold(0.0, f64::max), ..known })
        };
        sides.iter().map(side).collect()
    };
    let rows = [
        ("size", "bytes", size_bytes as OfMember, (|_, _| Some(PAGE_BYTES)) as OfMember),
        ("bytes_per_row", "bytes", bytes_per_row, page_per_row),
        ("prepare", "s", prepare_s, |_, _| Some(STEP_S)),
    ];
    let repeated = |side: usize| unit_of_members(&sides[base], &sides[side]);
    let drafts = rows.into_iter().map(|(key, unit, figure, resolution)| {
        let named = (key, unit, Better::Lower);
        draft(named, &known(figure, resolution), base, repeated)
    });
    let rows = decide(vec![drafts.filter(is_told).collect()]).remove(0);
    (!rows.is_empty()).then(|| DataComparison { workload: family.to_owned(), rows })
}

/// Tables and indexes as the load found them: at the end there are more rows where more were inserted.
fn size_bytes(member: &Member, wanted: &str) -> Option<f64> {
    let data = of(&member.evidence.report().found, member, wanted)?;
    bytes(data).map(|bytes| bytes as f64)
}

/// At the run's end.
fn bytes_per_row(member: &Member, wanted: &str) -> Option<f64> {
    let report = member.report();
    let mut sizes = report.sizes.iter();
    let size = sizes.find(|size| size.target == member.target && family(&size.workload) == wanted);
    if let Some(size) = size {
        return Some(size.bytes_per_row);
    }
    let data = of(&report.data, member, wanted)?;
    let rows: Option<u64> = data.tables.iter().map(|table| table.rows).sum();
    rows.filter(|rows| *rows > 0).and_then(|rows| Some(bytes(data)? as f64 / rows as f64))
}

fn page_per_row(member: &Member, wanted: &str) -> Option<f64> {
    Some(bytes_per_row(member, wanted)? / size_bytes(member, wanted)? * PAGE_BYTES)
}

fn of<'a>(data: &'a [Data], member: &Member, wanted: &str) -> Option<&'a Data> {
    data.iter().find(|data| data.target == member.target && family(&data.workload) == wanted)
}

/// A server that names no indexes of a table has none beside it.
fn bytes(data: &Data) -> Option<u64> {
    let tables = data.tables.iter().map(|table| Some(table.table_bytes? + table.index_bytes.unwrap_or(0)));
    let sum: Option<u64> = tables.sum();
    sum.filter(|bytes| *bytes > 0)
}

/// `None` where the data were found.
fn prepare_s(member: &Member, wanted: &str) -> Option<f64> {
    let steps = member.report().prepare.iter();
    let mut steps =
        steps.filter(|step| step.target == member.target && family(&step.workload) == wanted).peekable();
    steps.peek()?;
    Some(steps.map(|step| step.seconds).sum())
}
