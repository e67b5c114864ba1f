//! Whether the servers are alike: product, hardware, place, and what a crash would do to what they acknowledged.

use super::{Aspect, noted_among_products, unequal, unequal_where_known, values};
use crate::comparison::document::Difference;
use crate::comparison::side::{Member, Side};
use crate::event::{Code, Finding, Hook, HookTime, Host, Setting, Severity};
use crate::format;
use crate::judge::settings_changed::with_unit;
use crate::words::list;

/// Settings that are named.
const SETTINGS_SHOWN: usize = 6;
/// Memory of two machines of one kind differs by what their firmware keeps.
const MEMORY_TOLERANCE: f64 = 1.02;

const DURABILITY: Aspect = Aspect {
    name: "durability",
    severity: Severity::Invalid,
    advice: "what was acknowledged must survive a crash on every side or on none: set what is named here to match, \
             and run again",
};
const PRODUCT: Aspect = Aspect {
    name: "product",
    severity: Severity::Note,
    advice: "nothing to do where these are what you compare",
};
const VERSION: Aspect = Aspect { name: "version", ..PRODUCT };
const SETTINGS: Aspect = Aspect { name: "settings", ..PRODUCT };
const PROFILE: Aspect = Aspect {
    name: "embedded profile",
    severity: Severity::Doubt,
    advice: "a profile is a set of settings: start both with the same --profile, unless the profiles are what you compare",
};
const HARDWARE_ADVICE: &str = "the ratio is of the machines as much as of the databases: run both on the same machine, or on alike ones";
const PROCESSORS: Aspect =
    Aspect { name: "processors of the server", severity: Severity::Doubt, advice: HARDWARE_ADVICE };
const MODEL: Aspect = Aspect { name: "processor model", ..PROCESSORS };
const MEMORY: Aspect = Aspect { name: "memory of the server", ..PROCESSORS };
const DISK: Aspect = Aspect { name: "disk of the server", ..PROCESSORS };
const CAPS: Aspect = Aspect {
    name: "limits of the server's control group",
    severity: Severity::Doubt,
    advice: "a cap is reached before what the machine can do: give the servers the same limits, or none",
};
const MACHINE: Aspect = Aspect { name: "hardware of the server", ..PROCESSORS };
const DRIVER: Aspect = Aspect { name: "processors of the driver", ..PROCESSORS };
const PLACE: Aspect = Aspect {
    name: "place of the server",
    severity: Severity::Doubt,
    advice: "on one host the driver takes processors from the server, on two the network takes time: arrange both alike",
};
const TLS: Aspect = Aspect {
    name: "encryption",
    severity: Severity::Doubt,
    advice: "encrypting takes processor time on both ends: connect to all the same way",
};
const ISOLATION: Aspect = Aspect {
    name: "isolation level",
    severity: Severity::Doubt,
    advice: "a stricter level locks more, and lets less run side by side: set default_transaction_isolation and \
             transaction_isolation alike, unless the products' own levels are what you compare",
};
const HOOKS: Aspect = Aspect {
    name: "before the load",
    severity: Severity::Doubt,
    advice: "begin all with cold caches, or none (--cold, --before)",
};

pub(super) fn differences(sides: &[Side]) -> Vec<Difference> {
    let same_products = same_products(sides);
    let mut found = vec![durability(sides), product(sides, same_products), profile(sides, same_products)];
    found.extend(hardware(sides));
    found.extend([
        unequal(sides, &DRIVER, values(sides, |member| processors(member.report().host("driver")?))),
        unequal(sides, &PLACE, values(sides, place)),
        unequal(sides, &TLS, values(sides, encryption)),
        unequal_where_known(sides, &CAPS, values(sides, caps)),
        isolation(sides, same_products),
        unequal(sides, &HOOKS, values(sides, |member| Some(hooks(member).to_owned()))),
        settings(sides).filter(|_| same_products),
    ]);
    found.into_iter().flatten().collect()
}

/// What the judge says of durability: one of these of each system.
const DURABILITY_CODES: [Code; 5] = [
    Code::Durable,
    Code::DurabilityOff,
    Code::DurabilityRelaxed,
    Code::DurabilityUnknown,
    Code::DurabilityImplausible,
];

