use super::*;

fn rows(text: &str) -> Vec<Vec<String>> {
    let row = |row: &str| row.split('|').map(|value| value.trim().to_owned()).collect();
    text.split(';').map(row).collect()
}

fn explained(sql: &str, one: &str, other: &str) -> Option<String> {
    let [one, other] = [rows(one), rows(other)];
    let [one, other] = [&one, &other].map(|rows| Rows {
        first: rows,
        kinds: &[],
        count: rows.len() as u64,
        digest: None,
        no_ties: false,
    });
    let found = Freedom::of(sql).explains(&one, &other);
    assert_eq!(found, Freedom::of(sql).explains(&other, &one), "{sql}");
    found
}

#[test]
fn what_the_text_leaves_open_may_be_another() {
    for (sql, one, other, why) in [
        ("SELECT a, count(*) FROM t GROUP BY a LIMIT 2", "1|5;2|5", "3|5;1|5", "its LIMIT has no ORDER BY"),
        (
            "SELECT a, count(*) AS c FROM t GROUP BY a ORDER BY c DESC LIMIT 3",
            "1|9;2|5;3|5",
            "1|9;2|5;4|5",
            "rows may tie in the order of its LIMIT",
        ),
        (
            "SELECT a, count(*) FROM t GROUP BY a ORDER BY 2 LIMIT 2",
            "1|9;3|5",
            "1|9;4|5",
            "rows may tie in the order of its LIMIT",
        ),
        (
            "SELECT a, count(*) FROM t GROUP BY a ORDER BY COUNT(*) DESC LIMIT 2",
            "1|9;3|5",
            "1|9;4|5",
            "rows may tie in the order of its LIMIT",
        ),
        (
            "SELECT a FROM t ORDER BY b FETCH FIRST 2 ROWS ONLY",
            "1;2",
            "1;3",
            "rows may tie in the order of its LIMIT, whose keys are not all in the answer",
        ),
        (
            "SELECT a, b FROM t ORDER BY b LIMIT 2 OFFSET 1",
            "1|5;2|7",
            "3|5;2|7",
            "rows may tie in the order of its LIMIT",
        ),
        ("SELECT a, now() FROM t", "1|10:00", "1|10:01", "`now` returns something else each time"),
        (
            "SELECT a, CURRENT_TIMESTAMP FROM t",
            "1|10:00",
            "1|10:01",
            "`CURRENT_TIMESTAMP` returns something else each time",
        ),
        ("SELECT count(*) FROM t WHERE b > random()", "5", "6", "`random` returns something else each time"),
        ("SELECT a, string_agg(b, ',') FROM t GROUP BY a", "1|x,y", "1|y,x", "`string_agg` has no order"),
        ("SELECT a, any_value(b) FROM t GROUP BY a", "1|x", "1|y", "`any_value` takes the value of any row"),
        (
            "SELECT count(*) FROM (SELECT a FROM t LIMIT 5) s",
            "4",
            "5",
            "a LIMIT within it may take other rows",
        ),
        ("-- dyno: compare count only\nSELECT a FROM t", "1", "2", "the query says `compare count only`"),
        (
            "-- dyno: compare unordered\nSELECT f(a) FROM t",
            "1,2",
            "2,1",
            "the query says `compare unordered`",
        ),
    ] {
        assert_eq!(explained(sql, one, other).as_deref(), Some(why), "{sql}");
    }
}

#[test]
fn what_the_text_determines_must_be_the_same() {
    for (sql, one, other) in [
        ("SELECT a FROM t", "1", "2"),
        // Fewer rows.
        ("SELECT a FROM t LIMIT 3", "1;2;3", "1;2"),
        ("-- dyno: compare count only\nSELECT a FROM t", "1", "1;2"),
        // There are no more rows than these.
        ("SELECT a FROM t LIMIT 10", "1;2", "1;3"),
        ("SELECT a, b FROM t ORDER BY b LIMIT 10", "1|5;2|5", "1|5;3|5"),
        // Other keys, and other rows before those that tie.
        ("SELECT a, count(*) AS c FROM t GROUP BY a ORDER BY c LIMIT 2", "1|9;2|5", "1|9;2|4"),
        ("SELECT a, b FROM t ORDER BY b LIMIT 2", "1|5;2|7", "3|5;2|7"),
        ("SELECT n FROM t ORDER BY n LIMIT 3", "1;2;3", "1;2;4"),
        ("SELECT t.n FROM t ORDER BY n DESC LIMIT 2", "3;2", "3;1"),
        // Rows that come twice.
        ("SELECT a, count(*) AS c FROM t GROUP BY a ORDER BY c LIMIT 2", "1|5;2|5", "3|5;3|5"),
        ("SELECT DISTINCT a FROM t LIMIT 2", "1;2", "1;1"),
        // Another column than the one that is open, and other values in any order.
        ("SELECT a, now() FROM t", "1|10:00", "2|10:01"),
        ("SELECT a, string_agg(b, ',') FROM t GROUP BY a", "1|x,y", "1|x,z"),
        ("SELECT a, string_agg(b, ',' ORDER BY b) FROM t GROUP BY a", "1|x,y", "1|y,x"),
        ("SELECT a, listagg(b) WITHIN GROUP (ORDER BY b) FROM t GROUP BY a", "1|xy", "1|yx"),
        ("SELECT first_value(b) OVER (ORDER BY a), first FROM t", "1|2", "1|3"),
        // Names and texts are no calls.
        ("SELECT random, 'now()' FROM t -- LIMIT 1", "1|x", "2|x"),
        ("SELECT \"limit\" FROM t", "1", "2"),
    ] {
        assert_eq!(explained(sql, one, other), None, "{sql}");
    }
}

