#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""saved_state.py PART: an import in pieces, each in its own process that continues from the saved state of the one before, makes the same database
as an import of the whole: row for row, in all tables.

python3, sqlite3, threads, groups, sampled   the recorded program
bounded   there is space for LIMIT rows of each repeating kind: the first rows equal those of the whole, sums include all, and the number of missing
rows is reported
"""

import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure, Skip  # noqa: E402

SAVED_IMPORT = os.environ["MTRACE_TEST_SAVED_IMPORT"]
SHARES = ("70", "333", "500", "501", "900")
PYTHON = """
import json, time
kept = []
for i in range(40):
    text = json.dumps({str(n): [n] * (n % 7) for n in range(400)})
    kept.append(json.loads(text) if i % 5 == 0 else None)
    time.sleep(0.01)
"""
SQL = """CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000) INSERT INTO t SELECT i, hex(randomblob(i % 90)) FROM n;
SELECT count(*), sum(length(b)) FROM t GROUP BY a % 13 ORDER BY 2; CREATE INDEX i ON t (b); SELECT count(DISTINCT b) FROM t;"""
LIMIT = 12
# Tables that are compared row by row. Rates of growth depend on the recorded part of the life, which is known for whole windows only.
BOUNDED = {"windows", "site_growth", "phases", "phase_totals", "free_sites", "site_frees", "thread_flows", "object_walks", "object_nodes", "object_claims",
           "object_warnings", "unclaimed_totals"}
TIMED = ("import.seconds", "symbols.seconds")


def programs():
    workloads = Path(os.environ["MTRACE_TEST_WORKLOADS"])
    return {
        "python3": ([sys.executable, "-c", PYTHON], ()),
        "sqlite3": (["sqlite3", ":memory:", SQL], ()),
        "threads": ([workloads / "threads"], ()),
        "groups": ([workloads / "groups", "many"], ()),
        "bounded": ([workloads / "recurring"], ()),
        "sampled": ([sys.executable, "-c", PYTHON], ("--sample-bytes=4096",)),
    }


def differs(left, right):
    """A sum of floating point numbers depends on their order, a little."""
    if isinstance(left, float) and isinstance(right, float):
        return not math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-3)
    return left != right


def expect(what, expected, found):
    if expected != found:
        raise Failure(f"{what}: {found}, and {expected} would be right")


def check_windows(saved, whole):
    ours, theirs = saved.rows("SELECT * FROM windows"), whole.rows("SELECT * FROM windows")
    expect("windows", LIMIT, len(ours))
    expect("the first windows", theirs[:LIMIT - 1], ours[:LIMIT - 1])
    expect("the last window begins with the first that has no room", theirs[LIMIT - 1][2], ours[-1][2])
    for column in range(6, 10):  # blocks and bytes, allocated and leaked
        expect(f"column {column} of windows", sum(row[column] for row in theirs), sum(row[column] for row in ours))
    times = "SELECT sum((ifnull(w.end_ns, p.end_ns) - w.start_ns) * w.recorded_share) FROM windows AS w JOIN processes AS p USING (process_id)"
    if not math.isclose(saved.value(times), whole.value(times), rel_tol=1e-9):
        raise Failure(f"{saved.value(times)} ns were recorded, and not {whole.value(times)}")
    return len(theirs) - LIMIT


def check_pairs(saved, whole, table, name, other):
    """The rows equal those of the whole, except for the sum of the others, with which they are as many."""
    theirs = {row[:3]: row[3:] for row in whole.rows(f"SELECT * FROM {table}")}
    ours = {row[:3]: row[3:] for row in saved.rows(f"SELECT * FROM {table}")}
    for key, sums in ours.items():
        if key[2]:
            expect(f"{table} {key}", theirs.get(key), sums)
    by_owner = f"SELECT {name}, sum(blocks), sum(bytes) FROM {table} GROUP BY 1"
    expect(f"{table} by {name}", whole.rows(by_owner), saved.rows(by_owner))
    most = f"SELECT max(n) FROM (SELECT count(*) AS n FROM {table} WHERE {other} GROUP BY {name})"
    expect(f"{table} of one {name}", LIMIT, saved.value(most))
    if whole.value(most) < 2 * LIMIT:
        raise Failure(f"there are too few rows of {table} to leave some out")
    return saved.value(f"SELECT sum(blocks) FROM {table} WHERE {other} = 0")


def compare_bounded(saved, whole):
    missing = {"windows": check_windows(saved, whole), "frees_by_stack": check_pairs(saved, whole, "free_sites", "backtrace_id", "free_backtrace_id"),
               "frees_by_thread": check_pairs(saved, whole, "thread_flows", "thread_id", "free_thread_id")}
    for kind, table in (("phases", "phases"), ("walks", "object_walks")):
        missing[kind] = whole.value(f"SELECT count(*) FROM {table}")
        expect(f"rows of {table}", 0, saved.value(f"SELECT count(*) FROM {table}"))
    found = {key[len("aggregate.left_out."):]: value for key, value in saved.rows("SELECT * FROM meta WHERE key GLOB 'aggregate.left_out.*'")}
    found.pop("extents", None)
    expect("what is said to be missing", missing, {key: int(value) for key, value in found.items()})


def compare(saved, whole, besides=frozenset()):
    tables = [name for (name,) in whole.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")]
    if [name for (name,) in saved.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")] != tables:
        raise Failure("there are other tables")
    n_rows = 0
    for table in sorted(set(tables) - besides):
        ours, theirs = saved.rows(f'SELECT * FROM "{table}"'), whole.rows(f'SELECT * FROM "{table}"')
        if table == "meta":
            ours, theirs = ([row for row in rows if row[0] not in TIMED and not row[0].startswith("aggregate.")] for rows in (sorted(ours), sorted(theirs)))
        for left, right in zip(ours, theirs):
            if any(map(differs, left, right)):
                raise Failure(f"{table}: {left} after a state, {right} of the whole")
        if len(ours) != len(theirs):
            raise Failure(f"{table}: {len(ours)} rows after a state, {len(theirs)} of the whole")
        n_rows += len(ours)
    return n_rows, len(tables)


def main():
    program, options = programs()[sys.argv[1]]
    if not shutil.which(str(program[0])):
        raise Skip(f"{program[0]} is not installed")
    tools = harness.Tools.from_environment()
    with harness.scratch() as folder:
        place = Path(folder)
        log = place / "run.dat"
        argv, ours = harness.record_argv(tools, "record", log, program, options)
        outcome = harness.run(argv, place, ours)
        if not log.exists():
            raise Failure(f"not recorded: {outcome.stderr.decode(errors='replace')}")
        whole = harness.import_log(tools, log, place / "whole.db", "--slim", "--no-symbols", "--only")
        is_bounded = sys.argv[1] == "bounded"
        limit = ["-l", str(LIMIT)] if is_bounded else []
        output = subprocess.run([SAVED_IMPORT, *limit, log, place / "saved.db", *SHARES], capture_output=True, text=True, timeout=300)
        if output.returncode != 0:
            raise Failure(f"{output.stdout}{output.stderr}")
        print(output.stdout, end="")
        saved = harness.Database(place / "saved.db")
        if is_bounded:
            compare_bounded(saved, whole)
        print("{} rows of {} tables are the same".format(*compare(saved, whole, BOUNDED if is_bounded else frozenset())))


harness.main(main)
