//! What to run, as the user says it: the same fields on the command line and in a scenario file (TOML). Every
//! field may be left out; what is left out is decided in `plan`.

mod sysbench;
mod targets;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use dyno_workload::registry::{self, UnknownWorkload};
use serde::{Deserialize, Serialize};

pub(crate) use self::sysbench::SysbenchFields;
pub(crate) use self::targets::{Named, What, split_name, targets_in_file};

use crate::failure::Failure;
use crate::secrets::{hidden, is_like_target};
use crate::units::{Clients, Count, Quantity, Rate, Steps, Time};

/// Scenarios that come with dyno: name and TOML.
pub(crate) const BUILT_IN: [(&str, &str); 5] = [
    ("tpcb", include_str!("../../../scenarios/tpcb.toml")),
    ("sysbench", include_str!("../../../scenarios/sysbench.toml")),
    ("events", include_str!("../../../scenarios/events.toml")),
    ("quick", include_str!("../../../scenarios/quick.toml")),
    ("latency", include_str!("../../../scenarios/latency.toml")),
];

/// The fields of a scenario.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Scenario {
    /// One line for `dyno scenarios`; has no effect.
    #[arg(skip)]
    pub(crate) about: Option<String>,

    /// Database to test: a postgres:// or mysql:// URL, a libpq connection string, or `embedded[:SERVER]` for a PostgreSQL
    /// of dyno's own, which is also the default. Several are measured in one run, each with a short name before it
    #[arg(long, short = 't', value_name = "[NAME=]URL", help_heading = "Target")]
    #[serde(deserialize_with = "targets::one_or_more", alias = "targets")]
    pub(crate) target: Vec<String>,

    /// Where the host of a target is read that is not this one: a node_exporter's URL, http://host:9100/metrics
    #[arg(long, value_name = "[NAME=]URL", help_heading = "Target")]
    #[serde(deserialize_with = "targets::one_or_more")]
    pub(crate) host_metrics: Vec<String>,

    /// Load several targets at the same time, each by itself, instead of in turn: for servers that share no host
    #[arg(long, help_heading = "Target")]
    pub(crate) together: bool,

    /// Restart a server of dyno's own before each series, and drop the kernel's cache of its files
    #[arg(long, help_heading = "Target")]
    pub(crate) cold: bool,

    /// Run a command, or `sql:…` on the target, before a series (join), a kind of stage (warm-up, ladder, ramp, hold) or
    /// the run; NAME:STAGE for one target. DYNO_TARGET, DYNO_URL, DYNO_HOST, DYNO_PORT, DYNO_SERIES and DYNO_STAGE are in
    /// its environment
    #[arg(long, num_args = 2, value_names = ["STAGE", "COMMAND"], help_heading = "Target")]
    #[serde(deserialize_with = "targets::pairs")]
    pub(crate) before: Vec<String>,

    /// The same behind it
    #[arg(long, num_args = 2, value_names = ["STAGE", "COMMAND"], help_heading = "Target")]
    #[serde(deserialize_with = "targets::pairs")]
    pub(crate) after: Vec<String>,

    /// Binaries of the embedded server: postgres, postgres@17, postgres@16.4 or a directory [default: the newest
    /// that is installed, else fetched]
    #[arg(long, value_name = "SERVER", help_heading = "Target")]
    pub(crate) server: Option<String>,

    /// Settings of the embedded server: default, production (durable, sized to the machine) or extreme (unsafe)
    /// [default: production]
    #[arg(long, value_name = "PROFILE", help_heading = "Target")]
    pub(crate) profile: Option<String>,

    /// Directory for the embedded server's data [default: /var/tmp]
    #[arg(long, value_name = "DIR", help_heading = "Target")]
    pub(crate) data_dir: Option<PathBuf>,

    /// Workload by name or beginning of one (`dyno workloads`): tpcb, sysbench, events (each reads, then writes),
    /// tpcb/select-only, sysbench/oltp_read_write, … [default: tpcb; on MySQL sysbench]
    #[arg(long, short = 'w', value_name = "NAME", help_heading = "Workload")]
    pub(crate) workload: Option<String>,

    /// Scale of the data of tpcb; a unit is 100,000 accounts, about 16 MB [default: from the machine, or that of the
    /// data that is there]
    #[arg(long, short = 's', value_name = "N", help_heading = "Workload")]
    pub(crate) scale: Option<u64>,

    /// Rows of the table event, of the workload events: 1000000, 70M [default: what suits the machine, or those that are
    /// there]
    #[arg(long, value_name = "N", help_heading = "Workload")]
    pub(crate) rows: Option<Count>,

    /// Rows of the table customer, of the workload events
    #[arg(long, value_name = "N", help_heading = "Workload")]
    pub(crate) customers: Option<Count>,

    /// Of the workload events: an index on event.customer_id on every product, and not only where the foreign key brings
    /// one (MySQL, MariaDB), so that all targets have the same
    #[arg(long, help_heading = "Workload")]
    pub(crate) customer_index: bool,

    /// Make the data anew: auto (where it is missing), always (drops what is there) or never [default: auto;
    /// --prepare alone means always]
    #[arg(
        long,
        value_name = "WHEN",
        help_heading = "Workload",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "always"
    )]
    pub(crate) prepare: Option<Prepare>,

    /// How statements travel [default: prepared]
    #[arg(long, short = 'M', value_name = "MODE", help_heading = "Workload")]
    pub(crate) protocol: Option<ProtocolName>,

    /// Seed of all random streams [default: from the clock; it is stored with the run]
    #[arg(long, value_name = "N", help_heading = "Workload")]
    pub(crate) seed: Option<u64>,

    /// Clients: a ladder 1,2,4,8, one number, or a ramp 1..200 [default: a ladder until throughput has clearly
    /// passed its peak; with --rate 64; with --duration or --transactions 4 for each processor]
    #[arg(long, short = 'c', value_name = "LIST", help_heading = "Load")]
    pub(crate) clients: Option<Clients>,

    /// Connections that the clients share, for each target; one that waits for its turn has that time in its response
    /// time [default: each client has its own]
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub(crate) connections: Option<u32>,

    /// Load that goes up in steps until the target gives way or the bound is reached: clients 1..200, 1..200+10, 1..1024x2 or
    /// 1.., or a rate 100/s..5000/s+100
    #[arg(long, value_name = "STEPS", help_heading = "Load")]
    pub(crate) ramp: Option<Steps>,

    /// Go on with a ramp to its bound, also when the target has given way
    #[arg(long, help_heading = "Load")]
    pub(crate) to_the_end: bool,

    /// Threads of the load generator [default: half the processors where the server shares them, else all]
    #[arg(long, short = 'j', value_name = "N", help_heading = "Load")]
    pub(crate) threads: Option<u32>,

    /// Duration of the warm-up before a series [default: 5s]
    #[arg(long, value_name = "TIME", help_heading = "Load")]
    pub(crate) warm_up: Option<Time>,

    /// Duration of each rung of a ladder [default: 5s], or of each step of a ramp [default: 10s]
    #[arg(long, value_name = "TIME", help_heading = "Load")]
    pub(crate) step: Option<Time>,

    /// Duration of the hold at the peak [default: 20s]; behind a ramp there is one only if this is said
    #[arg(long, value_name = "TIME", help_heading = "Load")]
    pub(crate) hold: Option<Time>,

    /// One stage of this duration instead of a ladder and a hold [default with --rate or a ramp: 30s]
    #[arg(long, short = 'T', value_name = "TIME", help_heading = "Load")]
    pub(crate) duration: Option<Time>,

    /// Run the hold (or the one stage) so many times; with several targets in turn
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub(crate) repeat: Option<u32>,

    /// One stage in which each client does this many transactions
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub(crate) transactions: Option<u64>,

    /// Open loop: transactions are due at this rate whatever the server does, and done by a pool of clients
    /// (--clients, 64 by default); 100..5000/s is a ramp
    #[arg(long, short = 'R', value_name = "RATE", help_heading = "Load")]
    pub(crate) rate: Option<Rate>,

    /// Times between arrivals of an open loop [default: poisson]
    #[arg(long, value_name = "KIND", help_heading = "Load")]
    pub(crate) arrivals: Option<ArrivalKind>,

    /// Pause of each client between transactions of a closed loop [default: none]
    #[arg(long, value_name = "TIME", help_heading = "Load")]
    pub(crate) think_time: Option<Time>,

    /// Tries for a transaction that meets a serialization failure or deadlock [default: 10]
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub(crate) max_tries: Option<u32>,

    /// Real-time priority for the load threads of an open loop (--rate), where the system grants it: for a driver with
    /// a host of its own
    #[arg(long, help_heading = "Load")]
    pub(crate) realtime: bool,

    /// A rough answer in under thirty seconds: small data, short stages
    #[arg(long, help_heading = "Load")]
    pub(crate) quick: bool,

    /// Do not check after writes that every acknowledged commit is there
    #[arg(long, help_heading = "Workload")]
    pub(crate) no_verify: bool,

    /// Read neither host nor database while the load runs: what they took then stays unknown
    #[arg(long, help_heading = "Load")]
    pub(crate) no_telemetry: bool,

    #[command(flatten)]
    pub(crate) sysbench: SysbenchFields,
}

