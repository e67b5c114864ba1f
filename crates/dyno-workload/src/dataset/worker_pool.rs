//! A worker pool: runs the jobs of a step on several connections at once, and tells the caller's thread how it goes.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use dyno_target::connection::{ConnectError, Connection, QueryError};

/// How often the caller hears that the work goes on, where nothing else is to be told.
const TELL_EVERY: Duration = Duration::from_secs(5);

/// Tries of a change of the schema while others change it, and the pause between them.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(200);

/// Opens a further connection.
pub type OpenConnection<'a> = &'a (dyn Fn() -> Result<Connection, ConnectError> + Sync);

/// Why a job did not come to its end.
#[derive(Debug)]
pub(crate) enum JobError {
    Stopped,
    /// There is none to do it.
    Thread(io::Error),
    Query(QueryError),
    /// The server took fewer rows than it was sent.
    RowsMissing {
        table: String,
        sent: u64,
        taken: u64,
        why: Option<String>,
    },
    /// It took rows otherwise than they were sent.
    RowsChanged {
        table: String,
        why: String,
    },
}

impl From<QueryError> for JobError {
    fn from(source: QueryError) -> Self {
        Self::Query(source)
    }
}

/// What a job tells.
#[derive(Debug)]
pub(crate) enum News {
    /// Work begins on the table of this number.
    Table(u32),
    /// So many rows were sent.
    Rows(u64),
    /// A statement has ended that went through so many rows.
    Statement(u64),
    /// Nothing was heard for a while.
    Waiting,
    /// What the step made has so many bytes.
    Bytes(u64),
    /// Something is done in another way than was meant, and why.
    Fallback(String),
    /// The server has refused something that can be left out.
    Refused(String),
}

/// What a job may use beside its connection.
#[derive(Debug)]
pub(crate) struct JobContext<'a> {
    news: Sender<News>,
    stop: Option<&'a AtomicBool>,
    /// Another job has failed.
    failed: &'a AtomicBool,
}

impl JobContext<'_> {
    /// An error if the work is to end.
    pub(crate) fn go_on(&self) -> Result<(), JobError> {
        let stopped = self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        if stopped || self.failed.load(Ordering::Relaxed) { Err(JobError::Stopped) } else { Ok(()) }
    }

    pub(crate) fn tell(&self, news: News) {
        // Nobody listens any more once the step is given up.
        let _ = self.news.send(news);
    }

    /// Runs a statement, unless the work is to end. One that the server has not begun, because another session was changing
    /// the schema, is sent again a few times.
    pub(crate) fn execute(&self, connection: &mut Connection, sql: &str) -> Result<u64, JobError> {
        for _ in 1..TRIES {
            self.go_on()?;
            match connection.execute(sql) {
                Err(QueryError::Server { error, .. }) if error.is_schema_busy() => thread::sleep(PAUSE),
                done => return Ok(done?),
            }
        }
        self.go_on()?;
        Ok(connection.execute(sql)?)
    }
}

/// Workers, each with a connection, that share the jobs.
#[derive(Debug)]
pub(crate) struct WorkerPool<'a> {
    first: &'a mut Connection,
    further: Vec<Connection>,
    stop: Option<&'a AtomicBool>,
}

impl<'a> WorkerPool<'a> {
    /// `first`, and so many more that there are `count`.
    pub(crate) fn new(
        first: &'a mut Connection,
        open: OpenConnection<'_>,
        count: usize,
        stop: Option<&'a AtomicBool>,
    ) -> Result<Self, ConnectError> {
        let further = (1..count).map(|_| open()).collect::<Result<_, _>>()?;
        Ok(Self { first, further, stop })
    }

    pub(crate) fn connections(&mut self) -> impl Iterator<Item = &mut Connection> {
        std::iter::once(&mut *self.first).chain(&mut self.further)
    }

    /// Deals `jobs` out in their order until all are done or one has failed; returns the first failure.
    pub(crate) fn run<J: Sync>(
        &mut self,
        jobs: &[J],
        job: impl Fn(&mut Connection, &J, &JobContext<'_>) -> Result<(), JobError> + Sync,
        hear: &mut dyn FnMut(News),
    ) -> Result<(), JobError> {
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (news, heard) = channel();
        let stop = self.stop;
        thread::scope(|scope| {
            let workers: io::Result<Vec<_>> = self
                .connections()
                .take(jobs.len())
                .map(|connection| {
                    let context = JobContext { news: news.clone(), stop, failed: &failed };
                    let (next, job) = (&next, &job);
                    let begun = move || work(connection, jobs, next, job, &context);
                    thread::Builder::new().spawn_scoped(scope, begun)
                })
                .collect();
            drop(news);
            // Those that have begun end soon: they are waited for at the end of the scope.
            let workers =
                workers.inspect_err(|_| failed.store(true, Ordering::Relaxed)).map_err(JobError::Thread)?;
            loop {
                match heard.recv_timeout(TELL_EVERY) {
                    Ok(news) => hear(news),
                    Err(RecvTimeoutError::Timeout) => hear(News::Waiting),
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            let mut outcome = Ok(());
            for worker in workers {
                let ended = worker.join().unwrap_or(Err(JobError::Stopped));
                // One that stopped because another failed has nothing to say.
                if ended.is_err() && matches!(outcome, Ok(()) | Err(JobError::Stopped)) {
                    outcome = ended;
                }
            }
            outcome
        })
    }
}

fn work<J>(
    connection: &mut Connection,
    jobs: &[J],
    next: &AtomicUsize,
    job: &(impl Fn(&mut Connection, &J, &JobContext<'_>) -> Result<(), JobError> + Sync),
    context: &JobContext<'_>,
) -> Result<(), JobError> {
    while let Some(chosen) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
        let outcome = context.go_on().and_then(|()| job(connection, chosen, context));
        if outcome.is_err() {
            context.failed.store(true, Ordering::Relaxed);
            return outcome;
        }
    }
    Ok(())
}
