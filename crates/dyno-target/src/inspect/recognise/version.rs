//! What texts of versions say: pure functions over `version()` and `@@version_comment`.

use crate::product::{Mark, Product};

/// Who packages PostgreSQL as it is and says so in brackets.
const POSTGRESQL_PACKAGERS: &[&str] = &["Debian ", "Ubuntu ", "Raspbian ", "Homebrew", "Postgres.app"];

/// How `@@version_comment` begins where it is MySQL's own, or of one who packages it as it is.
const MYSQL_COMMENTS: &[&str] = &[
    "MySQL Community Server",
    "MySQL Enterprise Server",
    "Source distribution",
    "(Debian)",
    "(Ubuntu)",
    "Homebrew",
];
/// What follows MySQL's version and is no name of another product; a packager's own number begins with a digit.
const MYSQL_SUFFIXES: &[&str] = &["log", "debug", "commercial", "community", "enterprise"];

/// What a product says of itself, with the version that it names.
#[derive(Debug, Clone)]
pub(super) struct VersionWords {
    pub(super) product: &'static Product,
    pub(super) version: Option<String>,
}

/// The first of some products that names itself in `version()` or in the comment beside it.
pub(super) fn own_words(
    products: impl Iterator<Item = &'static Product>,
    version: &str,
    comment: &str,
) -> Option<VersionWords> {
    for product in products {
        let (text, says, after) = match product.mark {
            Mark::Version { says, version_after } => (version, says, version_after),
            Mark::Comment { says, version_after } => (comment, says, version_after),
            _ => continue,
        };
        if find(text, says).is_some() {
            // Where nothing leads up to it, the version is that with which `version()` begins.
            let named = if after.is_empty() { Some(version) } else { behind(text, after) };
            return Some(VersionWords { product, version: named.and_then(leading_version) });
        }
    }
    None
}

/// Case is no difference between products: `(POLARDB 11.9)`, `(PolarDB 15.8.2.0 …)`.
fn find(text: &str, words: &str) -> Option<usize> {
    text.to_ascii_lowercase().find(&words.to_ascii_lowercase())
}

fn behind<'t>(text: &'t str, words: &str) -> Option<&'t str> {
    text.get(find(text, words)? + words.len()..)
}

/// `2.20.1.0-b0` of `2.20.1.0-b0 on x86_64…`, `10.11.18` of `10.11.18-MariaDB-0+deb12u1`.
fn leading_version(text: &str) -> Option<String> {
    let word = text.split([' ', ')', ',']).next()?;
    let end =
        word.match_indices('-').find(|(at, _)| !is_build(&word[at + 1..])).map_or(word.len(), |(at, _)| at);
    let version = &word[..end];
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
}

/// `b0`, `34`, `rc.1`, `20251017`: what numbers a build, and no name such as `MariaDB` or `google`.
fn is_build(suffix: &str) -> bool {
    let first = suffix.split(['-', '.', '+']).next().unwrap_or_default();
    let digits = first.trim_start_matches(|c: char| c.is_ascii_lowercase());
    digits.starts_with(|c: char| c.is_ascii_digit()) || ["alpha", "beta", "rc"].contains(&first)
}

/// The version in `PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by …`; `None` for a
/// text that PostgreSQL does not write.
pub(super) fn plain_postgresql(text: &str) -> Option<&str> {
    let (version, rest) = text.strip_prefix("PostgreSQL ")?.split_once(' ')?;
    let rest = match rest.strip_prefix('(') {
        None => rest,
        Some(bracketed) => {
            let (packager, rest) = bracketed.split_once(") ")?;
            POSTGRESQL_PACKAGERS.iter().any(|known| packager.starts_with(known)).then_some(rest)?
        }
    };
    let (platform, build) = rest.strip_prefix("on ")?.split_once(", compiled by ")?;
    let plain = !platform.contains(' ') && (build.ends_with("-bit") || build.ends_with("-bit)"));
    let release = version.strip_suffix("devel").unwrap_or(version);
    let numeric = release
        .split(['.', 'b', 'r', 'c', 'e', 't', 'a'])
        .all(|part| part.bytes().all(|b| b.is_ascii_digit()));
    (plain && numeric && release.starts_with(|c: char| c.is_ascii_digit())).then_some(version)
}

