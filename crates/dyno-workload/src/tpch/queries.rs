//! The texts of the 22 queries: those that come with the generator, with values in their holes and the row limits that they
//! have by the specification, in the words of a dialect. Pure.

use dyno_target::product::Dialect;
use tpchgen::q_and_a::queries;

/// A query as it is sent.
pub(super) fn text(number: u8, values: &[String], dialect: &Dialect) -> String {
    let text = queries::query(number.into()).unwrap_or_default();
    let mut sql = plain(number, text);
    // `:10` before `:1`.
    for (at, value) in values.iter().enumerate().rev() {
        sql = sql.replace(&format!(":{}", at + 1), value);
    }
    if let (6, [_, discount, _]) = (number, values) {
        sql = with_bounds(&sql, discount);
    }
    if let Some(limit) = limit(number) {
        sql += &format!("\nlimit {limit}");
    }
    sql += dialect.query_end;
    sql
}

/// `Q1`
pub(super) fn name(number: u8) -> String {
    format!("Q{number}")
}

/// The text as a statement without what only some products read.
fn plain(number: u8, text: &str) -> String {
    let text = text.trim().trim_end_matches(';');
    match number {
        // A precision that is the default.
        1 => text.replace(" day (3)", " day"),
        // The names of the columns stand in the subquery, where all products read them.
        13 => text
            .replace("count(o_orderkey)", "count(o_orderkey) as c_count")
            .replace(" (c_custkey, c_count)", ""),
        // The specification's variant, without a view.
        15 => without_view(text).unwrap_or_else(|| text.to_owned()),
        _ => text.to_owned(),
    }
}

/// `create view name (columns) as select …; select …; drop view …` as one statement.
fn without_view(text: &str) -> Option<String> {
    let mut statements = text.split(';');
    let view = statements.next()?.trim().strip_prefix("create view ")?;
    let (head, select) = view.split_once(" as\n")?;
    let query = statements.next()?.trim();
    Some(format!("with {head} as (\n{select}\n)\n{query}").replace(":s", ""))
}

/// The bounds of the discount as numbers. Some products take `0.06 + 0.01` for a float, beside the decimals that it is compared with.
fn with_bounds(sql: &str, discount: &str) -> String {
    let number: f64 = discount.parse().unwrap_or_default();
    sql.replace(&format!("{discount} - 0.01"), &format!("{:.2}", number - 0.01))
        .replace(&format!("{discount} + 0.01"), &format!("{:.2}", number + 0.01))
}

fn limit(number: u8) -> Option<u32> {
    match number {
        2 | 18 | 21 => Some(100),
        3 => Some(10),
        10 => Some(20),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::tpch::parameters;

    #[test]
    fn no_hole_is_left_and_no_value_is_too_many() {
        let dialect = Dialect::of_wire(false);
        for number in 1..=22 {
            let of_validation = parameters::of_validation(number, 1.0);
            let mut random = Random::of_client(1, u32::from(number));
            for _ in 0..50 {
                let drawn = parameters::drawn(number, 1.0, &mut random);
                assert_eq!(drawn.len(), of_validation.len(), "Q{number}");
                assert!(drawn.iter().all(|value| !value.is_empty()), "Q{number}: {drawn:?}");
            }
            let query = text(number, &of_validation, &dialect);
            assert!(!query.contains(':') && !query.contains(';'), "{query}");
            let text = queries::query(number.into()).unwrap();
            let holes = (1..=10).filter(|hole| text.contains(&format!(":{hole}"))).count();
            // `:1` is in `:10` too.
            assert_eq!(holes, of_validation.len(), "Q{number}");
        }
    }

    #[test]
    fn what_products_read_differently_is_said_in_one_way() {
        let dialect = Dialect::of_wire(false);
        let query = |number| text(number, &parameters::of_validation(number, 1.0), &dialect);
        assert!(query(1).contains("interval '90' day\n"), "{}", query(1));
        assert!(
            query(13).ends_with("custdist desc,\n\tc_count desc") && query(13).contains(") as c_orders\n")
        );
        assert!(query(15).starts_with("with revenue (supplier_no, total_revenue) as (\n"), "{}", query(15));
        assert!(query(18).ends_with("limit 100"));
        assert!(query(6).contains("l_discount between 0.05 and 0.07\n"), "{}", query(6));
        let other = Dialect { query_end: " END", ..dialect };
        assert!(text(1, &["90".to_owned()], &other).ends_with(" END"));
    }
}
