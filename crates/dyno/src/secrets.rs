//! What the user typed, fit to be shown and stored: without the passwords in it, however the target was spelled.
//! Rather too much is hidden than too little.

use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dyno_results::event::Event;
use dyno_results::spec::{Definition, FolderSpec, RunSpec};
use dyno_target::settings;
use dyno_target::settings::without_password;
use dyno_wire::endpoint::Password;
use serde::Deserialize as _;
use serde_json::Value;

/// What stands for a password.
const HIDDEN: &str = "***";
/// A shorter password is hidden only where it can be told by what stands before it: `-c 4` is no secret.
const KNOWN_LENGTH_MIN: usize = 4;

/// Passwords that tell nothing, because they are words of every text: hidden only where a name says what they are.
const COMMON: [&str; 12] = [
    "password", "secret", "token", "postgres", "mysql", "root", "default", "admin", "user", "test", "true",
    "false",
];
/// Fields of events that name something else of the run, and values that are compared: rows of answers are those of the database.
const NAMES: [&str; 17] = [
    "event", "run", "target", "series", "workload", "name", "kind", "product", "source", "step", "types",
    "query", "code", "digest", "rows", "expected", "found",
];

/// What is known to be a secret, which is hidden wherever it stands alone.
static KNOWN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Whether something was hidden in a text.
pub(crate) fn is_hidden(text: &str) -> bool {
    text.contains(HIDDEN)
}

/// Has a target's passwords hidden from now on, and how HTTP sends them. One that is also the name of its user or database is
/// no secret there.
pub(crate) fn remember<'a>(passwords: impl IntoIterator<Item = &'a Password>, user: &str, database: &str) {
    for text in passwords.into_iter().map(Password::reveal) {
        if text != user && text != database {
            learn(text);
        }
        learn(STANDARD.encode(format!("{user}:{text}")).trim_end_matches('='));
    }
}

/// The same of the variables of the environment that hold a secret by their names: `MAX_TOKENS=2048` does not.
pub(crate) fn remember_environment() {
    for (name, value) in std::env::vars_os() {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        if settings::is_secret(&name) && value.parse::<f64>().is_err() {
            learn(&value);
        }
    }
}

fn learn(secret: &str) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_common = COMMON.iter().any(|word| secret.eq_ignore_ascii_case(word));
    if secret.len() >= KNOWN_LENGTH_MIN && !is_common && !known.iter().any(|other| other == secret) {
        known.push(secret.to_owned());
    }
    // One may begin with another: then the whole of it is hidden.
    known.sort_by_key(|password| std::cmp::Reverse(password.len()));
}

/// Takes the secrets out of a specification that is stored: values of variables that hold one by their names, and texts of SQL with
/// one in them, which are read from their files again. From now on the values are hidden elsewhere, too.
pub(crate) fn leave_out(spec: &mut RunSpec) {
    let streams = || spec.phases.iter().flat_map(|phase| &phase.streams);
    for Definition { name, value } in streams().flat_map(|stream| &stream.define) {
        // A number stands in too many places.
        if is_secret_variable(name) && value != HIDDEN && value.parse::<f64>().is_err() {
            learn(value);
        }
    }
    for stream in spec.phases.iter_mut().flat_map(|phase| &mut phase.streams) {
        for Definition { name, value } in &mut stream.define {
            if is_secret_variable(name) || without_known(value) != *value {
                HIDDEN.clone_into(value);
            }
        }
        stream.script = stream.script.take().filter(|text| without_known(text) == **text);
        if stream.queries.values().any(|text| without_known(text) != **text) {
            stream.queries.clear();
        }
        let is_clean = |folder: &FolderSpec| folder.files.values().all(|text| without_known(text) == **text);
        stream.folder = stream.folder.take().filter(is_clean);
    }
}

/// Whether a value is no value: it was a secret, and was not stored.
pub(crate) fn was_left_out(value: &str) -> bool {
    value == HIDDEN
}

