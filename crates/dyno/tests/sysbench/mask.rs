//! Takes out of what a program printed whatever may differ from run to run, and leaves the layout.

/// The lines with what is said of the programs themselves, and of places in sysbench's own scripts, taken out.
pub(crate) fn own(text: &str) -> String {
    text.lines().map(|line| line_without_own(line) + "\n").collect()
}

/// What the resolver says where there is no such name, and where it cannot ask.
const UNRESOLVED: [(&str, &str); 2] = [
    ("server host 'nope.invalid' (-2)", "server host 'nope.invalid' (-3)"),
    ("Name or service not known", "Temporary failure in name resolution"),
];

fn line_without_own(line: &str) -> String {
    if line.starts_with("sysbench 1.0.20 (") {
        return "sysbench 1.0.20 (…)".to_owned();
    }
    // Without a network, a name server is not asked.
    for (no_such_name, no_server) in UNRESOLVED {
        if line.contains(no_server) {
            return line.replace(no_server, no_such_name);
        }
    }
    // `/usr/share/sysbench/oltp_common.lua:197: `
    match line.split_once(".lua:") {
        Some((before, after)) if line.starts_with("FATAL: ") && before.contains("/usr/share/sysbench/") => {
            let place = before.rfind("/usr/share").unwrap_or(0);
            let said = after.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{}{}", &before[..place], said.strip_prefix(": ").unwrap_or(said))
        }
        _ => line.to_owned(),
    }
}

/// A report with its measurements masked; what is counted stays, and where columns end.
pub(crate) fn measured(text: &str) -> String {
    own(text).lines().map(|line| measured_line(line) + "\n").collect()
}

fn measured_line(line: &str) -> String {
    if let Some((before, _)) = line.split_once(" per sec.)") {
        let before = before.rsplit_once('(').map_or(before, |(before, _)| before);
        return format!("{before}(# per sec.)");
    }
    let is_latency =
        ["min:", "avg:", "max:", "th percentile:", "sum:"].iter().any(|label| line.contains(label));
    if is_latency && line.starts_with("      ") {
        let label = line.split_once(':').map_or(line, |(label, _)| label);
        let label = if label.trim_start().ends_with("th percentile") { label } else { label.trim_end() };
        return format!("{label}: <ends at {}>", line.len().min(53));
    }
    if line.contains("total time:") || line.contains("(avg/stddev):") || line.starts_with("[ ") {
        return numbers(line);
    }
    line.to_owned()
}

/// Each number becomes `#`.
pub(crate) fn numbers(line: &str) -> String {
    let mut masked = String::new();
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        if !character.is_ascii_digit() {
            masked.push(character);
            continue;
        }
        masked.push('#');
        while characters.next_if(|c| c.is_ascii_digit() || *c == '.').is_some() {}
    }
    masked
}

/// A report in which the numbers have as many digits as they like.
pub(crate) fn layout(text: &str) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n";
    measured(text).lines().map(|line| words(&numbers(line))).collect()
}

/// Lines of threads in order: which of them is first is time's affair.
pub(crate) fn sorted(text: &str, of_threads: &str) -> String {
    let mut lines: Vec<_> = text.lines().collect();
    for group in lines.chunk_by_mut(|one, other| one.contains(of_threads) == other.contains(of_threads)) {
        if group[0].contains(of_threads) {
            group.sort_unstable();
        }
    }
    lines.join("\n")
}

/// Every line once, in order: how often something happens, and who is first, is time's affair.
pub(crate) fn kinds(text: &str) -> String {
    let mut lines: Vec<_> = text.lines().filter(|line| !line.starts_with("(last message repeated")).collect();
    lines.sort_unstable();
    lines.dedup();
    lines.join("\n")
}

#[test]
fn places_in_scripts_and_measurements_are_masked_and_counts_are_not() {
    let fatal =
        "FATAL: `thread_init' function failed: /usr/share/sysbench/oltp_common.lua:349: no connection\n";
    assert_eq!(own(fatal), "FATAL: `thread_init' function failed: no connection\n");
    let mine = "FATAL: `thread_run' function failed: ./mine.lua:2: boom\n";
    assert_eq!(own(mine), mine);
    assert_eq!(
        measured("    transactions:                        60     (19.83 per sec.)\n"),
        "    transactions:                        60     (# per sec.)\n"
    );
    assert_eq!(
        measured("         95th percentile:                        3.62\n"),
        "         95th percentile: <ends at 53>\n"
    );
    assert_eq!(measured("[ 1s ] thds: 2 tps: 19.98 qps: 1\n"), "[ #s ] thds: # tps: # qps: #\n");
    assert_eq!(kinds("b\na\n(last message repeated 2 times)\nb\n"), "a\nb");
}
