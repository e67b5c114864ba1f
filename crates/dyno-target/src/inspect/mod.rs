//! What a server says of itself: product, version, settings, sizes, connections, and its statistics. Reads only,
//! and leaves out what the server does not say or this user may not see; nothing is guessed. Each kind of database is
//! an `Inspector` in a folder of its own.

pub(crate) mod file;
mod identity;
mod kind;
mod mysql;
pub(crate) mod place;
mod postgres;
mod recognise;
mod sessions;
mod statistics;

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs as _};

use dyno_engine::driver::Driver;
use dyno_results::event;
use dyno_wire::endpoint::{Address, Wire};

pub use identity::Identity;
pub(crate) use kind::DriverKind;
pub use kind::DriverTarget;
pub use place::ServerProcess;
pub(crate) use postgres::literal;
pub use recognise::recognise;
pub use sessions::{begins_without_autocommit, prepared_statements_left};
pub use statistics::{Statistics, log_syncs, log_syncs_later};

use crate::connection::{Connection, QueryError, TextRow};
use crate::product::Recognised;
use crate::settings::{is_secret_setting, without_password};
pub(crate) use statistics::ReadStatistics;

/// How one kind of database is asked. A question that the server does not understand leaves its answer unknown; an error
/// is a lost session, for limits and settings also a refused question.
pub(crate) struct Inspector {
    pub(crate) identity: Ask<Identity>,
    /// As the server writes it: `REPEATABLE-READ`.
    pub(crate) isolation: Ask<Option<String>>,
    pub(crate) limits: Ask<Limits>,
    /// Whether server and driver share a machine, seen from an address that was dialled.
    pub(crate) same_host: fn(&mut Connection, SocketAddr) -> Answer<Option<bool>>,
    pub(crate) server_process: Ask<Option<ServerProcess>>,
    pub(crate) settings: fn(&mut Connection, &Recognised) -> Answer<Vec<event::Setting>>,
    /// Those that most often decide a benchmark, the weightiest first.
    pub(crate) weightiest: &'static [&'static str],
    /// What settings come to that bear on durability there.
    pub(crate) facts: fn(&SettingValues<'_>) -> event::SettingFacts,
    pub(crate) sizes: fn(&mut Connection, &[&str]) -> Answer<Sizes>,
    /// Finds out what this server has of them.
    pub(crate) statistics: fn(&mut Connection, &[String]) -> Answer<Statistics>,
}

impl Inspector {
    /// Of a server that tells nothing of itself.
    pub(crate) const UNKNOWN: Self = Self {
        identity: |connection| Identity::ask(connection, Vec::new(), None, ["SELECT ''"; 3]),
        isolation: |_| Ok(None),
        limits: |_| Ok(Limits::default()),
        same_host: |_, _| Ok(None),
        server_process: |_| Ok(None),
        settings: |_, _| Ok(Vec::new()),
        weightiest: &[],
        facts: |_| event::SettingFacts::default(),
        sizes: |_, _| Ok(Sizes::default()),
        statistics: |_, _| Ok(Statistics::of((), Vec::new())),
    };
}

pub(crate) type Answer<T> = Result<T, QueryError>;
pub(crate) type Ask<T> = fn(&mut Connection) -> Answer<T>;

/// The only place that chooses.
pub(crate) fn inspector(connection: &Connection) -> &'static Inspector {
    match connection.endpoint().map(|endpoint| endpoint.wire) {
        Some(Wire::Postgres) => &postgres::INSPECTOR,
        Some(Wire::MySql(_)) => &mysql::INSPECTOR,
        None => kind::of(connection).map_or(&postgres::INSPECTOR, |kind| kind.inspector),
    }
}

/// The server as a whole. `name` is the target's name in the run, `url` its URL without the password.
///
/// # Errors
/// The session was lost. A question that this server does not understand leaves its answer unknown.
pub fn facts(connection: &mut Connection, name: &str, url: &str) -> Result<event::Target, QueryError> {
    connection.briefly(|connection| read_facts(connection, name, url))
}

