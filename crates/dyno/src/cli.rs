//! What the user can type. What it means is decided elsewhere.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::flags::Flags;

/// Measures how much load a database can handle, and how far the figure can be trusted.
#[derive(Debug, Parser)]
#[command(
    name = "dyno",
    version,
    infer_subcommands = true,
    arg_required_else_help = true,
    max_term_width = 100
)]
#[command(after_help = "Examples:
  dyno run                                     how much can PostgreSQL on this machine do?
  dyno run --quick                             the same, roughly, in under thirty seconds
  dyno run --target postgres://me@host/db      a database of yours
  dyno report                                  the last run again

`dyno COMMAND --help` has more examples, `dyno run WORKLOAD --help` the options of a workload.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Box<RunArguments>),
    Plan(Box<PlanArguments>),
    /// Print the JSON Schema of a scenario file
    Schema,
    Pgbench(PgbenchArguments),
    Sysbench(SysbenchArguments),
    Compare(CompareArguments),
    Report(ReportArguments),
    Serve(ServeArguments),
    Runs(RunsArguments),
    Findings(FindingsArguments),
    Workloads(WorkloadsArguments),
    /// List the scenarios that come with dyno
    Scenarios(ListArguments),
    Targets(TargetsArguments),
    Completions(CompletionsArguments),
}

/// Measure how much load a database can handle: prepare the data, warm up, run a ladder of client counts, hold the
/// peak, verify, judge, report
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  dyno run
  dyno run --quick
  dyno run --server postgres@17 --profile default
  dyno run --target postgres://me@host/db --scale 1000 --clients 1,2,4,8,16,32,64,128 --hold 3m
  dyno run --target postgres://me@host/db --workload tpcb/select-only --rate 5000/s --duration 60s
  dyno run sysbench/oltp_read_write --target mysql://me@host/db --tables 8 --table-size 1000000
  dyno run --target 'host=/tmp dbname=bank' --clients 1..200 --duration 5m
  dyno run events/ingest --target pg=postgres://me@host/db --target my=mysql://me@host/db --ramp 1..200 --step 60s
  dyno run events/join --target a=embedded:postgres@16 --target b=embedded:postgres@17 --rows 70M --cold --live
  dyno run --target pg=postgres://me@db1/db --host-metrics http://db1:9100/metrics --clients 5000 --connections 40
  dyno run ./queries/ --target duckdb:sales.db --target pg=postgres://me@host/sales
  dyno run storage --variant heap --variant 'indexed=index(abalance)' --scale 100 --target postgres://me@host/db
  dyno run my-scenario.toml --json

Passwords: PGPASSWORD, ~/.pgpass, a service file, MYSQL_PWD, MySQL's option files, or a URL in a --target-file. The data of tpcb is four tables
named pgbench_…; a script that writes empties pgbench_history first, as pgbench does. The data of
sysbench are the tables sbtest1, sbtest2, …

Exit status: 0 done; 1 could not start, or could not write what was asked for; 2 incomplete; 3 under --strict, a finding is \"invalid\".")]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) what: WhatArguments,

    /// Repeat a stored run: its name or the beginning of it, `last` or `last~1`; other options replace those of the run
    #[arg(long, value_name = "RUN", help_heading = "Workload", conflicts_with = "scenario")]
    pub(crate) rerun: Option<String>,

    /// Make this many runs of the same plan, each stored separately: `dyno compare` needs several for an interval
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        hide_default_value = true,
        value_parser = clap::value_parser!(u32).range(1..=1000),
        help_heading = "Report"
    )]
    pub(crate) runs: u32,

    /// Print the report as JSON (docs/json.md); of several runs one after the other
    #[arg(long, help_heading = "Report")]
    pub(crate) json: bool,

    /// Also write the page to this file, in a directory that exists; it is always written beside the store
    #[arg(long, value_name = "FILE", help_heading = "Report", conflicts_with = "runs")]
    pub(crate) html: Option<PathBuf>,

    /// Write what the queries of a query set returned on the first target to this file, with which --answers compares later
    /// runs
    #[arg(long, value_name = "FILE", help_heading = "Report", conflicts_with = "runs")]
    pub(crate) record: Option<PathBuf>,

    /// Print errors only, and with --json the report
    #[arg(long, short = 'q', help_heading = "Report")]
    pub(crate) quiet: bool,

    /// Exit with 3 if a finding says that the result is invalid
    #[arg(long, help_heading = "Report")]
    pub(crate) strict: bool,

    /// Serve the page during the run, at a free port of this machine or at ADDRESS:PORT (`dyno serve --help`)
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        help_heading = "Report",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:0"
    )]
    pub(crate) live: Option<String>,

    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// What is to be run.
