//! One stage after the other on one engine: each told to the stream from its start to its end.

use std::sync::atomic::{AtomicBool, Ordering};

use dyno_results::event::{
    Arrival, EarlierTime, Event, QueriesRunning, QueryFailure, RunningQuery, Stage, StageFinished,
    TypeInterval,
};
use dyno_results::observation::FailedQuery;
use dyno_results::spec::{Arrivals, End, StageOrder};
use dyno_results::statistics::saturation::LoadStep;
use dyno_workload::benchmark::Done;
use serde_json::Value;

use super::Context;
use super::barrier::Participant;
use super::queried::Queried;
use crate::failure::Failure;
use crate::generator::{Connected, Effect, Generator, LoadError, Observation};

/// The stages of one target.
#[derive(Debug, Default)]
pub(super) struct Stages {
    /// The last one that began, by its number in the run.
    last: Option<u32>,
    /// Connections were lost in the last stage that ran: the server may be gone.
    lost: Option<Lost>,
    /// The reader was told that load threads had no real-time priority.
    told_priority: bool,
    /// And that they use epoll although io_uring was asked for.
    told_poller: bool,
}

/// A stage whose clients lost connections.
#[derive(Debug)]
struct Lost {
    /// `read hold, 8 clients`.
    during: String,
    /// By the server, or of the last connection.
    said: String,
}

/// Whose stages these are.
pub(crate) struct StageSubject<'a> {
    /// What no order changes.
    pub(crate) stage: Stage,
    pub(crate) url: &'a str,
    /// Transactions of a pass, where the workload makes such.
    pub(crate) pass: Option<u64>,
}

/// What the stages of a stream bring.
#[derive(Debug, Default)]
pub(super) struct StreamResults {
    pub(super) sums: Vec<StageSum>,
    pub(super) queried: Queried,
    /// Of each generator, for the verification.
    pub(super) acknowledged: Vec<Value>,
}

/// What a stage brought.
#[derive(Debug, Clone, Copy)]
pub(super) struct StageSum {
    pub(super) id: u32,
    pub(super) order: StageOrder,
    /// As the report has it; `None` where nothing was measured, or the stage did not run to its end.
    pub(super) step: Option<LoadStep>,
    /// What the clients were told, in the drain too.
    pub(super) told: Done,
    /// False where the engine broke off: more may have been done than was counted.
    pub(super) counted: bool,
}

impl Stages {
    /// The last stage that began.
    pub(super) fn last(&self) -> Option<u32> {
        self.last
    }

