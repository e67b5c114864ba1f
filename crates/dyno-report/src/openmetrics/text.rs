//! The two text formats.

use super::Exposition;
use super::families::{Family, MetricSample, Type};
use crate::text::visible_lines;

/// How the figures are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' text format 0.0.4, which everything reads.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// The one that a client prefers by its `Accept`. Whoever does not ask for OpenMetrics gets Prometheus' own.
    #[must_use]
    pub fn accepted(accept: &str) -> Self {
        let refuses = |range: &str| range.split(';').any(|part| part.trim().replace(' ', "") == "q=0");
        let asked = accept
            .split(',')
            .any(|range| range.trim().starts_with("application/openmetrics-text") && !refuses(range));
        if asked { Self::OpenMetrics } else { Self::Prometheus }
    }

    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The figures as text.
pub fn render(exposition: &Exposition, format: Format) -> String {
    let mut text = String::new();
    for family in &exposition.families {
        write_family(family, format, &mut text);
    }
    if format == Format::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

fn write_family(family: &Family, format: Format, text: &mut String) {
    let (suffix, kind) = match (format, family.of) {
        (Format::OpenMetrics, Type::Counter) => ("", "counter"),
        (Format::Prometheus, Type::Counter) => ("_total", "counter"),
        (_, Type::Gauge) => ("", "gauge"),
        (_, Type::Histogram) => ("", "histogram"),
        (Format::OpenMetrics, Type::Info) => ("", "info"),
        // Which Prometheus' own format has not.
        (Format::Prometheus, Type::Info) => ("_info", "gauge"),
    };
    let name = format!("{}{suffix}", family.name);
    text.push_str(&format!(
        "# HELP {name} {}\n# TYPE {name} {kind}\n",
        escaped(&family.help, format == Format::OpenMetrics)
    ));
    if format == Format::OpenMetrics
        && let Some(unit) = ["seconds", "bytes"].into_iter().find(|unit| name.ends_with(&format!("_{unit}")))
    {
        text.push_str(&format!("# UNIT {name} {unit}\n"));
    }
    for MetricSample { suffix, labels, value } in &family.samples {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value, true))).collect();
        text.push_str(&format!("{}{suffix}{{{}}} {}\n", family.name, labels.join(","), number(*value)));
    }
}

/// Both formats escape the same characters in labels; in a help only OpenMetrics escapes quotes.
fn escaped(text: &str, quoted: bool) -> String {
    let escaped = visible_lines(text).replace('\\', "\\\\").replace('\n', "\\n");
    if quoted { escaped.replace('"', "\\\"") } else { escaped }
}

/// A number with a point, as OpenMetrics wants bounds written.
pub(super) fn number(value: f64) -> String {
    format!("{value:?}")
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn characters_that_reorder_others_are_visible() {
        assert_eq!(escaped("a\u{85}\u{2067}b\nc\"", true), r#"a\\u{85}\\u{2067}b\nc\""#);
    }
}
