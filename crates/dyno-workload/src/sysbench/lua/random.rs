//! Random numbers of the clients of one Lua state: what `sysbench.rand` draws from.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mlua::{Lua, LuaString, Table};

use crate::random::Random;
use crate::sysbench::distribution::{Distribution, Sampler};
use crate::sysbench::text;
use crate::sysbench::unique::{UniqueNumbers, UniqueRanges};

/// Shapes of the functions that a script may call by their names; `default` is what `--rand-type` says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distributions {
    pub default: Distribution,
    pub gaussian: Distribution,
    pub special: Distribution,
    pub pareto: Distribution,
    pub zipfian: Distribution,
}

impl Default for Distributions {
    fn default() -> Self {
        Self {
            default: Distribution::default(),
            gaussian: Distribution::Gaussian { iterations: 12 },
            special: Distribution::default(),
            pareto: Distribution::Pareto { h: 0.2 },
            zipfian: Distribution::Zipfian { exponent: 0.8 },
        }
    }
}

/// What the functions are called that draw by a distribution.
const SHAPES: [&str; 6] =
    ["rand_default", "rand_uniform", "rand_gaussian", "rand_special", "rand_pareto", "rand_zipfian"];

impl Distributions {
    fn samplers(&self) -> [Sampler; 6] {
        let Self { default, gaussian, special, pareto, zipfian } = self;
        [*default, Distribution::Uniform, *gaussian, *special, *pareto, *zipfian].map(|shape| shape.sampler())
    }
}

/// The streams of a state's clients. Only the state's own thread takes the lock, so it never waits.
#[derive(Clone)]
pub(super) struct Streams(Arc<Mutex<Inner>>);

struct Inner {
    /// Whose stream is drawn from: the client that runs.
    current: usize,
    clients: Vec<Random>,
    /// By the places of [`SHAPES`].
    samplers: [Sampler; 6],
    unique: UniqueNumbers,
    ranges: Arc<UniqueRanges>,
    text: Vec<u8>,
}

impl Streams {
    pub(super) fn new(distributions: &Distributions, ranges: &Arc<UniqueRanges>) -> Self {
        let samplers = distributions.samplers();
        Self(Arc::new(Mutex::new(Inner {
            current: 0,
            clients: Vec::new(),
            samplers,
            unique: ranges.all(),
            ranges: Arc::clone(ranges),
            text: Vec::new(),
        })))
    }

    /// Has `stream` begin anew with `random`, and all draw by other distributions.
    pub(super) fn configure(
        &self,
        stream: usize,
        random: Random,
        distributions: &Distributions,
        ranges: &Arc<UniqueRanges>,
    ) {
        let mut inner = self.lock();
        (inner.samplers, inner.unique) = (distributions.samplers(), ranges.all());
        inner.ranges = Arc::clone(ranges);
        if let Some(client) = inner.clients.get_mut(stream) {
            *client = random;
        }
    }

    /// Adds a client; the number that [`run`](Self::run) takes.
    pub(super) fn add(&self, random: Random) -> usize {
        let mut inner = self.lock();
        inner.clients.push(random);
        inner.clients.len() - 1
    }

    /// What is drawn from now on is client `stream`'s.
    #[inline]
    pub(super) fn run(&self, stream: usize) {
        self.lock().current = stream;
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw<T: Default>(&self, draw: impl FnOnce(&mut Random) -> T) -> T {
        let mut inner = self.lock();
        let current = inner.current;
        inner.clients.get_mut(current).map(draw).unwrap_or_default()
    }

    /// Puts the functions that draw into `host`. None of them fails: their arguments are looked at in Lua.
    pub(super) fn register(&self, lua: &Lua, host: &Table) -> mlua::Result<()> {
        for (shape, name) in SHAPES.iter().enumerate() {
            let streams = self.clone();
            let draw = move |_: &Lua, (low, high): (f64, f64)| {
                let mut inner = streams.lock();
                let Inner { current, clients, samplers, .. } = &mut *inner;
                let drawn = clients.get_mut(*current).zip(samplers.get_mut(shape));
                Ok(drawn
                    .map_or(low, |(random, sampler)| sampler.draw(random, low as i64, high as i64) as f64))
            };
            host.set(*name, lua.create_function(draw)?)?;
        }
        let streams = self.clone();
        let unique = move |_: &Lua, ()| Ok(f64::from(streams.lock().unique.draw()));
        host.set("rand_unique", lua.create_function(unique)?)?;
        let ranges = self.clone();
        let unique_of = move |_: &Lua, (low, last): (f64, f64)| {
            Ok(low + f64::from(ranges.lock().ranges.draw(low as i64, last as u32)))
        };
        host.set("rand_unique_of", lua.create_function(unique_of)?)?;
        let streams = self.clone();
        host.set("rand_double", lua.create_function(move |_, ()| Ok(streams.draw(Random::unit)))?)?;
        let streams = self.clone();
        let halves = move |_: &Lua, ()| {
            let bits = streams.draw(Random::bits);
            Ok(((bits >> 32) as f64, f64::from(bits as u32)))
        };
        host.set("rand_halves", lua.create_function(halves)?)?;
        let streams = self.clone();
        host.set(
            "rand_string",
            lua.create_function(move |lua, template: LuaString| {
                let mut inner = streams.lock();
                let Inner { current, clients, text, .. } = &mut *inner;
                text.clear();
                text.extend_from_slice(&template.as_bytes());
                if let Some(random) = clients.get_mut(*current) {
                    text::fill(random, text);
                }
                lua.create_string(&*text)
            })?,
        )
    }
}
