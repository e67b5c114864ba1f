//! The tables of a folder: their columns with the expressions of their values, and what is made of them in a dialect.

use std::borrow::Cow;
use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;

use dyno_results::format::grouped;
use dyno_target::product::Dialect;
use toml::Spanned;

use super::children::{self, CHILD, Children};
use super::file::{BeforeLoad, ColumnFile, ForeignKeyFile, IndexFile, TableFile};
use super::mistake::{Notes, nearest};
use super::options::{Options, Values, inside, text_of};
use super::{COLUMNS_MAX, ROWS_MAX};
use crate::dataset::{self, ForeignKey, Index, Key, Kind, column};
use crate::script::{self, Names, Program, RowContext, Slot, Value, column_seed};

/// The type of what is not stored.
const NONE: &str = "none";
/// The number of a row, from 1 on.
pub(super) const ROW: &str = "row";
/// The longest name.
const NAME_BYTES_MAX: usize = 48;
/// The longest name of an index: PostgreSQL cuts what is longer than 63 bytes.
const INDEX_NAME_BYTES_MAX: usize = 60;
/// Names of databases' own tables begin so.
const RESERVED_BEGINNINGS: [&str; 2] = ["pg_", "sqlite_"];
/// Words that stand for something else where a name has to be.
const RESERVED: [&str; 41] = [
    "all",
    "and",
    "as",
    "by",
    "case",
    "check",
    "column",
    "constraint",
    "create",
    "default",
    "delete",
    "desc",
    "distinct",
    "drop",
    "else",
    "end",
    "from",
    "group",
    "in",
    "index",
    "insert",
    "interval",
    "into",
    "key",
    "like",
    "limit",
    "not",
    "null",
    "on",
    "or",
    "order",
    "primary",
    "references",
    "select",
    "set",
    "table",
    "to",
    "union",
    "user",
    "values",
    "where",
];
/// Of a text column, as far as room is reserved for it.
const TEXT_BYTES: usize = 4096;
/// Room is reserved for so many children of a row, where they are not too long.
const CHILDREN: usize = 16;
/// At most so much room is reserved for a row.
const ROW_BYTES_MAX: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Table {
    pub name: String,
    size: Size,
    pub columns: Vec<Column>,
    pub key: Vec<String>,
    indexes: Vec<TableIndex>,
    pub foreign_keys: Vec<Reference>,
    fill_percent: Option<u8>,
    pub before_load: Option<BeforeLoad>,
    /// It is kept as a variant says.
    pub varies: bool,
    /// The first column is the number of the row.
    pub is_numbered: bool,
    /// Room for a row as text; of children, for those of a row of the parent.
    pub row_bytes_max: usize,
}

/// How many rows a table has.
#[derive(Debug)]
enum Size {
    Rows(Program),
    Children(Children),
}

#[derive(Debug)]
pub(super) struct Column {
    pub name: String,
    /// `None` where its value is for other columns alone, and not stored.
    pub kind: Option<Kind>,
    /// It may be NULL.
    pub null: bool,
    /// Where this is true, it has 32 bits.
    integer_if: Option<Program>,
    pub program: Program,
    /// Where its expression stands in the file.
    pub at: usize,
    pub seed: u64,
    /// The variable of a column that others read.
    pub slot: Option<Slot>,
}

/// A secondary index.
#[derive(Debug)]
pub(super) struct TableIndex {
    pub columns: Vec<String>,
    unique: bool,
    /// It is made where this is true, with the options that the data are made with.
    pub when: Option<Program>,
}

/// A foreign key.
#[derive(Debug)]
pub(super) struct Reference {
    pub columns: Vec<String>,
    /// The place of the table, whose key it is.
    pub table: usize,
}

