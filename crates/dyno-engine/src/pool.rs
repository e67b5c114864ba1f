//! Many clients over few connections: a client thinks without a connection, asks for one, is lent one for a
//! transaction and gives it back.
//!
//! The connections are the thread's sessions; a session runs whichever client it is lent to, so nothing else of the
//! engine knows of the pool but where a transaction begins and ends. Each load thread has a pool of its own, over its
//! share of the clients and of the connections. Who has waited longest is served first.

use dyno_results::spec::Arrivals;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::clock::{nanoseconds, now_ns};
use crate::record::Record;
use crate::request::Request;
use crate::session::{Session, SessionState};
use crate::staging::takes_one;
use crate::thread::LoadThread;
use crate::workload::{Answer, Client, ClientIdentity, Step, TransactionType};

/// How far the first thoughts of neighbouring clients lie apart, as a part of the think time: the golden ratio spreads
/// any number of clients evenly, so that they do not all ask in the same moment.
const SPREAD: f64 = 0.618_033_988_749_894_8;
/// How long clients are woken before sockets get their turn.
const WAKING_TURN_NS: u64 = 1_000_000;

/// A client without a connection of its own.
struct Member {
    /// `None` while a session has it.
    client: Option<Box<dyn Client>>,
    /// When it wanted its connection: the end of its think time.
    wants_ns: u64,
    /// When the thread noticed.
    asked_ns: u64,
    /// Transactions ended in this stage.
    ended: u64,
    failures_in_a_row: u32,
    /// Takes part in the stage.
    active: bool,
}

/// A thread's clients, and who of them has a connection.
#[derive(Default)]
pub(crate) struct ConnectionPool {
    members: Vec<Member>,
    /// Members whose think time is over at a time.
    thinking: BinaryHeap<Reverse<(u64, u32)>>,
    /// Members that wait for a connection, the longest waiting first. While there are any, no connection is free.
    waiting: VecDeque<u32>,
    /// Sessions with nothing to do; the one used last is lent first, as pools do that let idle ones go.
    free: Vec<u32>,
    /// Sessions that are lent.
    lent: u32,
    /// Connections are being lent.
    lends: bool,
    /// Until when usage is recorded.
    recorded_ns: u64,
}

impl std::fmt::Debug for ConnectionPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (clients, waiting, lent) = (self.members.len(), self.waiting.len(), self.lent);
        write!(f, "ConnectionPool {{ clients: {clients}, waiting: {waiting}, lent: {lent} }}")
    }
}

/// Stands in a session that is lent to nobody.
pub(crate) struct Nobody;

impl Client for Nobody {
    fn begin(&mut self) -> TransactionType {
        TransactionType(0)
    }

    fn begin_again(&mut self) {}

    fn next(&mut self, _: Option<&Answer>, _: &mut Request<'_>) -> Step {
        Step::Done
    }
}

impl ConnectionPool {
    /// Notes how the connections were used until now. Called before anything of it changes.
    fn record(&mut self, record: &mut Record, now: u64) {
        let ns = now.saturating_sub(self.recorded_ns);
        self.recorded_ns = self.recorded_ns.max(now);
        let waiting = self.waiting.len() as u32;
        record.pool.add(self.lent, waiting, ns);
    }

    /// Takes a session's client home; which it was.
    fn take_back(&mut self, session: &mut Session) -> Option<u32> {
        let id = session.borrower.take()?;
        let member = &mut self.members[id as usize];
        member.client = Some(std::mem::replace(&mut session.client, Box::new(Nobody)));
        (member.ended, member.failures_in_a_row) = (session.ended, session.failures_in_a_row);
        self.lent -= 1;
        Some(id)
    }

    /// Hands a session to a member, for a transaction.
    fn hand_out(&mut self, session: &mut Session, id: u32, now: u64) {
        let member = &mut self.members[id as usize];
        let Some(client) = member.client.take() else { return };
        session.client = client;
        session.borrower = Some(id);
        session.waited_ns = now.saturating_sub(member.asked_ns);
        (session.ended, session.failures_in_a_row) = (member.ended, member.failures_in_a_row);
        self.lent += 1;
    }

    /// When the next client has thought enough.
    pub(crate) fn next_time_ns(&self) -> Option<u64> {
        self.thinking.peek().map(|Reverse((at, _))| *at)
    }
}

