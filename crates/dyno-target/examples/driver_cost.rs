//! What a statement costs through SQLite's driver and the engine over the library called in a bare loop: the same point
//! select on the same file, in turn. `bench/sqlite` runs it.

use std::env::temp_dir;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use dyno_engine::config::EngineConfig;
use dyno_engine::engine::{Engine, Observation};
use dyno_engine::request::{Request, Statement};
use dyno_engine::workload::{Answer, Client, ClientIdentity, StatementId, Step, TransactionType, Workload};
use dyno_results::spec::{End, StageOrder};
use dyno_target::{Environment, Target};

const ROWS: i64 = 10_000;
const SQL: &str = "SELECT balance FROM account WHERE id = $1";
const ROUND: Duration = Duration::from_secs(1);
const ROUNDS: usize = 7;

/// The next of a sequence of ids that both sides go through.
fn next_id(id: i64) -> i64 {
    (id * 7919 + 13) % ROWS
}

struct Load {
    types: [String; 1],
    statements: [Statement; 1],
}

impl Workload for Load {
    fn types(&self) -> &[String] {
        &self.types
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn client(&self, _: ClientIdentity, _: u64) -> Box<dyn Client> {
        Box::new(Selecting { id: 1 })
    }
}

struct Selecting {
    id: i64,
}

impl Client for Selecting {
    fn begin(&mut self) -> TransactionType {
        self.id = next_id(self.id);
        TransactionType(0)
    }

    fn begin_again(&mut self) {}

    fn next(&mut self, answer: Option<&Answer>, request: &mut Request<'_>) -> Step {
        if answer.is_some() {
            return Step::Done;
        }
        request.execute(StatementId(0), &[self.id]);
        Step::Send
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = temp_dir().join(format!("dyno-driver-cost-{}.db", std::process::id()));
    let measured = measure(&file);
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", file.display()));
    }
    measured
}

fn measure(file: &Path) -> Result<(), Box<dyn Error>> {
    let target =
        Target::parse(&format!("sqlite:{}?journal_mode=wal", file.display()), &Environment::empty())?;
    let rows = format!(
        "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL); WITH RECURSIVE n(i) AS \
         (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS}) INSERT INTO account SELECT i, 0 FROM n"
    );
    target.connect()?.execute(&rows)?;
    let workload: Arc<dyn Workload> =
        Arc::new(Load { types: ["select".to_owned()], statements: [Statement::new(SQL)] });
    let mut engine = Engine::start(target.route()?, &workload, EngineConfig::new(1))?;
    let library = rusqlite::Connection::open(file)?;
    let (mut bare, mut again, mut through) = (Vec::new(), Vec::new(), Vec::new());
    println!("round  library  library again  dyno   (ns for each statement)");
    for round in 1..=ROUNDS {
        let times = [in_a_loop(&library)?, by_the_engine(&mut engine)?, in_a_loop(&library)?];
        println!("{round:5}  {:7.0}  {:13.0}  {:5.0}", times[0], times[2], times[1]);
        bare.push(times[0]);
        again.push(times[2] - times[0]);
        through.push(times[1] - times[0].midpoint(times[2]));
    }
    println!("library                        {:6.0} ns (median of {ROUNDS} rounds)", median(&mut bare));
    println!("library again, over the first  {:6.0} ns", median(&mut again));
    println!("dyno, over both                {:6.0} ns", median(&mut through));
    Ok(())
}

/// Nanoseconds for each statement with the library alone, which keeps the statement prepared.
fn in_a_loop(library: &rusqlite::Connection) -> rusqlite::Result<f64> {
    let mut statement = library.prepare("SELECT balance FROM account WHERE id = ?1")?;
    let (started, mut done, mut id) = (Instant::now(), 0_u64, 1);
    while started.elapsed() < ROUND {
        // The clock is read as often as the engine reads it.
        id = next_id(id);
        let mut rows = statement.query([id])?;
        while rows.next()?.is_some() {}
        done += 1;
    }
    Ok(started.elapsed().as_nanos() as f64 / done as f64)
}

/// The same through driver and engine, with one client.
fn by_the_engine(engine: &mut Engine) -> Result<f64, Box<dyn Error>> {
    let order = StageOrder::closed(1, End::Duration(ROUND));
    let mut done = 0;
    let outcome = engine.run_stage(&order, &AtomicBool::new(false), &mut |observation| {
        if let Observation::Interval(interval) = observation {
            done += interval.types.iter().map(|part| part.done).sum::<u64>();
        }
    })?;
    Ok(outcome.seconds * 1e9 / done as f64)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
