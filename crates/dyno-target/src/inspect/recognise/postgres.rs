//! Recognising who speaks PostgreSQL's protocol.

use super::version;
use crate::connection::{Connection, QueryError, TextRow};
use crate::inspect::{known, literal};
use crate::product::{Dialect, Mark, Product, Recognised, on_postgres, postgresql};

/// What is called as on PostgreSQL is taken for the same.
fn nothing(version_text: Option<String>) -> Recognised {
    Recognised::nothing(Dialect::POSTGRESQL, postgresql::DURABILITY, version_text)
}

/// Recognises the product by `version()` and, where that is PostgreSQL's own, by its surroundings.
pub(super) fn recognise(connection: &mut Connection) -> Result<Recognised, QueryError> {
    let Some(text) = known(connection.query_value::<String>("SELECT version()"))? else {
        return Ok(nothing(None));
    };
    if let Some(words) = version::own_words(on_postgres(), &text, "") {
        return Ok(Recognised::as_product(words.product, words.version, text));
    }
    let Some(version) = version::plain_postgresql(&text) else {
        return Ok(nothing(Some(text)));
    };
    let version = Some(version.to_owned());
    let around = surroundings(connection)?;
    let found = around.product.unwrap_or(&postgresql::POSTGRESQL);
    let mut recognised = Recognised::as_product(found, version, text);
    recognised.name = Some(around.name());
    Ok(recognised)
}

/// Extensions that bring a way to store tables: `citus_columnar`, `orioledb`, `pg_duckdb`, ….
const OF_STORAGE: &str = "SELECT refobjid FROM pg_depend JOIN pg_am ON objid = pg_am.oid
    WHERE classid = 'pg_am'::regclass AND refclassid = 'pg_extension'::regclass AND deptype = 'e' AND amtype = 't'";

/// A service that runs PostgreSQL, and the extensions that make another product of it or bring a way to store tables.
#[derive(Debug, Default)]
struct Surroundings {
    /// The product that decides over the dialect.
    product: Option<&'static Product>,
    service: Option<&'static str>,
    /// `citus 12.1-1`
    extensions: Option<String>,
}

impl Surroundings {
    fn name(&self) -> String {
        let product = self.service.unwrap_or(postgresql::POSTGRESQL.name);
        match &self.extensions {
            Some(extensions) => format!("{product} with {extensions}"),
            None => product.to_owned(),
        }
    }
}

fn surroundings(connection: &mut Connection) -> Result<Surroundings, QueryError> {
    let list = |of: fn(Mark) -> Option<&'static str>| {
        let names: Vec<String> = on_postgres().filter_map(|product| of(product.mark)).map(literal).collect();
        names.join(", ")
    };
    let sql = format!(
        "SELECT (SELECT string_agg(name, ',') FROM unnest(ARRAY[{functions}]) AS name
                 WHERE to_regproc(name) IS NOT NULL) AS functions,
                (SELECT string_agg(DISTINCT split_part(name, '.', 1), ',') FROM pg_settings
                 WHERE split_part(name, '.', 1) IN ({prefixes}) AND strpos(name, '.') > 0) AS prefixes,
                (SELECT string_agg(extname, ',' ORDER BY extname) FROM pg_extension
                 WHERE extname IN ({extensions})) AS names,
                (SELECT string_agg(CASE extname WHEN 'columnar' THEN 'Hydra columnar' ELSE extname END
                                   || ' ' || extversion, ', ' ORDER BY extname)
                 FROM pg_extension WHERE extname IN ({extensions}) OR oid IN ({OF_STORAGE})) AS extensions",
        functions = list(|mark| if let Mark::Function(name) = mark { Some(name) } else { None }),
        prefixes = list(|mark| if let Mark::SettingPrefix(name) = mark { Some(name) } else { None }),
        extensions = list(|mark| if let Mark::Extension(name) = mark { Some(name) } else { None }),
    );
    let rows = known(connection.query(&sql).map(Some))?.unwrap_or_default();
    Ok(rows.first().map(read).unwrap_or_default())
}

fn read(row: &TextRow) -> Surroundings {
    let listed = |column, name: &str| row.get(column).unwrap_or_default().split(',').any(|it| it == name);
    // Two services at once are no certain answer.
    let only = |column, name: &str| row.get(column) == Some(name);
    let service = on_postgres().find(|product| match product.mark {
        Mark::Function(name) => listed("functions", name),
        Mark::SettingPrefix(prefix) => row.get("functions").is_none() && only("prefixes", prefix),
        _ => false,
    });
    let extension =
        on_postgres().find(|product| matches!(product.mark, Mark::Extension(name) if listed("names", name)));
    Surroundings {
        product: extension.or(service),
        service: service.map(|product| product.name),
        extensions: row.get("extensions").map(str::to_owned),
    }
}
