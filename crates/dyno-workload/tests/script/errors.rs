//! Malformed scripts: the whole message, with line, caret and all, is the same.

use std::path::PathBuf;

use dyno_workload::script::{Names, QueryMode, parse};

use crate::reference::{programs, programs_since, refusal};

const MALFORMED: &[&str] = &[
    // Nothing to run.
    "",
    "\n\n  \n",
    "-- nothing\n",
    "-- nothing",
    "\\\n\\ \n",
    "\0select 1;\n",
    // Commands.
    "\\bad\n",
    "\\bad",
    "  \\bad command \n",
    "select 1;\n\n  \\bad\tcommand\r\nselect 2;\n",
    "select 1 \\bad x\n",
    "\\bad a \\\n b \\\r\n c\n",
    "\\\\bad\n",
    "\\é\n",
    "\\SETX 1\n",
    "\\set\n",
    "\\set",
    "\\set \\\n",
    "\\SET x\n",
    "\\set x",
    "\\set x\\\n",
    "\\set x \\\n \\\n",
    "\\if\n",
    "\\elif\n",
    "\\sleep\n",
    "\\sleep 1 ms s\n",
    "\\sleep 1 ms s t\n",
    "\\sleep \\\n1 \\\nms\\\n s t\n",
    "\\sleep x\n",
    "\\sleep ms 1\n",
    "\\sleep 1x\n",
    "\\sleep 1x ms\n",
    "\\sleep -1h\n",
    "\\sleep 10 h\n",
    "\\sleep 10\\\n h\n",
    "\\sleep 1m\\\n",
    "\\sleep :x h\n",
    "\\sleep 1.5\n",
    "\\sleep +ms\n",
    "\\Sleep 1 hours\n",
    "\\setshell\n",
    "\\setshell x\n",
    "\\shell\n",
    "\\else x\n\\endif\n",
    "\\if 1\n\\endif x\n",
    "\\startpipeline x\n",
    "\\endpipeline x\n",
    "\\gset\n",
    "\\gset a b\n",
    "select 1 \\gset a b\n",
    "select 1 \\aset a b\n",
    "select 1;\n\\gset\n\\gset\n",
    "select 1;\n\\aset\n\\gset\n",
    "\\set x 1\n\\gset x\n",
    "\\set x 1 \\\n + 2\n\\aset x\n",
    // Conditions.
    "\\if true\n",
    "\\if true\nselect 1;\n\\else\n",
    "\\elif true\n",
    "\\else\n",
    "select 1;\n\\endif\n",
    "\\if true\n\\else\n\\else\n\\endif\n",
    "\\if true\n\\else\n\\elif true\n\\endif\n",
    "\\if true\n\\if false\n\\endif\n",
    "\\if true\n\\endif\n\\endif\n",
    // Expressions.
    "\\set x 1 +\n",
    "\\set x 1 +",
    "\\set x 1 + ",
    "\\set x 1 + \r\n",
    "\\set x 1 + \\\n",
    "\\set x 1 + \\\n 2 3 \\\n 4\nselect 1;\n",
    "\\set x 1 2\n",
    "\\set x 1 2 3 4 5\n",
    "\\set x )\n",
    "\\set x (\n",
    "\\set x ()\n",
    "\\set x (1\n",
    "\\set x (1,2)\n",
    "\\set x 1)\n",
    "\\set x * 1\n",
    "\\set x 1 ! 2\n",
    "\\set x 1 2 ! 3\n",
    "\\set x 1 2 ! 3 \\ 4 ; 5\n",
    "\\set x @\n",
    "\\set x @ @",
    "\\set x :\n",
    "\\set x ::y\n",
    "\\set x .\n",
    "\\set x 1 = 2 = 3\n",
    "\\set x 1 < 2 >= 3\n",
    "\\set x 1 ~ 2\n",
    "\\set x is null\n",
    "\\set x 1 is\n",
    "\\set x 1 is 2\n",
    "\\set x 1 is not\n",
    "\\set x 1 is not not null\n",
    "\\set x not\n",
    "\\set x true and\n",
    "\\set x case end\n",
    "\\set x case 1 when 1 then 2 end\n",
    "\\set x case when 1 then 2\n",
    "\\set x case when 1 else 2 end\n",
    "\\set x case when 1 then 2 else end\n",
    "\\set x case when 1 then 2 else 3 else 4 end\n",
    "\\set x 'text'\n",
    "\\set x \"text\"\n",
    "\\set x nosuch\n",
    "\\set x nosuch(1)\n",
    "\\set x 1 + NoSuch (1) @\n",
    "\\set x nosuch @\n",
    "\\set x abs\n",
    "\\set x abs 1\n",
    "\\set x abs()\n",
    "\\set x ABS(1, 2)\n",
    "\\set x abs(1,)\n",
    "\\set x abs(,)\n",
    "\\set x abs(,,1)\n",
    "\\set x abs(1, 2) @\n",
    "\\set x abs(1 2)\n",
    "\\set x abs(1\n",
    "\\set x pi(1)\n",
    "\\set x pi(\n",
    "\\set x mod(1)\n",
    "\\set x pow(1)\n",
    "\\set x least()\n",
    "\\set x Greatest ( ) \n",
    "\\set x random(1)\n",
    "\\set x random(1, 2, 3)\n",
    "\\set x random_gaussian(1, 2)\n",
    "\\set x hash()\n",
    "\\set x hash(1, 2, 3)\n",
    "\\set x hash_fnv1a()\n",
    "\\set x permute(1)\n",
    "\\set x permute(1, 2, 3, 4)\n",
    "\\set x 9223372036854775808\n",
    "\\set x 1 - 9223372036854775808\n",
    "\\set x - 9223372036854775808 9223372036854775808\n",
    "\\set x -(9223372036854775808)\n",
    "\\set x 9223372036854775809\n",
    "\\set x 09223372036854775808\n",
    "\\set x 1 + 99999999999999999999 + 2\n",
    "\\set x 1e400\n",
    "\\set x 1e-400 + 1\n",
    "\\set x 1.5.5\n",
    "\\set x 1e\n",
    "\\set x 0x10\n",
    "\\set x 1_000\n",
    "\\set x é\n",
    "\\set x 5 é 6\n",
    "\\if 1 +\n\\endif\n",
    "\\if true\n\\ELIF (\n\\endif\n",
    "\\set x \t 1\t+\t*\n",
    "select 1; \\set x 1 2\n",
    "select ( \\set x 1 2\n);\n",
    "\\set x 1\\\n\\ 2\n",
    "\\set 1x 2 3\n",
    "\\set x\r\n",
    "\\set x 1\rselect\n",
];

