"""What every bench starts with: its options, a clean end on Ctrl-C, the programs it measures, and where it ran.

Nothing here measures or decides anything.
"""

import argparse
import datetime
import json
import os
import platform
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA_ROOT = Path("/var/tmp")


def parser(about, rounds, seconds):
    """Options that all benches have; `rounds` and `seconds` are this bench's defaults."""
    options = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rounds", type=int, default=rounds, metavar="N",
                         help="how often each is measured, in turn [default: %(default)s]")
    options.add_argument("--seconds", type=float, default=seconds, metavar="S",
                         help="seconds of each measurement [default: %(default)s]")
    options.add_argument("--dyno", metavar="FILE", type=Path,
                         help="the dyno to measure [default: built from this tree, release profile]")
    return options


def arguments(options):
    """Parses the command line, and looks how busy the machine is before the bench makes it so."""
    global busy_before
    parsed = options.parse_args()
    busy_before = busy_share(2)
    if busy_before > BUSY_MAX:
        say(f"warning: the processors are {busy_before:.0%} busy with something else; the figures will not be worth "
            "much")
    return parsed


# Share of the processors' time that others may take before figures suffer.
BUSY_MAX = 0.05
busy_before = None


def busy_share(seconds):
    """Share of all processors' time that is not idle, over the next seconds."""
    def ticks():
        """All, and idle or waiting for disks."""
        values = [int(value) for value in open("/proc/stat").readline().split()[1:9]]
        return sum(values), values[3] + values[4]

    all_before, idle_before = ticks()
    time.sleep(seconds)
    all_after, idle_after = ticks()
    return 1 - (idle_after - idle_before) / max(1, all_after - all_before)


def numbers(text):
    """An argument like 2,8,32."""
    return [int(part) for part in text.split(",") if part]


def run(main):
    """Runs a bench. SIGTERM and SIGHUP end it as Ctrl-C does: what it started is stopped and removed."""
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted")
    except BenchError as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")


class BenchError(Exception):
    """A bench cannot go on: says what failed and what the program said."""


def say(text):
    """Progress, to standard error: standard output has the tables only."""
    print(text, file=sys.stderr, flush=True)


def service_user():
    """Name of the user that servers run as: an unprivileged one when called by root, else None (the caller)."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
            return name
        except KeyError:
            continue
    raise BenchError("called by root, and there is neither a user postgres nor nobody to run a server as")


def as_service_user():
    """Arguments for subprocess that start a program as that user."""
    name = service_user()
    if name is None:
        return {}
    user = pwd.getpwnam(name)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@contextmanager
def directory(purpose):
    """A directory on disk that is the service user's, removed at the end."""
    path = Path(tempfile.mkdtemp(prefix=f"dyno-bench-{purpose}-", dir=DATA_ROOT))
    try:
        user = service_user()
        if user is not None:
            shutil.chown(path, user, pwd.getpwnam(user).pw_gid)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def target_directory():
    """Where cargo puts what it builds."""
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def build(*arguments):
    """Builds with cargo, release profile; what it says goes to standard error."""
    command = ["cargo", "build", "--release", "--quiet", "--target-dir", target_directory(), *arguments]
    if subprocess.run(command, cwd=ROOT, stdout=sys.stderr).returncode != 0:
        raise BenchError(f"{' '.join(map(str, command))} failed")
    return target_directory() / "release"


def dyno_program(options):
    """The dyno to measure, built where none was named."""
    if options.dyno is None:
        say("building dyno …")
        options.dyno = build("-p", "dbdyno") / "dyno"
    if not os.access(options.dyno, os.X_OK):
        raise BenchError(f"{options.dyno} is not a program")
    return options.dyno.resolve()


def where(*versions):
    """The paragraph above a table: when, on what, with which versions, and how busy the machine was before."""
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
               platform.machine())
    memory_kib = int(open("/proc/meminfo").readline().split()[1])
    virtual = " (virtual machine)" if any("hypervisor" in line for line in open("/proc/cpuinfo")
                                         if line.startswith("flags")) else ""
    facts = [
        f"{datetime.date.today()}",
        f"{os.cpu_count()} × {cpu}{virtual}, {memory_kib / 2**20:.0f} GiB",
        f"Linux {platform.release().split('-')[0]}",
        *versions,
        f"dyno at {commit()}",
        f"processors {busy_before:.0%} busy before",
    ]
    return "Taken " + "; ".join(facts) + "."


def commit():
    """The tree's commit, `-dirty` where files differ from it; what --dyno names may be another."""
    said = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return said.stdout.strip() or "an unknown commit"


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)
