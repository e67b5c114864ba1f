//! What one reading costs while a server has many sessions: dyno's CPU for host and database, and the server's for the
//! database. `sampling_cost [SESSIONS] [URL]`; without a URL, on an embedded PostgreSQL.

use std::error::Error;
use std::time::Duration;

use dyno_engine::driver::Route;
use dyno_target::embedded::{EmbeddedOptions, EmbeddedServer};
use dyno_target::host::Sampler;
use dyno_target::inspect::{self, ServerProcess, Statistics};
use dyno_target::{Connection, Environment, Target};
use rustix::time::{ClockId, clock_gettime};

const READINGS: u32 = 50;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let sessions: u32 = words.next().map_or(Ok(600), |text| text.parse())?;
    let Some(url) = words.next() else {
        let options = EmbeddedOptions { connections_max: sessions + 5, ..EmbeddedOptions::default() };
        let server = EmbeddedServer::start(&options, &mut |text| eprintln!("{text}"))?;
        measure(&Route::Wire(server.endpoint()), sessions)?;
        server.stop()?;
        return Ok(());
    };
    measure(&Target::parse(&url, &Environment::of_process())?.route()?, sessions)
}

fn measure(route: &Route, sessions: u32) -> Result<(), Box<dyn Error>> {
    let mut open = (0..sessions).map(|_| Connection::open(route)).collect::<Result<Vec<_>, _>>()?;
    let mut probe = Connection::open(route)?;
    let tables = make_table(&mut probe)?;
    let server = inspect::server_process(&mut probe)?;
    if let Some(ServerProcess { pid, data_directory }) = &server {
        let mut sampler = Sampler::new(*pid, data_directory.as_deref());
        sampler.sample();
        let cost = costs(thread_cpu_ms, || work(&mut open), || Ok(sampler.sample().len()))?;
        println!("{sessions} sessions, host: dyno {cost}");
        println!("{:#?}", sampler.sample());
    }
    let mut statistics = Statistics::prepare(&mut probe, &tables)?;
    statistics.missing().iter().for_each(|missing| println!("{missing}"));
    println!("{:#?}", statistics.read(&mut probe)?);
    println!(
        "{sessions} sessions, database: dyno {}",
        costs(thread_cpu_ms, || Ok(()), || Ok(statistics.read(&mut probe)?.len()))?
    );
    if let Some(file) = server.and_then(|server| schedstat(&mut probe, server.pid?)) {
        // A server's thread is done a little after its answer has arrived.
        let server_ms = || {
            std::thread::sleep(Duration::from_millis(2));
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).map_or(f64::NAN, |ns| ns / 1e6)
        };
        let cost = costs(server_ms, || Ok(()), || Ok(statistics.read(&mut probe)?.len()))?;
        println!("{sessions} sessions, database: server {cost}");
    }
    Ok(())
}

/// Sessions that do nothing cost less than those that do something.
fn work(sessions: &mut [Connection]) -> Result<(), Box<dyn Error>> {
    sessions.iter_mut().try_for_each(|session| session.execute("SELECT 1").map(drop).map_err(Into::into))
}

fn make_table(session: &mut Connection) -> Result<Vec<String>, Box<dyn Error>> {
    const NAME: &str = "sampling_cost";
    session.execute(&format!("DROP TABLE IF EXISTS {NAME}"))?;
    session.execute(&format!("CREATE TABLE {NAME} (id INT PRIMARY KEY)"))?;
    Ok(vec![NAME.to_owned()])
}

/// Where the kernel says for how long the server's process or thread for this session has run.
fn schedstat(session: &mut Connection, server: u32) -> Option<String> {
    if !session.is_mysql() {
        let pid: u32 = session.query_value("SELECT pg_backend_pid()").ok()??;
        return Some(format!("/proc/{pid}/schedstat"));
    }
    let by_schema =
        "SELECT thread_os_id FROM performance_schema.threads WHERE processlist_id = connection_id()";
    let by_list = "SELECT tid FROM information_schema.processlist WHERE id = connection_id()";
    let thread = [by_schema, by_list].iter().find_map(|sql| session.query_value::<u32>(sql).ok()?)?;
    Some(format!("/proc/{server}/task/{thread}/schedstat"))
}

/// Milliseconds by `clock` that `work` takes, each time after `before`.
fn costs(
    clock: impl Fn() -> f64,
    mut before: impl FnMut() -> Result<(), Box<dyn Error>>,
    mut work: impl FnMut() -> Result<usize, Box<dyn Error>>,
) -> Result<String, Box<dyn Error>> {
    let (mut times_ms, mut values) = (Vec::new(), 0);
    for _ in 0..READINGS {
        before()?;
        let before_ms = clock();
        values = values.max(work()?);
        times_ms.push(clock() - before_ms);
    }
    times_ms.sort_by(f64::total_cmp);
    let (median, worst) = (times_ms[times_ms.len() / 2], times_ms[times_ms.len() - 1]);
    Ok(format!("median {median:.2} ms of CPU, worst {worst:.2} ms, up to {values} values"))
}

/// CPU time of this thread: the machine's other work does not count.
fn thread_cpu_ms() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}
