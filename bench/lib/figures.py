"""Medians, ratios and Markdown tables."""

import math
from statistics import NormalDist, fmean, median, stdev


def ratio(of, to):
    """Ratio of the medians of two series that were measured in turn."""
    return median(of) / median(to)


def spread(of, to):
    """Lowest and highest ratio of the pairs that were measured one after the other."""
    pairs = [mine / theirs for mine, theirs in zip(of, to)]
    return min(pairs), max(pairs)


def with_spread(of, to):
    """`1.08 (1.05–1.11)`: ratio of medians, and lowest and highest of the rounds."""
    low, high = spread(of, to)
    return f"{ratio(of, to):.2f} ({low:.2f}–{high:.2f})"


def with_interval(of, to):
    """`1.08 ± 0.02`: mean ratio of the rounds (geometric), and half of its 95% interval."""
    logs = _logs(of, to)
    mean = math.exp(fmean(logs))
    return f"{mean:.3f} ± {mean * _t(0.975, len(logs)) * _error(logs):.3f}"


def least_difference(of, to):
    """The least relative difference that as many rounds as these show four times of five, at the 95% level.

    By the scatter of the rounds' ratios, which are best those of one program to itself. None of fewer than three rounds.
    """
    logs = _logs(of, to)
    return math.expm1((_t(0.975, len(logs)) + _t(0.8, len(logs))) * _error(logs)) if len(logs) > 2 else None


def _logs(of, to):
    return [math.log(mine / theirs) for mine, theirs in zip(of, to)]


def _error(values):
    """Standard error of a mean."""
    return stdev(values) / math.sqrt(len(values))


def _t(share, count):
    """Quantile of Student's distribution for the mean of `count` values, by its expansion (4% too small for four values, 0.5% for seven)."""
    z, freedom = NormalDist().inv_cdf(share), count - 1
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def geometric_mean(values):
    return math.exp(fmean(map(math.log, values)))


def table(header, rows):
    """A Markdown table; all columns but the first stand to the right."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]

    def line(row):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]
        return "| " + " | ".join(cells) + " |"

    rule = "| " + " | ".join(["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]) + " |"
    return "\n".join([line(header), rule, *map(line, rows)])


def beside(unit, throughput, groups):
    """Programs that were measured in turn, as a table and what it comes to.

    `groups` has, for each number of clients, the runs of each program: that of the peer first, those of the peer once more last (the
    A/A control). A run has its throughput under the name `throughput`, and `cpu_us` and `user_us`.
    """
    def series(runs, figure):
        return [getattr(run, figure) for run in runs]

    rows = []
    for count, programs in groups.items():
        peer = next(iter(programs.values()))
        for name, runs in programs.items():
            ratios = [""] * 3 if runs is peer else [
                with_spread(series(runs, figure), series(peer, figure)) for figure in (throughput, "cpu_us", "user_us")]
            rows.append([f"{count}, {name}", thousands(median(series(runs, throughput))), ratios[0],
                         f"{median(series(runs, 'cpu_us')):.2f} / {median(series(runs, 'user_us')):.2f}", *ratios[1:]])
    lines = [table([f"{unit}, program", throughput.upper(), "ratio (rounds)", "CPU / user µs", "CPU ratio (rounds)",
                    "user ratio (rounds)"], rows), ""]

    first, *compared, again = next(iter(groups.values()))
    for name in compared:
        parts = []
        for figure, called, worst in ((throughput, "throughput", min), ("cpu_us", "CPU", max), ("user_us", "CPU in user space", max)):
            ratios = {count: ratio(series(programs[name], figure), series(programs[first], figure))
                      for count, programs in groups.items()}
            extreme = worst(ratios, key=ratios.get)
            parts.append(f"{called} {geometric_mean(ratios.values()):.2f} ({'least' if worst is min else 'most'} "
                         f"{ratios[extreme]:.2f}, at {extreme})")
        lines.append(f"- {name} to {first}, geometric means: {'; '.join(parts)}.")
    shown = {count: least_difference(series(programs[again], "cpu_us"), series(programs[first], "cpu_us"))
             for count, programs in groups.items()}
    if None not in shown.values():
        lines.append(f"- The least difference of CPU that these rounds show four times of five, by {first} beside itself: "
                     f"{', '.join(f'{least:.0%} at {count}' for count, least in shown.items())}.")
    return "\n".join(lines)


def thousands(value):
    return f"{value:,.0f}"
