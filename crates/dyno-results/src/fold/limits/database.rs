//! Bounds within the server: its log, locks, and connections. Waits are of sessions as they were found once a second.

use super::{FULL, Scene, WAITING, amount, limit};
use crate::document::{Limit, StageResult};
use crate::format;

/// From about this share of the redo log on, InnoDB puts flushing before everything else.
const REDO_FULL: f64 = 0.75;
/// Clients that wait for a connection, on average, from which on they are held up by that.
const QUEUE_MIN: f64 = 0.5;
/// Connections in use, as a share of a pool, from which on all are.
const POOL_FULL: f64 = 0.95;
/// Codes of a server that has no connection left.
const NO_CONNECTION: [&str; 3] = ["53300", "1040", "1203"];

/// Share of the sessions at work that waited for one of these.
fn waiting(result: &StageResult, classes: &[&str]) -> Option<f64> {
    let waits = result.resources.iter().filter_map(|(key, sessions)| {
        Some((key.strip_prefix("waits_sessions[")?.strip_suffix(']')?, *sessions))
    });
    let (all, of_these) = waits.fold((0.0, 0.0), |(all, of_these), (class, sessions)| {
        (all + sessions, if classes.contains(&class) { of_these + sessions } else { of_these })
    });
    (all > 0.0).then(|| of_these / all)
}

pub(super) fn log(scene: &Scene<'_>) -> Option<Limit> {
    let limits = [redo_full(scene), written(scene)];
    limits
        .into_iter()
        .flatten()
        .reduce(|fuller, other| if other.share > fuller.share { other } else { fuller })
}

/// InnoDB's log with too much in it that no checkpoint has passed.
fn redo_full(scene: &Scene<'_>) -> Option<Limit> {
    let capacity = scene.read("checkpoint_age_limit_bytes").filter(|capacity| *capacity > 0.0)?;
    let share = |result: &StageResult| Some(result.reading("checkpoint_age_bytes")? / capacity);
    let used = scene.mean(share).filter(|used| *used >= REDO_FULL)?;
    let evidence = format!(
        "{} of the redo log's {} waited for a checkpoint{}: pages must be flushed before more can be written",
        format::share(used),
        format::bytes(capacity as u64),
        scene.before(share)
    );
    Some(limit("log", used, evidence))
}

/// Sessions that write or sync the log, or wait until another has: PostgreSQL's `Log`, MySQL's `Commit`.
fn written(scene: &Scene<'_>) -> Option<Limit> {
    let share = |result: &StageResult| waiting(result, &["Log", "Commit"]);
    let held_up = scene.mean(share).filter(|share| *share >= WAITING)?;
    let evidence = format!(
        "{} of the sessions at work wrote the log or waited until it was written{}{}",
        format::share(held_up),
        scene.before(share),
        synced(scene)
    );
    Some(limit("log", held_up, evidence))
}

fn synced(scene: &Scene<'_>) -> String {
    let syncs = scene.read("wal_fsyncs_per_s").filter(|syncs| *syncs >= 1.0);
    syncs.map_or_else(String::new, |syncs| {
        format!(", synced {} times each second", format::count(syncs.round() as u64))
    })
}

/// Locks that others hold, on rows and tables; else the server's own latches, where it shows them and they are not the
/// log's.
pub(super) fn locks(scene: &Scene<'_>) -> Option<Limit> {
    let held = |result: &StageResult| {
        waiting(result, &["Lock", "BufferPin"]).or_else(|| {
            Some(
                result.reading("lock_waiting_sessions")?
                    / result.reading("connections_active").filter(|all| *all > 0.0)?,
            )
        })
    };
    if let Some(share) = scene.mean(held).filter(|share| *share >= WAITING) {
        let evidence = format!(
            "{} of the sessions at work waited for a lock that another held{}",
            format::share(share),
            scene.before(held)
        );
        return Some(limit("locks", share, evidence));
    }
    let latched = |result: &StageResult| waiting(result, &["LWLock"]);
    let share = scene.mean(latched).filter(|share| *share >= WAITING)?;
    let evidence = format!(
        "{} of the sessions at work waited for a latch within the server (LWLock){}",
        format::share(share),
        scene.before(latched)
    );
    Some(limit("locks", share, evidence))
}

/// Connections that the server refused.
pub(super) fn connections(scene: &Scene<'_>) -> Option<Limit> {
    let refused: u64 = scene
        .given_way
        .iter()
        .flat_map(|result| NO_CONNECTION.iter().filter_map(|code| result.errors.get(*code)))
        .sum();
    let allowed = scene.target.and_then(|target| target.connections_max);
    let allows = allowed
        .map(|allowed| format!(" of the {} that it allows", format::count(u64::from(allowed))))
        .unwrap_or_default();
    (refused > 0).then(|| {
        limit(
            "connections",
            1.0,
            format!("the server had no connection left{allows} {} times", format::count(refused)),
        )
    })
}

/// Connections that clients share and wait for.
pub(super) fn pool(scene: &Scene<'_>) -> Option<Limit> {
    let in_use = |result: &StageResult| {
        let pool = result.pool.filter(|pool| pool.connections > 0)?;
        Some(pool.in_use_mean / f64::from(pool.connections))
    };
    let waiting = |result: &StageResult| Some(result.pool?.waiting_mean);
    let share = scene.mean(in_use).filter(|share| *share >= POOL_FULL.max(FULL))?;
    let queue = scene.mean(waiting).filter(|queue| *queue >= QUEUE_MIN)?;
    let connections = scene.mean(|result| Some(f64::from(result.pool?.connections)))?;
    Some(limit(
        "connections",
        share,
        format!(
            "the pool's {} connections were in use for {} of the time and {} clients waited for one{}",
            amount(connections),
            format::share(share),
            amount(queue),
            scene.before_as(waiting, amount)
        ),
    ))
}
