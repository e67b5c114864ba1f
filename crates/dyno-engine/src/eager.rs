//! Reading before asking: when replies come faster than a thread can take them, it need not ask the kernel which
//! sockets are ready. It reads the connections it has just sent on, in that order, until one has nothing yet, and
//! saves most of its waits; where replies take their time it soon stops trying.

/// Weight of the last try in the share of those that found a reply.
const WEIGHT: f32 = 1.0 / 16.0;
/// A try in vain costs a system call, and one that succeeds saves at most one: it must succeed more often than not.
const SHARE_MIN: f32 = 0.6;
/// Rounds after which it is tried again all the same, because the load may have changed.
const ROUNDS_UNTRIED: u32 = 64;

/// Whether reading eagerly pays at present.
#[derive(Debug, Default)]
pub(crate) struct Eagerness {
    /// Share of the tries that found a reply, the recent ones weighing most.
    share: f32,
    rounds_untried: u32,
}

impl Eagerness {
    /// Whether a round of reads is to be tried.
    pub(crate) fn is_worth_a_try(&mut self) -> bool {
        if self.share < SHARE_MIN && self.rounds_untried < ROUNDS_UNTRIED {
            self.rounds_untried += 1;
            return false;
        }
        self.rounds_untried = 0;
        true
    }

    pub(crate) fn tried(&mut self, found: bool) {
        self.share += (if found { 1.0 } else { 0.0 } - self.share) * WEIGHT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_while_it_pays_and_stops_when_it_does_not() {
        let mut eagerness = Eagerness::default();
        let tries = (0..1000).filter(|_| eagerness.is_worth_a_try()).count();
        assert!(tries <= 1000 / ROUNDS_UNTRIED as usize, "{tries} tries without any success so far");
        (0..50).for_each(|_| eagerness.tried(true));
        assert!((0..100).all(|_| eagerness.is_worth_a_try()));
        (0..50).for_each(|_| eagerness.tried(false));
        assert!(!eagerness.is_worth_a_try());
    }
}
