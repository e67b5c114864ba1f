//! How many clients a server has room for: their connections, and where it counts them the statements that they prepare. A load
//! that does not fit is refused before it begins, with what would fit; a ladder that dyno chooses ends where the room
//! does. Where several targets are on one server, each has room for its part.

use std::time::{Duration, Instant};

use dyno_results::spec::{Arrivals, Course, Protocol, Quantity, Rungs};
use dyno_target::inspect;

use super::target_server::TargetServer;
use crate::failure::Failure;
use crate::plan::{OPEN_CLIENTS, PhasePlan, StreamPlan};

/// Clients of a warm-up before a ladder, for each processor.
pub(super) const WARM_UP_CLIENTS_PER_CPU: u32 = 4;
/// Clients of a ramp without a bound, as long as nothing else is known.
const UNBOUNDED_CLIENTS: u32 = 1024;
/// How long statements of sessions that are closing are waited for, and how often is looked.
const CLOSING_WAIT: Duration = Duration::from_secs(1);
const CLOSING_LOOK: Duration = Duration::from_millis(20);

/// A stream on one target.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamLoad<'a> {
    pub(super) stream: &'a StreamPlan,
    pub(super) course: &'a Course,
    /// Connections that the streams beside it name.
    beside: u32,
    /// Streams that share what is left, this one among them: their clients are dyno's to choose.
    sharers: u32,
}

/// The streams of a phase on one target.
pub(super) fn loads<'a>(phase: &'a PhasePlan, target: &str) -> Vec<StreamLoad<'a>> {
    let alone =
        |stream: &'a StreamPlan| StreamLoad { stream, course: stream.course(target), beside: 0, sharers: 1 };
    let mut loads: Vec<StreamLoad<'a>> = phase.streams.iter().map(alone).collect();
    let named = |load: &StreamLoad<'_>| {
        let clients = load.course.clients_named().or(load.stream.connections);
        clients.map(|clients| load.stream.connections_of(clients))
    };
    let all: Vec<Option<u32>> = loads.iter().map(named).collect();
    let (sum, open) =
        (all.iter().flatten().sum::<u32>(), all.iter().filter(|own| own.is_none()).count() as u32);
    for (load, own) in loads.iter_mut().zip(all) {
        load.beside = sum - own.unwrap_or(0);
        load.sharers = if own.is_none() { open } else { 1 };
    }
    loads
}

/// What a server has room for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// `None` where the server does not say, or where clients share connections of which there are enough.
    pub(super) clients: Option<u32>,
    /// Why there is none for more, with what helps; without its full stop.
    pub(super) why: &'static str,
}

impl Room {
    /// The most clients.
    pub(super) fn most(&self) -> u32 {
        self.clients.unwrap_or(u32::MAX)
    }
}

/// Refuses a load that the server has no connections for, and says which would fit; returns how many it has room for,
/// where it says.
pub(super) fn connections(load: &StreamLoad<'_>, server: &mut TargetServer) -> Result<Option<u32>, Failure> {
    let wanted = load.stream.connections_of(clients_wanted(load, server.cpus));
    let room = server
        .free_connections(wanted + load.beside)?
        .map(|free| free.saturating_sub(load.beside) / load.sharers);
    let named = load
        .course
        .clients_named()
        .map(|clients| load.stream.connections_of(clients))
        .or(load.stream.connections);
    let (Some(wanted), Some(free)) = (named, room) else { return Ok(room) };
    if wanted <= free {
        return Ok(room);
    }
    let (url, part) = (&server.url, of_each(&server.sharers().names));
    if load.stream.connections.is_some() {
        return Err(Failure::advised(
            format!("the clients share {wanted} connections, and {url} has room for {free} more{part}"),
            format!("use --connections {free} or fewer, end other sessions, or raise max_connections"),
        ));
    }
    let what =
        format!("the load asks for {wanted} clients, and {url} has room for {free} more connections{part}");
    let fits = fitting(load, free);
    Err(match fits.is_empty() {
        true => Failure::advised(what, "end other sessions, or raise max_connections on the server"),
        false => Failure::advised(
            what,
            format!(
                "use --clients {} (at most {free}) or a ramp up to {free}, let them share connections \
                 (--connections {free}), end other sessions, or raise max_connections",
                list(&fits)
            ),
        ),
    })
}

