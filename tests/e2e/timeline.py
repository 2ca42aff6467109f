#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""timeline.py: memory over time under filters equals a sweep over the rows of stock SQLite, bucket by bucket; with a filter that
all rows pass it is the stored timeline; and the picture's areas are as high as the live bytes."""

import csv
import io
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import harness  # noqa: E402

WORKLOADS = ("threads", "realloc_edges", "shapes_over_time", "exec_again")
FILTERS = ((["size_min=100", "size_max=4KiB"], "size_bytes BETWEEN 100 AND 4096", "live"),
           (["--lifetime", "only_leaked"], "is_leaked", "live"),
           ([], "is_leaked", "leaked"),
           ([], "intervening_allocations <= 1", "temporary"))


def rows_of(text):
    """Margins are empty where every block was recorded."""
    return [{name: int(value) if value else None for name, value in row.items()} for row in csv.DictReader(io.StringIO(text))]


def sweep(rows, start):
    """(time, live bytes and blocks from then on), starting with nothing; all changes at one time are one step."""
    changes = []
    for allocated, ended, size, *_ in rows:
        allocated = max(allocated, start)
        changes.append((allocated, size, 1))
        if ended is not None:
            changes.append((max(ended, start), -size, -1))
    changes.sort()
    steps, size, blocks = [(-1 << 62, 0, 0)], 0, 0
    for time, change, sign in changes:
        size, blocks = size + change, blocks + sign
        if steps[-1][0] == time:
            steps.pop()
        steps.append((time, size, blocks))
    return steps


def held(steps, start, end, is_last):
    """The levels that were held for a time within [start, end), the end of a process included."""
    levels = []
    for i, (time, size, blocks) in enumerate(steps):
        until = steps[i + 1][0] if i + 1 < len(steps) else 1 << 62
        if time < end + is_last and until > start:
            levels.append((size, blocks))
    return levels


def check_buckets(what, found, rows, start, is_ranged):
    steps = sweep(rows, start if not is_ranged else -1 << 62)
    last = found[-1]["end_ns"]
    for row in found:
        is_last = row["end_ns"] == last
        levels = held(steps, row["start_ns"], row["end_ns"], is_last)
        inside = lambda at: row["start_ns"] <= (at if is_ranged else max(at, start)) < row["end_ns"] + is_last  # noqa: E731
        allocated = [size for at, _, size, _ in rows if inside(at)]
        ended = [size for _, at, size, _ in rows if at is not None and inside(at)]
        leaked = [size for at, _, size, is_leaked in rows if is_leaked and (at if is_ranged else max(at, start)) < row["end_ns"] + is_last]
        expected = {"live_bytes": levels[-1][0], "live_blocks": levels[-1][1], "peak_bytes": max(size for size, _ in levels),
                    "low_bytes": min(size for size, _ in levels), "allocated_blocks": len(allocated), "allocated_bytes": sum(allocated),
                    "freed_blocks": len(ended), "freed_bytes": sum(ended), "leaked_blocks": len(leaked), "leaked_bytes": sum(leaked)}
        for name, value in expected.items():
            if row[name] != value and not (row["start_ns"] == start and name in ("low_bytes", "peak_bytes")):
                raise harness.Failure(f"{what}: {name} of bucket {row['bucket']} is {row[name]}, the rows say {value}")


def highest_of_axis(text):
    """The label of the highest grid line, in bytes."""
    units = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    lines = re.findall(r'<line class="(?:grid|axis)"[^>]*/>\s*<text[^>]* y="([\d.]+)"[^>]*>([\d.]+) (B|KiB|MiB|GiB)</text>', text)
    return max((float(number) * units[unit] for _, number, unit in lines), default=0)


def check_picture(tools, database, folder, steps, start, end, is_dark=False):
    harness.ask(tools, "timeline", database, "--process", "1", "-o", f"{folder}/memory.svg", "-f")
    text = Path(folder, "memory.svg").read_text()
    top, highest, left, plot, tall = 56, None, 86, 898, 300
    points = re.findall(r'<polygon fill="[^"]*" points="([^"]*)"', text)[-1]
    corners = [tuple(float(part) for part in pair.split(",")) for pair in points.split()]
    forth = corners[:max(range(len(corners)), key=lambda i: corners[i][0]) + 1]
    outline = re.search(r'<polyline class="outline" points="([^"]*)"', text)[1]
    highest = max(size for _, size, _ in steps)
    y_top = min(float(pair.split(",")[1]) for pair in outline.split())
    scale = highest_of_axis(text)
    if abs((top + tall - y_top) / tall * scale - highest) > highest * 0.01:
        raise harness.Failure(f"the highest of the picture is at {y_top}, {highest} of {scale} bytes were live")
    n_looked = 0
    for part in range(10, 400, 30):
        x = left + plot * (part + 0.5) / 400
        at = start + (end - start) * (part + 1) / 400
        live = [size for time, size, _ in steps if time < at][-1]
        ys = [y for (x0, y), (x1, _) in zip(forth, forth[1:]) if x0 <= x <= x1 and x0 != x1]
        if not ys or abs((top + tall - ys[0]) / tall * scale - live) > highest * 0.01:
            raise harness.Failure(f"at part {part} the picture shows y {ys}, {live} of {highest} bytes were live")
        n_looked += 1
    return n_looked


def check(tools, workload, folder):
    harness.run([tools.record, "-o", f"{workload}.dat", "--", tools.workloads / workload], folder)
    database = f"{folder}/{workload}.db"
    db = harness.import_log(tools, f"{folder}/{workload}.dat", database)
    if rows_of(harness.ask(tools, "timeline", database, "--csv")) != rows_of(harness.ask(tools, "timeline", database, "--csv", "size_min=0")):
        raise harness.Failure(f"{workload}: a filter that all rows pass changes the timeline")
    start, end = db.rows("SELECT start_ns, end_ns FROM processes WHERE process_id = 1")[0]
    for options, condition, measure in FILTERS:
        rows = db.rows(f"SELECT alloc_ns, free_ns, size_bytes, is_leaked FROM allocations WHERE process_id = 1 AND ({condition})")
        for more in ([], ["--from", "30%", "--to", "70%"]):
            found = rows_of(harness.ask(tools, "timeline", database, "--csv", "--process", "1", "--measure", measure, *options, *more))
            if found and len(rows) < 60000:
                check_buckets(f"{workload} {condition} {more}", found[::max(1, len(found) // 40)] + found[-1:], rows, start, bool(more))
    rows = db.rows("SELECT alloc_ns, free_ns, size_bytes FROM allocations WHERE process_id = 1")
    return check_picture(tools, database, folder, sweep(rows, start), start, end)


def test():
    tools = harness.Tools.from_environment()
    with harness.scratch() as folder:
        if sum(check(tools, workload, folder) for workload in WORKLOADS) < 40:
            raise harness.Failure("nothing was looked at")


harness.main(test)
