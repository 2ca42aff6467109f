#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""survive.py [--rounds N] [--threads N] [--mode record|preload] [--kill program|recorder|both] [--seed N]

Kills a program with SIGKILL at random times while it allocates and frees as fast as it can. The program counts its
completed calls in shared memory, which outlives it: the import must show every one of them, and at most one more of
each kind in each thread (a call that was complete for the log, but not yet counted when the signal came).

ctest runs a few rounds of each; the full length is  tests/e2e/survive.py --rounds 300  with each --threads and --kill.
"""

import argparse
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402

SLOT = struct.Struct("<QQQ40x")  # struct published of workloads/survive.c
MAX_THREADS = 64
LATEST_S = 0.12  # a round records millions of events each second


def published(path):
    """(allocated, freed, pid) of each thread."""
    if not path.exists() or path.stat().st_size < MAX_THREADS * SLOT.size:
        return [(0, 0, 0)] * MAX_THREADS
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
        return [SLOT.unpack_from(memory, i * SLOT.size) for i in range(MAX_THREADS)]


def start(tools, args, place, extra=None):
    """The recorder and the pid of the program; both see the variables of `extra`, by which the recorder may end."""
    counts = place / "counts"
    program = [tools.workloads / "survive", counts, str(args.threads)]
    argv, env = harness.record_argv(tools, args.mode, place / "run.dat", program)
    process = subprocess.Popen([str(a) for a in argv], cwd=place, env=harness.environment({**env, **(extra or {})}), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    wait_for(process, "the workload's first calls", lambda: published(counts)[args.threads - 1][0] != 0, is_ending=bool(extra))
    return process, published(counts)[0][2]


def wait_for(process, what, is_true, is_ending=False):
    """harness.wait_until, while the recorder runs, unless the test ends it."""
    def is_so():
        if process.poll() is not None and not is_ending:
            raise Failure(f"the recorder ended before {what}: {process.stderr.read().decode(errors='replace')}")
        return is_true()
    try:
        harness.wait_until(what, is_so, patience=200)
    except Failure:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        raise


def wait_until_gone(pid):
    while harness.state_of(pid) not in "XZ":
        time.sleep(0.001)


def kill(args, process, pid):
    """Sends SIGKILL to the chosen processes, the program last, and waits for both."""
    if args.kill in ("recorder", "both") and args.mode == "record":
        os.kill(process.pid, signal.SIGKILL)
        if args.kill == "recorder":  # the program runs for a while without a process that packs
            time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=400)
    wait_until_gone(pid)


def check(database, args, counts):
    dropped = database.value("SELECT sum(events_dropped) FROM processes")
    if dropped:
        raise Failure(f"{dropped} events were dropped, so nothing can be said; use fewer threads or a larger limit")
    rows = {thread: (allocated, freed) for thread, allocated, freed in database.rows(
        "SELECT (size_bytes - 777) / 3000, count(*), count(ended_by) FROM allocations WHERE size_bytes % 1000 = 777 "
        "GROUP BY 1")}
    for thread in range(args.threads):
        for what, completed, recorded in zip(("allocations", "frees"), counts[thread][:2], rows.get(thread, (0, 0))):
            if not completed <= recorded <= completed + 1:
                raise Failure(f"thread {thread} completed {completed} {what}, the database has {recorded}")
    return sum(a + f for a, f, _ in counts)


def one_round(tools, args, place, randomness):
    process, pid = start(tools, args, place)
    time.sleep(randomness.uniform(0, LATEST_S))
    kill(args, process, pid)
    counts = published(place / "counts")
    return check(harness.import_log(tools, place / "run.dat", place / "run.db", "--no-symbols"), args, counts)


def run_rounds(description, victims, one_round, choices=None):
    """Rounds in scratch folders of their own, by the options of the command line; `choices`: values of other options, of which the first is the
    default."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--kill", choices=victims, default=victims[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    for option, values in (choices or {}).items():
        parser.add_argument(option, choices=values, default=values[0])
    args = parser.parse_args()
    tools, randomness = harness.Tools.from_environment(), random.Random(args.seed)
    total = 0
    for number in range(args.rounds):
        with harness.scratch() as place:
            try:
                total += one_round(tools, args, Path(place), randomness)
            except Failure as how:
                raise Failure(f"round {number} (--seed {args.seed}): {how}") from None
    print(f"{args.rounds} rounds, {args.threads} threads, {args.kill} killed: {total} completed calls, none lost")


def main():
    run_rounds("kills a recorded program and counts what survived", ("program", "recorder", "both"), one_round,
               {"--mode": ("record", "preload")})


if __name__ == "__main__":
    harness.main(main)
