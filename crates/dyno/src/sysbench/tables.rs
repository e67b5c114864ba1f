//! What the options say of the ten tests and of their tables.

use dyno_workload::sysbench::{Options, Test};

use super::{Context, Refused};

/// The options as the tests have them. For `run`, `test` says which; then they must fit it.
pub(super) fn options(context: &Context, test: Option<Test>) -> Result<Options, Refused> {
    let typed = &context.options;
    let count = |name: &str| u32::try_from(typed.lenient_integer(name).max(0)).unwrap_or(u32::MAX);
    let redshift = typed.text("pgsql_variant") == Some("redshift");
    let mut options = Options {
        tables: count("tables"),
        table_size: u64::try_from(typed.lenient_integer("table_size")).unwrap_or(0),
        range_size: count("range_size"),
        point_selects: count("point_selects"),
        simple_ranges: count("simple_ranges"),
        sum_ranges: count("sum_ranges"),
        order_ranges: count("order_ranges"),
        distinct_ranges: count("distinct_ranges"),
        index_updates: count("index_updates"),
        non_index_updates: count("non_index_updates"),
        delete_inserts: if redshift { 0 } else { count("delete_inserts") },
        range_selects: typed.flag("range_selects"),
        auto_inc: typed.flag("auto_inc"),
        skip_trx: typed.flag("skip_trx"),
        secondary: typed.flag("secondary"),
        create_secondary: typed.flag("create_secondary") && !redshift,
        mysql_storage_engine: typed.text("mysql_storage_engine").unwrap_or_default().to_owned(),
        distribution: context.settings.distributions.default,
        ..Options::default()
    };
    match test {
        Some(Test::SelectRandomPoints) => options.random_points = count("random_points"),
        Some(Test::SelectRandomRanges) => {
            (options.number_of_ranges, options.delta) = (count("number_of_ranges"), count("delta"));
        }
        _ => {}
    }
    if let Some(test) = test {
        // However many there are, these tests use the first.
        if test.uses_first_table_only() {
            options.tables = 1;
        }
        options.check(test).map_err(|error| context.refuse(&error.to_string()))?;
    }
    Ok(options)
}
