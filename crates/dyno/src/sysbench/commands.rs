//! `prepare`, `prewarm` and `cleanup` of the ten tests.

use std::sync::atomic::{AtomicU32, Ordering};

use dyno_target::connection::{Connection, QueryError};
use dyno_target::inspect;
use dyno_target::product::Dialect;
use dyno_workload::sysbench::prepare::Progress;
use dyno_workload::sysbench::{
    self, Existing, FatalError, Options, PrepareError, PrepareOptions, table_name,
};

use super::connection::Database;
use super::run::seed;
use super::{Context, Refused, tables};
use crate::{DONE, interrupt};

/// The functions of sysbench's scripts that carry out `prepare` and `prewarm`, and `cleanup`, as its messages name them.
const COMMAND: &str = "sysbench.cmdline.call_command";
const CLEANUP: &str = "cleanup";

/// Makes the tables, with as many connections as there are threads.
pub(super) fn prepare(context: &Context) -> Result<u8, Refused> {
    let options = tables::options(context, None)?;
    let database = context.database(COMMAND)?;
    tell_of_threads(context);
    let mut connection = open(context, &database, COMMAND)?;
    let dialect = dialect(context, &mut connection)?;
    let route = connection.route();
    drop(connection);
    let stop = interrupt::stop_flag();
    let wanted = PrepareOptions {
        target: super::short_name(database.mysql).to_owned(),
        options: &options,
        dialect,
        threads: context.settings.threads.get(),
        seed: seed(&context.settings),
        existing: Existing::Keep,
        stop: Some(&stop),
    };
    let open = || Connection::open(&route);
    let made = sysbench::prepare(&open, &wanted, &mut |progress| tell(context, &options, &progress));
    made.map(|()| DONE).map_err(|error| not_made(context, &error))
}

/// A line for each step on a table, as sysbench has them.
fn tell(context: &Context, options: &Options, progress: &Progress) {
    let rows = options.table_size;
    match progress {
        Progress::Table { step, table } => {
            let table = table_name(*table);
            match *step {
                "tables" => context.console.print(&format!("Creating table '{table}'...\n")),
                "data" => context.console.print(&format!("Inserting {rows} records into '{table}'\n")),
                "indexes" if options.create_secondary => {
                    context.console.print(&format!("Creating a secondary index on '{table}'...\n"));
                }
                _ => {}
            }
        }
        Progress::Remark(why) => context.settings.extras.tell(&format!("dyno: {why}\n")),
        _ => {}
    }
}

fn not_made(context: &Context, error: &PrepareError) -> Refused {
    match error {
        PrepareError::Exists { source, .. }
        | PrepareError::DiskFull { source, .. }
        | PrepareError::Denied { source, .. }
        | PrepareError::ReadOnly { source, .. }
        | PrepareError::Locked { source, .. }
        | PrepareError::Failed { source, .. } => {
            let refused = failed(context, COMMAND, source);
            context.settings.extras.tell(&format!("dyno: {error}\n"));
            refused
        }
        _ => context.refuse(&error.to_string()),
    }
}

/// Has the server read the tables, so that they are in its memory.
pub(super) fn prewarm(context: &Context) -> Result<u8, Refused> {
    let options = tables::options(context, None)?;
    let database = context.database(COMMAND)?;
    tell_of_threads(context);
    let dialect = dialect(context, &mut open(context, &database, COMMAND)?)?;
    let next = AtomicU32::new(1);
    let work = || -> Result<(), Refused> {
        let mut connection = open(context, &database, COMMAND)?;
        loop {
            let table = next.fetch_add(1, Ordering::Relaxed);
            if table > options.tables {
                return Ok(());
            }
            context.console.print(&format!("Prewarming table {}\n", table_name(table)));
            sysbench::prewarm(&mut connection, &options, &dialect, table)
                .map_err(|error| failed(context, COMMAND, &error))?;
        }
    };
    let threads = context.settings.threads.get().min(options.tables);
    let ended: Vec<_> = std::thread::scope(|scope| {
        // They share the tables: those that start do the work of one that does not.
        let begin = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let threads: Vec<_> = (1..threads).filter_map(begin).collect();
        let own = work();
        // A thread that panicked has told of it.
        threads.into_iter().map(|thread| thread.join().unwrap_or(Err(Refused))).chain([own]).collect()
    });
    ended.into_iter().collect::<Result<(), _>>().map(|()| DONE)
}

/// Drops the tables.
pub(super) fn cleanup(context: &Context) -> Result<u8, Refused> {
    let options = tables::options(context, None)?;
    let mut connection = open(context, &context.database(CLEANUP)?, CLEANUP)?;
    let mut tell =
        |table: u32| context.console.print(&format!("Dropping table '{}'...\n", table_name(table)));
    let dropped = sysbench::cleanup(&mut connection, &options, &mut tell);
    dropped.map(|()| DONE).map_err(|error| failed(context, CLEANUP, &error))
}

fn tell_of_threads(context: &Context) {
    if context.settings.threads.get() > 1 {
        context.console.notice("Initializing worker threads...\n");
    }
}

fn open(context: &Context, database: &Database, function: &str) -> Result<Connection, Refused> {
    database.open().map_err(|failure| {
        failure.tell_command(&context.console, function);
        Refused
    })
}

fn dialect(context: &Context, connection: &mut Connection) -> Result<Dialect, Refused> {
    let recognised = inspect::recognise(connection);
    recognised.map(|recognised| recognised.dialect).map_err(|error| failed(context, COMMAND, &error))
}

/// A statement that failed, in the words of sysbench's drivers.
fn failed(context: &Context, function: &str, error: &QueryError) -> Refused {
    let QueryError::Server { error: server_error, statement } = error else {
        return context.refuse(&format!("`{function}' function failed: {error}"));
    };
    let error = FatalError::of_server(statement.clone(), server_error);
    context.console.sql_error(function, false, &error);
    Refused
}