    /// Takes over what the streams of a turn have come to.
    pub(super) fn take_over<'s>(&mut self, streams: impl Iterator<Item = &'s mut Self>) {
        self.lost = None;
        for stream in streams {
            self.last = self.last.max(stream.last);
            self.lost = stream.lost.take().or(self.lost.take());
        }
    }

    /// Runs a stage, from when its clients are connected and all who take part are ready. What it brings is put into `results` even
    /// where it ends early, which is then the error.
    pub(super) fn run(
        &mut self,
        context: &Context<'_>,
        generator: &dyn Generator,
        subject: &StageSubject<'_>,
        mut order: StageOrder,
        results: &mut StreamResults,
        participant: &Participant<'_>,
    ) -> Result<(), Failure> {
        let (end, told) = (participant.cancelled(), &subject.stage);
        let connected = connect(context, generator, subject, order.clients_max(), end)?;
        if !participant.wait() {
            return Err(ended_early(context));
        }
        let id =
            context.stream.begin_stage(announced(subject.stage.clone(), subject.pass, &order, &connected));
        self.last = Some(id);
        self.tell_poller(context, &told.key.system, &connected);
        order.stage = id;
        let StreamResults { sums, queried, .. } = results;
        let mut observer = Observer::new(context, subject, id, queried);
        generator.start(told.key.stream, &order, participant.signals(), &mut |observation| {
            observer.see(observation);
        });
        let (outcome, broken) = observer.end();
        context.stream.emit(Event::StageFinished(outcome.clone()));
        self.tell_priority(context, &told.key.system, order.arrivals, outcome.realtime);
        self.lost = observer.lost.take().map(|said| {
            let (kind, clients) = (order.kind.name(), order.clients);
            let plural = if clients == 1 { "" } else { "s" };
            Lost { during: format!("{} {kind}, {clients} client{plural}", told.series), said }
        });
        // The last reading of a stage comes after its end.
        for sum in sums.iter_mut().rev().take(2) {
            sum.step = context.stream.step(sum.id);
        }
        sums.push(StageSum {
            id,
            order,
            step: context.stream.step(id),
            told: observer.told,
            counted: broken.is_none(),
        });
        let workload = match told.workload.rsplit('/').next() {
            Some(name) if name.split(':').next() == Some(told.series.as_str()) => told.workload.clone(),
            _ => format!("{} of {}", told.series, told.workload),
        };
        let url = subject.url.to_owned();
        if let Some(error) = broken {
            let clients = order.clients;
            return Err(Failure::wrong(format!(
                "{workload} with {clients} clients on {url} failed: {error}"
            )));
        }
        if outcome.complete {
            return Ok(());
        }
        if end.load(Ordering::Relaxed) {
            return Err(ended_early(context));
        }
        Err(Failure::StageCut {
            workload,
            clients: order.clients,
            url,
            why: observer.last_error.unwrap_or_else(|| "its clients gave up".to_owned()),
            advice: observer.advice,
        })
    }

    /// Says of a failure after the server was lost under load what it comes from: by itself, it reads as if the
    /// server had never been there.
    pub(super) fn explain(&mut self, failure: Failure) -> Failure {
        let url = match &failure {
            Failure::Connect { url, .. } | Failure::StageCut { url, .. } => url.clone(),
            Failure::Generator { url, source } if source.is_connecting => url.clone(),
            _ => return failure,
        };
        // Idle connections are lost without a word of it in any stage.
        let idle = || match &failure {
            Failure::Generator { source, .. } => {
                Some(Lost { during: "a pause between stages".to_owned(), said: source.nobody.clone()? })
            }
            _ => None,
        };
        match self.lost.take().or_else(|| self.last.and_then(|_| idle())) {
            Some(Lost { during, said }) => Failure::advised(
                format!("the server {url} went away during {during}: {said}"),
                "check the server's log",
            ),
            None => failure,
        }
    }

    /// Says once that io_uring was asked for and refused.
    fn tell_poller(&mut self, context: &Context<'_>, target: &str, connected: &Connected) {
        let why = connected.no_uring.as_deref();
        if let Some(why) = why.filter(|_| !std::mem::replace(&mut self.told_poller, true)) {
            context.stream.notice(target, None, no_uring(why));
        }
    }

    /// Says once that the real-time priority that was asked for was not granted.
    fn tell_priority(
        &mut self,
        context: &Context<'_>,
        target: &str,
        arrivals: Arrivals,
        realtime: Option<bool>,
    ) {
        let asked = context.plan.spec.realtime && matches!(arrivals, Arrivals::Open { .. });
        if asked && realtime == Some(false) && !std::mem::replace(&mut self.told_priority, true) {
            let text = "--realtime was refused (it needs root, CAP_SYS_NICE or RLIMIT_RTPRIO): schedule lag \
                        and response time include the load threads' wait for a processor";
            context.stream.notice(target, None, text.to_owned());
        }
    }
}

/// Connects the clients of a stage before it is announced, since its clock runs from its first transaction.
fn connect(
    context: &Context<'_>,
    generator: &dyn Generator,
    subject: &StageSubject<'_>,
    clients: u32,
    end: &AtomicBool,
) -> Result<Connected, Failure> {
    generator.connect(subject.stage.key.stream, clients, end).map_err(|source| {
        if end.load(Ordering::Relaxed) {
            return ended_early(context);
        }
        Failure::Generator { url: subject.url.to_owned(), source: Box::new(source) }
    })
}

/// Why a stage has ended that was told to.
fn ended_early(context: &Context<'_>) -> Failure {
    if context.is_stopped() { Failure::Interrupted } else { Failure::Cancelled }
}

/// Tells the stream what the generator observes, and adds up what the campaign itself needs.
struct Observer<'a> {
    context: &'a Context<'a>,
    subject: &'a StageSubject<'a>,
    stage: u32,
    queried: &'a mut Queried,
    /// What its queries took in an earlier run, once that is asked.
    earlier: Option<Vec<(String, EarlierTime)>>,
    told: Done,
    /// How the stage has ended, and why its generator could not go on, where that is so.
    ended: Option<(StageFinished, Option<String>)>,
    last_error: Option<String>,
    /// What helps against what a server said.
    advice: Option<String>,
    /// What was said when a connection was lost.
    lost: Option<String>,
}

impl<'a> Observer<'a> {
    fn new(
        context: &'a Context<'a>,
        subject: &'a StageSubject<'a>,
        stage: u32,
        queried: &'a mut Queried,
    ) -> Self {
        Self {
            context,
            subject,
            stage,
            queried,
            earlier: None,
            told: Done::default(),
            ended: None,
            last_error: None,
            advice: None,
            lost: None,
        }
    }