#[derive(Debug, Args)]
pub(crate) struct WhatArguments {
    /// Scenario: one that comes with dyno (`dyno scenarios`), or a TOML file (`dyno plan` writes one); or a workload
    /// (`dyno workloads`)
    #[arg(value_name = "SCENARIO|WORKLOAD")]
    pub(crate) scenario: Option<String>,

    #[command(flatten)]
    pub(crate) flags: Flags,

    /// Read targets from a file, one on each line in the form of --target: other users cannot see a password in it
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    pub(crate) target_file: Option<PathBuf>,
}

/// Print the scenario file that a command line stands for, without passwords; and beside it (on standard error) what the run takes:
/// time, disk space and memory, as far as that is known
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  dyno plan events/ingest --ramp 1..200 > mine.toml
  dyno run mine.toml
  dyno plan mine.toml --hold 5m --json")]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) what: WhatArguments,

    /// Print it as JSON
    #[arg(long, help_heading = "Report")]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

impl WhatArguments {
    /// Whether nothing is named.
    pub(crate) fn is_empty(&self) -> bool {
        self.scenario.is_none() && self.target_file.is_none() && self.flags == Flags::default()
    }
}

/// A drop-in for pgbench: the same options, scripts and output (`dyno pgbench --help`)
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:
  dyno pgbench -i -s 10 bank
  dyno pgbench -c 8 -j 2 -T 60 -P 5 bank",
    disable_help_flag = true
)]
pub(crate) struct PgbenchArguments {
    /// As pgbench takes them
    #[arg(value_name = "OPTIONS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}

/// A drop-in for sysbench's database tests: the same options, scripts and output (`dyno sysbench --help`)
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:
  dyno sysbench --db-driver=pgsql --pgsql-db=bank --tables=4 --table-size=100000 oltp_read_write prepare
  dyno sysbench --mysql-db=bank --threads=16 --time=60 --report-interval=5 oltp_read_write run",
    disable_help_flag = true
)]
pub(crate) struct SysbenchArguments {
    /// As sysbench takes them
    #[arg(value_name = "OPTIONS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}

/// Show a stored run again: the last one, or RUN
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  dyno report
  dyno report 2026-11-20-1 --html out.html
  dyno report last --json | jq .series
  dyno report last --csv series.csv
  dyno report last --plan Q9
  dyno report last --events --follow | jq -c 'select(.event == \"stage-finished\")'")]
pub(crate) struct ReportArguments {
    /// The run's name or its beginning, `last`, or `last~1` for the one before
    #[arg(value_name = "RUN", default_value = "last")]
    pub(crate) run: String,

    /// Print the report as JSON (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Write the page to this file, in a directory that exists
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write the series as CSV, a row for each second, target and stream, to this file or to standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with = "json")]
    pub(crate) csv: Option<Option<PathBuf>>,

    /// Show how each target ran this query of a query set: its steps with times, rows against those planned, and pages
    #[arg(long, value_name = "QUERY", conflicts_with_all = ["json", "html", "csv", "events"])]
    pub(crate) plan: Option<String>,

    /// Print the stream of events as it is stored, one JSON object on each line (docs/events.md)
    #[arg(long, conflicts_with_all = ["json", "csv", "html"])]
    pub(crate) events: bool,

    /// With --events: continue until the run has ended
    #[arg(long, requires = "events")]
    pub(crate) follow: bool,

    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Serve the page: the list of runs, live and stored runs, and overlays of several runs
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  dyno serve
  dyno serve --listen 127.0.0.1:0
  dyno serve --listen 0.0.0.0:7878 --token-file ~/.config/dyno-token

The page is at the address that is printed, with an API beside it (docs/serve.md) and figures for Prometheus at /metrics
(docs/metrics.md). It changes nothing. On this machine alone it needs no token unless one is given; a browser
gets the token once, with ?token=… after the address.")]
pub(crate) struct ServeArguments {
    /// Address and port; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7878")]
    pub(crate) listen: String,

    /// Token that readers need, required if other machines can reach the address; other users of this machine can see a
    /// command line, so a file or DYNO_TOKEN is better
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    pub(crate) token: Option<String>,

    /// File with the token on its first line
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Compare two or more runs, or targets of runs: figures, ratios with intervals, and what is not comparable
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  dyno compare last~1 last
  dyno compare pg my                                the newest run that has both targets
  dyno compare last                                 the targets of the last run
  dyno compare 2026-11-20-1:pg 2026-11-20-3:pg
  dyno compare last:pg/ingest last:my/ingest
  dyno compare 2026-11-20-1,2026-11-20-2,2026-11-20-3 2026-11-20-4,2026-11-20-5,2026-11-20-6
  dyno compare last~1 last --plan Q9
  dyno compare pg my --base my --json | jq '.series[].sections[0].rows[0]'

How to read the result, and when not to trust it: docs/compare.md.

Exit status: 0 done; 1 nothing could be compared; 3 under --strict, the sides are not comparable (\"invalid\").")]
pub(crate) struct CompareArguments {
    /// RUN, RUN:TARGET, RUN:TARGET/SERIES, a target's name, or repeats RUN,RUN,RUN; a RUN is a name, its beginning, `last`
    /// or `last~1`, the one before. The first is the base
    #[arg(value_name = "SIDE", required = true)]
    pub(crate) sides: Vec<String>,