/// What 15 does not know.
const MALFORMED_SINCE_17: &[&str] = &["\\syncpipeline x y\n"];

fn compare(programs: &[PathBuf], arguments: &[&str], mode: QueryMode, script: &[u8]) {
    let ours = parse("-", script, mode, &mut Names::new())
        .map_or_else(|error| error.to_string(), |script| format!("accepted: {:?}", script.commands));
    let shown = String::from_utf8_lossy(script);
    let shown = &shown[..shown.len().min(80)];
    for program in programs {
        let theirs = refusal(program, arguments, script);
        assert_eq!(format!("pgbench: error: {ours}\n"), theirs, "{}: {shown:?}", program.display());
    }
}

#[test]
fn malformed_scripts_are_refused_with_the_same_messages() {
    for script in MALFORMED {
        compare(&programs(), &[], QueryMode::Simple, script.as_bytes());
    }
    for script in MALFORMED_SINCE_17 {
        compare(&programs_since(17), &[], QueryMode::Simple, script.as_bytes());
    }
}

#[test]
fn too_much_is_refused_with_the_same_messages() {
    let programs = programs();
    let words = |count: usize| " x".repeat(count);
    compare(&programs, &[], QueryMode::Simple, format!("\\shell{}\n", words(256)).as_bytes());
    compare(&programs, &[], QueryMode::Simple, format!("\\bad{}\n", words(255)).as_bytes());
    let parameters = format!("select {};\n", ":x,".repeat(256));
    compare(&programs, &["-M", "extended"], QueryMode::Extended, parameters.as_bytes());
    compare(&programs, &["-M", "prepared"], QueryMode::Prepared, parameters.as_bytes());
    for depth in [9996, 9997, 9998, 9999, 20_000] {
        compare(&programs, &[], QueryMode::Simple, format!("\\set x {}@\n", "(".repeat(depth)).as_bytes());
        compare(&programs, &[], QueryMode::Simple, format!("\\set x {} 1 2\n", "(".repeat(depth)).as_bytes());
    }
    for depth in [4998, 4999, 5000, 5001] {
        compare(
            &programs,
            &[],
            QueryMode::Simple,
            format!("\\set x {}1 2\n", "1+(".repeat(depth)).as_bytes(),
        );
        compare(
            &programs,
            &[],
            QueryMode::Simple,
            format!("\\set x {}1 2\n", "- ~".repeat(depth)).as_bytes(),
        );
        compare(
            &programs,
            &[],
            QueryMode::Simple,
            format!("\\set x {}1 2\n", "abs(".repeat(depth)).as_bytes(),
        );
        compare(
            &programs,
            &[],
            QueryMode::Simple,
            format!("\\set x {}1 2\n", "least(1,".repeat(depth / 2)).as_bytes(),
        );
    }
}
