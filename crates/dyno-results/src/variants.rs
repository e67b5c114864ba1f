//! Several systems of one target side by side: what it took to make each, how large each is, and what its loads came to. A row
//! for each figure, a column for each system.

use crate::document::{Cell, Report, Row, Series, Unit, Variants};
use crate::event::{Data, QueryFailure, StageKind};
use crate::plan::Plan;

/// Whether a target of a run has several systems.
pub(crate) fn are_in(report: &Report) -> bool {
    let systems = &report.targets;
    (0..systems.len()).any(|at| systems[..at].iter().any(|other| other.server == systems[at].server))
}

/// The systems of a run side by side; `None` where no target has several.
pub(crate) fn of(report: &Report) -> Option<Variants> {
    if !are_in(report) {
        return None;
    }
    let systems = &report.targets;
    let table = Table { report, systems: systems.iter().map(|system| system.name.as_str()).collect() };
    let mut rows = table.build();
    rows.extend(table.size("size", &report.found));
    let mut seen: Vec<&str> = Vec::new();
    let mut sizes = report.found.iter().collect::<Vec<_>>();
    // Those that all have refused come last.
    let refused = report.not_done.iter().filter(|it| it.series).map(|it| it.what.as_str());
    for series in report.series.iter().map(|series| series.name.as_str()).chain(refused) {
        if seen.contains(&series) {
            continue;
        }
        seen.push(series);
        rows.extend(table.series(series));
        let phase = report.series.iter().find(|known| known.name == series).map(|known| known.phase);
        let now: Vec<&Data> =
            report.data_after.iter().filter(|data| phase.is_some() && data.phase == phase).collect();
        // Behind a load that only reads they are what they were.
        let has_changed = now.iter().any(|data| {
            let before = sizes.iter().find(|before| before.is_of_same(data));
            before.is_some_and(|before| bytes(before) != bytes(data))
        });
        if has_changed {
            rows.extend(table.size(series, now.iter().copied()));
            sizes = now;
        }
    }
    Some(Variants { systems: table.systems.iter().map(|name| (*name).to_owned()).collect(), rows })
}

/// A figure of how large data are.
type Pick = fn(&Data) -> Option<f64>;

/// What a table is made of.
struct Table<'a> {
    report: &'a Report,
    systems: Vec<&'a str>,
}

impl<'a> Table<'a> {
    /// A row of what each system has, and of what the server said where it has nothing.
    fn row(
        &self,
        (group, name, unit): (&str, &str, Unit),
        value: impl Fn(&str) -> Option<f64>,
        not_done: impl Fn(&str) -> Option<String>,
    ) -> Row {
        let base = self.systems.first().and_then(|first| value(first)).filter(|base| *base > 0.0);
        let cell = |(at, system): (usize, &&str)| {
            let value = value(system);
            let is_compared = at > 0 && unit != Unit::Count;
            let ratio = value.zip(base).filter(|_| is_compared).map(|(value, base)| value / base);
            Cell { value, ratio, not_done: not_done(system).filter(|_| value.is_none()) }
        };
        let cells = self.systems.iter().enumerate().map(cell).collect();
        Row { group: group.to_owned(), name: name.to_owned(), unit, cells }
    }

    fn not_done(&self, system: &str, what: &str) -> Option<String> {
        let mut all = self.report.not_done.iter();
        all.find(|not_done| not_done.target == system && not_done.what == what)
            .map(|found| found.said.clone())
    }

    /// The steps of the preparation. One that the server refused in part has no time: it is that of the rest.
    fn build(&self) -> Vec<Row> {
        let of = |system: &&str| -> Vec<&str> {
            let own = self.report.prepare.iter().filter(|step| step.target == **system);
            own.map(|step| step.step.as_str()).collect()
        };
        // In the order of the system with the most: it has those that others have not.
        let mut own: Vec<Vec<&str>> = self.systems.iter().map(of).collect();
        own.sort_by_key(|steps| std::cmp::Reverse(steps.len()));
        let refused = self.report.not_done.iter().filter(|it| !it.series).map(|it| it.what.as_str());
        let mut steps: Vec<&str> = Vec::new();
        for step in own.into_iter().flatten().chain(refused) {
            if !steps.contains(&step) && step != "drop" {
                steps.push(step);
            }
        }
        let row = |step: &&str| {
            let seconds = |system: &str| {
                let own = |it: &&crate::event::PrepareStep| it.target == system && it.step == **step;
                let found = self.report.prepare.iter().find(own).map(|it| it.seconds);
                found.filter(|_| self.not_done(system, step).is_none())
            };
            self.row(("build", step, Unit::S), seconds, |system| self.not_done(system, step))
        };
        steps.iter().map(row).collect()
    }

