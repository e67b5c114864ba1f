//! What others than the server and dyno took of a machine's processors while a load ran: other programs, and other machines of
//! its hypervisor (steal). One answer for findings, causes of a saturation and what is quoted.

use crate::document::StageResult;
use crate::finding::Facts;
use crate::format;
use crate::words::list;

/// Others that take more than this share of a machine are told.
const TAKEN_MIN: f64 = 0.1;
/// Of the processor time left idle, from which on whoever wanted a processor had one.
pub(crate) const IDLE_ENOUGH: f64 = 0.1;
/// Less than this share of a disk's traffic is the server's: others use the disk.
pub(crate) const DISK_SHARE_FEW: f64 = 0.5;

/// Who had the processors of a machine, as shares of all their time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Others {
    /// Other programs and other machines together. Where the server's own time is not known, other machines alone.
    taken: f64,
    steal: f64,
    /// Waiting for disks included; `None` where it was not read.
    idle: Option<f64>,
    cpus: Option<f64>,
}

impl Others {
    /// On the server's host. `None` where nothing is known of it.
    pub(crate) fn on_server_host(result: &StageResult) -> Option<Self> {
        let steal = result.reading("cpu_steal_share");
        Some(Self {
            taken: result.cpu_taken_share.or(steal)?,
            steal: steal.unwrap_or(0.0),
            idle: result.busy_share().map(|busy| 1.0 - busy),
            cpus: result.reading("cpus"),
        })
    }

    /// On dyno's own machine, where the server is on another.
    pub(crate) fn on_driver_host(result: &StageResult) -> Option<Self> {
        let read = |key: &str| result.reading(&format!("driver.{key}"));
        let idle = read("cpu_idle_share")? + read("cpu_iowait_share").unwrap_or(0.0);
        let (cpus, steal) = (read("cpus")?, read("cpu_steal_share").unwrap_or(0.0));
        let taken = 1.0 - idle - result.reading("driver_cpu_cores")? / cpus;
        Some(Self { taken: taken.max(steal), steal, idle: Some(idle), cpus: Some(cpus) })
    }

    pub(crate) fn are_many(&self) -> bool {
        self.taken > TAKEN_MIN
    }

    /// Whether what they took was missing: whoever else wanted a processor had to wait for one.
    pub(crate) fn were_in_the_way(&self) -> bool {
        self.are_many() && self.idle.is_some_and(|idle| idle < IDLE_ENOUGH)
    }

    /// `other programs took 64% and other machines took 3% (steal) of the 2 processors of the server's host; 1% was idle`
    pub(crate) fn words(&self, machine: &str, facts: &mut Facts) -> String {
        let processors = match self.cpus {
            Some(1.0) => "the processor".to_owned(),
            Some(cpus) => format!("the {} processors", format::cores(cpus)),
            None => "the processors".to_owned(),
        };
        let machine = facts.name("machine", machine);
        let programs = self.taken - self.steal;
        let took = [
            (programs >= format::SHARE_TOLD)
                .then(|| format!("other programs took {}", facts.share("others", programs))),
            (self.steal >= format::SHARE_TOLD)
                .then(|| format!("other machines took {} (steal)", facts.share("steal", self.steal))),
        ];
        let took = list(&took.into_iter().flatten().collect::<Vec<_>>());
        let idle = self.idle.map(|idle| format!("; {} was idle", facts.share("idle", idle.max(0.0))));
        format!("{took} of {processors} of {machine}{}", idle.unwrap_or_default())
    }
}