/// Words of a server, of a library or of dyno about them, without secrets: those that are known, and what a name, a URL or a
/// header says to be one.
pub(crate) fn hidden_in_words(text: &str) -> String {
    let known = without(text, |_| true);
    known.split('\n').map(|line| without_header(&without_password(line))).collect::<Vec<_>>().join("\n")
}

/// A line without what stands behind `Basic` and `Bearer`, as in the header `Authorization`.
fn without_header(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut follows = false;
    for word in line.split_inclusive(' ') {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        // A word of a sentence is no credential.
        let is_credential =
            bare.len() > 7 && bare.bytes().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        shown.push_str(&if follows && is_credential { word.replace(bare, HIDDEN) } else { word.to_owned() });
        follows = ["basic", "bearer"].iter().any(|scheme| bare.eq_ignore_ascii_case(scheme));
    }
    shown
}

/// An event as it may be stored and shown: without secrets that are known, and where it has words of a server also without
/// those that can be told.
pub(crate) fn hidden_in_event(event: Event) -> Event {
    let hide: fn(&str) -> String = match &event {
        // Numbers, each second.
        Event::Interval(_) | Event::Sample(_) => return event,
        Event::Notice(_)
        | Event::QueryFailure(_)
        | Event::TargetLost(_)
        | Event::NotDone(_)
        | Event::ServerChanged(_)
        | Event::Hook(_)
        | Event::Finished(_) => hidden_in_words,
        _ => without_known,
    };
    let Ok(mut body) = serde_json::to_value(&event) else { return event };
    let mut secrets = Vec::new();
    find_secrets(&body, String::new(), hide, &mut secrets);
    for (pointer, hidden) in secrets {
        let Some(place) = body.pointer_mut(&pointer) else { continue };
        let shown = std::mem::replace(place, Value::String(hidden));
        // A word that the event cannot do without is one of dyno's own, `prepared`, and tells nothing.
        if Event::deserialize(&body).is_err()
            && let Some(place) = body.pointer_mut(&pointer)
        {
            *place = shown;
        }
    }
    serde_json::from_value(body).unwrap_or(event)
}

/// The places of all texts but names in which something is to be hidden, each with what is shown there instead.
fn find_secrets(value: &Value, at: String, hide: fn(&str) -> String, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => {
            let hidden = hide(text);
            if hidden != *text {
                found.push((at, hidden));
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                find_secrets(value, format!("{at}/{index}"), hide, found);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(name, _)| !NAMES.contains(&name.as_str())) {
                let escaped = name.replace('~', "~0").replace('/', "~1");
                find_secrets(value, format!("{at}/{escaped}"), hide, found);
            }
        }
        _ => {}
    }
}

/// `text` without the passwords that are known, where they are no part of a longer word. One that is a number is not told from
/// other numbers: it is hidden in [words](hidden_in_words) only.
pub(crate) fn without_known(text: &str) -> String {
    without(text, |password| !password.bytes().all(|byte| byte.is_ascii_digit()))
}

fn without(text: &str, is_hidden: fn(&str) -> bool) -> String {
    let mut shown = text.to_owned();
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    for password in known.iter().filter(|password| is_hidden(password)) {
        let goes_on =
            |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
        let mut rest = std::mem::take(&mut shown);
        while let Some((before, behind)) = rest.split_once(password.as_str()) {
            let alone = !goes_on(before.chars().next_back()) && !goes_on(behind.chars().next());
            shown.push_str(before);
            shown.push_str(if alone { HIDDEN } else { password });
            rest = behind.to_owned();
        }
        shown.push_str(&rest);
    }
    shown
}

/// A word of the command line, or a text that quotes some, with every password replaced by `***`.
pub(crate) fn hidden(word: &str) -> String {
    let word = &*without_known(word);
    let value = value_of_option(word);
    let option = word.strip_suffix(value).unwrap_or_default();
    format!("{option}{}", hidden_in_url(&without_password(value)))
}