/// When the data is made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Prepare {
    Auto,
    Always,
    Never,
}

/// How statements travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ProtocolName {
    Simple,
    Extended,
    Prepared,
}

/// Distribution of an open loop's arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ArrivalKind {
    Poisson,
    Constant,
}

impl Scenario {
    /// What is typed: the options, and a name without an option before it.
    pub(crate) fn typed(named: Option<&str>, options: Self) -> Result<Self, Failure> {
        let Some(named) = named else { return Ok(options) };
        let scenario = Self::named(named)?;
        let is_workload = !is_whole(named) && scenario.workload.as_deref() == Some(named);
        match &options.workload {
            Some(other) if is_workload => Err(Failure::Absurd {
                what: format!(
                    "{named} and --workload {other} each name a workload: leave out the one or the other"
                ),
            }),
            _ => Ok(options.or(scenario)),
        }
    }

    /// What a name stands for: a scenario, as [`load`](Self::load) finds it, or else a workload. What could be either is
    /// refused, unless it is a scenario's whole name or both are the same.
    fn named(named: &str) -> Result<Self, Failure> {
        let scenario = match Self::load(named) {
            Err(Failure::ScenarioUnknown { .. }) => None,
            loaded => Some(loaded?),
        };
        let workload = registry::find(named);
        match (scenario, workload) {
            (Some(scenario), _) if is_whole(named) => Ok(scenario),
            (Some(scenario), Ok(workload)) => {
                let same = scenario
                    .workload
                    .as_deref()
                    .is_some_and(|of| registry::find(of).is_ok_and(|of| of == workload) && !scenario.quick);
                if same { Ok(scenario) } else { Err(Failure::NameAmbiguous { named: named.to_owned() }) }
            }
            (Some(scenario), Err(_)) => Ok(scenario),
            (None, Ok(_)) => Ok(Self { workload: Some(named.to_owned()), ..Self::default() }),
            (None, Err(UnknownWorkload::Ambiguous { typed, candidates })) => {
                Err(UnknownWorkload::Ambiguous { typed, candidates }.into())
            }
            (None, Err(UnknownWorkload::NoSuch { nearest, .. })) => {
                let scored = |name: &'static str| (registry::likeness(named, name), name);
                let scenarios =
                    BUILT_IN.iter().map(|(name, _)| scored(name)).filter(|(like, _)| *like > 0.85);
                let nearest = scenarios.chain(nearest.map(scored)).max_by(|a, b| a.0.total_cmp(&b.0));
                Err(Failure::NameUnknown { named: named.to_owned(), nearest: nearest.map(|(_, name)| name) })
            }
        }
    }

