//! The report that dyno prints with `--json`, read by the names that docs/json.md promises.

use serde_json::Value;

pub(crate) struct Report(Value);

impl Report {
    pub(crate) fn new(document: Value) -> Self {
        assert_eq!(document["schema"], "dyno.report/1");
        Self(document)
    }

    pub(crate) fn document(&self) -> &Value {
        &self.0
    }

    pub(crate) fn name(&self) -> &str {
        self.0["run"]["name"].as_str().unwrap()
    }

    /// `complete` or `incomplete`.
    pub(crate) fn outcome(&self) -> &str {
        self.0["run"]["outcome"].as_str().unwrap()
    }

    pub(crate) fn reason(&self) -> &str {
        self.0["run"]["reason"].as_str().unwrap_or_default()
    }

    /// The texts of all remarks of the run.
    pub(crate) fn notices(&self) -> String {
        let texts = self.list("notices").iter().map(|notice| notice["text"].as_str().unwrap());
        texts.collect::<Vec<_>>().join("\n")
    }

    fn list(&self, name: &str) -> &[Value] {
        self.0[name].as_array().unwrap()
    }

    pub(crate) fn series(&self) -> &[Value] {
        self.list("series")
    }

    pub(crate) fn stages(&self) -> &[Value] {
        self.list("stages")
    }

    pub(crate) fn checks(&self) -> &[Value] {
        self.list("checks")
    }

    /// Kinds and client counts of the stages, in order: `hold 2`.
    pub(crate) fn stage_names(&self) -> Vec<String> {
        let name = |stage: &Value| format!("{} {}", stage["kind"].as_str().unwrap(), stage["clients"]);
        self.stages().iter().map(name).collect()
    }

    /// The only stage that is no warm-up.
    pub(crate) fn stage(&self) -> &Value {
        let mut stages = self.stages().iter().filter(|stage| stage["kind"] != "warm-up");
        let stage = stages.next().unwrap();
        assert!(stages.next().is_none(), "one stage: {:?}", self.stage_names());
        stage
    }

    /// The first finding of this code.
    pub(crate) fn finding(&self, code: &str) -> &Value {
        self.list("findings").iter().find(|finding| finding["code"] == code).unwrap()
    }

    pub(crate) fn findings(&self) -> Vec<&str> {
        self.list("findings").iter().map(|finding| finding["code"].as_str().unwrap()).collect()
    }

    /// Transactions that each stored interval of load holds, as rates; the rest of a second has none.
    pub(crate) fn intervals(&self) -> Vec<Option<f64>> {
        let timelines = self.list("timelines").iter();
        let tps = timelines.flat_map(|timeline| timeline["load"]["tps"].as_array().unwrap());
        tps.map(Value::as_f64).collect()
    }

    /// One of the totals, summed over the stages whose workload writes.
    pub(crate) fn total_of_writes(&self, name: &str) -> u64 {
        let writes = self.stages().iter().filter(|stage| stage["workload"] != "tpcb/select-only");
        writes.map(|stage| stage["totals"][name].as_u64().unwrap()).sum()
    }

    #[track_caller]
    pub(crate) fn assert_checks_passed(&self) {
        assert!(!self.checks().is_empty(), "something was checked");
        for check in self.checks() {
            assert_eq!(check["passed"], true, "{check:#}");
        }
    }
}
