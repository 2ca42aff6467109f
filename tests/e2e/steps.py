#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""steps.py: queries that must read rows take steps in proportion to them, those that need not take the same for any number; none takes
more than in proportion to the call sites.

The steps are those of SQLite's virtual machine (count_steps.c), whose number does not depend on the load of the machine.
"""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import harness  # noqa: E402

STACKS = (500, 4_000)
EVENTS = (50_000, 400_000)
OF_ROWS = [["leaks", "from=50%"], ["leaks-by-stack", "from=50%"], ["leaks", "at=50%"], ["leaks", "size_min=100"], ["growth", "from=50%"], ["groups", "from=25%", "to=75%"],
           ["live", "at=50%"], ["tree", "at=50%"], ["hot", "thread=1"], ["temporary", "from=50%"], ["fragmentation", "at=50%"], ["pinning", "at=50%"],
           ["holes", "at=50%"], ["timeline", "size_min=100"], ["diff", "at=20%", "at=90%"]]
OF_TOTALS = [["summary"], ["leaks"], ["growth"], ["peak"], ["hot"], ["groups"], ["temporary"], ["reallocs"], ["by-module"], ["threads"], ["tree"], ["timeline"],
             ["size-histogram"], ["lifetime-histogram"]]


def steps(database, query):
    run = subprocess.run([os.environ["MTRACE_TEST_STEPS"], database, *query], capture_output=True, text=True, env=harness.environment(), timeout=300)
    if run.returncode:
        raise harness.Failure(f"{query}: {run.stderr}")
    return int(run.stdout)


def make(tools, folder, events, stacks):
    log, database = folder / f"{events}-{stacks}.dat", folder / f"{events}-{stacks}.db"
    subprocess.run([os.environ["MTRACE_TEST_GENERATE"], "-p", "-e", str(events), "-s", str(stacks), log], check=True, capture_output=True)
    harness.import_log(tools, log, database)
    return database


def compare(small, large, queries, most, what):
    for query in queries:
        few, many = steps(small, query), steps(large, query)
        print(f"{' '.join(query)}: {few:,} and {many:,} steps, {many / few:.2f} times as many for more {what}")
        if many > most * few:
            raise harness.Failure(f"{' '.join(query)}: {few:,} steps, and {many:,} for more {what}, at most {most:.1f} times as many are good")


def main():
    tools = harness.Tools.from_environment()
    with harness.scratch() as scratch:
        small = make(tools, Path(scratch), EVENTS[0], STACKS[0])
        large = make(tools, Path(scratch), EVENTS[1], STACKS[0])
        various = make(tools, Path(scratch), EVENTS[0], STACKS[1])
        compare(small, large, OF_ROWS, 1.25 * EVENTS[1] / EVENTS[0], "rows")
        compare(small, large, OF_TOTALS, 2, "rows")
        compare(small, various, OF_ROWS + OF_TOTALS, 1.25 * STACKS[1] / STACKS[0], "stacks")


harness.main(main)
