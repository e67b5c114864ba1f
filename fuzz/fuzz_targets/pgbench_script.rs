//! Any bytes as a script of `dyno pgbench`: refused with a message or accepted, in every mode, and its expressions
//! evaluated. The interpreter must end without a panic and its jumps must lead forward.

#![no_main]

use dyno_workload::script::random::Prng;
use dyno_workload::script::{Context, Kind, Names, Protocol, Variables, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    for mode in [Protocol::Simple, Protocol::Extended] {
        let mut names = Names::new();
        let script = match parse("fuzz", text, mode, &mut names) {
            Ok(script) => script,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                continue;
            }
        };
        let mut variables = Variables::new(&names);
        let mut random = Prng::seed(1);
        let mut debug = |_| {};
        for (index, command) in script.commands.iter().enumerate() {
            let mut context =
                Context { variables: &mut variables, names: &names, random: &mut random, debug: &mut debug };
            match &command.kind {
                Kind::Set { slot, expression } => {
                    if let Ok(value) = expression.evaluate(&mut context) {
                        variables.set(*slot, value);
                    }
                }
                Kind::If { condition, otherwise } | Kind::Elif { condition, otherwise, .. } => {
                    let _ = condition.evaluate(&mut context);
                    assert!(*otherwise > index && *otherwise < script.commands.len());
                }
                Kind::Sql(sql) => sql.write_simple(&variables, &names, &mut Vec::new()),
                _ => {}
            }
        }
    }
});
