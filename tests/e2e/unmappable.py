#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A recording in a folder whose files can be written, but not mapped: the pool goes elsewhere and no event is missing.

Children's logs need links beside the first one, which cannot be created there: they run unharmed, after a warning.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
import plain_fuse  # noqa: E402
import raw_log  # noqa: E402
from harness import Failure, Skip  # noqa: E402

ALLOCATED = "SELECT count(*) FROM allocations WHERE size_bytes % 1000 = 777"


def record(tools, place, log, workload, *options):
    argv, env = harness.record_argv(tools, "record", log, [tools.workloads / workload], options)
    outcome = harness.run(argv, place, env)
    if outcome.status != 0:
        raise Failure(f"{workload} ended with {outcome.status}: {outcome.stderr.decode()}")
    return outcome


def check(tools, place, folder):
    run = place / "run"
    run.mkdir()
    outcome = record(tools, run, folder / "run.dat", "threads")
    expected = [int(line.split()[2]) for line in outcome.stdout.decode().splitlines() if line.startswith("expect allocated ")]
    found = harness.import_log(tools, folder / "run.dat", place / "run.db", "--no-symbols").value(ALLOCATED)
    if expected != [found]:
        raise Failure(f"the workload prints {expected} blocks, the database {found}")
    output, elsewhere = outcome.stderr.decode(), raw_log.live_log_elsewhere(folder / "run.dat")
    if f"the live log is '{elsewhere}'" not in output:
        raise Failure(f"no message says that the live log is {elsewhere}: {output}")
    if elsewhere.exists() or (folder / "run.dat.live").is_symlink():
        raise Failure(f"left behind: {elsewhere}")
    followed = record(tools, run, folder / "followed.dat", "libc_children", "--follow-children")
    output = followed.stderr.decode()
    if "is '/dev/shm/mtrace-" not in output.splitlines()[0] or "children will not be recorded" not in output.splitlines()[1]:
        raise Failure(f"no message about the place of the log, or about children: {output}")
    harness.import_log(tools, folder / "followed.dat", place / "followed.db", "--no-symbols")
    print(f"{found} blocks; {output}")


def main():
    tools = harness.Tools.from_environment()
    with harness.scratch() as scratch:
        folder = Path(scratch) / "plain"
        folder.mkdir()
        try:
            mounted = plain_fuse.PlainFuse(folder)
        except OSError as why:
            raise Skip(f"no file system of our own can be mounted: {why}") from None
        try:
            check(tools, Path(scratch), folder)
        finally:
            mounted.unmount()


harness.main(main)
