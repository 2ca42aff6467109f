#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ends.py: the database contains what the recorder learns of a process at its end.

The program is killed by a signal, after an exec or not, after it touched 50 MB that no sample saw. It asks the kernel
for its highest resident size itself: both must agree. What the kernel counted of a child, or of the image before an
exec, is not the program's.
"""

import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402

TOUCHED_BYTES = 50_000_000
PROGRAM = f"""
import os, resource, signal
block = bytearray({TOUCHED_BYTES})
del block
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, flush=True)
os.kill(os.getpid(), signal.SIGSEGV)
"""
LAST = "SELECT end_kind, end_value, max_rss_bytes FROM processes ORDER BY process_id DESC LIMIT 1"


def record(tools, place, options, argv):
    log = place / "run.dat"
    done = subprocess.run([tools.record, "-f", "-q", "--sample-memory", "0", *options, "-o", log, "--", *argv],
                          capture_output=True, env=harness.environment(), text=True, timeout=400)
    if done.returncode != 128 + signal.SIGSEGV:
        raise Failure(f"mtrace-record ended with {done.returncode}: {done.stderr}")
    kind, value, rss = harness.import_log(tools, log, place / "run.db", "--force", "--no-symbols").rows(LAST)[0]
    if (kind, value) != ("signal", signal.SIGSEGV):
        raise Failure(f"{argv}: ended by {kind} {value}")
    print(f"{options} {argv}: SIGSEGV, {rss} bytes; the program saw {done.stdout.strip()}")
    return rss, int(done.stdout)


def check_own(tools, place, argv):
    rss, seen = record(tools, place, [], argv)
    if not rss or not seen <= rss <= seen + 10_000_000:
        raise Failure(f"{argv}: {rss} resident bytes, the program saw {seen}")


def check_mixed(tools, place, options, argv):
    rss, seen = record(tools, place, options, argv)
    if rss is not None:
        raise Failure(f"{argv}: {rss} resident bytes may be another's, who saw {seen}")


def main():
    tools = harness.Tools.from_environment()
    with harness.scratch() as place:
        place = Path(place)
        program = place / "program.py"
        program.write_text(PROGRAM)
        check_own(tools, place, [sys.executable, program])
        check_mixed(tools, place, ["--follow-children"], ["/bin/sh", "-c", f"exec {sys.executable} {program}"])
        check_mixed(tools, place, [], ["/bin/sh", "-c", f"{sys.executable} {program}; kill -SEGV $$"])


if __name__ == "__main__":
    harness.main(main)
