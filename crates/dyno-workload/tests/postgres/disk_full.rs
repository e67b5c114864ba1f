//! A disk that fills up in the middle of COPY: a small tmpfs in a mount namespace of the server's own, so that it
//! is gone when the server is.

use std::fs;
use std::path::Path;
use std::process::Command;

use dyno_test_servers::{Setup, User};
use dyno_workload::dataset::PrepareError;

use crate::server::Database;
use crate::{find, prepared, refusal};

/// Name of the directory on which the small disk is mounted.
const SMALL: &str = "small";

/// `postgres` with a disk of 32 MB.
fn with_small_disk(postgres: &Path, user: User, directory: &Path) -> Command {
    let (uid, gid) = user.unwrap();
    let disk = directory.join(SMALL);
    fs::create_dir(&disk).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=32m,mode=700,uid={uid},gid={gid} tmpfs '{}' && cd / && \
         exec setpriv --reuid={uid} --regid={gid} --clear-groups '{}' \"$@\"",
        disk.display(),
        postgres.display()
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script, "sh"]);
    command
}

#[test]
fn a_full_disk_is_said_and_leaves_a_usable_session() {
    let mounts = Command::new("unshare").args(["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).output();
    if !mounts.is_ok_and(|run| run.status.success()) {
        println!("skipped: mounting a small disk needs root and a mount namespace");
        return;
    }
    let setup = Setup { starter: Some(with_small_disk), ..Setup::default() };
    let Some(server) = Database::on_own_server(&setup) else { return };
    let mut connection = server.open();
    connection.execute(&format!("create tablespace small location '{}'", server.path(SMALL))).unwrap();
    let database = server.create("ours".to_owned());
    connection.execute("alter database ours set default_tablespace = small").unwrap();
    let mut connection = database.open();
    let refused = refusal(prepared(&database, &mut connection, 10).unwrap_err());
    assert!(matches!(refused, PrepareError::DiskFull { step: "data", .. }), "{refused}");
    let text = refused.to_string();
    assert!(text.contains("SQLSTATE 53100") && text.contains("make room"), "{text}");
    assert_eq!(find(&mut connection, None).unwrap(), None, "it is made anew like what is not there");
    prepared(&database, &mut connection, 1).unwrap();
    assert_eq!(find(&mut connection, None).unwrap(), Some(1.0));
}
