#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""saved_state.py PART: an import in pieces, each in its own process that continues from the saved state of the one before, makes the same database
as an import of the whole: row for row, in all tables.

python3, sqlite3, threads, groups, sampled   the recorded program"""

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
TIMED = ("import.seconds", "symbols.seconds")


def programs():
    workloads = Path(os.environ["MTRACE_TEST_WORKLOADS"])
    return {
        "python3": ([sys.executable, "-c", PYTHON], ()),
        "sqlite3": (["sqlite3", ":memory:", SQL], ()),
        "threads": ([workloads / "threads"], ()),
        "groups": ([workloads / "groups", "many"], ()),
        "sampled": ([sys.executable, "-c", PYTHON], ("--sample-bytes=4096",)),
    }


def differs(left, right):
    """A sum of floating point numbers depends on their order, a little."""
    if isinstance(left, float) and isinstance(right, float):
        return not math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-3)
    return left != right


def compare(saved, whole):
    tables = [name for (name,) in whole.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")]
    if [name for (name,) in saved.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")] != tables:
        raise Failure("there are other tables")
    n_rows = 0
    for table in tables:
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
        output = subprocess.run([SAVED_IMPORT, log, place / "saved.db", *SHARES], capture_output=True, text=True, timeout=300)
        if output.returncode != 0:
            raise Failure(f"{output.stdout}{output.stderr}")
        print(output.stdout, end="")
        saved = harness.Database(place / "saved.db")
        print("{} rows of {} tables are the same".format(*compare(saved, whole)))


harness.main(main)
