//! What is said of faulty folders: each with file, line and column, and what would be right.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use dyno_workload::folder;

/// A workload without a mistake, of which each case below is a change.
const GOOD: &str = r#"about = "x"
usual = ["read"]

[options.rows]
about = "rows"
default = 100

[[tables]]
name = "parent"
rows = ":rows"
key = ["id"]
columns = [
  { name = "id", type = "integer", identity = true },
  { name = "name", type = "varchar(20)", value = "words(2)" },
]

[[tables]]
name = "child"
rows = ":rows * 2"
key = ["id"]
foreign-keys = [{ columns = ["parent_id"], table = "parent" }]
columns = [
  { name = "id", type = "bigint", value = ":row" },
  { name = "parent_id", type = "integer", value = "random(1, :rows)" },
]

[[transactions]]
name = "read"

[[transactions]]
name = "write"
script = "write.sql"
adds = { child = 1 }

[[mixes]]
name = "both"
weights = { read = 9, write = 1 }

[[checks]]
about = "every child has its parent"
none = "SELECT 1 FROM child c LEFT JOIN parent p ON p.id = c.parent_id WHERE p.id IS NULL"
"#;
const READ: &str = "\\set id random(1, :rows)\nSELECT name FROM parent WHERE id = :id;\n";
const WRITE: &str =
    "\\set id random(1, :rows)\nINSERT INTO child (id, parent_id) VALUES (:id + 1000000, :id);\n";

fn said(files: &[(&str, &str)]) -> String {
    let files: BTreeMap<String, String> =
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    match folder::register("./faulty", &files) {
        Ok(()) => "nothing is wrong".to_owned(),
        Err(mistakes) => mistakes.to_string(),
    }
}

/// In the place of what stands in the good one, something else.
fn with(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old), "{old}");
    said(&[("workload.toml", &GOOD.replacen(old, new, 1)), ("read.sql", READ), ("write.sql", WRITE)])
}

#[test]
fn a_good_one_has_no_mistake() {
    assert_eq!(with("x", "x"), "nothing is wrong");
}

