//! Meta-commands as they run.

use crate::case::{case, same, script};
use crate::server::database;

#[test]
fn conditions_take_each_branch() {
    let Some(database) = database("branches") else { return };
    let tree = "\\if :x = 1\n insert into took values ('if');\n \\if :y\n  insert into took values ('if if');\n \\elif :x = 1\n  insert into took values ('if elif');\n  \\if 1 / 0\n  \\else\n  \\endif\n \\endif\n\
                \\elif :x = 2\n insert into took values ('elif');\n \\if :y\n \\else\n  insert into took values ('elif else');\n \\endif\n\
                \\elif :x = 3\n insert into took values ('second elif');\n\
                \\elif null\n insert into took values ('null');\n\
                \\else\n insert into took values ('else');\n \\if :y\n  insert into took values ('else if');\n \\elif 1 / 0\n \\else\n \\endif\n\
                \\endif\ninsert into took values ('end');\n";
    let taken = |x: &str, y: &str, mode: &str| {
        script(&format!("-r -M {mode} -D x={x} -D y={y}"), tree)
            .setup("drop table if exists took; create table took(branch text)")
            .contents("select * from took order by ctid")
    };
    for x in ["1", "2", "3", "4"] {
        for y in ["0", "1"] {
            same(&database, [taken(x, y, "simple")]);
        }
    }
    same(
        &database,
        [taken("2", "off", "prepared"), taken("true", "yes", "extended"), taken("1", "maybe", "simple")],
    );
}

#[test]
fn expressions_that_fail() {
    let Some(database) = database("expressions") else { return };
    let failing = [
        "\\set x 1 / 0\n",
        "\\set x 1 % 0\n",
        "\\set x :undefined + 1\n",
        "\\set x 9223372036854775807 + 1\n",
        "\\set x -(-9223372036854775807 - 1)\n",
        "\\set x (-9223372036854775807 - 1) / -1\n",
        "\\set x 'a'\n",
        "\\set x random(2, 1)\n",
        "\\set x random_gaussian(1, 10, 1.5)\n",
        "\\set x random_exponential(1, 10, 0)\n",
        "\\set x random_zipfian(1, 10, 1.0001)\n",
        "\\set x permute(1, 0)\n",
        "\\set x int(1e30)\n",
        "\\set x 1 + true\n",
        "\\set x null + 1\n\\set y debug(:x)\n",
        "\\set x abs(null)\n",
        "\\set x 1 and 2\n",
        "\\set x not 1.5\n",
        "\\set x 1.5 & 1\n",
        "\\set x ln(0) + sqrt(-1)\n\\set y debug(:x)\n",
        "\\set x int(sqrt(-1))\n",
        "\\set x case when 1.5 then 1 end\n",
        "\\if 1.5\n\\endif\n",
        "\\if null\nselect 1 / 0;\n\\endif\n",
        "\\set x debug(1) + debug(2.5) + debug(least(3, 4))\n\\set y debug(true or 1 / 0 = 1)\n\\set z debug(null)\n",
        "\\set x 1.0 / 0\n\\set y debug(:x)\n\\set z debug(-1e300 * 1e300)\n",
        "\\set a_b1 5\nselect :a_b1, :a_b;\n",
        "\\set x 1 << 64\n\\set y debug(:x)\n",
        "\\set x mod(5, 0)\n",
        "\\set x hash(null)\n\\set y debug(:x)\n",
        "\\set x -9223372036854775808\n\\set y debug(:x)\n",
        "\\set client_id :client_id + 1\nselect 1 / (2 - :client_id);\n",
    ];
    same(&database, failing.map(|text| case("--random-seed=1 -n -t 2 -f script").file("script", text)));
    let given =
        ["abc", "1x", "9223372036854775808", "1e400", "0x10", " 5", "5 ", "''", "1.5.2", "tru", "n", "on"];
    same(
        &database,
        given.map(|value| {
            case("-n -t 1 -f s")
                .argument("-D")
                .argument(&format!("x={value}"))
                .file("s", "\\set y debug(:x)\n\\set z :x + 1\n")
        }),
    );
}

#[test]
fn sleeps() {
    let Some(database) = database("sleeps") else { return };
    let sleeping = [
        "\\sleep 1\n",
        "\\sleep 0 s\n\\sleep 10 us\n\\sleep 1 ms\n",
        "\\sleep 10us\n",
        "\\sleep -5 s\n",
        "\\sleep :t ms\n",
        "\\sleep :undefined ms\n",
        "\\set x 1\n\\sleep :x us\n",
        "\\set x 1.5\n\\sleep :x us\n",
        "\\set x -1.5\n\\sleep :x s\n",
        "\\set x null\n\\sleep :x us\n",
        "\\sleep :word us\n",
    ];
    same(&database, sleeping[1..].iter().map(|text| script("-D t=1 -D word=soon -r", text)));
    same(
        &database,
        [script("-t 1", sleeping[0]), script("-c 2 -M prepared", "\\sleep 1 ms\nselect 1;\n\\sleep 1 us\n")],
    );
}

#[test]
fn shells() {
    let Some(database) = database("shells") else { return };
    let commands = [
        "\\shell echo one :x 'two  three' > out\n",
        "\\shell false\n",
        "\\shell exit 3\n",
        "\\shell nothing-of-that-name\n",
        "\\shell :undefined\n",
        "\\shell ::x echo\n",
        "\\shell echo ::x :x > out\n",
        "\\shell kill -9 $$\n",
        "\\setshell y echo 5\n\\shell echo :y > out\n",
        "\\setshell y echo :x\n\\set z :y + 1\n\\shell echo :z > out\n",
        "\\setshell y echo five\n",
        "\\setshell y true\n",
        "\\setshell y false\n",
        "\\setshell y echo 1 2\n",
        "\\setshell y echo ' 12 '\n\\shell echo :y > out\n",
        "\\setshell y echo 99999999999\n\\shell echo :y > out\n",
        "\\setshell y printf 3; echo 4\n\\shell echo :y > out\n",
        "\\setshell y printf '7\\n8\\n'\n\\shell echo :y > out\n",
        "\\setshell y echo -3; exit 1\n\\shell echo :y > out\n",
        "\\setshell y nothing-of-that-name\n",
        "\\setshell 1y echo 1\n",
        "\\setshell y echo :undefined\n",
    ];
    same(&database, commands.map(|text| script("-D x=7", text)));
}

#[test]
fn a_prepared_statement_sees_its_table_change() {
    let Some(database) = database("changes") else { return };
    let texts = [
        "drop table if exists u;\ncreate table u(x int);\ninsert into u values (:client_id);\nselect * from u;\n",
        "alter table t add column if not exists y int;\nselect * from t;\nalter table t drop column y;\nselect * from t;\n",
        "deallocate all;\nselect 1;\n",
        "discard all;\nselect 1;\n",
        "prepare p as select 1;\nexecute p;\ndeallocate p;\n",
    ];
    for mode in ["simple", "extended", "prepared"] {
        same(
            &database,
            texts.map(|text| {
                script(&format!("-M {mode}"), text)
                    .setup("create table if not exists t(x int); create table if not exists u(x int)")
            }),
        );
    }
}
