//! A comparison as a table in a terminal, for `dyno compare`: each figure of each side, its ratio to the base's with the
//! interval, and what that says in a word; the ladders side by side; at the end what differs and matters.
//!
//! No colour means anything alone. What is unknown is shown as unknown, and where no interval could be had, that is said.

mod ladder;
mod table;
mod words;

use dyno_results::comparison::{
    Absent, Comparison, Difference, Section, SectionKind, SeriesComparison, SideInfo, SideLoad,
};
use dyno_results::event::Severity;

use self::table::TableColumns;
use crate::summary::{passes, severity};
use crate::terminal::Terminal;
use crate::text::{DOT, Paint, Sheet, pad_end, uncoloured, visible, width};
use dyno_results::format;

/// A name of a side that is longer than this stands in the list of sides only, and a letter for it in the tables.
const NAME_WIDTH_MAX: usize = 11;

/// Draws the comparison, a newline at its end. No line is wider than the terminal.
pub fn render(comparison: &Comparison, terminal: Terminal) -> String {
    let paint = Paint { color: terminal.color };
    let labels = words::labels(comparison)
        .into_iter()
        .chain(comparison.series.iter().map(|series| series.name.as_str()));
    let mut sheet = Sheet::new(terminal.width, paint, labels);
    let names = names(&comparison.sides);
    sides(comparison, &names, &mut sheet);
    not_comparable(comparison, &mut sheet);
    for series in &comparison.series {
        self::series(comparison, series, &names, &mut sheet);
    }
    for data in &comparison.data {
        blank(&mut sheet);
        sheet.row("data", &paint.faint(&visible(&data.workload)));
        table::rows(&data.rows, &TableColumns { names: &names, base: comparison.base }, &mut sheet);
    }
    absent(&comparison.absent, &mut sheet);
    differences(&comparison.differences, &mut sheet);
    sheet.into_lines().join("\n") + "\n"
}

fn blank(sheet: &mut Sheet) {
    sheet.row("", "");
}

/// What the sides are called in the tables: their names where all are short, else letters.
fn names(sides: &[SideInfo]) -> Vec<String> {
    let visible_names: Vec<String> = sides.iter().map(|side| visible(&side.name).into_owned()).collect();
    if visible_names.iter().all(|name| width(name) <= NAME_WIDTH_MAX) {
        return visible_names;
    }
    (0..sides.len()).map(letter).collect()
}

/// A, B, …, Z, S27, ….
fn letter(index: usize) -> String {
    let small = u8::try_from(index).ok().filter(|index| *index < 26);
    small.map_or_else(|| format!("S{}", index + 1), |index| char::from(b'A' + index).to_string())
}

fn sides(comparison: &Comparison, names: &[String], sheet: &mut Sheet) {
    let name_width = names.iter().map(|name| width(name)).max().unwrap_or(0);
    for (index, (side, name)) in comparison.sides.iter().zip(names).enumerate() {
        let mut parts = Vec::new();
        if *name != side.name {
            parts.push(visible(&side.name).into_owned());
        }
        parts.push(
            side.product
                .as_deref()
                .map_or_else(|| "unrecognised product".to_owned(), |product| visible(product).into_owned()),
        );
        if let Some(profile) = &side.embedded_profile {
            parts.push(format!("{} profile", visible(profile)));
        }
        match side.runs.as_slice() {
            [only] if side.name.starts_with(only.as_str()) => {}
            [only] => parts.push(format!("run {}", visible(only))),
            several => {
                parts.push(format!(
                    "runs {}",
                    several.iter().map(|run| visible(run)).collect::<Vec<_>>().join(", ")
                ));
            }
        }
        if index == comparison.base {
            parts.push("base".to_owned());
        }
        let text = format!("{}  {}", pad_end(name, name_width), parts.join(DOT));
        sheet.paragraph(if index == 0 { "compare" } else { "" }, &text, uncoloured);
    }
}

/// Said before any figure, for those who read no further: what is so of all series, or of how many.
fn not_comparable(comparison: &Comparison, sheet: &mut Sheet) {
    let all = &comparison.series;
    let own: Vec<&SeriesComparison> =
        all.iter().filter(|series| !grave(comparison, Some(&series.name)).is_empty()).collect();
    let mut aspects = grave(comparison, None);
    if own.len() == all.len() {
        let of_series = all.iter().flat_map(|series| grave(comparison, Some(&series.name)));
        of_series.for_each(|aspect| {
            if !aspects.contains(&aspect) {
                aspects.push(aspect);
            }
        });
    }
    if !aspects.is_empty() {
        let text = format!("NOT COMPARABLE: {} (see the findings below)", aspects.join(", "));
        sheet.paragraph("", &text, Paint::bad);
    } else if !own.is_empty() {
        let names: Vec<_> = own.iter().map(|series| visible(&series.name)).collect();
        let text = format!("{} of {} series NOT COMPARABLE: {}", own.len(), all.len(), names.join(", "));
        sheet.paragraph("", &text, Paint::bad);
    }
}

/// What makes a series not comparable by itself, or all of them.
fn grave<'a>(comparison: &'a Comparison, series: Option<&str>) -> Vec<&'a str> {
    let own = comparison.differences.iter().filter(|difference| difference.series.as_deref() == series);
    let mut aspects = Vec::new();
    for difference in own.filter(|difference| difference.severity == Severity::Invalid) {
        if !aspects.contains(&difference.aspect) {
            aspects.push(difference.aspect);
        }
    }
    aspects
}

