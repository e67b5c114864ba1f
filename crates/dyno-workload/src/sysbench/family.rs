//! How sysbench's tests are registered: their names, and their options with sysbench's names; in a scenario the table
//! `data.sysbench`. Dashes and underscores are the same.

use std::fmt;
use std::str::FromStr;

use clap::Args;
use dyno_results::spec::from_text;
use dyno_target::{Capabilities, ErrorCodes, Feature};
use schemars::JsonSchema;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::{Deserialize as DeriveDeserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Distribution, IgnoredErrors, NAME, Options, OptionsError, SysbenchBenchmark, Test};
use crate::benchmark::{Benchmark, BenchmarkError};
use crate::family::{Family, Listed, RunsOn, said};

/// `sysbench` in the registry.
#[derive(Debug)]
pub struct SysbenchFamily;

/// Options of the ten tests.
#[derive(Debug, Clone, Default, PartialEq, Args, DeriveDeserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[command(next_help_heading = "sysbench's tests")]
pub struct SysbenchOptions {
    /// Tables, sbtest1 and on [default: those that are there, else 4]
    #[arg(long, value_name = "N")]
    pub tables: Option<u32>,

    /// Rows of each table [default: those that are there, else what suits the machine]
    #[arg(long, value_name = "N")]
    pub table_size: Option<u64>,

    /// Distribution of ids: uniform, gaussian[:ITERATIONS], special[:ITERATIONS,PERCENT,RESULT], pareto[:H] or
    /// zipfian[:EXPONENT] [default: special:12,1,75]
    #[arg(long, visible_alias = "rand-type", value_name = "SHAPE")]
    #[serde(alias = "rand-type")]
    #[schemars(with = "Option<String>")]
    pub distribution: Option<Distribution>,

    /// Errors that restart an event: MySQL's numbers or PostgreSQL's SQLSTATEs, separated by commas, or all [default:
    /// 1213,1020,1205 and 40P01,23505,40001]
    #[arg(long, value_name = "LIST")]
    #[schemars(with = "Option<String>")]
    pub ignore_errors: Option<Errors>,

    /// Ids that a range spans [default: 100]
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub range_size: Option<u32>,

    /// Point selects of an event [default: 10]
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub point_selects: Option<u32>,

    /// Simple range selects of an event [default: 1]
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub simple_ranges: Option<u32>,

    /// Range selects with SUM() [default: 1]
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub sum_ranges: Option<u32>,

    /// Range selects with ORDER BY [default: 1]
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub order_ranges: Option<u32>,

    /// Range selects with DISTINCT [default: 1]
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub distinct_ranges: Option<u32>,

    /// Run range selects [default: on]
    #[arg(long, hide_short_help = true, value_name = "on|off", num_args = 0..=1, require_equals = true,
          default_missing_value = "on")]
    #[schemars(with = "Option<bool>")]
    pub range_selects: Option<Switch>,

    /// Updates of an indexed column [default: 1]
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub index_updates: Option<u32>,

    /// Updates of a column without index [default: 1]
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub non_index_updates: Option<u32>,

    /// Deletes, each with the insert that puts the row back [default: 1]
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub delete_inserts: Option<u32>,

    /// Each statement is a transaction of its own, without BEGIN and COMMIT [default: off]
    #[arg(long, hide_short_help = true, value_name = "on|off", num_args = 0..=1, require_equals = true,
          default_missing_value = "on")]
    #[schemars(with = "Option<bool>")]
    pub skip_trx: Option<Switch>,

    /// The server numbers the rows; off: the client does [default: on]
    #[arg(long, hide_short_help = true, value_name = "on|off", num_args = 0..=1, require_equals = true,
          default_missing_value = "on")]
    #[schemars(with = "Option<bool>")]
    pub auto_inc: Option<Switch>,

    /// A plain index on id instead of the primary key [default: off]
    #[arg(long, hide_short_help = true, value_name = "on|off", num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    #[schemars(with = "Option<bool>")]
    pub secondary: Option<Switch>,

    /// The index on k [default: on]
    #[arg(long, hide_short_help = true, value_name = "on|off", num_args = 0..=1, require_equals = true,
          default_missing_value = "on")]
    #[schemars(with = "Option<bool>")]
    pub create_secondary: Option<Switch>,

    /// MySQL's ENGINE of new tables [default: innodb]
    #[arg(long, hide_short_help = true, value_name = "NAME")]
    pub mysql_storage_engine: Option<String>,

    /// Values in the list of select_random_points [default: 10]
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub random_points: Option<u32>,

    /// Ranges of select_random_ranges [default: 10]
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub number_of_ranges: Option<u32>,

    /// Length of a range of select_random_ranges [default: 5]
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub delta: Option<u32>,
}

