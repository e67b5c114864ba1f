//! dyno's engine on the replying server: `engine-load PORT CLIENTS SECONDS THREADS` connects, runs a closed loop of one
//! prepared `SELECT` for each client, and prints one line of JSON on what it reached and what it took.
//!
//! The command line of dyno asks its target a good deal that a replying server cannot answer; the engine under it does
//! not.

use dyno_results::spec::{End, StageOrder};
use std::error::Error;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use dyno_engine::config::EngineConfig;
use dyno_engine::engine::{Engine, Observation};
use dyno_engine::request::{Request, Statement};
use dyno_engine::workload::{Answer, Client, ClientIdentity, StatementId, Step, TransactionType, Workload};
use dyno_results::latency::Latency;
use dyno_wire::endpoint::{Address, ChannelBinding, Endpoint, Login, Tls, Wire};

fn main() -> Result<(), Box<dyn Error>> {
    let port: u16 = argument(1, "PORT")?;
    let clients: u32 = argument(2, "CLIENTS")?;
    let seconds: f64 = argument(3, "SECONDS")?;
    let threads: u32 = argument(4, "THREADS")?;

    let workload: Arc<dyn Workload> = Arc::new(OneSelect::new());
    let mut engine = Engine::start(&endpoint(port), &workload, EngineConfig::new(threads))?;
    let stop = AtomicBool::new(false);
    let started = Instant::now();
    engine.connect(clients, &stop, &mut |_| {})?;
    let connect_s = started.elapsed().as_secs_f64();

    let plan = StageOrder::closed(clients, End::Duration(Duration::from_secs_f64(seconds)));
    let (mut done, mut cpu_ns, mut service) = (0, 0, Latency::new());
    let mut error = None;
    let outcome = engine.run_stage(&plan, &stop, &mut |observation| match observation {
        Observation::Interval(interval) if !interval.drain => {
            cpu_ns += interval.driver_cpu_ns.iter().sum::<u64>();
            for kind in &interval.types {
                done += kind.done;
                service.merge(&kind.service);
            }
        }
        Observation::Error(seen) => error = Some(seen),
        _ => {}
    })?;
    if let Some(error) = error {
        return Err(error.into());
    }
    println!(
        "{{\"tps\": {:.1}, \"cpu_us\": {:.4}, \"connect_s\": {connect_s:.3}, \"memory_bytes\": {}, \"p50_us\": {}}}",
        done as f64 / outcome.seconds,
        cpu_ns as f64 / 1e3 / done as f64,
        memory_bytes()?,
        service.percentile_ns(50.0).unwrap_or(0) / 1000,
    );
    Ok(())
}

fn argument<T: FromStr>(index: usize, name: &str) -> Result<T, String> {
    let text = std::env::args().nth(index).ok_or("usage: engine-load PORT CLIENTS SECONDS THREADS")?;
    text.parse().map_err(|_| format!("{name} is not a number: {text}"))
}

fn endpoint(port: u16) -> Endpoint {
    let login = Login {
        user: "bench".into(),
        password: None,
        database: "bench".into(),
        parameters: Vec::new(),
        tls: Tls::Disable,
        channel_binding: ChannelBinding::Disable,
    };
    Endpoint {
        address: Address::Tcp(([127, 0, 0, 1], port).into()),
        login: Arc::new(login),
        wire: Wire::Postgres,
        connect_timeout: None,
    }
}

/// Resident memory of this process now, counted page by page: the figures of `status` may be off by half a megabyte.
fn memory_bytes() -> Result<u64, Box<dyn Error>> {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup")?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:")).ok_or("no Rss in smaps_rollup")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}

/// `SELECT` of one row by key, the same for every client.
struct OneSelect {
    types: Vec<String>,
    statements: Vec<Statement>,
}

impl OneSelect {
    fn new() -> Self {
        let statement = Statement::new("SELECT abalance FROM pgbench_accounts WHERE aid = $1");
        Self { types: vec!["select".to_owned()], statements: vec![statement] }
    }
}

impl Workload for OneSelect {
    fn types(&self) -> &[String] {
        &self.types
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn client(&self, identity: ClientIdentity, _seed: u64) -> Box<dyn Client> {
        Box::new(Reader { key: i64::from(identity.id) + 1, sent: false })
    }
}

struct Reader {
    key: i64,
    sent: bool,
}

impl Client for Reader {
    fn begin(&mut self) -> TransactionType {
        self.sent = false;
        TransactionType(0)
    }

    fn begin_again(&mut self) {
        self.sent = false;
    }

    fn next(&mut self, _answer: Option<&Answer>, request: &mut Request<'_>) -> Step {
        if std::mem::replace(&mut self.sent, true) {
            return Step::Done;
        }
        request.execute(StatementId(0), &[self.key]);
        Step::Send
    }
}
