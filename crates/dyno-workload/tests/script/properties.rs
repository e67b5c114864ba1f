//! Whatever the bytes: a script is accepted or refused, and runs to a value or an error.

use dyno_workload::script::random::Prng;
use dyno_workload::script::{Kind, Names, Protocol, Script, parse};
use proptest::prelude::*;

use crate::generator::Generator;
use crate::runner::Client;

fn modes() -> [Protocol; 3] {
    [Protocol::Simple, Protocol::Extended, Protocol::Prepared]
}

/// Jumps lead forward and stay in the script.
fn check_jumps(script: &Script) {
    let forward = |from: usize, to: usize| assert!(from < to && to < script.commands.len());
    for (index, command) in script.commands.iter().enumerate() {
        match command.kind {
            Kind::If { otherwise, .. } => forward(index, otherwise),
            Kind::Elif { otherwise, end, .. } => {
                forward(index, otherwise);
                forward(index, end);
                assert!(matches!(script.commands[end].kind, Kind::Endif));
            }
            Kind::Else { end } => assert!(matches!(script.commands[end].kind, Kind::Endif)),
            _ => {}
        }
    }
}

fn check(text: &[u8]) {
    for mode in modes() {
        let mut names = Names::new();
        match parse("-", text, mode, &mut names) {
            Ok(script) => {
                check_jumps(&script);
                let mut client = Client::new(&names, Prng::seed(1), &[("client_id", 0)], &[]);
                let _ = client.run(&script, &mut Vec::new());
            }
            Err(error) => {
                let lines = text.split(|byte| *byte == b'\n').count();
                let text = error.to_string();
                let line = text.strip_prefix("-:").and_then(|rest| rest.split(':').next()?.parse().ok());
                assert!(line.unwrap_or(0) <= lines, "{text}");
                assert!(!text.is_empty());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read(text in proptest::collection::vec(any::<u8>(), 0..300)) {
        check(&text);
    }

    #[test]
    fn any_words_are_read(words in proptest::collection::vec(word(), 0..40)) {
        check(words.concat().as_bytes());
    }

    /// Only what is between commands may be lost: without quotes or comments, all bytes of SQL are kept.
    #[test]
    fn sql_is_kept(statements in proptest::collection::vec("[a-z0-9=,+ ]{0,20}[a-z]", 1..10)) {
        let text = statements.join(";\n");
        let script = parse("-", text.as_bytes(), Protocol::Extended, &mut Names::new()).unwrap();
        let kept = script.commands.iter().map(|command| match &command.kind {
            Kind::Sql(sql) => String::from_utf8(sql.text.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        });
        let expected = statements.iter().map(|statement| statement.trim_start());
        prop_assert_eq!(
            kept.map(|text| text.trim_end_matches(';').to_owned()).collect::<Vec<_>>(),
            expected.collect::<Vec<_>>()
        );
    }

    /// Blanks and parentheses around an expression change nothing.
    #[test]
    fn parentheses_are_free(seed in any::<u64>()) {
        let expression = Generator::new(seed).expression();
        let value = |expression: &str| {
            let mut names = Names::new();
            let text = format!("\\set x debug({expression})");
            let Ok(script) = parse("-", text.as_bytes(), Protocol::Simple, &mut names) else { return None };
            let mut said = Vec::new();
            let mut client = Client::new(&names, Prng::seed(seed), &[("client_id", 1)], &[]);
            let outcome = client.run(&script, &mut said);
            Some((outcome, said))
        };
        prop_assert_eq!(format!("{:?}", value(&expression)), format!("{:?}", value(&format!("\t( ({expression}) )"))));
    }
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "\n",
            "\n",
            "\n\\set x ",
            "\n\\set y ",
            "\n\\if ",
            "\n\\elif ",
            "\n\\else",
            "\n\\endif\n",
            "\n\\sleep 0 ",
            "\n\\shell ",
            "\n\\gset ",
            "\\;",
            "\\",
            ":x",
            ":",
            "::",
            "'",
            "\"",
            "$$",
            "$a$",
            "/*",
            "*/",
            "--",
            ";",
            "(",
            ")",
            "case",
            " when ",
            " then ",
            " else ",
            " end ",
            "not ",
            " and ",
            " or ",
            " is null",
            "+",
            "-",
            "*",
            "/",
            "1",
            "9223372036854775808",
            "1e308",
            "null",
            "true",
            "random(",
            "least(",
            ",",
            "permute(",
            "select ",
            "begin",
            "create function ",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,3}",
    ]
}