#[test]
fn mistakes_in_the_file_are_told_with_their_places() {
    let changes = [
        // What TOML is, and which keys there are.
        ("about = \"x\"", "about = x"),
        ("about = \"x\"\n", ""),
        ("about = \"x\"", "about = 5"),
        ("usual = [\"read\"]", "usaul = [\"read\"]"),
        ("[[tables]]", "[[table]]"),
        ("key = [\"id\"]", "keys = [\"id\"]"),
        ("value = \"words(2)\"", "values = \"words(2)\""),
        ("identity = true", "identity = \"yes\""),
        ("rows = \":rows\"", "row = \":rows\""),
        ("script = \"write.sql\"", "skript = \"write.sql\""),
        ("weights = {", "weight = {"),
        ("weights = { read = 9", "weights = { read = -9"),
        ("none = ", "non = "),
        ("usual = [\"read\"]", "usual = \"read\""),
        ("key = [\"id\"]", "key = { id = true }"),
        ("about = \"x\"", "about = \"x\"\nseed = 1.5"),
        ("none = \"", "equal = [\"SELECT 1\"]\nunchanged = \""),
        // Options.
        ("[options.rows]", "[options.Rows]"),
        ("[options.rows]", "[options.row]"),
        ("default = 100", "default = \"100 +\""),
        ("default = 100", "default = \":others / 2\""),
        ("default = 100", "default = \":rows / 2\""),
        ("default = 100", "default = \"fit\"\n\n[options.more]\nabout = \"more\"\ndefault = \"fit\""),
        ("default = 100", "default = 100\nmin = \"one\""),
        ("default = 100", "default = 100\nfound = \"DELETE FROM parent\""),
        ("default = 100", "default = 100\nsuits = \"8 * :cpus\""),
        ("default = 100", "default = \"fit\"\nsuits = \"8 * :cpu\""),
        (
            "default = 100",
            "default = 100\n\n[options.more]\nabout = \"more\"\ndefault = 1\nfound = \"SELECT 1\"",
        ),
        ("default = 100", "default = \"one\"\nchoices = { one = \"1\" }"),
        ("default = 100", "default = \"tow\"\nchoices = { one = \"1\", two = \"2\" }"),
        ("default = 100", "default = \"one\"\nmin = 5\nchoices = { one = \"1\", Two = \"2\", no = \"0\" }"),
        (
            "p.id IS NULL\"",
            "p.name = :how\"\n\n[options.how]\nabout = \"x\"\ndefault = \"one\"\nchoices = { one = \"1\", two = \"2\" }",
        ),
        ("usual = [\"read\"]", "usual = [\"read\"]\nruns-on = [\"postgres\"]"),
        // Tables and their columns.
        ("name = \"parent\"", "name = \"Parent\""),
        ("name = \"parent\"", "name = \"order\""),
        ("name = \"parent\"", "name = \"parent; DROP TABLE users\""),
        ("name = \"child\"", "name = \"parent\""),
        ("rows = \":rows\"\n", ""),
        ("rows = \":rows\"", "rows = \":row\""),
        ("rows = \":rows\"", "rows = \":rwos\""),
        ("name = \"name\"", "name = \"na me\""),
        ("name = \"name\"", "name = \"id\""),
        ("name = \"name\"", "name = \"rows\""),
        ("varchar(20)", "varchra(20)"),
        ("type = \"bigint\", value", "type = \"bigint\", null = true, value"),
        ("type = \"integer\", identity = true", "type = \"none\", value = \":row\""),
        ("type = \"varchar(20)\", value", "type = \"none\", null = true, value"),
        ("type = \"varchar(20)\", value", "type = \"none\", integer-if = \"true\", value"),
        (
            "key = [\"id\"]\ncolumns = [",
            "key = [\"id\"]\nindexes = [{ columns = [\"y\"] }]\ncolumns = [\n  { name = \"x\", type = \"integer\", value = \"1\" },\n  { name = \"y\", type = \"none\", value = \"2\" },",
        ),
        ("varchar(20)", "varchar"),
        ("varchar(20)", "varchar(20"),
        ("varchar(20)", "varchar(99999)"),
        ("default = 100", "default = 99999999999999999999"),
        ("varchar(20)", "decimal(30,2)"),
        ("varchar(20)", "decimal(4,5)"),
        (", value = \"words(2)\"", ""),
        ("words(2)", "wrods(2)"),
        ("words(2)", "words(2"),
        ("words(2)", "words(1, 2)"),
        ("words(2)", "random(1, :row"),
        ("words(2)", "'a' || :parent_id"),
        ("words(2)", "1 + "),
        ("type = \"bigint\", value = \":row\"", "type = \"bigint\", identity = true, value = \":row + 1\""),
        ("type = \"integer\", identity = true", "type = \"text\", identity = true"),
        ("type = \"varchar(20)\", value", "type = \"integer\", identity = true, value"),
        ("key = [\"id\"]", "key = [\"ids\"]"),
        ("key = [\"id\"]\ncolumns", "columns"),
        ("columns = [\"parent_id\"], table", "columns = [\"parent\"], table"),
        ("table = \"parent\" }", "table = \"parents\" }"),
        ("table = \"parent\" }", "table = \"child\" }"),
        ("columns = [\"parent_id\"], table", "columns = [\"parent_id\", \"id\"], table"),
        ("key = [\"id\"]\nforeign", "key = [\"id\"]\nindexes = [{ columns = [\"parent\"] }]\nforeign"),
        ("rows = \":rows\"", "rows = \":rows\"\nbefore-load = \"empty\""),
        ("rows = \":rows\"", "rows = \":rows\"\nbefore-load = \"analyze\""),
        ("rows = \":rows\"", "rows = \":rows\"\nfill-percent = 101"),
        (
            "name = \"parent_id\", type = \"integer\"",
            "name = \"parent_id\", type = \"integer\", integer-if = \":rows < 9\"",
        ),
        ("type = \"bigint\", value", "type = \"bigint\", integer-if = \":row < 9\", value"),
        // Transactions, mixes and checks.
        ("usual = [\"read\"]", "usual = [\"raed\"]"),
        ("name = \"read\"", "name = \"Read\""),
        ("name = \"read\"", "name = \"reads\""),
        ("name = \"write\"\n", "name = \"read\"\n"),
        ("script = \"write.sql\"", "script = \"wirte.sql\""),
        ("adds = { child = 1 }", "adds = { chlid = 1 }"),
        ("adds = { child = 1 }", "adds = { child = \":idd\" }"),
        ("adds = { child = 1 }", "adds = { child = \":affected\" }"),
        ("adds = { child = 1 }", "adds = { child = \":id +\" }"),
        ("adds = { child = 1 }", "adds = { child = -1 }"),
        ("adds = { child = 1 }", "adds = { child = 1.5 }"),
        ("adds = { child = 1 }", "removes = { child = \"'one'\" }"),
        ("adds = { child = 1 }", "counts = { Found = { value = 1, about = \"x\" } }"),
        ("adds = { child = 1 }", "counts = { found = { value = 1, about = \" \" } }"),
        ("adds = { child = 1 }", "counts = { found = { value = 1 } }"),
        ("adds = { child = 1 }", "counts = { found = { value = \":idd\", about = \"x\" } }"),
        ("adds = { child = 1 }", "counts = { found = { value = \":id +\", about = \"x\" } }"),
        ("adds = { child = 1 }", "counts = { found = { value = -1, about = \"x\" } }"),
        ("adds = { child = 1 }", "returns = \"one\""),
        ("adds = { child = 1 }", "returns = -1"),
        ("adds = { child = 1 }", "isolation = \"serialisable\""),
        ("adds = { child = 1 }", "isolation = \"serializable\""),
        ("adds = { child = 1 }", "isolation = 3"),
        ("adds = { child = 1 }", "keying = -1"),
        ("adds = { child = 1 }", "keying = \"2 s\""),
        ("adds = { child = 1 }", "think = inf"),
        ("adds = { child = 1 }", "contended = { rows = \":rwos\", why = \"x\" }"),
        ("adds = { child = 1 }", "contended = { rows = 1 }"),
        ("read = 9", "raed = 9"),
        ("read = 9", "read = 0"),
        ("weights = { read = 9, write = 1 }", "weights = {}"),
        ("weights = { read = 9, write = 1 }", "deal = true\nweights = { read = 0, write = 1 }"),
        ("weights = { read = 9, write = 1 }", "deal = true\nweights = { read = 90000, write = 1 }"),
        ("weights = { read = 9, write = 1 }", "deal = 3\nweights = { read = 9, write = 1 }"),
        // What is counted, and how long it may take.
        ("weights = {", "figure = { of = \"raed\", about = \"reads\", per = \"minute\" }\nweights = {"),
        ("weights = {", "figure = { of = \"read\", about = \"reads\", per = \"day\" }\nweights = {"),
        (
            "weights = {",
            "figure = { of = \"read\", about = \"reads\", per = \"hour\", at-most = \":row * 2\" }\nweights = {",
        ),
        ("name = \"read\"", "name = \"read\"\nwithin = { p90 = 0 }"),
        ("name = \"read\"", "name = \"read\"\nwithin = { p80 = 1.0 }"),
        ("name = \"both\"", "name = \"write\""),
        ("none = ", "unchanged = \"SELECT 1\"\nnone = "),
        ("none = \"SELECT 1", "none = \"DELETE"),
        ("none = \"SELECT 1", "for = [\"wirte\"]\nnone = \"SELECT 1"),
        ("p.id IS NULL\"", "p.id = 'x\""),
        ("none = \"SELECT 1", "growth = true\nnone = \"SELECT 1"),
        ("default = 100", "default = true"),
        ("default = 100", "default = false\nmin = 3"),
        (
            "foreign-keys = [",
            "indexes = [{ columns = [\"parent_id\"], when = \":indexed\" }]\nforeign-keys = [",
        ),
        ("none = \"SELECT 1", "none = \"SELECT 1; DROP TABLE parent; SELECT 1"),
        // Passes, variants and what is run a number of times.
        ("[[mixes]]", "[[passes]]\nname = \"all\"\nqueries = [\"gone.sql\"]\n\n[[mixes]]"),
        ("[[mixes]]", "[[passes]]\nname = \"all\"\nqueries = [\"read.sql\"]\n\n[[mixes]]"),
        ("[[mixes]]", "[[passes]]\nname = \"all\"\nqueries = []\nworkers = \":workers\"\n\n[[mixes]]"),
        ("[[mixes]]", "[[passes]]\nname = \"read\"\nqueries = [\"../read.sql\"]\n\n[[mixes]]"),
        ("default = 100", "default = 100\nmax = \":others * 2\""),
        ("script = \"write.sql\"", "script = \"write.sql\"\ntimes = \":row\""),
        ("script = \"write.sql\"", "script = \"write.sql\"\ntimes = 5"),
        ("script = \"write.sql\"", "script = \"write.sql\"\ntrial = \"SELECT 1; DROP TABLE child\""),
        ("WHERE p.id IS NULL", "WHERE p.id IS NULL AND c.id < :row"),
    ];
    let mut text = String::new();
    for (old, new) in changes {
        let shown = |text: &str| text.replace('\n', "⏎");
        write!(text, "{} -> {}\n  {}\n\n", shown(old), shown(new), with(old, new).replace('\n', "\n  "))
            .unwrap();
    }
    assert!(!text.contains("nothing is wrong"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn mistakes_of_children_are_told_with_their_places() {
    const ID: &str = r#"name = "id", type = "bigint", value = ":parent.id * 10 + :child""#;
    let table = |size: &str, id: &str| {
        let (from, to) =
            (GOOD.find("rows = \":rows * 2\"").unwrap(), GOOD.find("  { name = \"parent_id\"").unwrap());
        let changed = format!("{}{size}\ncolumns = [\n  {{ {id} }},\n{}", &GOOD[..from], &GOOD[to..]);
        said(&[("workload.toml", &changed), ("read.sql", READ), ("write.sql", WRITE)])
    };
    let children = "parent = \"parent\"\nchildren = 2";
    assert_eq!(table(children, ID), "nothing is wrong");
    assert_eq!(table(&children.replace('2', "\":id % 3 + :row % 2\""), ID), "nothing is wrong");
    let more = format!("{children}\ncolumns = [{{ {ID} }}]\n\n[[tables]]\nname = \"more\"");
    let option = format!(
        "{children}\ncolumns = [{{ {ID} }}]\n\n[options.child]\nabout = \"x\"\ndefault = 1\n\n[[tables]]\nname = \"more\""
    );
    let cases = [
        ("", ID.to_owned()),
        ("children = 2", ID.to_owned()),
        ("parent = \"parent\"", ID.to_owned()),
        ("rows = 5\nparent = \"parent\"\nchildren = 2", ID.to_owned()),
        ("parent = \"child\"\nchildren = 2", ID.to_owned()),
        ("parent = \"parents\"\nchildren = 2", ID.to_owned()),
        (&*format!("{more}\nparent = \"child\"\nchildren = 2"), ID.to_owned()),
        (&*format!("{option}\n{children}"), ID.to_owned()),
        ("parent = \"parent\"\nchildren = \":ids\"", ID.to_owned()),
        ("parent = \"parent\"\nchildren = \":parent.id\"", ID.to_owned()),
        ("parent = \"parent\"\nchildren = \"1 +\"", ID.to_owned()),
        ("parent = \"parent\"\nchildren = 2\nbefore-load = \"empty\"", ID.to_owned()),
        (children, ID.replace(":parent.id", ":parent.ids")),
        (children, ID.replace(":parent.id", ":row")),
        (children, ID.replace("\"id\"", "\"child\"")),
        (children, ID.replace("\"id\"", "\"parent\"")),
        (children, "name = \"id\", type = \"bigint\", identity = true".to_owned()),
    ];
    let mut text = String::new();
    for (size, id) in cases {
        let said = table(size, &id);
        write!(text, "{}⏎{id}\n  {}\n\n", size.replace('\n', "⏎"), said.replace('\n', "\n  ")).unwrap();
    }
    assert!(!text.contains("nothing is wrong"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn what_is_counted_is_one_transaction() {
    let counted = |script: &str, effects: &str| {
        let toml = GOOD.replace("adds = { child = 1 }", effects);
        said(&[("workload.toml", &toml), ("read.sql", READ), ("write.sql", script)])
    };
    let one = "adds = { child = 1 }";
    let ends = |end: &str| format!("BEGIN;\n{WRITE}\\if :id > 5\n{end}\n\\endif\nCOMMIT;\n");
    assert_eq!(counted(&ends("\\rollback"), one), "nothing is wrong");
    assert_eq!(
        counted(&ends("SELECT 1 AS x \\gset"), "adds = { child = \":id + :x + :rows\" }"),
        "nothing is wrong"
    );
    assert_eq!(counted("SELECT f(:rows);\n", ""), "nothing is wrong");
    let mut text = String::new();
    let in_steps = format!("{WRITE}DELETE FROM child WHERE id = :id;\n");
    let of_identity = "\\set id next(parent)\nSELECT :id;\n";
    let rolls_back = ends("ROLLBACK;");
    for script in [&rolls_back, &in_steps, "SELECT f(:rows);\n", of_identity, "SELECT :parents.last;\n"] {
        let said = counted(script, one);
        write!(text, "{}\n  {}\n\n", script.replace('\n', "⏎"), said.replace('\n', "\n  ")).unwrap();
    }
    assert!(!text.contains("nothing is wrong"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn mistakes_in_scripts_are_told_with_their_lines() {
    let scripts = [
        "",
        "\\set id random(1, :rows)\nSELECT name FROM parent WHERE id = :idd;\n",
        "\\set id random(1, :rows\nSELECT 1;\n",
        "\\sett id 1\nSELECT 1;\n",
        "SELECT 1;\n\\shell rm -rf /\n",
        "SELECT 1;\n\\setshell id echo 1\nSELECT :id;\n",
        "\\set t random(1, 2)\nSELECT 1 FROM :t;\n",
        "\\set t random(1, 2)\nSELECT 'x :t';\n",
        "\\if 1\nSELECT 1;\n",
        "\\set id next(chidl)\nSELECT :id;\n",
        "\\set id random(1, :chidl.last)\nSELECT :id;\n",
        "SELECT 1;\nSELECT name\n  FROM parent WHERE name = 'x;\nSELECT 1;\n",
        "SELECT 1 /* so many;\n",
        "\\set a[1025] 1\nSELECT 1;\n",
        "\\set a[1] 1\n\\set x :a[0]\nSELECT :x;\n",
        "\\set a[1] 1\nSELECT :a[2000];\n",
        "SELECT 1;\n\\for i 1 3\nSELECT :i;\n",
        "SELECT 1;\n\\endfor\n",
        "\\for i 1 1000\n\\for j 1 1000\nSELECT :i, :j;\n\\endfor\n\\endfor\n",
        "\\set x 1\nBEGIN;\nSELECT :x;\n",
        "SELECT 1;\n\\set x random(1, :rows) / 0\nSELECT :x;\n",
    ];
    let mut text = String::new();
    for script in scripts.into_iter().chain([&*"SELECT 1;\n".repeat(1001)]) {
        let said = said(&[("workload.toml", GOOD), ("read.sql", script), ("write.sql", WRITE)]);
        let script: String = script.chars().take(80).collect();
        write!(text, "{}\n  {}\n\n", script.replace('\n', "⏎"), said.replace('\n', "\n  ")).unwrap();
    }
    assert!(!text.contains("nothing is wrong"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn what_may_be_right_is_no_mistake() {
    for script in [
        "\\for i 1 :rows * 1000000\nSELECT :i;\n\\endfor\n".replace(" * ", "*"),
        "BEGIN;\nSELECT 1;\n\\rollback\n".to_owned(),
        "\\if :rows < 0\n\\set wrong 1 / 0\n\\endif\nSELECT 1;\n".to_owned(),
        "\\set x 10 / case when :rows > 5 then 2 else 0 end\nSELECT :x;\n".to_owned(),
    ] {
        let said = said(&[("workload.toml", GOOD), ("read.sql", &script), ("write.sql", WRITE)]);
        assert_eq!(said, "nothing is wrong", "{script}");
    }
}

#[test]
fn every_mistake_is_told_and_not_the_first_alone() {
    let faulty = GOOD
        .replace("varchar(20)", "varchr(20)")
        .replace("random(1, :rows)", "random(1, :row2)")
        .replace("raed", "x");
    let said = said(&[("workload.toml", &faulty), ("read.sql", READ), ("write.sql", WRITE)]);
    insta::assert_snapshot!(said);
}

/// A folder of files, read from the disk.
fn read(files: &[(&str, &[u8])], prepare: impl FnOnce(&Path)) -> String {
    let home = tempfile::tempdir().unwrap();
    let shop = home.path().join("shop");
    fs::create_dir(&shop).unwrap();
    for (name, text) in files {
        fs::write(shop.join(name), text).unwrap();
    }
    prepare(&shop);
    let said = match folder::read(&shop) {
        Ok(files) => format!("read: {}", files.keys().cloned().collect::<Vec<_>>().join(" ")),
        Err(mistakes) => mistakes.to_string(),
    };
    said.replace(&home.path().display().to_string(), "HOME")
}

#[test]
fn nothing_outside_of_the_folder_is_read() {
    let good =
        [("workload.toml", GOOD.as_bytes()), ("read.sql", READ.as_bytes()), ("write.sql", WRITE.as_bytes())];
    let variants = [&good[..], &[("read.mysql.sql", READ.as_bytes()), ("other.sql", b"SELECT 1;")]].concat();
    assert_eq!(read(&variants, |_| {}), "read: read.mysql.sql read.sql workload.toml write.sql");
    let stranger =
        [&good[..], &[("read.oracle.sql", READ.as_bytes()), ("write.postgres.sql", b"SELECT 1;")]].concat();
    let mut text = format!("files of no dialect\n  {}\n", read(&stranger, |_| {}).replace('\n', "\n  "));
    for script in ["../secret.sql", "/etc/passwd", "/etc/passwd.sql", "sub/../../secret.sql", "write.txt", ""]
    {
        let toml = GOOD.replace("script = \"write.sql\"", &format!("script = \"{script}\""));
        let said = read(&[("workload.toml", toml.as_bytes()), good[1], good[2]], |_| {});
        writeln!(text, "{script}\n  {said}").unwrap();
    }
    let linked = |name: &'static str| {
        move |shop: &Path| {
            let secret = shop.join("../secret.sql");
            fs::write(&secret, "SELECT 'secret';").unwrap();
            let _ = fs::remove_file(shop.join(name));
            std::os::unix::fs::symlink(&secret, shop.join(name)).unwrap();
        }
    };
    writeln!(text, "a link\n  {}", read(&good, linked("write.sql"))).unwrap();
    writeln!(text, "a link of a variant\n  {}", read(&good, linked("write.mysql.sql"))).unwrap();
    let large = vec![b' '; 300_000];
    writeln!(text, "a large script\n  {}", read(&[good[0], good[1], ("write.sql", &large)], |_| {})).unwrap();
    writeln!(text, "a large file\n  {}", read(&[("workload.toml", &large)], |_| {})).unwrap();
    writeln!(text, "no UTF-8\n  {}", read(&[good[0], good[1], ("write.sql", b"SELECT '\xff';")], |_| {}))
        .unwrap();
    writeln!(text, "no file\n  {}", read(&[], |_| {})).unwrap();
    let directory = |shop: &Path| fs::create_dir(shop.join("write.sql")).unwrap();
    writeln!(text, "a directory\n  {}", read(&good[..2], directory)).unwrap();
    insta::assert_snapshot!(text);
}