/// The classes of durability are what must agree; what the judge says of each is the evidence.
fn durability(sides: &[Side]) -> Option<Difference> {
    let class = |member: &Member| Some(durability_finding(member)?.code.as_str().to_owned());
    let classes = values(sides, class);
    let mut difference = unequal(sides, &DURABILITY, classes)?;
    let said = values(sides, |member| {
        let finding = durability_finding(member)?;
        let code = finding.code.as_str();
        let class = code.strip_prefix("durability-").unwrap_or(code);
        Some(format!("{class} – {}", finding.evidence))
    });
    // Reads pay nothing for durability: there the judge itself makes no more than a note of it.
    let doubted = sides
        .iter()
        .flat_map(|side| &side.members)
        .filter_map(durability_finding)
        .any(|finding| finding.severity > Severity::Note);
    if !doubted {
        difference.severity = Severity::Note;
    }
    let each = sides
        .iter()
        .zip(&said)
        .map(|(side, said)| format!("{} ({})", said.as_deref().unwrap_or("unknown"), side.name));
    difference.text = format!("{}: {}", DURABILITY.name, each.collect::<Vec<_>>().join("; "));
    difference.values = said;
    Some(difference)
}

fn durability_finding(member: &Member) -> Option<&Finding> {
    let report = member.report();
    let is_of = |finding: &&Finding| {
        DURABILITY_CODES.contains(&finding.code) && report.bears_on(&finding.subject, &member.target)
    };
    report.findings.iter().find(is_of)
}

fn product_name(member: &Member) -> Option<String> {
    member.described()?.product.clone()
}

pub(super) fn same_products(sides: &[Side]) -> bool {
    values(sides, product_name).windows(2).all(|pair| pair[0] == pair[1])
}

fn product(sides: &[Side], same_products: bool) -> Option<Difference> {
    if same_products {
        return unequal(sides, &VERSION, values(sides, |member| member.described()?.version.clone()));
    }
    unequal(sides, &PRODUCT, values(sides, |member| member.described()?.product_with_version()))
}

fn profile(sides: &[Side], same_products: bool) -> Option<Difference> {
    let profile = |member: &Member| {
        let embedded = member.described()?.embedded.as_ref();
        Some(
            embedded
                .map_or_else(|| "none, a server of yours".to_owned(), |embedded| embedded.profile.clone()),
        )
    };
    // What dyno starts and what it was given differ anyway.
    noted_among_products(unequal(sides, &PROFILE, values(sides, profile)), same_products)
}

fn server_host(member: &Member) -> Option<&Host> {
    member.report().server_host(&member.target)
}

/// Whether two servers share a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OneHost {
    No,
    Unknown,
    Yes,
}

pub(super) fn one_host(left: &Member, right: &Member) -> OneHost {
    let here = |member: &Member| member.described().and_then(|target| target.same_host);
    match (here(left), here(right)) {
        (Some(true), Some(true)) => return OneHost::Yes,
        (Some(true), Some(false)) | (Some(false), Some(true)) => return OneHost::No,
        _ => {}
    }
    let name = |member: &Member| address(&member.described()?.url).map(str::to_owned);
    match (name(left), name(right)) {
        (Some(left), Some(right)) if left == right => OneHost::Yes,
        // Two names may be one machine's.
        _ => OneHost::Unknown,
    }
}

