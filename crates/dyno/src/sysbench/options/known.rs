//! The options that sysbench has by itself, whatever the test, in the order and the groups in which help lists them.

use dyno_workload::sysbench::lua::{DeclaredOption, OptionKind};

/// Where help lists an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OptionGroup {
    General,
    Random,
    Log,
    Latency,
    Database,
    Mysql,
    Postgres,
    /// What sysbench 1.0.20 does not have.
    Added,
    /// Understood, and not in help.
    Hidden,
}

/// An option.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownOption {
    pub(crate) group: OptionGroup,
    /// With dashes, as help has it.
    pub(crate) name: &'static str,
    pub(crate) kind: OptionKind,
    /// `None`: nothing, and help shows none.
    pub(crate) default: Option<&'static str>,
    pub(crate) about: &'static str,
}

const fn known(
    group: OptionGroup,
    name: &'static str,
    kind: OptionKind,
    default: Option<&'static str>,
    about: &'static str,
) -> KnownOption {
    KnownOption { group, name, kind, default, about }
}

use OptionGroup::{Added, Database, General, Hidden, Latency, Log, Mysql, Postgres, Random};
use OptionKind::{Bool as Flag, Double, File, Integer, List, Size, Text};

#[rustfmt::skip]
pub(crate) const KNOWN: &[KnownOption] = &[
    known(General, "threads", Integer, Some("1"), "sysbench's threads, each a connection; dyno drives them with as many threads as the machine has processors at most"),
    known(General, "events", Integer, Some("0"), "end after this many events of all threads together; 0 for no such limit"),
    known(General, "time", Integer, Some("10"), "end after this many seconds; 0 for no such limit"),
    known(General, "forced-shutdown", Text, Some("off"), "seconds to wait behind --time for events under way before they are cut off, or 'off' to wait as long as they take"),
    known(General, "thread-stack-size", Size, Some("64K"), "has no meaning here: threads are no stacks"),
    known(General, "rate", Integer, Some("0"), "events a second that arrive, of all threads together; 0 for as many as the server can do"),
    known(General, "report-interval", Integer, Some("0"), "print a line with figures every so many seconds; 0 for none"),
    known(General, "report-checkpoints", List, Some(""), "seconds from the start, with commas between them, at which a whole report is printed and the counters begin anew"),
    known(General, "debug", Flag, Some("off"), "print what is of interest to programmers"),
    known(General, "validate", Flag, Some("off"), "have scripts check what they can"),
    known(General, "help", Flag, Some("off"), "print this text"),
    known(General, "version", Flag, Some("off"), "print the version"),
    known(General, "config-file", File, None, "read options from a file, a line NAME=VALUE for each"),
    known(General, "tx-rate", Integer, Some("0"), "the former name of --rate"),
    known(General, "max-requests", Integer, Some("0"), "the former name of --events"),
    known(General, "max-time", Integer, Some("0"), "the former name of --time"),
    known(General, "num-threads", Integer, Some("1"), "the former name of --threads"),
    known(Random, "rand-type", Text, Some("special"), "which distribution ids are drawn from {uniform,gaussian,special,pareto,zipfian}"),
    known(Random, "rand-spec-iter", Integer, Some("12"), "numbers of which one of gaussian or special is the mean"),
    known(Random, "rand-spec-pct", Integer, Some("1"), "percent of all values that are special"),
    known(Random, "rand-spec-res", Integer, Some("75"), "percent of the draws that give a special value"),
    known(Random, "rand-seed", Integer, Some("0"), "seed of the random numbers; 0 for another one each time"),
    known(Random, "rand-pareto-h", Double, Some("0.2"), "the h of pareto"),
    known(Log, "verbosity", Integer, Some("3"), "what is printed {5 - everything, 0 - only what ends the run}"),
    known(Latency, "percentile", Integer, Some("95"), "which percentile of the latency is reported (1-100); 0 for none"),
    known(Latency, "histogram", Flag, Some("off"), "print the histogram of the latency with the report"),
    known(Database, "db-driver", Text, Some("mysql"), "which protocol the database speaks, mysql or pgsql"),
    known(Database, "db-ps-mode", Text, Some("auto"), "whether statements are prepared {auto, disable}"),
    known(Database, "db-debug", Flag, Some("off"), "print what is of interest to programmers of drivers"),
    known(Mysql, "mysql-host", List, Some("localhost"), "host of the server; several are given to the threads in turn"),
    known(Mysql, "mysql-port", List, Some("3306"), "port of the server"),
    known(Mysql, "mysql-socket", List, None, "socket of the server, where the host is localhost"),
    known(Mysql, "mysql-user", Text, Some("sbtest"), "user"),
    known(Mysql, "mysql-password", Text, Some(""), "the user's password"),
    known(Mysql, "mysql-db", Text, Some("sbtest"), "database"),
    known(Mysql, "mysql-ssl", Flag, Some("off"), "encrypt connections"),
    known(Mysql, "mysql-ssl-cipher", Text, Some(""), "has no meaning here: the ciphers are those of TLS 1.2 and 1.3"),
    known(Mysql, "mysql-compression", Flag, Some("off"), "refused: connections are not compressed"),
    known(Mysql, "mysql-debug", Flag, Some("off"), "has no meaning here: there is no client library to trace"),
    known(Mysql, "mysql-ignore-errors", List, Some("1213,1020,1205"), "numbers of the errors behind which an event is begun again, or \"all\""),
    known(Mysql, "mysql-dry-run", Flag, Some("off"), "refused: nothing is pretended"),
    known(Postgres, "pgsql-host", Text, Some("localhost"), "host of the server, or the directory of its socket"),
    known(Postgres, "pgsql-port", Integer, Some("5432"), "port of the server"),
    known(Postgres, "pgsql-user", Text, Some("sbtest"), "user"),
    known(Postgres, "pgsql-password", Text, Some(""), "the user's password"),
    known(Postgres, "pgsql-db", Text, Some("sbtest"), "database"),
    known(Added, "warmup-time", Integer, Some("0"), "seconds of load before counting begins"),
    known(Added, "rand-zipfian-exp", Double, Some("0.8"), "the exponent of zipfian"),
    known(Added, "pgsql-sslmode", Text, Some("prefer"), "whether connections are encrypted, as libpq has it"),
    known(Added, "dyno", Text, None, "what dyno adds {off - nothing, and nothing is stored; brief - some lines on standard error, the default where that is a terminal; full - its whole report behind sysbench's}"),
    known(Hidden, "test", Text, None, "the test's name or path, which may also stand without the option"),
    known(Hidden, "luajit-cmd", Text, None, "for LuaJIT; has no meaning here"),
    known(Hidden, "no-dyno", Flag, Some("off"), "the same as --dyno=off"),
];

