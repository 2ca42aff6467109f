#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""interrupted_import.py: an import that a signal ends says so in its exit status, as a shell expects, and leaves nothing
behind: no temporary file, and a target that is what it was before. The signal comes while the log is read, and while
rows are written."""

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402

PROGRAM = "keep = [[str(i) for i in range(k % 1000)] for k in range(2000)]"


def part_bytes(work):
    """Size of the database in the making, None before it is made."""
    for path in work.iterdir():
        if ".part-" in path.name:
            return path.stat().st_size
    return None


def interrupt(tools, log, work, number, least_bytes):
    target = work / "run.db"
    before = target.read_bytes()
    importer = subprocess.Popen([tools.importer, "--force", "--no-symbols", log, target], stderr=subprocess.PIPE, text=True,
                                env=harness.environment())
    while importer.poll() is None:
        size = part_bytes(work)
        if size is not None and size >= least_bytes:
            importer.send_signal(number)
            break
        time.sleep(0.0005)
    _, said = importer.communicate(timeout=60)
    if importer.returncode != 128 + number:
        raise Failure(f"{number.name} at {least_bytes} bytes: exit status {importer.returncode}, {said}")
    if said != "mtrace-import: interrupted\n":
        raise Failure(f"{number.name}: said {said!r}")
    if [path.name for path in work.iterdir()] != ["run.db"] or target.read_bytes() != before:
        raise Failure(f"{number.name}: left {sorted(path.name for path in work.iterdir())}")


def main():
    tools = harness.Tools.from_environment()
    with tempfile.TemporaryDirectory() as folder:
        log, work = Path(folder) / "run.dat", Path(folder) / "work"
        work.mkdir()
        subprocess.run([tools.record, "-o", log, "--", sys.executable, "-c", PROGRAM], check=True, stderr=subprocess.DEVNULL,
                       env=harness.environment({"PYTHONMALLOC": "malloc"}))
        harness.import_log(tools, log, work / "run.db", "--no-symbols", "--slim")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            interrupt(tools, log, work, number, 0)
            interrupt(tools, log, work, number, 1 << 20)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"interrupted_import: {failure}")
