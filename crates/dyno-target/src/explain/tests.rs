//! What each product said of a query, shortened by figures that nobody reads.

use dyno_results::plan::{PlanNode, complete_times};
use serde_json::Value;

use super::*;

/// Depth, step and what is known of rows and time.
fn shown(mut nodes: Vec<PlanNode>) -> Vec<String> {
    complete_times(&mut nodes);
    let figure = |name: &str, value: Option<f64>| {
        value.map_or_else(String::new, |value| format!(" {name} {}", (value * 1000.0).round() / 1000.0))
    };
    let node = |node: &PlanNode| {
        let figures = [
            figure("planned", node.rows_planned),
            figure("rows", node.rows),
            figure("loops", node.loops),
            figure("ms", node.time_ms),
            figure("own", node.own_ms),
        ];
        format!("{} {}{}", node.depth, node.label(), figures.concat())
    };
    nodes.iter().map(node).collect()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// PostgreSQL 15.18, two workers of which one found all rows of a table.
const POSTGRES: &str = r#"[{"Plan": {"Node Type": "Limit", "Plan Rows": 3, "Actual Total Time": 29.6, "Actual Rows": 3,
    "Actual Loops": 1, "Shared Hit Blocks": 143, "Shared Read Blocks": 2, "Plans": [
  {"Node Type": "Aggregate", "Strategy": "Plain", "Partial Mode": "Simple", "Parent Relationship": "InitPlan",
    "Subplan Name": "InitPlan 1 (returns $1)", "Plan Rows": 1, "Actual Total Time": 9.2, "Actual Rows": 1, "Actual Loops": 1},
  {"Node Type": "Gather", "Plan Rows": 200, "Actual Total Time": 20.0, "Actual Rows": 100, "Actual Loops": 1,
    "Workers Planned": 2, "Workers Launched": 2, "Plans": [
    {"Node Type": "Aggregate", "Strategy": "Hashed", "Partial Mode": "Partial", "Parallel Aware": false, "Plan Rows": 100,
      "Actual Total Time": 1.5, "Actual Rows": 33, "Actual Loops": 3, "Group Key": ["i.name"], "HashAgg Batches": 1,
      "Disk Usage": 0, "Plans": [
      {"Node Type": "Hash Join", "Parallel Aware": true, "Join Type": "Anti", "Hash Cond": "(s.id = x.id)", "Plan Rows": 3571,
        "Actual Total Time": 1.0, "Actual Rows": 2857, "Actual Loops": 3, "Plans": [
        {"Node Type": "Seq Scan", "Parallel Aware": true, "Relation Name": "sold", "Alias": "s", "Plan Rows": 3571,
          "Actual Total Time": 0.6, "Actual Rows": 8571, "Actual Loops": 1, "Filter": "(amount > 3)",
          "Rows Removed by Filter": 11429},
        {"Node Type": "Index Scan", "Parallel Aware": false, "Scan Direction": "Forward", "Index Name": "item_pkey",
          "Relation Name": "item", "Alias": "item", "Plan Rows": 1, "Actual Total Time": 0.0, "Actual Rows": 0,
          "Actual Loops": 0}]}]}]}]}, "Execution Time": 29.8}]"#;

#[test]
fn postgres() {
    let nodes = postgres::read(&json(POSTGRES)).unwrap();
    assert_eq!((nodes[0].pages_hit, nodes[0].pages_read), (Some(143), Some(2)));
    assert_eq!(nodes[1].details, ["Subplan Name: InitPlan 1 (returns $1)"]);
    assert_eq!(nodes[2].details, ["Workers Planned: 2", "Workers Launched: 2"]);
    assert_eq!(nodes.iter().filter_map(|node| node.workers).collect::<Vec<_>>(), [2]);
    assert_eq!(nodes[3].details, ["Group Key: i.name"]);
    assert_eq!(nodes[5].details, ["Filter: (amount > 3)", "Rows Removed by Filter: 11429"]);
    assert_eq!(
        shown(nodes),
        [
            "0 Limit planned 3 rows 3 loops 1 ms 29.6 own 0.4",
            "1 Aggregate planned 1 rows 1 loops 1 ms 9.2 own 9.2",
            "1 Gather planned 200 rows 100 loops 1 ms 20 own 18.5",
            "2 Partial HashAggregate planned 100 rows 33 loops 3 ms 1.5 own 0.5",
            "3 Parallel Hash Anti Join planned 3571 rows 2857 loops 3 ms 1 own 0.4",
            "4 Parallel Seq Scan on sold s planned 3571 rows 8571 loops 1 ms 0.6 own 0.6",
            "4 Index Scan on item using item_pkey planned 1 rows 0 loops 0 ms 0 own 0",
        ]
    );
    assert_eq!(postgres::read(&json(r#"[{"Query": 1}]"#)), None);
    let odd = r#"[{"Plan": {"Node Type": 7, "Actual Loops": -3, "Actual Total Time": "x", "Workers Launched": -9,
                   "Plans": [{"Actual Loops": 2, "Actual Total Time": 3}, 4]}}]"#;
    assert_eq!(postgres::read(&json(odd)).unwrap().len(), 3);
}

