//! Loads that are typed: several streams at the same time (`--stream`), and a load for one system (`--ramp pg=1..200`).

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::{Args as _, Parser};
use dyno_results::spec::{LoadSpec, StreamSpec, Time};
use serde_json::{Map, Value};

use super::Flags;
use crate::failure::Failure;
use crate::plan::{check_name, is_name_like, nearest_field};

/// The hidden option as which a load for one system is read: its name, the option and the value.
const LOAD_ON: &str = "--load-on";
/// The commands that take loads.
pub(crate) const HAVE_LOADS: [&str; 2] = ["run", "plan"];
/// What is said of a stream beside its load.
const OF_STREAM: [&str; 6] = ["protocol", "connections", "max-tries", "time-limit", "answers", "plans"];
/// Gives a variable its value, and may stand there for several.
const DEFINE: &str = "define";

/// `oltp=tpcb/tpcb-like,clients=8`: a name, a workload, and what else a specification says of a stream.
pub(super) fn stream(text: &str) -> Result<StreamSpec, Failure> {
    let wrong = |why: &str| {
        Failure::wrong(format!(
            "--stream {text}: {why}; it is NAME=WORKLOAD,OPTION=VALUE,…, such as oltp=tpcb/tpcb-like,clients=8"
        ))
    };
    let (name, rest) = text.split_once('=').ok_or_else(|| wrong("it has no name"))?;
    check_name(name)?;
    let mut parts = rest.split(',');
    // An option in its place is none, and a path may have a `=` in it.
    let is_option = |text: &&str| text.split_once('=').is_some_and(|(name, _)| is_name_like(name));
    let workload = parts.next().filter(|workload| !workload.is_empty() && !is_option(workload));
    let workload = workload.ok_or_else(|| wrong("it names no workload"))?;
    let mut said: Vec<(&str, String)> = Vec::new();
    let (_, bare) = options();
    for part in parts {
        match (part.split_once('='), said.last_mut()) {
            (Some((option, value)), _) => said.push((option, value.to_owned())),
            (None, _) if bare.iter().any(|option| option == part) => said.push((part, "true".to_owned())),
            // A list has commas of its own.
            (None, Some((option, value))) if !bare.iter().any(|bare| bare == option) => {
                *value = format!("{value},{part}");
            }
            (None, _) => return Err(wrong(&format!("{part} has no value"))),
        }
    }
    let (defines, said): (Vec<_>, Vec<_>) = said.into_iter().partition(|(option, _)| *option == DEFINE);
    let (of_stream, of_load): (Vec<_>, Vec<_>) =
        said.into_iter().partition(|(option, _)| OF_STREAM.contains(option));
    let map = |said: Vec<(&str, String)>| -> Map<String, Value> {
        said.into_iter().map(|(option, text)| (option.to_owned(), value(text))).collect()
    };
    let mut spec = map(of_stream);
    spec.insert(DEFINE.to_owned(), defines.into_iter().map(|(_, value)| Value::String(value)).collect());
    spec.insert("load".to_owned(), Value::Object(map(of_load)));
    let spec: StreamSpec = serde_json::from_value(Value::Object(spec)).map_err(|error| {
        let error = error.to_string();
        let nearest = nearest_field(&error).map(|name| format!("; did you mean {name}?"));
        wrong(&format!("{error}{}", nearest.unwrap_or_default()))
    })?;
    Ok(StreamSpec { name: Some(name.to_owned()), workload: Some(workload.to_owned()), ..spec })
}

/// What options say of the load of each of several streams. Options of a course, such as `--step` and `--hold`, are for the
/// streams that have a course of their own: the others accompany those, as they do without the options. If no stream has one, they
/// are for all.
pub(super) fn loads_beside(options: &LoadSpec, streams: &[StreamSpec]) -> Vec<LoadSpec> {
    let steady = options.clone().without_course();
    let accompany: Vec<bool> = streams
        .iter()
        .map(|stream| stream.load.clone().or(steady.clone()))
        .map(|load| load.course(false, true).is_ok_and(|course| course.ends_with_others()))
        .collect();
    let all = accompany.iter().all(|accompanies| *accompanies);
    let of = |accompanies| if accompanies && !all { steady.clone() } else { options.clone() };
    accompany.into_iter().map(of).collect()
}

