//! Malformed scripts: the whole message, with line, caret and all, is the same.

use std::sync::LazyLock;

use dyno_test_servers::Recorded;
use dyno_workload::script::{Names, Protocol, parse};

use crate::pgbench::{lines, recordings};
use crate::reference::{lines_of, refusal};

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

static RECORDED: LazyLock<Recorded> = LazyLock::new(|| recordings("script", "errors"));

/// A script that is made of one piece again and again, between a beginning and an end.
struct Repeated {
    begin: &'static str,
    piece: &'static str,
    count: usize,
    end: &'static str,
}

impl Repeated {
    fn text(&self) -> String {
        format!("{}{}{}", self.begin, self.piece.repeat(self.count), self.end)
    }

    /// With the number of times in place of what is repeated.
    fn shortened(&self, text: &str) -> String {
        text.replace(&self.piece.repeat(self.count), &format!("[{} times {}]", self.count, self.piece))
            // Where the line is cut, or the caret stands behind it.
            .split_inclusive('\n')
            .map(|line| {
                let blanks = line.len() - line.trim_start_matches(' ').len();
                if blanks > 100 { format!("[{blanks} blanks]{}", &line[blanks..]) } else { line.to_owned() }
            })
            .collect()
    }
}

fn ours(script: &[u8], mode: Protocol) -> String {
    let ours = parse("-", script, mode, &mut Names::new())
        .map_or_else(|error| error.to_string(), |script| format!("accepted: {:?}", script.commands));
    format!("pgbench: error: {ours}\n")
}

fn compare(since: u32, script: &str) {
    let ours = lines_of(&ours(script.as_bytes(), Protocol::Simple));
    let theirs = lines(&RECORDED, script, |pgbench| lines_of(&refusal(pgbench, &[], script.as_bytes())));
    for (version, theirs) in theirs.into_iter().filter(|(version, _)| *version >= since) {
        assert_eq!(ours, theirs, "pgbench {version}: {script:?}");
    }
}

fn compare_repeated(arguments: &[&str], mode: Protocol, script: &Repeated) {
    let text = script.text();
    let shape = |said: &str| lines_of(&script.shortened(said));
    let ours = shape(&ours(text.as_bytes(), mode));
    let key = format!("{} {}", arguments.join(" "), script.shortened(&text));
    let theirs = lines(&RECORDED, key.trim(), |pgbench| shape(&refusal(pgbench, arguments, text.as_bytes())));
    for (version, theirs) in theirs {
        assert_eq!(ours, theirs, "pgbench {version}: {key:?}");
    }
}

#[test]
fn malformed_scripts_are_refused_with_the_same_messages() {
    for script in MALFORMED {
        compare(0, script);
    }
    for script in MALFORMED_SINCE_17 {
        compare(17, script);
    }
}

#[test]
fn too_much_is_refused_with_the_same_messages() {
    let simple = |begin, piece, count, end| {
        compare_repeated(&[], Protocol::Simple, &Repeated { begin, piece, count, end });
    };
    simple("\\shell", " x", 256, "\n");
    simple("\\bad", " x", 255, "\n");
    let parameters = Repeated { begin: "select ", piece: ":x,", count: 256, end: ";\n" };
    compare_repeated(&["-M", "extended"], Protocol::Extended, &parameters);
    compare_repeated(&["-M", "prepared"], Protocol::Prepared, &parameters);
}

#[test]
fn what_is_nested_too_deeply_is_refused() {
    // The stack that a program's own thread has; those of tests have a quarter of it.
    let thread = std::thread::Builder::new().stack_size(8 << 20).spawn(|| {
        for (begin, end) in
            [("(", ")"), ("1+(", ")"), ("- ~", ""), ("abs(", ")"), ("case when 1 then ", " end")]
        {
            let nested = |depth: usize| {
                let script = format!("\\set x {}1{}\n", begin.repeat(depth), end.repeat(depth));
                ours(script.as_bytes(), Protocol::Simple)
            };
            assert!(nested(250).starts_with("pgbench: error: accepted"), "{begin}");
            let refused = "pgbench: error: -:1: memory exhausted in command \"set\"";
            assert!(nested(20_000).starts_with(refused), "{begin}");
        }
    });
    thread.unwrap().join().unwrap();
}
