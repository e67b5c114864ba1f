//! Takes passwords out of text as it was typed: one that names a target, or that holds such a name somewhere, as
//! `--target=postgres://…` does. The text need not be well formed, and rather too much is hidden than too little.
//!
//! A password stands in one of three places, and all three are looked for in any text, whatever it seems to be:
//! before the `@` of a URL, in a parameter of a URL, and in a parameter of a connection string.

use std::ops::Range;

use super::{conninfo, url};

/// What stands for a password.
const HIDDEN: &str = "***";

/// `text` with every password replaced. Doing it again changes nothing.
pub(super) fn redact(text: &str) -> String {
    let mut shown = text.to_owned();
    loop {
        // What is hidden may have held the end of something that began before it. Each round leaves fewer
        // characters that are no asterisk, so this ends.
        let again = hide(&shown);
        if again == shown {
            return shown;
        }
        shown = again;
    }
}

fn hide(text: &str) -> String {
    let parameters = text.match_indices('=').filter_map(|(equals, _)| parameter(text, equals));
    let mut ranges: Vec<Range<usize>> = parameters.chain(credentials(text)).collect();
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, range| {
        let touches = next.start <= range.end;
        if touches {
            range.end = range.end.max(next.end);
        }
        touches
    });
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges {
        shown.push_str(text.get(at..range.start).unwrap_or_default());
        shown.push_str(HIDDEN);
        at = range.end;
    }
    shown.push_str(text.get(at..).unwrap_or_default());
    shown
}

/// The password of `scheme://user:password@host`. An `@`, `/`, `?` or space that should have been encoded does
/// not end it, so it reaches from the first `:` to the last `@`, past whatever else is between them.
fn credentials(text: &str) -> Option<Range<usize>> {
    const MARK: &str = "://";
    let start = text.find(MARK)? + MARK.len();
    let end = start + text.get(start..)?.rfind('@')?;
    let colon = text.get(start..end)?.find(':')?;
    Some(start + colon + 1..end)
}

/// The value of the parameter whose name ends before the `=` at `equals`, if it is a password.
fn parameter(text: &str, equals: usize) -> Option<Range<usize>> {
    let before = text.get(..equals)?.trim_end();
    let ends_name = |c: char| c.is_whitespace() || matches!(c, '=' | '?' | '&' | '\'' | '"');
    let start = before.rfind(ends_name).map_or(0, |at| at + before.get(at..).map_or(0, first_bytes));
    let name = before.get(start..)?;
    if !is_secret(name) && !url::decode(name, "").is_ok_and(|name| is_secret(&name)) {
        return None;
    }
    let value = equals + 1;
    if before.get(..start)?.ends_with(['?', '&']) {
        let rest = text.get(value..)?;
        return Some(value..value + rest.find('&').unwrap_or(rest.len()));
    }
    Some(conninfo::value_at(text, value))
}

