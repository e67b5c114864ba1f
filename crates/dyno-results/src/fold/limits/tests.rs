//! What is at its limit is named, and what is not, or was not read, is not.

use crate::document::{Limit, Saturation};
use crate::event::{Event, Host, Interval, Pool, StageKind, Stamped};
use crate::fixture::{Fixture, FixtureStage, saturated_ladder, target, wobble};
use crate::fold::fold;

/// The saturation of a ladder that was saturated at 8 clients, with what `read` sets for each rung.
fn given_way(same_host: bool, read: impl Fn(&mut Fixture, f64)) -> Saturation {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.push(Event::Target(crate::event::Target { same_host: Some(same_host), ..target("pg") }));
    let roles = if same_host { vec!["driver".to_owned(), "pg".to_owned()] } else { vec!["pg".to_owned()] };
    let host = Host { roles, cpus: Some(8), cpus_limit: same_host.then_some(2.0), ..Host::default() };
    fixture.push(Event::Host(host));
    saturated_ladder(&mut fixture, read);
    let saturation = fold(&fixture.events).series[0].saturation.clone().unwrap();
    assert_eq!((saturation.clients, saturation.last_good), (8, Some(2)));
    saturation
}

/// The only limit that is found; `words` stand in its evidence.
fn only(read: impl Fn(&mut Fixture, f64), resource: &str, words: &[&str]) {
    only_of(given_way(false, read), resource, words);
}

fn only_of(saturation: Saturation, resource: &str, words: &[&str]) {
    let [limit]: [Limit; 1] = saturation.limits.try_into().unwrap();
    assert_eq!(limit.resource, resource, "{}", limit.evidence);
    assert!((0.5..=1.0).contains(&limit.share), "{limit:?}");
    for word in words {
        assert!(limit.evidence.contains(word), "no {word:?} in: {}", limit.evidence);
    }
}

fn none(read: impl Fn(&mut Fixture, f64)) {
    let limits = given_way(false, read).limits;
    assert!(limits.is_empty(), "{limits:?}");
}

/// The processors of the host, busy with this share.
fn busy(fixture: &mut Fixture, share: f64) {
    fixture.read("host", "cpus", 8.0);
    fixture.grow("host", "cpu_user_seconds_total", 8.0 * share);
    fixture.grow("host", "cpu_idle_seconds_total", 8.0 * (1.0 - share));
}

#[test]
fn processors_without_rest_are_named() {
    let full = |fixture: &mut Fixture, load: f64| {
        busy(fixture, 0.97 * load);
        fixture.grow("host", "server_cpu_seconds_total", 7.0 * load);
    };
    only(
        full,
        "cpu",
        &[
            "the host's 8 processors were 97% busy (48% at 4 clients)",
            "the server took 7 of them, other programs 0.76",
        ],
    );
    none(|fixture, load| busy(fixture, 0.85 * load));
    // Without the machine's own time the server's share of its processors decides.
    only(|fixture, load| fixture.grow("host", "server_cpu_seconds_total", 7.5 * load), "cpu", &["94% busy"]);
    none(|fixture, load| fixture.grow("host", "server_cpu_seconds_total", 6.0 * load));
}

#[test]
fn what_others_took_is_no_cause_and_neither_is_what_waits_behind_it() {
    // The server has a quarter of the machine, and its sessions and clients wait.
    let of_others = |fixture: &mut Fixture, load: f64| {
        busy(fixture, 0.99);
        fixture.grow("host", "server_cpu_seconds_total", 2.2 * load);
        fixture.read("database", "waits_sessions[Lock]", 9.0);
    };
    let saturation = given_way(false, of_others);
    assert!(saturation.limits.is_empty(), "{saturation:?}");
    let [taken] = &saturation.taken_by_others[..] else { panic!("{saturation:?}") };
    assert_eq!(taken.resource, "cpu");
    assert!(taken.evidence.ends_with("the server took 2.2 of them, other programs 5.7"), "{taken:?}");
    assert!(over_a_pool(of_others).limits.is_empty());
    // A hypervisor's other machines are others as well.
    let stolen = given_way(false, |fixture, load| {
        busy(fixture, 0.98 * load);
        fixture.grow("host", "cpu_steal_seconds_total", 4.0 * load);
    });
    assert!(stolen.limits.is_empty() && stolen.taken_by_others[0].resource == "cpu", "{stolen:?}");
    // A quota that is used up is the server's own end.
    let quota = given_way(false, |fixture, load| {
        of_others(fixture, load);
        fixture.read("host", "server_cgroup_cpus_limit", 2.3);
    });
    let named: Vec<&str> = quota.limits.iter().map(|limit| limit.resource.as_str()).collect();
    assert_eq!((&named[..], quota.taken_by_others.len()), (&["locks", "cpu-quota"][..], 0));
}

