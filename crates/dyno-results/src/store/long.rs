//! Events that are longer than the store takes: whatever a server, a script or a command has said at length is cut.

use serde_json::Value;

/// Longer events are cut: well below the longest value that a store reads.
const EVENT_BYTES_MAX: usize = 16 << 20;
/// What texts in them are cut to: the first at which the event is short enough.
const TEXT_BYTES_MAX: [usize; 3] = [64 << 10, 4 << 10, 256];

/// The body of an event, its long texts cut where it is too long.
pub(super) fn bounded(body: String) -> serde_json::Result<String> {
    if body.len() <= EVENT_BYTES_MAX {
        return Ok(body);
    }
    let mut event: Value = serde_json::from_str(&body)?;
    let mut body = body;
    for text_bytes in TEXT_BYTES_MAX {
        cut(&mut event, text_bytes);
        body = serde_json::to_string(&event)?;
        if body.len() <= EVENT_BYTES_MAX {
            break;
        }
    }
    Ok(body)
}

fn cut(value: &mut Value, bytes_max: usize) {
    match value {
        Value::String(text) if text.len() > bytes_max => {
            let end = text.floor_char_boundary(bytes_max);
            let left_out = text.len() - end;
            text.truncate(end);
            text.push_str(&format!("… ({left_out} bytes left out)"));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| cut(value, bytes_max)),
        Value::Object(fields) => fields.values_mut().for_each(|value| cut(value, bytes_max)),
        _ => {}
    }
}
