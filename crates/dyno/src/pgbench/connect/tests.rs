//! The same options and the same environment for pgbench and for us, against one server.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use dyno_test_servers::{Postgres, Recorded};

use super::*;
use crate::pgbench::options::tests::recorded;
use crate::pgbench::options::{Parsed, parse};

#[path = "../../../tests/pgbench_options/passwords.rs"]
mod passwords;

/// What a session is, as SQL.
const WHO: &str = "concat_ws('|', current_database(), current_user, current_setting('application_name'), \
                   current_setting('work_mem'), current_setting('DateStyle'), inet_server_port())";

/// Arguments and environment.
type Typed = (&'static [&'static str], &'static [(&'static str, &'static str)]);

struct Bench {
    server: Arc<Postgres>,
    home: tempfile::TempDir,
}

impl Bench {
    fn start() -> Option<Self> {
        static WITH_BANK: OnceLock<()> = OnceLock::new();
        let server = Postgres::shared(&passwords::setup())?;
        WITH_BANK.get_or_init(|| {
            for sql in [
                "DROP DATABASE IF EXISTS bank",
                "CREATE DATABASE bank",
                "ALTER DATABASE bank SET work_mem = '3MB'",
            ] {
                server.psql(sql);
            }
        });
        let home = tempfile::tempdir().unwrap();
        let port = server.address.port();
        let services = format!("[here]\nhost=127.0.0.1\nport={port}\nuser=postgres\ndbname=bank\n");
        fs::write(home.path().join("services"), services).unwrap();
        fs::write(home.path().join("passwords"), "*:*:*:secret:right\n").unwrap();
        fs::set_permissions(home.path().join("passwords"), fs::Permissions::from_mode(0o600)).unwrap();
        Some(Self { server, home })
    }

    /// `PORT`, `SOCKET` and `HOME` in a text stand for this server's.
    fn fill_in(&self, text: &str) -> String {
        text.replace("PORT", &self.server.address.port().to_string())
            .replace("SOCKET", &self.server.directory().display().to_string())
            .replace("HOME", &self.home.path().display().to_string())
    }

