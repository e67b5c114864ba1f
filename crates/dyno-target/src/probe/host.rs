//! Reading the host: this one, or another by its node_exporter.

use super::outage::Outage;
use super::{HostOptions, NodeExporter, NodeExporterError, Schedule, Speaker};
use crate::host::{NodeExporterReader, Sampler};

pub(super) fn watch_this(options: &HostOptions, schedule: Schedule, speaker: &Speaker) {
    let mut sampler = Sampler::new(options.server_pid, options.disk.as_deref());
    if let Some(missing) = sampler.missing() {
        speaker.notice(missing);
    }
    loop {
        speaker.sample(sampler.sample());
        if !speaker.wait(schedule) {
            return;
        }
    }
}

pub(super) fn watch_exporter(exporter: NodeExporter, schedule: Schedule, speaker: &Speaker) {
    let mut reader = match NodeExporterReader::new(exporter) {
        Ok(reader) => reader,
        Err(error) => return speaker.notice(missing(&error)),
    };
    let mut outage = Outage::default();
    loop {
        match reader.sample() {
            Ok(values) => {
                if let Some(missing) = outage.is_over() {
                    speaker.notice(format!(
                        "the host is read again; its readings were missing for {:.1} s",
                        missing.as_secs_f64()
                    ));
                }
                speaker.sample(values);
            }
            Err(error) => {
                if outage.goes_on() {
                    speaker.notice(missing(&error));
                }
            }
        }
        if !speaker.wait(schedule) {
            return;
        }
    }
}

fn missing(error: &NodeExporterError) -> String {
    format!("readings of the host are missing for a while: {error}")
}