#[test]
fn a_disk_that_others_keep_busy_is_no_cause() {
    let disk = |of_server: f64| {
        given_way(false, |fixture, load| {
            fixture.grow("host", "disk_busy_seconds_total", 0.99 * load);
            for (key, per_second) in [
                ("disk_read_bytes_total", 8e7),
                ("disk_write_bytes_total", 2e7),
                ("server_disk_read_bytes_total", 8e7 * of_server),
                ("server_disk_write_bytes_total", 2e7 * of_server),
            ] {
                fixture.grow("host", key, per_second);
            }
        })
    };
    let saturation = disk(0.1);
    assert!(saturation.limits.is_empty(), "{saturation:?}");
    assert!(saturation.taken_by_others[0].evidence.ends_with("; 10% of its traffic was the server's"));
    let own = disk(0.8);
    assert_eq!((own.limits[0].resource.as_str(), own.taken_by_others.len()), ("disk", 0));
}

#[test]
fn what_fails_has_its_cause_whoever_took_the_processors() {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.push(Event::Target(target("pg")));
    saturated_ladder(&mut fixture, |fixture, load| {
        busy(fixture, 1.0);
        fixture.grow("host", "server_cpu_seconds_total", 2.0 * load);
    });
    for stamped in &mut fixture.events {
        if let Stamped { event: Event::Interval(interval), .. } = stamped
            && interval.clients >= 8
        {
            interval.types[0].failed = 100;
            interval.errors.insert("53300".to_owned(), 100);
        }
    }
    let saturation = fold(&fixture.events).series[0].saturation.clone().unwrap();
    let named = |limits: &[Limit]| -> Vec<String> { limits.iter().map(|it| it.resource.clone()).collect() };
    assert_eq!(named(&saturation.limits), ["connections"]);
    assert_eq!(named(&saturation.taken_by_others), ["cpu"]);
}

#[test]
fn time_that_waits_for_disks_is_no_work_of_processors() {
    none(|fixture, load| {
        fixture.read("host", "cpus", 8.0);
        fixture.grow("host", "cpu_user_seconds_total", 1.0);
        fixture.grow("host", "cpu_iowait_seconds_total", 7.0 * load);
        fixture.grow("host", "cpu_idle_seconds_total", 7.0 * (1.0 - load));
    });
}

#[test]
fn a_quota_is_named_apart_from_the_machine() {
    let capped = |fixture: &mut Fixture, load: f64| {
        busy(fixture, 0.1 * load);
        fixture.read("host", "server_cgroup_cpus_limit", 0.5);
        fixture.grow("host", "server_cgroup_cpu_seconds_total", 0.49 * load);
        fixture.grow("host", "server_cgroup_periods_total", 10.0);
        fixture.grow("host", "server_cgroup_throttled_periods_total", if load < 1.0 { 0.0 } else { 9.3 });
    };
    let words = ["may use 0.50 processors and used 0.49 (0.24 at 4 clients)", "in 93% of the periods"];
    only(capped, "cpu-quota", &words);
    // In bursts: three quarters of it are used on average, and every third period is not enough.
    let bursts = |fixture: &mut Fixture, load: f64| {
        fixture.read("host", "server_cgroup_cpus_limit", 2.0);
        fixture.grow("host", "server_cgroup_cpu_seconds_total", 1.5 * load);
        fixture.grow("host", "server_cgroup_periods_total", 9.0);
        fixture.grow("host", "server_cgroup_throttled_periods_total", 3.0);
    };
    only(bursts, "cpu-quota", &["33% of the periods"]);
    none(|fixture, load| {
        fixture.read("host", "server_cgroup_cpus_limit", 2.0);
        fixture.grow("host", "server_cgroup_cpu_seconds_total", 1.5 * load);
    });
}

#[test]
fn a_quota_that_server_and_dyno_share_is_named() {
    let shared = |fixture: &mut Fixture, load: f64| {
        busy(fixture, 0.25 * load);
        fixture.grow("host", "server_cpu_seconds_total", 1.5 * load);
        fixture.grow("host", "driver_cpu_seconds_total", 0.45 * load);
    };
    let words = ["server and dyno may use 2 processors here and used 1.9 (0.97 at 4 clients)", "took 1.5"];
    only_of(given_way(true, shared), "cpu-quota", &words);
    assert!(given_way(true, |fixture, load| shared(fixture, load * 0.5)).limits.is_empty());
    // The same on a machine that is not dyno's: its own limit says nothing of the server.
    none(shared);
}

