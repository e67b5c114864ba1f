//! Processors: model, number, governor, and what can be told of a hypervisor or container around them.

use std::path::Path;

use rustix::process::getpid;
use rustix::thread::sched_getaffinity;

use super::source::text;

/// The model's name as the kernel shows it; `None` on processors that have none (most ARM servers).
pub(super) fn model() -> Option<String> {
    field(&text("/proc/cpuinfo")?, "model name")
}

/// Processors that are online.
pub(super) fn count() -> Option<u32> {
    list_length(&text("/sys/devices/system/cpu/online")?)
}

/// Processors that this process may run on, as `taskset` or a cpuset has it. Asked of its first thread: others may
/// have been bound to a processor each.
pub(super) fn allowed() -> Option<u32> {
    sched_getaffinity(Some(getpid())).ok().map(|set| set.count())
}

/// The frequency governor of the first processor.
pub(super) fn governor() -> Option<String> {
    text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
}

/// The setting in brackets of `always [madvise] never`.
pub(super) fn transparent_hugepages() -> Option<String> {
    bracketed(&text("/sys/kernel/mm/transparent_hugepage/enabled")?)
}

/// `kvm`, `container`, `container on kvm`, …; `None` where it looks like bare metal or cannot be told.
pub(super) fn virtualization() -> Option<String> {
    match (in_container(), hypervisor()) {
        (true, Some(hypervisor)) => Some(format!("container on {hypervisor}")),
        (true, None) => Some("container".to_owned()),
        (false, hypervisor) => hypervisor.map(str::to_owned),
    }
}

/// Whether processes are numbered apart from the machine's own. Marks such as `/.dockerenv` are asked only where
/// the kernel does not say: they stay behind when an image becomes the disk of a machine.
fn in_container() -> bool {
    /// The number of the first namespace of process ids, the same in every kernel since 3.8.
    const FIRST: &str = "pid:[4026531836]";
    match std::fs::read_link("/proc/self/ns/pid") {
        Ok(namespace) => namespace.as_os_str() != FIRST,
        Err(_) => ["/.dockerenv", "/run/.containerenv"].iter().any(|mark| Path::new(mark).exists()),
    }
}

/// The hypervisor by its marks. The processor's `hypervisor` flag alone says that there is one, not which.
fn hypervisor() -> Option<&'static str> {
    let dmi = |name: &str| text(Path::new("/sys/class/dmi/id").join(name)).unwrap_or_default();
    let clocks =
        text("/sys/devices/system/clocksource/clocksource0/available_clocksource").unwrap_or_default();
    let named = text("/sys/hypervisor/type").unwrap_or_default();
    let flagged = field(&text("/proc/cpuinfo").unwrap_or_default(), "flags")
        .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    let by_mark = hypervisor_from(&format!("{} {}", dmi("sys_vendor"), dmi("product_name")), &clocks, &named);
    by_mark.or(flagged.then_some("virtual machine"))
}

pub(super) fn hypervisor_from(dmi: &str, clocks: &str, named: &str) -> Option<&'static str> {
    // Amazon's and Google's machines of bare metal carry the same vendor, so only the clock tells of those.
    const BY_DMI: [(&str, &str); 6] = [
        ("VMware", "vmware"),
        ("VirtualBox", "virtualbox"),
        ("innotek", "virtualbox"),
        ("QEMU", "kvm"),
        ("KVM", "kvm"),
        ("Xen", "xen"),
    ];
    const BY_CLOCK: [(&str, &str); 3] = [("kvm-clock", "kvm"), ("hyperv", "hyper-v"), ("xen", "xen")];
    let find = |marks: &[(&str, &'static str)], text: &str| {
        marks.iter().find(|(mark, _)| text.contains(mark)).map(|(_, name)| *name)
    };
    find(&BY_DMI, dmi).or_else(|| find(&BY_CLOCK, clocks)).or((named == "xen").then_some("xen"))
}

/// The first `name : value` of a text in the manner of `/proc/cpuinfo`.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
        .filter(|value| !value.is_empty())
}

/// How many numbers a list such as `0-3,6,8-9` holds.
fn list_length(list: &str) -> Option<u32> {
    list.split(',')
        .map(|part| match part.split_once('-') {
            Some((first, last)) => {
                last.parse::<u32>().ok()?.checked_sub(first.parse().ok()?).map(|steps| steps + 1)
            }
            None => part.parse::<u32>().ok().map(|_| 1),
        })
        .sum()
}

fn bracketed(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(chosen, _)| chosen.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_counted() {
        assert_eq!(list_length("0-3,6,8-9"), Some(7));
        assert_eq!(list_length("0"), Some(1));
        assert_eq!(list_length(""), None);
        assert_eq!(list_length("3-1"), None);
    }

    #[test]
    fn marks_of_hypervisors_are_told_apart() {
        assert_eq!(hypervisor_from("QEMU Standard PC", "tsc", ""), Some("kvm"));
        assert_eq!(hypervisor_from(" ", "tsc kvm-clock acpi_pm", ""), Some("kvm"));
        assert_eq!(
            hypervisor_from("Microsoft Corporation Virtual Machine", "hyperv_clocksource_tsc_page", ""),
            Some("hyper-v")
        );
        assert_eq!(hypervisor_from("Amazon EC2 m7g.metal", "arch_sys_counter", ""), None);
        assert_eq!(hypervisor_from("Dell Inc. PowerEdge R750", "tsc hpet acpi_pm", ""), None);
    }

    #[test]
    fn fields_and_brackets_are_read() {
        assert_eq!(
            field("processor\t: 0\nmodel name\t: AMD EPYC\n", "model name").as_deref(),
            Some("AMD EPYC")
        );
        assert_eq!(field("model name\t: \n", "model name"), None);
        assert_eq!(bracketed("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(bracketed("always"), None);
    }
}
