//! No text makes anything but an error of a script.

use dyno_workload::sysbench::lua::{LuaScript, OptionValue, ScriptSettings};
use proptest::prelude::*;

use crate::run::{invocation, nowhere};

/// Pieces of scripts, so that what is put together often comes close to being one.
fn piece() -> impl Strategy<Value = String> {
    let words = [
        "function event()",
        "end",
        "return",
        "local x =",
        "sysbench.",
        "opt",
        "cmdline.options = {",
        "}",
        "nil",
        "error(",
        ")",
        "'text'",
        "[[",
        "]]",
        "--",
        "\n",
        "1e309",
        "0x",
        "...",
        "#",
        "goto",
        "::a::",
        "{1, nil, 3}",
        "sysbench.cmdline.commands =",
        "prepare",
        "setmetatable(_G, nil)",
        "_G = nil",
        "table.remove(",
        "pcall(",
        "coroutine.wrap(",
        "string.rep('(', 9999)",
        "sysbench = nil",
        "require 'ffi'",
        "\\",
        "\0",
        "sysbench.hooks = 1",
    ];
    prop_oneof![4 => prop::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_text_is_read_or_refused(pieces in prop::collection::vec(piece(), 0..12)) {
        let text = pieces.join(" ");
        if let Ok(mut script) = LuaScript::from_text("any.lua", text.into_bytes(), &invocation("run")) {
            let options = script.options_declared().iter().map(|option| (option.key(), option.value_unset())).collect();
            if script.configure(ScriptSettings { options, ..ScriptSettings::default() }).is_ok() {
                let _ = script.run_command("prepare", 2, &nowhere);
                let _ = (script.has_function("event"), script.has_command("prepare"));
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = LuaScript::from_text("any.lua", bytes, &invocation("run"));
    }

    #[test]
    fn any_option_value_reaches_the_script(text in "[^\0]{0,20}", number in -1_000_000_000_i64..1_000_000_000) {
        let script = "function prepare() error(sysbench.opt.text .. '|' .. sysbench.opt.number, 0) end";
        let mut script = LuaScript::from_text("any.lua", script.as_bytes().to_vec(), &invocation("run")).unwrap();
        let options =
            vec![("text".to_owned(), OptionValue::Text(text.clone())), ("number".to_owned(), OptionValue::Integer(number))];
        script.configure(ScriptSettings { options, ..ScriptSettings::default() }).unwrap();
        let error = script.run_command("prepare", 1, &nowhere).unwrap_err();
        prop_assert_eq!(error.message, format!("{text}|{number}"));
    }

    #[test]
    fn any_bounds_may_be_drawn_between(low in any::<f64>(), high in any::<f64>(), template in "[#@\\PC]{0,30}") {
        let script = r##"
            function prepare()
               local opt = sysbench.opt
               for _, name in ipairs { "default", "uniform", "gaussian", "special", "pareto", "zipfian" } do
                  assert(type(sysbench.rand[name](opt.low, opt.high)) == "number")
               end
               assert(#sysbench.rand.string(opt.template) == #opt.template)
            end"##;
        let mut script = LuaScript::from_text("any.lua", script.as_bytes().to_vec(), &invocation("run")).unwrap();
        let bounds = [("low", low), ("high", high)].map(|(name, bound)| (name.to_owned(), OptionValue::Double(bound)));
        let mut options = bounds.to_vec();
        options.push(("template".to_owned(), OptionValue::Text(template)));
        script.configure(ScriptSettings { options, ..ScriptSettings::default() }).unwrap();
        prop_assert_eq!(script.run_command("prepare", 1, &nowhere), Ok(true));
    }
}
