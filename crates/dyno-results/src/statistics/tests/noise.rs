//! Series of known statistics, for tests; the same on every machine and with every version of any library.

/// Seeded normal noise: SplitMix64 and the Box-Muller transform.
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// In (0, 1).
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 + f64::EPSILON / 4.0
    }

    /// Mean 0, standard deviation 1.
    pub(crate) fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    /// A stationary first-order autoregression with this mean, this standard deviation and lag-1 autocorrelation
    /// `phi`. The variance of its mean is (1 + phi) / (1 - phi) times that of independent values, for long series.
    pub(crate) fn autoregressive(&mut self, n: usize, mean: f64, deviation: f64, phi: f64) -> Vec<f64> {
        let mut state = self.normal();
        let innovation = (1.0 - phi * phi).sqrt();
        (0..n)
            .map(|_| {
                let value = mean + deviation * state;
                state = phi * state + innovation * self.normal();
                value
            })
            .collect()
    }
}
