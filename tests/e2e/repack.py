#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""repack.py WORKLOAD|PROGRAM LEAST [ARGUMENT…]: `mtrace-record --pack --cull-temporary` of a packed log removes blocks, but changes no totals.

The log is elided once, and its result again; both times every total is that of the log as it was recorded,
at least LEAST blocks are gone, and the log is hardly larger than it was (PG-7). What may differ is said in TABLES: times by a rounding, and peaks of a stack. Of a program with one
thread the peak and all that is live then is the same, too.
"""

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402

# Every backtrace has an id in the log, which an import assigns again: they are identified by their sums.
TOTALS = """SELECT allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, leaked_blocks, leaked_bytes
FROM backtrace_totals ORDER BY 1, 2, 3, 4, 5, 6"""
FLOWS = "SELECT sum(blocks), sum(bytes) FROM thread_flows"
TABLES = {
    "stacks": """SELECT backtrace_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, leaked_blocks, leaked_bytes, leaked_first_ns,
leaked_last_ns, temporary_blocks, temporary_bytes, min_size_bytes, max_size_bytes, slack_bytes, chains_started, chains_leaked, realloc_count
FROM backtrace_totals ORDER BY 1""",
    "size classes": "SELECT * FROM size_classes ORDER BY 1, 2",
    "call sites of temporary blocks": "SELECT process_id, call_site_id, temporary_blocks, temporary_bytes, share, allocated_blocks FROM temporary ORDER BY 1, 2",
    "timeline": "SELECT bucket, live_bytes, live_blocks, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, leaked_blocks FROM timeline ORDER BY 1",
    "free sites": "SELECT * FROM free_sites ORDER BY 1, 2, 3",
    "flows": "SELECT * FROM thread_flows ORDER BY 1, 2, 3",
    "regular snapshots": "SELECT at_ns, backtrace_id, live_bytes, live_blocks FROM snapshots JOIN snapshot_backtraces USING (snapshot_id) WHERE reason <> 'peak' ORDER BY 1, 2",
    "lifetimes": "SELECT sum(blocks), sum(bytes) FROM lifetime_classes",
    "heaps": "SELECT * FROM heaps ORDER BY 1",
    "threads": "SELECT thread_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, peak_bytes FROM threads ORDER BY 1",
}
ONE_THREAD = {
    "peak": "SELECT peak_bytes, peak_ns FROM processes",
    "stacks at the peak": "SELECT backtrace_id, peak_blocks, peak_bytes FROM backtrace_totals ORDER BY 1",
    "peaks of buckets": "SELECT bucket, peak_bytes FROM timeline ORDER BY 1",
}
CLASSES = "SELECT from_bytes, blocks, bytes, leaked_blocks, leaked_bytes FROM size_histogram ORDER BY 1"


# Programs of one thread that run for a while, because parts of the timeline are wide then.
LOOP = "import json\nd={str(i):[i,{'a':i}] for i in range(300)}\nfor _ in range(80):\n d=json.loads(json.dumps(d))\n for k in range(1000): bytes(k * k * 7919 % 331)"
ROWS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<30000) INSERT INTO t SELECT i, 'row '||i, i*1.5 FROM n;"
PROGRAMS = {
    "python3": ([sys.executable, "-S", "-c", LOOP], {"PYTHONMALLOC": "malloc"}),
    "sqlite3": (["sqlite3", ":memory:", "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL);" + (ROWS + "CREATE INDEX x ON t(b);"
                 "UPDATE t SET c=c+1 WHERE a%3=0; SELECT max(b), sum(c) FROM t GROUP BY substr(b,1,6) LIMIT 5; DROP INDEX x; DELETE FROM t;") * 6], {}),
}


def run(tools, place, *arguments, variables=None):
    done = subprocess.run([str(tools.record), *map(str, arguments)], cwd=place, env=harness.environment(variables),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=400)
    if done.returncode != 0:
        raise Failure(f"{arguments}: {done.stderr}")


def look(tools, place, name):
    """All totals, the rows, and the number of elided blocks."""
    database = harness.import_log(tools, place / name, place / (name + ".db"), "--no-symbols")
    of_one = ONE_THREAD if database.value("SELECT count(*) FROM threads") == 1 else {}
    tables = {what: list(database.rows(sql)) for what, sql in {**TABLES, **of_one}.items()}
    return tables, (list(database.rows(TOTALS)) + list(database.rows(FLOWS)), list(database.rows(CLASSES)), database.value("SELECT count(*) FROM allocations"),
            database.value("SELECT sum(elided_blocks) FROM backtrace_totals"))


def main():
    parser = argparse.ArgumentParser(description="elides a packed log")
    parser.add_argument("workload")
    parser.add_argument("least", type=int)
    parser.add_argument("arguments", nargs="*", help="of the workload, which must go on until its two readings of the clock are far enough apart")
    args = parser.parse_args()
    tools = harness.Tools.from_environment()
    with harness.scratch() as place:
        place = Path(place)
        program, variables = PROGRAMS.get(args.workload, ([tools.workloads / args.workload, *args.arguments], {}))
        run(tools, place, "-q", "-o", "run.dat", "--", *program, variables=variables)
        run(tools, place, "-q", "-o", "elided.dat", "--cull-temporary", "100000", "--pack", "run.dat")
        run(tools, place, "-q", "-o", "again.dat", "--cull-temporary", "100000", "--pack", "elided.dat")
        tables, (totals, classes, rows, elided) = look(tools, place, "run.dat")
        if args.workload in PROGRAMS and "peak" not in tables:
            raise Failure(f"{args.workload} has more than one thread")
        if elided != 0:
            raise Failure(f"{elided} blocks are elided that should not be")
        for name in ("elided.dat", "again.dat"):
            sizes = [(place / log).stat().st_size for log in ("run.dat", name)]
            if sizes[1] > sizes[0] * 1.02 + 4096:
                raise Failure(f"{name}: {sizes[1]} bytes, not elided {sizes[0]}")
            new_tables, (new_totals, new_classes, new_rows, new_elided) = look(tools, place, name)
            for what, was in tables.items():
                if new_tables[what] != was:
                    differ = [pair for pair in zip(was, new_tables[what]) if pair[0] != pair[1]]
                    raise Failure(f"{name}: {what} are not what they were: {len(was)}, {len(new_tables[what])} rows; {differ[:3]}")
            if new_totals != totals:
                raise Failure(f"{name}: totals are not what they were")
            if new_classes != classes:
                raise Failure(f"{name}: the histogram of sizes is not what it was: {new_classes}, {classes}")
            if new_elided < args.least or new_rows + new_elided != rows:
                raise Failure(f"{name}: {new_elided} of {rows} blocks elided, {new_rows} rows left; wanted {args.least}")
        print(f"{args.workload}: {new_elided} of {rows} blocks elided, totals as before")


if __name__ == "__main__":
    harness.main(main)
