//! What one reading of the host costs while a server has many sessions: `sampling_cost [SESSIONS]`.

use dyno_target::Connection;
use dyno_target::embedded::{EmbeddedServer, Options};
use dyno_target::host::Sampler;
use rustix::time::{ClockId, clock_gettime};

const READINGS: u32 = 50;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sessions: u32 = std::env::args().nth(1).map_or(Ok(600), |text| text.parse())?;
    let options = Options { connections_max: sessions, ..Options::default() };
    let server = EmbeddedServer::start(&options, &mut |text| eprintln!("{text}"))?;
    let endpoint = server.endpoint();
    let mut open = Vec::new();
    for _ in 0..sessions {
        open.push(Connection::open(&endpoint)?);
    }
    let mut sampler = Sampler::new(Some(server.pid()), Some(server.data_directory()));
    let mut times_ms: Vec<f64> = (0..READINGS)
        .map(|_| {
            let before_ms = thread_cpu_ms();
            sampler.sample();
            thread_cpu_ms() - before_ms
        })
        .collect();
    times_ms.sort_by(f64::total_cmp);
    println!(
        "{sessions} sessions: median {:.2} ms of CPU, worst {:.2} ms, of {READINGS} readings",
        times_ms[times_ms.len() / 2],
        times_ms[times_ms.len() - 1]
    );
    println!("{:#?}", sampler.sample());
    println!("{:#?}", dyno_target::host::facts(Some(server.data_directory())));
    drop(open);
    server.stop()?;
    Ok(())
}

/// CPU time of this thread: the machine's other work does not count.
fn thread_cpu_ms() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}
