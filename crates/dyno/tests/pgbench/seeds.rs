//! The same seed: the same choice of scripts and the same values.

use crate::case::{Case, case, same};
use crate::server::database;

const SETUP: &str = "drop table if exists drawn; create table drawn(n serial, script text, value text)";
const ROWS: &str = "select * from drawn order by n";
const ROWS_OF_SEVERAL: &str = "select script, value from drawn order by 1, 2";

/// Draws by each distribution and stores the values.
fn drawing(name: &str) -> String {
    let set = |variable: &str, expression: &str| format!("\\set {variable} {expression}\n");
    [
        set("u", "random(1, 1000000)"),
        set("e", "random_exponential(1, 1000, 2.5)"),
        set("g", "random_gaussian(-500, 500, 3)"),
        set("z", "random_zipfian(1, 1000, 1.2)"),
        set("y", "random_zipfian(1, 1000, 0.7 + 0.9)"),
        set("h", "hash(:u) # hash_fnv1a(:g, 7)"),
        set("p", "permute(:u - 1, 1000000) + permute(:e, 1001, 5)"),
        set("d", "sqrt(:u) / 3 + :client_id"),
    ]
    .concat()
        + &format!("insert into drawn(script, value) values ('{name}', concat_ws(' ', ':u', ':e'));\n")
            .replace('\'', "''")
            .replace("''", "'")
        + &format!(
            "insert into drawn(script, value) values ('{name}', concat_ws(' ', (:u)::text, (:e)::text, (:g)::text, (:z)::text, (:y)::text, (:h)::text, (:p)::text, (:d)::text));\n"
        )
        + "insert into drawn(script, value) values ('seeds', concat_ws(' ', (:scale)::text, (:client_id)::text, (:random_seed)::text, (:default_seed)::text));\n"
}

fn seeded(arguments: &str) -> Case {
    case(&format!("-n {arguments}"))
        .file("a", drawing("a"))
        .file("b", drawing("b"))
        .file("c", drawing("c"))
        .setup(SETUP)
        .contents(ROWS)
}

#[test]
fn one_client_stores_the_same_rows() {
    let Some(database) = database("seeded") else { return };
    for mode in ["simple", "extended", "prepared"] {
        for seed in ["1", "5432", "18446744073709551615", "0"] {
            same(&database, [seeded(&format!("-M {mode} -t 6 -f a@2 -f b@3 -f c --random-seed={seed}"))]);
        }
    }
}

#[test]
fn several_clients_and_threads_store_the_same_rows() {
    let Some(database) = database("seeded_many") else { return };
    let several = |arguments: &str| seeded(arguments).contents(ROWS_OF_SEVERAL).any_order();
    same(
        &database,
        [
            several("-c 5 -t 4 -f a --random-seed=3"),
            several("-c 5 -j 5 -t 4 -f a@1 -f b@9 --random-seed=4"),
            several("-c 6 -j 3 -t 4 -f c --random-seed=6 -C"),
            several("-c 1 -j 1 -t 20 -f a@1 -f b@0 -f c@10 --random-seed=8"),
            several("-c 1 -t 10 -f a -f b -R 10000 --random-seed=8"),
        ],
    );
}

#[test]
fn variables_can_be_set_from_outside() {
    let Some(database) = database("defined") else { return };
    let set = |arguments: &str| {
        case(&format!("-n -t 2 --random-seed=11 {arguments} -f v"))
            .file("v", "insert into drawn(value) values (concat_ws(' ', (:x)::text, (:scale)::text, (:client_id)::text, (:default_seed)::text));\n")
            .setup(SETUP)
            .contents(ROWS)
    };
    same(
        &database,
        [
            set("-D x=1"),
            set("-D x=-7.5"),
            set("-D x=1e3 -D scale=9"),
            set("-D x=1 -D client_id=5 -D default_seed=6 -s 4"),
            set("-D x=1 -D x=2 -M prepared"),
            set("-D x=true -M extended"),
            set("-s 3 -D x='it' -M simple"),
            set("-D x=null"),
            set("-D x= -M extended"),
        ],
    );
    let seed = case("-n -t 1 -f v")
        .file("v", "insert into drawn(value) values ((:random_seed)::text);")
        .setup(SETUP)
        .contents(ROWS);
    same(
        &database,
        [seed.clone().environment("PGBENCH_RANDOM_SEED", "99"), seed.environment("PGBENCH_RANDOM_SEED", "x")],
    );
}
