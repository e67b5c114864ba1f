//! What a script's SQL commands are sent as in the extended protocol, put together once: a transaction adds the values of its
//! variables.

use dyno_engine::request::Execution;

use super::load::WeightedScript;
use crate::script::{Kind, Protocol};

/// An SQL command as a message.
#[derive(Debug)]
pub(super) struct Message {
    /// What its statement is prepared under; empty where it is parsed each time.
    pub(super) name: Box<str>,
    /// Its number among the SQL commands of all scripts.
    pub(super) number: usize,
    pub(super) execution: Execution,
}

/// Those of all scripts, by script and command; of no length in the simple protocol.
#[derive(Debug, Default)]
pub(super) struct Messages {
    scripts: Vec<Vec<Option<Message>>>,
    /// How many statements a connection prepares.
    pub(super) prepared: usize,
}

impl Messages {
    /// The SQL commands of all scripts are numbered in one row, and prepared as `P_0`, `P_1`, ….
    pub(super) fn new(scripts: &[WeightedScript], mode: Protocol) -> Self {
        if mode == Protocol::Simple {
            return Self::default();
        }
        let mut count = 0;
        let mut message = |kind: &Kind| {
            let Kind::Sql(sql) = kind else { return None };
            let number = count;
            count += 1;
            let (name, parsed) = match mode {
                Protocol::Prepared => (format!("P_{number}"), None),
                _ => (String::new(), Some(&*sql.text)),
            };
            let execution = Execution::new(&name, parsed, sql.gset.is_some());
            Some(Message { name: name.into(), number, execution })
        };
        let scripts = scripts
            .iter()
            .map(|script| script.script.commands.iter().map(|command| message(&command.kind)).collect());
        let scripts = scripts.collect();
        Self { scripts, prepared: if mode == Protocol::Prepared { count } else { 0 } }
    }

    #[inline]
    pub(super) fn of(&self, script: usize, command: usize) -> Option<&Message> {
        self.scripts.get(script)?.get(command)?.as_ref()
    }
}
