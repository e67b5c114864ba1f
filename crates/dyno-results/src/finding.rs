//! What a finding is, and the table of all that there are. Who finds them is in `judge` and `comparison::differences`.

mod facts;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::facts::{Fact, FactUnit, FactValue, Facts};

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    Note,
    Doubt,
    Invalid,
}

/// What a rule looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Run,
    Comparison,
}

/// What a code may come with. The section of `docs/findings.md` with the code's name says how it is decided.
#[derive(Debug)]
pub(crate) struct Rule {
    /// `shared-host`
    pub(crate) name: &'static str,
    pub(crate) scopes: &'static [Scope],
    /// The gravest first.
    pub(crate) severities: &'static [Severity],
}

macro_rules! rules {
    ($($code:ident $name:literal [$($scope:ident)+] [$($severity:ident)+])+) => {
        /// What a finding says.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Code {
            $(#[serde(rename = $name)] $code,)+
        }

        /// A row for each code, in the order of the enum and of the documents.
        pub(crate) const RULES: &[Rule] = &[
            $(Rule {
                name: $name,
                scopes: &[$(Scope::$scope),+],
                severities: &[$(Severity::$severity),+],
            },)+
        ];
    };
}

rules! {
    DataCheckFailed "data-check-failed" [Run] [Invalid]
    DataCheckNotMade "data-check-not-made" [Run] [Doubt]
    AnswerDiffers "answer-differs" [Run] [Invalid]
    AnswerVaries "answer-varies" [Run] [Note]
    NotValidated "not-validated" [Run] [Note]
    TooFewRepeats "too-few-repeats" [Run] [Doubt]
    PlanChanged "plan-changed" [Run Comparison] [Doubt Note]
    Incomplete "incomplete" [Run] [Doubt]
    Restarted "restarted" [Run] [Invalid Doubt Note]
    Errors "errors" [Run] [Invalid Doubt Note]
    NoWork "no-work" [Run] [Invalid Doubt Note]
    DurabilityOff "durability-off" [Run] [Doubt Note]
    DurabilityRelaxed "durability-relaxed" [Run] [Doubt Note]
    DurabilityImplausible "durability-implausible" [Run] [Doubt Note]
    DurabilityUnknown "durability-unknown" [Run] [Note]
    Durable "durable" [Run] [Note]
    DriverBound "driver-bound" [Run] [Doubt]
    SharedHost "shared-host" [Run] [Doubt Note]
    NoisyHost "noisy-host" [Run] [Doubt Note]
    NoisyHostUnknown "noisy-host-unknown" [Run] [Note]
    PeakNotReached "peak-not-reached" [Run] [Doubt]
    RateNotMet "rate-not-met" [Run] [Doubt]
    ResponseLimit "response-limit" [Run] [Doubt]
    PoolBound "pool-bound" [Run] [Doubt]
    Unpaired "unpaired" [Run] [Doubt]
    Noisy "noisy" [Run] [Doubt Note]
    TooShort "too-short" [Run] [Doubt]
    ContentionByDesign "contention-by-design" [Run] [Doubt Note]
    Cached "cached" [Run] [Note]
    ColdNotCold "cold-not-cold" [Run] [Doubt]
    Spilling "spilling" [Run] [Note]
    StatsMissing "stats-missing" [Run] [Doubt]
    IndexMissing "index-missing" [Run] [Doubt]
    Saturated "saturated" [Run] [Note]
    ClosedLoopLatency "closed-loop-latency" [Run] [Note]
    SettingsChanged "settings-changed" [Run] [Note]
    NotComparable "not-comparable" [Comparison] [Invalid Doubt Note]
}

impl Code {
    pub(crate) fn rule(self) -> &'static Rule {
        &RULES[self as usize]
    }

    /// `shared-host`
    pub fn as_str(self) -> &'static str {
        self.rule().name
    }
}

/// A reason to trust the figures less, or a fact to know about them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What it says, `shared-host`; docs/findings.md has a section for each.
    pub code: Code,
    /// How much it weighs.
    pub severity: Severity,
    #[serde(flatten)]
    pub subject: Subject,
    /// The figures and names that decided it, in the order of the sentence; `None` if there are none.
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub facts: Facts,
    /// One sentence with them, for a reader: its wording may change.
    pub evidence: String,
    /// What to do about it, for a reader.
    pub advice: String,
    /// Which advice it is: findings of one code and severity have the same if this is the same. `None` if it is 0.
    #[serde(default, skip_serializing_if = "crate::defaults::is_default")]
    pub remedy: u32,
}