impl SysbenchOptions {
    /// The options with sysbench's defaults where nothing is said; how much data is meant by them only where that is said.
    fn options(&self) -> Result<Options, BenchmarkError> {
        let read = |mut said: Map<String, Value>| {
            // It is read where the codes of the server's errors are known.
            said.remove("ignore-errors");
            serde_json::from_value(said.into())
        };
        said(self).and_then(read).map_err(BenchmarkError::WrongOptions)
    }
}

impl Family for SysbenchFamily {
    type Workload = Test;
    type Options = SysbenchOptions;

    const NAME: &'static str = NAME;
    const ABOUT: &'static str =
        "read, then write: sysbench/oltp_point_select and sysbench/oltp_read_write in turn";
    const REQUIRES: &'static [Feature] = &[Feature::Transactions, Feature::Keys, Feature::NumberedRows];
    const HAS_TABLE: bool = true;
    const ALL: &'static [Test] = &Test::ALL;
    const USUAL: &'static [Test] = &[Test::PointSelect, Test::ReadWrite];

    fn listed(test: Test) -> Listed {
        Listed { name: test.workload(), about: test.about(), runs_on: RunsOn::Having(Self::REQUIRES) }
    }

    fn calls(test: Test) -> Vec<String> {
        let short = test.name().strip_prefix("oltp_").unwrap_or(test.name());
        vec![test.name().to_owned(), short.to_owned(), format!("{NAME}/{short}")]
    }

    fn benchmark(
        tests: Vec<Test>,
        said: SysbenchOptions,
        target: &Capabilities,
    ) -> Result<Box<dyn Benchmark>, BenchmarkError> {
        let codes = target.error_codes;
        if let Some(errors) = said.ignore_errors.as_ref().filter(|errors| !errors.fits(codes)) {
            let wanted = match codes {
                ErrorCodes::Numbers => "numbers",
                ErrorCodes::SqlStates => "SQLSTATEs",
                ErrorCodes::Names => "names",
            };
            let errors = errors.to_string();
            return Err(OptionsError::OtherErrors { errors, wanted, protocol: target.protocol }.into());
        }
        let benchmark = SysbenchBenchmark {
            tests,
            tables: said.tables,
            table_size: said.table_size,
            options: said.options()?,
            ignored_errors: said.ignore_errors.as_ref().map(|errors| errors.on(codes)),
        };
        benchmark.check()?;
        Ok(Box::new(benchmark))
    }
}

/// `on` or `off`; in a scenario also `true` or `false`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Switch(pub bool);

impl FromStr for Switch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "on" | "true" | "yes" | "1" => Ok(Self(true)),
            "off" | "false" | "no" | "0" => Ok(Self(false)),
            _ => Err(format!("`{text}` is neither on nor off")),
        }
    }
}

impl<'de> Deserialize<'de> for Switch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bool(on) => Ok(Self(on)),
            Value::String(text) => text.parse().map_err(D::Error::custom),
            other => Err(D::Error::custom(format!("{other} is neither true, false, \"on\" nor \"off\""))),
        }
    }
}

