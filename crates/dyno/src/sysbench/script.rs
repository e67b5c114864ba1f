//! Scripts of users, and those that come with dyno.

use super::test::ScriptSource;
use super::{Context, Refused};

pub(super) fn perform(
    context: &Context,
    source: &ScriptSource,
    _command: Option<&str>,
) -> Result<u8, Refused> {
    Err(context.refuse(&format!("{}: this build of dyno runs no scripts", source.path().display())))
}
