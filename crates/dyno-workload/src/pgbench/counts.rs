//! What a workload counts within its transactions, by the variables as they are at the end of the script.

use super::client::{Aborted, ScriptClient};
use crate::script::Context;

impl ScriptClient {
    /// The script has ended, and is not rolled back.
    pub(super) fn note_counts(&mut self) -> Result<(), Aborted> {
        let Self { shared, variables, random, counted, script, .. } = self;
        let Some(script) = shared.scripts.get(*script).filter(|script| !script.counts.is_empty()) else {
            return Ok(());
        };
        counted.clear();
        let mut context = Context { variables, names: &shared.names, random, debug: &mut |_| () };
        let failed = script.counts.iter().find_map(|program| match program.integer(&mut context) {
            Ok(count @ 0..) => {
                counted.push(count.cast_unsigned());
                None
            }
            Ok(_) => Some("fewer than none".to_owned()),
            Err(error) => Some(error.to_string()),
        });
        let Some(why) = failed else { return Ok(()) };
        self.counted.clear();
        Err(self.abort(&format!("what the transaction counts: {why}")))
    }
}
