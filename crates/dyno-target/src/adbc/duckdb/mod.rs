//! What is known of DuckDB alone: its SQL, its settings and its file.

mod dialect;
mod inspect;

pub(super) use dialect::PRODUCT;
pub(super) use inspect::INSPECTOR;

use crate::connection::{Connection, QueryError};
use crate::product::Recognised;

pub(super) fn recognise(connection: &mut Connection) -> Result<Recognised, QueryError> {
    let rows = connection.query("SELECT library_version, source_id FROM pragma_version()")?;
    let text = |at| rows.first().and_then(|row| row.text(at)).unwrap_or_default();
    let (version, source) = (text(0).trim_start_matches('v'), text(1));
    Ok(Recognised::as_product(&PRODUCT, Some(version.to_owned()), format!("DuckDB v{version} {source}")))
}