/// Refuses an option of a load that each of the streams says for itself.
pub(super) fn refuse_without_effect(options: &LoadSpec, streams: &[StreamSpec]) -> Result<(), Failure> {
    let serialised = |error: serde_json::Error| Failure::wrong(error.to_string());
    let loads = |options: &LoadSpec| -> Vec<LoadSpec> {
        let own = streams.iter().map(|stream| stream.load.clone());
        own.zip(loads_beside(options, streams)).map(|(own, options)| own.or(options)).collect()
    };
    let Value::Object(said) = serde_json::to_value(options).map_err(serialised)? else { return Ok(()) };
    for name in said.keys() {
        let mut others = said.clone();
        others.remove(name);
        let others: LoadSpec = serde_json::from_value(Value::Object(others)).map_err(serialised)?;
        if loads(&others) == loads(options) {
            return Err(Failure::advised(
                format!("--{name} has no effect beside what the streams say for themselves"),
                format!("leave --{name} out, or say in --stream which stream it is for"),
            ));
        }
    }
    Ok(())
}

/// Numbers and truths as such; all else is text, which each field reads by itself.
fn value(text: String) -> Value {
    match text.as_str() {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        number => number.parse::<u64>().map_or(Value::String(text), Value::from),
    }
}

/// The words of a command line, in which `--ramp pg=1..200` of `run` and `plan` is the load of one system: clap knows an
/// option by one form.
pub(crate) fn words(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let (options, _) = options();
    let mut words = words.peekable();
    let mut read: Vec<OsString> = words.by_ref().take(1).collect();
    if !words.peek().and_then(|command| command.to_str()).is_some_and(has_loads) {
        read.extend(words);
        return read;
    }
    while let Some(word) = words.next() {
        let text = word.to_string_lossy().into_owned();
        let (option, within) = match text.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (option.to_owned(), Some(value.to_owned())),
            _ => (text, None),
        };
        let Some(option) = options.iter().find(|(names, _)| names.contains(&option)).map(|(_, long)| long)
        else {
            read.push(word);
            continue;
        };
        let value = within.clone().or_else(|| words.peek().map(|next| next.to_string_lossy().into_owned()));
        match value.as_deref().and_then(|value| value.split_once('=')) {
            Some((name, value)) if is_name_like(name) => {
                read.extend([LOAD_ON, name, option, value].map(OsString::from));
                if within.is_none() {
                    words.next();
                }
            }
            _ => read.push(word),
        }
    }
    read
}

/// Refuses `--hold 3 min`, which the shell splits into two words.
pub(crate) fn refuse_split_time(words: &[OsString]) -> Result<(), Failure> {
    if !words.get(1).and_then(|command| command.to_str()).is_some_and(has_loads) {
        return Ok(());
    }
    let flags = Flags::augment_args(clap::Command::new("run"));
    let is_time = |argument: &&clap::Arg| {
        argument.get_value_names().is_some_and(|names| names.iter().any(|name| name.as_str() == "TIME"))
    };
    let times: Vec<_> = flags.get_arguments().filter(is_time).filter_map(names).collect();
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    for (at, word) in words.iter().enumerate() {
        let (option, value, unit) = match word.split_once('=') {
            Some((option, value)) => (option, Some(value), words.get(at + 1)),
            None => (&**word, words.get(at + 1).map(|value| &**value), words.get(at + 2)),
        };
        let (Some(value), Some(unit)) = (value, unit) else { continue };
        let number = value.rsplit('=').next().unwrap_or(value);
        if times.iter().any(|(names, _)| names.iter().any(|name| name == option))
            && number.parse::<f64>().is_ok()
            && Time::unit_s(unit).is_some()
        {
            return Err(Failure::advised(
                format!("{option} {value} {unit}: a time is one word"),
                format!("write {option} {value}{unit}, or {option} '{value} {unit}'"),
            ));
        }
    }
    Ok(())
}

/// Whether a command takes loads, which may be typed by its beginning.
fn has_loads(command: &str) -> bool {
    !command.is_empty() && HAVE_LOADS.iter().any(|name| name.starts_with(command))
}

/// The options of a load: those that take a value, each with its names and the long one; and those that take none, without
/// their dashes.
fn options() -> (Vec<([String; 2], String)>, Vec<String>) {
    let command = LoadSpec::augment_args(clap::Command::new("load"));
    let (valued, bare): (Vec<_>, Vec<_>) =
        command.get_arguments().partition(|argument| argument.get_action().takes_values());
    let long = |argument: &clap::Arg| argument.get_long().map(str::to_owned);
    (valued.into_iter().filter_map(names).collect(), bare.into_iter().filter_map(long).collect())
}

/// The names of an option, and the long one.
fn names(argument: &clap::Arg) -> Option<([String; 2], String)> {
    let long = format!("--{}", argument.get_long()?);
    let short = argument.get_short().map(|short| format!("-{short}"));
    Some(([long.clone(), short.unwrap_or_default()], long))
}

#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct LoadArguments {
    #[command(flatten)]
    load: LoadSpec,
}

