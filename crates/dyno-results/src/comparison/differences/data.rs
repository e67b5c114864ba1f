//! Whether the sides have the same data, and whether these lie in memory alike.

use std::collections::BTreeSet;

use super::server::same_products;
use super::{Aspect, noted_among_products, told, unequal, unequal_where_known, values};
use crate::comparison::data::family;
use crate::comparison::document::Difference;
use crate::comparison::side::{Member, Side};
use crate::event::{Data, Severity, Table};
use crate::format;
use crate::words::distinct;

/// Rows may differ by so much: a table that a load fills is not found twice with the same number.
const ROWS_TOLERANCE: f64 = 1.05;
/// Up to here a server's estimate may be all that differs.
const ROWS_ESTIMATED: f64 = 1.25;
/// A table with a smaller share of the rows decides nothing.
const TABLE_SHARE_MIN: f64 = 0.01;

const SCALE: Aspect = Aspect {
    name: "scale",
    severity: Severity::Invalid,
    advice: "prepare the same data on every side (--scale, --rows, --table-size) and run again",
};
const ROWS: Aspect = Aspect { name: "rows", ..SCALE };
const INDEXES: Aspect = Aspect {
    name: "indexes",
    severity: Severity::Doubt,
    advice: "each index is written with every row, and may be read instead of the table: prepare the same on every side where \
             there is an option for it (--customer-index for events, --create-secondary for sysbench)",
};
/// Indexes that are named; of more, their number is.
const INDEXES_SHOWN: usize = 3;
const CACHE: Aspect = Aspect {
    name: "data against memory",
    severity: Severity::Doubt,
    advice: "what lies in memory on one side is read from disk on the other: give the caches the same size, or make the \
             data clearly larger (or smaller) than both",
};

const CACHE_SIZE: Aspect = Aspect {
    name: "cache of the server",
    severity: Severity::Doubt,
    advice: "a larger cache spares reads and writes of the disk: give the servers caches of the same size, unless their settings are \
             what you compare",
};
/// Caches that differ by less are of one size: servers round it.
const CACHE_TOLERANCE: f64 = 1.1;

pub(super) fn differences(sides: &[Side]) -> Vec<Difference> {
    let all = sides.iter().flat_map(|side| &side.members).flat_map(of_member);
    let families = distinct(all.map(|data| family(&data.workload)));
    families
        .into_iter()
        .filter(|family| {
            sides.iter().all(|side| side.members.iter().any(|member| found(member, family).is_some()))
        })
        .flat_map(|family| of_family(sides, family))
        .chain(cache_sizes(sides))
        .collect()
}

/// The sizes of the servers' own caches: of the one that has all that is read, and of others by the names of their settings.
fn cache_sizes(sides: &[Side]) -> Vec<Difference> {
    let all = || sides.iter().flat_map(|side| &side.members).flat_map(of_member);
    let named = distinct(all().flat_map(|data| data.caches.keys()));
    let of_one = cache_size(sides, None, |data| data.cache_bytes.filter(|cache| *cache > 0));
    let of_named =
        |name: &&String| cache_size(sides, Some(name.as_str()), |data| data.caches.get(*name).copied());
    of_one.into_iter().chain(named.iter().filter_map(of_named)).collect()
}

/// Of little weight where all data lie in each of them.
fn cache_size(
    sides: &[Side],
    name: Option<&str>,
    cache: impl Fn(&Data) -> Option<u64>,
) -> Option<Difference> {
    let sizes = || sides.iter().flat_map(|side| &side.members).flat_map(of_member).filter_map(&cache);
    let (least, most) = (sizes().min()?, sizes().max()?);
    let holds_all = |data: &Data| data.bytes().zip(cache(data)).is_some_and(|(bytes, cache)| bytes <= cache);
    let hold_all = sides.iter().flat_map(|side| &side.members).flat_map(of_member).all(holds_all);
    let severity = if hold_all { Severity::Note } else { CACHE_SIZE.severity };
    let shown = |bytes| match name {
        Some(name) => format!("{name} {}", format::bytes(bytes)),
        None => format::bytes(bytes),
    };
    let values = values(sides, |member| of_member(member).find_map(&cache).map(&shown));
    unequal_where_known(sides, &Aspect { severity, ..CACHE_SIZE }, values)
        .filter(|_| most as f64 > CACHE_TOLERANCE * least as f64)
}

fn of_member(member: &Member) -> impl Iterator<Item = &Data> {
    member.evidence.report().found.iter().filter(|data| data.target == member.target)
}

fn found<'a>(member: &'a Member, wanted: &str) -> Option<&'a Data> {
    of_member(member).find(|data| family(&data.workload) == wanted)
}

fn of_family(sides: &[Side], family: &str) -> Vec<Difference> {
    let scale = values(sides, |member| Some(plain(found(member, family)?.scale?)));
    let scale =
        if scale.iter().all(Option::is_none) { rows(sides, family) } else { unequal(sides, &SCALE, scale) };
    let place = |member: &Member| place(found(member, family)?);
    let levels = values(sides, |member| Some(place(member)?.0.to_owned()));
    let placed_alike = levels.windows(2).all(|pair| pair[0] == pair[1]);
    let cache = (!placed_alike).then(|| {
        let shown = |member: &Member| place(member).map(|(level, sizes)| format!("{level}: {sizes}"));
        told(sides, &CACHE, values(sides, shown))
    });
    scale.into_iter().chain(indexes(sides, family)).chain(cache).collect()
}

