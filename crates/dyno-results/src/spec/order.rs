//! What the load generator gets for a stage.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::load::{Arrivals, End};

/// What a stage is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StageKind {
    /// Recorded and shown, and left out of every figure.
    WarmUp,
    /// One rung of a ladder over clients, or one step of a ramp that goes up in steps (of clients or of the rate).
    Ladder,
    /// Steady load from which the headline figures come.
    Hold,
    /// Clients or rate change while it runs.
    Ramp,
}

impl StageKind {
    /// As users name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::WarmUp => "warm-up",
            Self::Ladder => "ladder",
            Self::Hold => "hold",
            Self::Ramp => "ramp",
        }
    }

    /// One such stage: of a ladder a rung.
    #[must_use]
    pub fn stage_name(self) -> &'static str {
        if self == Self::Ladder { "rung" } else { self.name() }
    }
}

/// One stage of load: what all generators together are to do. Each does its [segment](Segment) of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StageOrder {
    /// The id that its intervals carry; 0 until it is announced.
    pub stage: u32,
    pub kind: StageKind,
    /// Clients at the start; at most as many as are connected.
    pub clients: u32,
    /// Clients at the end: they come and go one by one, evenly over the duration.
    pub clients_end: u32,
    pub arrivals: Arrivals,
    pub end: End,
    /// All clients together begin at most so many transactions, if nothing ends the stage before.
    pub transactions_max: Option<u64>,
}

/// The part of every order that is one load generator's: of the clients, of the rate, and of the transactions where their number is
/// limited. A generator computes it from its own segment alone, and no client, random stream or arrival is another's, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Segment {
    /// From 0.
    generator: u32,
    /// How many there are.
    generators: u32,
}

/// A segment as it is written.
#[derive(Deserialize)]
struct Unchecked {
    generator: u32,
    generators: u32,
}

impl TryFrom<Unchecked> for Segment {
    type Error = String;

    fn try_from(Unchecked { generator, generators }: Unchecked) -> Result<Self, String> {
        Self::new(generator, generators).ok_or_else(|| format!("no generator {generator} of {generators}"))
    }
}

impl Default for Segment {
    /// The only one there is.
    fn default() -> Self {
        Self { generator: 0, generators: 1 }
    }
}

impl Segment {
    /// That of generator `generator`, counted from 0, of so many; `None` if there are not as many.
    pub fn new(generator: u32, generators: u32) -> Option<Self> {
        (generator < generators).then_some(Self { generator, generators })
    }

    /// From 0.
    pub fn generator(self) -> u32 {
        self.generator
    }

    /// How many generators there are.
    pub fn generators(self) -> u32 {
        self.generators
    }

    /// How many of so many this generator has: every `generators`th, its own first.
    pub fn of(self, count: u64) -> u64 {
        count.saturating_sub(u64::from(self.generator)).div_ceil(u64::from(self.generators))
    }
}

impl StageOrder {
    /// As many clients from the beginning to the end.
    pub fn new(kind: StageKind, clients: u32, arrivals: Arrivals, end: End) -> Self {
        Self { stage: 0, kind, clients, clients_end: clients, arrivals, end, transactions_max: None }
    }

    /// A hold of a closed loop whose clients do not pause.
    pub fn closed(clients: u32, end: End) -> Self {
        Self::new(StageKind::Hold, clients, Arrivals::Closed { think_time: Duration::ZERO }, end)
    }

    /// The most clients active at any time.
    pub fn clients_max(&self) -> u32 {
        self.clients.max(self.clients_end)
    }

    /// `None` where a count ends it, or what runs beside it.
    pub fn duration_ns(&self) -> Option<u64> {
        match self.end {
            End::Duration(duration) => Some(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)),
            End::TransactionsPerClient(_) | End::WithOthers => None,
        }
    }

    /// How many clients are to be active `elapsed_ns` after the start.
    pub fn clients_at(&self, elapsed_ns: u64) -> u32 {
        let Some(duration_ns) = self.duration_ns().filter(|ns| *ns > 0) else { return self.clients };
        let (from, to) = (f64::from(self.clients), f64::from(self.clients_end));
        let part = (elapsed_ns as f64 / duration_ns as f64).min(1.0);
        // Both ends are u32 and `part` lies within 0..=1.
        (from + (to - from) * part).round() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Distribution;

    #[test]
    fn a_segment_that_there_is_not_is_refused() {
        let read = serde_json::from_str::<Segment>;
        assert_eq!(read(r#"{"generator":2,"generators":3}"#).unwrap(), Segment::new(2, 3).unwrap());
        for wrong in [r#"{"generator":0,"generators":0}"#, r#"{"generator":5,"generators":3}"#] {
            assert!(read(wrong).unwrap_err().to_string().starts_with("no generator"), "{wrong}");
        }
    }

    #[test]
    fn segments_have_all_together_and_none_twice() {
        for generators in 1..5 {
            let of = |count: u64| -> Vec<u64> {
                (0..generators).map(|at| Segment::new(at, generators).unwrap().of(count)).collect()
            };
            for count in 0..20 {
                let parts = of(count);
                assert_eq!(parts.iter().sum::<u64>(), count);
                assert!(parts.iter().max().unwrap() - parts.iter().min().unwrap() <= 1, "{parts:?}");
            }
        }
        assert_eq!((Segment::default().of(7), Segment::new(3, 3)), (7, None));
    }

    #[test]
    fn an_order_is_a_message() {
        let open =
            Arrivals::Open { rate_per_s: 1.5, rate_end_per_s: 3.0, distribution: Distribution::Poisson };
        let ends = [
            End::Duration(Duration::from_nanos(1_500_000_001)),
            End::TransactionsPerClient(u64::MAX),
            End::WithOthers,
        ];
        for end in ends {
            for arrivals in [open, Arrivals::Closed { think_time: Duration::from_nanos(1) }] {
                let order = StageOrder {
                    stage: 3,
                    transactions_max: Some(9),
                    ..StageOrder::new(StageKind::Ladder, 7, arrivals, end)
                };
                let sent = serde_json::to_string(&order).unwrap();
                assert_eq!(serde_json::from_str::<StageOrder>(&sent).unwrap(), order, "{sent}");
            }
        }
    }

    #[test]
    fn a_ramp_goes_from_its_first_to_its_last_count() {
        let end = End::Duration(Duration::from_secs(10));
        let order = StageOrder { clients_end: 11, ..StageOrder::closed(1, end) };
        assert_eq!(order.clients_at(0), 1);
        assert_eq!(order.clients_at(5_000_000_000), 6);
        assert_eq!(order.clients_at(10_000_000_000), 11);
        assert_eq!(order.clients_at(u64::MAX), 11);
        assert_eq!(order.clients_max(), 11);
    }
}