/// The loads of single systems, by their names, from what [`words`] made of them.
pub(super) fn on_systems(said: &[String]) -> Result<BTreeMap<String, LoadSpec>, Failure> {
    let mut options: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in said.chunks_exact(3) {
        let [name, option, value] = one else { continue };
        options.entry(name.clone()).or_default().push(format!("{option}={value}"));
    }
    let parse = |(name, options): (String, Vec<String>)| {
        let read = LoadArguments::try_parse_from(&options).map_err(|error| {
            let said = error.to_string();
            let line = said.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            Failure::wrong(format!("the load of {name}: {line}"))
        })?;
        Ok((name, read.load))
    };
    options.into_iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_a_name_a_workload_and_what_is_said_of_it() {
        let read = stream("oltp=tpcb/tpcb-like,clients=1,4,8,step=5s,protocol=simple,connections=4").unwrap();
        assert_eq!((read.name.as_deref(), read.workload.as_deref()), (Some("oltp"), Some("tpcb/tpcb-like")));
        assert_eq!(read.load.clients, Some("1,4,8".parse().unwrap()));
        assert_eq!((read.connections, read.load.step), (Some(4), Some("5s".parse().unwrap())));
        let ramp = stream("oltp=tpcb/tpcb-like,ramp=1..9,to-the-end,step=5s").unwrap();
        assert!(ramp.load.to_the_end && ramp.load.step.is_some());
        let path = stream("ap=./day=2/ap.sql,clients=2").unwrap();
        assert_eq!(path.workload.as_deref(), Some("./day=2/ap.sql"));
        let given = stream("ap=./ap.sql,define=len=5,clients=2,define=list=1,2").unwrap();
        let values: Vec<_> = given.define.iter().map(|it| (&*it.name, &*it.value)).collect();
        assert_eq!(values, [("len", "5"), ("list", "1,2")]);
        for (text, why) in [
            ("tpcb", "has no name"),
            ("a=", "names no workload"),
            ("a=clients=4", "names no workload"),
            ("a=tpcb,clinets=4", "did you mean clients?"),
            ("a=tpcb,clients=many", "clients"),
            ("a=tpcb,fast", "fast has no value"),
            ("a=tpcb,ramp=1..9,fast", "ramp"),
            ("1=tpcb", "is no name"),
        ] {
            let refused = stream(text).unwrap_err().to_string();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }

    #[test]
    fn a_time_of_two_words_is_told() {
        let refused = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            refuse_split_time(&words).map_err(|failure| failure.help().unwrap_or_default())
        };
        for (line, meant) in [
            ("dyno run --hold 3 min", "--hold 3min"),
            ("dyno run tpcb --time-limit=1.5 s", "--time-limit 1.5s"),
            ("dyno plan -T 2 hours --json", "-T 2hours"),
            ("dyno run --step pg=10 s", "--step pg=10s"),
            ("dyno run --warm-up 0 s", "--warm-up 0s"),
        ] {
            let help = refused(line).unwrap_err();
            assert!(help.contains(meant), "{line}: {help}");
        }
        for line in
            ["dyno run --hold 3min", "dyno run --hold 3 tpcb", "dyno run --scale 3 m", "dyno report 3 s"]
        {
            assert_eq!(refused(line), Ok(()), "{line}");
        }
    }

    #[test]
    fn a_load_with_a_name_is_that_of_one_system() {
        let read = |line: &str| {
            let read = words(line.split(' ').map(OsString::from)).into_iter();
            read.map(|word| word.into_string().unwrap()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            read("dyno run events --ramp pg=1..200 -c my=40 --rate=a=5/s"),
            "dyno run events --load-on pg --ramp 1..200 --load-on my --clients 40 --load-on a --rate 5/s"
        );
        let of_pgbench = "dyno pgbench -c a=4";
        assert_eq!(read(of_pgbench), of_pgbench);
        let others =
            "dyno run -t pg=postgres://h/d?a=b --clients 4 --duration=5s --before join a=b --to-the-end";
        assert_eq!(read(others), others);
        let said = ["pg", "--ramp", "1..9", "my", "--clients", "4", "pg", "--step", "2s"].map(str::to_owned);
        let loads = on_systems(&said).unwrap();
        assert_eq!(
            (loads["pg"].step, loads["my"].clients.clone()),
            (Some("2s".parse().unwrap()), Some("4".parse().unwrap()))
        );
        let wrong = on_systems(&["pg", "--clients", "x"].map(str::to_owned)).unwrap_err().to_string();
        assert!(wrong.contains("the load of pg") && wrong.contains("--clients"), "{wrong}");
    }
}