    fn case(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Case {
        let named = [("PGHOST", "127.0.0.1"), ("PGPORT", "PORT"), ("PGUSER", "postgres")];
        let mut environment: Vec<(String, String)> = Vec::new();
        for (name, value) in named.iter().chain(variables) {
            environment.retain(|(known, _)| known != name);
            if *value != "unset" {
                environment.push(((*name).to_owned(), self.fill_in(value)));
            }
        }
        Case { arguments: arguments.iter().map(|it| self.fill_in(it)).collect(), environment }
    }

    /// The opposite of filling in.
    fn take_out(&self, text: &str) -> String {
        let text = text.replace(&self.server.directory().display().to_string(), "SOCKET");
        let text = text.replace(&self.home.path().display().to_string(), "HOME");
        recorded::without_reason(&text.replace(&self.server.address.port().to_string(), "PORT"))
    }

    /// What pgbench was recorded to print for these arguments and variables: who it is, as the error of its only command,
    /// or why it could not connect; `None` where it must be run and is not there.
    fn theirs(&self, file: &Recorded, (arguments, variables): &Typed) -> Option<String> {
        let set: String = variables.iter().map(|(name, value)| format!("{name}={value:?} ")).collect();
        let run = |program: &Path| {
            let said = self.said(program, &self.case(arguments, variables));
            (!said.contains("SSL support is not compiled in")).then(|| self.take_out(&said))
        };
        recorded::get(file, &format!("{set}{arguments:?}"), 15, run)
    }

    fn said(&self, program: &Path, case: &Case) -> String {
        let script = self.home.path().join("who.sql");
        fs::write(&script, format!("SELECT ({WHO})::int;\n")).unwrap();
        let mut command = Command::new(program);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C.UTF-8").env("HOME", "/nonexistent");
        command.envs(case.environment.iter().cloned()).stdin(Stdio::null());
        let output = command.args(["-n", "-t1", "-f"]).arg(script).args(&case.arguments).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        let who = text.split_once("integer: \"").and_then(|(_, rest)| rest.split_once('"'));
        who.map_or_else(|| text.clone(), |(who, _)| who.to_owned())
    }
}

struct Case {
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Case {
    fn ours(&self, ask: &mut dyn FnMut() -> Option<Password>) -> Result<String, ConnectFailure> {
        let arguments = self.arguments.iter().map(Into::into).collect();
        let Ok(Parsed::Run(options)) = parse(arguments, &|_| None, &mut |_| ()) else { panic!() };
        let system_user = Environment::of_process();
        let mut environment = Environment::empty().with_user(system_user.user().unwrap());
        environment = environment.with_socket_directories(&["/var/run/postgresql", "/tmp"]);
        for (name, value) in &self.environment {
            environment = environment.with_variable(name, value);
        }
        let (mut connection, _) = open_asking(target(&options.connection, &environment)?, ask)?;
        Ok(connection.query_value(&format!("SELECT {WHO}")).unwrap().unwrap())
    }
}

#[test]
fn sessions_are_those_that_pgbench_opens() {
    let Some(bench) = Bench::start() else { return };
    let cases: &[Typed] = &[
        (&[], &[]),
        (&["bank"], &[]),
        (&["-d", "bank"], &[("PGDATABASE", "postgres")]),
        (&[], &[("PGDATABASE", "bank")]),
        (&[], &[("PGDATABASE", "dbname=bank application_name=x")]),
        (&["-d", ""], &[("PGDATABASE", "bank")]),
        (&["-h", "SOCKET"], &[]),
        (&["postgres"], &[("PGHOST", "SOCKET"), ("PGUSER", "secret"), ("PGPASSWORD", "right")]),
        (&["-h127.0.0.1", "-pPORT", "-Upostgres"], &[("PGHOST", "nope.invalid"), ("PGPORT", "1")]),
        (&["-p", "1", "host=127.0.0.1 port=PORT dbname=bank"], &[]),
        (&["postgresql://secret:right@127.0.0.1:PORT/bank?application_name=y"], &[("PGPORT", "1")]),
        (&["-Usecret", "bank"], &[("PGPASSWORD", "right")]),
        (&["-Usecret", "bank"], &[("PGPASSFILE", "HOME/passwords")]),
        (&["bank"], &[("PGOPTIONS", "-c work_mem=5MB -cDateStyle=German")]),
        (&["bank"], &[("PGAPPNAME", "mine"), ("PGDATESTYLE", "SQL")]),
        (&["dbname=bank fallback_application_name=x options='-c work_mem=6MB'"], &[]),
        (&["bank"], &[("PGSERVICE", "here"), ("PGSERVICEFILE", "HOME/services"), ("PGPORT", "1")]),
        (&["service=here"], &[("PGSERVICEFILE", "HOME/services"), ("PGUSER", "unset")]),
        // pgbench names a database itself, which is more than a service's.
        (&[], &[("PGSERVICE", "here"), ("PGSERVICEFILE", "HOME/services")]),
        (&["bank"], &[("PGSSLMODE", "disable")]),
        (&["-h", "127.0.0.1,nope.invalid", "-p", "1,2", "hostaddr=127.0.0.1,127.0.0.1 port=1,PORT"], &[]),
        (&["-h", "/nonexistent,127.0.0.1", "bank"], &[]),
    ];
    let file = recorded::open("sessions");
    for typed in cases {
        let ours = bench.take_out(&bench.case(typed.0, typed.1).ours(&mut || None).unwrap());
        assert!(ours.contains('|'), "{typed:?}: {ours}");
        if let Some(theirs) = bench.theirs(&file, typed) {
            assert_eq!(ours, theirs, "{typed:?}");
        }
    }
}

#[test]
fn failures_begin_as_pgbench_prints_them() {
    let Some(bench) = Bench::start() else { return };
    let cases: &[Typed] = &[
        (&["-p", "1"], &[]),
        (&["-h", "localhost", "-p", "1", "hostaddr=127.0.0.1"], &[]),
        (&["-h", "SOCKET", "-p", "1"], &[]),
        (&["-h", "/nonexistent"], &[]),
        (&["-h", "127.0.0.1,/nonexistent", "-p1"], &[]),
        (&["-h", "nope.invalid"], &[]),
        (&["-p", "x"], &[]),
        (&["-p", "0"], &[]),
        (&["-p", "70000"], &[]),
        (&["-h", "a,b,c", "-p", "1,2"], &[]),
        (&["foo=1"], &[]),
        (&["service=nope"], &[("PGSERVICEFILE", "HOME/services")]),
        (&["nope"], &[]),
        (&["-U", "nobody"], &[]),
        (&["-U", "locked", "bank"], &[]),
        (&["-U", "nowhere", "bank"], &[]),
        (&["-U", "secret", "bank"], &[("PGPASSWORD", "wrong")]),
        (&["bank"], &[("PGOPTIONS", "-c work_mem=x")]),
        (&["bank"], &[("PGSSLMODE", "require")]),
        (&["-h", "127.0.0.1,nope.invalid", "nope"], &[]),
    ];
    let file = recorded::open("failures");
    for typed in cases {
        let ours = bench.case(typed.0, typed.1).ours(&mut || None).unwrap_err();
        let ours = bench.take_out(not_connected(ours, "setup").stderr());
        if let Some(theirs) = bench.theirs(&file, typed) {
            recorded::assert_same_failure(&ours, &theirs, &format!("{typed:?}"));
        }
    }
}

#[test]
fn a_password_is_asked_for_once_and_only_if_it_is_needed() {
    let Some(bench) = Bench::start() else { return };
    let asked_for = |arguments: &[&str], answer: Option<&str>| {
        let mut asked = 0;
        let result = bench.case(arguments, &[]).ours(&mut || {
            asked += 1;
            answer.map(|answer| Password::new(answer.to_owned()))
        });
        (asked, result.map_err(|failure| failure.to_string()))
    };
    assert!(
        matches!(asked_for(&["-U", "secret", "bank"], Some("right")), (1, Ok(who)) if who.starts_with("bank|secret|"))
    );
    assert!(matches!(asked_for(&["bank"], Some("right")), (0, Ok(_))));
    let (asked, result) = asked_for(&["-U", "secret", "bank"], Some("wrong"));
    assert_eq!(asked, 1);
    assert!(result.unwrap_err().ends_with("FATAL:  password authentication failed for user \"secret\""));
    let (asked, result) = asked_for(&["-U", "secret", "bank"], None);
    assert_eq!(asked, 1);
    assert!(result.unwrap_err().ends_with(" failed: fe_sendauth: no password supplied"));
}