/// In the form of Citus's and Hydra's columnar tables, and of postgres_fdw.
#[test]
fn steps_of_extensions_say_whose_they_are_and_what_only_they_say() {
    let columnar = r#"[{"Plan": {"Node Type": "Custom Scan", "Parallel Aware": false, "Async Capable": false,
        "Custom Plan Provider": "ColumnarScan", "Relation Name": "accounts", "Schema": "public", "Alias": "accounts",
        "Startup Cost": 0.0, "Total Cost": 12.5, "Plan Rows": 10, "Plan Width": 4, "Actual Startup Time": 0.1,
        "Actual Total Time": 3.5, "Actual Rows": 10, "Actual Loops": 1, "Disabled": false, "Output": ["aid"],
        "Filter": "(abalance <> 0)", "Rows Removed by Filter": 90, "Columnar Projected Columns": "aid, abalance",
        "Columnar Chunk Group Filters": "(abalance <> 0)", "Columnar Chunk Groups Removed by Filter": 1,
        "Columnar Vectorized Filter": "(abalance <> 0)", "Shared Hit Blocks": 7, "Shared Read Blocks": 0,
        "Temp Read Blocks": 0, "I/O Read Time": 0.5, "WAL Records": 0}}]"#;
    let nodes = postgres::read(&json(columnar)).unwrap();
    assert_eq!(nodes[0].label(), "Custom Scan (ColumnarScan) on accounts");
    let mut details = nodes[0].details.clone();
    details.sort();
    let expected = [
        "Columnar Chunk Group Filters: (abalance <> 0)",
        "Columnar Chunk Groups Removed by Filter: 1",
        "Columnar Projected Columns: aid, abalance",
        "Columnar Vectorized Filter: (abalance <> 0)",
        "Filter: (abalance <> 0)",
        "Rows Removed by Filter: 90",
    ];
    assert_eq!(details, expected);
    let foreign = r#"[{"Plan": {"Node Type": "Foreign Scan", "Operation": "Select", "Relation Name": "t", "Alias": "t",
        "Plan Rows": 1, "Remote SQL": "SELECT a FROM t"}}]"#;
    let nodes = postgres::read(&json(foreign)).unwrap();
    assert_eq!(
        (nodes[0].label().as_str(), &nodes[0].details[..]),
        ("Foreign Scan on t", &["Remote SQL: SELECT a FROM t".to_owned()][..])
    );
    // Elsewhere what is not on the list stays out.
    let plain =
        r#"[{"Plan": {"Node Type": "Seq Scan", "Relation Name": "t", "Columnar Projected Columns": "a"}}]"#;
    assert!(postgres::read(&json(plain)).unwrap()[0].details.is_empty());
}