    /// Reads the scenario `named`: a file, or one that comes with dyno by its name or the beginning of it.
    pub(crate) fn load(named: &str) -> Result<Self, Failure> {
        if is_like_target(named) && !Path::new(named).is_file() {
            return Err(Failure::ScenarioIsTarget { named: hidden(named) });
        }
        if is_file(named) {
            let path = Path::new(named);
            let text = dyno_target::files::read_to_string(path)
                .map_err(|source| Failure::ScenarioRead { path: path.to_owned(), source })?;
            return Self::parse(named, &text);
        }
        let begins: Vec<_> = BUILT_IN.iter().filter(|(name, _)| name.starts_with(named)).collect();
        match begins[..] {
            [(name, text)] if !named.is_empty() => Self::parse(name, text),
            _ => Err(Failure::ScenarioUnknown { named: named.to_owned() }),
        }
    }

    fn parse(named: &str, text: &str) -> Result<Self, Failure> {
        toml::from_str(text).map_err(|error| Failure::ScenarioWrong {
            named: named.to_owned(),
            nearest: nearest_field(error.message()),
            error: Box::new(error),
        })
    }

    /// True where something is said about an embedded server.
    pub(crate) fn names_embedded(&self) -> bool {
        self.server.is_some() || self.profile.is_some() || self.data_dir.is_some()
    }

