#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""interrupted_import.py: an import that a signal ends has the exit status that a shell expects, and leaves no
temporary file, and the target as it was before. The signal comes while the log is read, while rows
are written, and in a step that does not end."""

import os
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


# The last step of an import before its database is renamed to its target.
ENDLESS = """
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int fsync(int fd)
{
    (void)fd;
    close(creat(getenv("MTRACE_TEST_BEGUN"), 0600));
    for (;;)
        usleep(1000);
}
"""


def endless_fsync(folder):
    (folder / "endless.c").write_text(ENDLESS)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "endless.so", folder / "endless.c"], check=True)
    return {"LD_PRELOAD": str(folder / "endless.so"), "MTRACE_TEST_BEGUN": str(folder / "begun"),
            "ASAN_OPTIONS": ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]))}


def part_bytes(work):
    """Size of the database in the making, -1 before it is made."""
    return max((path.stat().st_size for path in work.iterdir() if ".part-" in path.name), default=-1)


def interrupt(tools, log, work, number, is_time, env=None):
    target = work / "run.db"
    before = target.read_bytes()
    importer = subprocess.Popen([tools.importer, "--force", "--no-symbols", log, target], stderr=subprocess.PIPE, text=True,
                                env=harness.environment(env))
    while importer.poll() is None:
        if is_time():
            importer.send_signal(number)
            break
        time.sleep(0.0005)
    _, output = importer.communicate(timeout=300)
    if importer.returncode != 128 + number:
        raise Failure(f"{number.name}: exit status {importer.returncode}, {output}")
    if output != "mtrace-import: interrupted\n":
        raise Failure(f"{number.name}: printed {output!r}")
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
            interrupt(tools, log, work, number, lambda: part_bytes(work) >= 0)
            interrupt(tools, log, work, number, lambda: part_bytes(work) >= 1 << 20)
        env = endless_fsync(Path(folder))
        interrupt(tools, log, work, signal.SIGTERM, Path(env["MTRACE_TEST_BEGUN"]).exists, env)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"interrupted_import: {failure}")
