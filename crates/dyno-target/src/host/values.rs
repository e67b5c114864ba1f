//! One reading: keys of `docs/telemetry.md` and what stood there.

use std::collections::BTreeMap;

pub(super) type HostValues = BTreeMap<String, f64>;

/// What could not be read is left out.
pub(super) fn put(values: &mut HostValues, key: &str, value: Option<f64>) {
    if let Some(value) = value {
        values.insert(key.to_owned(), value);
    }
}