    fn size<'d>(&self, group: &str, data: impl IntoIterator<Item = &'d Data>) -> Vec<Row> {
        let data: Vec<&Data> = data.into_iter().collect();
        let rows: [(&str, Pick); 3] = [
            ("table bytes", |data| bytes(data).map(|[tables, _]| tables)),
            ("index bytes", |data| bytes(data).map(|[_, indexes]| indexes)),
            ("bytes per row", |data| {
                let rows = data.tables.iter().map(|table| table.rows).sum::<Option<u64>>()?;
                bytes(data).filter(|_| rows > 0).map(|[tables, indexes]| (tables + indexes) / rows as f64)
            }),
        ];
        let row = |(name, pick): (&str, Pick)| {
            let value =
                |system: &str| data.iter().find(|data| data.target == system).and_then(|data| pick(data));
            self.row((group, name, Unit::Bytes), value, |_| None)
        };
        rows.into_iter().map(row).collect()
    }

    /// What the loads of a series came to.
    fn series(&self, name: &str) -> Vec<Row> {
        let of = |system: &str| -> Option<&Series> {
            self.report.series.iter().find(|series| series.target == system && series.name == name)
        };
        let refused = |system: &str| self.not_done(system, name);
        let passes: Vec<_> = self.systems.iter().filter_map(|system| of(system)?.passes.as_ref()).collect();
        if let Some(first) = passes.iter().max_by_key(|passes| passes.queries.len()) {
            let rows = |query: &crate::passes::QueryTimes| {
                let query = query.query.as_str();
                let value = |system: &str| {
                    let passes = of(system)?.passes.as_ref()?;
                    passes.queries.iter().find(|it| it.query == query)?.median_s
                };
                let failed = |system: &str| refused(system).or_else(|| self.said(system, name, Some(query)));
                let times = self.row((name, query, Unit::S), value, failed);
                [times].into_iter().chain(self.workers(name, query))
            };
            return first.queries.iter().flat_map(rows).collect();
        }
        let stages = |system: &str| {
            let own = move |it: &&crate::document::StageResult| {
                it.stage.key.system == system && it.stage.series == name && it.stage.kind != StageKind::WarmUp
            };
            self.report.stages.iter().filter(own).collect::<Vec<_>>()
        };
        let failed = |system: &str| refused(system).or_else(|| self.said(system, name, None));
        if self.systems.iter().all(|system| of(system).is_none()) {
            return vec![self.row((name, "load", Unit::S), |_| None, refused)];
        }
        let is_fixed = |system: &&str| stages(system).iter().any(|it| it.stage.fixed);
        if self.systems.iter().any(is_fixed) {
            let seconds = |system: &str| {
                let whole =
                    stages(system).into_iter().rfind(|it| it.complete && it.totals.bad_with_drain() == 0);
                whole.map(|it| it.seconds)
            };
            return vec![self.row((name, "time", Unit::S), seconds, failed)];
        }
        let headline = |system: &str| of(system)?.headline.as_ref();
        let throughput =
            |system: &str| headline(system).map(|it| it.throughput.mean).filter(|mean| *mean > 0.0);
        let p99_s = |system: &str| Some(headline(system)?.latency.as_ref()?.p99_us / 1e6);
        vec![
            self.row((name, "throughput", Unit::PerS), throughput, failed),
            self.row((name, "p99", Unit::S), p99_s, refused),
        ]
    }

    /// The parallel workers that the execution of a query's plan launched, where any did: they need not be as many as were allowed.
    fn workers(&self, series: &str, query: &str) -> Option<Row> {
        let launched = |system: &str| {
            let is_it = |plan: &&Plan| plan.target == system && plan.series == series && plan.query == query;
            self.report
                .plans
                .iter()
                .map(|shown| &shown.plan)
                .filter(is_it)
                .find_map(Plan::workers)
                .map(f64::from)
        };
        let any = self.systems.iter().any(|system| launched(system).is_some_and(|workers| workers > 0.0));
        let name = format!("{query}: workers launched");
        any.then(|| self.row((series, &name, Unit::Count), launched, |_| None))
    }

    /// What the server said to a query that failed, or to any of the series.
    fn said(&self, system: &str, series: &str, query: Option<&str>) -> Option<String> {
        let is_it = |it: &&QueryFailure| {
            it.target == system && it.series == series && query.is_none_or(|query| it.query == query)
        };
        self.report.query_failures.iter().find(is_it).map(|failure| failure.said.clone())
    }
}

