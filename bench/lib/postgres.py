"""A PostgreSQL of the bench's own: durable, sized to the machine, on 127.0.0.1 and a port of its own.

It is stopped by process id and its data removed when the `with` block ends, however it ends.
"""

import os
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import bench

# Production-like: durable as by default, memory sized to the machine, checkpoints spread out so that they do not
# fall into some measurements only.
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "600",
    "work_mem": "8MB",
    "maintenance_work_mem": "1GB",
    "max_wal_size": "16GB",
    "min_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    "checkpoint_completion_target": "0.9",
    "wal_buffers": "64MB",
    "random_page_cost": "1.1",
    "effective_io_concurrency": "200",
    "logging_collector": "off",
}


def binaries():
    """The newest complete installation under /usr/lib/postgresql, else what is in PATH."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/pgbench")
             if (path.parent / "initdb").exists()]
    if found:
        return max(found, key=lambda path: int(path.parent.name))
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if (Path(folder) / "initdb").exists() and (Path(folder) / "pgbench").exists():
            return Path(folder)
    raise bench.BenchError("no PostgreSQL with pgbench is installed (Debian: apt-get install postgresql)")


def version(program):
    """`PostgreSQL 15.18` or `pgbench 15.18`: the program's own words, shortened."""
    words = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()
    return " ".join(word for word in words[:3] if word != "(PostgreSQL)").replace("postgres", "PostgreSQL")


class Postgres:
    """A running server with superuser and database `postgres`."""

    def __init__(self, home, programs, port, settings):
        self.settings = settings
        self.home, self.programs, self.port = home, programs, port
        self.process = None
        self.url = f"postgres://postgres@127.0.0.1:{port}/postgres"
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PG")},
            "LC_ALL": "C", "PGHOST": "127.0.0.1", "PGPORT": str(port), "PGUSER": "postgres", "PGDATABASE": "postgres",
        }

    def sysbench_options(self):
        return ["--db-driver=pgsql", "--pgsql-host=127.0.0.1", f"--pgsql-port={self.port}", "--pgsql-user=postgres",
                "--pgsql-db=postgres"]

    def name(self):
        return version(self.programs / "postgres")

    def versions(self):
        return [version(self.programs / "postgres"), version(self.programs / "pgbench")]

    def psql(self, sql):
        """Runs SQL, each statement on its own unless it opens a transaction; gives what it printed, unaligned."""
        command = [self.programs / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-"]
        done = subprocess.run(command, input=sql, capture_output=True, text=True, env=self.environment)
        if done.returncode != 0:
            raise bench.BenchError(f"the server refused: {done.stderr.strip()}")
        return done.stdout.strip()

    def prepare(self, scale):
        """Makes pgbench's tables and has them in the server's cache."""
        bench.say(f"pgbench -i -s {scale} …")
        command = [self.programs / "pgbench", "-i", "-q", "-s", str(scale)]
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment)
        if done.returncode != 0:
            raise bench.BenchError(f"pgbench -i failed: {done.stderr.strip()}")
        self.psql("checkpoint; create extension if not exists pg_prewarm;")
        self.psql("select pg_prewarm(oid) from pg_class where relname like 'pgbench_%' and relkind in ('r', 'i')")

    def settle(self):
        """Takes back what a run that writes has left, so that the next one finds the same."""
        self.psql("truncate pgbench_history; vacuum pgbench_branches; vacuum pgbench_tellers; checkpoint;")

    def start(self):
        data = self.home / "data"
        initdb = [self.programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8",
                  "--locale=C", "--no-sync"]
        done = subprocess.run(initdb, capture_output=True, text=True, cwd=self.home, **bench.as_service_user())
        if done.returncode != 0:
            raise bench.BenchError(f"initdb failed: {done.stderr.strip()}")
        memory_mib = int(open("/proc/meminfo").readline().split()[1]) // 1024
        settings = {**SETTINGS, **self.settings, "port": str(self.port), "shared_buffers": f"{memory_mib // 4}MB",
                    "effective_cache_size": f"{memory_mib * 3 // 4}MB"}
        arguments = [f"--{name}={value}" for name, value in settings.items()]
        log = open(self.home / "log", "w")
        # A session of its own: Ctrl-C in the terminal reaches the bench, which then stops the server in order.
        self.process = subprocess.Popen(
            [self.programs / "postgres", "-D", data, *arguments], stdout=log, stderr=log, cwd=self.home,
            start_new_session=True, **bench.as_service_user())
        self._wait_until_ready()

    def _wait_until_ready(self):
        ready = [self.programs / "pg_isready", "-q"]
        for _ in range(600):
            if self.process.poll() is not None:
                break
            if subprocess.run(ready, env=self.environment).returncode == 0:
                return
            time.sleep(0.05)
        raise bench.BenchError(f"postgres did not start: {(self.home / 'log').read_text()[-2000:]}")

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        # Nothing of it is kept: the fastest end that still takes all of the server's processes along.
        self.process.send_signal(signal.SIGQUIT)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def server(**settings):
    """Starts a server for the length of a `with` block, with these settings beside the usual ones."""
    with bench.directory("postgres") as home:
        running = Postgres(home, binaries(), free_port(), settings)
        try:
            running.start()
            yield running
        finally:
            running.stop()
