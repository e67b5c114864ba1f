//! Whether the sides run a query set in the same way: the finding `plan-changed`. Products name their steps differently, so only
//! sides of one product are compared.

use super::Aspect;
use crate::comparison::document::Difference;
use crate::comparison::sections::SharedParts;
use crate::comparison::side::{Member, Side};
use crate::document::{QueryTimes, Series};
use crate::event::{Code, HookTime, Severity};
use crate::format;
use crate::plan::{FirstDifference, first_difference, indexes_of_one};
use crate::words::{first_few, list};

const PLANS: Aspect = Aspect {
    name: "plans",
    severity: Severity::Note,
    advice: "part of the difference of these times is one of plans: look at both (dyno compare … --plan QUERY), and whether \
             data, statistics, settings or version are the reason",
};

/// What differs in a series between the base and the others, each by its first run.
pub(super) fn differences(sides: &[Side], shared: &SharedParts<'_>) -> Option<Difference> {
    let base = shared.sides.get(shared.base)?.first()?;
    let of_side = |(at, side): (usize, &Vec<(&Member, &Series)>)| {
        let other = side.first().filter(|other| at != shared.base && same_product(base.0, other.0))?;
        let name = |at: usize| sides.get(at).map(|side| side.name.as_str()).unwrap_or_default();
        let found = changed(base, other, [name(shared.base), name(at)]);
        (!found.is_empty()).then(|| first_few(&found))
    };
    let values: Vec<Option<String>> = shared.sides.iter().enumerate().map(of_side).collect();
    let text = values.iter().flatten().map(String::as_str).collect::<Vec<_>>().join("; ");
    (!text.is_empty()).then(|| Difference {
        code: Code::PlanChanged,
        aspect: PLANS.name,
        severity: PLANS.severity,
        series: Some(shared.name.to_owned()),
        text,
        values,
        advice: PLANS.advice,
    })
}

fn same_product(one: &Member, other: &Member) -> bool {
    let product = |member: &Member| member.described()?.product.clone();
    product(one).is_some() && product(one) == product(other)
}

/// `Q9: 1.2 s with Hash Join (a), 0.8 s with Nested Loop (b)`
fn changed(base: &(&Member, &Series), other: &(&Member, &Series), names: [&str; 2]) -> Vec<String> {
    let of_query = |query: &QueryTimes| {
        let plan = |(member, series): &(&Member, &Series), executed: bool| {
            member.evidence.report().plan(series, &query.query, (HookTime::After, executed)).cloned()
        };
        let both = |executed| Some([plan(base, executed)?, plan(other, executed)?]);
        let [of_base, of_other] = both(true).or_else(|| both(false))?;
        let time = |(_, series): &(&Member, &Series)| {
            let queries = &series.passes.as_ref()?.queries;
            queries.iter().find(|other| other.query == query.query)?.median_s
        };
        let shown = |side: &(&Member, &Series)| time(side).map(|time| format::latency_us(time * 1e6));
        let told = |step: String, side: &(&Member, &Series), name: &str| match shown(side) {
            Some(time) => format!("{time} with {step} ({name})"),
            None => format!("{step} ({name})"),
        };
        let in_order = |side: &(&Member, &Series), name: &str| match shown(side) {
            Some(time) => format!("{time} ({name})"),
            None => format!("not run ({name})"),
        };
        let how = match first_difference(&of_base, &of_other)? {
            FirstDifference::Steps([ours, theirs]) => {
                format!("{}, {}", told(ours, base, names[0]), told(theirs, other, names[1]))
            }
            FirstDifference::Order => format!(
                "{}, {}, the same steps in another order",
                in_order(base, names[0]),
                in_order(other, names[1])
            ),
        };
        let own = indexes_of_one(&of_base, &of_other).into_iter().zip(names);
        let indexes = own.filter(|(indexes, _)| !indexes.is_empty());
        let indexes = indexes.map(|(indexes, name)| format!(", {} only on {name}", list(&indexes)));
        Some(format!("{}: {how}{}", query.query, indexes.collect::<String>()))
    };
    base.1.passes.iter().flat_map(|passes| &passes.queries).filter_map(of_query).collect()
}
