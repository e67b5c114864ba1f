//! Spark's Thrift server, from a package of Python that holds Spark's own jars; what runs is Java. A real server of Hive is in no
//! package.

use std::fs::File;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::cache::keep;
use crate::patience::Patience;
use crate::port::Port;
use crate::python::unpack_source;
use crate::user::{become_user, give_to_server, unprivileged_user};

const PACKAGE: &str = "pyspark==4.0.1";
const KEPT: &str = "spark-4.0.1";
const JAVA: &str = "/usr/bin/java";
/// What Spark 4 wants of Java 17 and later, as its own scripts say.
const OPENED: [&str; 14] = [
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
];

/// A running Thrift server of Spark with a warehouse of its own, ended when dropped.
#[derive(Debug)]
pub struct Spark {
    process: Child,
    directory: TempDir,
    _port: Port,
    /// On 127.0.0.1.
    pub address: SocketAddr,
    logs_in: bool,
}

impl Spark {
    /// Starts one; `None`, and a line that says so, where it cannot be had. `logs_in`: by SASL PLAIN with any password, else
    /// without SASL.
    #[must_use]
    pub fn start(logs_in: bool) -> Option<Self> {
        let jars = match jars() {
            Ok(jars) => jars,
            Err(why) => {
                println!("skipped: no Spark: {why}");
                return None;
            }
        };
        let directory = tempfile::Builder::new().prefix("dyno-test-").tempdir().unwrap();
        give_to_server(directory.path());
        let port = Port::reserve();
        let address = port.address;
        let process = server(&jars, address, logs_in, directory.path());
        let mut started = Self { process, directory, _port: port, address, logs_in };
        started.wait_until_ready();
        Some(started)
    }

    /// The target's name.
    #[must_use]
    pub fn url(&self) -> String {
        let auth = if self.logs_in { "plain" } else { "nosasl" };
        format!("hive2://tester:s%2Fcret@{}/default?auth={auth}", self.address)
    }

    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    fn wait_until_ready(&mut self) {
        let mut patience = Patience::new(Duration::from_millis(100));
        while TcpStream::connect(self.address).is_err() {
            if let Some(status) = self.process.try_wait().unwrap() {
                let log = std::fs::read_to_string(self.directory.path().join(LOG)).unwrap_or_default();
                panic!(
                    "Spark ended ({status}): {}",
                    log.get(log.len().saturating_sub(2000)..).unwrap_or(&log)
                );
            }
            assert!(patience.pause(), "Spark does not answer");
        }
    }
}

impl Drop for Spark {
    fn drop(&mut self) {
        self.kill();
    }
}

const LOG: &str = "log";

fn jars() -> Result<PathBuf, String> {
    if !Path::new(JAVA).exists() {
        return Err(format!("there is no {JAVA}"));
    }
    Ok(keep(KEPT, |into| unpack_source(PACKAGE, "deps/jars", into))?.join("tree"))
}

fn server(jars: &Path, address: SocketAddr, logs_in: bool, directory: &Path) -> Child {
    let place = directory.display();
    let log = File::create(directory.join(LOG)).unwrap();
    let mut command = Command::new(JAVA);
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", directory)
        .env("SPARK_LOCAL_IP", "127.0.0.1");
    // Its user need not have a name.
    command.env("HADOOP_USER_NAME", "dyno").args(["-Xmx1g", "-XX:-UsePerfData"]);
    // It lives for a minute: what its optimising compiler and parallel collector cost is not won back.
    command.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]);
    command.args(OPENED.map(|package| format!("--add-opens=java.base/{package}=ALL-UNNAMED")));
    command.arg(format!("-Djava.io.tmpdir={place}")).arg(format!("-Dderby.system.home={place}"));
    command.arg("-cp").arg(format!("{}/*", jars.display())).arg("org.apache.spark.deploy.SparkSubmit");
    command.args([
        "--class",
        "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2",
        "--master",
        "local[2]",
    ]);
    let metastore = format!("jdbc:derby:;databaseName={place}/metastore;create=true");
    for (name, value) in [
        ("spark.ui.enabled", "false"),
        ("spark.driver.host", "127.0.0.1"),
        ("spark.driver.bindAddress", "127.0.0.1"),
        ("spark.local.dir", &place.to_string()),
        ("spark.sql.warehouse.dir", &format!("{place}/warehouse")),
        ("spark.sql.shuffle.partitions", "2"),
        ("spark.hadoop.javax.jdo.option.ConnectionURL", &metastore),
    ] {
        command.arg("--conf").arg(format!("{name}={value}"));
    }
    command.arg("spark-internal");
    for (name, value) in [
        ("hive.server2.thrift.bind.host", "127.0.0.1"),
        ("hive.server2.thrift.port", &address.port().to_string()),
        ("hive.server2.authentication", if logs_in { "NONE" } else { "NOSASL" }),
    ] {
        command.arg("--hiveconf").arg(format!("{name}={value}"));
    }
    become_user(&mut command, unprivileged_user());
    command.current_dir(directory);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
}
