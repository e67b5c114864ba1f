//! An authority for one test, and the certificate that it gives to the test's server.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::attempt;
use crate::user::give_to_server;

pub(crate) const AUTHORITY: &str = "ca.crt";
pub(crate) const CERTIFICATE: &str = "server.crt";
pub(crate) const KEY: &str = "server.key";

const NEW_KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";

/// Makes them in `directory`, valid for two days.
pub(crate) fn make(directory: &Path) -> Result<(), String> {
    let openssl = |arguments: &str| {
        attempt(Command::new("openssl").args(arguments.split(' ')).current_dir(directory).env("LC_ALL", "C"))
    };
    openssl(&format!("req -x509 {NEW_KEY} -days 2 -subj /CN=authority -keyout ca.key -out {AUTHORITY}"))?;
    openssl(&format!("req -new {NEW_KEY} -subj /CN=server -keyout {KEY} -out server.csr"))?;
    fs::write(directory.join("extensions"), "subjectAltName=DNS:localhost,IP:127.0.0.1").unwrap();
    openssl(&format!(
        "x509 -req -days 2 -in server.csr -CA {AUTHORITY} -CAkey ca.key -CAcreateserial -extfile extensions -out {CERTIFICATE}"
    ))?;
    for name in [CERTIFICATE, KEY] {
        give_to_server(&directory.join(name));
    }
    Ok(())
}