#[test]
fn an_engine_that_drops_or_repeats_rows_is_not_explained() {
    let sql = "SELECT uid, count(*) AS c FROM hit GROUP BY uid ORDER BY c DESC LIMIT 20";
    let right: Vec<String> = (0..20).map(|at| format!("{at}|{}", 100 - at / 4)).collect();
    let tie = [&right[..16], &["90|96", "91|96", "92|96", "93|96"].map(str::to_owned)].concat();
    assert!(explained(sql, &right.join(";"), &tie.join(";")).is_some());
    // The last row repeated in its own place would be the same answer.
    for place in 0..19 {
        let mut dropped = right.clone();
        dropped.remove(place);
        assert_eq!(explained(sql, &right.join(";"), &dropped.join(";")), None, "{place}");
        // The next row takes its place.
        dropped.push("99|95".to_owned());
        assert_eq!(explained(sql, &right.join(";"), &dropped.join(";")), None, "{place}");
        let mut repeated = right.clone();
        repeated.insert(place, right[place].clone());
        repeated.pop();
        assert_eq!(explained(sql, &right.join(";"), &repeated.join(";")), None, "{place}");
    }
}

#[test]
fn a_comparison_with_any_is_no_aggregate() {
    for comparison in ["= ANY (ARRAY[1,7])", "<> some (SELECT 1)", "> any(ARRAY[1])", "LIKE ANY (ARRAY['a'])"]
    {
        let sql = format!("SELECT a, w FROM u WHERE b {comparison}");
        assert_eq!(explained(&sql, "1|5;2|6", "1|5;2|7"), None, "{sql}");
    }
}

#[test]
fn other_rows_may_come_but_with_their_values() {
    for from in [
        "u WHERE d < now()",
        "u WHERE d < (SELECT current_date)",
        "(SELECT a, w FROM u LIMIT 5000) AS s",
        "u WHERE d IN (SELECT d FROM v ORDER BY d LIMIT 3)",
        "u WHERE random() < 0.5",
        "u TABLESAMPLE BERNOULLI (10)",
    ] {
        for list in ["a, w", "*"] {
            let sql = format!("SELECT {list} FROM {from}");
            assert_eq!(explained(&sql, "1|5;2|6;3|7", "1|5;2|6;3|8"), None, "{sql}");
            assert!(explained(&sql, "1|5;2|6;3|7", "1|5;2|6;4|8").is_some(), "{sql}");
        }
        // What is computed of several rows has another value where others come.
        let sql = format!("SELECT a, count(*) FROM {from} GROUP BY a");
        assert!(explained(&sql, "1|5;2|6", "1|5;2|7").is_some(), "{sql}");
    }
    // A time of a column is determined.
    for sql in ["SELECT unix_timestamp(a) FROM t", "SELECT date(a), strftime('%Y', a), 'now' FROM t"] {
        assert_eq!(explained(sql, "1|1|now", "2|1|now"), None, "{sql}");
    }
}

#[test]
fn the_text_may_leave_open_how_many_rows_there_are() {
    for sql in [
        "SELECT a FROM t WHERE random() < 0.5",
        "SELECT a FROM t TABLESAMPLE BERNOULLI (10)",
        "SELECT a FROM t USING SAMPLE 10%",
        "SELECT a FROM t SAMPLE 0.1",
        "SELECT a FROM t WHERE ts > now() - interval '1 hour'",
        "SELECT a FROM t WHERE abs(random()) % 1000 < 5",
        "SELECT a FROM t WHERE ts > 'now'::timestamp - interval '1 hour'",
        "SELECT a FROM t WHERE ts > datetime('now', '-1 hour')",
        "SELECT a FROM t JOIN s ON s.b < UTC_TIMESTAMP",
        "SELECT DISTINCT floor(random() * 10) FROM t",
        "SELECT floor(rand() * 10) AS b, count(*) FROM t GROUP BY b",
        "SELECT a FROM (SELECT a FROM t WHERE random() < 0.5) AS s",
    ] {
        assert!(explained(sql, "1;2", "1;2;3").is_some(), "{sql}");
    }
    for sql in [
        "SELECT a, now() FROM t",
        "SELECT a FROM t ORDER BY random()",
        "SELECT a FROM t LIMIT 3",
        "SELECT a FROM (SELECT a FROM t LIMIT 5) AS s",
    ] {
        assert_eq!(explained(sql, "1;2", "1;2;3"), None, "{sql}");
    }
    assert!(explained("SELECT count(*) FROM t TABLESAMPLE SYSTEM (30)", "5", "6").is_some());
}

