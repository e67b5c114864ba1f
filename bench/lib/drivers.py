"""Runs the load generators and says what they reached and what they cost.

Costs are of the whole process from its start to its end, its connecting and reporting included, as the kernel
accounts for it (wait4).
"""

import argparse
import os
import re
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import bench


@dataclass
class Cost:
    """What a process took: seconds of CPU, seconds of time, and the most memory that it held."""
    user_s: float
    system_s: float
    seconds: float = 0.0
    resident_kib: int = 0

    @property
    def total_s(self):
        return self.user_s + self.system_s


@dataclass
class Load:
    """What a run of a load generator came to."""
    tps: float
    transactions: int
    statements: int
    cost: Cost

    @property
    def cpu_us(self):
        """CPU of the driver per transaction, microseconds."""
        return self.cost.total_s * 1e6 / self.transactions

    @property
    def user_us(self):
        return self.cost.user_s * 1e6 / self.transactions


class PollerRefused(bench.BenchError):
    """The system does not allow the poller that was asked for."""


POLLERS = ("epoll", "uring")


def add_pollers(options):
    """The option that says with which pollers dyno is measured."""
    options.add_argument("--pollers", type=_pollers, default=POLLERS, metavar="LIST",
                         help=f"dyno's pollers to measure, of {', '.join(POLLERS)} [default: both]")


def _pollers(text):
    wanted = tuple(text.split(","))
    if set(wanted) - set(POLLERS):
        raise argparse.ArgumentTypeError(f"there are only {' and '.join(POLLERS)}")
    return wanted


def measure(command, environment=None):
    """Runs a command to its end; gives its standard output and what it cost."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        started = time.monotonic()
        # A process group of its own, so that an interrupted bench can end all of it.
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=errors, env=environment, start_new_session=True)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            raise bench.BenchError(f"{Path(command[0]).name} ended with {process.returncode}: "
                                   f"{errors.read()[-2000:].strip()}")
        seconds = time.monotonic() - started
        return out.read(), Cost(usage.ru_utime, usage.ru_stime, seconds, usage.ru_maxrss)


def instructions(command, environment=None):
    """How many instructions of its own a command runs to its end, as valgrind (callgrind) counts them."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or found is None:
        raise bench.BenchError(f"valgrind ended with {done.returncode}: {done.stderr[-2000:].strip()}")
    return int(found[1])


def pgbench(server, script, clients, threads, seconds, under=()):
    """Runs pgbench on a builtin script with prepared statements, `under` a tracer if one is given."""
    builtin = {"select-only": "select-only", "tpcb-like": "tpcb-like"}[script]
    command = [*under, server.programs / "pgbench", "-n", "-M", "prepared", "-b", builtin, "-c", clients,
               "-j", threads, "-T", max(1, round(seconds))]
    out, cost = measure(command, server.environment)
    transactions = int(_found(r"transactions actually processed: (\d+)", out))
    tps = float(_found(r"tps = ([0-9.]+)", out))
    return Load(tps, transactions, transactions * {"select-only": 1, "tpcb-like": 7}[script], cost)


def pgbench_command(command, server, transactions_statements, under=()):
    """Runs a pgbench, be it the original or dyno's, with a command line of one's own."""
    out, cost = measure([*under, *command], server.environment)
    transactions = int(_found(r"transactions actually processed: (\d+)", out))
    tps = float(_found(r"tps = ([0-9.]+)", out))
    return Load(tps, transactions, transactions * transactions_statements, cost)


def _found(pattern, text):
    match = re.search(pattern, text)
    if match is None:
        raise bench.BenchError(f"pgbench printed no {pattern}: {text}")
    return match.group(1)


def dyno(program, server, arguments, store, under=()):
    """Runs dyno on the server's data; gives its report as JSON, its one stage and its cost."""
    command = [*under, program, "run", "--target", server.url, "--json", "--quiet", "--store", store, *arguments]
    with tempfile.NamedTemporaryFile("w+", suffix=".json") as file:
        out, cost = measure(command, server.environment)
        file.write(out)
        file.flush()
        report = bench.read_json(file.name)
    if report["run"]["outcome"] != "complete":
        raise bench.BenchError(f"dyno's run is incomplete: {report['run']['reason']}")
    return report, cost


def dyno_closed_loop(program, server, script, clients, threads, seconds, store, under=(), poller="auto"):
    """Runs dyno as pgbench is run: one stage, no warm-up, nothing verified, nothing made."""
    arguments = ["--workload", f"tpcb/{script}", "--prepare=never", "--clients", clients, "--threads", threads,
                 "--duration", f"{max(1, round(seconds))}s", "--warm-up", "0s", "--no-verify"]
    if poller != "auto":
        arguments += ["--poller", poller]
    report, cost = dyno(program, server, arguments, store, under)
    [stage] = report["stages"]
    if poller not in ("auto", stage.get("poller")):
        raise PollerRefused(f"dyno ran with another poller: {poller} cannot be used here")
    totals = stage["totals"]
    if totals["failed"] or totals["unknown"]:
        raise bench.BenchError(f"transactions failed: {stage['errors']}")
    drained = totals["done_with_drain"]
    statements = round(drained * totals["statements"] / totals["done"])
    return Load(totals["done"] / stage["seconds"], drained, statements, cost)


def usable_pollers(program, server, wanted):
    """Those of dyno's pollers that the system allows; says which it does not."""
    def works(poller):
        with bench.directory("store") as folder:
            try:
                dyno_closed_loop(program, server, "select-only", 1, 1, 1, folder / "store.sqlite", poller=poller)
            except PollerRefused as error:
                bench.say(f"left out: {error}")
                return False
        return True
    return [poller for poller in wanted if works(poller)]
