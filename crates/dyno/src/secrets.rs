//! What the user typed, fit to be shown and stored: without the passwords in it, however the target was spelled.
//! Rather too much is hidden than too little.

use std::sync::{Mutex, PoisonError};

use dyno_target::settings;
use dyno_target::settings::without_password;
use dyno_wire::endpoint::Password;

/// What stands for a password.
const HIDDEN: &str = "***";
/// A shorter password is hidden only where it can be told by what stands before it: `-c 4` is no secret.
const KNOWN_LENGTH_MIN: usize = 4;

/// The passwords of the targets, which are hidden wherever they stand alone.
static KNOWN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Whether something was hidden in a text.
pub(crate) fn is_hidden(text: &str) -> bool {
    text.contains(HIDDEN)
}

/// Has a target's passwords hidden from now on. One that is also the name of its user or database is no secret there.
pub(crate) fn remember<'a>(passwords: impl IntoIterator<Item = &'a Password>, user: &str, database: &str) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    for password in passwords {
        let text = password.reveal();
        let is_name = text == user || text == database;
        if text.len() >= KNOWN_LENGTH_MIN && !is_name && !known.iter().any(|other| other == text) {
            known.push(text.to_owned());
        }
    }
    // One may begin with another: then the whole of it is hidden.
    known.sort_by_key(|password| std::cmp::Reverse(password.len()));
}

/// `text` without the passwords that are known, where they are no part of a longer word.
fn without_known(text: &str) -> String {
    let mut shown = text.to_owned();
    for password in KNOWN.lock().unwrap_or_else(PoisonError::into_inner).iter() {
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

/// True for a word that can only be a target: a URL, or a connection string.
pub(crate) fn is_like_target(word: &str) -> bool {
    word.contains("://") || word.contains('=')
}

#[cfg(test)]
mod tests {
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