/// Whether it can be a name of a table, a column or an option.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= NAME_BYTES_MAX
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn check_name(name: &Spanned<String>, what: &str, notes: &mut Notes<'_>) {
    let text = name.get_ref().as_str();
    if !is_name(text) {
        let takes = "it takes small letters, digits and `_`, and begins with a letter";
        notes.at(name.span(), format!("`{text}` is no name for a {what}: {takes}"));
    } else if RESERVED.contains(&text) {
        notes.at(
            name.span(),
            format!("`{text}` is a word of SQL: give the {what} another name, such as `{text}s`"),
        );
    } else if let Some(beginning) = RESERVED_BEGINNINGS.iter().find(|it| text.starts_with(**it)) {
        let own = format!("`{text}` begins with `{beginning}`, as a database's own names do");
        notes.at(name.span(), format!("{own}: give the {what} another name"));
    }
}

/// Looks whether the indexes of a table get names of their own, that are not too long.
fn check_indexes(file: &TableFile, before: &[Table], notes: &mut Notes<'_>) {
    let texts = |columns: &[Spanned<String>]| -> Vec<String> {
        columns.iter().map(|column| column.get_ref().clone()).collect()
    };
    let mut check = |columns: &[Spanned<String>], name: &String, taken: &[String]| {
        let span = columns.first().map_or_else(|| file.name.span(), Spanned::span);
        if name.len() > INDEX_NAME_BYTES_MAX {
            let long = format!("an index would be called `{name}`, longer than {INDEX_NAME_BYTES_MAX} bytes");
            notes.at(span, format!("{long}: give the table or a column a shorter name"));
        } else if taken.contains(name) {
            let second = format!("a second index would be called `{name}`");
            notes.at(span, format!("{second}: leave it out, or give a column another name"));
        }
    };
    // In some products all indexes share a space of names, and in others those of a table.
    let of_others = before.iter().flat_map(|other| {
        other.indexes.iter().map(move |index| schema_index_name(&other.name, &index.columns))
    });
    let mut taken: Vec<String> = of_others.collect();
    let mut of_table: Vec<String> = Vec::new();
    for IndexFile { columns, .. } in &file.indexes {
        let names = texts(columns);
        let name = schema_index_name(file.name.get_ref(), &names);
        check(columns, &name, &taken);
        taken.push(name);
        of_table.push(table_index_name(&names));
    }
    // MySQL has an index for each foreign key, where no other begins with its columns.
    let key = texts(&file.key);
    for (at, ForeignKeyFile { columns, .. }) in file.foreign_keys.iter().enumerate() {
        let names = texts(columns);
        let has_index = key.starts_with(&names)
            || file.indexes.iter().any(|index| texts(&index.columns).starts_with(&names))
            || file.foreign_keys.iter().take(at).any(|other| texts(&other.columns) == names);
        if !has_index {
            let name = table_index_name(&names);
            check(columns, &name, &of_table);
            of_table.push(name);
        }
    }
}

/// The name of an index where those of all tables have names of their own.
fn schema_index_name(table: &str, columns: &[String]) -> String {
    format!("{table}_{}_idx", columns.join("_"))
}

/// That where those of each table have.
fn table_index_name(columns: &[String]) -> String {
    columns.join("_")
}

/// Compiles an expression whose variables are among those that `knows`.
pub(super) fn compile(
    text: &str,
    span: Range<usize>,
    names: &mut Names,
    notes: &mut Notes<'_>,
    knows: impl Fn(Slot) -> bool,
) -> Option<Program> {
    let program = match script::compile(text, names) {
        Ok(program) => program,
        Err(error) => {
            let meant = error.more.as_deref().and_then(|name| nearest(name, script::functions()));
            let meant = meant.filter(|meant| error.more.as_deref() != Some(meant));
            let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
            let what = format!("{} in the expression `{text}`{meant}", error.in_words(text));
            notes.at(inside(&span, error.offset), what);
            return None;
        }
    };
    let unknown = program.reads().find(|slot| !knows(*slot) && names.name(*slot) != "default_seed");
    if let Some(slot) = unknown {
        let name = names.name(slot).to_owned();
        let offset = text.find(&format!(":{name}")).unwrap_or(0);
        let known: Vec<String> =
            names.slots().filter(|slot| knows(*slot)).map(|slot| names.name(slot).to_owned()).collect();
        if name == ROW {
            let instead = match known.iter().any(|name| name == CHILD) {
                true => {
                    "children have no `:row`: `:child` is 1, 2, … among those of its parent, and `:parent.COLUMN` a value of the parent's row"
                }
                false => {
                    "`:row` is the number of a row: it stands in the columns of a table with `rows`, and in `children`"
                }
            };
            notes.at(inside(&span, offset), instead);
            return None;
        }
        notes.unknown(inside(&span, offset), "variable", &name, known.iter().map(String::as_str));
        return None;
    }
    if program.divides_by_zero() {
        notes.at(span, format!("the expression `{text}` divides by zero"));
        return None;
    }
    Some(program)
}