impl LoadThread {
    /// Makes this thread's share of `clients` clients.
    pub(crate) fn make_members(&mut self, clients: u32) {
        let share = self.share_of(clients);
        let known = self.pool.as_ref().map_or(0, |pool| pool.members.len() as u32);
        for index in known..share {
            let identity = ClientIdentity { id: self.client_id(index), thread: self.number };
            let client = self.workload.client(identity, self.config.seed);
            let Some(pool) = &mut self.pool else { return };
            pool.members.push(Member {
                client: Some(client),
                wants_ns: 0,
                asked_ns: 0,
                ended: 0,
                failures_in_a_row: 0,
                active: false,
            });
        }
        if let Some(pool) = &mut self.pool {
            // Nothing is to grow while the load runs.
            let count = pool.members.len();
            pool.thinking.reserve(count);
            pool.waiting.reserve(count);
            pool.free.reserve(self.sessions.len());
        }
    }

    /// The load begins: all connections that are there are free, and nobody has asked yet.
    pub(crate) fn open_pool(&mut self) {
        let start_ns = self.recorder.current.start_ns;
        let Some(pool) = &mut self.pool else { return };
        pool.thinking.clear();
        pool.waiting.clear();
        pool.free.clear();
        (pool.lent, pool.recorded_ns) = (0, start_ns);
        for member in &mut pool.members {
            (member.ended, member.failures_in_a_row, member.active) = (0, 0, false);
        }
        for (session, index) in self.sessions.iter_mut().zip(0..) {
            session.active = true;
            if matches!(session.state, SessionState::Idle) {
                pool.free.push(index);
            }
        }
    }

    /// The stage is over: every client is at home.
    pub(crate) fn close_pool(&mut self) {
        let Some(pool) = &mut self.pool else { return };
        for session in &mut self.sessions {
            pool.take_back(session);
        }
        pool.thinking.clear();
        pool.waiting.clear();
    }

    /// Makes the members `before..share` active, or those beyond `share` inactive.
    pub(crate) fn activate_members(&mut self, before: u32, share: u32) {
        let now = now_ns();
        let Some((pool, stage)) = self.pool.as_mut().zip(self.stage.as_mut()) else { return };
        pool.record(&mut self.recorder.current, now);
        for member in pool.members.iter_mut().take(before as usize).skip(share as usize) {
            stage.unfinished -= u32::from(member.active);
            member.active = false;
        }
        let members = &pool.members;
        pool.waiting.retain(|id| members[*id as usize].active || *id >= before);
        for index in before..share {
            let first = self.first_thought_ns(index);
            let Some((pool, stage)) = self.pool.as_mut().zip(self.stage.as_mut()) else { return };
            pool.members[index as usize].active = true;
            stage.unfinished += 1;
            match first {
                Some(ns) => pool.thinking.push(Reverse((now + ns, index))),
                None => self.ask(index, now, now),
            }
        }
    }

    /// How long a client thinks at first: somewhere within its think time, where it has any.
    fn first_thought_ns(&self, index: u32) -> Option<u64> {
        let think_ns = self.think_ns()?;
        let place = (f64::from(self.client_id(index)) * SPREAD).fract();
        Some((think_ns as f64 * place) as u64)
    }

    /// The stage's think time; `None` for none.
    fn think_ns(&self) -> Option<u64> {
        match self.stage.as_ref()?.plan.arrivals {
            Arrivals::Closed { think_time } if !think_time.is_zero() => Some(nanoseconds(think_time)),
            _ => None,
        }
    }

    /// Wakes the clients that have thought enough.
    pub(crate) fn wake_members(&mut self, mut now: u64) {
        let turn_ends_ns = now + WAKING_TURN_NS;
        while self.load_goes_on() && now <= turn_ends_ns {
            let Some(pool) = &mut self.pool else { return };
            let Some(Reverse((at, id))) = pool.thinking.peek().copied() else { return };
            if at > now {
                now = now_ns();
            }
            if at > now {
                return;
            }
            pool.thinking.pop();
            if pool.members[id as usize].active {
                self.rotate_until(now);
                self.ask(id, at, now);
            }
        }
    }