    /// How the stage has ended. A generator that says nothing of it is gone.
    fn end(&mut self) -> (StageFinished, Option<String>) {
        self.ended.take().unwrap_or_else(|| {
            let finished = StageFinished { stage: self.stage, ..StageFinished::default() };
            (finished, Some("its generator is gone".to_owned()))
        })
    }

    fn see(&mut self, observation: Observation) {
        match observation {
            Observation::Interval(interval) => {
                interval.types.iter().for_each(|part| self.told.add(&of_type(part)));
                self.context.stream.emit(Event::Interval(interval));
            }
            Observation::Error(error) => self.see_error(error),
            Observation::End { finished, broken } => self.ended = Some((finished, broken)),
            Observation::Failure(failure) => self.see_failure(failure),
            Observation::Answer(answer) => self.queried.answered(answer),
            Observation::Running(queries) if self.subject.pass.is_some() => self.see_running(queries),
            Observation::Running(_) | Observation::Acknowledged(_) | Observation::ThreadFinished { .. } => {}
        }
    }

    fn see_failure(&mut self, failure: FailedQuery) {
        if self.queried.failed_first(&failure) {
            let (target, series) = (self.subject.stage.key.system.clone(), self.subject.stage.series.clone());
            let FailedQuery { query, said, over_limit } = failure;
            let failure = QueryFailure { target, series, query, said, over_limit };
            self.context.stream.emit(Event::QueryFailure(failure));
        }
    }

    fn see_running(&mut self, mut queries: Vec<RunningQuery>) {
        let stream = self.context.stream;
        let known = self.earlier.get_or_insert_with(|| stream.earlier_times(self.stage));
        for query in &mut queries {
            let of_query = known.iter().find(|(name, _)| *name == query.query);
            query.earlier = of_query.map(|(_, time)| time.clone());
        }
        stream.emit(Event::QueriesRunning(QueriesRunning { stage: self.stage, queries }));
    }

    fn see_error(&mut self, LoadError { said, advice, effect }: LoadError) {
        // Each query is told that failed.
        if !(self.subject.pass.is_some() && effect == Effect::Statement) {
            let told = advice.as_ref().map_or_else(|| said.clone(), |helps| format!("{said}; {helps}"));
            self.context.stream.notice(&self.subject.stage.key.system, Some(self.stage), told);
        }
        // What a server says that shuts down goes before how its connections fail then.
        match effect {
            Effect::SessionEnded => self.lost = Some(said.clone()),
            Effect::ConnectionLost => {
                self.lost.get_or_insert_with(|| said.clone());
            }
            Effect::Statement | Effect::Other => {}
        }
        self.advice = advice.or(self.advice.take());
        self.last_error = Some(said);
    }
}

fn of_type(part: &TypeInterval) -> Done {
    Done {
        acknowledged: part.done,
        rolled_back: part.rolled_back,
        unknown: part.unknown,
        // What was cancelled may have been done in part, as what failed.
        failed: part.failed + part.cancelled,
        retries: part.retries,
        writes: part.queries.map_or(0, |queries| queries.writes),
    }
}

/// Why the load threads use epoll although io_uring was asked for.
pub(crate) fn no_uring(why: &str) -> String {
    format!("io_uring cannot be used, and the load threads use epoll: {why}")
}

/// The stage as it is announced, with what an order says of it; its number is given when that is done.
pub(crate) fn announced(stage: Stage, pass: Option<u64>, order: &StageOrder, connected: &Connected) -> Stage {
    let (planned_s, of_clients) = match order.end {
        End::Duration(duration) => (Some(duration.as_secs_f64()), None),
        End::TransactionsPerClient(count) => (None, Some(count.saturating_mul(u64::from(order.clients)))),
        End::WithOthers => (None, None),
    };
    // The most that can be counted stands for no end.
    let planned_transactions = order.transactions_max.or(of_clients.filter(|count| *count != u64::MAX));
    let (arrival, rate_end_per_s) = match order.arrivals {
        Arrivals::Closed { think_time } => {
            (Arrival::Closed { think_time_ms: think_time.as_secs_f64() * 1e3 }, None)
        }
        Arrivals::Open { rate_per_s, rate_end_per_s, distribution } => (
            Arrival::Open { rate_per_s, distribution },
            (rate_end_per_s.to_bits() != rate_per_s.to_bits()).then_some(rate_end_per_s),
        ),
    };
    Stage {
        kind: order.kind,
        clients: order.clients,
        clients_end: (order.clients_end != order.clients).then_some(order.clients_end),
        threads: connected.threads,
        poller: connected.poller.map(|poller| poller.name().to_owned()),
        arrival,
        rate_end_per_s,
        planned_s,
        planned_transactions,
        pass: pass.is_some_and(|pass| order.end == End::TransactionsPerClient(pass)),
        generators: connected.generators,
        ..stage
    }
}