/// The version in `8.0.36-0ubuntu0.22.04.1`, where this and the comment are MySQL's own; `None` otherwise.
pub(super) fn plain_mysql<'t>(text: &'t str, comment: &str) -> Option<&'t str> {
    let (version, suffix) = text.split_once('-').unwrap_or((text, ""));
    let numbers: Vec<&str> = version.split('.').collect();
    let numeric = numbers.len() == 3 && numbers.iter().all(|part| part.parse::<u32>().is_ok());
    let first = suffix.split(['-', '.', '+']).next().unwrap_or_default();
    let packaged = suffix.is_empty()
        || first.starts_with(|c: char| c.is_ascii_digit())
        || MYSQL_SUFFIXES.contains(&first);
    let known = MYSQL_COMMENTS.iter().any(|beginning| comment.starts_with(beginning));
    (numeric && packaged && known).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product::{on_mysql, on_postgres};

    fn on_postgres_wire(text: &str) -> Option<(&'static str, Option<String>)> {
        own_words(on_postgres(), text, "").map(|words| (words.product.name, words.version))
    }

    fn on_mysql_wire(text: &str, comment: &str) -> Option<(&'static str, Option<String>)> {
        own_words(on_mysql(), text, comment).map(|words| (words.product.name, words.version))
    }

    #[test]
    fn postgresql_is_recognised_in_its_own_words_only() {
        for (text, version) in [
            (
                "PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit",
                "15.18",
            ),
            ("PostgreSQL 18.1 on aarch64-unknown-linux-gnu, compiled by clang version 19, 64-bit", "18.1"),
            ("PostgreSQL 19devel on x86_64-linux, compiled by gcc-14.2.0, 64-bit", "19devel"),
            ("PostgreSQL 18beta2 on x86_64-linux, compiled by gcc, 64-bit", "18beta2"),
            ("PostgreSQL 18rc1 on x86_64-linux, compiled by gcc, 64-bit", "18rc1"),
        ] {
            assert_eq!(plain_postgresql(text), Some(version), "{text}");
            assert_eq!(on_postgres_wire(text), None);
        }
        for text in [
            "PostgreSQL 14.2 (Marvellous 3) on x86_64-linux, compiled by gcc, 64-bit",
            "PostgreSQL 12.3, compiled by Visual C++ build 1914, 64-bit, SomethingElse",
            "PostgreSQL 14.2-X-1 on x86_64-linux, compiled by gcc, 64-bit",
            "PostgreSQL 14.2 on x86_64-linux, compiled by gcc, 64-bit, Other 1.0",
            "SomeDB 1.0",
            "",
        ] {
            assert_eq!(plain_postgresql(text), None, "{text}");
        }
    }

    #[test]
    fn relatives_of_postgresql_are_recognised_by_their_own_words() {
        for (text, product, version) in [
            (
                "CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27 01:53:43, go1.19.10)",
                "CockroachDB",
                Some("23.1.11"),
            ),
            (
                "PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 16, 64-bit",
                "YugabyteDB",
                Some("2.20.1.0-b0"),
            ),
            (
                "PostgreSQL 9.4.26 (Greenplum Database 6.25.3 build commit:367edc6) on x86_64-unknown-linux-gnu, compiled by gcc, 64-bit",
                "Greenplum",
                Some("6.25.3"),
            ),
            ("PostgreSQL 11.9 (POLARDB 11.9)", "PolarDB for PostgreSQL", Some("11.9")),
            (
                "PostgreSQL 15.8 (PolarDB 15.8.2.0 build unknown) on x86_64-linux-gnu",
                "PolarDB for PostgreSQL",
                Some("15.8.2.0"),
            ),
            (
                "PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2, Redshift 1.0.12103",
                "Amazon Redshift",
                Some("1.0.12103"),
            ),
            ("PostgreSQL 12.3, compiled by Visual C++ build 1914, 64-bit, QuestDB", "QuestDB", None),
        ] {
            let version = version.map(str::to_owned);
            assert_eq!(on_postgres_wire(text), Some((product, version)), "{text}");
            assert_eq!(plain_postgresql(text), None, "{text}");
        }
    }

    #[test]
    fn mysql_is_recognised_in_its_own_words_only() {
        for (text, comment, version) in [
            ("8.0.36", "MySQL Community Server - GPL", "8.0.36"),
            ("9.7.4-2", "(Debian)", "9.7.4"),
            ("8.0.36-0ubuntu0.22.04.1", "(Ubuntu)", "8.0.36"),
            ("5.7.44-log", "MySQL Community Server (GPL)", "5.7.44"),
            ("8.4.3-commercial", "MySQL Enterprise Server - Commercial", "8.4.3"),
        ] {
            assert_eq!(plain_mysql(text, comment), Some(version), "{text} {comment}");
            assert_eq!(on_mysql_wire(text, comment), None, "{text} {comment}");
        }
        for (text, comment) in [
            ("8.0.36", "Wonder Server 3"),
            ("8.0.36-wonder", "MySQL Community Server - GPL"),
            ("8.0", "MySQL Community Server - GPL"),
            ("", ""),
        ] {
            assert_eq!(plain_mysql(text, comment), None, "{text} {comment}");
        }
    }

    #[test]
    fn relatives_of_mysql_are_recognised_by_their_own_words() {
        for (text, comment, product, version) in [
            ("10.11.18-MariaDB-0+deb12u1", "Debian 12", "MariaDB", "10.11.18"),
            ("11.4.5-MariaDB-log", "MariaDB Server", "MariaDB", "11.4.5"),
            (
                "5.7.25-OceanBase seekdb-v1.4.0.0",
                "OceanBase 4.3.5.3 seekdb (r1.4.0.0)",
                "OceanBase seekdb",
                "1.4.0.0",
            ),
            ("5.7.25-OceanBase_CE-v4.2.1.0", "OceanBase_CE 4.2.1.0", "OceanBase", "4.2.1.0"),
            ("5.7.25-OceanBase-v4.3.5.1", "OceanBase 4.3.5.1", "OceanBase", "4.3.5.1"),
            ("8.0.11-TiDB-v7.5.0", "TiDB Server (Apache License 2.0) Community Edition", "TiDB", "7.5.0"),
            ("5.7.25-TiDB-v6.1.0-alpha", "", "TiDB", "6.1.0-alpha"),
            ("5.7.25-TDDL-5.4.19-20251031", "", "PolarDB-X", "5.4.19-20251031"),
            ("8.0.32-X-Cluster-8.4.20-20251017", "", "PolarDB-X Standard Edition", "8.4.20-20251017"),
            ("5.7.36-StoneDB-v1.0.1.42e5a3ad4", "build-", "StoneDB", "1.0.1.42e5a3ad4"),
            (
                "8.0.36-28",
                "Percona Server (GPL), Release 28, Revision 47601f19",
                "Percona Server for MySQL",
                "8.0.36-28",
            ),
            ("8.0.31-google", "(Google)", "Google Cloud SQL for MySQL", "8.0.31"),
            ("8.0.30-Vitess", "Version: 19.0.4", "Vitess", "8.0.30"),
        ] {
            assert_eq!(on_mysql_wire(text, comment), Some((product, Some(version.to_owned()))), "{text}");
            assert_eq!(plain_mysql(text, comment), None, "{text}");
        }
    }
}