fn read_facts(connection: &mut Connection, name: &str, url: &str) -> Result<event::Target, QueryError> {
    let recognised = recognise(connection)?;
    let inspector = inspector(connection);
    let same_host = match connection.endpoint().map(|endpoint| endpoint.address.clone()) {
        Some(Address::Tcp(dialled)) => (inspector.same_host)(connection, dialled)?,
        Some(Address::Unix(_)) => Some(true),
        None => match connection.driver().and_then(Driver::server).map(dialled) {
            Some(Some(dialled)) => (inspector.same_host)(connection, dialled)?,
            Some(None) => None,
            None => Some(true),
        },
    };
    let limits = known((inspector.limits)(connection).map(Some))?;
    let isolation = (inspector.isolation)(connection)?;
    Ok(event::Target {
        name: name.to_owned(),
        server: name.to_owned(),
        url: url.to_owned(),
        product: recognised.name,
        version: recognised.version,
        version_text: recognised.version_text,
        tls: connection.tls_version().map(str::to_owned),
        same_host,
        embedded: None,
        connections_max: limits.and_then(|it| it.max()),
        host_source: None,
        // In the words of the SQL standard.
        isolation: isolation.map(|level| level.to_lowercase().replace('-', " ")),
        disk_kind: None,
        in_process: connection.driver().is_some_and(|driver| driver.server().is_none()),
    })
}

/// An address of a driver's server, which has answered.
fn dialled(place: (&str, u16)) -> Option<SocketAddr> {
    place.to_socket_addrs().ok()?.next()
}

/// Which server a session is on.
///
/// # Errors
/// The session was lost. What the server does not say is left out.
pub fn identity(connection: &mut Connection) -> Result<Identity, QueryError> {
    connection.briefly(inspector(connection).identity)
}

/// The server's main process, where it is certain that it runs on this machine and can be seen.
///
/// # Errors
/// The session was lost.
pub fn server_process(connection: &mut Connection) -> Result<Option<ServerProcess>, QueryError> {
    connection.briefly(inspector(connection).server_process)
}

/// The settings of a target that say how it was set up: those that differ from the product's default, and all that bear
/// on durability, which its product names ([`Product::durability`](crate::product::Product::durability)).
///
/// What the load's sessions see counts: a value that only this session was given by `SET` is replaced by the one
/// it started with.
///
/// # Errors
/// What the server said.
pub fn settings(connection: &mut Connection, target: &str) -> Result<event::Settings, QueryError> {
    let inspector = inspector(connection);
    connection.briefly(|connection| {
        let recognised = recognise(connection)?;
        let mut rows = (inspector.settings)(connection, &recognised)?;
        sort(&mut rows, inspector.weightiest);
        let facts = (inspector.facts)(&SettingValues(&rows));
        Ok(event::Settings { target: target.to_owned(), rows, facts })
    })
}

/// The data of a workload as it lies there now. `tables` are names as SQL writes them; one that is missing is
/// listed with nothing known of it. Rows are the planner's estimate, exact on PostgreSQL after VACUUM or ANALYZE of
/// unchanged data. `memory_bytes` is left for the caller, who may know the server's host.
///
/// # Errors
/// The session was lost. A question that this server does not understand leaves its answer unknown.
pub fn data(
    connection: &mut Connection,
    target: &str,
    workload: &str,
    scale: Option<f64>,
    tables: &[&str],
) -> Result<event::Data, QueryError> {
    let Sizes { database_bytes, cache_bytes, caches, tables } =
        (inspector(connection).sizes)(connection, tables)?;
    Ok(event::Data {
        target: target.to_owned(),
        workload: workload.to_owned(),
        scale,
        database_bytes,
        cache_bytes,
        caches,
        memory_bytes: None,
        tables,
        indirect: None,
        settings_set: None,
        missing_indexes: Vec::new(),
        after: None,
        phase: None,
    })
}

/// Those that bear on durability first, and then the weightiest.
fn sort(rows: &mut [event::Setting], weightiest: &[&str]) {
    let place = |name: &str| weightiest.iter().position(|other| *other == name).unwrap_or(usize::MAX);
    rows.sort_by_cached_key(|row| (!row.durability, place(&row.name), row.name.clone()));
}

/// The settings of a target that bear on durability there: what another product merely shows is not among them.
pub(crate) struct SettingValues<'a>(pub(crate) &'a [event::Setting]);