    /// What the command line says goes before what the scenario says.
    pub(crate) fn or(self, other: Self) -> Self {
        // What excludes each other is one choice, and that of the command line sets the scenario's aside: a target or
        // an embedded server, a duration or a count of transactions.
        let (here, embedded) = (!self.target.is_empty(), self.names_embedded());
        let alone = self.target.len() == 1;
        let (timed, counted) = (self.duration.is_some(), self.transactions.is_some());
        // A ramp says itself how much load there is, and for how long.
        let ramped = self.ramp.is_some();
        let ramp_of = self.ramp.map(|ramp| ramp.of);
        let open = self.rate.is_some() || ramp_of == Some(Quantity::RatePerS);
        let single = timed || counted || self.rate.is_some();
        let named = single || self.clients.is_some();
        let or_list = |these: Vec<String>, others: Vec<String>| if these.is_empty() { others } else { these };
        Self {
            about: self.about.or(other.about),
            target: or_list(self.target, if embedded { Vec::new() } else { other.target }),
            host_metrics: or_list(self.host_metrics, if here { Vec::new() } else { other.host_metrics }),
            together: self.together || (other.together && !alone),
            cold: self.cold || (other.cold && !here),
            before: or_list(self.before, other.before),
            after: or_list(self.after, other.after),
            server: self.server.or(other.server.filter(|_| !here)),
            profile: self.profile.or(other.profile.filter(|_| !here)),
            data_dir: self.data_dir.or(other.data_dir.filter(|_| !here)),
            workload: self.workload.or(other.workload),
            scale: self.scale.or(other.scale),
            rows: self.rows.or(other.rows),
            customers: self.customers.or(other.customers),
            customer_index: self.customer_index || other.customer_index,
            prepare: self.prepare.or(other.prepare),
            protocol: self.protocol.or(other.protocol),
            seed: self.seed.or(other.seed),
            clients: self.clients.or(other.clients.filter(|_| !ramped)),
            connections: self.connections.or(other.connections.filter(|_| !open)),
            ramp: self.ramp.or(other.ramp.filter(|_| !named)),
            to_the_end: self.to_the_end || (other.to_the_end && !named),
            threads: self.threads.or(other.threads),
            warm_up: self.warm_up.or(other.warm_up),
            step: self.step.or(other.step.filter(|_| !single)),
            hold: self.hold.or(other.hold.filter(|_| !single)),
            repeat: self.repeat.or(other.repeat),
            duration: self.duration.or(other.duration.filter(|_| !counted && !ramped)),
            transactions: self.transactions.or(other.transactions.filter(|_| !timed && !ramped)),
            rate: self.rate.or(other.rate.filter(|_| !ramped)),
            arrivals: self.arrivals.or(other.arrivals.filter(|_| ramp_of != Some(Quantity::Clients))),
            think_time: self.think_time.or(other.think_time.filter(|_| !open)),
            max_tries: self.max_tries.or(other.max_tries),
            realtime: self.realtime || other.realtime,
            quick: self.quick || other.quick,
            no_verify: self.no_verify || other.no_verify,
            no_telemetry: self.no_telemetry || other.no_telemetry,
            sysbench: self.sysbench.or(other.sysbench),
        }
    }
}

/// Whether a name is all of a scenario's.
fn is_whole(named: &str) -> bool {
    is_file(named) || BUILT_IN.iter().any(|(name, _)| *name == named)
}

/// Whether a name is that of a file: one that there is, or that can be nothing else.
fn is_file(named: &str) -> bool {
    named.ends_with(".toml") || Path::new(named).is_file()
}

