//! Which product it is. Many servers speak PostgreSQL's protocol; each is recognised by its own words in
//! `version()` or by settings and functions that only it has, and is otherwise left unrecognised.

use super::known;
use crate::connection::{Connection, QueryError};

/// A product that was recognised for certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recognised {
    pub(super) product: String,
    pub(super) version: Option<String>,
}

/// A product that names itself in `version()`: what it says, and what its version follows.
struct OwnWords {
    says: &'static str,
    version_after: &'static str,
    product: &'static str,
}

const OWN_WORDS: &[OwnWords] = &[
    OwnWords { says: "CockroachDB ", version_after: " v", product: "CockroachDB" },
    OwnWords { says: "-YB-", version_after: "-YB-", product: "YugabyteDB" },
    OwnWords { says: "Greenplum Database ", version_after: "Greenplum Database ", product: "Greenplum" },
    OwnWords { says: ", Redshift ", version_after: ", Redshift ", product: "Amazon Redshift" },
    OwnWords {
        says: "(EnterpriseDB Advanced Server ",
        version_after: "(EnterpriseDB Advanced Server ",
        product: "EDB Postgres Advanced Server",
    },
    OwnWords { says: "(Materialize v", version_after: "(Materialize v", product: "Materialize" },
    OwnWords { says: "-RisingWave-", version_after: "-RisingWave-", product: "RisingWave" },
    OwnWords { says: "CrateDB ", version_after: "CrateDB ", product: "CrateDB" },
    OwnWords { says: "QuestDB", version_after: "QuestDB ", product: "QuestDB" },
    OwnWords { says: "(openGauss ", version_after: "(openGauss ", product: "openGauss" },
];

/// Who packages PostgreSQL as it is and says so in brackets.
const PACKAGERS: &[&str] = &["Debian ", "Ubuntu ", "Raspbian ", "Homebrew", "Postgres.app"];

/// Services by the prefix of settings that only they have.
const SERVICES: &[(&str, &str)] = &[
    ("rds", "Amazon RDS for PostgreSQL"),
    ("cloudsql", "Google Cloud SQL for PostgreSQL"),
    ("alloydb", "Google AlloyDB"),
    ("azure", "Azure Database for PostgreSQL"),
    ("neon", "Neon"),
];

/// Recognises the product by `version()` and, where that is PostgreSQL's own, by its surroundings.
pub(super) fn recognise(connection: &mut Connection, text: &str) -> Result<Option<Recognised>, QueryError> {
    if let Some(recognised) = by_own_words(text) {
        return Ok(Some(recognised));
    }
    let Some(version) = plain_version(text) else { return Ok(None) };
    let product = surroundings(connection)?.unwrap_or_else(|| "PostgreSQL".to_owned());
    Ok(Some(Recognised { product, version: Some(version.to_owned()) }))
}

fn by_own_words(text: &str) -> Option<Recognised> {
    let found = OWN_WORDS.iter().find(|it| text.contains(it.says))?;
    let version = text.split_once(found.version_after).and_then(|(_, rest)| {
        let version = rest.split([' ', ')', ',']).next()?;
        version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
    });
    Some(Recognised { product: found.product.to_owned(), version })
}

/// The version in `PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by …`; `None` for a
/// text that PostgreSQL does not write.
fn plain_version(text: &str) -> Option<&str> {
    let (version, rest) = text.strip_prefix("PostgreSQL ")?.split_once(' ')?;
    let rest = match rest.strip_prefix('(') {
        None => rest,
        Some(bracketed) => {
            let (packager, rest) = bracketed.split_once(") ")?;
            PACKAGERS.iter().any(|known| packager.starts_with(known)).then_some(rest)?
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

/// A service that runs PostgreSQL, or an extension that makes another product of it.
fn surroundings(connection: &mut Connection) -> Result<Option<String>, QueryError> {
    let sql = "SELECT to_regproc('aurora_version') IS NOT NULL AS aurora,
        (SELECT string_agg(DISTINCT split_part(name, '.', 1), ',') FROM pg_settings
         WHERE split_part(name, '.', 1) IN ('rds', 'cloudsql', 'alloydb', 'azure', 'neon')
           AND strpos(name, '.') > 0) AS services,
        (SELECT string_agg(extname || ' ' || extversion, ', ' ORDER BY extname) FROM pg_extension
         WHERE extname IN ('citus', 'timescaledb')) AS extensions";
    let Some(row) = known(connection.query(sql).map(Some))?.and_then(|rows| rows.into_iter().next()) else {
        return Ok(None);
    };
    if row.get("aurora") == Some("t") {
        return Ok(Some("Amazon Aurora PostgreSQL".to_owned()));
    }
    let services = row.get("services").unwrap_or_default();
    // Two at once are no certain answer.
    let service = SERVICES.iter().find(|(prefix, _)| *prefix == services).map(|(_, product)| *product);
    let product = service.unwrap_or("PostgreSQL");
    Ok(Some(match row.get("extensions") {
        Some(extensions) => format!("{product} with {extensions}"),
        None => product.to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(plain_version(text), Some(version), "{text}");
            assert_eq!(by_own_words(text), None);
        }
        for text in [
            "PostgreSQL 14.2 (Marvellous 3) on x86_64-linux, compiled by gcc, 64-bit",
            "PostgreSQL 12.3, compiled by Visual C++ build 1914, 64-bit, SomethingElse",
            "PostgreSQL 14.2-X-1 on x86_64-linux, compiled by gcc, 64-bit",
            "PostgreSQL 14.2 on x86_64-linux, compiled by gcc, 64-bit, Other 1.0",
            "SomeDB 1.0",
            "",
        ] {
            assert_eq!(plain_version(text), None, "{text}");
        }
    }

    #[test]
    fn relatives_are_recognised_by_their_own_words() {
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
            (
                "PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2, Redshift 1.0.12103",
                "Amazon Redshift",
                Some("1.0.12103"),
            ),
            ("PostgreSQL 12.3, compiled by Visual C++ build 1914, 64-bit, QuestDB", "QuestDB", None),
        ] {
            let found = by_own_words(text).unwrap();
            assert_eq!((found.product.as_str(), found.version.as_deref()), (product, version));
        }
    }
}