impl<'a> SettingValues<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|row| row.durability && row.name == name).map(|row| row.value.as_str())
    }

    /// `fsync is off`, where the value is so.
    pub(crate) fn says(&self, name: &str, so: impl Fn(&str) -> bool) -> Option<String> {
        self.get(name).filter(|value| so(value)).map(|value| format!("{name} is {value}"))
    }

    /// Those that are known, `wal_level replica`.
    pub(crate) fn listed(&self, names: &[&str]) -> Vec<String> {
        names.iter().filter_map(|name| Some(format!("{name} {}", self.get(name)?))).collect()
    }
}

/// How large the data is, against the server's own cache.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    pub(crate) database_bytes: Option<u64>,
    pub(crate) cache_bytes: Option<u64>,
    /// As [`event::Data::caches`].
    pub(crate) caches: BTreeMap<String, u64>,
    pub(crate) tables: Vec<event::Table>,
}

/// How many more connections this user can open now, by each limit that holds for it. The session that asks is counted
/// as taken.
///
/// # Errors
/// What the server said.
pub fn connections_allowed(connection: &mut Connection) -> Result<Free, QueryError> {
    let Limits { server, account, database } = connection.briefly(inspector(connection).limits)?;
    let free = |limit: Option<Limit>| limit.and_then(|limit| limit.free);
    Ok(Free { server: free(server), account: free(account), database: free(database) })
}

/// Connections that may still be opened; `None` where there is no such limit, or the server does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Free {
    /// By everybody.
    pub server: Option<u32>,
    /// By this account.
    pub account: Option<u32>,
    /// In this database.
    pub database: Option<u32>,
}

impl Free {
    /// By this session's user.
    pub fn least(&self) -> Option<u32> {
        [self.server, self.account, self.database].into_iter().flatten().min()
    }
}

/// What holds for this user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Limits {
    pub(crate) server: Option<Limit>,
    pub(crate) account: Option<Limit>,
    pub(crate) database: Option<Limit>,
}

/// Connections: how many there may be, and how many of these are free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) most: u32,
    /// `None` where it is not known how many there are.
    pub(crate) free: Option<u32>,
}

impl Limits {
    fn max(&self) -> Option<u32> {
        [self.server, self.account, self.database].into_iter().flatten().map(|limit| limit.most).min()
    }
}

/// `rows` have the place of a table and the column that an index of it begins with.
fn mark_indexed(tables: &mut [event::Table], rows: Option<&[TextRow]>) {
    let Some(rows) = rows else { return };
    for (place, table) in tables.iter_mut().enumerate().filter(|(_, table)| table.table_bytes.is_some()) {
        let of_table = rows.iter().filter(|row| row.get("place") == Some(&place.to_string()));
        table.indexed = Some(of_table.filter_map(|row| Some(row.get("column")?.to_owned())).collect());
    }
}

/// Shown instead of a setting's value in which a password may stand.
pub(crate) const NOT_SHOWN: &str = "(not shown)";

/// A setting's value as it may be shown.
pub(crate) fn shown_value(name: &str, value: &str) -> String {
    if is_secret_setting(name) { NOT_SHOWN.to_owned() } else { without_password(value) }
}

/// A refused question is an unknown answer; a lost session is an error.
pub(crate) fn known<T>(answer: Result<Option<T>, QueryError>) -> Result<Option<T>, QueryError> {
    match answer {
        Err(QueryError::Server { error, .. }) if !error.ends_session() => Ok(None),
        other => other,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Settings with these values that bear on durability, some of them changed.
    pub(crate) fn bearing_on_durability(
        values: &[(&str, &str)],
        changed: &[(&str, &str)],
    ) -> Vec<event::Setting> {
        let kept = values.iter().filter(|(name, _)| changed.iter().all(|(other, _)| other != name));
        kept.chain(changed).map(|(name, value)| setting(name, value, true)).collect()
    }

    fn setting(name: &str, value: &str, durability: bool) -> event::Setting {
        let (name, value) = (name.to_owned(), value.to_owned());
        event::Setting { name, value, changed: !durability, durability, ..event::Setting::default() }
    }

    #[test]
    fn durability_comes_first_and_then_the_weightiest() {
        let mut rows = ["zero_damaged_pages", "work_mem", "a_setting", "shared_buffers", "fsync"]
            .map(|name| setting(name, "1", name == "fsync"));
        sort(&mut rows, &["fsync", "shared_buffers", "work_mem"]);
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["fsync", "shared_buffers", "work_mem", "a_setting", "zero_damaged_pages"]);
    }
}