/// A command or SQL with every password that can be told replaced by `***`: what [`hidden`] finds in each of its words, and
/// what programs and statements take for one (`-pSECRET`, `PGPASSWORD=…`, `IDENTIFIED BY '…'`).
pub(crate) fn hidden_in_command(command: &str) -> String {
    let command = &*without_known(command);
    let in_capitals = command.to_ascii_uppercase();
    let (identified, sshpass) = (in_capitals.contains("IDENTIFIED"), in_capitals.contains("SSHPASS"));
    let mut shown: Vec<String> = Vec::new();
    let mut secret_follows = false;
    // The quote that ends a secret with spaces in it.
    let mut until: Option<char> = None;
    let mut before = String::new();
    for word in command.split_whitespace() {
        if let Some(quote) = until {
            until = until.filter(|_| !word.contains(quote));
            continue;
        }
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_ascii_uppercase();
        let (name, value) = word.split_once('=').map_or((None, ""), |(name, value)| (Some(name), value));
        if secret_follows && matches!(word, "=" | ":" | ":=") {
            shown.push(word.to_owned());
            continue;
        }
        // As servers complain: `password authentication failed`, `(using password: YES)`.
        secret_follows &= !matches!(word, "authentication" | "YES)" | "NO)");
        let secret = match name {
            _ if secret_follows => Some((HIDDEN.to_owned(), word)),
            Some(name) if is_secret(name) => Some((format!("{name}={HIDDEN}"), value)),
            _ if word.len() > 2 && word.starts_with("-p") && !word.starts_with("-p=") => {
                Some((format!("-p{HIDDEN}"), &word[2..]))
            }
            _ if matches!(before.as_str(), "U" | "USER") => {
                word.split_once(':').map(|(user, secret)| (format!("{user}:{HIDDEN}"), secret))
            }
            _ => None,
        };
        if let Some((hidden, secret)) = secret {
            shown.push(hidden);
            // `PASSWORD= 'SECRET'`, `IDENTIFIED BY PASSWORD 'SECRET'`
            secret_follows = secret.is_empty() || (secret_follows && bare == "PASSWORD");
            until = open_quote(secret);
        } else {
            shown.push(hidden(word));
            if before.ends_with("SET") && bare.starts_with("PASSWORD") {
                // Of whom, and a sign, may stand before it.
                shown.push(HIDDEN.to_owned());
                break;
            }
            secret_follows = match bare.as_str() {
                "BY" => identified && shown.len() > 1,
                "PASSWORD" | "AS_PASSWORD" | "BEARER" => name.is_none(),
                "P" => sshpass && word == "-p",
                _ => false,
            };
        }
        before = bare;
    }
    shown.join(" ")
}

/// A command or SQL as it may be stored, and run again where it holds no secret: then it is as it was typed.
pub(crate) fn without_secrets(text: &str) -> String {
    let hidden = hidden_in_command(text);
    if hidden.split(' ').eq(text.split_whitespace()) { text.to_owned() } else { hidden }
}

/// [`hidden_in_command`] of each line; one without any password stays as it is.
pub(crate) fn hidden_in_lines(text: &str) -> String {
    text.lines().map(without_secrets).collect::<Vec<_>>().join("\n")
}

/// The quote that a secret begins with, where its end is not in the same word.
fn open_quote(secret: &str) -> Option<char> {
    let quote = secret.trim_start_matches('(').chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    (secret.chars().filter(|c| *c == quote).count() == 1).then_some(quote)
}

/// The same of a variable of a script, for which short names are usual: `pw`, `DB_PASS`, `userpw2`. A `bypass` is none.
fn is_secret_variable(name: &str) -> bool {
    let ends_so = |word: &str| {
        let word = word.trim_end_matches(|c: char| c.is_ascii_digit()).to_ascii_lowercase();
        let whose = word.strip_suffix("pass").or_else(|| word.strip_suffix("pw"));
        whose.is_some_and(|whose| ["", "user", "db", "pg", "my", "root", "admin"].contains(&whose))
    };
    is_secret(name) || name.split(['_', '-']).any(ends_so)
}

