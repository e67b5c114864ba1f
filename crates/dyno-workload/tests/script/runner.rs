//! Runs a script's `\set`s and conditions as one of pgbench's clients would, and prints what it would print.

use dyno_workload::script::random::Prng;
use dyno_workload::script::{Context, EvaluateError, Kind, Names, Script, Value, Variables};

/// The settings of a client.
pub(crate) struct Client<'a> {
    pub(crate) names: &'a Names,
    pub(crate) variables: Variables,
    pub(crate) random: Prng,
}

impl<'a> Client<'a> {
    /// A client with these variables besides those that are always there.
    pub(crate) fn new(
        names: &'a Names,
        random: Prng,
        built_in: &[(&str, i64)],
        defined: &[(&str, &str)],
    ) -> Self {
        let mut variables = Variables::new(names);
        for (name, value) in built_in {
            if let Some(slot) = names.find(name) {
                variables.set(slot, Value::Integer(*value));
            }
        }
        for (name, text) in defined {
            if let Some(slot) = names.find(name) {
                variables.set_spelling(slot, *text);
            }
        }
        Self { names, variables, random }
    }

    /// Runs the script to its end or its first error; appends the lines that `debug` prints.
    pub(crate) fn run(&mut self, script: &Script, out: &mut Vec<String>) -> Result<(), EvaluateError> {
        let mut next = 0;
        // Whether an \elif or \else comes after a branch that was taken.
        let mut jumped = false;
        while let Some(command) = script.commands.get(next) {
            let number = next + 1;
            let came_by_jump = std::mem::take(&mut jumped);
            let mut debug = |value: Value| {
                let mut text = Vec::new();
                value.write_debug(&mut text);
                let text = String::from_utf8(text).unwrap();
                out.push(format!("debug(script=0,command={number}): {text}"));
            };
            let mut context = Context {
                variables: &mut self.variables,
                names: self.names,
                random: &mut self.random,
                debug: &mut debug,
            };
            next = match &command.kind {
                Kind::Set { slot, expression } => {
                    let value = expression.evaluate(&mut context)?;
                    self.variables.set(*slot, value);
                    number
                }
                Kind::Elif { end, .. } if !came_by_jump => *end,
                Kind::If { condition, otherwise } | Kind::Elif { condition, otherwise, .. } => {
                    jumped = !condition.evaluate(&mut context)?.holds();
                    if jumped { *otherwise } else { number }
                }
                Kind::Else { end } => *end,
                _ => number,
            };
        }
        Ok(())
    }
}