/// The type of a column; why it is none.
fn kind_of(text: &str) -> Result<Kind, String> {
    let (word, sizes) = match text.split_once('(') {
        Some((word, rest)) => {
            let inner = rest.strip_suffix(')').ok_or_else(|| format!("`{text}` has no closing bracket"))?;
            (word.trim(), inner.split(',').map(|size| size.trim().parse::<u16>().ok()).collect())
        }
        None => (text.trim(), Vec::new()),
    };
    Ok(match (word, sizes.as_slice()) {
        ("integer" | "int", []) => Kind::Integer,
        ("bigint", []) => Kind::BigInteger,
        ("double", []) => Kind::Double,
        ("text", []) => Kind::Text,
        ("date", []) => Kind::Date,
        ("timestamp", []) => Kind::Timestamp,
        ("char", [Some(length @ 1..=255)]) => Kind::Char(*length),
        ("varchar", [Some(length @ 1..=16_000)]) => Kind::Varchar(*length),
        ("decimal", [Some(digits @ 1..=18), Some(places)]) if places <= digits => {
            Kind::Decimal(*digits as u8, *places as u8)
        }
        ("char", _) => return Err("a char has a length of 1 to 255: `char(10)`".to_owned()),
        ("varchar", _) => return Err("a varchar has a length of 1 to 16000: `varchar(100)`".to_owned()),
        ("decimal", _) => {
            return Err(
                "a decimal has 1 to 18 digits, and no more of them behind the point: `decimal(12,2)`"
                    .to_owned(),
            );
        }
        _ => {
            const KNOWN: [&str; 10] = [
                "integer",
                "bigint",
                "double",
                "decimal(p,s)",
                "char(n)",
                "varchar(n)",
                "text",
                "date",
                "timestamp",
                NONE,
            ];
            let meant = nearest(word, KNOWN.into_iter()).map(|it| format!("; did you mean `{it}`?"));
            return Err(format!(
                "`{text}` is no type: there are {}{}",
                KNOWN.join(", "),
                meant.unwrap_or_default()
            ));
        }
    })
}