impl Finding {
    pub fn new(
        (code, severity): (Code, Severity),
        subject: Subject,
        evidence: String,
        advice: impl Into<String>,
        facts: Facts,
    ) -> Self {
        Self { code, severity, subject, facts, evidence, advice: advice.into(), remedy: 0 }
    }

    /// Whether the table has a rule of this scope that finds such a thing.
    pub(crate) fn is_of(&self, scope: Scope) -> bool {
        let rule = self.code.rule();
        rule.scopes.contains(&scope) && rule.severities.contains(&self.severity)
    }
}

/// What a finding is about: each part narrows the one before it down, and none of them stands for the whole run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    /// The target or the series in words, `pg/write`; `None` if it is about the whole run.
    pub about: Option<String>,
    /// The name of the system, or of the server if it is about all systems of that; `None` if there is no single one.
    #[serde(default)]
    pub target: Option<String>,
    /// The name of the system; `None` if there is no single one.
    #[serde(default)]
    pub system: Option<String>,
    /// The name of the server, with all its systems; `None` if it is not about one.
    #[serde(default)]
    pub server: Option<String>,
    /// The name of the series; `None` if there is no single one.
    #[serde(default)]
    pub series: Option<String>,
    /// Id of the stage; `None` if there is no single one.
    #[serde(default)]
    pub stage: Option<u32>,
}

impl Subject {
    pub fn of_system(name: &str) -> Self {
        Self { system: Some(name.to_owned()), ..Self::named(name) }
    }

    /// Of all systems that are on a server.
    pub fn of_server(name: &str) -> Self {
        Self { server: Some(name.to_owned()), ..Self::named(name) }
    }

    fn named(name: &str) -> Self {
        Self { about: Some(name.to_owned()), target: Some(name.to_owned()), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl PartialEq<&str> for Code {
        fn eq(&self, name: &&str) -> bool {
            self.as_str() == *name
        }
    }

    #[test]
    fn every_rule_is_documented() {
        let severities = |rule: &Rule| match rule.severities {
            [only] => format!("{only:?}").to_lowercase(),
            [Severity::Doubt, Severity::Note] => "doubt; note".to_owned(),
            [Severity::Invalid, Severity::Doubt, Severity::Note] => "note to invalid".to_owned(),
            other => format!("{other:?}"),
        };
        let scopes = |rule: &Rule| match rule.scopes {
            [Scope::Run] => "run",
            [Scope::Comparison] => "comparison",
            _ => "run, comparison",
        };
        let row = |rule: &Rule| {
            let name = rule.name;
            format!("| [`{name}`](#{name}) | {} | {} ", severities(rule), scopes(rule))
        };
        let document = include_str!("../../../docs/findings.md");
        let rows = document.lines().filter(|line| line.starts_with("| [`"));
        let told: Vec<&str> = rows.map(|row| row.rsplitn(3, '|').nth(2).unwrap()).collect();
        assert_eq!(told, RULES.iter().map(row).collect::<Vec<_>>());
        let sections: Vec<&str> = document.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(sections, RULES.iter().map(|rule| rule.name).collect::<Vec<_>>());
    }

    /// The sources below a directory, without tests.
    fn sources(directory: &std::path::Path) -> String {
        let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        let texts = entries.filter(|path| !path.ends_with("tests") && !path.ends_with("tests.rs"));
        texts
            .map(|path| if path.is_dir() { sources(&path) } else { std::fs::read_to_string(path).unwrap() })
            .collect()
    }

    #[test]
    fn every_code_is_found_by_a_rule() {
        let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let rules = sources(&here.join("judge")) + &sources(&here.join("comparison"));
        for rule in RULES {
            let words = rule.name.split('-');
            let code: String = words.map(|word| word[..1].to_uppercase() + &word[1..]).collect();
            assert!(rules.contains(&format!("Code::{code}")), "no rule finds {}", rule.name);
        }
    }
}