/// From "unknown field `sclae`, expected one of `scale`, …" the field that was meant.
fn nearest_field(message: &str) -> Option<String> {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let (unknown, known) = quoted.split_first().filter(|_| message.starts_with("unknown field"))?;
    known
        .iter()
        .map(|name| (strsim::jaro_winkler(unknown, name), *name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(score, _)| *score > 0.7)
        .map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_come_with_dyno_can_be_read() {
        for (name, _) in BUILT_IN {
            let scenario = Scenario::load(name).unwrap();
            assert!(scenario.about.is_some(), "{name} says what it is for");
        }
    }

    const DOCUMENT: &str = include_str!("../../../docs/scenario.md");

    #[test]
    fn the_document_has_every_field_and_its_examples_can_be_read() {
        let examples: Vec<_> = DOCUMENT.split("```toml\n").skip(1).collect();
        assert_eq!(examples.len(), 2);
        for example in examples {
            let scenario = Scenario::parse("example", example.split("```").next().unwrap()).unwrap();
            assert!(scenario.workload.is_some());
        }
        let fields = Scenario::augment_args(clap::Command::new("fields"));
        let sysbench = SysbenchFields::augment_args(clap::Command::new("fields"));
        for field in fields.get_arguments().filter(|field| sysbench.get_arguments().all(|of| of != *field)) {
            let name = field.get_long().unwrap();
            assert!(DOCUMENT.contains(&format!("`{name}`")), "{name} is not in docs/scenario.md");
        }
    }

    #[test]
    fn an_unknown_field_is_refused_with_the_nearest() {
        let error = Scenario::parse("x.toml", "sclae = 10").unwrap_err();
        assert!(error.to_string().contains("did you mean `scale`?"), "{error}");
        assert!(Scenario::parse("x.toml", "scale = \"ten\"").is_err());
        assert!(Scenario::parse("x.toml", "\u{0}").is_err());
    }

    #[test]
    fn quantities_are_text_numbers_or_lists() {
        let scenario = Scenario::parse("x", "clients = [4, 1]\nhold = \"3m\"\nstep = 5\nrate = 100").unwrap();
        assert_eq!(scenario.clients, Some(Clients::Ladder(vec![1, 4])));
        assert_eq!(scenario.hold.unwrap().0.as_secs(), 180);
        assert_eq!(scenario.step.unwrap().0.as_secs(), 5);
    }

    #[test]
    fn targets_and_hooks_are_lists() {
        let text = "target = [\"pg=postgres://h\", \"my=mysql://h/d\"]\nbefore = [[\"join\", \"sync\"], [\"hold\", \"sql:x\"]]";
        let scenario = Scenario::parse("x", text).unwrap();
        assert_eq!(scenario.target.len(), 2);
        assert_eq!(scenario.before, ["join", "sync", "hold", "sql:x"]);
        assert!(Scenario::parse("x", "before = [\"join\"]").is_err());
        assert_eq!(Scenario::parse("x", "ramp = \"1..9\"\nrows = \"2k\"").unwrap().rows, Some(Count(2000)));
    }

    #[test]
    fn a_name_is_a_scenario_or_a_workload() {
        let workload = |named: &str| Scenario::named(named).unwrap().workload.unwrap();
        assert_eq!(workload("sysbench/oltp_read_write"), "sysbench/oltp_read_write");
        assert_eq!(workload("oltp_point_select"), "oltp_point_select");
        assert_eq!((workload("tpcb"), workload("sys")), ("tpcb".to_owned(), "sysbench".to_owned()));
        assert!(Scenario::named("quick").unwrap().quick && Scenario::named("la").is_ok());
        let refused = |named: &str| Scenario::named(named).unwrap_err().to_string();
        assert!(refused("select").contains("tpcb/select-only"));
        assert!(refused("quikc").contains("neither a scenario nor a workload"));
        assert!(refused("oltp_raed_only").contains("did you mean sysbench/oltp_read_only?"));
    }

    #[test]
    fn sysbenchs_options_stand_in_a_table() {
        let file = Scenario::parse("x", "[sysbench]\ntables = 2\ntable-size = 500").unwrap();
        let typed = Scenario {
            sysbench: SysbenchFields { tables: Some(3), ..SysbenchFields::default() },
            ..Scenario::default()
        };
        let both = typed.or(file).sysbench;
        assert_eq!((both.tables, both.table_size), (Some(3), Some(500)));
    }

    #[test]
    fn the_command_line_goes_first() {
        let typed = Scenario { scale: Some(3), target: vec!["postgres://h".into()], ..Scenario::default() };
        let file = Scenario {
            scale: Some(5),
            seed: Some(1),
            profile: Some("extreme".into()),
            ..Scenario::default()
        };
        let both = typed.or(file);
        assert_eq!((both.scale, both.seed, both.profile), (Some(3), Some(1), None));
    }

    #[test]
    fn a_choice_of_the_command_line_sets_the_scenarios_aside() {
        let file = Scenario::parse("x", "target = \"postgres://h\"\ntransactions = 5").unwrap();
        let typed = Scenario {
            data_dir: Some("/d".into()),
            duration: Some("5s".parse().unwrap()),
            ..Scenario::default()
        };
        let both = typed.or(file);
        assert_eq!((both.target.len(), both.transactions), (0, None));
        assert!(both.data_dir.is_some() && both.duration.is_some());
        let pooled = "connections = 4\nthink-time = \"1s\"\ntarget = [\"a=postgres://h\", \"b=postgres://i\"]\ntogether = true";
        let typed = Scenario {
            rate: Some("5/s".parse().unwrap()),
            target: vec!["postgres://h".into()],
            ..Scenario::default()
        };
        let both = typed.or(Scenario::parse("x", pooled).unwrap());
        assert!(both.connections.is_none() && both.think_time.is_none() && !both.together);
    }
}
