#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""modes.py record|preload: only its owner may read a recording, whatever umask the program or its caller has.

The program, a shell, changes its umask; the log of the command it starts is made after that.
"""

import os
import stat
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402


def modes_during(tools, mode, place, umask):
    """(mode, name) of all files beside the log, seen while the program runs."""
    log = place / "run.dat"
    command = f'umask {umask}; stat -c "%a %n" {place}/*'
    argv, env = harness.record_argv(tools, mode, log, ["/bin/sh", "-c", command], ["-q", "--follow-children"])
    if mode == "preload":
        env |= {"MTRACE_FOLLOW_CHILDREN": "1", "MTRACE_LOG": "info", "MTRACE_LOGFILE": str(place / "diagnostics")}
    outcome = harness.run(argv, place, env)
    if outcome.status != 0:
        raise Failure(f"ended with {outcome.status}: {outcome.stderr.decode()}")
    return [tuple(line.split()) for line in outcome.stdout.decode().splitlines()]


def check(tools, mode, place, umask):
    during = modes_during(tools, mode, place, umask)
    after = [(oct(stat.S_IMODE(path.stat().st_mode))[2:], str(path)) for path in sorted(place.iterdir())]
    print(*during, *after, sep="\n")
    if len(during) < 2 or len(after) < 2:
        raise Failure("the logs of the shell and of its command are not both there")
    wrong = [found for found in during + after if found[0] != "600"]
    if wrong:
        raise Failure(f"with umask {umask} others may read, or the owner may not: {wrong}")


def main():
    mode = sys.argv[1]
    tools = harness.Tools.from_environment()
    for umask in ("0", "0777"):
        os.umask(int(umask, 8) & 0o077)
        with harness.scratch() as scratch:
            check(tools, mode, Path(scratch), umask)


harness.main(main)
