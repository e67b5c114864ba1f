"""Medians, ratios and Markdown tables."""

import math
from statistics import fmean, median


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


def thousands(value):
    return f"{value:,.0f}"