/// Whether a variable or option of this name holds a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    settings::is_secret(name) || name.to_ascii_uppercase().contains("PWD")
}

/// What follows the option in `--target=…`, `-t…`, `-t=…` or `-qt…`, and in pgbench's `-d…`, `-nd…` or `-D…`; any other word as
/// it is.
fn value_of_option(word: &str) -> &str {
    let long = word.strip_prefix("--").and_then(|rest| rest.split_once('='));
    let short = || word.strip_prefix('-').and_then(|rest| rest.split_once(['t', 'd', 'D']));
    match long.or_else(short) {
        Some((_, value)) => value.strip_prefix('=').unwrap_or(value),
        None => word,
    }
}

/// Hides the password of a URL that begins anywhere in the text, whatever its scheme.
fn hidden_in_url(text: &str) -> String {
    const SCHEME: &str = "postgres://";
    let Some((front, rest)) = text.split_once("://") else { return text.to_owned() };
    let hidden = without_password(&format!("{SCHEME}{rest}"));
    format!("{front}://{}", hidden.strip_prefix(SCHEME).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use dyno_results::event::{Answer, Check, Notice, QueryAnswer};

    use super::*;

    #[test]
    fn passwords_are_hidden_however_the_target_is_spelled() {
        for (typed, shown) in [
            ("postgres://u:pw@h/d", "postgres://u:***@h/d"),
            ("--target=postgres://u:pw@h/d", "--target=postgres://u:***@h/d"),
            ("--target=postgresql://h/d?password=pw", "--target=postgresql://h/d?password=***"),
            ("-tpostgres://u:pw@h/d", "-tpostgres://u:***@h/d"),
            ("-t=postgres://u:pw@h/d?a=b", "-t=postgres://u:***@h/d?a=b"),
            ("-qtpostgres://u:pw@h/d?a=b", "-qtpostgres://u:***@h/d?a=b"),
            ("postgers://u:pw@h/d", "postgers://u:***@h/d"),
            ("--target=host=h password=pw", "--target=host=h password=***"),
            ("--target=password=pw", "--target=password=***"),
            ("-t=password=pw", "-t=password=***"),
            ("-thost=h password=pw", "-thost=h password=***"),
            ("-tpassword=pw host=h", "-tpassword=*** host=h"),
            ("-dpassword=pw dbname=d", "-dpassword=*** dbname=d"),
            ("-nSdpassword=pw", "-nSdpassword=***"),
            ("-Dpassword=pw", "-Dpassword=***"),
            ("-dpostgres://u:pw@h/d", "-dpostgres://u:***@h/d"),
            ("--dbname=password=pw", "--dbname=password=***"),
            ("password=pw", "password=***"),
            ("pg=postgres://u:pw@h/d?a=b", "pg=postgres://u:***@h/d?a=b"),
            ("--target=my=mysql://u:pw@h/d", "--target=my=mysql://u:***@h/d"),
            ("-tmy=mysql://u:pw@h/d", "-tmy=mysql://u:***@h/d"),
            ("pg=host=h password=pw", "pg=host=h password=***"),
            ("pg=password=pw host=h", "pg=password=*** host=h"),
            ("--host-metrics=pg=http://u:pw@h:9100/metrics", "--host-metrics=pg=http://u:***@h:9100/metrics"),
            ("dbname=postgres://u:pw@h/d password=pw", "dbname=postgres://u:***@h/d password=***"),
        ] {
            assert_eq!(hidden(typed), shown);
        }
    }

    #[test]
    fn a_known_password_is_hidden_where_it_stands_alone() {
        let passwords = ["wall-eye", "tiny_user", "no", "ärger"].map(|text| Password::new(text.to_owned()));
        remember(&passwords, "tiny_user", "d");
        for (typed, shown) in [
            ("backup.sh me wall-eye", "backup.sh me ***"),
            ("login:wall-eye, twice 'wall-eye'", "login:***, twice '***'"),
            ("wall-eyed or stonewall-eye", "wall-eyed or stonewall-eye"),
            ("as tiny_user no", "as tiny_user no"),
            ("ärger/verärgert", "***/verärgert"),
        ] {
            assert_eq!((&*hidden(typed), &*hidden_in_command(typed)), (shown, shown));
        }
        assert_eq!(hidden_in_lines("+ login wall-eye\n  ok"), "+ login ***\n  ok");
    }

    #[test]
    fn words_of_servers_are_told_without_secrets() {
        remember(&[Password::new("gull-7wing".to_owned())], "me", "d");
        for (said, shown) in [
            ("invalid input \"gull-7wing\"", "invalid input \"***\""),
            ("401: Authorization: Basic bWU6Z3VsbC03d2luZw==", "401: Authorization: Basic ***=="),
            ("bad header bWU6Z3VsbC03d2luZw", "bad header ***"),
            ("got Bearer eyJhbGciOiJIUzI1", "got Bearer ***"),
            ("a basic understanding of it", "a basic understanding of it"),
            ("cannot reach http://x:pw@h/p\nnor\n h", "cannot reach http://x:***@h/p\nnor\n h"),
            ("aws_access_key_id=AK12 api_key=k, ok", "aws_access_key_id=*** api_key=*** ok"),
            (
                "password authentication failed for user \"me\"",
                "password authentication failed for user \"me\"",
            ),
            ("column \"password\" does not exist", "column \"password\" does not exist"),
        ] {
            assert_eq!(hidden_in_words(said), shown);
            let notice = Event::Notice(Notice {
                target: Some("gull-7wing".to_owned()),
                stage: None,
                text: said.to_owned(),
            });
            let Event::Notice(notice) = hidden_in_event(notice) else { panic!("another event") };
            assert_eq!((&*notice.text, notice.target.as_deref()), (shown, Some("gull-7wing")));
        }
    }

    #[test]
    fn what_is_measured_stays_whatever_the_passwords_are() {
        let passwords = ["extended", "select-only", "tern-4foot", "30417"];
        remember(&passwords.map(|text| Password::new(text.to_owned())), "me", "d");
        let check = Event::Check(Check {
            target: "t".to_owned(),
            workload: "w".to_owned(),
            series: None,
            name: "rows".to_owned(),
            passed: Some(true),
            detail: "30417 of 30417 rows, says tern-4foot".to_owned(),
            expected: Some("30417".to_owned()),
            found: Some("tern-4foot".to_owned()),
        });
        let Event::Check(check) = hidden_in_event(check) else { panic!("another event") };
        assert_eq!(check.detail, "30417 of 30417 rows, says ***");
        assert_eq!((check.expected.as_deref(), check.found.as_deref()), (Some("30417"), Some("tern-4foot")));
        let row = ["tern-4foot", "30417"].map(str::to_owned).to_vec();
        let answer = QueryAnswer {
            sql: "SELECT 'tern-4foot', 30417".to_owned(),
            rows: vec![row.clone()],
            ..QueryAnswer::default()
        };
        let answer = Event::Answer(Answer { target: "t".to_owned(), series: "queries".to_owned(), answer });
        let Event::Answer(answer) = hidden_in_event(answer) else { panic!("another event") };
        assert_eq!(answer.answer.sql, "SELECT '***', 30417");
        assert_eq!(answer.answer.rows, [row]);
        assert_eq!(hidden_in_words("no database \"30417\""), "no database \"***\"");
    }

    #[test]
    fn a_specification_is_stored_without_secrets() {
        remember(&[Password::new("auk-5beak".to_owned())], "me", "d");
        let stream = |define: &[&str], script: &str| dyno_results::spec::StreamSpec {
            define: define.iter().map(|text| text.parse().unwrap()).collect(),
            script: Some(script.to_owned()),
            ..Default::default()
        };
        let streams = vec![
            stream(&["pw=x1", "api_key=heron-3egg", "len=5", "other=auk-5beak"], "SELECT :len;"),
            stream(&[], "SELECT 'auk-5beak';"),
        ];
        let phases = vec![dyno_results::spec::PhaseSpec { streams, ..Default::default() }];
        let mut spec = RunSpec { phases, ..RunSpec::default() };
        leave_out(&mut spec);
        let kept = &spec.phases[0].streams;
        let values: Vec<_> = kept[0].define.iter().map(|it| &*it.value).collect();
        assert_eq!(values, ["***", "***", "5", "***"]);
        assert_eq!((kept[0].script.as_deref(), kept[1].script.as_deref()), (Some("SELECT :len;"), None));
        assert_eq!(hidden_in_words("no heron-3egg"), "no ***");
    }

    #[test]
    fn a_variable_of_a_script_holds_a_secret_by_its_name() {
        for name in ["pw", "DB_PASS", "pgpass", "userpw", "pass1", "my-pw", "db_pwd", "passphrase", "x_token"]
        {
            assert!(is_secret_variable(name), "{name}");
        }
        for name in ["passes", "bypass", "compass", "aid", "power", "scale", "key", "pwx"] {
            assert!(!is_secret_variable(name), "{name}");
        }
    }

    #[test]
    fn passwords_in_commands_and_statements_are_hidden() {
        for (typed, shown) in [
            ("mysql -uroot -ppw -e 'x'", "mysql -uroot -p*** -e 'x'"),
            ("PGPASSWORD=pw psql -c x", "PGPASSWORD=*** psql -c x"),
            ("mysql --password=pw d", "mysql --password=*** d"),
            ("psql postgres://u:pw@h/d", "psql postgres://u:***@h/d"),
            ("sql:ALTER USER u IDENTIFIED BY 'pw'", "sql:ALTER USER u IDENTIFIED BY ***"),
            ("sql:alter role u password 'pw'", "sql:alter role u password ***"),
            ("sql:alter role u password 'p w' login", "sql:alter role u password *** login"),
            ("sql:SET PASSWORD FOR 'u'@'h' = 'pw'", "sql:SET PASSWORD ***"),
            ("set password = password('pw')", "set password ***"),
            ("sql:ALTER USER u IDENTIFIED BY PASSWORD 'pw'", "sql:ALTER USER u IDENTIFIED BY *** ***"),
            ("PGPASSWORD='p w' psql -c x", "PGPASSWORD=*** psql -c x"),
            ("mysql -p'p w' d", "mysql -p*** d"),
            ("password = pw", "password = ***"),
            (
                "FATAL: password authentication failed for user me",
                "FATAL: password authentication failed for user me",
            ),
            ("password: pw", "password: ***"),
            ("ssh db \"mysql -ppw\" && echo done", "ssh db \"mysql -p*** && echo done"),
            ("sshpass -p pw ssh -t db reboot", "sshpass -p *** ssh -t db reboot"),
            ("curl -u me:pw http://h/", "curl -u me:*** http://h/"),
            ("curl -H 'Authorization: Bearer pw' http://h/", "curl -H 'Authorization: Bearer *** http://h/"),
            ("ssh db systemctl restart mysql", "ssh db systemctl restart mysql"),
            ("sql:CHECKPOINT", "sql:CHECKPOINT"),
        ] {
            assert_eq!(hidden_in_command(typed), shown);
        }
    }

    #[test]
    fn lines_without_passwords_stay_as_they_are() {
        let text = "  |\n1 | targett =  \"postgres://u:pw@h/d\"\n  |   ^^^";
        assert_eq!(hidden_in_lines(text), "  |\n1 | targett = \"postgres://u:***@h/d\"\n  |   ^^^");
    }

    #[test]
    fn everything_else_is_shown_as_it_was_typed() {
        for word in ["run", "--scale=5", "--prepare=always", "-c1,2", "mine.toml", "--html", "a b", "", "-"] {
            assert_eq!(hidden(word), word);
        }
    }
}
