//! Which of several transactions of a workload file a client runs next, and how long it pauses before.

use std::time::Duration;

use super::client::ScriptClient;
use super::load::WeightedScript;
use crate::script::random::Prng;

/// Of a think time of this mean none is longer.
const THINK_MEANS_MAX: f64 = 10.0;

/// The pauses of a client for a transaction; they are in no transaction's time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pauses {
    /// Before it.
    pub keying: Duration,
    /// Behind it: the mean of an exponential distribution.
    pub think: Duration,
}

/// Transactions dealt as cards are: each as often as its weight says, in an order drawn anew each time that all are dealt.
#[derive(Debug, Default)]
pub(super) struct Deck(Vec<u16>);

impl Deck {
    fn deal(&mut self, scripts: &[WeightedScript], random: &mut Prng) -> usize {
        if self.0.is_empty() {
            for (script, number) in scripts.iter().zip(0..) {
                self.0.extend(std::iter::repeat_n(number, script.weight as usize));
            }
            for last in (1..self.0.len()).rev() {
                self.0.swap(last, random.range(0, last as u64) as usize);
            }
        }
        self.0.pop().map_or(0, usize::from)
    }
}

impl ScriptClient {
    /// The script of the next transaction.
    pub(super) fn next_script(&mut self) -> usize {
        match self.shared.options.dealt {
            true => self.deck.deal(&self.shared.scripts, &mut self.random),
            false => self.shared.choose_script(self.identity.thread),
        }
    }

    /// How long to pause before the script that was chosen, behind the one before.
    pub(super) fn pause_before(&mut self, before: Option<usize>) -> Option<Duration> {
        let pauses = |script: usize| self.shared.scripts.get(script).map(|it| it.pauses).unwrap_or_default();
        let think = before.map(|before| pauses(before).think).unwrap_or_default();
        let mut pause = pauses(self.script).keying;
        if !think.is_zero() {
            let means = -(1.0 - self.random.double()).ln();
            pause += think.mul_f64(means.clamp(0.0, THINK_MEANS_MAX));
        }
        (!pause.is_zero()).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Script;

    #[test]
    fn a_deck_has_each_as_often_as_its_weight_in_any_order() {
        let script = |weight| {
            WeightedScript::new(
                Script { name: String::new(), file: String::new(), commands: Vec::new() },
                weight,
            )
        };
        let scripts = [script(5), script(0), script(3)];
        let (mut deck, mut random) = (Deck::default(), Prng::seed(3));
        let mut rounds: Vec<Vec<usize>> =
            (0..20).map(|_| (0..8).map(|_| deck.deal(&scripts, &mut random)).collect()).collect();
        assert_ne!(rounds[0], rounds[1]);
        rounds.iter_mut().for_each(|round| round.sort_unstable());
        assert!(rounds.iter().all(|round| *round == [0, 0, 0, 0, 0, 2, 2, 2]), "{rounds:?}");
    }
}