/// With its parameters: `uniform`, `pareto:0.2`, `special:12,1,75`.
impl FromStr for Distribution {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, parameters) = text.split_once(':').map_or((text, ""), |(name, rest)| (name, rest));
        let parameters: Vec<&str> =
            parameters.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
        let takes = |most: usize, words: &str| match parameters.len() > most {
            true => Err(format!("`{text}` has too many parameters: write {words}")),
            false => Ok(()),
        };
        Ok(match name.trim().to_ascii_lowercase().as_str() {
            "uniform" => {
                takes(0, "uniform")?;
                Distribution::Uniform
            }
            "gaussian" => {
                takes(1, "gaussian or gaussian:12")?;
                Distribution::Gaussian { iterations: number(text, parameters.first(), 12, 1, 1000)? }
            }
            "special" => {
                takes(3, "special or special:12,1,75")?;
                if !matches!(parameters.len(), 0 | 3) {
                    return Err(format!("`{text}` has too few parameters: write special or special:12,1,75"));
                }
                Distribution::Special {
                    iterations: number(text, parameters.first(), 12, 1, 1000)?,
                    percent: number(text, parameters.get(1), 1, 0, 100)?,
                    result_percent: number(text, parameters.get(2), 75, 0, 100)?,
                }
            }
            "pareto" => {
                takes(1, "pareto or pareto:0.2")?;
                let inside = |h: &f64| *h > 0.0 && *h < 1.0;
                let h = parameters.first().map_or(Some(0.2), |h| h.parse().ok().filter(inside));
                Distribution::Pareto { h: h.ok_or_else(|| format!("`{text}`: h lies between 0 and 1"))? }
            }
            "zipfian" => {
                takes(1, "zipfian or zipfian:0.8")?;
                let usable = |exponent: &f64| *exponent >= 0.0 && exponent.is_finite();
                let exponent = parameters.first().map_or(Some(0.8), |e| e.parse().ok().filter(usable));
                Distribution::Zipfian {
                    exponent: exponent.ok_or_else(|| format!("`{text}`: the exponent is 0 or more"))?,
                }
            }
            _ => {
                return Err(format!(
                    "`{text}` is no distribution: write uniform, gaussian, special, pareto or zipfian"
                ));
            }
        })
    }
}

/// One parameter of a shape, its default where it is left out.
fn number(text: &str, given: Option<&&str>, default: u32, low: u32, high: u32) -> Result<u32, String> {
    let Some(given) = given else { return Ok(default) };
    given
        .parse()
        .ok()
        .filter(|number| (low..=high).contains(number))
        .ok_or_else(|| format!("`{text}`: {given} is no whole number from {low} to {high}"))
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Uniform => write!(f, "uniform"),
            Distribution::Gaussian { iterations } => write!(f, "gaussian:{iterations}"),
            Distribution::Special { iterations, percent, result_percent } => {
                write!(f, "special:{iterations},{percent},{result_percent}")
            }
            Distribution::Pareto { h } => write!(f, "pareto:{h}"),
            Distribution::Zipfian { exponent } => write!(f, "zipfian:{exponent}"),
        }
    }
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Characters of an SQLSTATE.
const SQLSTATE: usize = 5;

/// Errors that restart an event: `all`, or codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Errors {
    All,
    Codes(Vec<String>),
}

impl Errors {
    /// Whether any of them, where there are some, can come of a server with such codes.
    fn fits(&self, codes: ErrorCodes) -> bool {
        let fits = |code: &String| match codes {
            ErrorCodes::Numbers => code.parse::<u16>().is_ok(),
            ErrorCodes::SqlStates => code.len() == SQLSTATE,
            ErrorCodes::Names => code.contains('_'),
        };
        match self {
            Self::All => true,
            Self::Codes(said) => said.is_empty() || said.iter().any(fits),
        }
    }

    /// As a server with such codes has them; the others mean nothing there.
    fn on(&self, codes: ErrorCodes) -> IgnoredErrors {
        let said = match self {
            Self::All => return IgnoredErrors::all(),
            Self::Codes(said) => said,
        };
        match codes {
            ErrorCodes::Numbers => {
                let numbers: Vec<u16> = said.iter().filter_map(|code| code.parse().ok()).collect();
                IgnoredErrors::of_numbers(&numbers)
            }
            ErrorCodes::SqlStates | ErrorCodes::Names => {
                let states: Vec<&str> = said.iter().map(String::as_str).collect();
                IgnoredErrors::of_states(&states)
            }
        }
    }
}

impl FromStr for Errors {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim().eq_ignore_ascii_case("all") {
            return Ok(Self::All);
        }
        let codes = text.split(',').map(str::trim).filter(|code| !code.is_empty()).map(|code| {
            let number = code.parse::<u16>().is_ok();
            let state = code.len() == SQLSTATE && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
            match number || state {
                true => Ok(code.to_ascii_uppercase()),
                false => Err(format!("`{code}` is no error: write MySQL's number, an SQLSTATE, or all")),
            }
        });
        Ok(Self::Codes(codes.collect::<Result<_, _>>()?))
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Codes(codes) => f.write_str(&codes.join(",")),
        }
    }
}

