#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""intervals.py: how often the confidence intervals of answers that mtrace-query computes from rows contain the truth.

A database whose 1000 functions allocate the same blocks, of which each function's are drawn for themselves, is 1000 recordings in one. So one
answer has 1000 intervals, of which 950 should have the truth in them, with a deviation of 7. A block lives for the whole run, or until its middle, or from there on: what
lives at two times is drawn once, and is not in their difference. Every other block is allocated one call deeper, where the function has called itself: it is on such
a stack twice, and counts its blocks once. Each function is in a module of its own.
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
# Half of the early blocks live at the first, half of the late ones at the second, the kept ones at both.
SNAPSHOTS = (3 * N_BLOCKS // 2 * STEP - STEP // 2, 5 * N_BLOCKS // 2 * STEP - STEP // 2)


def size_of(block):
    size = 60_000 + block if block % 90 < 3 else 256 + block * 37 % 3840
    return size * 3 // 2 if block % 3 == LATE else size


def life_of(block):
    """Allocated and freed, by the parts of the run: kept and early ones in the first third, late ones in the last."""
    kind = block % 3
    return ((2 * N_BLOCKS if kind == LATE else 0) + block) * STEP, (N_BLOCKS + block) * STEP if kind == EARLY else None


def truths():
    sums = [0, 0, 0]
    counts = [0, 0, 0]
    for block in range(N_BLOCKS):
        sums[block % 3] += size_of(block)
        counts[block % 3] += 1
    return sums, counts


def live_at(at):
    return sum(size_of(block) for block in range(N_BLOCKS) if life_of(block)[0] < at and (life_of(block)[1] or END) > at)


def drawn_rows(generator):
    """The rows of packed_allocation_rows and the group of each, without ids, in the order of allocation."""
    rows = []
    for block in range(N_BLOCKS):
        size, (allocated, ended) = size_of(block), life_of(block)
        probability = -math.expm1(-size / MEAN)
        for function in range(1, N_FUNCTIONS + 1):
            if generator.random() < probability:
                at = allocated + function
                lifetime = None if ended is None else ended + function - at
                ended_by = 0 if ended is None else 1
                is_above = generator.random() < 1 / probability % 1
                rows.append((at, lifetime, size, 2 * function - 1 + block // 3 % 2, 0 if ended else None, ended_by + 256 + (is_above << 62) - 0x1000101))
    return sorted(rows)


def make_database(path, seed):
    scripts = "".join(part.read_text() for part in sorted((SOURCE / "importer/schema").glob("*.sql")))
    subprocess.run(["sqlite3", "-bail", path], input=f"PRAGMA synchronous = OFF; BEGIN; {scripts} COMMIT;", text=True, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([SOURCE / "tests/sql/load_views", "sqlite3", SOURCE, path], check=True)
    rows = drawn_rows(random.Random(seed))
    ids = range(1, N_FUNCTIONS + 1)
    with sqlite3.connect(path) as database:
        database.execute("INSERT INTO processes(process_id, pid, executable, start_ns, end_ns, end_kind, end_value, peak_ns, sample_bytes) VALUES (1, 7, '/bin/many', 0, ?1, 'exit', 0, ?1 - 1, ?2)",
                         (END, MEAN))
        database.execute("INSERT INTO threads(thread_id, process_id, tid, start_ns) VALUES (1, 1, 7, 0)")
        database.execute("INSERT INTO kinds VALUES (0, 'malloc')")
        database.executemany("INSERT INTO objects(object_id, path) VALUES (?, ?)", ((i, f"/lib/f{i}.so") for i in ids))
        database.executemany("INSERT INTO functions(function_id, name, raw_name) VALUES (?, ?, ?)", ((i, f"f{i}", f"f{i}") for i in ids))
        database.executemany("INSERT INTO frames(frame_id, object_id, object_offset, is_exact) VALUES (?1, ?1, 16, 0)", ((i,) for i in ids))
        database.executemany("INSERT INTO frame_lines(frame_id, inline_level, function_id) VALUES (?, 0, ?)", ((i, i) for i in ids))
        database.executemany("INSERT INTO call_sites(call_site_id, function_id, object_id) VALUES (?1, ?1, ?1)", ((i,) for i in ids))
        database.executemany("""INSERT INTO backtraces(backtrace_id, parent_backtrace_id, last_descendant_id, frame_id, depth, call_site_id, status)
          VALUES (2 * ?1 - 1, NULL, 2 * ?1, ?1, 1, ?1, 'complete'), (2 * ?1, 2 * ?1 - 1, 2 * ?1, ?1, 2, ?1, 'complete')""", ((i,) for i in ids))
        database.executemany("INSERT INTO allocation_groups VALUES (?, ?)", ((i + 1, f"f{i}") for i in ids))
        database.executemany("INSERT INTO packed_allocation_rows(alloc_ns, lifetime_ns, size_bytes, backtrace_id, ending, traits) VALUES (?, ?, ?, ?, ?, ?)", rows)
        database.execute("""INSERT INTO group_rows SELECT allocation_id, (backtrace_id + 1) / 2 + 1, iif(ending IS NULL, NULL, (backtrace_id + 1) / 2 + 1) FROM packed_allocation_rows""")


def take_snapshots(path):
    """Two regular snapshots, as an import takes them, and what it makes of them: from one to the other early blocks go and late ones come."""
    with sqlite3.connect(path) as database:
        for snapshot, at in ((1, SNAPSHOTS[0]), (2, SNAPSHOTS[1])):
            database.execute("INSERT INTO snapshots VALUES (?, 1, ?, 'regular')", (snapshot, at))
            levels = [0] * (2 * N_FUNCTIONS + 1)
            for size, backtrace in database.execute("""SELECT size_bytes, backtrace_id FROM allocation_rows
              WHERE alloc_ns <= ?1 AND coalesce(alloc_ns + lifetime_ns > ?1, 1)""", (at,)):
                levels[backtrace] += int(size / -math.expm1(-size / MEAN) + 0.5)
            database.executemany("INSERT INTO snapshot_backtraces VALUES (?, ?, ?, 1)", ((snapshot, i, level) for i, level in enumerate(levels) if i))
    run = subprocess.run(["sqlite3", "-json", path, """INSERT INTO snapshot_sites SELECT * FROM _snapshot_sites; INSERT INTO site_growth SELECT * FROM _site_growth;
      SELECT to_bytes - from_bytes AS grown_bytes, grown_bytes_margin FROM site_growth"""], capture_output=True, text=True, check=True, timeout=200)
    return json.loads(run.stdout)


def ask(tools, *words):
    return json.loads(harness.ask(tools, *words, "--format", "json", "-n", "0"))


def check(what, rows, figure, truth):
    intervals = [(row[figure], row[f"{figure}_margin"]) for row in rows]
    # A difference that is estimated as 0 has no row; that would rarely be wrong.
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
        for query in ("by-function", "by-module"):
            rows = ask(tools, query, one, "--size-min", "0")
            for part in ("self", "inclusive"):
                check(query, rows, f"{part}_allocated_bytes", kept + early + late)
                check(query, rows, f"{part}_allocated_blocks", N_BLOCKS)
                check(query, rows, f"{part}_leaked_bytes", kept + late)
                check(query, rows, f"{part}_peak_bytes", kept + late)
        check("growth between two snapshots", take_snapshots(one), "grown_bytes", live_at(SNAPSHOTS[1]) - live_at(SNAPSHOTS[0]))
        rows = ask(tools, "growth", other, "--from", f"{SNAPSHOTS[0]}ns", "--size-min", "0")
        check("growth of a range", rows, "grown_bytes", kept + late - live_at(SNAPSHOTS[0]))


harness.main(main)
