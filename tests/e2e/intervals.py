#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""intervals.py: how often the intervals of answers that mtrace-query computes from rows have the truth in them.

A database whose 1000 functions allocate the same blocks, of which each function's are drawn for themselves, is 1000 recordings in one. So one
answer has 1000 intervals, of which 950 should have the truth in them, with a deviation of 7. A block lives for the whole run, or until its middle, or from there on: what
lives at two instants is drawn once, and is not in their difference.
"""

import json
import math
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import harness  # noqa: E402
from harness import Failure  # noqa: E402

SOURCE = Path(__file__).resolve().parent.parent.parent
MEAN = 16384
N_FUNCTIONS = 1000
N_BLOCKS = 360
STEP = 10_000  # ns from one block's time to the next one's; in it each function has an instant of its own
END = 3 * N_BLOCKS * STEP
KEPT, EARLY, LATE = range(3)


def size_of(block):
    size = 60_000 + block if block % 90 < 3 else 256 + block * 37 % 3840
    return size * 3 // 2 if block % 3 == LATE else size


def life_of(block):
    """Born and ended, by the parts of the run: kept and early ones in the first third, late ones in the last."""
    kind = block % 3
    return ((2 * N_BLOCKS if kind == LATE else 0) + block) * STEP, (N_BLOCKS + block) * STEP if kind == EARLY else None


def truths():
    sums = [0, 0, 0]
    counts = [0, 0, 0]
    for block in range(N_BLOCKS):
        sums[block % 3] += size_of(block)
        counts[block % 3] += 1
    return sums, counts


def drawn_rows(generator):
    """The rows of packed_allocation_rows and the group of each, without ids, in the order of birth."""
    rows = []
    for block in range(N_BLOCKS):
        size, (born, ended) = size_of(block), life_of(block)
        probability = -math.expm1(-size / MEAN)
        for function in range(1, N_FUNCTIONS + 1):
            if generator.random() < probability:
                at = born + function
                lifetime = None if ended is None else ended + function - at
                ended_by = 0 if ended is None else 1
                rows.append((at, lifetime, size, function, 0 if ended else None, ended_by + 256 - 0x1000101))
    return sorted(rows)


def make_database(path, seed):
    scripts = "".join(part.read_text() for part in sorted((SOURCE / "importer/schema").glob("*.sql")))
    subprocess.run(["sqlite3", "-bail", path], input=f"PRAGMA synchronous = OFF; BEGIN; {scripts} COMMIT;", text=True, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([SOURCE / "tests/sql/load_views", "sqlite3", SOURCE, path], check=True)
    rows = drawn_rows(random.Random(seed))
    ids = range(1, N_FUNCTIONS + 1)
    with sqlite3.connect(path) as database:
        database.execute("INSERT INTO processes(process_id, pid, executable, start_ns, end_ns, end_kind, end_value, sample_bytes) VALUES (1, 7, '/bin/many', 0, ?, 'exit', 0, ?)",
                         (END, MEAN))
        database.execute("INSERT INTO threads(thread_id, process_id, tid, start_ns) VALUES (1, 1, 7, 0)")
        database.execute("INSERT INTO kinds VALUES (0, 'malloc')")
        database.execute("INSERT INTO objects(object_id, path) VALUES (1, '/bin/many')")
        database.executemany("INSERT INTO functions(function_id, name, raw_name) VALUES (?, ?, ?)", ((i, f"f{i}", f"f{i}") for i in ids))
        database.executemany("INSERT INTO frames(frame_id, object_id, object_offset, is_exact) VALUES (?, 1, ?, 0)", ((i, 16 * i) for i in ids))
        database.executemany("INSERT INTO frame_lines(frame_id, inline_level, function_id) VALUES (?, 0, ?)", ((i, i) for i in ids))
        database.executemany("INSERT INTO call_sites(call_site_id, function_id, object_id) VALUES (?, ?, 1)", ((i, i) for i in ids))
        database.executemany("""INSERT INTO backtraces(backtrace_id, last_descendant_id, frame_id, depth, call_site_id, status)
          VALUES (?1, ?1, ?1, 1, ?1, 'complete')""", ((i,) for i in ids))
        database.executemany("INSERT INTO allocation_groups VALUES (?, ?)", ((i + 1, f"f{i}") for i in ids))
        database.executemany("INSERT INTO packed_allocation_rows(alloc_ns, lifetime_ns, size_bytes, backtrace_id, ending, traits) VALUES (?, ?, ?, ?, ?, ?)", rows)
        database.execute("""INSERT INTO group_rows SELECT allocation_id, backtrace_id + 1, iif(ending IS NULL, NULL, backtrace_id + 1) FROM packed_allocation_rows""")


def ask(tools, *words):
    run = subprocess.run([tools.query, *map(str, words), "--format", "json", "-n", "0"], capture_output=True, text=True, env=harness.environment(), timeout=200)
    if run.returncode:
        raise Failure(f"{words} ended with {run.returncode}: {run.stderr}")
    return json.loads(run.stdout)


def check(what, rows, figure, truth):
    intervals = [(row[figure], row[f"{figure}_margin"]) for row in rows]
    # A difference that is estimated as 0 has no row; nor would it be wrong often.
    if len(intervals) < 0.97 * N_FUNCTIONS or any(margin is None for _, margin in intervals):
        raise Failure(f"{what} has {len(intervals)} rows, or some {figure} have no margin")
    right = sum(abs(value - truth) <= margin for value, margin in intervals) / len(intervals)
    mean = sum(value for value, _ in intervals) / len(intervals)
    half = sum(margin for _, margin in intervals) / len(intervals)
    print(f"{what}: {figure} {truth:,}, estimated {mean:,.0f} ± {half:,.0f}, {right:.1%} of {len(intervals)} intervals")
    if not 0.925 <= right <= 0.975:
        raise Failure(f"{what}: {right:.1%} of the intervals of {figure} have the truth in them")


def main():
    tools = harness.Tools.from_environment()
    (kept, early, late), (n_kept, n_early, n_late) = truths()
    with harness.scratch() as scratch:
        one, other = Path(scratch) / "one.db", Path(scratch) / "other.db"
        make_database(one, 1)
        make_database(other, 2)
        rows = ask(tools, "diff", one, "--at", f"{N_BLOCKS * STEP - STEP // 2}ns", "--at", f"{END - 1}ns")
        check("from one instant to another", rows, "change_bytes", late - early)
        check("from one instant to another", rows, "change_blocks", n_late - n_early)
        rows = ask(tools, "diff", one, other, "--size-min", "0")
        check("from one run to another", rows, "change_bytes", 0)
        rows = ask(tools, "diff", one, other, "--measure", "freed", "--size-min", "0")
        check("from one run to another, freed", rows, "change_bytes", 0)
        rows = ask(tools, "by-group", one, "--size-min", "0")
        check("a group", rows, "allocated_bytes", kept + early + late)
        check("a group", rows, "leaked_bytes", kept + late)
        check("a group", rows, "peak_bytes", kept + late)


harness.main(main)
