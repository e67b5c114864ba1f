//! The JSON Schema of the documents, from the types that write them, and what is generated of it: the file from which the page
//! has its types (`npm run types` in `web/`), and the tables of `docs/json.md`; and the tables of measures. All are compared with
//! what is in the tree; with `DYNO_TEST_WRITE=1` they are written.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::comparison::Comparison;
use crate::document::Report;
use crate::measure::{COLUMNS, COUNTS, GAUGES, Measure, POOL_COLUMNS, TIMES};

const SCHEMA: &str = "../../docs/documents.schema.json";
/// Around what is generated of a page.
const MARKERS: [&str; 2] = ["<!-- generated from crates/dyno-results -->\n", "<!-- end -->\n"];

#[test]
fn the_schema_in_the_tree_is_that_of_the_types() {
    let text = serde_json::to_string_pretty(&documents()).unwrap() + "\n";
    is_in_tree(SCHEMA, &text);
}

#[test]
fn the_tables_in_the_tree_are_those_of_the_types() {
    is_in_page("../../docs/json.md", &Tables::of(&documents(), "Report"));
}

#[test]
fn the_tables_of_measures_in_the_tree_are_that_of_the_code() {
    let table = |head: &str, rows: &mut dyn Iterator<Item = &Measure>, row: &dyn Fn(&Measure) -> String| {
        let line = "| --- ".repeat(head.matches('|').count() - 1);
        format!("{head}\n{line}|\n{}", rows.map(row).collect::<String>())
    };
    let slots = || COUNTS.iter().chain(TIMES);
    let of_events = table("| field | kind | unit | meaning |", &mut slots(), &|measure| {
        let Measure { key, kind, unit, meaning, .. } = measure;
        format!("| `{key}` | {} | {unit} | {meaning} |\n", kind.names()[0])
    });
    is_in_page("../../docs/events.md", &of_events);
    let of_metrics = table("| metric | type | meaning |", &mut slots().chain(&GAUGES), &|measure| {
        format!("| `{}` | {} | {} |\n", measure.metric(), measure.kind.names()[1], measure.meaning)
    });
    is_in_page("../../docs/metrics.md", &of_metrics);
    let columns = COLUMNS.iter().chain(&POOL_COLUMNS);
    let in_csv = table("| column of each second | meaning |", &mut columns.clone(), &|measure| {
        format!("| `{}` | {} |\n", measure.head(), measure.meaning)
    });
    is_in_part("../../docs/metrics.md", "\n## CSV\n", &in_csv);
}

#[test]
fn every_field_says_what_it_is() {
    let documents = documents();
    let definitions = documents["$defs"].as_object().unwrap();
    let fields =
        definitions.iter().flat_map(|(name, of)| fields(of).into_iter().map(move |field| (name, field)));
    let says_nothing = |field: &Field| field.description.is_empty() || field.description.contains("[`");
    let silent: Vec<String> = fields
        .filter(|(_, field)| says_nothing(field))
        .map(|(of, field)| format!("{of}.{}", field.name))
        .collect();
    assert!(silent.is_empty(), "no description, or one with a link: {silent:?}");
}

fn path(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

/// What stands between the first markers of a page.
fn is_in_page(file: &str, text: &str) {
    is_in_part(file, "", text);
}

/// The same of a part of it, which begins so.
fn is_in_part(file: &str, part: &str, text: &str) {
    let page = fs::read_to_string(path(file)).unwrap();
    let (earlier, rest) = page.split_at(page.find(part).unwrap());
    let (before, rest) = rest.split_once(MARKERS[0]).unwrap();
    let (_, after) = rest.split_once(MARKERS[1]).unwrap();
    is_in_tree(file, &format!("{earlier}{before}{}{text}{}{after}", MARKERS[0], MARKERS[1]));
}

fn is_in_tree(file: &str, text: &str) {
    if std::env::var_os("DYNO_TEST_WRITE").is_some() {
        fs::write(path(file), text).unwrap();
    }
    let differs = fs::read_to_string(path(file)).unwrap_or_default() != text;
    assert!(
        !differs,
        "{file} is not what the types say: DYNO_TEST_WRITE=1 cargo test -p dyno-results --lib schema"
    );
}

/// The schema of a report or a comparison, in which descriptions say how JSON has what is unknown.
fn documents() -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let any_of = [generator.subschema_for::<Report>(), generator.subschema_for::<Comparison>()];
    let mut definitions = generator.take_definitions(true);
    definitions.values_mut().for_each(say_null);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Document",
        "description": "What `--json` prints: a report, or a comparison.",
        "anyOf": any_of,
        "$defs": definitions,
    })
}

/// Where Rust has `None`, JSON has `null`, or leaves the field out.
fn say_null(schema: &mut Value) {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, field) in fields.into_iter().flatten() {
        let is_there = required.iter().any(|other| other == name);
        if !is_there {
            without_null(field);
        }
        let field = field.as_object_mut().unwrap();
        if let Some(Value::String(text)) = field.get_mut("description") {
            let [first, other] = if is_there { ["`null`"; 2] } else { ["Left out", "left out"] };
            *text =
                text.replace('\n', " ").replace(". `None`", &format!(". {first}")).replace("`None`", other);
        }
        // A description beside a reference would be a type of its own to who makes types of the schema.
        if field.contains_key("description")
            && let Some(reference) = field.remove("$ref")
        {
            field.insert("allOf".to_owned(), json!([{ "$ref": reference }]));
        }
    }
}

