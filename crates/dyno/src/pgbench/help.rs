//! What `-?` prints.

/// Help on every option: what dyno adds comes last.
pub(crate) const HELP: &str = "\
pgbench is a benchmarking tool for PostgreSQL, here on dyno's engine: it runs SQL scripts from
many clients at once and says how fast they went.

Usage:
  pgbench [OPTION]... [DBNAME]

DBNAME may be a connection string or a URL; `pgbench -i` makes the builtin scripts' tables.

Initialization options:
  -i, --initialize         make the tables, in place of running a load
  -I, --init-steps=STEPS   these steps, in this order (default: dtgvp)
                             d  drop the tables             t  create the tables
                             g  fill them from here         G  fill them on the server
                             v  vacuum                      p  primary keys
                             f  foreign keys
  -F, --fillfactor=PERCENT fill factor of the tables, 10 to 100 (default: 100)
  -n, --no-vacuum          leave the vacuum out
  -q, --quiet              one line on progress each 5 seconds
  -s, --scale=NUM          100000 accounts times this (default: 1)
      --foreign-keys       foreign keys too
      --index-tablespace=NAME
                           tablespace of the indexes
      --partition-method=range|hash
                           how accounts are partitioned (default: range)
      --partitions=NUM     partitions of accounts (default: 0, not partitioned)
      --tablespace=NAME    tablespace of the tables
      --unlogged-tables    tables without write-ahead log

Options to select what to run:
  -b, --builtin=NAME[@W]   builtin script, chosen with weight W (default: 1); list lists them
  -f, --file=FILE[@W]      script in a file, likewise; `-` is standard input
  -N, --skip-some-updates  as -b simple-update
  -S, --select-only        as -b select-only
      --show-script=NAME   print a builtin script and end

Benchmarking options:
  -c, --client=NUM         clients (default: 1)
  -C, --connect            a new connection for every transaction
  -D, --define=NAME=VALUE  set a variable of the scripts
  -j, --jobs=NUM           threads (default: 1)
  -L, --latency-limit=MS   count what took longer; with -R, skip what would start later
  -M, --protocol=simple|extended|prepared
                           how statements are sent (default: simple)
  -n, --no-vacuum          no vacuum before the run
  -R, --rate=NUM           transactions a second that are to be started, all clients together
  -s, --scale=NUM          scale to be reported, and the scripts' :scale
  -t, --transactions=NUM   transactions of each client (default: 10)
  -T, --time=SECONDS       run for so long
  -v, --vacuum-all         vacuum all four tables before the run
      --continue-on-error  count a transaction that failed, and go on with the next
      --exit-on-abort      end as soon as any client is aborted
      --max-tries=NUM      tries of a transaction behind serialization failures and deadlocks
                           (default: 1; 0 for no end, with -L or -T)
      --random-seed=SEED   \"time\", \"rand\" or a number

Options to select what is reported:
  -l, --log                write every transaction to a file
  -P, --progress=SECONDS   a line on how it goes, every so often
  -r, --report-per-command latencies and failures of each command of the scripts
      --aggregate-interval=SECONDS
                           one line in the log for each interval
      --failures-detailed  failures by kind
      --log-prefix=PREFIX  the log's name (default: pgbench_log)
      --progress-timestamp progress with seconds of the epoch
      --sampling-rate=NUM  this share of the transactions in the log, 0.01 for 1%
      --verbose-errors     print every error, retried ones too

Common options:
      --debug              print what is done
  -d, --dbname=DBNAME      database
  -h, --host=HOST          the server's host, or the directory of its socket
  -p, --port=PORT          the server's port
  -U, --username=NAME      user
  -V, --version            print the version and end
  -?, --help               print this and end

Options of dyno's own:
      --dyno[=off|brief|full]
                           brief: percentiles, findings and where the run is stored, on
                           standard error (by itself where that is a terminal); full: dyno's
                           whole report behind pgbench's; off: nothing is said or stored
      --no-dyno            as --dyno=off

Examples:
  pgbench -i -s 50 bank                      the tables, at scale 50
  pgbench -c 8 -j 2 -T 60 -P 5 bank          a minute of the TPC-B-like script, a line each 5 s
  pgbench -S -M prepared -c 32 -j 2 -T 60    reads, prepared, in the database of PGDATABASE
  pgbench -f a.sql@9 -f b.sql@1 -r -T 60     two scripts of yours, and what each command takes

Environment: libpq's variables (PGHOST, PGPORT, PGUSER, PGDATABASE, PGPASSWORD, ...),
PGBENCH_RANDOM_SEED for --random-seed, DYNO_PGBENCH for --dyno.

Report bugs to the maintainers of dyno.
";

/// What `-V` prints: scripts look for `pgbench (PostgreSQL) 18`.
pub(crate) const VERSION: &str =
    concat!("pgbench (PostgreSQL) 18.0 (dyno ", env!("CARGO_PKG_VERSION"), ")\n");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgbench::options;

    #[test]
    fn help_is_complete_and_narrow() {
        // What PostgreSQL's own tests of its programs ask for.
        assert!(HELP.lines().all(|line| line.chars().count() <= 95));
        let looked_for =
            ["Initialization options:", "Benchmarking options:", "Common options:", "Report bugs to"];
        for heading in looked_for.into_iter().chain(["benchmarking tool for PostgreSQL", "Usage:"]) {
            assert!(HELP.contains(heading), "{heading}");
        }
        for (short, long) in options::names() {
            let name = match short {
                Some(short) => format!("\n  -{short}, --{long}"),
                None => format!("\n      --{long}"),
            };
            assert!(HELP.contains(&name), "{name}");
        }
    }
}