/// What the tables are indexed by beside their keys, and what was dropped of it. Some products make more of the same schema
/// than others.
fn indexes(sides: &[Side], family: &str) -> Option<Difference> {
    let of_side = |side: &Side| {
        let of_members = side.members.iter().filter_map(|member| indexes_of(found(member, family)?));
        of_members.reduce(|all, more| &all | &more)
    };
    let of_sides: Vec<Option<BTreeSet<String>>> = sides.iter().map(of_side).collect();
    let known: Vec<&BTreeSet<String>> = of_sides.iter().flatten().collect();
    if known.windows(2).all(|pair| pair[0] == pair[1]) {
        return None;
    }
    let of_own = |all: &BTreeSet<String>| {
        let own: Vec<&str> = all
            .iter()
            .filter(|index| !known.iter().all(|of_side| of_side.contains(*index)))
            .map(String::as_str)
            .collect();
        let shown = own[..own.len().min(INDEXES_SHOWN)].join(", ");
        match own.len() {
            0 if all.is_empty() => "none beside the keys".to_owned(),
            0 => "no others".to_owned(),
            many if many > INDEXES_SHOWN => format!("{shown} and {} more", many - INDEXES_SHOWN),
            _ => shown,
        }
    };
    let values = of_sides.iter().map(|all| all.as_ref().map(of_own)).collect();
    noted_among_products(Some(told(sides, &INDEXES, values)), same_products(sides))
}

/// `event.customer_id`, `without index event_pkey of event`; `None` where a table's are not known.
fn indexes_of(data: &Data) -> Option<BTreeSet<String>> {
    let mut all: BTreeSet<String> =
        data.missing_indexes.iter().map(|index| format!("without {index}")).collect();
    for table in &data.tables {
        all.extend(table.indexed.as_ref()?.iter().map(|column| format!("{}.{column}", table.name)));
    }
    Some(all)
}

/// `10`, `0.1`
fn plain(scale: f64) -> String {
    if scale.fract() == 0.0 { format::count(scale as u64) } else { scale.to_string() }
}

/// Where no scale says how large the data are, their tables do.
fn rows(sides: &[Side], family: &str) -> Option<Difference> {
    let tables: Vec<Vec<&Table>> = sides
        .iter()
        .map(|side| {
            let first = side.members.iter().find_map(|member| found(member, family));
            first.map(|data| weighty(&data.tables)).unwrap_or_default()
        })
        .collect();
    let alike = |within: f64| {
        let pairs = tables.windows(2);
        pairs.into_iter().all(|pair| same_tables(&pair[0], &pair[1], within))
    };
    if alike(ROWS_TOLERANCE) {
        return None;
    }
    let severity = if alike(ROWS_ESTIMATED) { Severity::Doubt } else { ROWS.severity };
    let text = |tables: &Vec<&Table>| {
        let rows: u64 = tables.iter().filter_map(|table| table.rows).sum();
        let largest = tables.iter().max_by_key(|table| table.rows);
        match (tables.as_slice(), largest) {
            ([], _) | (_, None) => None,
            ([only], _) => Some(format!("{} in {}", format::count(only.rows?), only.name)),
            (several, Some(largest)) => Some(format!(
                "{} in {} tables ({} in {})",
                format::count(rows),
                several.len(),
                format::count(largest.rows?),
                largest.name
            )),
        }
    };
    unequal(sides, &Aspect { severity, ..ROWS }, tables.iter().map(text).collect())
}

fn weighty(tables: &[Table]) -> Vec<&Table> {
    let all: u64 = tables.iter().filter_map(|table| table.rows).sum();
    let share = |table: &Table| table.rows.map(|rows| rows as f64 / all as f64);
    tables.iter().filter(|table| share(table).is_none_or(|share| share >= TABLE_SHARE_MIN)).collect()
}

fn same_tables(left: &[&Table], right: &[&Table], within: f64) -> bool {
    let has_like = |table: &&Table| {
        right.iter().any(|other| other.name == table.name && near(table.rows, other.rows, within))
    };
    left.len() == right.len() && left.iter().all(has_like)
}

fn near(left: Option<u64>, right: Option<u64>, within: f64) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => left.max(right) as f64 <= within * left.min(right) as f64,
        (left, right) => left == right,
    }
}

/// Where the data lie, and their size beside the memory's.
fn place(data: &Data) -> Option<(&'static str, String)> {
    let tables = data.bytes()?;
    let cache = data.cache_bytes.filter(|cache| *cache > 0);
    let (level, bytes, of) = match (cache, data.caching_memory()) {
        (Some(cache), _) if tables <= cache => ("in the server's cache", cache, "cache"),
        (_, Some(memory)) => ("in the host's memory", memory, "memory"),
        (Some(cache), None) => ("larger than the server's cache", cache, "cache"),
        (None, None) => return None,
    };
    Some((level, format!("{} of data, {} of {of}", format::bytes(tables), format::bytes(bytes))))
}