fn series(comparison: &Comparison, series: &SeriesComparison, names: &[String], sheet: &mut Sheet) {
    let columns = TableColumns { names, base: comparison.base };
    blank(sheet);
    let mut label = series.name.as_str();
    for section in &series.sections {
        let heading = heading(series, section, names);
        sheet.paragraph(label, &heading, Paint::faint);
        label = "";
        table::rows(&section.rows, &columns, sheet);
    }
    let own = grave(comparison, Some(&series.name));
    if !own.is_empty() && comparison.series.len() > 1 {
        sheet.paragraph("", &format!("NOT COMPARABLE: {}", own.join(", ")), Paint::bad);
    }
    sheet.paragraph("", &visible(&series.basis.text), Paint::faint);
    let (base, mut label) = (&comparison.sides[comparison.base].name, "speed-up");
    for (own, all) in names.iter().zip(&series.speed_ups) {
        for found in all.iter().filter(|found| found.base == *base) {
            let text = passes::speed_up(own, &names[comparison.base], found);
            sheet.paragraph(std::mem::take(&mut label), &text, uncoloured);
        }
    }
    ladder::rows(&series.ladder, &columns, sheet);
}

/// What a table is of: workload and load, once where the sides agree.
fn heading(series: &SeriesComparison, section: &Section, names: &[String]) -> String {
    let loads: Vec<Option<String>> = section.loads.iter().map(|load| load.as_ref().map(load_words)).collect();
    match section.kind {
        SectionKind::Headline => {
            let workloads =
                series.workloads.iter().map(|name| name.as_deref().map(|name| visible(name).into_owned()));
            format!(
                "{}{DOT}{}",
                once_or_each(&workloads.collect::<Vec<_>>(), names),
                once_or_each(&loads, names)
            )
        }
        SectionKind::CommonLoad => {
            format!("at a load that all have climbed{DOT}{}", once_or_each(&loads, names))
        }
        SectionKind::Peak => "the ladder's peak".to_owned(),
    }
}

/// `8 clients`, or `pg 8 clients, my 16 clients`.
fn once_or_each(texts: &[Option<String>], names: &[String]) -> String {
    let known: Vec<&String> = texts.iter().flatten().collect();
    match known.first() {
        None => format::UNKNOWN.to_owned(),
        Some(first) if known.iter().all(|text| text == first) => (*first).clone(),
        _ => {
            let each = names
                .iter()
                .zip(texts)
                .filter_map(|(name, text)| Some(format!("{name}: {}", text.as_ref()?)));
            each.collect::<Vec<_>>().join(DOT)
        }
    }
}

/// `hold of 30 s, 8 clients`, `3 passes over 22 queries, 1 client`
fn load_words(load: &SideLoad) -> String {
    let clients = match load.clients_end.filter(|end| *end != load.clients) {
        Some(end) => format!("{} to {}", load.clients, format::counted(u64::from(end), "client")),
        None => format::counted(u64::from(load.clients), "client"),
    };
    let rate = load.rate_per_s.map_or(String::new(), |rate| format!(", {}/s", format::plain(rate)));
    let pool = load.connections.map_or(String::new(), |connections| {
        format!(" on {}", format::counted(u64::from(connections), "connection"))
    });
    let what = match load.queries {
        Some(queries) => {
            let passes = if load.stages.len() == 1 { "pass" } else { "passes" };
            format!("{} {passes} over {}", load.stages.len(), format::queries(queries))
        }
        None => {
            let seconds = format::duration_s((load.seconds * 10.0).round() / 10.0);
            format!("{} of {seconds}", load.kind.stage_name())
        }
    };
    format!("{what}{rate}, {clients}{pool}")
}

fn absent(absent: &[Absent], sheet: &mut Sheet) {
    let mut label = "missing";
    for series in absent {
        if label == "missing" {
            blank(sheet);
        }
        let names = |names: &[String]| names.iter().map(|name| visible(name)).collect::<Vec<_>>().join(", ");
        let text = format!(
            "{} has no series {}, which {} has{}",
            names(&series.lacking),
            visible(&series.series),
            names(&series.present),
            if series.compared { "" } else { ": not compared" }
        );
        sheet.paragraph(label, &text, Paint::doubt);
        label = "";
    }
}

/// What differs and matters, the gravest first, each with its severity beside it.
fn differences(differences: &[Difference], sheet: &mut Sheet) {
    blank(sheet);
    if differences.is_empty() {
        sheet.row("findings", "none: the sides differ in nothing that dyno knows of");
        return;
    }
    let mut code = None;
    for difference in differences {
        if code.replace(difference.code) != Some(difference.code) {
            let label = if difference.code == differences[0].code { "findings" } else { "" };
            sheet.row(label, difference.code.as_str());
        }
        let (word, paint) = severity(difference.severity);
        let series =
            difference.series.as_deref().map_or(String::new(), |series| format!("{}: ", visible(series)));
        let weighty = difference.severity > Severity::Note;
        let text = format!("{series}{}", visible(&difference.text));
        sheet.paragraph(word, &text, if weighty { paint } else { uncoloured });
        sheet.paragraph("", &format!("→ {}", difference.advice), Paint::faint);
    }
}

#[cfg(test)]
#[path = "compare/tests.rs"]
mod tests;