#[test]
fn a_disk_that_is_always_busy_is_named_with_its_queue() {
    let disk = |fixture: &mut Fixture, load: f64| {
        fixture.grow("host", "disk_busy_seconds_total", 0.99 * load);
        fixture.grow("host", "disk_queue_seconds_total", 14.0 * load);
        fixture.grow("host", "disk_write_seconds_total", 14.0 * load);
        fixture.grow("host", "disk_read_seconds_total", 0.0);
        fixture.grow("host", "disk_write_operations_total", 1000.0);
        fixture.grow("host", "disk_read_operations_total", 0.0);
    };
    let words = [
        "busy for 99% of the time (50% at 4 clients); 14 operations were under way on average; one took 14 ms (7.0 ms at 4 clients)",
    ];
    only(disk, "disk", &words);
    none(|fixture, load| fixture.grow("host", "disk_busy_seconds_total", 0.8 * load));
}

#[test]
fn a_cap_on_the_disk_is_named() {
    let capped = |fixture: &mut Fixture, load: f64| {
        fixture.grow("host", "disk_busy_seconds_total", 0.1 * load);
        fixture.read("host", "server_cgroup_disk_write_limit_bytes", 1e7);
        fixture.grow("host", "server_cgroup_disk_write_bytes_total", 9.8e6 * load);
    };
    only(capped, "disk", &["may write 9.5 MiB each second and came to 9.3 MiB (4.7 MiB at 4 clients)"]);
    let counted = |fixture: &mut Fixture, load: f64| {
        fixture.read("host", "server_cgroup_disk_write_limit_operations", 60.0);
        fixture.grow("host", "server_cgroup_disk_write_operations_total", 59.0 * load);
    };
    only(counted, "disk", &["may write 60.0 operations each second and came to 59.0 operations"]);
    none(|fixture, load| counted(fixture, load * 0.8));
}

#[test]
fn memory_that_is_gone_is_named() {
    let gone = |fixture: &mut Fixture, load: f64| {
        fixture.read("host", "memory_total_bytes", 1e10);
        fixture.read("host", "memory_available_bytes", 1e10 * (1.0 - 0.97 * load));
        fixture.read("host", "swap_used_bytes", 2e9 * load);
    };
    only(gone, "memory", &["3% of the host's memory were left", "1.9 GiB were swapped out"]);
    let group = |pressure: f64| {
        move |fixture: &mut Fixture, load: f64| {
            fixture.read("host", "server_cgroup_memory_bytes", 1e9);
            fixture.read("host", "server_cgroup_memory_limit_bytes", 1e9);
            fixture.grow("host", "pressure_memory_seconds_total", pressure * load);
        }
    };
    only(group(0.3), "memory", &["954 MiB of the 954 MiB", "30% of the time"]);
    // The page cache fills a group by itself.
    none(group(0.0));
}

fn waits(fixture: &mut Fixture, classes: &[(&str, f64)]) {
    for (class, sessions) in classes {
        fixture.read("database", &format!("waits_sessions[{class}]"), *sessions);
    }
}

#[test]
fn locks_that_others_hold_are_named() {
    let locked =
        |fixture: &mut Fixture, load: f64| waits(fixture, &[("Lock", 7.0 * load), ("CPU", 3.0), ("IO", 0.0)]);
    only(
        locked,
        "locks",
        &["70% of the sessions at work waited for a lock that another held (54% at 4 clients)"],
    );
    none(|fixture, _| waits(fixture, &[("Lock", 4.0), ("CPU", 6.0)]));
    only(
        |fixture, _| waits(fixture, &[("LWLock", 6.0), ("CPU", 4.0)]),
        "locks",
        &["latch within the server"],
    );
}

#[test]
fn a_log_that_everybody_waits_for_is_named() {
    // PostgreSQL's class of its own, and MySQL's sessions in their commit.
    for class in ["Log", "Commit"] {
        let waiting = |fixture: &mut Fixture, load: f64| {
            waits(fixture, &[(class, 8.0 * load), ("IO", 1.0), ("LWLock", 1.0)]);
            fixture.grow("database", "wal_fsyncs_total", 180.0);
        };
        let evidence = "80% of the sessions at work wrote the log or waited until it was written";
        only(waiting, "log", &[evidence, "synced 180 times each second"]);
    }
    // Files and latches that are not the log's.
    none(|fixture, load| waits(fixture, &[("IO", 6.0 * load), ("Log", 2.0), ("CPU", 2.0)]));
}

#[test]
fn a_redo_log_is_full_by_what_the_server_says_of_it() {
    let aged = |age: f64| {
        move |fixture: &mut Fixture, load: f64| {
            fixture.read("database", "checkpoint_age_limit_bytes", 5e7);
            fixture.read("database", "checkpoint_age_bytes", age * load);
        }
    };
    only(aged(4e7), "log", &["80% of the redo log's 47.7 MiB"]);
    none(aged(3e7));
}

