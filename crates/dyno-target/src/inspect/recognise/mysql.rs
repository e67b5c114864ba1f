//! Recognising who speaks MySQL's protocol.

use super::version;
use crate::connection::{Connection, QueryError, TextRow};
use crate::inspect::known;
use crate::product::{Bulk, Dialect, Mark, Recognised, mysql, on_mysql};

/// Whether clients may send files, or what goes for them.
const LOCAL_INFILE: &str = "local_infile";

/// Products on MySQL's protocol show InnoDB's settings whether they have InnoDB or not.
fn nothing(version_text: Option<String>) -> Recognised {
    Recognised::nothing(Dialect::MYSQL, &[], version_text)
}

/// Recognises the product by its version, the comment beside it and variables that only it has.
pub(super) fn recognise(connection: &mut Connection) -> Result<Recognised, QueryError> {
    let variables = variables(connection)?;
    let mut recognised = by_words(connection, &variables)?;
    if variables.get(LOCAL_INFILE).is_some_and(|value| value.eq_ignore_ascii_case("OFF") || value == "0") {
        recognised.dialect.bulk = Bulk::WITHOUT_LOAD_LOCAL;
    }
    Ok(recognised)
}

fn by_words(connection: &mut Connection, variables: &Variables) -> Result<Recognised, QueryError> {
    let Some(text) = known(connection.query_value::<String>("SELECT version()"))? else {
        return Ok(nothing(None));
    };
    let comment = variables.get("version_comment").unwrap_or_default();
    if let Some(words) = version::own_words(on_mysql(), &text, comment) {
        return Ok(Recognised::as_product(words.product, words.version, text));
    }
    for product in on_mysql() {
        if let Mark::Variable(name) = product.mark
            && let Some(version) = variables.get(name).filter(|version| !version.is_empty())
        {
            return Ok(Recognised::as_product(product, Some(version.to_owned()), text));
        }
    }
    Ok(match version::plain_mysql(&text, comment).map(str::to_owned) {
        Some(version) => Recognised::as_product(&mysql::MYSQL, Some(version), text),
        None => nothing(Some(text)),
    })
}

/// Variables by their names, in lower case.
#[derive(Debug, Default)]
struct Variables(Vec<(String, String)>);

impl Variables {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

fn variables(connection: &mut Connection) -> Result<Variables, QueryError> {
    let marks = on_mysql().filter_map(|product| match product.mark {
        Mark::Variable(name) => Some(name),
        _ => None,
    });
    let names: Vec<String> =
        [LOCAL_INFILE, "version_comment"].into_iter().chain(marks).map(|name| format!("'{name}'")).collect();
    let sql = format!("SHOW GLOBAL VARIABLES WHERE variable_name IN ({})", names.join(", "));
    let rows = known(connection.query(&sql).map(Some))?.unwrap_or_default();
    let pair = |row: &TextRow| Some((row.text(0)?.to_ascii_lowercase(), row.text(1)?.to_owned()));
    Ok(Variables(rows.iter().filter_map(pair).collect()))
}
