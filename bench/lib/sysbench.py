"""Runs sysbench, be it the original or dyno's, and reads its report."""

import re
from dataclasses import dataclass

import bench
import drivers


@dataclass
class Run:
    """What a run came to."""
    events: int
    tps: float
    queries: int
    qps: float
    cost: drivers.Cost

    @property
    def cpu_us(self):
        """CPU of the driver per query, microseconds."""
        return self.cost.total_s * 1e6 / self.queries

    @property
    def user_us(self):
        return self.cost.user_s * 1e6 / self.queries

    @property
    def memory_mib(self):
        """The most memory that the driver held."""
        return self.cost.resident_kib / 1024


def call(program, server, words):
    """Runs a command that is not `run`; gives what it cost."""
    _, cost = drivers.measure([*program, *server.sysbench_options(), *words], server.environment)
    return cost


def run(program, server, words):
    """Runs a load, and reads the report."""
    return report(*drivers.measure([*program, *server.sysbench_options(), *words, "run"], server.environment))


def report(out, cost):
    """What the report of a run says."""
    events = re.search(r"transactions:\s+(\d+)\s+\(([0-9.]+) per sec", out)
    queries = re.search(r"queries:\s+(\d+)\s+\(([0-9.]+) per sec", out)
    if events is None or queries is None:
        raise bench.BenchError(f"sysbench printed no report: {out[-2000:]}")
    return Run(int(events[1]), float(events[2]), int(queries[1]), float(queries[2]), cost)
