//! What `--debug` tells of a client's doings.

use super::client::ScriptClient;
use super::load::PgbenchShared;
use crate::script::{Command, Kind, Sql, Value};

impl ScriptClient {
    /// `jumped`: the command was come to by a jump.
    #[cold]
    pub(super) fn tell_executing(&self, command: &Command, jumped: bool) {
        let what = match &command.kind {
            Kind::Sql(_) => return,
            Kind::Endif if jumped => return,
            // Expressions are left out.
            Kind::Set { slot, .. } => format!("\\set {}", self.shared.names.name(*slot)),
            Kind::If { .. } => "\\if".to_owned(),
            Kind::Elif { .. } => "\\elif".to_owned(),
            _ => command.first_line.clone(),
        };
        self.tell_doing(&format!("executing {what}"));
    }

    #[cold]
    pub(super) fn tell_sending(&self, sql: &Sql) {
        let message = self.shared.messages.of(self.script, self.command);
        if let Some(message) = message.filter(|message| !message.name.is_empty()) {
            return self.tell_doing(&format!("sending {}", message.name));
        }
        let text = self.shown(sql);
        self.tell_doing(&format!("sending {text}"));
    }

    pub(super) fn tell_doing(&self, what: &str) {
        self.shared.console.info(&format!("client {} {what}", self.identity.id));
    }
}

/// What the function `debug` is given.
#[cold]
pub(super) fn tell_value(shared: &PgbenchShared, script: usize, command: usize, value: Value) {
    let mut text = Vec::new();
    value.write_debug(&mut text);
    let text = String::from_utf8_lossy(&text);
    shared.console.raw(&format!("debug(script={script},command={}): {text}\n", command + 1));
}