fn without_null(field: &mut Value) {
    if let Some(Value::Array(kinds)) = field.get_mut("type") {
        kinds.retain(|kind| kind != "null");
    }
    let field = field.as_object_mut().unwrap();
    if let Some(Value::Array(choices)) = field.remove("anyOf") {
        field
            .extend(choices.into_iter().find(|choice| choice["type"] != "null").into_iter().flat_map(object));
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}

/// A field of a type, and of the variants that are flattened into it.
struct Field<'a> {
    name: &'a str,
    schemas: Vec<&'a Value>,
    description: String,
    always: bool,
}

fn fields(of: &Value) -> Vec<Field<'_>> {
    // `anyOf`: of a type whose variants have no tag.
    let variants: Vec<&Value> =
        ["oneOf", "anyOf"].into_iter().filter_map(|choice| of[choice].as_array()).flatten().collect();
    let mut all: Vec<Field<'_>> = Vec::new();
    for part in [of].into_iter().chain(variants.iter().copied()) {
        for (name, schema) in part["properties"].as_object().into_iter().flatten() {
            match all.iter_mut().find(|field| field.name == name) {
                Some(known) => known.schemas.push(schema),
                None => {
                    all.push(Field {
                        name,
                        schemas: vec![schema],
                        description: String::new(),
                        always: false,
                    });
                }
            }
        }
    }
    let requires = |part: &Value, name: &str| {
        part["required"].as_array().is_some_and(|all| all.iter().any(|other| other == name))
    };
    for field in &mut all {
        let told = field.schemas.iter().find_map(|schema| schema["description"].as_str());
        field.description = told.map_or_else(|| tag(&variants, field.name), str::to_owned);
        field.always = requires(of, field.name)
            || (!variants.is_empty() && variants.iter().all(|part| requires(part, field.name)));
    }
    all.sort_by_key(|field| field.name);
    all
}

/// Of a field that says which of the variants it is: what each of them is.
fn tag(variants: &[&Value], name: &str) -> String {
    let told = variants.iter().filter_map(|variant| {
        let value = variant["properties"][name]["const"].as_str()?;
        Some(format!("`{value}`: {}", variant["description"].as_str()?))
    });
    told.collect::<Vec<_>>().join(" ")
}

/// A heading and a table for each type, in the order in which they are named.
struct Tables<'a> {
    definitions: &'a Map<String, Value>,
    names: Vec<String>,
}

impl<'a> Tables<'a> {
    fn of(documents: &'a Value, root: &str) -> String {
        let definitions = documents["$defs"].as_object().unwrap();
        let mut tables = Self { definitions, names: vec![root.to_owned()] };
        let mut text = String::new();
        let mut at = 0;
        while let Some(name) = tables.names.get(at).cloned() {
            text += &tables.table(&name);
            at += 1;
        }
        text
    }

    fn table(&mut self, name: &str) -> String {
        let definitions = self.definitions;
        let of = &definitions[name];
        let about = of["description"].as_str().unwrap_or_default().replace('\n', " ");
        let mut text = format!("\n## {name}\n\n{about}\n\n| field | type | meaning |\n| --- | --- | --- |\n");
        for field in fields(of) {
            let mut kinds: Vec<String> = Vec::new();
            for schema in &field.schemas {
                let kind = self.kind(schema);
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
            if !field.always {
                kinds.push("left out".to_owned());
            }
            let _ = writeln!(text, "| `{}` | {} | {} |", field.name, kinds.join(" or "), field.description);
        }
        text
    }

    /// What a value is, in words.
    fn kind(&mut self, schema: &Value) -> String {
        if let Some(to) = schema["$ref"].as_str() {
            return self.named(to.trim_start_matches("#/$defs/"));
        }
        if let Some(value) = schema["const"].as_str() {
            return format!("`{value}`");
        }
        if let Some(values) = schema["enum"].as_array() {
            return or(values.iter().map(|value| format!("`{}`", value.as_str().unwrap_or("null"))));
        }
        let choices = ["anyOf", "oneOf", "allOf"].into_iter().find_map(|of| schema[of].as_array());
        if let Some(choices) = choices {
            return or(choices.iter().map(|choice| self.kind(choice)).collect::<Vec<_>>());
        }
        match &schema["type"] {
            Value::String(kind) => self.typed(kind, schema),
            Value::Array(kinds) => {
                or(kinds.iter().map(|kind| self.typed(kind.as_str().unwrap(), schema)).collect::<Vec<_>>())
            }
            _ => "any".to_owned(),
        }
    }

    fn typed(&mut self, kind: &str, schema: &Value) -> String {
        match kind {
            "null" => "`null`".to_owned(),
            "array" => {
                let items = self.kind(&schema["items"]);
                if items.contains(" or ") {
                    format!("array of ({items})")
                } else {
                    format!("array of {items}")
                }
            }
            "object" => format!("object of {}", self.kind(&schema["additionalProperties"])),
            _ => kind.to_owned(),
        }
    }

    /// A type with a table of its own is named, and its table comes later.
    fn named(&mut self, name: &str) -> String {
        let of = &self.definitions[name];
        if of.get("properties").is_none() {
            return self.kind(of);
        }
        if !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_owned());
        }
        format!("[{name}](#{})", name.to_lowercase())
    }
}

fn or(kinds: impl IntoIterator<Item = String>) -> String {
    kinds.into_iter().collect::<Vec<_>>().join(" or ")
}
