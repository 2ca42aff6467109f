# SPDX-License-Identifier: MIT
"""A live report compared with the rows of the finished database, which depend on neither totals nor as-of snapshots."""

import csv
import io
import sqlite3
import subprocess

import harness
from harness import Failure, expect


def rows(text):
    return [{name: int(value) if value.lstrip("-").isdigit() else value or None for name, value in row.items()}
            for row in csv.DictReader(io.StringIO(text))]


def ask(database, sql, *values):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in connection.execute(sql, values)]
    finally:
        connection.close()


def run(argv, place, env=None, status=0):
    outcome = subprocess.run([str(word) for word in argv], cwd=place, env={**harness.environment(), **(env or {})}, capture_output=True, text=True,
                             timeout=400, stdin=subprocess.DEVNULL)
    if status is not None and outcome.returncode != status:
        raise Failure(f"{argv}: exit status {outcome.returncode}\n{outcome.stdout}{outcome.stderr}")
    return outcome


# ?1 is the time.
ALLOCATED = "FROM allocations WHERE process_id = 1 AND alloc_ns <= ?1"
LIVE = "(free_ns IS NULL OR free_ns > ?1)"
USAGE = f"count(*) AS blocks, sum(size_bytes) AS bytes, total({LIVE}) AS live_blocks, total(size_bytes * {LIVE}) AS live_bytes"


def usage_of(row):
    return row["allocated_blocks"], row["allocated_bytes"], row["leaked_blocks"], row["leaked_bytes"]


def usage_by(database, column, at):
    return {row[column]: (row["blocks"], row["bytes"], int(row["live_blocks"]), int(row["live_bytes"]))
            for row in ask(database, f"SELECT {column}, {USAGE} {ALLOCATED} GROUP BY 1", at)}


def check_threads(database, report, at):
    threads = rows(report)
    freed = {row["free_thread_id"]: row["n"] for row in ask(
        database, "SELECT free_thread_id, sum(size_bytes) AS n FROM allocations WHERE free_ns <= ?1 AND process_id = 1 GROUP BY 1", at)}
    wanted = usage_by(database, "thread_id", at)
    for row in threads:
        expect(f"thread {row['thread_id']}", usage_of(row), wanted.pop(row["thread_id"], (0, 0, 0, 0)))
        expect(f"freed by {row['thread_id']}", row["freed_bytes"], freed.get(row["thread_id"], 0))
    expect("threads that are missing", wanted, {})
    return sum(row["leaked_bytes"] for row in threads), len(threads)


def check_stacks(database, report, at):
    got = sorted(usage_of(row) for row in rows(report))
    expect("stacks", got, sorted(usage_by(database, "backtrace_id", at).values()))
    return sum(row[3] for row in got)
