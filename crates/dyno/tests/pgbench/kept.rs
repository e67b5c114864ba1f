//! `\gset`, `\aset` and statements joined by `\;`.

use crate::case::{same, script};
use crate::server::database;

const SETUP: &str = "drop table if exists kept; create table kept(value text)";
const ROWS: &str = "select * from kept order by ctid";

#[test]
fn values_are_kept() {
    let Some(database) = database("kept") else { return };
    let texts = [
        "select 1 as x, 'two' as y \\gset\ninsert into kept values (concat_ws(' ', :x::text, :'y'));\n",
        "select 1 as x, 2.5 as y, true as z \\gset p_\ninsert into kept values (concat_ws(' ', :p_x::text, :p_y::text, :p_z::text));\n",
        "select null as x \\gset\n\\set y debug(:x)\n",
        "select null as x \\gset\ninsert into kept values (:x);\n",
        "select 1 as x where false \\gset\n",
        "select generate_series(1, 2) as x \\gset\n",
        "select 1 as \"a b\" \\gset\n",
        "select 1 as \"é\" \\gset\nselect :é;\n",
        "select 1 as x, 2 as \"?\" \\gset\n",
        "select 1 \\gset\n",
        "select 1 \\gset 5_\n",
        "select 1 as x \\gset 5_\n",
        "insert into kept values ('a') \\gset\n",
        "create temporary table if not exists u(x int) \\gset\n",
        "select \\gset\ninsert into kept values ('none');\n",
        "select 1 as x, 2 as x \\gset\ninsert into kept values (:x::text);\n",
        "select 1 / 0 as x \\gset\n",
        "insert into kept values ('r') returning value as x, 6 as y \\gset\ninsert into kept values (:y::text);\n",
        "select 5 as x \\aset\ninsert into kept values (:x::text);\n",
        "\\set x 1\nselect 5 as x where false \\aset\ninsert into kept values (:x::text);\n",
        "select generate_series(1, 3) as x \\aset\ninsert into kept values (:x::text);\n",
        "select 1 as \"a b\" \\aset\n",
        "insert into kept values ('a') \\aset\n",
        "select '' as x \\gset\n\\set y debug(:x)\n",
        "select ' 12' as x \\gset\n\\set y debug(:x + 1)\n",
        "select 9 as client_id \\gset\n\\set y debug(:client_id)\n",
        "select 1 as unused, 2 as also_unused \\gset\n",
    ];
    for mode in ["simple", "extended", "prepared"] {
        same(&database, texts.map(|text| script(&format!("-M {mode}"), text).setup(SETUP).contents(ROWS)));
    }
}

#[test]
fn of_several_statements() {
    let Some(database) = database("several") else { return };
    let texts = [
        "select 1 as x\\; select 2 as x \\gset\ninsert into kept values (:x::text);\n",
        "select 1 as x\\; select 2 as y \\gset\ninsert into kept values (':x :y');\n",
        "select 1 as x\\; select 2 as y\\; select 3 as z where false \\aset\ninsert into kept values (':x :y :z');\n",
        "select 1 as x\\; select 2 as x where false \\gset\n",
        "select 1 as x where false\\; select 2 as x \\gset\ninsert into kept values (:x::text);\n",
        "select generate_series(1, 2) as x\\; select 2 as x \\gset\ninsert into kept values (:x::text);\n",
        "select 1 as x\\; insert into kept values ('b') \\gset\n",
        "select 1 as x\\; insert into kept values ('b') \\aset\ninsert into kept values (:x::text);\n",
        "select 1 as x\\; select 2 as \"a b\"\\; select 3 as z \\aset\n",
        "select 1 as \"a b\"\\; select 3 as z \\gset\ninsert into kept values (:z::text);\n",
        "select 1 as x\\; select 1 / 0 as x \\gset\n",
        "begin\\; insert into kept values ('c')\\; end;\n",
        "begin\\; insert into kept values ('c')\\; select 1 / 0;\n",
        "\\;\\; select 1;\n",
        "select 1 as x\\; \\; select 7 as x \\gset p\ninsert into kept values (:px::text);\n",
        "begin \\;\nselect 1 as x \\;\n\n-- comment\nend \\aset\ninsert into kept values (:x::text);\n",
    ];
    same(&database, texts.map(|text| script("-r", text).setup(SETUP).contents(ROWS)));
    for mode in ["extended", "prepared"] {
        same(
            &database,
            [
                script(&format!("-M {mode}"), "select 1\\; select 2;\n"),
                script(&format!("-M {mode}"), texts[0]),
            ],
        );
    }
}