/// Of all tables and of all their indexes; `None` where one is unknown.
fn bytes(data: &Data) -> Option<[f64; 2]> {
    let sum =
        |pick: fn(&crate::event::Table) -> Option<u64>| data.tables.iter().map(pick).sum::<Option<u64>>();
    Some([sum(|table| table.table_bytes)? as f64, sum(|table| table.index_bytes)? as f64])
}

#[cfg(test)]
mod tests {
    use crate::document::Report;
    use crate::event::{Data, Event, HookTime, NotDone, PrepareStep, StageKind, Stamped, Table, Target};
    use crate::fixture::{Fixture, FixtureStage};
    use crate::plan::PlanNode;

    use super::*;

    fn step(target: &str, step: &str, seconds: f64) -> Event {
        let (target, step, workload) = (target.to_owned(), step.to_owned(), "storage".to_owned());
        Event::Prepare(PrepareStep { target, workload, step, seconds, rows: None, bytes: None })
    }

    fn data(target: &str, bytes: u64, after: Option<&str>) -> Event {
        let table = Table {
            name: "accounts".to_owned(),
            rows: Some(100),
            rows_counted: true,
            table_bytes: Some(bytes),
            index_bytes: Some(200),
            logged: None,
            indexed: None,
            analyzed: None,
        };
        Event::Data(Data {
            target: target.to_owned(),
            workload: "storage".to_owned(),
            scale: None,
            database_bytes: None,
            cache_bytes: None,
            memory_bytes: None,
            tables: vec![table],
            caches: std::collections::BTreeMap::new(),
            indirect: None,
            missing_indexes: Vec::new(),
            settings_set: None,
            after: after.map(str::to_owned),
            phase: after.map(|_| 0),
        })
    }

    fn not_done(target: &str, what: &str, series: bool) -> Event {
        let (target, what) = (target.to_owned(), what.to_owned());
        Event::NotDone(NotDone { target, what, series, said: "no".to_owned() })
    }

    /// Systems, each by its name and its server's.
    fn report(systems: &[[&str; 2]], fixture: &Fixture) -> Report {
        let mut events = fixture.events.clone();
        let described = systems.iter().map(|[name, server]| {
            let target = Target { server: (*server).to_owned(), ..crate::fixture::target(name) };
            Stamped { seq: 0, at_ms: 0, event: Event::Target(target) }
        });
        events.splice(1..1, described);
        crate::fold::fold(&events)
    }

    /// `build keys: 2, 4 ×2`
    fn lines(variants: &Variants) -> Vec<String> {
        let cell = |cell: &Cell| match (cell.value, cell.ratio, &cell.not_done) {
            (Some(value), Some(ratio), None) => format!("{value} ×{ratio}"),
            (Some(value), None, None) => value.to_string(),
            (None, None, Some(said)) => said.clone(),
            (None, None, None) => "–".to_owned(),
            odd => panic!("{odd:?}"),
        };
        let line = |row: &Row| {
            let cells: Vec<String> = row.cells.iter().map(cell).collect();
            format!("{} {}: {}", row.group, row.name, cells.join(", "))
        };
        variants.rows.iter().map(line).collect()
    }

