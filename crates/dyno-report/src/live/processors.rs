//! Processors kept busy, from the counters of samples.

use std::collections::HashMap;

use dyno_results::event::Sample;

/// Counters of [`Sample`]s that are watched; see `docs/telemetry.md`.
const SERVER: &[&str] = &["server_cpu_seconds_total"];
const DRIVER: &[&str] = &["driver_cpu_seconds_total"];
/// All of a host, where the server's own processes cannot be told from others.
const HOST: &[&str] = &["cpu_user_seconds_total", "cpu_system_seconds_total"];
/// The name under which the driver's own host is read.
const DRIVER_NAME: &str = "driver";

/// Processors that a target keeps busy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Busy {
    /// The server's own processes.
    Server(f64),
    /// Everything on the server's host.
    Host(f64),
}

/// The last readings.
#[derive(Debug, Default)]
pub(super) struct BusyProcessors {
    /// By counters and target.
    readings: HashMap<(&'static str, String), Reading>,
}

#[derive(Debug)]
struct Reading {
    at_ms: u64,
    seconds: f64,
    cores: Option<f64>,
}

impl BusyProcessors {
    pub(super) fn take(&mut self, sample: &Sample, at_ms: u64) {
        for keys in [SERVER, DRIVER, HOST] {
            let values: Option<Vec<f64>> = keys.iter().map(|key| sample.values.get(*key).copied()).collect();
            let Some(seconds) = values.map(|values| values.iter().sum::<f64>()) else { continue };
            let place = (keys[0], sample.target.clone());
            let cores = self.readings.get(&place).and_then(|before| {
                let passed_s = at_ms.checked_sub(before.at_ms)? as f64 / 1e3;
                let used_s = seconds - before.seconds;
                // A counter that fell was set to zero by a restart: nothing is known until the next reading.
                (passed_s > 0.0 && used_s >= 0.0).then_some(used_s / passed_s)
            });
            self.readings.insert(place, Reading { at_ms, seconds, cores });
        }
    }

    /// What a target keeps busy; `None` where nothing is known of it. With `alone` there is no other target, and a
    /// reading of the server that was made under the driver's name is its.
    pub(super) fn of_target(&self, target: &str, alone: bool) -> Option<Busy> {
        let server = self.cores(SERVER, target);
        let server = server.or_else(|| if alone { self.cores(SERVER, DRIVER_NAME) } else { None });
        server.map(Busy::Server).or_else(|| self.cores(HOST, target).map(Busy::Host))
    }

    /// What dyno itself keeps busy. A host that holds both may give it under a target's name.
    pub(super) fn of_driver(&self) -> Option<f64> {
        self.cores(DRIVER, DRIVER_NAME).or_else(|| {
            let mut readings = self.readings.iter().filter(|((key, _), _)| *key == DRIVER[0]);
            readings.find_map(|(_, reading)| reading.cores)
        })
    }

    fn cores(&self, keys: &'static [&'static str], target: &str) -> Option<f64> {
        self.readings.get(&(keys[0], target.to_owned()))?.cores
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(processors: &mut BusyProcessors, target: &str, at_ms: u64, values: &[(&str, f64)]) {
        let values = values.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect();
        processors.take(&Sample { source: "host".to_owned(), target: target.to_owned(), values }, at_ms);
    }

    #[test]
    fn each_target_has_its_own_reading_and_no_other() {
        let mut processors = BusyProcessors::default();
        for (at_ms, seconds) in [(0, 1.0), (2_000, 4.0)] {
            read(&mut processors, "pg", at_ms, &[("server_cpu_seconds_total", seconds)]);
            let host = [("cpu_user_seconds_total", seconds), ("cpu_system_seconds_total", seconds / 2.0)];
            read(&mut processors, "my", at_ms, &host);
        }
        assert_eq!(processors.of_target("pg", false), Some(Busy::Server(1.5)));
        assert_eq!(processors.of_target("my", false), Some(Busy::Host(2.25)));
        assert_eq!(processors.of_target("ob", false), None);
        assert_eq!(processors.of_driver(), None);
    }

    #[test]
    fn an_only_target_may_be_read_under_the_drivers_name() {
        let mut processors = BusyProcessors::default();
        for (at_ms, seconds) in [(0, 1.0), (1_000, 1.5)] {
            let values = [("server_cpu_seconds_total", seconds), ("driver_cpu_seconds_total", seconds / 2.0)];
            read(&mut processors, "driver", at_ms, &values);
        }
        assert_eq!(processors.of_target("pg", true), Some(Busy::Server(0.5)));
        assert_eq!(processors.of_target("pg", false), None);
        assert_eq!(processors.of_driver(), Some(0.25));
    }

    #[test]
    fn a_counter_that_fell_says_nothing() {
        let mut processors = BusyProcessors::default();
        for (at_ms, seconds) in [(0, 9.0), (1_000, 0.5)] {
            read(&mut processors, "pg", at_ms, &[("server_cpu_seconds_total", seconds)]);
        }
        assert_eq!(processors.of_target("pg", true), None);
    }
}
