#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stopped_recorder.py kill|pause [--threads N]: mtrace-record ends, or stops for a while, at every step of packing.

MTRACE_RECORD_FAULT=POINT:N:SIGNAL lets it send itself the signal there (lib/base/fault_point.h), while a program
allocates as fast as it can and counts its completed calls in shared memory, as for survive.py. The import has every call:
as the files are, and again after `mtrace-record --pack` made one of them. Exit status 77: a build without such points.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
import survive  # noqa: E402
from harness import Failure, Skip  # noqa: E402

RUNNING = ("taken", "encoded", "appended", "packed", "freed", "recycled", "taken:9", "encoded:40", "packed:70")
AT_THE_END = ("defined", "trailer", "finished", "removed")


def wait_for_state(pid, states, point):
    harness.wait_until(f"the recorder comes to '{point}'", lambda: harness.state_of(pid) in states)


def end_program(pid):
    os.kill(pid, signal.SIGKILL)
    survive.wait_until_gone(pid)


def kill(process, pid, point):
    """The recorder is killed at the point; the program runs on for a while."""
    if point in AT_THE_END:
        time.sleep(0.03)
        os.kill(pid, signal.SIGKILL)
    wait_for_state(process.pid, "ZX", point)
    if point not in AT_THE_END:
        time.sleep(0.02)
        end_program(pid)
    process.communicate()
    if process.returncode != -signal.SIGKILL:
        raise Failure(f"'{point}': mtrace-record ended with {process.returncode} instead of by SIGKILL")


def pause(process, pid, point):
    """The recorder stops at the point, the program does not; both continue; then the program ends."""
    if point in AT_THE_END:
        time.sleep(0.03)
        os.kill(pid, signal.SIGKILL)
    wait_for_state(process.pid, "T", point)
    time.sleep(0.02)
    os.kill(process.pid, signal.SIGCONT)
    if point not in AT_THE_END:
        time.sleep(0.02)
        os.kill(pid, signal.SIGKILL)
    stderr = process.communicate(timeout=400)[1].decode(errors="replace")
    if process.returncode != 128 + signal.SIGKILL:
        raise Failure(f"'{point}': mtrace-record ended with {process.returncode}: {stderr}")


def check(tools, args, place):
    counts = survive.published(place / "counts")
    total = survive.check(harness.import_log(tools, place / "run.dat", place / "run.db", "--no-symbols"), args, counts)
    packed = subprocess.run([str(tools.record), "--pack", str(place / "run.dat")], capture_output=True, text=True,
                            env=harness.environment())
    if packed.returncode != 0:
        raise Failure(f"--pack: {packed.stderr}")
    if (place / "run.dat.live").exists():
        raise Failure("the live log is still there after --pack")
    survive.check(harness.import_log(tools, place / "run.dat", place / "packed.db", "--no-symbols"), args, counts)
    return total


def one_point(tools, args, place, point):
    number = signal.SIGKILL if args.how == "kill" else signal.SIGSTOP
    fault = f"{point if ':' in point else point + ':1'}:{int(number)}"
    process, pid = survive.start(tools, args, place, {"MTRACE_RECORD_FAULT": fault})
    try:
        {"kill": kill, "pause": pause}[args.how](process, pid, point)
        return check(tools, args, place)
    finally:
        for left in (pid, process.pid):
            if harness.state_of(left) not in "ZX":
                os.kill(left, signal.SIGKILL)


def main():
    parser = argparse.ArgumentParser(description="stops the recorder at every step of packing")
    parser.add_argument("how", choices=("kill", "pause"))
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    args.mode = "record"
    tools = harness.Tools.from_environment()
    if b"MTRACE_RECORD_FAULT" not in Path(tools.record).read_bytes():
        raise Skip("mtrace-record was built without fault points (MTRACE_DEVELOPER)")
    total = 0
    for point in RUNNING + AT_THE_END:
        with harness.scratch() as place:
            try:
                total += one_point(tools, args, Path(place), point)
            except Failure as how:
                raise Failure(f"at '{point}': {how}") from None
    print(f"{len(RUNNING + AT_THE_END)} points, {args.threads} threads: {total} completed calls, none lost")


if __name__ == "__main__":
    harness.main(main)