#[test]
fn functions_that_return_something_else_each_time_are_known() {
    for call in [
        "randomblob(4)",
        "date('now')",
        "datetime()",
        "strftime('%s', 'now')",
        "julianday('now')",
        "CAST('now' AS timestamp)",
        "timestamp 'now'",
        "nextval('s')",
        "utc_date",
        "UTC_TIME()",
        "uuidv4()",
        "uuidv7()",
        "uuid_short()",
        "get_current_timestamp()",
        "rand32()",
        "randConstant()",
        "generateUUIDv4()",
    ] {
        let sql = format!("SELECT a, {call} FROM t");
        assert!(explained(&sql, "1|5", "1|6").is_some(), "{sql}");
        assert_eq!(explained(&sql, "1|5", "2|6"), None, "{sql}");
    }
}

#[test]
fn quotes_and_comments_are_read_as_products_read_them() {
    for text in ["$$it's$$", r"E'it\'s'", r"E'\'' AND d <> 'x'", "'a'\n# it's\n"] {
        let sql = format!("SELECT a, b FROM t WHERE c <> {text} ORDER BY b LIMIT 2");
        assert!(explained(&sql, "1|5;2|7", "1|5;3|7").is_some(), "{sql}");
    }
    let sql = "SELECT a, 'dyno: compare count only', '-- dyno: compare unordered' FROM t";
    assert_eq!(explained(sql, "12|x|y", "21|x|y"), None);
}

#[test]
fn a_window_whose_rows_tie_opens_its_column() {
    for window in [
        "row_number() OVER (ORDER BY b)",
        "lag(a) OVER (ORDER BY b)",
        "lead(a) IGNORE NULLS OVER w",
        "ntile(4) OVER (ORDER BY b)",
        "first_value(a) OVER (ORDER BY b)",
        "sum(a) OVER (ORDER BY b ROWS 2 PRECEDING)",
        "sum(a) FILTER (WHERE c > 1) OVER (ORDER BY b ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
        "md5(string_agg(b, ','))",
        "string_agg(b, ',') || 'x'",
    ] {
        let sql = format!("SELECT a, {window} AS x FROM t WINDOW w AS (ORDER BY b)");
        assert!(explained(&sql, "1|5", "1|6").is_some(), "{sql}");
        assert_eq!(explained(&sql, "1|5", "2|5"), None, "{sql}");
    }
    for window in [
        "rank() OVER (ORDER BY b)",
        "cume_dist() OVER (ORDER BY b)",
        "sum(a) OVER (ORDER BY b)",
        "avg(a) OVER (PARTITION BY b ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
        "count(*) OVER ()",
    ] {
        let sql = format!("SELECT a, {window} FROM t");
        assert_eq!(explained(&sql, "1|5", "1|6"), None, "{sql}");
    }
}

#[test]
fn a_text_without_an_outermost_select_leaves_rows_open() {
    for sql in ["(SELECT a FROM t LIMIT 2) UNION ALL (SELECT a FROM s)", "FROM t LIMIT 2", "TABLE t LIMIT 2"]
    {
        assert!(explained(sql, "1|5;2|7", "1|5;3|8").is_some(), "{sql}");
    }
    let sql = "SELECT DISTINCT ON (b) b, a FROM t";
    assert!(explained(sql, "1|5;2|7", "1|5;2|8").is_some());
    assert_eq!(explained(sql, "1|5;2|7", "1|5;3|7"), None);
    assert_eq!(explained("UPDATE t SET a = now()", "1", "2"), None);
}

#[test]
fn a_limit_of_all_rows_leaves_nothing_open() {
    for limit in ["ALL", "NULL"] {
        let sql = format!("SELECT a FROM (SELECT a FROM t LIMIT {limit}) AS s LIMIT {limit}");
        assert_eq!(explained(&sql, "1;2", "1;3"), None, "{sql}");
    }
}