    /// A client wants a connection, since `wants_ns`.
    fn ask(&mut self, id: u32, wants_ns: u64, now: u64) {
        let Some(pool) = &mut self.pool else { return };
        pool.record(&mut self.recorder.current, now);
        let member = &mut pool.members[id as usize];
        (member.wants_ns, member.asked_ns) = (wants_ns, now);
        pool.waiting.push_back(id);
        self.lend(now);
    }

    /// Lends free connections to those who wait. One that breaks as it is lent comes back here, where it is already seen
    /// to who is next: many that broke at once must not stand on each other.
    fn lend(&mut self, now: u64) {
        let Some(pool) = &mut self.pool else { return };
        if !std::mem::replace(&mut pool.lends, true) {
            self.lend_all(now);
            if let Some(pool) = &mut self.pool {
                pool.lends = false;
            }
        }
    }

    fn lend_all(&mut self, now: u64) {
        loop {
            let Some((pool, stage)) = self.pool.as_mut().zip(self.stage.as_mut()) else { return };
            if !stage.begins(now) || pool.free.is_empty() {
                return;
            }
            let Some(id) = pool.waiting.pop_front() else { return };
            if !takes_one(stage.left.as_deref()) {
                pool.members[id as usize].active = false;
                stage.unfinished -= 1;
                continue;
            }
            let Some(index) = pool.free.pop() else { return };
            pool.record(&mut self.recorder.current, now);
            pool.hand_out(&mut self.sessions[index as usize], id, now);
            let wants_ns = pool.members[id as usize].wants_ns;
            self.begin(index, wants_ns, now);
        }
    }

    /// A session has nothing under way: its client goes home, and who has waited longest has it next.
    pub(crate) fn next_borrower(&mut self, index: u32, now: u64) {
        self.sessions[index as usize].state = SessionState::Idle;
        self.send_home(index, now);
        let Some(pool) = self.pool.as_mut().filter(|_| self.stage.is_some()) else { return };
        pool.free.push(index);
        self.lend(now);
    }

    /// Takes a session's client home, where it thinks, or asks again at once.
    pub(crate) fn send_home(&mut self, index: u32, now: u64) {
        let think_ns = self.think_ns();
        let Some((pool, stage)) = self.pool.as_mut().zip(self.stage.as_mut()) else { return };
        pool.record(&mut self.recorder.current, now);
        let Some(id) = pool.take_back(&mut self.sessions[index as usize]) else { return };
        let member = &mut pool.members[id as usize];
        if !member.active || !stage.begins(now) {
            return;
        }
        if stage.quota.is_some_and(|quota| member.ended >= quota) {
            member.active = false;
            stage.unfinished -= 1;
            return;
        }
        match think_ns {
            Some(ns) => pool.thinking.push(Reverse((now + ns, id))),
            None => {
                (member.wants_ns, member.asked_ns) = (now, now);
                pool.waiting.push_back(id);
            }
        }
    }

    /// A session's connection broke: it is lent no more until it is there again.
    pub(crate) fn withdraw(&mut self, index: u32, now: u64) {
        self.send_home(index, now);
        if let Some(pool) = &mut self.pool {
            pool.free.retain(|free| *free != index);
        }
        self.lend(now);
    }

    /// A client gives up for good, in mid-transaction or after too many failures; its connection serves others.
    pub(crate) fn member_gave_up(&mut self, index: u32, now: u64) {
        let Some((pool, stage)) = self.pool.as_mut().zip(self.stage.as_mut()) else { return };
        pool.record(&mut self.recorder.current, now);
        let session = &mut self.sessions[index as usize];
        if let Some(id) = pool.take_back(session)
            && std::mem::take(&mut pool.members[id as usize].active)
        {
            stage.unfinished -= 1;
            stage.finished.clients_aborted += 1;
        }
        if session.is_open() {
            self.next_borrower(index, now);
        } else {
            session.lost_ns = Some(now);
            self.to_open.push_back(index);
            self.open_more(now);
        }
    }

    /// Notes how the connections were used until an interval's end.
    pub(crate) fn record_pool(&mut self, end_ns: u64) {
        let Some(pool) = &mut self.pool else { return };
        let record = &mut self.recorder.current;
        pool.record(record, end_ns);
        record.pool.is_pool = true;
        record.pool.connections =
            self.sessions.iter().filter(|session| session.is_connected()).count() as u32;
    }
}