impl Table {
    /// `before` are the tables that it may refer to, and the names of those that have mistakes of their own.
    pub(super) fn compile(
        file: &TableFile,
        (before, faulty): (&[Self], &[&str]),
        (options, seed): (&Options, u64),
        names: &mut Names,
        notes: &mut Notes<'_>,
    ) -> Option<Self> {
        let name = file.name.get_ref().clone();
        check_name(&file.name, "table", notes);
        if before.iter().any(|other| other.name == name) {
            notes.at(file.name.span(), format!("a second table is called `{name}`"));
        }
        let is_option = |slot| options.place(slot).is_some();
        let parent = Self::parent(file, (before, faulty), notes);
        if file.parent.is_some() && parent.is_none() {
            return None;
        }
        if file.columns.is_empty() || file.columns.len() > COLUMNS_MAX {
            notes.at(file.name.span(), format!("a table has 1 to {COLUMNS_MAX} columns"));
        }
        let of_row = match parent {
            Some((_, parent)) => [vec![names.slot(CHILD)], children::variables(parent, names)].concat(),
            None => vec![names.slot(ROW)],
        };
        let columns = Self::columns(file, &of_row, (options, seed), names, notes);
        let size = Self::size(file, parent, &columns, (options, seed), names, notes);
        let names_of = |columns: &[Spanned<String>], notes: &mut Notes<'_>| -> Vec<String> {
            let stored = || file.columns.iter().filter(|column| column.kind.get_ref() != NONE);
            let known = || stored().map(|column| column.name.get_ref().as_str());
            for column in columns.iter().filter(|column| !known().any(|known| known == column.get_ref())) {
                notes.unknown(column.span(), "column", column.get_ref(), known());
            }
            columns.iter().map(|column| column.get_ref().clone()).collect()
        };
        let key = names_of(&file.key, notes);
        for column in file.columns.iter().filter(|column| column.null && key.contains(column.name.get_ref()))
        {
            let name = column.name.get_ref();
            notes.at(
                column.name.span(),
                format!("`{name}` is of the key, which is never NULL: leave out `null`"),
            );
        }
        let index = |IndexFile { columns, unique, when }: &IndexFile| {
            let when =
                when.as_ref().and_then(|when| compile(when.get_ref(), when.span(), names, notes, is_option));
            TableIndex { columns: names_of(columns, notes), unique: *unique, when }
        };
        let indexes = file.indexes.iter().map(index).collect();
        check_indexes(file, before, notes);
        let mut foreign_keys = Vec::new();
        for ForeignKeyFile { columns, table } in &file.foreign_keys {
            let own = names_of(columns, notes);
            match before.iter().position(|other| other.name == *table.get_ref()) {
                Some(place) if before[place].key.len() == own.len() => {
                    foreign_keys.push(Reference { columns: own, table: place });
                }
                Some(place) => notes.at(
                    table.span(),
                    format!(
                        "the key of `{}` is ({}): a foreign key has as many columns",
                        table.get_ref(),
                        before[place].key.join(", ")
                    ),
                ),
                None if faulty.contains(&table.get_ref().as_str()) => {}
                None => {
                    let known = before.iter().map(|other| other.name.as_str());
                    notes.unknown(table.span(), "table before this one", table.get_ref(), known);
                }
            }
        }
        if file.columns.iter().any(|column| column.identity)
            && key.first() != columns.first().map(|column| &column.name)
        {
            notes.at(file.name.span(), "a table with an identity has it as the first column of its `key`");
        }
        let before_load = file.before_load.as_ref().map(|before| *before.get_ref());
        if let Some(before) = &file.before_load
            && *before.get_ref() == BeforeLoad::Empty
            && file.rows.as_ref().is_none_or(|rows| text_of(rows).trim() != "0")
        {
            notes.at(before.span(), "a table that is emptied before each load is made with `rows = 0`");
        }
        let fill_percent = file.fill_percent.as_ref().map(|percent| *percent.get_ref());
        if let Some(percent) = file.fill_percent.as_ref().filter(|it| !(10..=100).contains(it.get_ref())) {
            notes.at(percent.span(), "a page is filled by 10 to 100 percent");
        }
        let (size, columns_written) = (size?, file.columns.len());
        if columns.len() < columns_written {
            return None;
        }
        let first = file.columns.first()?;
        let is_numbered = columns.first().is_some_and(Column::is_integer)
            && first.value.as_ref().map_or(first.identity, |value| value.get_ref().trim() == ":row");
        let rows = if parent.is_some() { CHILDREN } else { 1 };
        let row_bytes: usize = columns.iter().map(|column| 8 + 2 * column.width()).sum();
        let row_bytes_max = (rows * row_bytes).min(ROW_BYTES_MAX);
        Some(Self {
            name,
            size,
            columns,
            key,
            indexes,
            foreign_keys,
            fill_percent,
            before_load,
            varies: file.varies,
            is_numbered,
            row_bytes_max,
        })
    }

    /// The table whose children the rows are, and its place.
    fn parent<'t>(
        file: &TableFile,
        (before, faulty): (&'t [Self], &[&str]),
        notes: &mut Notes<'_>,
    ) -> Option<(usize, &'t Self)> {
        let Some(parent) = &file.parent else {
            match (&file.children, &file.rows) {
                (Some(children), _) => notes.at(
                    children.span(),
                    "`children` are of a table with a `parent`, whose rows have so many each",
                ),
                (None, None) => notes.at(
                    file.name.span(),
                    "the key `rows` is missing: a number, or an expression over the options",
                ),
                (None, Some(_)) => {}
            }
            return None;
        };
        if let Some(rows) = &file.rows {
            notes.at(rows.span(), "a table with a `parent` has no `rows`: they follow from its `children`");
        }
        if file.children.is_none() {
            let what = "the key `children` is missing: how many each row of the parent has";
            notes.at(parent.span(), what);
        }
        let name = parent.get_ref();
        match before.iter().position(|other| other.name == *name) {
            Some(place) if before[place].children().is_some() => {
                notes.at(
                    parent.span(),
                    format!("`{name}` has a `parent` itself, and children have no children"),
                );
                None
            }
            Some(place) => Some((place, &before[place])),
            None if faulty.contains(&name.as_str()) => None,
            None => {
                let known = before.iter().map(|other| other.name.as_str());
                notes.unknown(parent.span(), "table before this one", name, known);
                None
            }
        }
    }

    fn size(
        file: &TableFile,
        parent: Option<(usize, &Self)>,
        columns: &[Column],
        (options, seed): (&Options, u64),
        names: &mut Names,
        notes: &mut Notes<'_>,
    ) -> Option<Size> {
        let Some(parent) = parent else {
            let rows = file.rows.as_ref()?;
            let is_option = |slot| options.place(slot).is_some();
            return compile(&text_of(rows), rows.span(), names, notes, is_option).map(Size::Rows);
        };
        let reads: Vec<Slot> = columns.iter().flat_map(|column| column.program.reads()).collect();
        let name = file.written.as_ref().unwrap_or(file.name.get_ref());
        let file = (name.as_str(), file.children.as_ref()?);
        Children::compile(file, parent, &reads, (options, seed), names, notes).map(Size::Children)
    }

    /// `of_row` are the variables that a row has beside its columns.
    fn columns(
        file: &TableFile,
        of_row: &[Slot],
        (options, seed): (&Options, u64),
        names: &mut Names,
        notes: &mut Notes<'_>,
    ) -> Vec<Column> {
        let mut columns: Vec<Column> = Vec::new();
        let mut slots: Vec<(Slot, usize)> = Vec::new();
        for (place, ColumnFile { name, kind, value, identity, null, integer_if }) in
            file.columns.iter().enumerate()
        {
            check_name(name, "column", notes);
            let own = name.get_ref();
            if file.columns[..place].iter().any(|other| other.name.get_ref() == own) {
                notes.at(name.span(), format!("a second column is called `{own}`"));
            }
            let kind_read = match kind.get_ref().as_str() {
                NONE if place == 0 => Err("the first column is stored, and has another type".to_owned()),
                NONE if *null => Err("what is not stored has no `null`".to_owned()),
                NONE => Ok(None),
                text => kind_of(text).map(Some),
            };
            let kind_read = kind_read.and_then(|read| match (identity, read) {
                (false, read) => Ok(read),
                (true, _) if file.parent.is_some() => {
                    Err("children have no numbers of their own, and so no identity".to_owned())
                }
                (true, _) if place > 0 => Err("an identity is the first column".to_owned()),
                (true, Some(Kind::Integer)) => Ok(Some(Kind::Number)),
                (true, Some(Kind::BigInteger)) => Ok(Some(Kind::BigNumber)),
                (true, _) => Err("an identity is an integer or a bigint".to_owned()),
            });
            if let Err(why) = &kind_read {
                notes.at(kind.span(), why.clone());
            }
            let text = match value {
                Some(value) => Some((value.get_ref().as_str(), value.span())),
                None if *identity && file.parent.is_some() => None,
                None if *identity => Some((":row", name.span())),
                None if *null => Some(("null", name.span())),
                None => {
                    notes.at(
                        name.span(),
                        format!("the column `{own}` has no `value`, which is an expression such as `:row`"),
                    );
                    None
                }
            };
            let knows = |slot| {
                of_row.contains(&slot)
                    || options.place(slot).is_some()
                    || slots.iter().any(|(other, _)| *other == slot)
            };
            let at = text.as_ref().map_or(0, |(_, span)| span.start);
            let program = text.and_then(|(text, span)| {
                if *identity && text.trim() != ":row" {
                    notes.at(span.clone(), "the value of an identity is `:row`");
                }
                compile(text, span, names, notes, knows)
            });
            let integer_if = integer_if.as_ref().and_then(|integer_if| {
                if kind_read != Ok(Some(Kind::BigInteger)) {
                    notes.at(integer_if.span(), "`integer-if` is for a bigint that is no identity");
                }
                let is_option = |slot| options.place(slot).is_some();
                compile(integer_if.get_ref(), integer_if.span(), names, notes, is_option)
            });
            if let (Ok(kind), Some(program)) = (kind_read, program) {
                for (slot, of) in &slots {
                    if program.reads().any(|read| read == *slot)
                        && let Some(column) = columns.get_mut(*of)
                    {
                        column.slot = Some(*slot);
                    }
                }
                columns.push(Column {
                    name: own.clone(),
                    kind,
                    null: *null,
                    integer_if,
                    program,
                    at,
                    seed: column_seed(seed, file.written.as_ref().unwrap_or(file.name.get_ref()), own),
                    slot: None,
                });
            }
            let slot = names.slot(own);
            let is_parent = file.parent.is_some() && own == "parent";
            if own == ROW || is_parent || of_row.contains(&slot) || options.place(slot).is_some() {
                notes.at(
                    name.span(),
                    format!("`:{own}` is a variable of expressions already: give the column another name"),
                );
            }
            slots.push((slot, place));
        }
        columns
    }

    /// The column that is its key, where it is one of whole numbers.
    pub(super) fn number(&self) -> Option<&Column> {
        let [key] = self.key.as_slice() else { return None };
        self.columns.iter().find(|column| column.name == *key && column.is_integer())
    }

    /// The variables that its rows read.
    pub(super) fn reads(&self) -> impl Iterator<Item = Slot> {
        let size = match &self.size {
            Size::Rows(rows) => rows,
            Size::Children(children) => children.count(),
        };
        self.columns.iter().map(|column| &column.program).chain([size]).flat_map(Program::reads)
    }

    /// Whether this variable changes while its rows are made.
    pub(super) fn sets(&self, slot: Slot) -> bool {
        self.columns.iter().any(|column| column.slot == Some(slot))
            || self.children().is_some_and(|children| children.sets(slot))
    }

    /// Whose children its rows are, and how many each has.
    pub(super) fn children(&self) -> Option<&Children> {
        match &self.size {
            Size::Rows(_) => None,
            Size::Children(children) => Some(children),
        }
    }

    /// The table by whose rows its rows are numbered.
    pub(super) fn numbered(&self) -> &str {
        self.children().map_or(&self.name, |children| &children.parent_name)
    }

    /// The number of the row that is the `nth` of this number.
    pub(super) fn number_of(&self, number: u64, nth: u64) -> u64 {
        if self.children().is_some() { Children::number(number, nth) } else { number }
    }

    /// What a row is called: `row 5`, `child 2 of row 5`
    pub(super) fn called(&self, number: u64) -> String {
        match self.children() {
            Some(_) => Children::called(number),
            None => format!("row {}", grouped(number)),
        }
    }

    /// How many rows are made; `before` are those of the tables before it. Of children, how many rows their parent has.
    pub(super) fn numbers(&self, before: &[u64], context: &mut RowContext) -> Result<u64, String> {
        let rows = match &self.size {
            Size::Rows(rows) => rows,
            Size::Children(children) => return Ok(before[children.parent]),
        };
        let value = context.evaluate(rows, 0, 0);
        let wrong = |why: String| format!("the rows of {} cannot be computed: {why}", self.name);
        let rows = match value.map_err(|error| wrong(error.to_string()))? {
            Value::Integer(rows) => u64::try_from(rows).ok(),
            Value::Double(rows) if rows >= 0.0 && rows.fract() == 0.0 => Some(rows as u64),
            _ => None,
        };
        let whole = "they are a whole number from 0 on, which int(…) makes of any other";
        let rows = rows.ok_or_else(|| wrong(whole.to_owned()))?;
        let most = match self.columns.first().and_then(|column| column.kind) {
            Some(Kind::Number | Kind::Integer) if self.is_numbered => i32::MAX as u64,
            _ => ROWS_MAX,
        };
        if rows > most {
            Err(format!("{} would have {rows} rows, and has at most {most}", self.name))
        } else {
            Ok(rows)
        }
    }

    /// The columns as they are made; `nullable` follows the type of one that may be NULL.
    pub(super) fn columns_made(&self, nullable: &'static str) -> Vec<dataset::Column> {
        let made = self.stored().map(|(own, kind)| {
            let constraint = match own.null {
                true => nullable,
                false if kind.is_identity() => "",
                false => " NOT NULL",
            };
            column(own.name.clone(), kind, constraint)
        });
        made.collect()
    }

    /// The columns that the table has, with their types.
    pub(super) fn stored(&self) -> impl Iterator<Item = (&Column, Kind)> {
        self.columns.iter().filter_map(|column| Some((column, column.kind?)))
    }

    /// Makes the columns that have 32 bits with these options such ones.
    pub(super) fn narrow(&self, made: &mut dataset::Table, context: &mut RowContext) -> Result<(), String> {
        for ((own, _), made) in self.stored().zip(&mut made.columns) {
            let Some(integer_if) = &own.integer_if else { continue };
            let holds = context.evaluate(integer_if, 0, 0);
            let wrong = |error| format!("the type of {}.{} cannot be computed: {error}", self.name, own.name);
            if holds.map_err(wrong)?.holds() {
                made.kind = Kind::Integer;
            }
        }
        Ok(())
    }

    /// The indexes that are made with these options.
    pub(super) fn indexes(&self, context: &mut RowContext) -> Result<Vec<&TableIndex>, String> {
        let mut made = Vec::new();
        for index in &self.indexes {
            let Some(when) = &index.when else {
                made.push(index);
                continue;
            };
            let wrong =
                |why: &dyn Display| format!("whether {} has an index cannot be computed: {why}", self.name);
            match context.evaluate(when, 0, 0).map_err(|error| wrong(&error))? {
                Value::Text(_) | Value::Decimal(_) => return Err(wrong(&"it is a text or a decimal")),
                value if value.holds() => made.push(index),
                _ => {}
            }
        }
        Ok(made)
    }

    /// What is made in a dialect, with these of its indexes. `loaded` rows are there before; `all` are the numbers of rows of all
    /// tables.
    pub(super) fn describe(
        &self,
        dialect: &Dialect,
        (tables, indexes): (&[Self], &[&TableIndex]),
        all: &[u64],
        (rows, loaded): (u64, u64),
    ) -> dataset::Table {
        let first = self.columns.first().map(|column| &column.name);
        let key = match self.key.as_slice() {
            [] => None,
            [only] if Some(only) == first => Some(Key::Primary),
            several => Some(Key::Of(several.join(", ").into())),
        };
        let index = |columns: &[String], unique| Index {
            name: self.index_name(dialect, columns),
            columns: columns.join(", ").into(),
            unique,
        };
        // Made on its own it is sorted, and soon done; the product takes it for the foreign key.
        let has_index = |columns: &[String]| {
            self.key.starts_with(columns) || indexes.iter().any(|index| index.columns.starts_with(columns))
        };
        let is_bare = |(at, key): &(usize, &Reference)| {
            !has_index(&key.columns) && self.foreign_keys.iter().take(*at).all(|it| it.columns != key.columns)
        };
        let keys = self.foreign_keys.iter().enumerate().filter(|_| dialect.foreign_key_index);
        let of_keys = keys.filter(is_bare).map(|(_, key)| index(&key.columns, false));
        let own = indexes.iter().map(|own| index(&own.columns, own.unique));
        let indexes = own.chain(of_keys).collect();
        let foreign_key = |Reference { columns, table }: &Reference| {
            let parent = &tables[*table];
            ForeignKey {
                columns: columns.join(", ").into(),
                table: Cow::Owned(parent.name.clone()),
                key: parent.key.join(", ").into(),
                rows: parent.is_key_its_number().then(|| all.get(*table).copied()).flatten(),
            }
        };
        dataset::Table {
            key,
            indexes,
            foreign_keys: self.foreign_keys.iter().map(foreign_key).collect(),
            rows,
            loaded,
            fill_percent: self.fill_percent,
            all_letters: true,
            ..dataset::Table::new(self.name.clone(), self.columns_made(dialect.nullable))
        }
    }

    /// Whether its key is the number of the row.
    pub(super) fn is_key_its_number(&self) -> bool {
        self.is_numbered && self.key.len() == 1 && self.key.first() == self.columns.first().map(|it| &it.name)
    }

    /// The columns by which no two rows may be the same.
    pub(super) fn unique(&self) -> impl Iterator<Item = &[String]> {
        let indexes = self
            .indexes
            .iter()
            .filter(|index| index.unique && index.when.is_none())
            .map(|index| &index.columns);
        [&self.key].into_iter().chain(indexes).map(Vec::as_slice).filter(|columns| !columns.is_empty())
    }

    pub(super) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    fn index_name(&self, dialect: &Dialect, columns: &[String]) -> String {
        match dialect.index_of_table {
            true => table_index_name(columns),
            false => schema_index_name(&self.name, columns),
        }
    }
}

