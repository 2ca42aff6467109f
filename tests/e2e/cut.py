#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cut.py: a packed log that is cut anywhere keeps the stacks of its remaining events.

A program that uses its processor for some tenths of a second finds new stacks all the time. Its log, cut to a half and to nine tenths, is imported without the
pool: very few of the remaining events may name a missing stack. The answer states once that the number of missing events is unknown; of
a log with some wrong bytes it states how much of the file cannot be read.
"""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402

PROGRAM = """
import ast, importlib, time
names = ("argparse", "decimal", "difflib", "inspect", "json", "pydoc", "tarfile", "unittest", "xml.dom.minidom", "zipfile")
end = time.process_time() + 0.4
i = 0
while time.process_time() < end:
    source = open(importlib.import_module(names[i % len(names)]).__file__).read()
    compile(ast.parse(source), "again", "exec")
    i += 1
"""
MIN_SHARE = 0.99
MIN_BLOCKS = 10000
# Backtrace 2 stands for the missing ones.
STACKS = """SELECT coalesce(sum(t.allocated_blocks), 0), sum(iif(t.backtrace_id = 2, t.allocated_blocks, 0)),
    count(*) FROM backtrace_totals AS t"""


def look(tools, log):
    database = harness.import_log(tools, log, log.with_suffix(".db"), "--no-symbols")
    return database.rows(STACKS)[0]


def headline(tools, database):
    output = subprocess.run([tools.query, "leaks", database], capture_output=True, text=True, env=harness.environment(), timeout=400)
    lines = [line for line in (output.stdout + output.stderr).splitlines() if "log damaged" in line]
    if len(lines) != 1 or "import a whole copy" not in lines[0]:
        raise Failure(f"what is lost is not said once: {output.stdout}{output.stderr}")
    return lines[0]


def flipped(tools, place, whole):
    """One wrong byte in each of ten frames: at least one frame in ten of the file is lost, and not more than the file has."""
    log = place / "flipped.dat"
    data = bytearray(whole)
    for i in range(1, 10):
        data[len(data) * i // 10] ^= 0xff
    log.write_bytes(data)
    database = harness.import_log(tools, log, log.with_suffix(".db"), "--no-symbols")
    lost = database.value("SELECT value FROM meta WHERE key = 'log.lost_bytes'")
    print(f"nine wrong bytes: {lost} of {len(whole)} bytes lost")
    if not 9 <= lost < len(whole) // 2:
        raise Failure(f"{lost} of {len(whole)} bytes are said to be lost")
    if "missing after that is unknown" in headline(tools, log.with_suffix(".db")):
        raise Failure("a log that is whole but for some bytes is said to be cut")


def main():
    tools = harness.Tools.from_environment()
    with harness.scratch() as place:
        place = Path(place)
        log = place / "run.dat"
        done = subprocess.run([tools.record, "-q", "-o", log, sys.executable, "-c", PROGRAM], capture_output=True,
                              env=harness.environment({"PYTHONMALLOC": "malloc"}), text=True, timeout=400)
        if done.returncode != 0:
            raise Failure(done.stderr)
        whole = log.read_bytes()
        for share in (0.5, 0.9, 0.97):
            part = place / f"part{share}.dat"
            part.write_bytes(whole[:int(len(whole) * share)])
            blocks, lost, stacks = look(tools, part)
            print(f"{share:.0%} of {len(whole)} bytes: {blocks} blocks of {stacks} stacks, {lost} without one")
            if blocks < MIN_BLOCKS or stacks < 100 or lost > (1 - MIN_SHARE) * blocks:
                raise Failure("too few have stacks")
            if "how much is missing after that is unknown" not in headline(tools, part.with_suffix(".db")):
                raise Failure("it is not said that more is missing than is known")
        flipped(tools, place, whole)


if __name__ == "__main__":
    harness.main(main)