impl Serialize for Errors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl<'de> Deserialize<'de> for Errors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Registered as _;

    #[test]
    fn shapes_have_parameters_with_sysbenchs_defaults() {
        let shape = |text: &str| text.parse::<Distribution>().unwrap();
        assert_eq!(shape("special"), Distribution::default());
        assert_eq!(
            shape("special:3,5,60"),
            Distribution::Special { iterations: 3, percent: 5, result_percent: 60 }
        );
        assert_eq!(shape("Zipfian:1.1"), Distribution::Zipfian { exponent: 1.1 });
        assert_eq!(shape("pareto"), Distribution::Pareto { h: 0.2 });
        assert_eq!(shape("gaussian:4"), Distribution::Gaussian { iterations: 4 });
        for text in ["uniform", "gaussian:7", "special:1,2,3", "pareto:0.3", "zipfian:0.9"] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
        let special = ["special:0", "special:3", "special:1,2"];
        let others = ["normal", "uniform:1", "pareto:1", "pareto:x", "zipfian:-1", "gaussian:1,2"];
        for wrong in special.into_iter().chain(others) {
            assert!(wrong.parse::<Distribution>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn errors_are_those_of_the_protocol() {
        let errors: Errors = "1213, 40001,23505".parse().unwrap();
        let [states, numbers] = [ErrorCodes::SqlStates, ErrorCodes::Numbers];
        assert_eq!(errors.on(numbers), IgnoredErrors::of_numbers(&[1213, 40001, 23505]));
        assert_eq!(errors.on(states), IgnoredErrors::of_states(&["1213", "40001", "23505"]));
        assert_eq!("ALL".parse::<Errors>().unwrap().on(numbers), IgnoredErrors::all());
        assert!("deadlock".parse::<Errors>().is_err());
        let fits = |text: &str| [states, numbers].map(|codes| text.parse::<Errors>().unwrap().fits(codes));
        assert_eq!([fits("40P01"), fits("1213")], [[true, false], [false, true]]);
        assert_eq!([fits("1213,40P01"), fits("all"), fits("")], [[true, true]; 3]);
    }

    #[test]
    fn a_scenario_has_the_same_names_with_dashes_or_underscores() {
        let text = "tables = 4\ntable_size = 100\nrange-selects = false\nskip_trx = 'on'\n\
                    distribution = 'uniform'\nignore-errors = '1213'\n";
        let read = |text: &str| {
            let said = SysbenchFamily.read(toml::from_str(text).unwrap())?;
            serde_json::from_value::<SysbenchOptions>(said.into())
        };
        let fields = read(text).unwrap();
        let options = fields.options().unwrap();
        assert_eq!((options.tables, options.table_size), (4, 100));
        assert!(!options.range_selects && options.skip_trx && options.auto_inc);
        assert_eq!(options.distribution, Distribution::Uniform);
        assert!(read("tabels = 4").is_err());
    }

    #[test]
    fn each_option_reaches_the_tests() {
        let text = "tables = 9\ntable-size = 9\nrange-size = 9\npoint-selects = 9\nsimple-ranges = 9\nsum-ranges = 9\n\
                    order-ranges = 9\ndistinct-ranges = 9\nindex-updates = 9\nnon-index-updates = 9\n\
                    delete-inserts = 9\nrandom-points = 9\nnumber-of-ranges = 9\ndelta = 9\n\
                    range-selects = 'off'\nskip-trx = 'on'\nauto-inc = 'off'\nsecondary = 'on'\n\
                    create-secondary = 'off'\nmysql-storage-engine = 'aria'\ndistribution = 'special:1,2,3'\n";
        let said: SysbenchOptions = toml::from_str(text).unwrap();
        let expected = Options {
            tables: 9,
            table_size: 9,
            range_size: 9,
            point_selects: 9,
            simple_ranges: 9,
            sum_ranges: 9,
            order_ranges: 9,
            distinct_ranges: 9,
            index_updates: 9,
            non_index_updates: 9,
            delete_inserts: 9,
            random_points: 9,
            number_of_ranges: 9,
            delta: 9,
            range_selects: false,
            skip_trx: true,
            auto_inc: false,
            secondary: true,
            create_secondary: false,
            mysql_storage_engine: "aria".to_owned(),
            distribution: Distribution::Special { iterations: 1, percent: 2, result_percent: 3 },
        };
        assert_eq!(said.options().unwrap(), expected);
        let errors = SysbenchOptions { ignore_errors: Some(Errors::All), ..SysbenchOptions::default() };
        assert_eq!(errors.options().unwrap(), Options::default());
    }
}