impl Column {
    fn is_integer(&self) -> bool {
        matches!(self.kind, Some(Kind::Number | Kind::BigNumber | Kind::Integer | Kind::BigInteger))
    }

    pub(super) fn is_identity(&self) -> bool {
        self.kind.is_some_and(Kind::is_identity)
    }

    /// The longest text of a value, about.
    fn width(&self) -> usize {
        let Some(kind) = self.kind else { return 0 };
        match kind {
            Kind::Number | Kind::BigNumber | Kind::Integer | Kind::BigInteger => 20,
            Kind::Double | Kind::Decimal(..) | Kind::Timestamp | Kind::Date => 26,
            Kind::Char(length) | Kind::Varchar(length) => usize::from(length),
            Kind::Text => TEXT_BYTES,
        }
    }
}

/// What the expressions of rows are evaluated with.
pub(super) fn context(names: &Arc<Names>, seed: u64, options: &Options, values: &Values) -> RowContext {
    let mut context = RowContext::new(Arc::clone(names), seed);
    options.set(values, &mut context);
    context
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::folder::{FILE, Folder};

    #[test]
    fn names_that_collide_or_are_a_databases_own_are_mistakes() {
        let long = "x".repeat(40);
        let text = format!(
            r#"about = "x"
[[tables]]
name = "a"
rows = 1
indexes = [
  {{ columns = ["b_c"] }},
  {{ columns = ["b_c"] }},
  {{ columns = ["{long}", "interval"] }},
]
columns = [
  {{ name = "b_c", type = "integer", value = ":row" }},
  {{ name = "pg_x", type = "integer", value = ":row" }},
  {{ name = "interval", type = "integer", value = ":row" }},
  {{ name = "{long}", type = "integer", value = ":row" }},
]
[[tables]]
name = "a_b"
rows = 1
indexes = [{{ columns = ["c"] }}]
columns = [{{ name = "c", type = "double", value = ":row" }}]
[[tables]]
name = "sqlite_x"
rows = 1
columns = [{{ name = "c", type = "text", value = ":row" }}]
"#
        );
        let files = BTreeMap::from([(FILE.to_owned(), text.clone())]);
        let said = Folder::new("./x", &files).unwrap_err().to_string();
        for mistake in [
            "workload.toml:12:12: `pg_x` begins with `pg_`, ",
            "workload.toml:13:12: `interval` is a word of SQL: ",
            "workload.toml:7:16: a second index would be called `a_b_c_idx`: ",
            "workload.toml:19:25: a second index would be called `a_b_c_idx`: ",
            "workload.toml:22:8: `sqlite_x` begins with `sqlite_`, ",
        ] {
            assert!(said.contains(mistake), "{mistake} in {said}");
        }
        // a_, _interval and _idx take 15 bytes.
        assert!(!said.contains("longer than"), "{said}");
        let longer = text.replace(&long, &"x".repeat(46));
        let files = BTreeMap::from([(FILE.to_owned(), longer)]);
        let said = Folder::new("./x", &files).unwrap_err().to_string();
        let name = format!("`a_{}_interval_idx`", "x".repeat(46));
        let long = format!("8:16: an index would be called {name}, longer than 60 bytes: ");
        assert!(said.contains(&long), "{said}");
    }
}
