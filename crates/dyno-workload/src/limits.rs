//! Limits on the time of statements, which are meant for queries and would cut short what reads or writes whole tables.

use dyno_target::connection::Connection;

/// Takes them away from a session. A server that does not know one of them has none.
pub(crate) fn lift(connection: &mut Connection) {
    for setting in connection.dialect().unlimited_session {
        let _ = connection.execute(setting);
    }
}