/// The room for a load: that for connections, and for the statements that some servers count over all of them.
pub(super) fn of_load(
    load: &StreamLoad<'_>,
    server: &mut TargetServer,
    prepared: u64,
) -> Result<Room, Failure> {
    let free = connections(load, server)?;
    // More clients need no more connections than those that they share.
    let clients = if load.stream.connections.is_some() { None } else { free };
    let by_connections = Room { clients, why: "there is room for no more connections" };
    let prepares = load.stream.protocol == Protocol::Prepared;
    let each = if prepares { prepared } else { 0 };
    if each == 0 {
        return Ok(by_connections);
    }
    let clients_wanted = clients_wanted(load, server.cpus).min(by_connections.most());
    let goal = u64::from(load.stream.connections_of(clients_wanted));
    let Some(free) = free_statements_for(server, goal * each)? else { return Ok(by_connections) };
    let fits = u32::try_from(free / each).unwrap_or(u32::MAX);
    let wanted =
        load.stream.connections_of(load.course.clients_named().or(load.stream.connections).unwrap_or(1));
    if wanted > fits {
        let fits = if load.stream.connections.is_some() { Vec::new() } else { fitting(load, fits) };
        let fewer = if fits.is_empty() { String::new() } else { format!("use --clients {}, ", list(&fits)) };
        let (url, needed) = (&server.url, u64::from(wanted) * each);
        return Err(Failure::advised(
            format!(
                "{wanted} clients with {each} prepared statements each need {needed}, and max_prepared_stmt_count of \
                 {url} leaves room for {free}{}",
                of_each(&server.sharers().names)
            ),
            format!(
                "{fewer}take fewer --tables or --protocol simple, or raise it on the server: SET GLOBAL \
                 max_prepared_stmt_count = {needed} or more"
            ),
        ));
    }
    match clients {
        Some(clients) if clients <= fits => Ok(by_connections),
        None if load.stream.connections.is_some() => Ok(by_connections),
        _ => Ok(Room {
            clients: Some(fits),
            why: "max_prepared_stmt_count leaves no room for the statements of more. Raise it, or use \
                --protocol simple",
        }),
    }
}

/// Statements that this target may still prepare, on a server that limits them. Sessions of the load before may be closing,
/// so where there is no room for as many as are wanted, it is waited for a little.
fn free_statements_for(server: &mut TargetServer, wanted: u64) -> Result<Option<u64>, Failure> {
    let started = Instant::now();
    let sharers = u64::from(server.sharers().server);
    loop {
        let left = inspect::prepared_statements_left(server.reconnect_if_broken()?);
        let left = left.map_err(|source| server.query_failed("counting the prepared statements", source))?;
        match left.map(|left| left / sharers) {
            Some(free) if free < wanted && started.elapsed() < CLOSING_WAIT => {
                std::thread::sleep(CLOSING_LOOK);
            }
            free => return Ok(free),
        }
    }
}

/// Targets between which a server's room is divided; nothing where there is one.
fn of_each(sharing: &[String]) -> String {
    match sharing {
        [] => String::new(),
        _ => format!(" for each of its targets {}", sharing.join(", ")),
    }
}

fn list(clients: &[u32]) -> String {
    clients.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// Rungs of the list that was asked for that fit, with the most that does.
fn fitting(load: &StreamLoad<'_>, most: u32) -> Vec<u32> {
    let mut fits: Vec<u32> = match load.course {
        Course::Ladder { rungs: Rungs::Listed(rungs), .. } => rungs.clone(),
        _ => Vec::new(),
    };
    fits.retain(|clients| *clients < most);
    if most > 0 {
        fits.push(most);
    }
    fits
}

/// The most clients that a load may come to where there is room for them.
fn clients_wanted(load: &StreamLoad<'_>, cpus: u32) -> u32 {
    match load.course {
        Course::Ladder { rungs: Rungs::Automatic { max, .. }, .. } => *max,
        Course::Ladder { rungs: Rungs::Listed(rungs), .. } => rungs.last().copied().unwrap_or(1),
        Course::Ramp(ramp) => match ramp.steps.of {
            // Whole and within the bound, as steps of clients are.
            Quantity::Clients => ramp.steps.end.map_or(UNBOUNDED_CLIENTS, |end| end as u32),
            Quantity::RatePerS => ramp.clients.unwrap_or(OPEN_CLIENTS),
        },
        Course::Fixed { clients, clients_end, arrivals, .. } => (*clients)
            .max(*clients_end)
            .unwrap_or_else(|| clients_default(*arrivals, cpus, load.stream.connections)),
    }
}

/// The clients of a single stage where the user names none: at least as many as could use all connections that they share.
pub(super) fn clients_default(arrivals: Arrivals, cpus: u32, connections: Option<u32>) -> u32 {
    match arrivals {
        Arrivals::Open { .. } => OPEN_CLIENTS,
        Arrivals::Closed { .. } => cpus.saturating_mul(WARM_UP_CLIENTS_PER_CPU).max(connections.unwrap_or(1)),
    }
}