/// MySQL 9.7.4.
const MYSQL: &str = "\
-> Limit: 3 row(s)  (actual time=34.5..34.5 rows=3 loops=1)
    -> Nested loop antijoin  (cost=70734 rows=657768) (actual time=0.271..27.8 rows=8571 loops=1)
        -> Filter: ((s.amount > 3) and (s.`name` = 'a
b'))  (cost=1998 rows=6578) (actual time=0.169..8.31 rows=8571 loops=1)
            -> Index range scan on s using sold_item over (1 < id)  (cost=1998 rows=1.97e+4) (actual time=0.1..7.5 rows=20000 loops=1)
        -> Single-row index lookup on <subquery2> using <auto_distinct_key> (id = s.id)  (cost=39.9..39.9 rows=1) (actual time=400e-6..1e-3 rows=0 loops=8571)
            -> Materialize CTE c if needed (query plan printed elsewhere)  (cost=33.3..33.3 rows=100) (never executed)
    -> Select #3 (subquery in condition; run only once)
        -> Aggregate: max(item.`name`)  (cost=33.3 rows=1)
";

#[test]
fn mysql() {
    let nodes = mysql::read(MYSQL).unwrap();
    assert_eq!(nodes[2].details, ["((s.amount > 3) and (s.`name` = 'a\nb'))"]);
    assert_eq!(nodes[4].details, ["(id = s.id)"]);
    assert_eq!(
        shown(nodes),
        [
            "0 Limit rows 3 loops 1 ms 34.5 own 6.7",
            "1 Nested loop antijoin planned 657768 rows 8571 loops 1 ms 27.8 own 10.919",
            "2 Filter planned 6578 rows 8571 loops 1 ms 8.31 own 0.81",
            "3 Index range scan on s using sold_item planned 19700 rows 20000 loops 1 ms 7.5 own 7.5",
            "2 Single-row index lookup on <subquery2> using <auto_distinct_key> planned 1 rows 0 loops 8571 ms 8.571 own 8.571",
            "3 Materialize CTE c if needed planned 100 loops 0",
            "1 Select #3",
            "2 Aggregate planned 1",
        ]
    );
    for other in ["", "ERROR", "id\tselect_type", "->"] {
        assert_eq!(mysql::read(other), None, "{other}");
    }
}

/// MariaDB 10.11.18.
const MARIADB: &str = r#"{"query_optimization": {"r_total_time_ms": 0.2}, "query_block": {"select_id": 1, "r_loops": 1,
  "r_total_time_ms": 29.5, "filesort": {"sort_key": "count(0) desc", "r_loops": 1, "r_total_time_ms": 0.5, "r_output_rows": 4,
  "temporary_table": {"nested_loop": [
    {"table": {"table_name": "i", "access_type": "ALL", "possible_keys": ["PRIMARY"], "r_loops": 1, "rows": 100, "r_rows": 100,
      "r_table_time_ms": 1, "r_other_time_ms": 0.25, "r_engine_stats": {"pages_accessed": 9, "pages_read_count": 2},
      "filtered": 50, "r_filtered": 25}},
    {"table": {"table_name": "s", "access_type": "ref", "key": "sold_item", "key_length": "5", "ref": ["d.i.id"], "r_loops": 100,
      "rows": 98, "r_rows": 200, "r_table_time_ms": 20, "r_other_time_ms": 5, "r_engine_stats": {"pages_accessed": 40231},
      "filtered": 100, "r_filtered": 50, "attached_condition": "s.amount > 3"}}],
  "subqueries": [{"materialization": {"r_loops": 20, "query_block": {"select_id": 2, "r_loops": 1, "r_total_time_ms": 0.75,
    "nested_loop": [{"table": {"table_name": "x", "access_type": "index_merge", "rows": 1, "filtered": 100}}]}}}]}}}}"#;

#[test]
fn mariadb() {
    let nodes = mariadb::read(&json(MARIADB)).unwrap();
    assert_eq!(nodes[1].details, ["sort key: count(0) desc"]);
    assert_eq!((nodes[4].pages_hit, nodes[4].pages_read), (Some(7), Some(2)));
    assert_eq!((nodes[5].pages_hit, nodes[5].pages_read), (Some(40231), Some(0)));
    assert_eq!(nodes[5].details, ["attached condition: s.amount > 3", "ref: d.i.id"]);
    assert_eq!(
        shown(nodes),
        [
            "0 Query block loops 1 ms 29.5 own 2",
            "1 Filesort loops 1 ms 27.5 own 0.5",
            "2 Temporary table ms 27",
            "3 Nested loop ms 26.25",
            "4 Table scan on i planned 50 rows 25 loops 1 ms 1.25 own 1.25",
            "4 Index lookup on s using sold_item planned 98 rows 100 loops 100 ms 25 own 25",
            "3 Subqueries ms 0.75",
            "4 Materialization loops 20 ms 0.75",
            "5 Query block loops 1 ms 0.75 own 0.75",
            "6 Nested loop",
            "7 Table access index_merge on x planned 1",
        ]
    );
    assert_eq!(mariadb::read(&json("[1]")), None);
}

/// ClickHouse 26.9.
const CLICKHOUSE: &str = r#"[{"Plan": {"Node Type": "Expression", "Node Id": "Expression_15", "Plans": [
  {"Node Type": "Join", "Node Id": "Join_37", "Description": "JOIN FillRightFirst", "Plans": [
    {"Node Type": "Expression", "Plans": [{"Node Type": "ReadFromMergeTree", "Description": "default.orders", "Indexes": [
      {"Type": "PrimaryKey", "Initial Granules": 8, "Selected Granules": 7}, {"Type": "MinMax"}]}]},
    {"Node Type": "ReadFromMergeTree", "Node Id": "ReadFromMergeTree_5", "Description": "default.lineitem"}]}]}}]"#;