#[test]
fn an_aggregate_in_any_order_has_the_same_elements() {
    let array = "SELECT array_agg(a) FROM t";
    assert!(explained(array, "{12,21}", "{21,12}").is_some());
    assert_eq!(explained(array, "{12,21}", "{11,22}"), None);
    for call in ["string_agg(a, '-')", "group_concat(a SEPARATOR '-')", "listagg(a, '-')"] {
        let sql = format!("SELECT {call} FROM t");
        assert!(explained(&sql, "12-21", "21-12").is_some(), "{sql}");
        assert_eq!(explained(&sql, "12-21", "11-22"), None, "{sql}");
    }
}

/// The first rows of a longer answer.
fn explained_of_first(sql: &str, count: u64, one: &[String], other: &[String]) -> Option<String> {
    let [one, other] = [one, other].map(|rows_of| rows(&rows_of.join(";")));
    let [one, other] =
        [&one, &other].map(|first| Rows { first, kinds: &[], count, digest: None, no_ties: false });
    Freedom::of(sql).explains(&one, &other)
}

#[test]
fn answers_that_are_not_kept_whole_are_explained_as_far_as_they_are() {
    let beyond = "; rows that were not kept were not compared";
    let kept: Vec<String> = (0..100).map(|at| format!("{at}|{}", at / 10)).collect();
    let changed = |place: usize, value: &str| {
        let mut rows = kept.clone();
        rows[place] = value.to_owned();
        rows
    };
    let explained = |sql, count, other: &[String]| {
        let found = explained_of_first(sql, count, &kept, other);
        assert!(found.as_ref().is_none_or(|why| why.ends_with(beyond)), "{found:?}");
        found.is_some()
    };
    let ties = "SELECT a, b FROM t ORDER BY b LIMIT 150";
    assert!(explained(ties, 150, &kept) && explained(ties, 150, &changed(99, "140|9")));
    assert!(!explained(ties, 150, &changed(5, "140|0")) && !explained(ties, 150, &changed(99, "99|8")));
    // There are no more rows.
    assert!(!explained(ties, 149, &kept));
    let random = "SELECT a, random() FROM t";
    assert!(explained(random, 200, &changed(5, "5|77")) && explained(random, 200, &changed(5, "150|0")));
    // More rows without a counterpart than were not kept.
    let others: Vec<String> = (200..300).map(|at| format!("{at}|0")).collect();
    assert!(explained(random, 200, &others) && !explained(random, 199, &others));
    let two = "SELECT a, b, random() FROM t";
    assert!(!explained(two, 200, &changed(5, "5|77")));
    let shortened = |bytes| format!("{{1,2… ({bytes} bytes, hash 0123456789abcde{})", bytes % 10);
    let long = "SELECT array_agg(a) FROM t";
    assert!(
        explained_of_first(long, 1, &[shortened(5000)], &[shortened(5000).replace("0123", "4567")]).is_some()
    );
    assert!(explained_of_first(long, 1, &[shortened(5000)], &[shortened(5001)]).is_none());
}

#[test]
fn rows_that_cannot_tie_are_no_excuse() {
    let [one, other] = [rows("1|x;2|y"), rows("1|x;2|z")];
    let known = |first, no_ties| Rows { first, kinds: &[], count: 2, digest: None, no_ties };
    let explained = |sql: &str, no_ties: [bool; 2]| {
        Freedom::of(sql).explains(&known(&one, no_ties[0]), &known(&other, no_ties[1]))
    };
    for sql in ["SELECT id, v FROM t ORDER BY id LIMIT 2", "SELECT * FROM t ORDER BY id LIMIT 2"] {
        assert!(explained(sql, [false; 2]).is_some(), "{sql}");
        for no_ties in [[true; 2], [true, false], [false, true]] {
            assert_eq!(explained(sql, no_ties), None, "{sql}");
        }
    }
    // Of groups the text itself tells.
    for sql in [
        "SELECT a, max(v) AS m FROM t GROUP BY a ORDER BY a LIMIT 2",
        "SELECT a, max(v) FROM t GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 2",
        "SELECT t.a, max(v) FROM t GROUP BY t.a ORDER BY t.a DESC LIMIT 2",
    ] {
        assert_eq!(explained(sql, [false; 2]), None, "{sql}");
    }
    // Products order NULLs and texts in their own ways, which shows itself in the keys alone.
    for sql in [
        "SELECT max(v) FROM t GROUP BY a ORDER BY a LIMIT 2",
        "SELECT a, max(v) FROM t GROUP BY a, b ORDER BY a LIMIT 2",
        "SELECT lower(a) AS a, max(v) FROM t GROUP BY a ORDER BY a LIMIT 2",
        "SELECT a, unnest(array_agg(v)) FROM t GROUP BY a ORDER BY a LIMIT 2",
        "SELECT a, max(v) FROM t GROUP BY ROLLUP (a) ORDER BY a LIMIT 2",
    ] {
        assert!(explained(sql, [false; 2]).is_some(), "{sql}");
    }
}
