#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""processes.py record|preload: every child that the C library creates itself is recorded completely, and has its parent.

forkpty, _Fork, system, popen and daemon, with --follow-children. The blocks of each have a size of their own.
"""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure, Skip  # noqa: E402

SIZES = """
SELECT size_bytes / 1000, p.process_id, parent.process_id, parent.parent_process_id, p.end_kind, p.end_value, count(*)
FROM allocations a JOIN processes p ON p.process_id = a.process_id
LEFT JOIN processes parent ON parent.process_id = p.parent_process_id
WHERE size_bytes % 1000 = 777 AND is_leaked GROUP BY 2 ORDER BY 1, 2"""


def record(tools, mode, log, place):
    options = ["-q", "--follow-children", "--wait"]
    argv, env = harness.record_argv(tools, mode, log, [tools.workloads / "libc_children"], options)
    outcome = harness.run(argv, place, {**env, **({"MTRACE_FOLLOW_CHILDREN": "1"} if mode == "preload" else {})})
    if outcome.status == 77:
        raise Skip(outcome.stderr.decode().strip())
    if outcome.status != 0 or b"children_ok 4\n" not in outcome.stdout:
        raise Failure(f"ended with {outcome.status}: {outcome.stdout.decode()}{outcome.stderr.decode()}")


def wait_for_daemon(tools, log, place):
    """Without a recorder that waits for it, the end of a daemon is not reported."""
    for round_ in range(200):
        database = harness.import_log(tools, log, place / f"{round_}.db", "--no-symbols")
        rows = database.rows(SIZES)
        if rows and rows[-1][0] == 5 and rows[-1][4] == "exit":
            return database
        time.sleep(0.05)
    raise Failure(f"the daemon's log is not found: {rows}")


def check(rows):
    """The shell between main and the program that system and popen start is a process of its own."""
    wanted = [(1, None, None, 1), (2, 1, None, 3), (3, 1, None, 3), (4, "shell", 1, 3), (4, "shell", 1, 3), (5, 1, None, 3)]
    found = [(size, "shell" if size == 4 and parent else parent, grandparent, n)
             for size, _, parent, grandparent, kind, value, n in rows if (kind, value) == ("exit", 0)]
    if found != wanted:
        raise Failure(f"processes (size, parent, grandparent, blocks)\n  wanted {wanted}\n  found  {found}\n  of     {rows}")


def main():
    mode = sys.argv[1]
    tools = harness.Tools.from_environment()
    with harness.scratch() as scratch:
        place = Path(scratch)
        (place / "logs").mkdir()
        log = place / "logs" / "run.dat"
        record(tools, mode, log, place)
        check(wait_for_daemon(tools, log, place).rows(SIZES))
        if mode == "record" and list(log.parent.glob("*.live")):
            raise Failure(f"not packed: {sorted(log.parent.glob('*.live'))}")
        # They are found by the parent's record of them, no longer by their names.
        os.rename(log, log.with_name("renamed.dat"))
        renamed = harness.import_log(tools, log.with_name("renamed.dat"), place / "renamed.db", "--no-symbols")
        sizes = {row[0] for row in renamed.rows(SIZES)}
        if not {1, 2, 3} <= sizes:
            raise Failure(f"forkpty and _Fork are not recorded in the parent's log: only {sizes}")


harness.main(main)
