#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""steps.py: questions that must read rows take steps in proportion to them, those that need not take the same for any number.

The steps are those of SQLite's virtual machine (count_steps.c), which no busy machine makes more of.
"""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import harness  # noqa: E402

STACKS = 500
EVENTS = (50_000, 400_000)
OF_ROWS = [["leaks", "from=50%"], ["leaks-by-stack", "from=50%"], ["leaks", "at=50%"], ["leaks", "size_min=100"], ["growth", "from=50%"], ["groups", "from=25%", "to=75%"],
           ["live", "at=50%"], ["tree", "at=50%"], ["hot", "thread=1"], ["temporary", "from=50%"], ["fragmentation", "at=50%"], ["pinning", "at=50%"],
           ["holes", "at=50%"], ["timeline", "size_min=100"], ["diff", "at=20%", "at=90%"]]
OF_TOTALS = [["summary"], ["leaks"], ["growth"], ["peak"], ["hot"], ["groups"], ["temporary"], ["reallocs"], ["by-module"], ["threads"], ["tree"], ["timeline"],
             ["size-histogram"], ["lifetime-histogram"]]


def steps(database, question):
    run = subprocess.run([os.environ["MTRACE_TEST_STEPS"], database, *question], capture_output=True, text=True, env=harness.environment(), timeout=300)
    if run.returncode:
        raise harness.Failure(f"{question}: {run.stderr}")
    return int(run.stdout)


def make(tools, folder, events):
    log, database = folder / f"{events}.dat", folder / f"{events}.db"
    subprocess.run([os.environ["MTRACE_TEST_GENERATE"], "-p", "-e", str(events), "-s", str(STACKS), log], check=True, capture_output=True)
    harness.import_log(tools, log, database)
    return database


def main():
    tools = harness.Tools.from_environment()
    with harness.scratch() as scratch:
        small, large = (make(tools, Path(scratch), events) for events in EVENTS)
        ratio = EVENTS[1] / EVENTS[0]
        for questions, most in ((OF_ROWS, 1.25 * ratio), (OF_TOTALS, 2)):
            for question in questions:
                few, many = steps(small, question), steps(large, question)
                print(f"{' '.join(question)}: {few:,} and {many:,} steps, {many / few:.2f} times as many")
                if many > most * few:
                    raise harness.Failure(f"{' '.join(question)}: {few:,} steps for {EVENTS[0]:,} events, {many:,} for {EVENTS[1]:,}")


harness.main(main)
