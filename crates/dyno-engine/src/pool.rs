//! Many clients over few connections: a client thinks without a connection, asks for one, is lent one for a
//! transaction and gives it back.
//!
//! The connections are the thread's sessions; a session runs whichever client it is lent to. Each load thread has a
//! pool of its own, over its share of the clients and of the connections. Who has waited longest is served first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::config::Share;
use crate::record::Record;
use crate::request::Request;
use crate::session::{Session, SessionState, VirtualClient};
use crate::stage::Stage;
use crate::workload::{Answer, Client, Step, TransactionType};

/// How far the first thoughts of neighbouring clients lie apart, as a part of the think time: the golden ratio spreads
/// any number of clients evenly, so that they do not all ask in the same moment.
const SPREAD: f64 = 0.618_033_988_749_894_8;

/// A client without a connection of its own.
struct Member {
    /// While a session has it, the session's [`nobody`].
    client: VirtualClient,
    /// When it wanted its connection: the end of its think time.
    wants_ns: u64,
    /// When the thread noticed.
    asked_ns: u64,
}

/// A session that is lent for a transaction.
pub(crate) struct Loan {
    pub(crate) session: u32,
    /// When its client wanted it, and how long it waited since that was noticed.
    pub(crate) wants_ns: u64,
    pub(crate) waited_ns: u64,
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
    /// Until when usage is recorded.
    recorded_ns: u64,
}

/// Stands in a session that is lent to nobody.
pub(crate) fn nobody() -> VirtualClient {
    VirtualClient::new(Box::new(Nobody))
}

struct Nobody;

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
    /// Makes clients until there are so many, for so many sessions.
    pub(crate) fn fill(&mut self, clients: u32, sessions: usize, client: impl Fn(u32) -> VirtualClient) {
        for index in self.members.len() as u32..clients {
            self.members.push(Member { client: client(index), wants_ns: 0, asked_ns: 0 });
        }
        // Nothing is to grow while the load runs.
        self.thinking.reserve(self.members.len());
        self.waiting.reserve(self.members.len());
        self.free.reserve(sessions);
    }

    /// Notes how the connections were used until now. Called before anything of it changes.
    fn record(&mut self, record: &mut Record, now: u64) {
        let ns = now.saturating_sub(self.recorded_ns);
        self.recorded_ns = self.recorded_ns.max(now);
        record.pool.add(self.lent, self.waiting.len() as u32, ns);
    }

    /// Notes how the connections were used until an interval's end.
    pub(crate) fn close_interval(&mut self, record: &mut Record, sessions: &[Session]) {
        self.record(record, record.end_ns);
        record.pool.is_pool = true;
        record.pool.connections = sessions.iter().filter(|session| session.is_connected()).count() as u32;
    }

    /// The load begins: all connections that are there are free, and nobody has asked yet.
    pub(crate) fn open(&mut self, sessions: &mut [Session], start_ns: u64) {
        self.free.clear();
        self.recorded_ns = start_ns;
        self.members.iter_mut().for_each(|member| member.client.reset());
        for session in sessions {
            // Whoever has it: the connections are what takes part.
            session.client.active = true;
            if matches!(session.state, SessionState::Idle) {
                self.free.push(session.index);
            }
        }
    }

    /// The stage is over: every client is at home.
    pub(crate) fn close(&mut self, sessions: &mut [Session]) {
        for session in sessions {
            self.take_back(session);
        }
        self.thinking.clear();
        self.waiting.clear();
    }

    /// Lets so many members take part, where it were `before`.
    pub(crate) fn activate(
        &mut self,
        (before, clients): (u32, u32),
        share: &Share,
        stage: &mut Stage,
        sessions: &mut [Session],
        record: &mut Record,
        now: u64,
    ) {
        self.record(record, now);
        for id in clients..before {
            let borrower = sessions.iter_mut().find(|session| session.borrower == Some(id));
            let at_home = &mut self.members[id as usize].client;
            stage.retire(borrower.map_or(at_home, |session| &mut session.client));
        }
        self.waiting.retain(|id| !(clients..before).contains(id));
        for id in before..clients {
            stage.enlist(&mut self.members[id as usize].client);
            match stage.think_ns() {
                // At first somewhere within its think time.
                Some(think_ns) => {
                    let place = (f64::from(share.client_id(id)) * SPREAD).fract();
                    self.thinking.push(Reverse((now + (think_ns as f64 * place) as u64, id)));
                }
                None => self.ask(id, now, now),
            }
        }
    }

    /// When the next client has thought enough.
    pub(crate) fn next_time_ns(&self) -> Option<u64> {
        self.thinking.peek().map(|Reverse((at, _))| *at)
    }

    /// Lets the clients ask that have thought enough.
    pub(crate) fn wake(&mut self, record: &mut Record, now: u64) {
        self.record(record, now);
        while let Some(Reverse((at, id))) =
            self.thinking.peek().copied().filter(|Reverse((at, _))| *at <= now)
        {
            self.thinking.pop();
            if self.members[id as usize].client.active {
                self.ask(id, at, now);
            }
        }
    }

    /// A client wants a connection, since `wants_ns`.
    fn ask(&mut self, id: u32, wants_ns: u64, now: u64) {
        let member = &mut self.members[id as usize];
        (member.wants_ns, member.asked_ns) = (wants_ns, now);
        self.waiting.push_back(id);
    }

    /// Lends a free connection to who has waited longest.
    pub(crate) fn lend(
        &mut self,
        stage: &mut Stage,
        sessions: &mut [Session],
        record: &mut Record,
        now: u64,
    ) -> Option<Loan> {
        while stage.begins(now) && !self.free.is_empty() {
            let id = *self.waiting.front()?;
            self.record(record, now);
            self.waiting.pop_front();
            let member = &mut self.members[id as usize];
            if stage.takes_one(&mut member.client) {
                let index = self.free.pop()?;
                let session = &mut sessions[index as usize];
                std::mem::swap(&mut session.client, &mut member.client);
                session.borrower = Some(id);
                self.lent += 1;
                let waited_ns = now.saturating_sub(member.asked_ns);
                return Some(Loan { session: index, wants_ns: member.wants_ns, waited_ns });
            }
        }
        None
    }

    /// Takes a session's client home, where it thinks, or asks again at once. The session is free, if its connection is
    /// there.
    pub(crate) fn give_back(
        &mut self,
        session: &mut Session,
        stage: &mut Stage,
        record: &mut Record,
        now: u64,
    ) {
        self.record(record, now);
        if let Some(id) = self.take_back(session) {
            let client = &mut self.members[id as usize].client;
            if client.active && stage.begins(now) && !stage.has_done_all(client) {
                match stage.think_ns() {
                    Some(think_ns) => self.thinking.push(Reverse((now + think_ns, id))),
                    None => self.ask(id, now, now),
                }
            }
        }
        if matches!(session.state, SessionState::Idle) {
            self.free.push(session.index);
        } else {
            self.free.retain(|free| *free != session.index);
        }
    }

    /// Takes a session's client home; which it was.
    fn take_back(&mut self, session: &mut Session) -> Option<u32> {
        let id = session.borrower.take()?;
        std::mem::swap(&mut session.client, &mut self.members[id as usize].client);
        self.lent -= 1;
        Some(id)
    }
}
