//! What is written into a new database's directory before its server starts: settings, and who may log in.

use std::io::{self, Write};
use std::path::Path;

use super::directory::{RunDirectory, SOCKET_PORT};
use super::profile::{ConfiguredSetting, WAL_COMPRESSION};
use super::user::RunAs;

/// Appends to what `initdb` wrote; a setting that stands twice counts as it stands last.
pub(super) fn write(
    directory: &RunDirectory,
    user: &RunAs,
    settings: &[ConfiguredSetting],
) -> io::Result<()> {
    let mut text = String::from("\n# Written by dyno.\n");
    for setting in settings {
        text.push_str(&format!("# {}\n{} = {}\n", setting.reason, setting.name, quoted(&setting.value)));
    }
    let socket_directory = directory.path().to_string_lossy();
    text.push_str(&format!("# Only dyno's own connections.\nlisten_addresses = ''\nport = {SOCKET_PORT}\n"));
    text.push_str(&format!("unix_socket_directories = {}\n", quoted(&socket_directory)));
    text.push_str("# dyno reads the log.\nlc_messages = 'C'\n");
    directory.data_file("postgresql.conf", user)?.write_all(text.as_bytes())?;
    // The socket lies in a directory that only the server's user and root can enter.
    let mut access = directory.data_file("pg_hba.conf", user)?;
    access.set_len(0)?;
    access.write_all(b"local all all trust\nlocal replication all trust\n")
}

/// Takes out what this build of PostgreSQL does not know: whether LZ4 is built in cannot be told by the version.
pub(super) fn drop_unsupported(
    settings: &mut Vec<ConfiguredSetting>,
    binaries: &Path,
    data: &Path,
    user: &RunAs,
) {
    settings.retain(|setting| {
        if setting.name != WAL_COMPRESSION {
            return true;
        }
        let mut ask = user.command(&binaries.join("postgres"));
        ask.arg("-D").arg(data).args([
            "-C",
            setting.name,
            "-c",
            &format!("{}={}", setting.name, setting.value),
        ]);
        ask.output().is_ok_and(|output| output.status.success())
    });
}

/// A value as the configuration file wants it.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn values_cannot_leave_their_quotes() {
        assert_eq!(quoted("15min"), "'15min'");
        assert_eq!(quoted(r"a'b\c"), r"'a''b\\c'");
    }
}