    /// Compare with this side instead of the first
    #[arg(long, value_name = "SIDE")]
    pub(crate) base: Option<String>,

    /// Show how the sides ran this query of a query set, each step marked that the base has not, or that only the base has
    #[arg(long, value_name = "QUERY", conflicts_with = "json")]
    pub(crate) plan: Option<String>,

    /// Print the comparison as JSON (docs/compare.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Exit with 3 if the sides are not comparable: a finding is "invalid"
    #[arg(long)]
    pub(crate) strict: bool,

    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// How a run ended, for `--ended`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum EndedArgument {
    Complete,
    Incomplete,
    No,
}

/// List the stored runs
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  dyno runs
  dyno runs --target mysql --workload join
  dyno runs --text 2026-11 --ended complete
  dyno runs --json | jq -r '.runs[].name'

Texts match anywhere, in upper or lower case; a run is listed if it matches all options.")]
pub(crate) struct RunsArguments {
    /// Only runs with a target of this name, product or version
    #[arg(long, value_name = "TEXT")]
    pub(crate) target: Option<String>,

    /// Only runs with this workload or series
    #[arg(long, value_name = "TEXT")]
    pub(crate) workload: Option<String>,

    /// Only runs with this in their name, command, targets or workloads
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,

    /// Only runs with this outcome; `no`: still running, or killed
    #[arg(long, value_name = "HOW")]
    pub(crate) ended: Option<EndedArgument>,

    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Judge a stored run again with the rules of this version
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  dyno findings
  dyno findings 2026-11-20-1 --strict")]
pub(crate) struct FindingsArguments {
    /// The run's name or its beginning, `last`, or `last~1` for the one before
    #[arg(value_name = "RUN", default_value = "last")]
    pub(crate) run: String,

    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Exit with 3 if a finding says that the result is invalid
    #[arg(long)]
    pub(crate) strict: bool,

    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// List the workloads, write one out as the start of one's own, or check a folder
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  dyno workloads
  dyno workloads export events ./mine
  dyno workloads check ./mine"
)]
pub(crate) struct WorkloadsArguments {
    #[command(subcommand)]
    pub(crate) command: Option<WorkloadsCommand>,

    #[command(flatten)]
    pub(crate) list: ListArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkloadsCommand {
    /// Say what is wrong with a folder that has a workload.toml, or show its SQL and its first rows
    Check {
        /// The folder
        #[arg(value_name = "FOLDER")]
        folder: String,
    },
    /// Write the files of a workload that comes with dyno into a folder of one's own
    Export {
        /// A workload that is a folder: events
        #[arg(value_name = "NAME")]
        name: String,

        /// Where they are written; a file that is there stays, and nothing is written
        #[arg(value_name = "FOLDER")]
        folder: String,
    },
}

/// A list of what is known.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// List the servers that this machine can start, and how to name a target
#[derive(Debug, Args)]
pub(crate) struct TargetsArguments {
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print the shell completion of dyno's commands, options, workloads, scenarios and stored runs
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  dyno completions bash > ~/.local/share/bash-completion/completions/dyno
  dyno completions zsh > ~/.zfunc/_dyno
  dyno completions fish > ~/.config/fish/completions/dyno.fish")]
pub(crate) struct CompletionsArguments {
    #[arg(value_name = "SHELL")]
    pub(crate) shell: CompletionShell,

    /// A command line up to the word that is to be completed: what the script asks
    #[arg(last = true, hide = true)]
    pub(crate) words: Option<Vec<OsString>>,
}

/// The shells that are known.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum CompletionShell {
    Bash,
    Zsh,
    Fish,
}

/// Where runs are stored.
#[derive(Debug, Args)]
pub(crate) struct StoreArguments {
    /// File of the store [default: dyno/dyno.sqlite in $XDG_DATA_HOME or ~/.local/share]
    #[arg(long, value_name = "FILE", env = "DYNO_STORE", help_heading = "Report")]
    pub(crate) store: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_help_and_those_that_work_have_examples() {
        for command in Cli::command().get_subcommands() {
            assert!(command.get_about().is_some(), "{} says what it does", command.get_name());
        }
    }
}
