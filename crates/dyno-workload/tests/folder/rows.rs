//! What is said of a folder whose rows show a mistake: by a check, and before a load.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use dyno_target::{Environment, Target};
use dyno_workload::benchmark::Site;
use dyno_workload::folder;
use dyno_workload::registry::{self, DataOptions};

use crate::database::Server;

const GOOD: &str = r#"about = "x"
[options.rows]
about = "rows"
default = 100000

[[tables]]
name = "parent"
rows = 40
key = ["code"]
columns = [{ name = "code", type = "varchar(9)", value = "'p' || :row" }]

[[tables]]
name = "numbered"
rows = ":rows / 10"
key = ["id"]
columns = [{ name = "id", type = "bigint", value = ":row" }]

[[tables]]
name = "child"
rows = ":rows"
key = ["id", "part"]
indexes = [{ columns = ["number"], unique = true }]
foreign-keys = [{ columns = ["code"], table = "parent" }, { columns = ["place"], table = "numbered" }]
columns = [
  { name = "id", type = "integer", value = "(:row + 1) / 2" },
  { name = "part", type = "integer", value = ":row % 2" },
  { name = "number", type = "bigint", value = "permute(:row, :rows)" },
  { name = "code", type = "varchar(9)", null = true, value = "nullif('p' || random(0, 40), 'p0')" },
  { name = "place", type = "integer", value = "random(1, :rows / 10)" },
  { name = "price", type = "decimal(8,2)", value = "decimal(random(1, 99), 2)" },
]

[[transactions]]
name = "read"
"#;

fn files(old: &str, new: &str) -> BTreeMap<String, String> {
    assert!(GOOD.contains(old), "{old}");
    let files = [("workload.toml", GOOD.replacen(old, new, 1)), ("read.sql", "SELECT 1;\n".to_owned())];
    files.map(|(name, text)| (name.to_owned(), text)).into()
}

/// The mistake with something else in the place of what stands in the good one.
fn said(old: &str, new: &str) -> String {
    match folder::check("./rows", &files(old, new)) {
        Ok(_) => "nothing is wrong".to_owned(),
        Err(mistakes) => mistakes.to_string(),
    }
}

#[test]
fn what_a_sample_of_rows_shows_is_told_with_its_column() {
    assert_eq!(said("about", "about"), "nothing is wrong");
    for (old, new, mistake) in [
        (
            "decimal(random(1, 99), 2)",
            "nullif(:row % 7, 6)",
            "workload.toml:30:52: a value of child.price of row 6: NULL, where null = true is not said",
        ),
        ("decimal(random(1, 99), 2)", "1000000 + :row", " which has at most "),
        (
            ":row % 2",
            "1",
            "workload.toml:25:44: row 1 and row 2 of child have the same (id, part), which is a key: 1, 1",
        ),
        ("permute(:row, :rows)", "random(1, 50)", "of child have the same (number), which is a key: "),
        (
            "random(0, 40)",
            "random(0, 41)",
            "has the code p41, and parent has 40 rows and none with this code",
        ),
        (
            "random(1, :rows / 10)",
            ":row",
            "row 10,200 of child has the place 10200, and numbered has 10,000 rows and none with this id",
        ),
        ("rows = 40", "rows = 1.5", "they are a whole number from 0 on"),
    ] {
        let said = said(old, new);
        assert!(said.contains(mistake) && !said.contains('\n'), "{new}: {said}");
    }
}

/// Row 77,777 is in no sample.
#[test]
fn a_row_that_leads_nowhere_is_the_files_mistake_on_each_product() {
    let test = |target: Target, name: &str| {
        let files = files(
            "random(1, :rows / 10)",
            "case when :row = 77777 then 10001 else random(1, :rows / 10) end",
        );
        let folder = format!("./rows-{name}");
        folder::register(&folder, &files).unwrap();
        let workload = registry::find(&folder).unwrap();
        let benchmark = workload.benchmark(&DataOptions::default(), &target.capabilities()).unwrap();
        let (stop, open) = (AtomicBool::new(false), || target.connect());
        let site = Site {
            target: "it",
            open: &open,
            cpus: 2,
            memory_bytes: None,
            same_host: true,
            free_disk_bytes: None,
            quick: true,
            seed: 1,
            stop: &stop,
        };
        let refused =
            benchmark.prepare(&mut target.connect().unwrap(), &site, &mut |_| {}).unwrap_err().to_string();
        let expected = format!(
            "{folder}/workload.toml:29:47: child has a row whose place no row of numbered has; the tables are not complete"
        );
        assert_eq!(refused, expected, "{name}");
    };
    Server::on_each(|server| test(server.target(), &server.name()));
    let home = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", home.path().join("rows.db").display());
    test(Target::parse(&url, &Environment::empty()).unwrap(), "SQLite");
}