fn first_bytes(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// `password`, `sslpassword`, `PGPASSWORD`, `MYSQL_PWD`, `DYNO_TOKEN`, `apikey`, `aws_access_key_id`, and whatever of that kind is
/// still to come: the one list for variables, options and parameters of all drivers. `PWD` alone is where a shell works.
pub(super) fn is_secret(name: &str) -> bool {
    const WORDS: [&str; 10] = [
        "passw",
        "passphrase",
        "_pwd",
        "secret",
        "token",
        "apikey",
        "credential",
        "accesskey",
        "privatekey",
        "authorization",
    ];
    let name = name.to_ascii_lowercase();
    // `api_key`, `api-key` and `apikey` are one name.
    let plain: String = name.chars().filter(|c| !matches!(c, '_' | '-')).collect();
    WORDS.iter().any(|word| name.contains(word) || plain.contains(word))
}

/// The same of a setting of a database. These have names of all kinds of storage and services: `fs.azure.account.key.…`,
/// `s3_access_key_id`, `fs.s3a.aws.credentials.provider`, `hive.auth.…`. What may hold a key is taken for one that does.
pub(super) fn is_secret_setting(name: &str) -> bool {
    const WORDS: [&str; 7] = [".key", "_key", "-key", "auth", "private", ".sas.", "connection_string"];
    let lower = name.to_ascii_lowercase();
    is_secret(name) || WORDS.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn passwords_are_taken_out_wherever_they_stand() {
        for (typed, shown) in [
            ("postgres://u:p@h/d", "postgres://u:***@h/d"),
            ("postgres://u@h/d", "postgres://u@h/d"),
            ("postgres://h:5432/d", "postgres://h:5432/d"),
            ("postgresql://u:a/b?c@d@h/d?x=1", "postgresql://u:***@h/d?x=1"),
            ("postgres://h/d?user=u&password=p&x=y", "postgres://h/d?user=u&password=***&x=y"),
            ("postgres://h/d?pass%77ord=p&x=y", "postgres://h/d?pass%77ord=***&x=y"),
            ("postgres://u:p@h/d?sslpassword=q", "postgres://u:***@h/d?sslpassword=***"),
            ("postgres://h/d?password=a:b@c", "postgres://h/d?password=***"),
            ("--target=postgres://u:p@h/db", "--target=postgres://u:***@h/db"),
            ("-tpostgres://u:p@h/db", "-tpostgres://u:***@h/db"),
            ("--target=mysql://u:p@h/db", "--target=mysql://u:***@h/db"),
            ("host=h password='a b' user=u", "host=h password='***' user=u"),
            ("host=h password = p", "host=h password = ***"),
            ("host=h password='p", "host=h password='***"),
            (r"password='a\' b\\' user=u", "password='***' user=u"),
            (r"password=a\ b\\ user=u", "password=*** user=u"),
            ("user='x'password=p sslpassword=q", "user='x'password=*** sslpassword=***"),
            ("--target=host=h password=p", "--target=host=h password=***"),
            ("-tpassword='a b' host=h", "-tpassword='***' host=h"),
            ("PGPASSWORD=p", "PGPASSWORD=***"),
            ("MYSQL_PWD=p", "MYSQL_PWD=***"),
            ("--mysql-password=p", "--mysql-password=***"),
            ("--mysql_password=p", "--mysql_password=***"),
            ("mysql://u:p@h:3306/d?ssl-mode=REQUIRED", "mysql://u:***@h:3306/d?ssl-mode=REQUIRED"),
            ("mariadb://u:p@h/d?passwd=q&socket=/s", "mariadb://u:***@h/d?passwd=***&socket=/s"),
            ("application_name='x password= ' password='S y'", "application_name='x password= '***'***'"),
            ("passfile=/home/me/.pgpass", "passfile=/home/me/.pgpass"),
            ("--clients=1,2", "--clients=1,2"),
        ] {
            assert_eq!(redact(typed), shown, "{typed}");
        }
    }

    /// A text that holds `password`, written as the form wants it, and the same with what is to be shown instead.
    fn typed(form: usize, password: &str) -> [String; 2] {
        let encoded = url::encode(password);
        let every_byte: String = password.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let quoted = password.replace('\\', r"\\").replace('\'', r"\'");
        let escaped: String = password.chars().flat_map(|c| ['\\', c]).collect();
        let with = |secret: &str| match form {
            0 => format!("postgres://u:{secret}@h/d"),
            1 => format!("--target=postgresql://u:{secret}@h:1,k:2/d?sslmode=disable"),
            2 => format!("-tx+y://u:{secret}@h"),
            9 => format!("mysql://u:{secret}@h/d?ssl_mode=VERIFY_CA"),
            10 => format!("--target=mariadb://u@h/d?x=y&Password={secret}"),
            3 => format!("postgres://u@h/d?password={secret}&x=y"),
            4 => format!("--a=postgres:///d?x=y&%70assword={secret}"),
            5 => format!("host=h user=u password='{secret}'"),
            6 => format!("--target=sslpassword = '{secret}' host=h"),
            7 => format!("-thost=h password='{secret}'user=u"),
            _ => format!("host=h password={secret} user=u"),
        };
        let secret = match form {
            0 | 3 | 9 => &encoded,
            1 | 2 | 4 | 10 => &every_byte,
            5..=7 => &quoted,
            _ => &escaped,
        };
        [with(secret), with(HIDDEN)]
    }

    proptest! {
        /// What is shown does not depend on the password, so it cannot hold any part of it.
        #[test]
        fn no_password_is_left(form in 0..11_usize, password in "[^\0]{1,16}|[ -~]{1,16}|[':@/?&= \\\\p]{1,9}") {
            let [text, expected] = typed(form, &password);
            prop_assert_eq!(redact(&text), expected);
        }

        /// Passwords that were typed as they are into a URL, where they should have been encoded.
        #[test]
        fn no_password_is_left_that_was_not_encoded(tail in "[ -~]{0,12}") {
            let shown = redact(&format!("--target=postgres://u:RIDDLE{tail}@h/d"));
            prop_assert_eq!(shown, "--target=postgres://u:***@h/d");
        }

        #[test]
        fn what_is_shown_is_stable(text in r#"((ssl)?password|[a-z%*]{0,3}|://|[:@/?&= '"\\é]{1,3}){0,12}|.*"#) {
            let shown = redact(&text);
            prop_assert_eq!(redact(&shown), shown);
        }
    }
}
