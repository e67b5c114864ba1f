//! Makes all rows of a table of a workload's folder on one thread and throws them away: `make_rows FOLDER TABLE [OPTION=NUMBER]…`.
//! Prints how many rows and bytes
//! there were. `bench/rows` runs it.

use std::error::Error;
use std::path::Path;

use dyno_workload::folder::{make_rows, read};
use serde_json::Map;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(folder), Some(table)) = (words.next(), words.next()) else {
        return Err("usage: make_rows FOLDER TABLE [OPTION=NUMBER]…".into());
    };
    let mut options = Map::new();
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(|| format!("{word} is not OPTION=NUMBER"))?;
        options.insert(name.to_owned(), value.parse::<i64>()?.into());
    }
    let files = read(Path::new(&folder))?;
    let mut bytes = 0;
    let rows = make_rows(&files, &table, &options, |piece| bytes += std::hint::black_box(piece).len())?;
    println!("{rows} {bytes}");
    Ok(())
}
