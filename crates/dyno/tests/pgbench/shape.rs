//! What two runs of the same thing have in common: measurements are replaced by signs, counts and words stay.

/// Instead of a command's latency.
const LATENCY: &str = "   <latency in 11>";

/// A report or messages, with `#.###` for each number that was measured: those with a fraction, unless they are a
/// share in percent. Lines of dyno's own are left out.
pub(crate) fn measured(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines().filter(|line| !line.starts_with("dyno: ")) {
        out.push_str(&line_shape(line));
        out.push('\n');
    }
    out
}

fn line_shape(line: &str) -> String {
    if line.starts_with("pgbench (") {
        return "pgbench (VERSION)".to_owned();
    }
    // There are several shells, each with words of its own.
    if line.starts_with("sh: ") {
        return "sh: (says why)".to_owned();
    }
    // A command's latency is printed in eleven columns.
    if let (Some(number), true) = (line.get(3..14), line.starts_with("   "))
        && number.trim().parse::<f64>().is_ok()
    {
        return format!("{LATENCY}{}", &line[14..]);
    }
    signs(line)
}

/// Replaces numbers with a fraction that are not in percent.
fn signs(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let length = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, behind) = rest.split_at(length);
        match number.split_once('.') {
            Some((_, fraction))
                if (!behind.starts_with('%') || behind.starts_with("% of the maximum time"))
                    && !fraction.is_empty()
                    && !fraction.contains('.') =>
            {
                out.push_str("#.");
                out.push_str(&"#".repeat(fraction.len()));
            }
            _ => out.push_str(number),
        }
        rest = behind;
    }
    out + rest
}

/// A report of a pgbench before 17, in the words of later ones. Those of several scripts can be told only where no
/// transaction failed or was skipped.
pub(crate) fn in_later_words(text: &str) -> String {
    let mut out = String::new();
    let mut columns = 1;
    for line in text.lines() {
        if line.contains("statement latencies") {
            columns = if line.contains("retries") { 2 } else { 1 };
        }
        let script = line.strip_prefix(" - ").and_then(|rest| rest.split_once(" transactions ("));
        if let Some((count, (share, tps))) =
            script.and_then(|(n, rest)| Some((n, rest.split_once(", tps = ")?)))
        {
            out += &format!(" - {count} transactions ({share})\n");
            if count != "0" {
                out += &format!(" - number of transactions actually processed: {count} (tps = {tps}\n");
            }
        } else if let Some(rest) = line.strip_prefix(LATENCY) {
            out += &format!("{LATENCY}{}\n", narrower(rest, columns));
        } else if !line.contains("NaN%") {
            // Shares of nothing are not told any more.
            out += &format!("{line}\n");
        }
    }
    out
}

/// Counts of so many columns and a command: one space stands between them now, and two stood before.
fn narrower(counts_and_command: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut rest = counts_and_command;
    for _ in 0..columns {
        rest = rest.trim_start_matches(' ');
        let (count, behind) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
        out += &format!("{}{count:>10}", if out.is_empty() { "  " } else { " " });
        rest = behind;
    }
    format!("{out} {}", rest.strip_prefix("  ").unwrap_or(rest))
}

/// Also counts depend on the time, where the time ends a run or keeps its schedule.
pub(crate) fn timed(text: &str) -> String {
    let counted = |line: &str| {
        line.starts_with("progress: ")
            || line.contains("number of transactions")
            || line.contains("number of failed")
            || line.contains(" failures: ")
            || line.contains("number of retries")
            || (line.starts_with(" - ") && line.contains(" transactions ("))
    };
    let lines =
        text.lines().map(|line| if counted(line) { no_numbers(line) } else { line.to_owned() + "\n" });
    lines.collect()
}

fn no_numbers(line: &str) -> String {
    let mut out = String::new();
    for c in line.chars() {
        if !c.is_ascii_digit() {
            out.push(c);
        } else if !out.ends_with('N') {
            out.push('N');
        }
    }
    out.replace("N.N", "N") + "\n"
}

/// The lines in order of the alphabet, for what several clients say at once.
pub(crate) fn sorted(text: &str) -> String {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines.into_iter().map(|line| format!("{line}\n")).collect()
}

/// Each line once.
pub(crate) fn distinct(text: &str) -> String {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    lines.into_iter().map(|line| format!("{line}\n")).collect()
}

/// A line of a raw log with signs for what is measured: client, transaction, latency or word, script, two parts of the
/// time, and what the options add. `lag`: the next column is a time, too.
pub(crate) fn raw_log(text: &str, lag: bool) -> String {
    let line = |line: &str| {
        let columns = line.split(' ').enumerate().map(|(at, column)| {
            let time = at == 2 || at == 4 || at == 5 || (lag && at == 6);
            let number = column.parse::<u64>().is_ok();
            if time && number { "T".to_owned() } else { column.to_owned() }
        });
        columns.collect::<Vec<_>>().join(" ") + "\n"
    };
    text.lines().map(line).collect()
}

/// An aggregated log: of its lines, of which there can be one more or less, the columns, and in which of them there
/// ever was anything.
pub(crate) fn aggregated_log(text: &str) -> String {
    let mut ever = Vec::<bool>::new();
    for line in text.lines() {
        let numbers: Vec<u64> = line.split(' ').map(|column| column.parse().unwrap()).collect();
        ever.resize(numbers.len(), false);
        ever.iter_mut().zip(numbers).for_each(|(ever, number)| *ever |= number > 0);
    }
    ever.iter().map(|ever| if *ever { "N" } else { "0" }).collect::<Vec<_>>().join(" ")
}

#[test]
fn measurements_are_replaced_and_counts_are_not() {
    let text = "pgbench (15.1, server 16)\nlatency average = 1.234 ms\ndyno: x\nfailed: 3 (0.000%)\n";
    assert_eq!(measured(text), "pgbench (VERSION)\nlatency average = #.### ms\nfailed: 3 (0.000%)\n");
    assert_eq!(
        measured("         0.123           0 select 1.5;"),
        "   <latency in 11>           0 select 1.5;\n"
    );
    assert_eq!(measured("         0.123           0  a"), "   <latency in 11>           0  a\n");
}

#[test]
fn a_timed_run_has_no_counts() {
    assert_eq!(
        timed("number of transactions actually processed: 12\nclients: 2\n"),
        "number of transactions actually processed: N\nclients: 2\n"
    );
}

#[test]
fn logs_keep_their_columns() {
    assert_eq!(raw_log("0 1 1234 0 1700000000 12 7 2\n", true), "0 1 T 0 T T T 2\n");
    assert_eq!(raw_log("0 1 skipped 0 1700000000 12 7 2\n", false), "0 1 skipped 0 T T 7 2\n");
    assert_eq!(aggregated_log("9 2 1 1 1 1 0 0 0 0 0\n10 3 1 1 1 1 0 0 0 0 1\n"), "N N N N N N 0 0 0 0 N");
}

#[test]
fn older_reports_are_told_in_later_words() {
    let count = " - 3 transactions (60.0% of total, tps = #.######)\n";
    let counts = " - 3 transactions (60.0% of total)\n - number of transactions actually processed: 3 (tps = #.######)\n";
    assert_eq!(in_later_words(count), counts);
    assert_eq!(
        in_later_words("   <latency in 11>           0  5 END;\n"),
        "   <latency in 11>           0 5 END;\n"
    );
    let retries = "statement latencies in milliseconds, failures and retries:\n";
    assert_eq!(
        in_later_words(&format!("{retries}   <latency in 11>           0          12   END;\n")),
        format!("{retries}   <latency in 11>           0         12  END;\n")
    );
}
