"""Reads the latency histograms of dyno's store (HdrHistogram, V2 encoding), with no code of dyno's own: what a
bench says of a tail is then not dyno's word alone.
"""

import base64
import json
import sqlite3
import struct
from contextlib import closing

import bench

COOKIE = 0x1C849303
HEADER = struct.Struct(">iiiiqqd")


def decode(text):
    """Pairs of value (the middle of its bucket) and count."""
    raw = base64.b64decode(text + "=" * (-len(text) % 4))
    cookie, length, _, digits, lowest, _, _ = HEADER.unpack_from(raw)
    if cookie & ~0xF0 != COOKIE & ~0xF0:
        raise bench.BenchError(f"not a V2 histogram: cookie {cookie:#x}")
    # As HdrHistogram defines it: sub-buckets enough for the digits, a power of two.
    count_bits = (2 * 10**digits - 1).bit_length()
    half_bits, unit_bits = count_bits - 1, lowest.bit_length() - 1
    index = 0
    for number in _zigzag(raw[HEADER.size:HEADER.size + length]):
        if number < 0:
            index -= number
            continue
        if number > 0:
            bucket, sub = (index >> half_bits) - 1, (index & ((1 << half_bits) - 1)) + (1 << half_bits)
            if bucket < 0:
                bucket, sub = 0, sub - (1 << half_bits)
            width = 1 << (bucket + unit_bits)
            yield sub * width + width // 2, number
        index += 1


def _zigzag(payload):
    """Numbers of 7 bits a byte, the ninth byte with 8, signs in the lowest bit."""
    at = 0
    while at < len(payload):
        number = shift = 0
        for position in range(9):
            byte = payload[at]
            at += 1
            number |= (byte if position == 8 else byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        yield (number >> 1) ^ -(number & 1)


def of_last_run(store, which):
    """All times of a kind (`service`, `response`, `lag`) of a store's last run: pairs of nanoseconds and count."""
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as database:
        rows = database.execute(
            "SELECT body FROM event WHERE kind = 'interval' AND run_id = (SELECT max(id) FROM run)").fetchall()
    types = [kind for (body,) in rows for kind in json.loads(body)["types"]]
    return [pair for kind in types if kind.get(which) for pair in decode(kind[which])]
