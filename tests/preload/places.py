#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""places.py unwritable|unmappable|nowhere: where a bare preload puts its log when the requested place is impossible.

unwritable  no file can be made there: the log is in $TMPDIR
unmappable  files there can be written, but not mapped: the same, and nothing is left there
nowhere     nor in $TMPDIR: the log is in /dev/shm
Each time the diagnostics and the log itself say so, and all of the program's blocks are recorded.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
import plain_fuse  # noqa: E402
import raw_log  # noqa: E402
from harness import Failure, Skip  # noqa: E402

UNWRITABLE = Path("/proc/self")  # for root, too


def unmappable(place):
    folder = place / "plain"
    folder.mkdir()
    try:
        return folder, plain_fuse.PlainFuse(folder).unmount
    except OSError as why:
        raise Skip(f"no file system of our own can be mounted: {why}") from None


def check(tools, place, asked, wanted, temporary):
    """The log was requested as `asked`, and is at `wanted`."""
    diagnostics = place / "diagnostics"
    env = {"LD_PRELOAD": tools.collector, "MTRACE_OUTPUT": str(asked), "MTRACE_LOG": "info",
           "MTRACE_LOGFILE": str(diagnostics), "TMPDIR": str(temporary)}
    outcome = harness.run([tools.workloads / "threads"], place / "run", env)
    if outcome.status != 0 or outcome.stderr:
        raise Failure(f"the program ended with {outcome.status}: {outcome.stderr.decode()}")
    output = diagnostics.read_text()
    print(output, end="")
    if asked.exists() or not wanted.exists():
        raise Failure(f"{asked} exists: {asked.exists()}, {wanted} exists: {wanted.exists()}")
    for text in (f"cannot create a log here: {asked} (errno ", f"not at the requested path, but at {wanted}\n"):
        if text not in output:
            raise Failure(f"the diagnostics do not say: {text}")
    if f"not at the requested path, but at {wanted}".encode() not in wanted.read_bytes():
        raise Failure("the log does not say where it is")
    expected = [line.split()[2] for line in outcome.stdout.decode().splitlines() if line.startswith("expect allocated ")]
    found = [size for _, _, size in raw_log.events(wanted) if size is not None and size % 1000 == 777]
    if expected != [str(len(found))]:
        raise Failure(f"the workload prints {expected} blocks, the log {len(found)}")


def main():
    what = sys.argv[1]
    tools = harness.Tools.from_environment()
    with harness.scratch() as scratch:
        place = Path(scratch)
        name = f"mtrace-test-{os.getpid()}.dat"
        folder, done = unmappable(place) if what == "unmappable" else (UNWRITABLE, lambda: None)
        asked = folder / name
        temporary = UNWRITABLE if what == "nowhere" else place / "temporary"
        for folder in ("run", "temporary"):
            (place / folder).mkdir()
        wanted = (Path("/dev/shm") if what == "nowhere" else temporary) / name
        try:
            check(tools, place, asked, wanted, temporary)
        finally:
            wanted.unlink(missing_ok=True)
            done()


harness.main(main)