/// `db.example` of `postgres://me@db.example:5432/bank`.
fn address(url: &str) -> Option<&str> {
    let rest = url.split_once("://")?.1;
    let authority = rest.split(['/', '?']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let end = if host.starts_with('[') { host.find(']').map(|end| end + 1) } else { host.find(':') };
    Some(&host[..end.unwrap_or(host.len())]).filter(|host| !host.is_empty())
}

fn hardware(sides: &[Side]) -> Vec<Option<Difference>> {
    let unknown = |side: &Side| side.members.iter().all(|member| server_host(member).is_none());
    if sides.iter().all(unknown) {
        // Nothing is known of the machines, not even that they are one.
        let address = |member: &Member| Some(format!("unknown, at {}", address(&member.described()?.url)?));
        return vec![unequal(sides, &MACHINE, values(sides, address))];
    }
    if sides.iter().any(unknown) {
        let known = |member: &Member| server_host(member).map(|_| "known".to_owned());
        return vec![unequal(sides, &MACHINE, values(sides, known))];
    }
    let of = |fact: fn(&Host) -> Option<String>| values(sides, |member| fact(server_host(member)?));
    vec![
        unequal(sides, &PROCESSORS, of(processors)),
        unequal(sides, &MODEL, of(|host| host.cpu_model.clone())),
        memory(sides),
        unequal(sides, &DISK, values(sides, disk)),
    ]
}

fn disk(member: &Member) -> Option<String> {
    let host = server_host(member)?;
    let own = member.described().map_or(host.disk_kind.as_deref(), |target| target.disk_on(host));
    own.map(str::to_owned)
}

/// `2`, `1.5 of 8`
fn processors(host: &Host) -> Option<String> {
    match (host.cpus, host.cpus_limit) {
        (Some(cpus), Some(limit)) if limit < f64::from(cpus) => Some(format!("{limit} of {cpus}")),
        (Some(cpus), _) => Some(cpus.to_string()),
        (None, limit) => limit.map(|limit| limit.to_string()),
    }
}

fn memory(sides: &[Side]) -> Option<Difference> {
    let size = |member: &Member| {
        let host = server_host(member)?;
        [host.memory_bytes, host.memory_limit_bytes].into_iter().flatten().min()
    };
    let sizes: Vec<u64> = sides.iter().flat_map(|side| &side.members).filter_map(size).collect();
    let (least, most) = (sizes.iter().min()?, sizes.iter().max()?);
    let all_known = sides.iter().all(|side| side.members.iter().any(|member| size(member).is_some()));
    if all_known && *most as f64 <= MEMORY_TOLERANCE * *least as f64 {
        return None;
    }
    unequal(sides, &MEMORY, values(sides, |member| size(member).map(format::bytes)))
}

fn place(member: &Member) -> Option<String> {
    Some(if member.described()?.same_host? { "on the driver's host" } else { "on another host" }.to_owned())
}

fn encryption(member: &Member) -> Option<String> {
    Some(if member.described()?.tls.is_some() { "TLS" } else { "none" }.to_owned())
}

/// What the server's control group may use, as it was read under load; `None` where no such group would have been seen.
fn caps(member: &Member) -> Option<String> {
    let mut loads = member.report().stages.iter().filter(|result| result.stage.key.system == member.target);
    let read = &loads.rfind(|result| result.resources.contains_key("server_cpu_cores"))?.resources;
    let moved = |way: &str, unit: &str| read.get(&format!("server_cgroup_disk_{way}_limit_{unit}"));
    let disk = ["read", "write"].into_iter().flat_map(|way| {
        let of_bytes =
            moved(way, "bytes").map(|cap| format!("{} {way} each second", format::bytes(*cap as u64)));
        let of_operations =
            moved(way, "operations").map(|cap| format!("{} {way} operations/s", format::long(*cap)));
        [of_bytes, of_operations]
    });
    let processors = read.get("server_cgroup_cpus_limit").map(|cap| format!("{cap} processors"));
    let memory =
        read.get("server_cgroup_memory_limit_bytes").map(|cap| format::bytes(*cap as u64) + " of memory");
    let caps: Vec<String> = [processors, memory].into_iter().chain(disk).flatten().collect();
    Some(if caps.is_empty() { "none".to_owned() } else { list(&caps) })
}

/// Products differ in it by default, and a note of that is enough.
fn isolation(sides: &[Side], same_products: bool) -> Option<Difference> {
    let level = values(sides, |member| member.described()?.isolation.clone());
    noted_among_products(unequal_where_known(sides, &ISOLATION, level), same_products)
}

/// What was done before the load. How it was done differs from product to product.
fn hooks(member: &Member) -> &'static str {
    let hooks = member.report().hooks.iter().map(|done| &done.hook);
    let before: Vec<_> =
        hooks.filter(|hook| hook.target == member.target && hook.when == HookTime::Before).collect();
    match before.as_slice() {
        [] => "nothing was done",
        hooks if hooks.iter().any(|hook| hook.action == "cold") => {
            let kept = |hook: &&Hook| hook.cold.as_ref().is_some_and(|cold| !cold.kept.is_empty());
            if hooks.iter().any(kept) { "caches made cold in part" } else { "caches made cold" }
        }
        _ => "commands were run",
    }
}

/// What one product was told differently on the sides, durability apart.
fn settings(sides: &[Side]) -> Option<Difference> {
    let rows = |side: &Side| -> Vec<Setting> {
        let Some(member) = side.members.first() else { return Vec::new() };
        let of_target = member.report().settings.iter().filter(|settings| settings.target == member.target);
        of_target.flat_map(|settings| settings.rows.clone()).filter(|row| !row.durability).collect()
    };
    let all: Vec<Vec<Setting>> = sides.iter().map(rows).collect();
    let mut names: Vec<&str> = Vec::new();
    for row in all.iter().flatten().filter(|row| row.changed) {
        // Only what was changed is listed: where it is missing it has its default.
        let value_of = |rows: &Vec<Setting>| rows.iter().find(|other| other.name == row.name).map(with_unit);
        let first = all.first().map(value_of);
        if all.iter().any(|rows| Some(value_of(rows)) != first) && !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    if names.is_empty() {
        return None;
    }
    names.sort_unstable();
    let more = names.len().saturating_sub(SETTINGS_SHOWN);
    names.truncate(SETTINGS_SHOWN);
    let text = |rows: &Vec<Setting>| {
        let each = names.iter().map(|name| {
            let row = rows.iter().find(|row| row.name == *name);
            format!("{name} {}", row.map_or_else(|| "at its default".to_owned(), with_unit))
        });
        let mut each: Vec<String> = each.collect();
        if more > 0 {
            each.push(format!("{more} more"));
        }
        Some(list(&each))
    };
    unequal(sides, &SETTINGS, all.iter().map(text).collect())
}
