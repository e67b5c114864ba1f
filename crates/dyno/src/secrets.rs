//! What the user typed, fit to be shown and stored: without the passwords in it, however the target was spelled.
//! Rather too much is hidden than too little.

use dyno_target::settings::without_password;

/// A word of the command line, or a text that quotes some, with every password replaced by `***`.
pub(crate) fn hidden(word: &str) -> String {
    let value = value_of_option(word);
    let option = word.strip_suffix(value).unwrap_or_default();
    format!("{option}{}", hidden_in_url(&without_password(value)))
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
            ("dbname=postgres://u:pw@h/d password=pw", "dbname=postgres://u:***@h/d password=***"),
        ] {
            assert_eq!(hidden(typed), shown);
        }
    }

    #[test]
    fn everything_else_is_shown_as_it_was_typed() {
        for word in ["run", "--scale=5", "--prepare=always", "-c1,2", "mine.toml", "--html", "a b", "", "-"] {
            assert_eq!(hidden(word), word);
        }
    }
}