#[test]
fn the_driver_at_its_own_bound_is_named() {
    let mut fixture = Fixture::started("2026-11-20-1");
    saturated_ladder(&mut fixture, |_, _| {});
    for stamped in &mut fixture.events {
        if let Stamped { event: Event::Interval(Interval { driver_cpu_ns, .. }), .. } = stamped {
            *driver_cpu_ns = vec![980_000_000, 100_000_000];
        }
    }
    let saturation = fold(&fixture.events).series[0].saturation.clone().unwrap();
    only_of(saturation, "driver", &["dyno's busiest thread was on a processor for 98%"]);
}

/// A ladder over a pool of 8 connections; what is read is as full as `read` says.
fn over_a_pool(read: impl Fn(&mut Fixture, f64)) -> Saturation {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.push(Event::Target(target("pg")));
    for clients in [1_u32, 2, 4, 8, 16, 32, 64] {
        let in_use = f64::from(clients.min(8));
        read(&mut fixture, in_use / 8.0);
        let waiting = f64::from(clients.saturating_sub(8));
        let pool = Pool {
            connections: 8,
            in_use_mean: in_use,
            in_use_max: clients.min(8),
            waiting_mean: waiting,
            waiting_max: clients.saturating_sub(8),
        };
        let wait_us = (waiting * 1000.0) as u64;
        let tps = wobble(in_use as u64 * 125, 5);
        let load = FixtureStage::write(StageKind::Ladder, clients, &tps);
        fixture.play(&FixtureStage { service_us: 8000, pool: Some((pool, wait_us)), ..load });
    }
    fold(&fixture.events).series[0].saturation.clone().unwrap()
}

#[test]
fn a_pool_that_is_too_small_is_the_limit() {
    let saturation = over_a_pool(|fixture, load| busy(fixture, 0.3 * load));
    assert_eq!((saturation.clients, saturation.last_good), (8, Some(2)));
    assert!(saturation.p99_us.unwrap() < 8100.0);
    only_of(
        saturation,
        "connections",
        &["the pool's 8 connections", "22 clients waited for one (0 at 4 clients)"],
    );
}

#[test]
fn a_pool_that_fills_up_behind_the_processors_stands_behind_them() {
    let resources = |saturation: Saturation| -> Vec<String> {
        saturation.limits.into_iter().map(|limit| limit.resource).collect()
    };
    assert_eq!(resources(over_a_pool(|fixture, load| busy(fixture, 0.93 * load))), ["cpu", "connections"]);
}

#[test]
fn a_pool_stands_before_what_was_full_already() {
    // Somebody else keeps the processors busy.
    let saturation = over_a_pool(|fixture, _| busy(fixture, 1.0));
    let resources: Vec<&str> = saturation.limits.iter().map(|limit| limit.resource.as_str()).collect();
    assert_eq!(resources, ["connections", "cpu"]);
}

#[test]
fn connections_that_the_server_refuses_are_named() {
    let mut fixture = Fixture::started("2026-11-20-1");
    fixture.push(Event::Target(target("pg")));
    saturated_ladder(&mut fixture, |_, _| {});
    for stamped in &mut fixture.events {
        if let Stamped { event: Event::Interval(interval), .. } = stamped
            && interval.clients >= 32
        {
            interval.errors.insert("53300".to_owned(), 3);
        }
    }
    let saturation = fold(&fixture.events).series[0].saturation.clone().unwrap();
    only_of(saturation, "connections", &["no connection left of the 100 that it allows 30 times"]);
}

#[test]
fn what_was_full_before_the_ramp_began_stands_behind_what_it_filled() {
    // Somebody else keeps the disk busy.
    let saturation = given_way(false, |fixture, load| {
        busy(fixture, 0.93 * load);
        fixture.grow("host", "disk_busy_seconds_total", 1.0);
    });
    let [first, second] = saturation.limits.as_slice() else { panic!("{saturation:?}") };
    assert_eq!([first.resource.as_str(), second.resource.as_str()], ["cpu", "disk"]);
    assert!(second.evidence.ends_with("; it was so at 1 client already"), "{}", second.evidence);
    assert!(!first.evidence.contains("already"));
}

#[test]
fn a_quota_is_the_bound_whatever_else_the_machine_does() {
    let capped = |fixture: &mut Fixture, load: f64| {
        busy(fixture, 1.0);
        fixture.read("host", "server_cgroup_cpus_limit", 0.5);
        fixture.grow("host", "server_cgroup_cpu_seconds_total", 0.48 * load);
    };
    only(capped, "cpu-quota", &["may use 0.50 processors"]);
}

#[test]
fn the_fullest_stands_first_and_without_readings_nothing_does() {
    let both = given_way(false, |fixture, load| {
        busy(fixture, 0.92 * load);
        fixture.grow("host", "disk_busy_seconds_total", 0.99 * load);
    });
    let resources: Vec<&str> = both.limits.iter().map(|limit| limit.resource.as_str()).collect();
    assert_eq!(resources, ["disk", "cpu"]);
    none(|_, _| {});
}