impl KnownOption {
    pub(crate) fn declared(&self) -> DeclaredOption {
        declared(self.name, self.kind, self.default, self.about)
    }
}

/// An option with its default as a command line would have it.
pub(crate) fn declared(name: &str, kind: OptionKind, default: Option<&str>, about: &str) -> DeclaredOption {
    let default = default.map(str::to_owned);
    DeclaredOption { name: name.to_owned(), help: about.to_owned(), kind, default }
}

/// The option of that name, with dashes or underscores.
pub(crate) fn find(name: &str) -> Option<&'static KnownOption> {
    KNOWN.iter().find(|known| same_name(known.name, name))
}

/// Whether two names are one: dashes and underscores are the same.
pub(crate) fn same_name(one: &str, other: &str) -> bool {
    let dashes = |byte: u8| if byte == b'_' { b'-' } else { byte };
    one.len() == other.len() && one.bytes().map(dashes).eq(other.bytes().map(dashes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_found_by_both_of_its_names() {
        for known in KNOWN {
            let underscored = known.name.replace('-', "_");
            assert_eq!(find(known.name).map(|it| it.name), Some(known.name));
            assert_eq!(find(&underscored).map(|it| it.name), Some(known.name));
        }
        assert!(find("Threads").is_none() && find("thread").is_none());
    }
}
