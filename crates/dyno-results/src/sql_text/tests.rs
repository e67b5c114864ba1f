use proptest::prelude::*;

use super::*;

const ALL: Syntax =
    Syntax { hashes: Hashes::BeforeBlank, dollars: true, dashes_need_blank: false, ..Syntax::MYSQL };
const NONE: Syntax = Syntax { backticks: false, ..Syntax::SQLITE };

#[test]
fn a_backslash_escapes_in_quotes_behind_an_e() {
    let quoted = |text| {
        let pieces = readable_pieces(text, Syntax::ANY).into_iter();
        pieces.filter(|(piece, _)| *piece == Piece::Quoted).map(|(_, text)| text).collect::<Vec<_>>()
    };
    assert_eq!(quoted(r"SELECT E'a\'b', e'c\'d'"), [r"'a\'b'", r"'c\'d'"]);
    assert_eq!(quoted(r"SELECT 'C:\', like'\'"), [r"'C:\'", r"'\'"]);
}

#[test]
fn only_comments_are_directives() {
    let text = "# dyno: a\n/* dyno: b */ SELECT 'dyno: c', '-- dyno: d' -- dyno: e";
    assert_eq!(directives(text, Syntax::ANY).collect::<Vec<_>>(), ["dyno: a", "dyno: b", "dyno: e"]);
}

#[test]
fn a_semicolon_ends_a_statement_only_where_it_is_one() {
    let escapes = Syntax { dollars: false, ..ALL };
    let dollars = Syntax { nests: false, ..Syntax::POSTGRESQL };
    for (syntax, sql, expected) in [
        (NONE, "SELECT 1", &["SELECT 1"][..]),
        (NONE, "SELECT 1; SELECT 2 ;", &["SELECT 1", "SELECT 2"]),
        (NONE, "BEGIN; SELECT 'a;''b', \";\"; COMMIT;", &["BEGIN", "SELECT 'a;''b', \";\"", "COMMIT"]),
        (NONE, "a /* ; */ b; c", &["a /* ; */ b", "c"]),
        (NONE, " ; ;-- nothing", &[]),
        (NONE, "SELECT 1; /* nothing */ -- more", &["SELECT 1"]),
        (NONE, "'é;'; é", &["'é;'", "é"]),
        (NONE, " ;; ", &[]),
        (NONE, "'never ends; /* ", &["'never ends; /*"]),
        (NONE, "/* never ends; ", &[]),
        (NONE, "SELECT $$; $$", &["SELECT $$", "$$"]),
        (escapes, r"SELECT ';', 'it\';s', 'a''b;' ; x", &[r"SELECT ';', 'it\';s', 'a''b;'", "x"]),
        (escapes, "SELECT `a;b`, \"c;d\" -- e;f\n; g", &["SELECT `a;b`, \"c;d\" -- e;f", "g"]),
        (
            dollars,
            "SELECT 1 -- one; \n; /* ; */ ; SELECT $1, $$ ; $$, $a$;$$;$a$",
            &["SELECT 1 -- one;", "SELECT $1, $$ ; $$, $a$;$$;$a$"],
        ),
        (dollars, "SELECT a$b$; c$b$", &["SELECT a$b$", "c$b$"]),
        (
            ALL,
            "SELECT $$a;b$$; SELECT 1 # one; \n, 2 #! two;\n",
            &["SELECT $$a;b$$", "SELECT 1 # one; \n, 2 #! two;"],
        ),
        (ALL, "SELECT $$a;é", &["SELECT $$a;é"]),
    ] {
        assert_eq!(statements(sql, syntax), expected, "{sql}");
    }
}

