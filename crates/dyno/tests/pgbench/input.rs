//! Scripts as files: none, many, of any bytes.

use crate::case::{case, same, script};
use crate::program::Program;
use crate::server::{database, database_in_latin1};

#[test]
fn many_scripts() {
    let Some(database) = database("many") else { return };
    let many = |count: usize, tail: &str| {
        let files = " -f one".repeat(count);
        case(&format!("-n -t 1 --random-seed=1{files} {tail}")).file("one", "select 1;\n")
    };
    same(&database, [many(128, ""), many(129, ""), many(128, "-S"), many(127, "-b tpcb@0")]);
}

#[test]
fn weights() {
    let Some(database) = database("weights") else { return };
    let weighted = |arguments: &str| {
        case(&format!("-n -t 3 --random-seed=1 {arguments}"))
            .file("one", "select 1;\n")
            .file("a@b", "select 2;\n")
    };
    same(
        &database,
        [
            weighted("-f one@0"),
            weighted("-f one@0 -f one@0"),
            weighted("-f one@0 -f one"),
            weighted("-f one@-1"),
            weighted("-f one@x"),
            weighted("-f one@2147483648"),
            weighted("-f one@99999999999999999999"),
            weighted("-f one@2147483647 -f one@2147483647"),
            weighted("-f a@b"),
            weighted("-f a@b@2"),
            weighted("-f one@"),
            weighted("-f @5"),
        ],
    );
}

#[test]
fn files_of_any_content() {
    let Some(database) = database("bytes") else { return };
    let given = |bytes: &[u8]| case("-n -t 2 -f s").file("s", bytes);
    same(
        &database,
        [
            given(b""),
            given(b"\n\n"),
            given(b"-- nothing\n"),
            given(b";\n"),
            given(b";;;\nselect 1;\n"),
            given(b"select 1"),
            given(b"select 1;\r\nselect 2;\r\n"),
            given(b"select 'unfinished;\n"),
            given(b"select $$unfinished;\n"),
            given(b"select (1;\n);\n"),
            given(b"/* unfinished\n"),
            given(b"select '\xe9\xe8';\n"),
            given(b"select '\xff\xfe\x80';\n"),
            given("select 'été';\n".as_bytes()),
            given(b"select 1; -- \xff\n"),
            given(b"\x7fELF\x01\x02\x03\xff\xfe\x10\x11\n\x01\x02;\n"),
            given(b"select 1;\0select 2;\n"),
            given(b"\0\0\0"),
            given(b"\\set x 5\0\nselect 1;\n"),
            given(b"\\\n"),
            given(b"\\nothing\n"),
            given(b"\\set\n"),
            given(b"\\set x\n"),
            given(b"\\set \xff 1\n"),
            given(b"\\set x 1 +\n"),
            given(b"\\set x 1 \\\n + 1\nselect :x;\n"),
            given(b"\\if true\n"),
            given(b"\\endif\n"),
            given(b"\\else\n"),
            given(b"\\sleep\n"),
            given(b"\\sleep 1 day\n"),
            given(b"\\gset\n"),
            given(b"select 1\\;\n"),
            given(b"select 1 \\gset a b\n"),
        ],
    );
    same(
        &database,
        [
            case("-n -t 1 -f absent"),
            case("-n -t 1 -f /"),
            case("-n -t 1 -f s -M prepared").file("s", b"select '\xff';\n"),
        ],
    );
}

#[test]
fn from_standard_input() {
    let Some(database) = database("standard_input") else { return };
    same(
        &database,
        [
            case("-n -t 2 -f -").stdin("select 1;\n"),
            case("-n -t 2 -f -@3 -f one -r --random-seed=1").stdin("select 1;\n").file("one", "select 2;\n"),
            case("-n -t 2 -f -").stdin("\\set x\n"),
            case("-n -t 2 -f -").stdin("select 1 / 0;\n"),
            case("-n -t 2 -f - -f -").stdin("select 1;\n"),
            case("-n -t 2 -f -"),
        ],
    );
}

#[test]
fn many_arguments_and_long_lines() {
    let Some(database) = database("long") else { return };
    let parameters = |count: usize| {
        let set: String = (0..count).map(|at| format!("\\set v{at} {at}\n")).collect();
        let used: Vec<_> = (0..count).map(|at| format!(":v{at}")).collect();
        format!("{set}select {};\n", used.join(" + "))
    };
    let words = |count: usize| format!("\\shell echo{} > /dev/null\n", " a".repeat(count));
    let mut cases = Vec::new();
    for mode in ["simple", "extended", "prepared"] {
        cases.extend([254, 255, 256].map(|count| script(&format!("-M {mode}"), &parameters(count))));
    }
    cases.extend([250, 252, 253, 254, 255, 256].map(|count| script("", &words(count))));
    cases.push(script("-r", &format!("select {};\n", "1 + ".repeat(5000) + "1")));
    cases.push(script("", &format!("\\set x {}\n", "1 + ".repeat(2000) + "1")));
    cases.push(script("", &format!("\\set x {}1{}\n", "(".repeat(500), ")".repeat(500))));
    same(&database, cases);
}

#[test]
fn bytes_in_the_encoding_of_the_database() {
    let Some(database) = database_in_latin1("latin1") else { return };
    // é as Latin-1 has it, which is no UTF-8: it must reach the server as it is, and come back so.
    let text = b"select 1 / (case when chr(233) = '\xe9' then 1 else 0 end);\n\
        select chr(233) as letter \\gset\n\
        select 1 / (case when chr(233) = ':letter' then 1 else 0 end);\n";
    same(
        &database,
        ["", "-r"].map(|further| case(&format!("-n -t 2 -f latin {further}")).file("latin", text)),
    );
    let ran = case("-n -t 2 -f latin").file("latin", text).run(&Program::dyno_alone(), &database);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}
