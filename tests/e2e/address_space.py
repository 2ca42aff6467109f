#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""address_space.py: stacks and libraries lie where pthreads and ld.so report them, and have no invented times."""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402

GUARD = 128 << 10  # parts of a stack, as pthreads count it, that hold no objects: guard page, static TLS, the thread's own structure


def main():
    tools = harness.Tools.from_environment()
    with harness.scratch() as place:
        place = Path(place)
        done = subprocess.run([tools.record, "-q", "-o", place / "run.dat", "--", tools.workloads / "address_space"], timeout=400,
                              env=harness.environment(), capture_output=True, text=True)
        output = [line.split() for line in done.stdout.splitlines()]
        database = harness.import_log(tools, place / "run.dat", place / "run.db")
        check_stacks([(int(line[1]), int(line[2])) for line in output if line[0] == "stack"], database)
        check_library([line for line in output if line[0] == "opened"], database)
        for row in database.rows("SELECT what, mapped_ns, seen_ns FROM mappings WHERE what <> 'mapping' AND mapped_ns IS NOT NULL"):
            raise Failure(f"the collector did not see this mapped, but it has a time: {row}")
        kinds = {row[0] for row in database.rows("SELECT DISTINCT what FROM mapping_levels")}
        if not {"library", "stack", "heap"} <= kinds:
            raise Failure(f"only {kinds} have levels")
        picture = place / "mappings.svg"
        subprocess.run([tools.query, "mmaps", place / "run.db", "-o", picture], check=True, env=harness.environment(), timeout=400)
        for name in ("stacks of threads", "heaps", "libraries", "mapped by the program"):
            if name not in picture.read_text():
                raise Failure(f"the picture does not show {name}")


def check_stacks(output, database):
    rows = database.rows("SELECT address, length_bytes, seen_ns, unmapped_ns FROM mappings WHERE what = 'stack'")
    if len(output) != 3 or len(rows) != 4:
        raise Failure(f"stacks of main and of {output} are expected: {rows}")
    for address, size in output:
        found = [(a, n) for a, n, *_ in rows if address <= a and a + n <= address + size]
        if len(found) != 1 or found[0][1] < size - GUARD:
            raise Failure(f"a stack of {size} bytes at {address} is expected: {rows}")
    if sum(end is not None for *_, end in rows) != 3:
        raise Failure(f"three of the threads ended: {rows}")


def check_library(output, database):
    if not output:
        print("libsqlite3.so.0 is not there: no library was opened")
        return
    opened_unix, load_address = int(output[0][1]), int(output[0][2])
    start_unix, start, end = database.rows("SELECT start_unix_ns, start_ns, end_ns FROM processes")[0]
    rows = database.rows(f"SELECT seen_ns, path FROM mappings WHERE what = 'library' AND address = {load_address}")
    opened = opened_unix - start_unix + start
    if len(rows) != 1 or "libsqlite3" not in rows[0][1] or not opened - 10**6 <= rows[0][0] <= end:
        raise Failure(f"libsqlite3 at {load_address}, seen after {opened}, is expected: {rows}")


if __name__ == "__main__":
    harness.main(main)
