#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""follow.py end|interrupt|terminate: mtrace-import --follow beside a program that allocates until its input ends.

While it runs, the database is whole and grows, without rows. At the end of the recording, or after Ctrl-C, it holds
what an import of the finished log holds, or a part of it that is consistent in itself; SIGTERM leaves totals of that instant.
"""

import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402

PROGRAM = """
import os, time
keep = []
n = 0
while not os.path.exists("stop"):
    keep.append([str(i) * 3 for i in range(200)])
    del keep[:-20]
    n += 1
    if n % 100 == 0:
        print(n, flush=True)
    time.sleep(0.002)
"""

# Everything that totals say, but what depends on names.
TOTALS = ("SELECT * FROM backtrace_totals ORDER BY 1, 2", "SELECT * FROM timeline ORDER BY 1, 2",
          "SELECT * FROM free_sites ORDER BY 1, 2, 3", "SELECT * FROM snapshot_backtraces ORDER BY 1, 2")


def look(path):
    """(slim, allocations by totals, rows) of the database as it is now; None before the first."""
    try:
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        with db:
            return db.execute("SELECT (SELECT value FROM meta WHERE key = 'slim'), "
                              "(SELECT coalesce(sum(allocated_blocks), 0) FROM backtrace_totals), "
                              "(SELECT count(*) FROM allocation_rows)").fetchone()
    except sqlite3.OperationalError as error:
        if path.exists():
            raise Failure(f"the database cannot be read while it is followed: {error}") from error
        return None


def wait_for(path, what, condition, follower):
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        seen = look(path)
        if seen and condition(seen):
            return seen
        if follower.poll() is not None:
            raise Failure(f"mtrace-import ended with {follower.returncode} before {what}: {follower.stderr.read()}")
        time.sleep(0.05)
    raise Failure(f"{what} did not come: {look(path)}")


def end_of(process, what, status=0):
    try:
        _, said = process.communicate(timeout=400)
    except subprocess.TimeoutExpired:
        process.kill()
        raise Failure(f"{what} did not end") from None
    if process.returncode != status:
        raise Failure(f"{what} ended with {process.returncode}: {said}")


def terminate(tools, follower, database, turns):
    """What the program did since a round is in the totals that the signal leaves."""
    last = look(database)
    before = turns.stat().st_size
    while turns.stat().st_size == before:
        time.sleep(0.02)
    follower.send_signal(signal.SIGTERM)
    end_of(follower, "mtrace-import after SIGTERM", 128 + signal.SIGTERM)
    slim, allocations, rows = look(database)
    if not slim or rows or allocations <= last[1]:
        raise Failure(f"after SIGTERM: slim {slim}, {allocations} allocations, {rows} rows; the round before had {last[1]}")
    expect_advice(tools, database, "import the log again")


def expect_advice(tools, database, words):
    """Requests that only rows can answer."""
    asked = subprocess.run([tools.query, "leaks", database, "--from", "50%"], capture_output=True, text=True, timeout=400)
    if words not in asked.stderr or asked.returncode != 1:
        raise Failure(f"not said: {words}\n{asked.returncode} {asked.stderr}")


def check_end(tools, work, log, database, mode):
    slim, allocations, rows = look(database)
    if slim or rows != allocations or rows == 0:
        raise Failure(f"at the end: slim {slim}, {allocations} allocations, {rows} rows")
    if mode == "end":
        again = harness.import_log(tools, log, work / "again.db", "--no-symbols")
        followed = harness.Database(database)
        for sql in TOTALS:
            if again.rows(sql) != followed.rows(sql):
                raise Failure(f"an import of the finished log differs: {sql}")


def follow(tools, work, mode, follower, recorder):
    log, database = work / "run.dat", work / "run.db"
    first = wait_for(database, "the first round", lambda seen: seen[0] == 1 and seen[1] > 0, follower)
    second = wait_for(database, "a later round", lambda seen: seen[1] > first[1], follower)
    if first[2] or second[2]:
        raise Failure(f"rows while the log grows: {first}, {second}")
    expect_advice(tools, database, "until the recording has ended")
    if mode == "interrupt":
        follower.send_signal(signal.SIGINT)
        end_of(follower, "mtrace-import after Ctrl-C")
    elif mode == "terminate":
        terminate(tools, follower, database, work / "turns")
    (work / "stop").touch()
    end_of(recorder, "the recording")
    if mode == "end":
        end_of(follower, "mtrace-import")
    if mode != "terminate":
        check_end(tools, work, log, database, mode)
    left = sorted(path.name for path in work.iterdir() if ".part" in path.name)
    if left:
        raise Failure(f"left behind: {left}")
    return f"{mode}: {first[1]} allocations in the first round, {second[1]} later"


def main(mode):
    tools = harness.Tools.from_environment()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        # Before the log exists: the follower waits for it.
        follower = subprocess.Popen([tools.importer, "--follow", "--no-symbols", work / "run.dat", work / "run.db"], stderr=subprocess.PIPE,
                                    text=True, env=harness.environment())
        with (work / "turns").open("w") as turns:
            recorder = subprocess.Popen([tools.record, "-o", work / "run.dat", "--", sys.executable, "-c", PROGRAM], cwd=work, stdout=turns,
                                        env=harness.environment({"PYTHONMALLOC": "malloc"}), stderr=subprocess.PIPE, text=True)
        try:
            return follow(tools, work, mode, follower, recorder)
        finally:
            (work / "stop").touch()
            for process in (recorder, follower):
                if process.poll() is None:
                    process.kill()
                    process.communicate()


if __name__ == "__main__":
    try:
        print(main(sys.argv[1]))
    except Failure as failure:
        sys.exit(f"follow: {failure}")
