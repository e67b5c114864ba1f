"""A MySQL or MariaDB of the bench's own, the same that the tests use, on 127.0.0.1 and a port of its own.

It keeps its data in memory and on disk as a database would, but does not wait for the disk (`innodb_flush_method=nosync`):
what is measured is the load generators, and the disk is the same for both. It ends when the `with` block does.
"""

import os
import subprocess
import urllib.parse
from contextlib import contextmanager

import bench

SETTINGS = ["max_connections=1200", "innodb_buffer_pool_size=4G", "max_prepared_stmt_count=1000000",
            "local_infile=ON", "performance_schema=OFF"]
# Of redo, so that a large load does not wait for checkpoints.
REDO = {"mysql": ["innodb_redo_log_capacity=4G"], "mariadb": ["innodb_log_file_size=2G"]}


class MySql:
    """A running server with user `root` and database `test`."""

    def __init__(self, product, port, password):
        self.product, self.port, self.password = product, port, password
        secret = f":{urllib.parse.quote(password, safe='')}" if password else ""
        self.url = f"mysql://root{secret}@127.0.0.1:{port}/test"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("MYSQL")}

    def sysbench_options(self):
        options = ["--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={self.port}", "--mysql-user=root",
                   "--mysql-db=test"]
        return [*options, f"--mysql-password={self.password}"] if self.password else options

    def name(self):
        return {"mysql": "MySQL 9", "mariadb": "MariaDB 10.11"}[self.product]


@contextmanager
def server(product, *settings):
    """Starts a server for the length of a `with` block, with these settings beside and above the usual ones."""
    bench.say(f"starting {product} …")
    command = ["cargo", "run", "--release", "--quiet", "--target-dir", bench.target_directory(), "-p",
               "dyno-test-servers", "--example", "serve", "--", product, *SETTINGS, *REDO[product], *settings]
    process = subprocess.Popen([str(word) for word in command], cwd=bench.ROOT, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, start_new_session=True,
                               env={**os.environ, "TMPDIR": str(bench.DATA_ROOT)})
    try:
        said = [process.stdout.readline().strip() for _ in range(3)]
        if not said[0]:
            raise bench.BenchError(f"{product} did not start")
        yield MySql(product, int(said[0]), said[1])
    finally:
        process.stdin.close()
        process.wait()
