#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cleared_environment.py record|preload: a process that clears its environment and executes another program is followed into that one.

The process itself does so, or env -i, or a child. Each executed program makes 300 blocks of a size of its own.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402

# The C library's array, which Python's own os.environ is a copy of.
EMPTY = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
if sys.argv[1] == "replaced":
    ctypes.c_void_p.in_dll(libc, "environ").value = ctypes.addressof((ctypes.c_char_p * 1)())
else:
    libc.clearenv()
if sys.argv[2] == "child" and os.fork():
    os.wait()
    sys.exit(0)
libc.execvp(sys.argv[3].encode(), (ctypes.c_char_p * (len(sys.argv) - 2))(*(word.encode() for word in sys.argv[3:]), None))
sys.exit("not executed")
"""

BLOCKS = "SELECT count(*) FROM allocations WHERE size_bytes = 2777"


def cases(tools):
    made = [str(tools.workloads / "exec_again"), "2"]
    python = [sys.executable, "-c", EMPTY]
    yield "env", ["env", "-i", *made]
    yield "env twice", ["env", "-i", "env", "-i", *made]
    yield "a shell's exec", ["sh", "-c", 'exec env -i "$@"', "sh", *made]
    yield "a shell's child", ["sh", "-c", 'env -i "$@"; true', "sh", *made]
    for how in ("cleared", "replaced"):
        for who in ("itself", "child"):
            yield f"{how}, {who}", [*python, how, who, *made]


def main():
    mode = sys.argv[1]
    tools = harness.Tools.from_environment()
    for what, program in cases(tools):
        for options in ([], ["--follow-children"]):
            if not options and ("child" in what or mode == "preload"):
                continue  # it is not followed; without a recorder no process joins the images
            with harness.scratch() as scratch:
                place = Path(scratch)
                log = place / "run.dat"
                argv, env = harness.record_argv(tools, mode, log, program, ["-q", *options, *(["--wait"] if options else [])])
                outcome = harness.run(argv, place, {**env, **({"MTRACE_FOLLOW_CHILDREN": "1"} if mode == "preload" else {})})
                if outcome.status != 0:
                    raise Failure(f"{what}: ended with {outcome.status}: {outcome.stdout.decode()}{outcome.stderr.decode()}")
                found = harness.import_log(tools, log, place / "run.db", "--no-symbols").value(BLOCKS)
                if found != 300:
                    raise Failure(f"{what} {options}: {found} blocks of 300; there are {sorted(path.name for path in place.iterdir())}")


harness.main(main)