    #[test]
    fn systems_of_one_target_stand_side_by_side() {
        let mut fixture = Fixture::started("a");
        for event in [
            step("heap", "drop", 9.0),
            step("heap", "data", 2.0),
            step("heap", "analyze", 1.0),
            not_done("columnar", "tables", false),
            step("indexed", "drop", 9.0),
            step("indexed", "data", 1.0),
            step("indexed", "indexes", 3.0),
            not_done("indexed", "analyze", false),
            step("indexed", "analyze", 0.5),
            data("heap", 800, None),
            data("indexed", 1_600, None),
        ] {
            fixture.push(event);
        }
        for (target, tps) in [("heap", 100), ("indexed", 50)] {
            fixture.target = target;
            fixture.play(&FixtureStage::write(StageKind::Hold, 1, &[tps; 5]));
        }
        fixture.push(data("heap", 1_800, Some("write")));
        fixture.push(data("indexed", 1_600, Some("write")));
        fixture.push(not_done("columnar", "write", true));
        for target in ["heap", "columnar", "indexed"] {
            fixture.push(not_done(target, "updates", true));
        }
        let systems = [["heap", "pg"], ["columnar", "pg"], ["indexed", "pg"]];
        let report = report(&systems, &fixture);
        let variants = report.variants.as_ref().unwrap();
        assert_eq!(variants.systems, ["heap", "columnar", "indexed"]);
        let lines = lines(variants);
        let (p99, others): (Vec<_>, Vec<_>) =
            lines.into_iter().partition(|line| line.starts_with("write p99"));
        assert_eq!(p99.len(), 1);
        assert_eq!(
            others,
            [
                "build data: 2, –, 1 ×0.5",
                "build indexes: –, –, 3",
                // What was refused in part has no time.
                "build analyze: 1, –, no",
                "build tables: –, no, –",
                "size table bytes: 800, –, 1600 ×2",
                "size index bytes: 200, –, 200 ×1",
                "size bytes per row: 10, –, 18 ×1.8",
                "write throughput: 100, no, 50 ×0.5",
                "write table bytes: 1800, –, 1600 ×0.8888888888888888",
                "write index bytes: 200, –, 200 ×1",
                "write bytes per row: 20, –, 18 ×0.9",
                "updates load: no, no, no",
            ]
        );
    }

    #[test]
    fn workers_that_a_plan_launched_stand_below_its_query() {
        let mut fixture = Fixture::started("a");
        for target in ["heap", "columnar"] {
            fixture.target = target;
            let load = FixtureStage::read(StageKind::Hold, 1, &[1]);
            fixture.play(&FixtureStage { series: "queries", workload: "storage/queries", ..load });
        }
        for stamped in &mut fixture.events {
            if let Event::StageStarted(stage) = &mut stamped.event {
                stage.pass = true;
            }
        }
        let plan = |target: &str, workers: &[Option<u32>], executed| {
            let node = |workers: &Option<u32>| PlanNode { workers: *workers, ..PlanNode::default() };
            Event::Plan(Plan {
                target: target.to_owned(),
                series: "queries".to_owned(),
                query: "only".to_owned(),
                sql: String::new(),
                when: HookTime::After,
                executed,
                reason: None,
                nodes: workers.iter().map(node).collect(),
                text: None,
            })
        };
        let with = |plans: [Event; 2]| {
            let mut with = Fixture::started("a");
            with.events.clone_from(&fixture.events);
            plans.into_iter().for_each(|plan| with.push(plan));
            let fixture = with;
            let report = report(&[["heap", "pg"], ["columnar", "pg"]], &fixture);
            let lines = lines(report.variants.as_ref().unwrap());
            lines.into_iter().filter(|line| line.contains("launched")).collect::<Vec<_>>()
        };
        let heap = || plan("heap", &[None, Some(2)], true);
        assert_eq!(
            with([heap(), plan("columnar", &[Some(3), Some(4)], true)]),
            ["queries only: workers launched: 2, 7"]
        );
        assert_eq!(with([heap(), plan("columnar", &[None], true)]), ["queries only: workers launched: 2, 0"]);
        // Who was only asked has launched none.
        assert_eq!(
            with([heap(), plan("columnar", &[None], false)]),
            ["queries only: workers launched: 2, –"]
        );
        assert_eq!(with([plan("heap", &[None], true), plan("columnar", &[None], true)]), [""; 0]);
    }

    #[test]
    fn targets_with_a_system_each_are_no_variants() {
        let fixture = Fixture::started("a");
        assert!(report(&[["pg", "pg"], ["my", "my"]], &fixture).variants.is_none());
        assert!(report(&[], &fixture).variants.is_none(), "a run of before");
        assert!(report(&[["a", "pg"], ["b", "pg"]], &fixture).variants.is_some());
    }
}