/// What each does with the same text was seen with its client.
#[test]
fn products_differ_in_their_comments() {
    for (syntax, sql, expected) in [
        (Syntax::MYSQL, "SELECT 1 # one; two\n+ 1; SELECT 2", &["SELECT 1 # one; two\n+ 1", "SELECT 2"][..]),
        (Syntax::POSTGRESQL, "SELECT 1 # 2; SELECT 3", &["SELECT 1 # 2", "SELECT 3"]),
        (Syntax::SQLITE, "# one;\nSELECT 1; SELECT '#;'", &["# one;\nSELECT 1", "SELECT '#;'"]),
        (Syntax::MYSQL, "SELECT 5--1; SELECT 5-- 1;\n;", &["SELECT 5--1", "SELECT 5-- 1;"]),
        (Syntax::POSTGRESQL, "SELECT 5--1; SELECT 5\n;", &["SELECT 5--1; SELECT 5"]),
        (Syntax::MYSQL, "/* a /* b */ SELECT 2; -- */ SELECT 1;", &["/* a /* b */ SELECT 2"]),
        (
            Syntax::POSTGRESQL,
            "/* a /* b */ SELECT 2; -- */ SELECT 1;",
            &["/* a /* b */ SELECT 2; -- */ SELECT 1"],
        ),
        (Syntax::POSTGRESQL, r"SELECT 'C:\'; SELECT ';'", &[r"SELECT 'C:\'", "SELECT ';'"]),
        (Syntax::MYSQL, r"SELECT 'it\'s;'; SELECT `\`", &[r"SELECT 'it\'s;'", r"SELECT `\`"]),
        // As with NO_BACKSLASH_ESCAPES.
        (Syntax::MYSQL, r"SELECT 'C:\'; SELECT 2", &[r"SELECT 'C:\'", "SELECT 2"]),
    ] {
        assert_eq!(statements(sql, syntax), expected, "{sql}");
    }
}

#[test]
fn a_body_is_one_statement() {
    for body in [
        "BEGIN NOT ATOMIC SELECT 1; IF a THEN SELECT 2; END IF; BEGIN SELECT CASE WHEN 1 THEN 2 END; END; END",
        "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT CASE WHEN a THEN 1 END; END",
        "create or replace procedure p() begin while a do set a = if(a, 0, 1); end while; case a when 1 then b; end case; end",
        "CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b; INSERT INTO b VALUES ('end'); END",
        "CREATE RULE r AS ON INSERT TO a DO (DELETE FROM b; DELETE FROM c)",
    ] {
        let text = format!("-- why\n{body}; SELECT 3;");
        assert_eq!(statements(&text, Syntax::ANY), [&format!("-- why\n{body}"), "SELECT 3"]);
    }
    for text in ["BEGIN; SELECT case_end FROM t; END; SELECT 2", "CREATE TABLE begin (a int); a; b; c"] {
        assert_eq!(statements(text, Syntax::ANY).len(), 4, "{text}");
    }
    let trigger = "CREATE TRIGGER t AFTER INSERT ON a EXECUTE FUNCTION f(); SELECT 1";
    assert_eq!(statements(trigger, Syntax::POSTGRESQL).len(), 2);
}

#[test]
fn comments_before_a_statement_are_no_part_of_what_it_says() {
    for (text, expected) in [
        ("\n-- who\n/* and why */ SELECT 1 -- one", "SELECT 1 -- one"),
        ("/* x */ /*+ SeqScan(a) */ SELECT 1", "/*+ SeqScan(a) */ SELECT 1"),
        (" 'a'", "'a'"),
        ("-- nothing", ""),
    ] {
        assert_eq!(behind_comments(text, Syntax::ANY), expected);
    }
}

proptest! {
    /// Nothing is lost, and nothing but what is between statements; and nothing panics.
    #[test]
    fn any_text_is_taken_apart(sql in r"([a-z;'\x60$#\\/* \n-]|é|--|/\*|\*/|\$\$|begin |end |\(){0,30}", at in 0..5_usize) {
        let syntax = [NONE, ALL, Syntax::ANY, Syntax::POSTGRESQL, Syntax::MYSQL][at];
        let whole: String = pieces(&sql, syntax).into_iter().map(|(_, text)| text).collect();
        prop_assert_eq!(&whole, &sql);
        let mut rest = sql.as_str();
        for one in statements(&sql, syntax) {
            rest = rest.split_once(one).unwrap().1;
        }
        let _ = behind_comments(&sql, syntax);
    }
}
