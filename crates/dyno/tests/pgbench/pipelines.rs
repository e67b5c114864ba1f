//! Pipelines, as scripts use them.

use crate::case::{case, same, script};
use crate::server::database;

#[test]
fn in_both_extended_protocols() {
    let Some(database) = database("pipelines") else { return };
    let texts = [
        "\\startpipeline\nselect 1;\nselect 2;\n\\endpipeline\n",
        "\\startpipeline\ninsert into p values (1);\n\\set x 5\ninsert into p values (:x);\n\\sleep 1 us\ninsert into p values (3);\n\\endpipeline\ninsert into p values (4);\n",
        "\\startpipeline\n\\endpipeline\n",
        "\\startpipeline\nselect 1;\n\\endpipeline\n\\startpipeline\nselect 2;\n\\endpipeline\n",
        "begin;\n\\startpipeline\ninsert into p values (1);\nend;\n\\endpipeline\n",
        "\\startpipeline\nbegin;\ninsert into p values (1);\n\\endpipeline\nend;\n",
        "\\if true\n\\startpipeline\nselect 1;\n\\endif\n\\endpipeline\n",
        // What is wrong.
        "\\startpipeline\nselect 1;\n",
        "\\startpipeline\n",
        "\\startpipeline\n\\startpipeline\n",
        "\\startpipeline\nselect 1;\n\\startpipeline\n\\endpipeline\n",
        "\\endpipeline\n",
        "select 1;\n\\endpipeline\n",
        "\\startpipeline\nselect 1 / 0;\nselect 2;\n\\endpipeline\n",
        "\\startpipeline\nselect 1;\nselect 1 / 0;\nselect 2;\n\\endpipeline\n",
        "\\startpipeline\nselect 1;\nselect nothing;\n\\endpipeline\n",
        "\\startpipeline\nselect 1 as x \\gset\n\\endpipeline\n",
        "\\startpipeline\nselect 1 as x \\aset\n\\endpipeline\n",
        "\\startpipeline\nbegin;\n\\endpipeline\n",
        "\\startpipeline\n\\set x 1 / 0\n\\endpipeline\n",
        "\\startpipeline\nselect 1;\n\\shell false\n\\endpipeline\n",
        "\\startpipeline\nselect pg_terminate_backend(pg_backend_pid());\nselect 1;\n\\endpipeline\n",
        "\\startpipeline\ncopy (select 1) to stdout;\n\\endpipeline\n",
        "\\startpipeline\ndo $$ begin raise notice 'heard'; end $$;\n\\endpipeline\n",
    ];
    for mode in ["simple", "extended", "prepared"] {
        same(
            &database,
            texts.map(|text| {
                script(&format!("-M {mode}"), text)
                    .setup("drop table if exists p; create table p(x int)")
                    .contents("select * from p order by ctid")
            }),
        );
    }
    same(
        &database,
        [
            script("-M prepared -c 3 -j 2 -r", texts[0]),
            script("-M extended -C -c 2", texts[1]),
            script("-M prepared -r", texts[1]),
        ],
    );
}

#[test]
fn with_points_of_synchronisation() {
    let Some(database) = database("synchronised") else { return };
    let texts = [
        "\\startpipeline\nselect 1;\n\\syncpipeline\nselect 2;\n\\endpipeline\n",
        "\\startpipeline\ninsert into p values (1);\n\\syncpipeline\ninsert into p values (2);\n\\syncpipeline\n\\syncpipeline\n\\endpipeline\n",
        "\\startpipeline\n\\syncpipeline\n\\endpipeline\n",
        "\\startpipeline\ninsert into p values (1);\n\\syncpipeline\nselect 1 / 0;\n\\syncpipeline\ninsert into p values (2);\n\\endpipeline\n",
        "\\syncpipeline\n",
        "\\startpipeline\n\\syncpipeline\n",
        "\\startpipeline\nselect 1;\n\\syncpipeline\nbegin;\n\\endpipeline\n",
        "\\startpipeline\nselect 1;\n\\syncpipeline\n\\sleep 1 us\nselect 2;\n\\endpipeline\n",
    ];
    for mode in ["simple", "extended", "prepared"] {
        same(
            &database,
            texts.map(|text| {
                script(&format!("-M {mode}"), text)
                    .since(18)
                    .setup("drop table if exists p; create table p(x int)")
                    .contents("select * from p order by ctid")
            }),
        );
    }
}

#[test]
fn that_are_tried_again() {
    let Some(database) = database("pipelines_again") else { return };
    let fails =
        "do $$ begin if nextval('tries') % 2 <> 0 then raise 'no' using errcode = '40001'; end if; end $$;\n";
    let texts = [
        format!(
            "\\startpipeline\ninsert into p values (1);\n{fails}insert into p values (2);\n\\endpipeline\n"
        ),
        format!("begin;\n\\startpipeline\ninsert into p values (1);\n{fails}end;\n\\endpipeline\n"),
        format!(
            "\\startpipeline\nbegin;\ninsert into p values (1);\n{fails}end;\n\\endpipeline\ninsert into p values (7);\n"
        ),
    ];
    for mode in ["extended", "prepared"] {
        for tries in ["1", "3"] {
            same(
                &database,
                texts.clone().map(|text| {
                    case(&format!("-n -t 3 -f s -M {mode} --max-tries={tries} --failures-detailed"))
                        .file("s", &text)
                        .setup("drop table if exists p; create table p(x int); drop sequence if exists tries; create sequence tries")
                        .contents("select * from p order by ctid")
                }),
            );
        }
    }
}