#[test]
fn clickhouse() {
    let nodes = clickhouse::read(&json(CLICKHOUSE)).unwrap();
    assert_eq!(nodes[0].details, ["JOIN FillRightFirst"]);
    assert_eq!(nodes[1].details, ["PrimaryKey: granules 7 of 8"]);
    let steps = ["0 Join", "1 ReadFromMergeTree on orders", "1 ReadFromMergeTree on lineitem"];
    assert_eq!(shown(nodes), steps);
    assert_eq!(clickhouse::read(&json(r#"[{"Plan": {"Node Type": "Expression"}}]"#)), None);
}

/// DuckDB 1.5.6.
const DUCKDB: &str = r#"{"query_name": "EXPLAIN …", "latency": 0.001, "extra_info": {}, "children": [
  {"operator_timing": 3e-7, "operator_name": "EXPLAIN_ANALYZE", "operator_cardinality": 0, "extra_info": {}, "children": [
    {"operator_timing": 0.001, "operator_name": "UNGROUPED_AGGREGATE", "operator_cardinality": 1,
      "extra_info": {"Aggregates": ["sum(#0)", "sum(#1)"], "Estimated Cardinality": "0"}, "children": [
      {"operator_timing": 0.0035, "operator_name": "SEQ_SCAN", "operator_cardinality": 1191,
        "extra_info": {"Table": "t.main.lineitem", "Type": "Sequential Scan", "Estimated Cardinality": "12035"},
        "children": []}]}]}]}"#;

#[test]
fn duckdb() {
    let nodes = duckdb::read(&json(DUCKDB)).unwrap();
    assert_eq!(nodes[0].details, ["Aggregates: sum(#0), sum(#1)"]);
    assert_eq!(
        shown(nodes),
        [
            "0 UNGROUPED_AGGREGATE rows 1 loops 1 ms 4.5 own 1",
            "1 SEQ_SCAN on lineitem planned 12035 rows 1191 loops 1 ms 3.5 own 3.5",
        ]
    );
    // As planned.
    let planned = r#"[{"name": "FILTER ", "children": [{"name": "SEQ_SCAN", "extra_info": {"Table": "a"}}], "extra_info": {}}]"#;
    assert_eq!(shown(duckdb::read(&json(planned)).unwrap()), ["0 FILTER", "1 SEQ_SCAN on a"]);
    assert_eq!(duckdb::read(&json("7")), None);
}

#[test]
fn a_text_of_json_loses_its_indentation_alone() {
    assert_eq!(compact("[\n  {\n    \"a\": \"b  c\"\n  }\n]"), "[{\"a\": \"b  c\"}]");
}

#[test]
fn what_no_reader_understands_stays_text_and_is_cut() {
    let deep = "[{\"Plan\": ".to_owned() + &"{\"Plans\": [".repeat(200) + &"]}".repeat(200) + "}]";
    for (answer, text) in [
        (Answer::PostgresJson, "QUERY PLAN"),
        (Answer::PostgresJson, deep.as_str()),
        (Answer::MySqlTree, "TableReader_5 | 1.00"),
        (Answer::MariaDbJson, "{}"),
    ] {
        let rows = [TextRow::of(&[("a", "1"), ("plan", text)])];
        let explained = read(answer, false, &rows.to_vec());
        assert!(explained.nodes.is_empty() && explained.text == format!("1 | {text}"), "{explained:?}");
    }
    let steps = "-> Sort\n".repeat(NODES_MAX + 1);
    assert!(read(Answer::MySqlTree, false, &vec![TextRow::of(&[("EXPLAIN", &steps)])]).nodes.is_empty());
    let long = read(Answer::Text, false, &vec![TextRow::of(&[("a", &"é".repeat(TEXT_BYTES_MAX))])]);
    assert!(long.text.len() <= TEXT_BYTES_MAX + 3 && long.text.ends_with("é…"));
}

#[test]
fn sqlite_names_what_reads_from_a_step() {
    let row = |id: &str, parent: &str, detail: &str| {
        TextRow::of(&[("id", id), ("parent", parent), ("detail", detail)])
    };
    let rows = [
        row("9", "0", "SEARCH s USING COVERING INDEX k (item=? AND id>?)"),
        row("13", "0", "LIST SUBQUERY 1"),
        row("19", "13", "SCAN sold"),
        row("21", "13", "USE TEMP B-TREE FOR GROUP BY"),
    ];
    let nodes = sqlite(&rows).unwrap();
    assert_eq!(nodes[0].details, ["(item=? AND id>?)"]);
    let steps = [
        "0 SEARCH on s using COVERING INDEX k",
        "0 LIST SUBQUERY 1",
        "1 SCAN on sold",
        "1 USE TEMP B-TREE FOR GROUP BY",
    ];
    assert_eq!(shown(nodes), steps);
}
